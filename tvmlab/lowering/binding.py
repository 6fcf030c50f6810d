"""Declared buffers of a statement of one's own, bound to the memory they stand for.

    declared  w: float32[16, 64], strides [s, 1], offset o     its region  A[yo*16 : +16, 0 : 64] of float32[1024, 64]
    s = 64,  o = yo*1024,  w[i, k] = A[yo*16 + i, k],  w's pointer = A's pointer, o elements on

Elements are accessed through the real buffer with all its indices, so passes see what they always see. Addresses are
counted in the real buffer's memory; only they care whether the region is compact.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..core import dtype as dt
from ..core import fragments
from ..core.affine import Facts, Lin, floormod, lin, number, product, simplify, var
from ..core.affine import to_expr as form_expr
from ..core.build import binary, const
from ..core.error import ScheduleError
from ..core.node import (
    Alloc,
    AllReduce,
    Attr,
    Broadcast,
    Buffer,
    Call,
    Const,
    Expr,
    For,
    Let,
    LetStmt,
    Load,
    Ramp,
    Stmt,
    Store,
    Var,
)
from ..core.text import show
from ..core.walk import map_children, replace, walk
from .across import crosses, crossing

Place = Callable[[Sequence[Lin]], list[Lin]]


@dataclass(frozen=True, eq=False)
class Region:
    """A part of a tensor: `low` (absolute) and `extents` per dimension, `place`: position -> indices of `buffer`.

    `moved`: `place` is more than a shift (the tensor's layout was transformed).
    """

    name: str
    buffer: Buffer
    low: tuple[Lin, ...]
    extents: tuple[Lin, ...]
    place: Place
    moved: bool = False

    @property
    def whole(self) -> bool:
        """Is it all of a buffer without gaps, from its first element on?"""
        if (
            self.moved
            or self.buffer.offset is not None
            or self.buffer.strides is not None
            or len(self.low) != self.buffer.ndim
        ):
            return False
        return all(zero(x) for x in self.place(self.low)) and all(
            zero(n - lin(m)) for n, m in zip(self.extents, self.buffer.shape, strict=True)
        )

    def __str__(self) -> str:
        """`A[yo*16 : +16, 3]`"""
        return f"{self.name}[{', '.join(map(span_text, self.low, self.extents))}]"


def span_text(low: Lin, extent: Lin) -> str:
    start = show(form_expr(low))
    return start if one(extent) else f"{start} : +{show(form_expr(extent))}"


def zero(x: Lin) -> bool:
    return not x.terms and x.const == 0


def one(x: Lin) -> bool:
    return not x.terms and x.const == 1


def fit(declared: Sequence[Lin | None], found: Sequence[Lin]) -> list[int] | None:
    """Which found extent each declared one (None: any) is, from the last back; those left over must be 1."""
    kept: list[int] = []
    at = len(found) - 1
    for k in reversed(range(len(declared))):
        want = declared[k]
        while at > k and want is not None and one(found[at]) and not one(want):
            at -= 1
        if at < 0 or (want is not None and not zero(found[at] - want)):
            return None
        kept.insert(0, at)
        at -= 1
    return kept if all(one(n) for j, n in enumerate(found) if j not in kept) else None


@dataclass(frozen=True, eq=False)
class View:
    """A declared buffer and its region.

    `kept`: the region's dimension of each declared one. `offset`, `strides`: in memory (None: it has no strides).
    """

    declared: Buffer
    region: Region
    kept: tuple[int, ...]
    offset: Lin
    strides: tuple[Lin, ...] | None
    mask: int  # 1: it is read, 2: it is written, 3: both

    @property
    def extents(self) -> tuple[Lin, ...]:
        return tuple(self.region.extents[k] for k in self.kept)

    def position(self, indices: Sequence[Lin]) -> list[Lin]:
        """Where an element of the declared buffer is, in the dimensions of the tensor."""
        found = list(self.region.low)
        for k, i in zip(self.kept, indices, strict=True):
            found[k] = found[k] + i
        return found

    @property
    def span(self) -> Lin:
        """Elements from the first to the last, gaps included."""
        return sum((product(n - 1, s) for n, s in zip(self.extents, self.strides or (), strict=True)), number(1))

    @property
    def compact(self) -> bool:
        """Do the strides say row-major without gaps?"""
        step = number(1)
        for n, stride in zip(reversed(self.extents), reversed(self.strides or ()), strict=True):
            if not one(n) and not zero(stride - step):
                return False
            step = product(step, n)
        return True


class Binder:
    """The bindings of one use of a statement. `who`: begins the sentence of every refusal."""

    def __init__(self, who: str, facts: Facts, updates: bool = False) -> None:
        """`updates`: the statement adds to its outputs, so it reads them too, whatever its pointers say."""
        self.who, self.facts, self.updates = who, facts, updates
        self.views: dict[Buffer, View] = {}
        self.by_data: dict[Var, View] = {}
        self.values: dict[Any, Lin] = {}
        self.source: dict[Var, str] = {}

    # ------------------------------------------------------------ binding

    def bind(self, declared: Buffer, region: Region, mask: int) -> None:
        """`declared` stands for the region. `mask`: 1 for an input, 2 for an output."""
        kept = fit([None if isinstance(n, Var) else lin(n) for n in declared.shape], region.extents)
        if kept is None:
            raise self.refuse(
                "intrin-region",
                f"buffer {declared.name} and the region it stands for have different shapes",
                [_declared_text(declared), f"region    {region}"],
                "a region may have further dimensions only where they are 1",
            )
        self._check_kind(declared, region)
        view = self._view(declared, region, tuple(kept), 3 if self.updates and mask == 2 else mask)
        self.views[declared] = self.by_data[declared.data] = view
        for n, m in zip(declared.shape, view.extents, strict=True):
            self.assign(n, m, f"the shape of {declared.name}")
        self._bind_strides(view)
        self._bind_offset(view)

    def assign(self, e: Expr, value: Lin, what: str) -> None:
        """A declared variable has this value; what was declared as a number must be it."""
        if isinstance(e, Var) and e not in self.values:
            self.values[e], self.source[e] = value, what
            return
        have = lin(e, self.facts, self.values)
        if not zero(have - value):
            first = f" (it is {_text(have)} by {self.source[e]})" if isinstance(e, Var) and e in self.source else ""
            raise self.refuse("intrin-variable", f"{what} is declared as {show(e)}{first}, but is {_text(value)} here")

    def _check_kind(self, declared: Buffer, region: Region) -> None:
        real = region.buffer
        if declared.dtype != real.dtype:
            raise self.refuse(
                "intrin-dtype", f"buffer {declared.name} is {declared.dtype}, {region.name} is {real.dtype}"
            )
        if declared.scope != real.scope:
            raise self.refuse(
                "intrin-scope",
                f'buffer {declared.name} is declared in scope "{declared.scope}", {region.name} is in "{real.scope}"',
                hint=f's[{region.name}].set_scope("{declared.scope}"), or declare the buffer with scope="{real.scope}"',
            )
        if real.align % declared.align:
            raise self.refuse(
                "intrin-alignment",
                f"buffer {declared.name} needs memory aligned to {declared.align} bytes, that of {region.name} is "
                f"aligned to {real.align}",
                hint="lower with binds={tensor: a buffer with that data_alignment}, or declare a smaller one",
            )

    def _view(self, declared: Buffer, region: Region, kept: tuple[int, ...], mask: int) -> View:
        real = region.buffer
        strides = (
            [lin(s) for s in real.strides] if real.strides is not None else row_major([lin(n) for n in real.shape])
        )
        start = number(0) if real.offset is None else lin(real.offset)
        axes = [number(0) if one(region.extents[k]) else var(Var(f"x{k}")) for k in kept]
        facts = self.facts
        for k, x in zip(kept, axes, strict=True):
            for v in x.terms:
                facts = facts.with_range(v, number(0), region.extents[k] - 1)

        def flat(values: Sequence[Lin]) -> Lin:
            position = list(region.low)
            for k, x in zip(kept, values, strict=True):
                position[k] = position[k] + x
            total = start
            for x, stride in zip(region.place(position), strides, strict=True):
                total = total + product(x, stride)
            return lin(simplify(form_expr(total), facts), facts)

        nothing = [number(0)] * len(kept)
        offset = flat(nothing)
        steps = [flat([*nothing[:k], number(1), *nothing[k + 1 :]]) - offset for k in range(len(kept))]
        straight = offset
        for x, step in zip(axes, steps, strict=True):
            straight = straight + product(x, step)
        regular = zero(flat(axes) - straight)
        return View(declared, region, kept, offset, tuple(steps) if regular else None, mask)

    def need_strides(self, view: View) -> tuple[Lin, ...]:
        if view.strides is not None:
            return view.strides
        raise self.refuse(
            "intrin-layout",
            f"{view.region} has no strides in memory, because the layout of {view.region.name} was transformed",
            hint="choose a layout in which the region is a block, or access single elements of "
            f"{view.declared.name} only",
        )

    def _bind_strides(self, view: View) -> None:
        if view.declared.strides is None:
            return
        found = self.need_strides(view)
        for k, (s, n) in enumerate(zip(view.declared.strides, view.extents, strict=True)):
            broadcast = view.declared.kind == "auto_broadcast" and one(n)
            if not one(n) or isinstance(s, Var):
                self.assign(s, number(0) if broadcast else found[k], f"stride {k} of {view.declared.name}")

    def _bind_offset(self, view: View) -> None:
        b = view.declared
        if b.offset is not None:
            self.assign(b.offset, view.offset, f"the offset of {b.name}")
        if b.factor > 1 and not zero(floormod(view.offset, number(b.factor), self.facts)):
            raise self.refuse(
                "intrin-offset",
                f"buffer {b.name} must start at a multiple of {b.factor} elements (offset_factor)",
                [f"region    {view.region}", f"starts at element {_text(view.offset)} of {view.region.name}"],
                "split by a multiple of the factor, or declare the buffer with offset_factor=1",
            )

    def refuse(self, rule: str, why: str, where: Sequence[str] = (), hint: str = "") -> ScheduleError:
        return ScheduleError(rule, f"{self.who}: {why}", where=where, hint=hint)

    # ------------------------------------------------------------ rewriting

    def apply(self, body: Stmt, origin: Any = None) -> Stmt:
        """The statement over real buffers, with loop variables and temporaries of its own."""
        self._check_addresses(body)
        made: Stmt = _Rewriter(self, origin).visit(body)
        return made

    def _check_addresses(self, body: Stmt) -> None:
        for view in addressed(body, self.by_data):
            found = self.need_strides(view)
            if view.declared.strides is None and not view.compact:
                steps = ", ".join(map(_text, found))
                raise self.refuse(
                    "intrin-compact",
                    f"buffer {view.declared.name} is declared compact and its address is taken, but its region has "
                    "gaps",
                    [_declared_text(view.declared), f"region    {view.region}, strides [{steps}]"],
                    f"declare the buffer with strides=[{', '.join(_stride_names(view))}], or copy the region with "
                    "cache_read or cache_write",
                )


def _declared_text(b: Buffer) -> str:
    return f"declared  {b.name}[{', '.join(map(show, b.shape))}]"


def _stride_names(view: View) -> list[str]:
    return [f'te.var("s{k}")' for k in range(len(view.kept) - 1)] + ["1"]


def _text(x: Lin) -> str:
    return show(form_expr(x))


def row_major(shape: Sequence[Lin]) -> list[Lin]:
    strides = [number(1)]
    for n in reversed(shape[1:]):
        strides.insert(0, product(strides[0], n))
    return strides if shape else []


def addressed(body: Stmt, by_data: Mapping[Var, View]) -> list[View]:
    """The views whose address the statement takes. (A packed call gets arrays with strides.)"""
    found: dict[Any, View] = {}
    for x in walk(body):
        if not isinstance(x, Call) or x.kind == "packed":
            continue
        whole = fragments.handles(x) if fragments.is_call(x) else ()
        for a in [a for i, a in enumerate(x.args) if i not in whole]:
            data = a.buffer.data if isinstance(a, Load) and x.name == "address_of" else a
            if isinstance(data, Var) and data in by_data:
                found[data] = by_data[data]
    return list(found.values())


class _Rewriter:
    """One pass over a body: declared buffers and variables out, real ones in; what the body binds is made anew."""

    def __init__(self, binder: Binder, origin: Any) -> None:
        self.binder, self.origin = binder, origin
        self.own: dict[Any, Any] = {}
        self.values = {v: wide_expr(x, v.dtype) for v, x in binder.values.items()}

    def visit(self, n: Any) -> Any:
        handler = HANDLERS.get(type(n))
        return map_children(n, self.visit) if handler is None else handler(self, n)

    def variable(self, v: Var) -> Expr:
        view = self.binder.by_data.get(v)
        if view is not None:
            return self.pointer(view)
        made: Expr = self.own[v] if v in self.own else self.values.get(v, v)
        return made

    def bound(self, n: Any) -> Any:
        """A loop or a let: its variable is a new one."""
        fresh = Var(n.var.name, n.var.dtype, n.var.nonneg)
        self.own[n.var] = fresh
        changed = {"origin": self.origin} if isinstance(n, For) and self.origin is not None else {}
        return replace(map_children(n, self.visit), var=fresh, **changed)

    def alloc(self, n: Alloc) -> Alloc:
        b = n.buffer
        fresh = b.with_(shape=tuple(map(self.visit, b.shape)))
        self.own[b], self.own[b.data] = fresh, fresh.data
        return replace(n, buffer=fresh, body=self.visit(n.body))

    def access(self, n: Any) -> Any:
        n = map_children(n, self.visit)
        if isinstance(n, Store) and self.origin is not None:
            n = replace(n, origin=self.origin)
        view = self.binder.views.get(n.buffer)
        if view is None:
            return replace(n, buffer=self.own[n.buffer]) if n.buffer in self.own else n
        return replace(n, buffer=view.region.buffer, indices=self.indices(view, n.indices))

    def indices(self, view: View, given: Sequence[Expr]) -> tuple[Expr, ...]:
        region = view.region
        if all(dt.lanes(i.dtype) == 1 for i in given):
            position = view.position([lin(i, self.binder.facts) for i in given])
            return tuple(wide_expr(x) for x in region.place(position))
        if crosses(given, view.extents):
            return crossing(given, view.extents, self.binder.facts, lambda p: region.place(view.position(p)))
        if region.moved:
            raise self.binder.refuse(
                "intrin-vector",
                f"a vector access of {view.declared.name} cannot follow the transformed layout of {region.name}",
            )
        made = [wide_expr(x) for x in region.place(region.low)]
        for k, i in zip(view.kept, given, strict=True):
            made[k] = _shifted(made[k], i)
        return tuple(made)

    def call(self, n: Call) -> Call:
        if n.kind == "packed":
            return replace(n, args=tuple(self.array(a) for a in n.args))
        if fragments.is_call(n):
            return self.on_fragments(n)
        if n.name != "access_ptr" or n.args[0] not in self.binder.by_data:
            return map_children(n, self.visit)
        view = self.binder.by_data[n.args[0]]
        data, start, extent, mask = n.args
        at = lin(self.visit(start), self.binder.facts)
        if view.declared.offset is None:
            at = at + view.offset
        room = simplify(self.visit(extent), self.binder.facts)
        gaps: tuple[Expr, ...] = ()  # a pointer to all of a region with gaps says so: what lies between is another's
        if zero(at - view.offset) and not view.compact and zero(lin(room, self.binder.facts) - view.span):
            gaps = tuple(map(wide_expr, (*view.extents, *self.binder.need_strides(view))))
        if view.mask == 3 and isinstance(mask, Const):
            mask = const(mask.value | 1)
        return replace(n, args=(view.region.buffer.data, wide_expr(at), room, mask, *gaps))

    def on_fragments(self, n: Call) -> Call:
        """A fragment is named by the handle of all of it: its tiles have numbers, not addresses."""
        whole = {i: self.binder.by_data.get(n.args[i]) for i in fragments.handles(n) if i < len(n.args)}  # type: ignore[call-overload]
        args = [self.visit(a) if whole.get(i) is None else whole[i].region.buffer.data for i, a in enumerate(n.args)]
        return replace(n, args=tuple(args))

    def array(self, a: Expr) -> Expr:
        """A buffer as an argument of a packed function: all of a real one, or an array over the region."""
        view = self.binder.by_data.get(a) if isinstance(a, Var) else None
        if view is None:
            made: Expr = self.visit(a)
            return made
        if view.region.whole and len(view.kept) == view.region.buffer.ndim:
            return view.region.buffer.data
        numbers = (*view.extents, *self.binder.need_strides(view))
        parts = (const(view.mask), const(len(view.kept)), *map(wide_expr, numbers))
        return Call("array_view", (view.region.buffer.data, wide_expr(view.offset), *parts), "handle", "intrin")

    def pointer(self, view: View) -> Expr:
        """The handle of a declared buffer, by itself: where its region starts."""
        if view.region.whole:
            return view.region.buffer.data
        args = (view.region.buffer.data, wide_expr(view.offset), wide_expr(view.span), const(3))
        return Call("access_ptr", args, "handle", "intrin")

    def attribute(self, n: Attr) -> Attr:
        view = self.binder.views.get(n.about) if isinstance(n.about, Buffer) else None
        about = (
            view.region.buffer
            if view
            else self.own.get(n.about, n.about)
            if isinstance(n.about, (Buffer, Var))
            else n.about
        )
        return replace(map_children(n, self.visit), about=about)

    def all_reduce(self, n: AllReduce) -> AllReduce:
        made = map_children(n, self.visit)
        return replace(
            made,
            buffers=tuple(self.own.get(b, b) for b in n.buffers),
            threads=tuple(self.own.get(t, t) for t in n.threads),
        )


HANDLERS: dict[type, Callable[[_Rewriter, Any], Any]] = {
    Var: _Rewriter.variable, For: _Rewriter.bound, LetStmt: _Rewriter.bound, Let: _Rewriter.bound,
    Alloc: _Rewriter.alloc, Load: _Rewriter.access, Store: _Rewriter.access, Call: _Rewriter.call,
    Attr: _Rewriter.attribute, AllReduce: _Rewriter.all_reduce,
}  # fmt: skip


def wide_expr(x: Lin, dtype: str | None = None) -> Expr:
    """The form in the width of its variables (or as `dtype`)."""
    if dtype is None or not dt.is_int(dtype):
        dtype = "int64" if any(isinstance(a, Var) and a.dtype == "int64" for a in x.terms) else "int32"
    made: Expr = form_expr(x, dtype)
    return made


def _shifted(base: Expr, i: Expr) -> Expr:
    """`base + i` for an index that may be a vector."""
    if isinstance(i, Ramp):
        return Ramp(simplify(binary("+", base, i.base)), i.stride, i.count)
    if dt.lanes(i.dtype) == 1:
        return simplify(binary("+", base, i))
    return binary("+", Broadcast(base, dt.lanes(i.dtype)), i)
