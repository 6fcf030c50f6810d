"""How many operations a computation takes, whatever its schedule."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from ..core.deep import deep
from ..core.node import Bin, Call, Cast, Const, Expr, IterVar, Let, Load, Not, Reduce, Select, Var
from ..core.walk import constant
from ..expr.tensor import ComputeOp, PlaceholderOp, post_order


class FlopError(RuntimeError):
    """An operation that cannot be counted."""


@deep
def compute_flop(sch: Any) -> int:
    """The operations of all stages that the outputs depend on: elements times the operations of the body.

    Arithmetic, comparisons and logic count one each; reads, their indices, casts and numbers nothing; a choice its
    condition and the dearer side; a reduction its iterations times combiner and source. What cannot be counted, and a
    total of zero, is a RuntimeError that asks for `cfg.add_flop`.
    """
    total = 0
    try:
        for op in post_order(sch.outputs):
            total += 0 if isinstance(op, PlaceholderOp) else _of_stage(op)
        if not total:
            raise FlopError("there is no operation to count")
    except FlopError as e:
        raise RuntimeError(
            f"the operations of this schedule cannot be counted: {e}. Say how many there are: cfg.add_flop(...)"
        ) from None
    return total


def _of_stage(op: Any) -> int:
    if not isinstance(op, ComputeOp):
        raise FlopError(f"{op.name} is {op.kind}, not a te.compute")
    if len(op.body) != 1:
        raise FlopError(f"{op.name} has {len(op.body)} outputs")
    return _iterations(op.axis) * _of(op.body[0])


def _iterations(axes: Sequence[IterVar]) -> int:
    lengths = [constant(a.extent) for a in axes]
    unknown = next((a.name for a, n in zip(axes, lengths) if n is None), None)
    if unknown is not None:
        raise FlopError(f"the length of `{unknown}` is not a number")
    return prod(n for n in lengths if n is not None)


def _of(e: Expr) -> int:
    match e:
        case Const() | Var() | Load():
            return 0
        case Cast():
            return _of(e.value)
        case Bin():
            return 1 + _of(e.a) + _of(e.b)
        case Not():
            return 1 + _of(e.a)
        case Select():
            return _of(e.cond) + max(_of(e.then), _of(e.other))
        case Call():
            return sum(map(_of, e.args))
        case Let():
            return _of(e.value) + _of(e.body)
        case Reduce():
            if len(e.sources) != 1 or len(e.combiner.result) != 1:
                raise FlopError("it folds several values at once")
            return _iterations(e.axes) * (_of(e.combiner.result[0]) + _of(e.sources[0]))
    raise FlopError(f"{type(e).__name__} is not known")
