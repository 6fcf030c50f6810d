"""Every buffer becomes flat, every access gets one index.

    C[i, j*16:j*16 + 16] = A[i, k]   ->   C[i*1024 + j*16:i*1024 + j*16 + 16] = A[i*1024 + k]

The flat buffer keeps the handle of the one it came from (`data`), so pointers given to built-ins stay right, and
names it as `.logical`. Axis separators are dropped: memory has one dimension here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace as changed
from typing import Any

from ...core import affine, build
from ...core import dtype as dt
from ...core.affine import Lin
from ...core.node import Alloc, AllReduce, Attr, Bin, Broadcast, Buffer, Const, Expr, Load, Ramp, Stmt, Store, Var
from ...core.program import Function, Program
from ...core.walk import map_children, replace
from ..across import along_lanes, over_lanes
from ..config import DEFAULT, Config


def flatten_storage(program: Program, config: Config = DEFAULT) -> Program:
    functions = tuple(_flat_function(fn) for fn in program.functions)
    if all(a is b for a, b in zip(functions, program.functions, strict=True)):
        return program
    return changed(program, functions=functions)


def _flat_function(fn: Function) -> Function:
    flat = Flattener()
    params = tuple(flat.buffer(p) if isinstance(p, Buffer) else p for p in fn.params)
    body: Stmt = flat.visit(fn.body)
    if body is fn.body and all(a is b for a, b in zip(params, fn.params, strict=True)):
        return fn
    return changed(fn, params=params, body=body)


def is_flat(b: Buffer) -> bool:
    return b.logical is not None and len(b.shape) == 1 and b.strides is None and b.offset is None


class Flattener:
    """One function's buffers and what they became; the strides of each are worked out once."""

    def __init__(self) -> None:
        self.made: dict[Any, Buffer] = {}
        self.strides: dict[Any, tuple[Lin, ...]] = {}

    def buffer(self, b: Buffer) -> Buffer:
        if is_flat(b):
            return b
        found = self.made.get(b)
        if found is None:
            size = affine.to_expr(_size(b, self.strides_of(b)))
            found = b.with_(shape=(size,), strides=None, offset=None, separators=(), logical=b, data=b.data)
            self.made[b] = found
        return found

    def strides_of(self, b: Buffer) -> tuple[Lin, ...]:
        """Elements from one index to the next, for each dimension."""
        found = self.strides.get(b)
        if found is None:
            found = tuple(map(affine.lin, b.strides)) if b.strides is not None else _compact(b.shape)
            self.strides[b] = found
        return found

    def index(self, b: Buffer, indices: Sequence[Expr]) -> Expr:
        offset = affine.number(0) if b.offset is None else affine.lin(b.offset)
        wide = any(dt.element(i.dtype) == "int64" for i in indices) or self.buffer(b).shape[0].dtype == "int64"
        dtype = "int64" if wide else "int32"
        if any(dt.lanes(i.dtype) > 1 and not isinstance(i, (Ramp, Broadcast)) for i in indices):
            found = self.straight(b, indices, offset, dtype)
            if found is not None:
                return found
        total, step, rest, lanes = offset, affine.number(0), None, 1
        for i, stride in zip(indices, self.strides_of(b), strict=True):
            if dt.lanes(i.dtype) == 1:
                total = total + affine.product(affine.lin(i), stride)
                continue
            lanes = dt.lanes(i.dtype)
            if isinstance(i, Ramp):
                total = total + affine.product(affine.lin(i.base), stride)
                step = step + affine.product(affine.lin(i.stride), stride)
            elif isinstance(i, Broadcast):
                total = total + affine.product(affine.lin(i.value), stride)
            else:
                rest = _gathered(rest, i, affine.to_expr(stride, dtype), dtype)
        base = affine.to_expr(total, dtype)
        if lanes == 1:
            return base
        return _vector_index(base, affine.to_expr(step, dtype), rest, lanes)

    def straight(self, b: Buffer, indices: Sequence[Expr], total: Lin, dtype: str) -> Expr | None:
        """`[0..63]//4` and `[0..63]%4` in a dimension of 16 and one of 4: 64 neighbours. None for what is no ramp."""
        count = max(dt.lanes(i.dtype) for i in indices)
        lane = Var("lane", dtype)
        facts = affine.NOTHING.with_range(lane, affine.number(0), affine.number(count - 1))
        for i, stride in zip(indices, self.strides_of(b), strict=True):
            one = along_lanes(i, lane)
            if one is None:
                return None
            total = total + affine.product(affine.lin(one, facts), stride)
        total = affine.lin(affine.simplify(affine.to_expr(total, dtype), facts), facts)
        made = over_lanes(affine.to_expr(total, dtype), lane, count)
        return made if isinstance(made, Ramp) else None

    def visit(self, n: Any) -> Any:
        t = type(n)
        if t is Const or t is Var:
            return n
        n = map_children(n, self.visit)
        if t is Load or t is Store:
            if is_flat(n.buffer):
                return n
            return replace(n, buffer=self.buffer(n.buffer), indices=(self.index(n.buffer, n.indices),))
        if t is Alloc:
            flat = self.buffer(n.buffer)
            return n if flat is n.buffer else replace(n, buffer=flat)
        if t is Attr and isinstance(n.about, Buffer):
            flat = self.buffer(n.about)
            return n if flat is n.about else replace(n, about=flat)
        if t is AllReduce:
            flats = tuple(map(self.buffer, n.buffers))
            return n if flats == n.buffers else replace(n, buffers=flats)
        return n


def _compact(shape: Sequence[Expr]) -> tuple[Lin, ...]:
    """Row-major: the last dimension has stride 1."""
    strides = [affine.number(1)]
    for n in reversed(shape[1:]):
        strides.append(affine.product(strides[-1], affine.lin(n)))
    return tuple(reversed(strides)) if shape else ()


def _size(b: Buffer, strides: Sequence[Lin]) -> Lin:
    """The largest index there is, plus one; 0 when a dimension is 0; 1 for a number (rank 0)."""
    extents = [affine.lin(n) for n in b.shape]
    if any(not n.terms and n.const == 0 for n in extents):
        return affine.number(0)
    if b.strides is None and extents:
        size = affine.product(extents[0], strides[0])
        return size if b.offset is None else size + affine.lin(b.offset)
    last = affine.number(0) if b.offset is None else affine.lin(b.offset)
    for n, stride in zip(extents, strides, strict=True):
        last = last + affine.product(n - 1, stride)
    return last + 1


def _gathered(rest: Expr | None, index: Expr, stride: Expr, dtype: str) -> Expr:
    """`rest + index*stride` of vectors that are no ramps."""
    lanes = dt.lanes(index.dtype)
    term = build.cast(index, dt.vector(dtype, lanes))
    if not build.is_const(stride, 1):
        term = Bin("*", term, Broadcast(stride, lanes), term.dtype)
    return term if rest is None else Bin("+", rest, term, term.dtype)


def _vector_index(base: Expr, step: Expr, rest: Expr | None, lanes: int) -> Expr:
    ramp: Expr = Broadcast(base, lanes) if build.is_const(step, 0) else Ramp(base, step, lanes)
    if rest is None:
        return ramp
    if isinstance(ramp, Broadcast) and build.is_const(base, 0):
        return rest
    return Bin("+", ramp, rest, rest.dtype)
