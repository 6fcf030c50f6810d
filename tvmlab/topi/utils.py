"""Small helpers of operators and schedules, under their classic names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core import affine
from ..core.build import const, select, to_expr
from ..core.error import ShapeError
from ..core.node import Const, Expr
from ..expr.tensor import ComputeOp, Operation, Tensor, compute
from ..kernels.transform import flat_index, split_index

InvalidShapeError = ShapeError  # the classic name


def simplify(expr: Any) -> Any:
    """The expression made simple; what is no expression is given back."""
    return affine.simplify(expr) if isinstance(expr, Expr) else expr


def _constant(value: Any, what: str) -> Any:
    if isinstance(value, (int, float)):
        return value
    made = simplify(to_expr(value))
    if not isinstance(made, Const):
        raise ValueError(f"expected {what}, not {made!r}")
    return made.value


def get_const_int(expr: Any) -> int:
    """The Python int of a constant expression; ValueError for any other."""
    return int(_constant(expr, "a constant integer"))


def get_const_float(expr: Any) -> float:
    """The Python float of a constant expression; ValueError for any other."""
    return float(_constant(expr, "a constant float"))


def get_const_tuple(in_tuple: Any) -> tuple[Any, ...]:
    """Constant expressions as Python ints; symbolic ones stay."""
    made = [x if isinstance(x, (int, float)) else simplify(to_expr(x)) for x in in_tuple]
    return tuple(int(x.value) if isinstance(x, Const) else x for x in made)


def equal_const_int(expr: Any, value: int) -> bool:
    """Is it this constant?"""
    made = simplify(to_expr(expr))
    return isinstance(made, Const) and bool(made.value == value)


def traverse_inline(s: Any, final_op: Any, callback: Callable[[Operation], None]) -> None:
    """Visit the operations below `final_op`, its readers' elementwise ones inlined; `callback` sees each."""
    visited: set[Operation] = set()

    def visit(op: Operation) -> None:
        if op in visited:
            return
        visited.add(op)
        if op.tag.partition(",")[0] in ("elemwise", "broadcast", "injective"):
            if op not in s.outputs:
                s[op].compute_inline()
            for t in op.inputs:
                if isinstance(t.op, ComputeOp):
                    visit(t.op)
        callback(op)

    visit(final_op)


def prod(x: Any) -> Any:
    """The product of some extents."""
    total: Any = const(1, "int32")
    for v in x:
        total = total * v
    return total


def ravel_index(indices: Any, shape: Any) -> Any:
    """The place of an index in row-major order."""
    return flat_index(indices, shape)


def unravel_index(idx: Any, shape: Any) -> list[Any]:
    """The index at a place in row-major order."""
    return split_index(to_expr(idx), shape)


def const_matrix(matrix: Any, name: str = "const_matrix") -> Tensor:
    """A small matrix of numbers as a tensor of selects."""
    rows, columns = matrix.shape
    dtype = str(matrix.dtype)

    def element(i: Any, j: Any) -> Any:
        value: Any = const(matrix[0][0].item(), dtype)
        for k in range(rows):
            for m in range(columns):
                here = (i % rows).equal(k) & (j % columns).equal(m)
                value = select(here, const(matrix[k][m].item(), dtype), value)
        return value

    made: Tensor = compute((rows, columns), element, name=name, attrs={"const_matrix": True})
    return made


def is_empty_shape(shape: Any) -> bool:
    """Is one of the extents zero?"""
    return any(equal_const_int(n, 0) for n in shape)


def get_shape(src_shape: Any, src_layout: str, dst_layout: str) -> tuple[Any, ...]:
    """A shape in another order of the same letters."""
    if sorted(src_layout) != sorted(dst_layout):
        raise ValueError(f"layouts {src_layout} and {dst_layout} do not have the same letters")
    return tuple(get_const_tuple(src_shape)[src_layout.index(c)] for c in dst_layout)


def is_target(names: Any) -> bool:
    """Is one of these the target in force?"""
    from ..target import Target

    now = Target.current(allow_none=True)
    return now is not None and now.name in ((names,) if isinstance(names, str) else names)


__all__ = [
    "InvalidShapeError", "const_matrix", "equal_const_int", "get_const_float", "get_const_int",
    "get_const_tuple", "get_shape", "is_empty_shape", "is_target", "prod", "ravel_index", "simplify", "traverse_inline",
    "unravel_index",
]  # fmt: skip
