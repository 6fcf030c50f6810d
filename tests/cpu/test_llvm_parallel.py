"""Parallel loops on the target llvm: results, thread counts, concurrent calls on every threading layer, errors."""

from __future__ import annotations

import subprocess
import sys
import threading
from typing import Any

import numpy as np
import pytest

from tvmlab.core.build import cast, const
from tvmlab.core.error import LabError
from tvmlab.core.node import Alloc, Let, LetStmt, Seq, Var
from tvmlab.target import Target

from .ir_samples import buf, build, load, loop, program, ramp, run, splat, store


def squares(n: int = 1000, kind: str = "parallel") -> Any:
    """B[i] = sum over a temporary of each iteration, which threads must not share."""
    a, b, t = buf("A", n), buf("B", n), buf("T", 8000)

    def body(i: Var) -> Any:
        fill = loop("k", 8000, lambda k: store(t, k, load(a, i)))
        total = loop("r", 8, lambda r: store(b, i, load(b, i) + load(t, r * 1000)))
        return Alloc(t, Seq((fill, store(b, i, 0.0), total)))

    return program("squares", (a, b), loop("i", n, body, kind))


def test_a_parallel_loop_with_a_temporary_per_thread() -> None:
    x, out = np.arange(1000, dtype="float32"), np.zeros(1000, "float32")
    c = build(squares())
    for _ in range(5):
        out[:] = -1
        c.call((x, out), ())
        np.testing.assert_array_equal(out, 8 * x)


def test_everything_around_the_loop_is_visible_inside() -> None:
    n, s, h = Var("n", nonneg=True), Var("s", "float32"), Var("h", "float16")
    a, b, t = buf("A", n * 4), buf("B", n * 4), buf("T", 4)
    v, w, f = Var("v"), Var("w", "float32"), Var("f", "float32x4")

    def body(i: Var) -> Any:
        value = load(a, ramp(i * 4, 4)) * splat(s + w + cast(h, "float32"), 4) + load(t, ramp(0, 4)) + f
        return store(b, ramp(i * 4 + v, 4), Let(Var("z"), v, value))

    nest = LetStmt(v, (n - n) * 3, LetStmt(w, load(a, 0), LetStmt(f, load(a, ramp(0, 4)), Seq((
        store(t, ramp(0, 4), 2.0), loop("i", n, body, "parallel"))))))  # fmt: skip
    c = build(program("around", (a, b, s, h), Alloc(t, nest), sizes=(n,)))
    for size in (0, 1, 7, 100):
        x = np.arange(4 * size, dtype="float32") + 1
        out = np.zeros(4 * size, "float32")
        if size:
            c.call((x, out), (0.5, 0.25, size))
            np.testing.assert_allclose(out, x * np.float32(0.5 + x[0] + 0.25) + 2 + np.resize(x[:4], 4 * size))


def test_the_range_may_begin_anywhere() -> None:
    a, lo, n = buf("A", 20), Var("lo"), Var("n")
    out = np.zeros(20, "float32")
    run(
        program("middle", (a, lo, n), loop("i", n, lambda i: store(a, i, cast(i, "float32")), "parallel", lo=lo)),
        out,
        scalars=(3, 9),
    )
    np.testing.assert_array_equal(out, [*[0] * 3, *range(3, 12), *[0] * 8])


def test_parallel_loops_inside_parallel_loops_run_serially() -> None:
    a = buf("A", 64)
    out = np.zeros(64, "float32")
    nest = loop(
        "i",
        8,
        lambda i: loop("j", 8, lambda j: store(a, i * 8 + j, cast(i * 8 + j, "float32")), "parallel"),
        "parallel",
    )
    c = build(program("nested", (a,), nest))
    c.call((out,), ())
    np.testing.assert_array_equal(out, np.arange(64))
    assert c.source.count("call void @tvmlab.launch") == 1


def test_no_memory_in_a_thread_is_reported() -> None:
    n, k = Var("n", "int64", True), Var("k", "int64")
    a, t = buf("A", 8), buf("T", n)
    body = loop("i", 8, lambda i: Alloc(t, Seq((store(t, n - 1, 1.0), store(a, i, load(t, k))))), "parallel")
    c = build(program("huge", (a, k), body, sizes=(n,)))
    with pytest.raises(MemoryError):
        c.call((np.zeros(8, "float32"),), (0, 2**55))


def test_the_number_of_threads() -> None:
    import numba

    c = build(squares(), Target("llvm", threads=1))
    x, out = np.arange(1000, dtype="float32"), np.zeros(1000, "float32")
    for count in (1, numba.config.NUMBA_NUM_THREADS):
        c.extra["set_num_threads"](count)
        c.call((x, out), ())
        np.testing.assert_array_equal(out, 8 * x)
    most = numba.config.NUMBA_NUM_THREADS
    with pytest.raises(LabError, match=f"the number of threads must be from 1 to {most}, not {most + 1}"):
        c.extra["set_num_threads"](most + 1)


def test_programs_without_parallel_loops_do_not_import_numba() -> None:
    code = """
import sys, os
os.environ["TVMLAB_CACHE_DIR"] = ""
from tests.cpu.test_llvm_parallel import *
x, out = np.arange(10, dtype="float32"), np.zeros(10, "float32")
build(squares(10, "serial")).call((x, out), ())
assert (out == 8 * x).all() and "numba" not in sys.modules
build(squares(10)).call((x, out), ())
assert "numba" in sys.modules
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr


LAYERS = """
import os, sys, threading
os.environ["NUMBA_THREADING_LAYER"] = sys.argv[1]
os.environ["NUMBA_NUM_THREADS"] = "4"
os.environ["TVMLAB_CACHE_DIR"] = ""
from tests.cpu.test_llvm_parallel import *
try:
    modules = [build(squares(200)), build(squares(300))]
except ValueError:
    print("no such layer")
    sys.exit(0)
bad = []
def go(k):
    n = (200, 300)[k % 2]
    x, out = np.arange(n, dtype="float32") + k, np.zeros(n, "float32")
    for _ in range(30):
        modules[k % 2].call((x, out), ())
        if not (out == 8 * x).all():
            bad.append(k)
threads = [threading.Thread(target=go, args=(k,)) for k in range(6)]
[t.start() for t in threads]
[t.join() for t in threads]
assert not bad
import numba
print(numba.threading_layer())
"""


@pytest.mark.parametrize("layer", ("workqueue", "omp", "tbb"))
def test_concurrent_calls_from_python_threads(layer: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LAYERS, layer], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    if done.stdout.strip() == "no such layer":
        pytest.skip(f"numba has no threading layer {layer} here")
    assert done.stdout.strip() == layer


def test_threads_of_one_module_do_not_disturb_each_other() -> None:
    c, wrong = build(squares(100)), []

    def go(k: int) -> None:
        x, out = np.full(100, k, "float32"), np.zeros(100, "float32")
        for _ in range(20):
            c.call((x, out), ())
            if not (out == 8 * k).all():
                wrong.append(k)

    threads = [threading.Thread(target=go, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_constant_of_a_parallel_loop() -> None:
    a, out = buf("A", 3), np.zeros(3, "float32")
    run(program("three", (a,), loop("i", 3, lambda i: store(a, i, const(1.0)), "parallel")), out)
    assert out.tolist() == [1, 1, 1]
