"""Remarks on shared memory that all threads of a block fill: only where it is true, with the names of the person."""

import pytest

import tvmlab
from tvmlab import te

N, M = 77, 64


def fetched(bind=(), threads=("x",), at=0, predicate=False, scope="shared", constant=True):
    """B[i, j] = A[i, j] + 1, rows on blocks, columns on threads (8 by 8, if along x and y), by way of AA."""
    m = M if constant else te.size_var("m")
    A = te.placeholder((N, m), name="A")
    B = te.compute((N, m), lambda i, j: A[i, j] + 1.0, name="B")
    s = te.create_schedule(B.op)
    AA = s.cache_read(A, scope, [B])
    i, j = s[B].op.axis
    s[B].bind(i, te.thread_axis("blockIdx.x"))
    parts = [j] if len(threads) == 1 else list(s[B].split(j, nparts=8))
    for axis, t in zip(reversed(parts), threads):
        s[B].bind(axis, te.thread_axis(f"threadIdx.{t}"))
    s[AA].compute_at(s[B], [i, *parts][at])
    own = list(s[AA].op.axis)[1:]
    own = own if len(threads) == 1 else list(s[AA].split(own[0], nparts=8))
    for axis, t in zip(reversed(own), bind):
        s[AA].bind(axis, te.thread_axis(f"threadIdx.{t}"))
    if predicate:
        s[AA].set_store_predicate(te.thread_axis("threadIdx.x").var.equal(0))
    return s, [A, B]


def remarks(*args, **options):
    return list(tvmlab.lower(*fetched(*args, **options)).remarks)


SHARE = "bind an axis of it to threadIdx"


@pytest.mark.parametrize("at", [0, 1])
def test_nobody_bound_it(at):
    assert remarks(at=at) == [f"all 64 threads of threadIdx.x fetch all of AA (A.shared): {SHARE}.x, to share that out"]


def test_what_is_shared_out():
    assert remarks(bind="x") == remarks(bind="xy", threads="xy") == []
    assert remarks(scope="local", at=1) == []
    assert remarks(predicate=True) == []  # who knows


def test_in_part():
    said = "all 8 threads of threadIdx.y fetch the same elements of AA (A.shared): "
    assert remarks(bind="x", threads="xy") == [f"{said}{SHARE}.y, to share that out"]
    said = "all 64 threads of threadIdx.x and threadIdx.y fetch all of AA (A.shared): "
    assert remarks(threads="xy") == [f"{said}{SHARE}.x and threadIdx.y, to share that out"]


def test_extents_that_a_call_decides():
    assert remarks(constant=False) == [
        f"all threads of threadIdx.x fetch all of AA (A.shared): {SHARE}.x, to share that out"
    ]


@pytest.mark.parametrize("target", ["opencl", "cuda", "cuda_c", "metal"])
def test_it_is_printed(target):
    s, args = fetched()
    said = "ll 64 threads of threadIdx.x fetch all of AA (A.shared)"
    assert f"# a{said}" in str(tvmlab.lower(s, args)) and said in tvmlab.build(s, args, target).source
