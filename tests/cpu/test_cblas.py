"""contrib.cblas: products by NumPy's BLAS inside programs."""

import numpy as np
import pytest

from tests.intrins import ran
from tests.refusal import refused
from tvmlab import te
from tvmlab.contrib import cblas
from tvmlab.core.error import ExpressionError
from tvmlab.face.api import build, create_schedule, lower


def transposed(x, yes):
    return np.swapaxes(x, -1, -2) if yes else x


@pytest.mark.parametrize("target", ["llvm", "interp"])
@pytest.mark.parametrize("transb", [False, True])
@pytest.mark.parametrize("transa", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_matmul(target, transa, transb, dtype):
    A = te.placeholder((5, 3) if transa else (3, 5), dtype, name="A")
    B = te.placeholder((4, 5) if transb else (5, 4), dtype, name="B")
    C = cblas.matmul(A, B, transa, transb)
    D = te.compute(C.shape, lambda i, j: C[i, j] + 1.0, name="D")
    s = create_schedule(D.op)
    a, b, d = ran(s, [A, B, D], target)
    assert (d == transposed(a, transa) @ transposed(b, transb) + 1).all()


def test_printed(golden):
    A, B = te.placeholder((3, 5), name="A"), te.placeholder((4, 5), name="B")
    C = cblas.matmul(A, B, transb=True)
    golden(str(lower(create_schedule(C.op), [A, B, C])))


@pytest.mark.parametrize("iterative", [False, True])
@pytest.mark.parametrize(("left", "right"), [(2, 2), (1, 2), (2, 1)])
@pytest.mark.parametrize("transb", [False, True])
def test_batch_matmul(iterative, left, right, transb):
    A = te.placeholder((left, 3, 5), name="A")
    B = te.placeholder((right, 4, 5) if transb else (right, 5, 4), name="B")
    C = cblas.batch_matmul(A, B, transb=transb, iterative=iterative)
    a, b, c = ran(create_schedule(C.op), [A, B, C], "llvm")
    assert (c == a @ transposed(b, transb)).all()


def test_symbolic_sizes():
    n = te.var("n")
    A, B = te.placeholder((n, 5), name="A"), te.placeholder((5, n), name="B")
    C = cblas.matmul(A, B)
    f = build(create_schedule(C.op), [A, B, C], "llvm")
    for size in (1, 4):
        a, b = np.ones((size, 5), "float32"), np.ones((5, size), "float32")
        c = np.zeros((size, size), "float32")
        f(a, b, c)
        assert (c == 5).all()


def test_refusals():
    A, B = te.placeholder((3, 5), name="A"), te.placeholder((4, 5), name="B")
    assert refused(ExpressionError, lambda: cblas.matmul(A, B)) == (
        "cblas.matmul: Tensor(shape=[3, 5], op.name=A) and Tensor(shape=[4, 5], op.name=B) cannot be multiplied"
    )
    assert refused(ExpressionError, lambda: cblas.matmul(A, B, True, True)) == (
        "cblas.matmul: Tensor(shape=[3, 5], op.name=A) and Tensor(shape=[4, 5], op.name=B) cannot be multiplied "
        "with transa=True, transb=True"
    )
    assert refused(ExpressionError, lambda: cblas.batch_matmul(A, B)) == (
        "cblas.batch_matmul multiplies tensors of 3 dimensions, not Tensor(shape=[3, 5], op.name=A) and "
        "Tensor(shape=[4, 5], op.name=B)"
    )
    H = te.placeholder((5, 4), "int8", name="H")
    assert refused(ExpressionError, lambda: cblas.matmul(A, H)) == (
        "cblas.matmul multiplies two float32 or two float64, not float32 and int8"
    )
