"""What must not stop the process, and what the compiled targets must agree on with the interpreter."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import tvmlab
from tests.expr_fuzz import disagreements
from tests.refusal import refused
from tvmlab import te
from tvmlab.core.error import BuildError


@pytest.mark.parametrize("seed", range(60))
def test_random_expressions_agree_on_llvm(seed):
    assert disagreements(seed, ["llvm"]) == []


@pytest.mark.parametrize("seed", range(100, 106))
def test_random_expressions_agree_on_numba(seed):
    assert disagreements(seed, ["numba"]) == []


@pytest.mark.parametrize("target", ["llvm", "numba"])
@pytest.mark.parametrize("vector", [False, True])
@pytest.mark.parametrize("op", ["//", "%"])
def test_an_index_divided_by_zero(target, vector, op):
    n, d = te.var("n"), te.var("d")
    A = te.placeholder((n,), "int32", name="A")
    quotient = (lambda i: i // d) if op == "//" else (lambda i: i % d)
    B = te.compute((n,), lambda i: A[te.max(0, te.min(quotient(i), n - 1))], name="B")
    s = te.create_schedule(B.op)
    if vector:
        s[B].vectorize(s[B].split(B.op.axis[0], 8)[1])
    b = np.zeros(20, "int32")
    tvmlab.build(s, [A, B, d], target)(np.arange(20, dtype="int32") + 5, b, 0)
    assert b.tolist() == [5] * 20


@pytest.mark.parametrize("option", ["-mcpu=bogus", "-mattr=+bogus"])
def test_an_unknown_cpu_is_refused(option):
    A = te.placeholder((8,), name="A")
    B = te.compute((8,), lambda i: A[i] + 1.0, name="B")
    message = refused(BuildError, lambda: tvmlab.build(te.create_schedule(B.op), [A, B], f"llvm {option}"))
    assert message.startswith("LLVM does not know what to compile for: '")
    assert "is not a recognized" in message


@pytest.mark.parametrize("name", ["ä", "ﬁ", "𝐀", "a\nb", "llvm.exp.f32", "x" * 300])
@pytest.mark.parametrize("target", ["llvm", "numba"])
def test_names_of_any_kind(target, name):
    A = te.placeholder((8,), name=name)
    B = te.compute((8,), lambda i: A[i] + 1.0, name=name)
    b = np.zeros(8, "float32")
    tvmlab.build(te.create_schedule(B.op), [A, B], target, name=name)(np.zeros(8, "float32"), b)
    assert b.tolist() == [1.0] * 8


def test_too_deep_for_python_source_is_said():
    A = te.placeholder((3,), name="A")
    axes = [te.reduce_axis((0, 2), name=f"k{j}") for j in range(30)]
    B = te.compute((3,), lambda i: te.sum(A[i], axis=axes), name="B")
    message = refused(BuildError, lambda: tvmlab.build(te.create_schedule(B.op), [A, B], "numba"))
    assert message.startswith("this program is nested too deep for Python source: too many statically nested blocks")
    tvmlab.build(te.create_schedule(B.op), [A, B], "llvm")


def test_deep_programs_compile():
    A = te.placeholder((8,), name="A")

    def body(i):
        total = A[i]
        for _ in range(600):
            total = total * 1.5 + 1.0
        return total

    B = te.compute((8,), body, name="B")
    for target in ("llvm", "interp"):
        b = np.zeros(8, "float32")
        tvmlab.build(te.create_schedule(B.op), [A, B], target)(np.zeros(8, "float32"), b)
        assert np.isinf(b).all()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_survives_parallel_loops():
    """The child of a process that ran parallel loops: llvm runs them on one thread, numba says why it cannot."""
    code = """
        import os, warnings, numpy as np, tvmlab
        from tvmlab import te
        warnings.simplefilter("ignore")
        A = te.placeholder((64,), name="A")
        B = te.compute((64,), lambda i: A[i] + 1.0, name="B")
        s = te.create_schedule(B.op)
        s[B].parallel(B.op.axis[0])
        modules = [tvmlab.build(s, [A, B], t) for t in ("llvm", "numba")]
        a, b = np.zeros(64, "float32"), np.zeros(64, "float32")
        for m in modules:
            m(a, b)
        child = os.fork()
        if child == 0:
            b[:] = 0
            modules[0](a, b)
            try:
                modules[1](a, b)
            except tvmlab.TVMError as e:
                os._exit(7 if (b == 1).all() and "forked" in str(e) else 1)
            os._exit(2)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.stdout.strip() == "7", done.stderr
