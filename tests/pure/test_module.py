"""A module apart from calling it: names, sources, pickling, export, what it shows."""

import json
import pickle
from pathlib import Path

import numpy as np
import pytest

from tests import fakes
from tests.fakes import add_arrays, adder, f32, module
from tvmlab.core.build import const
from tvmlab.core.error import BuildError, LabError
from tvmlab.core.node import Var
from tvmlab.core.program import Function
from tvmlab.runtime import Module, load_module
from tvmlab.runtime.load import card_path
from tvmlab.target.base import Compiled, Target


@pytest.fixture(autouse=True)
def fake_target(monkeypatch):
    fakes.install(monkeypatch)


def test_functions_by_name():
    mod = adder()
    for f in (mod.entry_func, mod["add"], mod["__tvm_main__"], mod.get_function("add")):
        out = f32(0)
        f(f32(1), f32(2), out)
        assert out.tolist() == [3]
    assert mod.entry_name == "add" and mod.implements_function("add") and not mod.implements_function("g")
    for missing in (lambda: mod["g"], lambda: mod.get_function("g")):
        with pytest.raises(AttributeError) as e:
            missing()
        assert str(e.value) == "this module has no function `g`\n  legal here:  add"


def test_texts():
    mod = adder()
    assert (mod.source, mod.ir, mod.asm, mod.type_key) == ("C = A + B", "ir", "asm", "fake")
    assert [mod.get_source(f) for f in ("", "ll", "asm", "s")] == ["C = A + B", "ir", "asm", "asm"]
    with pytest.raises(LabError, match="^no source of format 'ptx'\n  legal here:  '', 'll', 'asm', 's'$"):
        mod.get_source("ptx")
    assert repr(mod) == "<tvmlab.Module add(A: float32[n], B: float32[n], C: float32[n]) for fake>"


def test_html_shows_the_source_and_is_capped():
    mod = adder()
    assert "C = A + B" in mod._repr_html_() and "float32[n]" in mod._repr_html_()
    long = Module(mod.function, mod.target, Compiled(add_arrays, "\n".join(f"x{i} < 1" for i in range(1000))))
    shown = long._repr_html_()
    assert "x399 &lt; " in shown and "x400" not in shown and "600 more lines: print(module.source)" in shown
    at_once, folded = shown.split("<details><summary>988 more lines of the source</summary>")
    assert "float32[n]" in at_once and "x11 &lt; " in at_once and "x12 &lt; " in folded
    assert "<details>" not in mod._repr_html_(), "what is short is shown whole"


def test_pickle_leaves_the_compiled_part_behind():
    mod = Module(adder().function, Target("fake", cpu="x"), Compiled(lambda *a: None, "here"), trace_hash="abc")
    copy = pickle.loads(pickle.dumps(mod))
    assert (copy.source, copy.target, copy.trace_hash) == ("rebuilt", mod.target, "abc")
    assert copy.signature == mod.signature
    out = f32(0, 0)
    copy(f32(1, 2), f32(3, 4), out)
    assert out.tolist() == [4, 6]


def test_threads():
    counts = []
    adder(set_num_threads=counts.append).set_num_threads(2)
    assert counts == [2]
    with pytest.raises(LabError, match="^modules for fake run on one thread$"):
        adder().set_num_threads(2)
    with pytest.raises(LabError, match="^the number of threads must be at least 1, got 0$"):
        adder().set_num_threads(0)


PYTHON = """
def add(a, b, c):
    c[...] = a + b
"""


def exporting(text):
    return adder(export=lambda path: open(path, "w").write(text))


@pytest.mark.parametrize("method", ["export", "save", "export_library"])
def test_exported_python_is_loaded_with_its_checks(tmp_path, method):
    path = tmp_path / "add.py"
    getattr(exporting(PYTHON), method)(path)
    mod = load_module(path)
    out = f32(0, 0)
    mod(f32(1, 2), f32(3, 4), out)
    assert out.tolist() == [4, 6] and mod.source == PYTHON and mod.type_key == "fake"
    with pytest.raises(ValueError) as e:
        mod(f32(1, 2), f32(3), out)
    assert str(e.value) == "argument 1 (B): shape[0] is 1, expected 2 (n = 2 from A.shape[0])"
    with pytest.raises(TypeError, match="^a module loaded from an export cannot be pickled"):
        pickle.dumps(mod)


def test_exported_python_gets_the_parameters_in_order_and_arrays_in_their_shapes(tmp_path):
    n, s, x = Var("n"), Var("s"), Var("x", "float32")
    a = fakes.buffer("A", n, 2, strides=(s, const(1)))
    flat = fakes.buffer("A", n * s, logical=a)
    fn = Function("my.fill", (x, flat), fakes.touching(writes=(flat,)), (n, s))
    text = "def my_fill(x, a):\n    assert a.shape == (2, 2)\n    a[:, 1] = x\n"
    extra = {"export": lambda path: Path(path).write_text(text)}
    Module(fn, Target("fake"), Compiled(lambda *_: None, "", extra=extra)).export(tmp_path / "fill.py")
    memory = np.zeros((2, 5), "float32")
    load_module(tmp_path / "fill.py")(7, memory[:, 1:3])
    assert memory.tolist() == [[0, 0, 7, 0, 0]] * 2


def test_export_refusals(tmp_path):
    with pytest.raises(LabError, match="^modules for fake cannot be exported\n  legal here:  numba, llvm$"):
        adder().export(tmp_path / "x.py")
    with pytest.raises(LabError, match="^cannot export to `.*x.py`: there is no folder `.*missing`$"):
        exporting(PYTHON).export(tmp_path / "missing" / "x.py")
    with pytest.raises(LabError, match="^format 'o' does not agree with the name x.py$"):
        exporting(PYTHON).save(tmp_path / "x.py", "o")
    with pytest.raises(LabError, match="^export_library takes no fcompile, cc here$"):
        exporting(PYTHON).export_library(tmp_path / "x.py", fcompile=None, cc="gcc")


def test_files_that_are_no_exports(tmp_path):
    path = tmp_path / "add.py"

    def message(p=path):
        with pytest.raises(ValueError) as e:
            load_module(p)
        return str(e.value)

    legal = "\n  legal here:  .py, .so, .dylib, .dll, .o, .tar"
    assert message(tmp_path / "x.tar") == "cannot load x.tar: unknown kind of file" + legal
    assert message() == f"there is no file {path}"
    path.write_text(PYTHON)
    assert message() == "add.py needs add.py.json beside it, which `export` wrote with it"
    exporting(PYTHON).export(path)
    card = json.loads(card_path(path).read_text())
    card_path(path).write_text(json.dumps({**card, "tvmlab": 99}))
    assert message() == "add.py.json is of format 99, this version reads 1"
    card_path(path).write_text(json.dumps({**card, "symbol": "other"}))
    assert message() == "add.py defines no function `other`"
    for broken in ("", "[]", "{}", '{"tvmlab": 1}', json.dumps({**card, "signature": {"name": 3}})):
        card_path(path).write_text(broken)
        assert message().startswith("add.py.json does not describe an exported program: "), broken


NUMBAS = "from numba import cuda\n\n@cuda.jit\ndef main_C(A):\n    pass\n"


@pytest.mark.parametrize("ending, text", [(".cl", ""), (".cu", ""), (".metal", ""), (".py", NUMBAS)])
def test_the_text_of_kernels_is_no_program(tmp_path, ending, text):
    path = tmp_path / "add.py"
    exporting(PYTHON).export(path)
    card = json.loads(card_path(path).read_text())
    kernels = tmp_path / f"exp{ending}"
    kernels.write_text(text)
    card_path(kernels).write_text(json.dumps({**card, "symbol": "main"}))
    with pytest.raises(ValueError, match="^cannot load exp.*: the text of kernels alone, without what launches") as e:
        load_module(kernels)
    assert "build the schedule again: tvmlab.build(s, args, target)" in str(e.value)


def test_a_module_needs_a_signature():
    with pytest.raises(BuildError, match="^a module needs the function it was compiled from, or a signature$"):
        Module(None, Target("fake"), Compiled(add_arrays, ""))


def test_nothing_is_returned():
    assert module((), (), lambda: 7)() is None
