"""Does a target take a schedule? Asked without a compiler, once per state and target."""

import gc
import weakref

import pytest

from tests.pure.target.test_divergence import by_a_person
from tvmlab import te
from tvmlab.core.error import BuildError
from tvmlab.face import fits
from tvmlab.target import Target


def bound(threads=1024):
    A = te.placeholder((4096,), name="A")
    B = te.compute((4096,), lambda i: A[i] + 1.0, name="B")
    s = te.create_schedule(B.op)
    bx, tx = s[B].split(B.op.axis[0], threads)
    s[B].bind(bx, te.thread_axis("blockIdx.x"))
    s[B].bind(tx, te.thread_axis("threadIdx.x"))
    return s


@pytest.mark.parametrize(
    "threads, target, message",
    [
        (1024, "opencl", "threadIdx.x = 1024 threads per block; OpenCL promises 256"),
        (1024, "opencl -max_num_threads=1024", ""),
        (2048, "cuda", "threadIdx.x = 2048 threads per block; sm_80 has 1024"),
        (1024, "cuda", ""),
        (64, "opencl", ""),
        (64, "interp", ""),
        (64, "llvm", "this schedule is bound to threads of a GPU, and llvm has none"),
        (64, "numba", "this schedule is bound to threads of a GPU, and numba has none"),
    ],
)  # fmt: skip
def test_check_with_a_target_says_what_its_build_refuses(threads, target, message):
    s = bound(threads)
    assert s.check() == []
    assert [e.message for e in s.check(target=target)] == [message] * bool(message)


def test_a_barrier_that_not_all_threads_reach():
    s, _ = by_a_person()
    assert s.check() == []
    (error,) = s.check("opencl")
    assert error.rule == "divergent-barrier" and s.check("interp") == []


def test_an_open_obligation_comes_first():
    A = te.placeholder((te.size_var("n"),), name="A")
    B = te.compute(A.shape, lambda i: A[i] + 1.0, name="B")
    s = te.create_schedule(B.op)
    s[B].vectorize(B.op.axis[0])
    assert [e.message for e in s.check("opencl")] == [e.message for e in s.check()] != []


def test_loops_without_threads_are_no_kernel():
    A = te.placeholder((8,), name="A")
    B = te.compute((8,), lambda i: A[i] + 1.0, name="B")
    s = te.create_schedule(B.op)
    assert "B would be computed on the host" in s.check("opencl")[0].message
    assert s.check("llvm") == s.check("interp") == []


def test_lowered_once_for_whoever_asks(monkeypatch):
    from tvmlab.view import sources
    from tvmlab.view.pictures import occupied

    made, lowered = [], fits.for_target
    monkeypatch.setattr(fits, "for_target", lambda *a: made.append(a[1].name) or lowered(*a))
    trace = bound(64).trace
    for _ in range(2):
        assert fits.refused(trace, Target("cuda_c")) is None
        assert sources.source(trace, "cuda_c")["error"] is None
        assert occupied.report(trace, Target("cuda_c")).why == ""
    assert made == ["cuda_c"]
    wide = bound(1024).trace
    for _ in range(2):
        assert fits.refused(wide, Target("opencl")) is not None
        assert "1024 threads" in str(sources.source(wide, "opencl")["error"])
        with pytest.raises(BuildError, match="1024 threads per block; OpenCL promises 256"):
            fits.flat(wide, Target("opencl"))
    assert made == ["cuda_c", "opencl"]


def test_what_is_kept_keeps_no_schedule_alive():
    s = bound(1024)
    state = weakref.ref(s.state)
    assert s.check("opencl") and s.check("cuda") == []
    del s
    gc.collect()
    assert state() is None
