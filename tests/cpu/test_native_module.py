"""Modules over real machine code: addresses, numbers by their types, and exported libraries in a fresh process."""

import ctypes
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import llvmlite.binding as llvm
import numpy as np
import pytest

from tests import fakes
from tvmlab.core.build import const
from tvmlab.core.error import LabError
from tvmlab.core.node import For, Load, Store, Var
from tvmlab.core.program import Function
from tvmlab.runtime import Module, array, empty, load_module
from tvmlab.runtime.load import Card, foreign
from tvmlab.runtime.signature import signature_of
from tvmlab.target.base import Compiled, Target
from tvmlab.target.cabi import C_TYPES

# c[i] = a[i] + x for i < n; the status is 3 for n = 13
SOURCE = """
define i32 @addx(ptr %a, ptr %c, float %x, i32 %n) {
entry:
  %unlucky = icmp eq i32 %n, 13
  %none = icmp sle i32 %n, 0
  %skip = or i1 %unlucky, %none
  %code = select i1 %unlucky, i32 3, i32 0
  br i1 %skip, label %done, label %loop
loop:
  %i = phi i32 [0, %entry], [%next, %loop]
  %pa = getelementptr float, ptr %a, i32 %i
  %pc = getelementptr float, ptr %c, i32 %i
  %v = load float, ptr %pa
  %s = fadd float %v, %x
  store float %s, ptr %pc
  %next = add i32 %i, 1
  %more = icmp slt i32 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret i32 %code
}
define i32 @wide(ptr %a, ptr %c, double %x, i64 %n) {
  %f = fptrunc double %x to float
  %m = trunc i64 %n to i32
  %code = call i32 @addx(ptr %a, ptr %c, float %f, i32 %m)
  ret i32 %code
}
define i32 @halves(ptr %c, i16 %h, i8 %b) {
  store i16 %h, ptr %c
  %next = getelementptr i16, ptr %c, i32 1
  %wide = zext i8 %b to i16
  store i16 %wide, ptr %next
  ret i32 0
}
"""


@pytest.fixture(autouse=True)
def fake_target(monkeypatch):
    fakes.install(monkeypatch)


@pytest.fixture(scope="module")
def machine():
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.Target.from_default_triple().create_target_machine(reloc="pic", codemodel="small")


@pytest.fixture(scope="module")
def engine(machine):
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(SOURCE), machine)
    engine.finalize_object()
    return engine


def add_function() -> Function:
    n, i, x = Var("n"), Var("i"), Var("x", "float32")
    a, c = fakes.buffer("A", n), fakes.buffer("C", n)
    body = For(i, const(0), n, "serial", Store(c, (i,), Load(a, (i,), "float32") + x))
    return Function("addx", (a, c, x), body, (n,))


def native(engine, fn) -> Module:
    entry = ctypes.CFUNCTYPE(ctypes.c_int)(engine.get_function_address(fn.name))
    signature = signature_of(fn)
    return Module(fn, Target("fake"), foreign(entry, Card(signature, Target("fake"), fn.name, True, signature.numbers)))


def test_addresses_and_numbers_reach_machine_code(engine):
    mod = native(engine, add_function())
    for n in (0, 1, 5, 5, 1000):
        a, c = np.arange(n, dtype="float32"), np.zeros(n, "float32")
        mod(a, c, 0.1)
        np.testing.assert_array_equal(c, a + np.float32(0.1))
    a, c = array(np.ones(4, "float32")), empty((4,))
    mod(a, c, 2)
    assert c.numpy().tolist() == [3] * 4


def test_a_status_is_an_error(engine):
    mod = native(engine, add_function())
    for _ in range(2):
        with pytest.raises(LabError, match="^addx failed with status 3$"):
            mod(np.zeros(13, "float32"), np.zeros(13, "float32"), 1.0)


def test_float16_and_bool_numbers(engine):
    h, b = Var("h", "float16"), Var("b", "bool")
    c = fakes.buffer("C", 2, dtype="float16")
    mod = native(engine, Function("halves", (c, h, b), fakes.touching(writes=(c,))))
    out = np.zeros(2, "float16")
    mod(out, 0.1, True)
    assert out[0] == np.float16(0.1) and out.view("uint16")[1] == 1


def test_every_scalar_type_has_a_c_type():
    sizes = {t: ctypes.sizeof(c) for t, c in C_TYPES.items() if t != "handle"}
    assert sizes == {t: np.dtype(t).itemsize for t in sizes} and len(sizes) == 12


def test_threads_may_share_a_module(engine):
    mod, wrong = native(engine, add_function()), []

    def work(seed):
        for k in range(300):
            n = 1 + (seed + k) % 12
            a, c = np.full(n, seed, "float32"), np.zeros(n, "float32")
            mod(a, c, k)
            if not (c == seed + k).all():
                wrong.append((seed, k))

    threads = [threading.Thread(target=work, args=(s,)) for s in range(4)]
    for t in threads: t.start()
    for t in threads: t.join()
    assert not wrong


WIDE = {"symbol": "wide", "numbers": ["float64", "int64"]}
FRESH = """
import sys, numpy as np
from tests import fakes
from tvmlab.target import base
base.get = fakes.fake_get
from tvmlab.runtime import load_module
mod = load_module(sys.argv[1])
c = np.zeros(3, "float32")
mod(np.arange(3, dtype="float32"), c, 0.5)
assert "numba" not in sys.modules and "llvmlite" not in sys.modules
print(c.tolist(), mod.source)
"""


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler to link with")
@pytest.mark.parametrize("kind, more", [("so", {}), ("o", {}), ("so", WIDE)])
def test_exported_machine_code_in_a_fresh_process(tmp_path, machine, kind, more):
    def export(path):
        target = tmp_path / "addx.o"
        target.write_bytes(machine.emit_object(llvm.parse_assembly(SOURCE)))
        (tmp_path / "addx.h").write_text("int addx(...);")
        if kind == "so":
            subprocess.run(["cc", "-shared", "-o", path, str(target)], check=True)

    path = tmp_path / f"addx.{kind}"
    compiled = Compiled(lambda *_: None, "", extra={"export": export, "status": True, **more})
    Module(add_function(), Target("fake"), compiled).export(path)
    command, root = [sys.executable, "-c", FRESH, str(path)], Path(__file__).parents[2]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("[0.5, 1.5, 2.5] int addx(...);\n", "")


def test_a_file_that_is_no_library(tmp_path):
    path = tmp_path / "x.so"
    extra = {"export": lambda p: Path(p).write_text("no"), "symbol": "addx"}
    Module(add_function(), Target("fake"), Compiled(lambda *_: None, "", extra=extra)).export(path)
    with pytest.raises(ValueError, match="^cannot load `addx` from x.so: "):
        load_module(path)
