"""Schedules whose passes matter to native code: the instructions are there, and the numbers right."""

import pytest

from tests.pure.passes.schedules import numbers, run
from tests.pure.passes.test_double_buffer import row_sums
from tests.pure.passes.test_inject_prefetch import rows
from tests.pure.passes.test_reuse_storage import chain
from tests.pure.passes.test_rolling_buffer import check, padded_conv, padded_result, stencil
from tests.pure.passes.test_virtual_threads import matmul
from tvmlab.core.error import BuildError
from tvmlab.face.api import build
from tvmlab.lowering.config import Config

NATIVE = ["llvm", "numba"]


@pytest.mark.parametrize("target", NATIVE)
def test_prefetch(target):
    s, A, C = rows()
    s[C].prefetch(A, C.op.axis[0], 1)
    assert "prefetch" in build(s, [A, C], target).get_source()
    a = numbers(6, 40)
    assert (run(s, [A, C], [a, a], target) == a * 2).all()


@pytest.mark.parametrize("target", NATIVE)
@pytest.mark.parametrize("threads", [3, 18])
def test_virtual_threads(target, threads):
    s, args = matmul(18, threads=threads)
    a, b = numbers(18, 18), numbers(18, 18, seed=1)
    assert (run(s, args, [a, b, a], target) == a @ b).all()
    with pytest.raises(BuildError):  # the target itself has none
        build(s, args, target, config=Config(disabled=frozenset({"virtual_threads"})))


@pytest.mark.parametrize("target", NATIVE)
@pytest.mark.parametrize("split", [1, 2])
def test_double_buffer(target, split):
    s, args = row_sums(9)
    a = numbers(9, 6)
    assert (run(s, args, [a, a[:, 0]], target, Config(split_loop=split)) == 2 * a.sum(1)).all()


@pytest.mark.parametrize("target", NATIVE)
def test_reuse_storage(target):
    s, args = chain(40)
    a = numbers(40, 40)
    assert (run(s, args, [a, a], target) == (a.T * 4 + 1) * 4).all()


@pytest.mark.parametrize("target", NATIVE)
def test_rolling_buffer(target):
    s, A, B, C = stencil(9, 20)
    yo, yi = s[C].split(C.op.axis[0], factor=4)
    s[B].compute_at(s[C], yi)
    s[B].rolling_buffer()
    s[B].vectorize(s[B].split(B.op.axis[1], factor=8)[1])
    s[C].parallel(yo)
    check(s, A, C, 9, 20, target=target)


def test_padding_rolls():
    s, A, P, C = padded_conv()
    s[P].compute_at(s[C], C.op.axis[0])
    s[P].rolling_buffer()
    a = numbers(7, 5)
    assert (run(s, [A, C], [a, a], "llvm") == padded_result(a)).all()
