"""Vector accesses of a declared buffer that go on in its next rows, over the buffer that it stands for.

    declared  w: int8[16, 4], all of it as one vector: w[0, 0:64]       its region  W[jo*16 : +16, ko*4 : +4]
    lane t    is w[t//4, t%4], so the access is  W[jo*16 + [0..63]//4, ko*4 + [0..63]%4]

The elements are those that memory has in a row where the region is compact, whatever the real buffer's layout is; where
it is compact too (a packed layout), flatten_storage finds one plain vector again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..core import dtype as dt
from ..core.affine import Facts, Lin, floordiv, floormod, lin, number, product, simplify, var
from ..core.affine import to_expr as form_expr
from ..core.node import Bin, Broadcast, Const, Expr, Ramp, Var
from ..core.walk import uses


def crosses(indices: Sequence[Expr], extents: Sequence[Lin]) -> bool:
    """Does a vector along the last dimension certainly end in another row than it begins in?"""
    *outer, last = indices
    plain = isinstance(last, Ramp) and isinstance(last.stride, Const) and last.stride.value == 1
    if not outer or not plain or any(dt.lanes(i.dtype) > 1 for i in outer):
        return False
    width = extents[-1]
    return not width.terms and last.count > width.const  # type: ignore[attr-defined]


def crossing(
    indices: Sequence[Expr], extents: Sequence[Lin], facts: Facts, place: Callable[[Sequence[Lin]], list[Lin]]
) -> tuple[Expr, ...]:
    """The real indices of a vector that crosses rows. `place`: a declared position -> the real one."""
    *outer, last = indices
    assert isinstance(last, Ramp)
    lane = Var("lane", last.dtype if last.dtype == "int64" else "int32")
    known = facts.with_range(lane, number(0), number(last.count - 1))
    flat = number(0)
    for i, n in zip(outer, extents[:-1], strict=True):
        flat = product(flat, n) + lin(i, known)
    flat = product(flat, extents[-1]) + lin(last.base, known) + var(lane)
    position: list[Lin] = []
    for n in reversed(extents[1:]):
        position.insert(0, floormod(flat, n, known))
        flat = floordiv(flat, n, known)
    found = [simplify(form_expr(x, lane.dtype), known) for x in place([flat, *position])]
    return tuple(over_lanes(e, lane, last.count) if uses(e, lane) else e for e in found)


def over_lanes(e: Expr, lane: Var, count: int) -> Expr:
    """The vector of the values that `e` has for each value of the variable, from 0 on."""
    if not uses(e, lane):
        return Broadcast(e, count)
    form = lin(e)
    step = form.terms.get(lane, 0)
    base = form - product(number(step), var(lane))
    if step and not uses(form_expr(base), lane):
        return Ramp(form_expr(base, e.dtype), Const(step, e.dtype), count)
    assert isinstance(e, Bin)
    return Bin(e.op, over_lanes(e.a, lane, count), over_lanes(e.b, lane, count), dt.vector(e.dtype, count))


def along_lanes(e: Expr, lane: Var) -> Expr | None:
    """The other way: one expression of the lane's number for a vector index; None where it is no arithmetic of it."""
    if dt.lanes(e.dtype) == 1:
        return e
    if isinstance(e, Ramp):
        return e.base + e.stride * lane
    if isinstance(e, Broadcast):
        return e.value
    if not isinstance(e, Bin):
        return None
    a, b = along_lanes(e.a, lane), along_lanes(e.b, lane)
    return None if a is None or b is None else Bin(e.op, a, b, dt.element(e.dtype))
