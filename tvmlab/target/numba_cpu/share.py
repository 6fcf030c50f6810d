"""Finds values that a row of stores computes more than once, so that the text can compute them once.

acc_0 = fma(splat16(at(A, k*2)), load16(B, k*16), acc_0)          B_v = load16(B, k*16)
acc_1 = fma(splat16(at(A, k*2 + 1)), load16(B, k*16), acc_1)  ->  acc_0 = fma(splat16(at(A, k*2)), B_v, acc_0)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...core.node import Bin, Broadcast, Call, Cast, Const, Expr, Let, Load, Not, Ramp, Select, Store, Var
from ...core.walk import children
from .expand import place

WORTH = (Bin, Broadcast, Call, Cast, Load, Not, Select)


class Shared:
    """Numbers the values of a row of stores; equal numbers mean equal values.

    `register(buffer, index)`: is that piece of the buffer a variable?
    """

    def __init__(self, run: Sequence[Store], register: Callable[[Any, Expr], bool]) -> None:
        self.register = register
        self.table: dict[Any, int] = {}
        self.uses: list[int] = []
        self.versions: dict[Any, int] = {}
        self.rows: list[dict[int, int]] = []
        self.row: dict[int, int] = {}
        self.names: dict[tuple[int, str], str] = {}
        self.busy: set[tuple[int, str]] = set()
        for s in run:
            self._statement(s)

    def at(self, n: int) -> None:
        """Statement `n` is being printed now."""
        self.row = self.rows[n]

    def number(self, e: Expr) -> int | None:
        """The number of a value that is worth a name."""
        found = self.row.get(id(e)) if isinstance(e, WORTH) else None
        if found is None or self.uses[found] < 2:
            return None
        return None if isinstance(e, Load) and self.register(e.buffer, e.indices[0]) else found

    def title(self, e: Expr, context: str) -> str:
        """What to call a shared value: after the buffer it was read from."""
        if context == "index":
            return "base"
        inner = e.value if isinstance(e, (Broadcast, Cast)) else e
        return f"{inner.buffer.name}_v" if isinstance(inner, Load) else "zero" if _is_zero(inner) else "shared"

    def _statement(self, s: Store) -> None:
        self.row = {}
        for e in (s.value, s.mask, *[_base(i) for i in s.indices]):
            if e is not None:
                self.uses[self._visit(e)] += 1
        self.rows.append(self.row)
        key = self._cell(s.buffer, s.indices)
        self.versions[key] = self.versions.get(key, 0) + 1

    def _cell(self, buffer: Any, indices: tuple[Expr, ...]) -> Any:
        """What a store to these elements changes: the variable, or the whole buffer."""
        held = len(indices) == 1 and self.register(buffer, indices[0])
        return (buffer, place(indices[0])) if held else buffer

    def _visit(self, e: Expr) -> int:
        parts = [self._visit(c) for c in _strict(e)]
        key = (*_own(e), *parts)
        if isinstance(e, Load):
            key += (id(e.buffer), self.versions.get(self._cell(e.buffer, e.indices), 0))
        number = self.table.get(key)
        if number is None:
            number = self.table[key] = len(self.uses)
            self.uses.append(0)
            for part in parts:
                self.uses[part] += 1
        self.row[id(e)] = number
        return number


def _base(index: Expr) -> Expr:
    return index.base if isinstance(index, Ramp) else index


def _strict(e: Expr) -> list[Any]:
    """The parts that are evaluated whenever `e` is."""
    if isinstance(e, Load):
        return [_base(i) for i in e.indices] + ([] if e.mask is None else [e.mask])
    if isinstance(e, Select):
        return [e.cond]
    if isinstance(e, Call) and e.name == "if_then_else":
        return [e.args[0]]
    if isinstance(e, Bin) and e.op in ("and", "or"):
        return [e.a]
    if isinstance(e, Let):
        return [e.value]
    return list(children(e))


def _own(e: Expr) -> tuple[Any, ...]:
    """What tells nodes apart besides their strict parts; lazy parts count by identity."""
    if isinstance(e, Var):
        return (id(e),)
    if isinstance(e, Const):
        return ("const", repr(e.value), e.dtype)
    strict = {id(c) for c in _strict(e)}
    lazy = tuple(id(c) for c in children(e) if id(c) not in strict and not isinstance(e, Load))
    index = tuple((i.count, _step(i)) for i in e.indices if isinstance(i, Ramp)) if isinstance(e, Load) else ()
    extra = tuple(getattr(e, f) for f in ("op", "name", "count", "kind") if hasattr(e, f))
    return (type(e).__name__, e.dtype, extra, lazy, index)


def _step(r: Ramp) -> Any:
    return r.stride.value if isinstance(r.stride, Const) else ("expr", id(r.stride))


def _is_zero(e: Expr) -> bool:
    return isinstance(e, Const) and e.value == 0
