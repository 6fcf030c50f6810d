"""What the target llvm builds: code for narrow and foreign CPUs, the object cache, exports that C links."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tvmlab.core.build import binary, cast, const
from tvmlab.core.error import BuildError
from tvmlab.core.node import Alloc, Call, Evaluate, Seq, Var
from tvmlab.target import Target, get
from tvmlab.target.llvm import cache, jit

from .ir_samples import buf, build, load, loop, packed_matmul, program, pure, ramp, splat, store
from .test_llvm_parallel import squares


def everything() -> Any:
    """Vectors wider than any register, maths helpers, float16, masks, gathers, a parallel loop, a heap temporary."""
    n = 200
    a, b, p, t = buf("A", n), buf("B", n), buf("P", n, "int32"), buf("T", 100_000)
    h = buf("H", n, "float16")

    def body(i: Var) -> Any:
        at = ramp(i * 32, 32)
        mask = binary("<", at, splat(n, 32))
        x = load(a, load(p, at, mask), mask)
        half = cast(load(h, at, mask) + load(h, at, mask), "float32x32")
        return store(b, at, pure("tanh", x) + pure("exp", x) * half + pure("erf", x), mask)

    return program("everything", (a, p, h, b), Alloc(t, Seq((
        loop("k", 100_000, lambda k: store(t, k, 1.0)), loop("i", -(-n // 32), body, "parallel"),
    ))))  # fmt: skip


PROGRAMS = {"everything": everything, "matmul": lambda: packed_matmul(64), "squares": squares}


@pytest.mark.parametrize("name", PROGRAMS)
def test_avx2_code_has_no_zmm_and_sse2_code_no_ymm(name: str) -> None:
    avx2 = build(PROGRAMS[name](), Target("llvm", cpu="x86-64-v3")).asm()
    assert "ymm" in avx2 and "zmm" not in avx2
    sse2 = build(PROGRAMS[name](), Target("llvm", cpu="x86-64")).asm()
    assert "xmm" in sse2 and "ymm" not in sse2 and "zmm" not in sse2
    assert not re.search(r"\tv[a-z]+ps\t", sse2)


def test_avx512_code_uses_whole_registers() -> None:
    for cpu in ("x86-64-v4", "skylake-avx512", "sapphirerapids", "znver5"):
        asm = build(packed_matmul(64), Target("llvm", cpu=cpu)).asm()
        assert "zmm" in asm and "vfmadd231ps" in asm


def test_the_inner_loop_of_a_register_tile_does_not_spill() -> None:
    asm = build(packed_matmul(256), Target("llvm", cpu="x86-64-v4")).asm()
    blocks = re.split(r"\n\.LBB\S+:", asm)
    inner = max(blocks, key=lambda text: text.count("vfmadd231ps"))
    assert inner.count("vfmadd231ps") == 64
    assert not re.search(r"zmm\d+, -?\d*\(%rsp\)", inner)


def test_aarch64_assembly_and_no_run() -> None:
    c = build(everything(), Target("llvm", triple="aarch64-linux-gnu"))
    assert re.search(r"fmla\s+v\d+\.4s", c.asm())
    with pytest.raises(BuildError) as e:
        c.call((), ())
    assert str(e.value) == (
        "`everything` cannot run here: it was compiled for `aarch64-linux-gnu`, "
        f"and this machine is `{jit.host_triple()}`\n"
        "  its .asm and .source are there to be read"
    )


def test_a_cpu_this_machine_is_not_gets_no_run(monkeypatch: Any) -> None:
    monkeypatch.setattr(jit, "host_features", lambda: {"avx2": True, "fma": True, "f16c": True, "bmi2": True})
    c = build(packed_matmul(64), Target("llvm", cpu="x86-64-v4"))
    with pytest.raises(BuildError, match="`x86-64-v4`, and this CPU lacks avx512f, avx512bw, avx512dq, avx512vl"):
        c.call((), ())


def test_unknown_triples_are_refused() -> None:
    with pytest.raises(BuildError, match="LLVM has no target for the triple `nonsense-linux-gnu`"):
        build(packed_matmul(64), Target("llvm", triple="nonsense-linux-gnu"))


def test_source_ir_and_optimised_text() -> None:
    c = build(packed_matmul(64))
    assert c.source == c.ir() == get("llvm").source(packed_matmul(64), Target("llvm"))
    assert c.source.count("define i32 @matmul(ptr noalias %p.A, ptr noalias %p.B, ptr noalias %p.C)") == 1
    assert "define" in c.extra["optimised"]() and "matmul:" in c.asm()


# ---------------------------------------------------------------- the cache


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: Any) -> Path:
    monkeypatch.setenv("TVMLAB_CACHE_DIR", str(tmp_path))
    return tmp_path


def run_scale(c: Any) -> None:
    x, out = np.arange(10, dtype="float32"), np.zeros(10, "float32")
    c.call((x, out), ())
    np.testing.assert_array_equal(out, 3 * x)


def scale() -> Any:
    a, b = buf("A", 10), buf("B", 10)
    return program("scale", (a, b), loop("i", 10, lambda i: store(b, i, load(a, i) * const(3.0))))


def test_a_second_build_takes_the_object_from_the_disk(folder: Path, monkeypatch: Any) -> None:
    assert build(scale()).extra["cached"] is False

    def never(*args: Any) -> bytes:
        raise AssertionError("compiled again")

    monkeypatch.setattr(jit, "compile_object", never)
    c = build(scale())
    assert c.extra["cached"] is True
    run_scale(c)
    with pytest.raises(AssertionError, match="compiled again"):  # another CPU is another object
        build(scale(), Target("llvm", cpu="x86-64"))


@pytest.mark.parametrize("damage", ("cut", "empty", "flip", "text"))
def test_a_damaged_file_is_rebuilt(folder: Path, damage: str) -> None:
    build(scale())
    (path,) = folder.rglob("*.o")
    raw = path.read_bytes()
    path.write_bytes(
        {"cut": raw[:-20], "empty": b"", "flip": raw[:200] + bytes([raw[200] ^ 1]) + raw[201:], "text": b"hello"}[
            damage
        ]
    )
    c = build(scale())
    assert c.extra["cached"] is False
    run_scale(c)
    assert path.read_bytes() == raw


def test_the_cache_can_be_switched_off(folder: Path, monkeypatch: Any) -> None:
    for off in ("", "0"):
        monkeypatch.setenv("TVMLAB_CACHE_DIR", off)
        assert cache.folder() is None
        for _ in range(2):
            assert build(scale()).extra["cached"] is False
    assert not list(folder.rglob("*.o"))


def test_a_folder_that_cannot_be_written_is_no_error(folder: Path, monkeypatch: Any) -> None:
    blocked = folder / "file"
    blocked.write_text("in the way")
    monkeypatch.setenv("TVMLAB_CACHE_DIR", str(blocked))
    run_scale(build(scale()))


def test_old_files_are_removed_first(folder: Path) -> None:
    import os

    for k in range(5):
        cache.write(folder / "objects" / "ab" / f"{k}.o", bytes(1000))
        os.utime(folder / "objects" / "ab" / f"{k}.o", (k, k))
    cache.prune(folder / "objects", 2500)
    assert sorted(p.name for p in folder.rglob("*.o")) == ["3.o", "4.o"]


def test_two_processes_may_build_the_same_program_at_once(folder: Path) -> None:
    import os

    code = """
from tests.cpu.test_llvm_build import *
for _ in range(20):
    shutil.rmtree(cache.folder(), True)
    run_scale(build(scale()))
"""
    running = [
        subprocess.Popen([sys.executable, "-c", code], env={**os.environ}, stderr=subprocess.PIPE) for _ in range(2)
    ]
    for process in running:
        _, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors.decode()
    assert not list(folder.rglob("*.tmp"))


def test_an_object_with_a_python_call_may_come_from_the_cache(folder: Path) -> None:
    from tvmlab.core import packed

    a, seen = buf("A", 3), []
    packed.register("test.cached", lambda x: seen.append(x.copy()), override=True)
    p = program("calls", (a,), Evaluate(Call("test.cached", (a.data,), "int32", "packed")))
    for cached in (False, True):
        c = build(p)
        assert c.extra["cached"] is cached
        c.call((np.arange(3, dtype="float32"),), ())
    packed.remove("test.cached")
    np.testing.assert_array_equal(seen, [[0, 1, 2]] * 2)


# ---------------------------------------------------------------- exports

needs_cc = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")

MAIN = """
#include <stdio.h>
#include <stdlib.h>
#include "squares.h"
int main(void) {
  static float a[1000], b[1000];
  for (int threads = 0; threads < 4; threads++) {
    squares_threads = threads;
    for (int i = 0; i < 1000; i++) { a[i] = i; b[i] = -1; }
    if (squares(a, b) != 0) return 1;
    for (int i = 0; i < 1000; i++) if (b[i] != 8.0f * i) { printf("wrong at %d: %f\\n", i, b[i]); return 2; }
  }
  printf("right\\n");
  return 0;
}
"""


@needs_cc
@pytest.mark.parametrize("kind", (".o", ".so"))
def test_a_c_program_links_the_export_and_gets_the_right_numbers(tmp_path: Path, kind: str) -> None:
    build(squares()).extra["export"](str(tmp_path / f"squares{kind}"))
    (tmp_path / "main.c").write_text(MAIN)
    command = ["cc", "-Wall", "-Werror", "main.c", f"squares{kind}", "-o", "main", "-lpthread", "-lm", "-Wl,-rpath,."]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, timeout=60)
    for count in ("1", "3", "nonsense"):
        done = subprocess.run(
            ["./main"],
            cwd=tmp_path,
            env={"TVMLAB_NUM_THREADS": count},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert (done.returncode, done.stdout) == (0, "right\n")


@needs_cc
def test_an_exported_library_with_sizes_scalars_and_maths(tmp_path: Path) -> None:
    n, s = Var("n", nonneg=True), Var("s", "float32")
    a, b = buf("A", n), buf("B", n)
    body = loop("i", n, lambda i: store(b, i, pure("sin", load(a, i)) * s))
    path = tmp_path / "wave.so"
    build(program("wave", (a, b, s), body, sizes=(n,))).extra["export"](path)
    f = ctypes.CDLL(str(path)).wave
    f.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_float, ctypes.c_int32]
    x, out = np.linspace(0, 3, 50, dtype="float32"), np.zeros(50, "float32")
    assert f(x.ctypes.data, out.ctypes.data, 2.0, 50) == 0
    np.testing.assert_allclose(out, 2 * np.sin(x), rtol=1e-6)
    assert path.with_suffix(".h").read_text() == (
        "#ifndef TVMLAB_WAVE_H\n#define TVMLAB_WAVE_H\n#include <stdint.h>\n"
        '#ifdef __cplusplus\nextern "C" {\n#endif\n\n'
        "/* Returns 0, or -2 when there is no memory for a temporary. The arrays must not overlap.\n"
        " *   A: float32[n], row-major\n *   B: float32[n], row-major\n *   s: float32\n *   n: int32, a size\n"
        " * Link with -lm. */\n"
        "int32_t wave(float *A, float *B, float s, int32_t n);\n"
        "\n#ifdef __cplusplus\n}\n#endif\n#endif\n"
    )


@pytest.mark.parametrize("name", ("main", "expf", "malloc", "my kernel", "3d"))
def test_any_function_name_will_do(name: str, tmp_path: Path) -> None:
    a, b = buf("A", 2), buf("B", 2)
    x, out = np.array([0, 1], "float32"), np.zeros(2, "float32")
    c = build(program(name, (a, b), loop("i", 2, lambda i: store(b, i, pure("exp", load(a, i))))))
    c.call((x, out), ())
    np.testing.assert_allclose(out, np.exp(x), rtol=1e-6)
    c.extra["export"](tmp_path / "module.o")
    symbol = {
        "main": "module",
        "expf": "tvmlab_expf",
        "malloc": "tvmlab_malloc",
        "my kernel": "my_kernel",
        "3d": "tvmlab_3d",
    }
    assert c.extra["symbol"] == symbol[name]
    assert f"int32_t {symbol[name]}(float *A, float *B);" in (tmp_path / "module.h").read_text()


def test_exports_to_other_kinds_of_file(tmp_path: Path) -> None:
    c = build(scale(), Target("llvm", triple="aarch64-linux-gnu"))
    for kind, what in ((".ll", "define i32 @scale"), (".s", "scale:")):
        c.extra["export"](tmp_path / f"scale{kind}")
        assert what in (tmp_path / f"scale{kind}").read_text()
    c.extra["export"](tmp_path / "scale.o")
    assert (tmp_path / "scale.o").read_bytes()[:4] == b"\x7fELF"
    other = build(scale(), Target("llvm", triple="aarch64-nobody-linux-gnu"))
    with pytest.raises(BuildError, match=r"scale.so: it is for aarch64-nobody-linux-gnu, and there is no"):
        other.extra["export"](tmp_path / "scale.so")
    with pytest.raises(BuildError, match="cannot export to `scale.txt`: unknown kind of file"):
        c.extra["export"](tmp_path / "scale.txt")


def test_without_a_c_compiler_a_library_is_refused_and_an_object_is_not(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    c = build(scale())
    with pytest.raises(BuildError, match="there is no C compiler here to link it"):
        c.extra["export"](tmp_path / "scale.so")
    c.extra["export"](tmp_path / "scale.o")


def test_a_program_that_calls_python_cannot_be_exported(tmp_path: Path) -> None:
    a = buf("A", 3)
    p = program("calls", (a,), Evaluate(Call("test.export", (a.data,), "int32", "packed")))
    with pytest.raises(BuildError, match=r"`calls` calls Python \(test.export\): it cannot run outside this process"):
        build(p).extra["export"](tmp_path / "calls.o")
    assert not list(tmp_path.iterdir())


def test_the_code_lives_as_long_as_what_calls_it() -> None:
    import gc

    a, out = buf("A", 4), np.zeros(4, "float32")
    raw = build(program("short", (a,), loop("i", 4, lambda i: store(a, i, 2.0), "parallel"))).extra["raw"]
    gc.collect()
    raw(out.ctypes.data)
    assert out.tolist() == [2, 2, 2, 2]


def test_a_child_process_runs_and_builds(folder: Path) -> None:
    import multiprocessing

    c = build(scale())
    context = multiprocessing.get_context("fork")
    for work in (lambda: run_scale(c), lambda: run_scale(build(packed_scale()))):
        child = context.Process(target=work)
        child.start()
        child.join(60)
        assert child.exitcode == 0
    run_scale(c)


def packed_scale() -> Any:
    a, b = buf("A", 10), buf("B", 10)
    return program("scale2", (a, b), store(b, ramp(0, 10), load(a, ramp(0, 10)) * splat(const(3.0), 10)))


def test_what_llvm_is_asked_to_do_depends_on_the_loops() -> None:
    from tvmlab.target.llvm.compiling import effort

    work = [effort(p) for p in (scale(), packed_scale(), packed_matmul(64, mr=8), squares())]
    assert work == ["loops", "vectors", "vectors", "loops"]
