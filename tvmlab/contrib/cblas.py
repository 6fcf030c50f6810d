"""Matrix products by the BLAS that NumPy brings, as operations: `contrib.cblas.matmul(A, B)`.

C = cblas.matmul(A, B)                      C = A @ B        one call of "tvm.contrib.cblas.matmul"
C = cblas.matmul(A, B, transb=True)         C = A @ B.T      operands are read as they lie, nothing is copied
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core import packed
from ..core.build import const
from ..core.calls import call_packed
from ..core.error import ExpressionError
from ..expr.extern import extern
from ..expr.tensor import Tensor, provably_equal

FLOATS = ("float32", "float64")


def matmul(lhs: Tensor, rhs: Tensor, transa: bool = False, transb: bool = False, **kwargs: Any) -> Tensor:
    """The product of two matrices, each transposed first if asked."""
    _check("matmul", lhs, rhs, 2, transa, transb)
    n, m = lhs.shape[1 if transa else 0], rhs.shape[0 if transb else 1]
    return _product("tvm.contrib.cblas.matmul", (n, m), lhs, rhs, transa, transb, kwargs)


def batch_matmul(
    lhs: Tensor, rhs: Tensor, transa: bool = False, transb: bool = False, iterative: bool = False, **kwargs: Any
) -> Tensor:
    """The products of matrices along dimension 0; a batch of 1 goes with any. `iterative`: one after another."""
    _check("batch_matmul", lhs, rhs, 3, transa, transb)
    b = rhs.shape[0] if provably_equal(lhs.shape[0], const(1)) else lhs.shape[0]
    n, m = lhs.shape[2 if transa else 1], rhs.shape[1 if transb else 2]
    name = f"tvm.contrib.cblas.batch_matmul{'_iterative' if iterative else ''}"
    return _product(name, (b, n, m), lhs, rhs, transa, transb, kwargs)


def _product(
    name: str, shape: Any, lhs: Tensor, rhs: Tensor, transa: bool, transb: bool, options: dict[str, Any]
) -> Any:
    return extern(
        shape,
        [lhs, rhs],
        lambda ins, outs: call_packed(name, ins[0], ins[1], outs[0], transa, transb),
        name=options.pop("name", "C"),
        **options,
    )


def _check(name: str, lhs: Tensor, rhs: Tensor, ndim: int, transa: bool, transb: bool) -> None:
    shapes = f"{lhs!r} and {rhs!r}"
    if lhs.ndim != ndim or rhs.ndim != ndim:
        raise ExpressionError("cblas-rank", f"cblas.{name} multiplies tensors of {ndim} dimensions, not {shapes}")
    if lhs.dtype != rhs.dtype or lhs.dtype not in FLOATS:
        have = lhs.dtype if lhs.dtype == rhs.dtype else f"{lhs.dtype} and {rhs.dtype}"
        raise ExpressionError("cblas-dtype", f"cblas.{name} multiplies two float32 or two float64, not {have}")
    inner = lhs.shape[ndim - (2 if transa else 1)], rhs.shape[ndim - (1 if transb else 2)]
    batches = [provably_equal(lhs.shape[0], rhs.shape[0]), *(provably_equal(t.shape[0], const(1)) for t in (lhs, rhs))]
    if not provably_equal(*inner) or (ndim == 3 and not any(batches)):
        asked = "".join(f", {k}=True" for k, on in (("transa", transa), ("transb", transb)) if on)
        raise ExpressionError(
            "cblas-shape", f"cblas.{name}: {shapes} cannot be multiplied{asked and f' with{asked[1:]}'}"
        )


# ---------------------------------------------------------------- the functions behind the names


def _matmul(a: Any, b: Any, c: Any, transa: Any = False, transb: Any = False) -> None:
    a, b = (np.swapaxes(np.asarray(x), -1, -2) if t else np.asarray(x) for x, t in ((a, transa), (b, transb)))
    np.matmul(a, b, out=np.asarray(c))


def _one_after_another(a: Any, b: Any, c: Any, transa: Any = False, transb: Any = False) -> None:
    a, b, c = np.asarray(a), np.asarray(b), np.asarray(c)
    for i in range(len(c)):
        _matmul(a[min(i, len(a) - 1)], b[min(i, len(b) - 1)], c[i], transa, transb)


packed.register("tvm.contrib.cblas.matmul", _matmul, override=True)
packed.register("tvm.contrib.cblas.batch_matmul", _matmul, override=True)
packed.register("tvm.contrib.cblas.batch_matmul_iterative", _one_after_another, override=True)
