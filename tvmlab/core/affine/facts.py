"""What is known where a form stands: ranges of variables, conditions that hold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from .. import dtype as dt
from ..node import Bin, Call, Const, Expr, Load, Not, Var
from ..walk import replace, walk
from . import arith
from .form import Lin


class Facts:
    """What is known: `ranges` of variables (inclusive, outer variables first), `guards` (forms that are >= 0)."""

    __slots__ = ("forms", "guards", "limits", "order", "ranges")

    def __init__(self, ranges: Mapping[Var, tuple[Lin, Lin]] | None = None, guards: Iterable[Lin] = ()) -> None:
        self.ranges: dict[Any, tuple[Lin, Lin]] = dict(ranges or {})
        self.order: dict[Any, int] = {v: i for i, v in enumerate(self.ranges)}
        self.guards: tuple[Lin, ...] = tuple(guards)
        self.forms: dict[Any, Lin] = {}  # of expressions that were costly to bring into form
        self.limits: dict[Any, Lin | None] = {}  # and their bounds: what is nested is asked for again and again

    def with_range(self, v: Var, lo: Lin, hi: Lin) -> Facts:
        made = Facts.__new__(Facts)
        made.ranges = {**self.ranges, v: (lo, hi)}
        made.order = {**self.order, v: len(self.order)}
        made.guards, made.forms, made.limits = self.guards, {}, {}
        return made

    def with_guards(self, guards: Iterable[Lin]) -> Facts:
        made = Facts.__new__(Facts)
        made.ranges, made.order = self.ranges, self.order
        made.guards, made.forms, made.limits = (*self.guards, *guards), {}, {}
        return made

    def without_guards(self) -> Facts:
        made = Facts.__new__(Facts)
        made.ranges, made.order, made.guards = self.ranges, self.order, ()
        made.forms, made.limits = {}, {}
        return made

    def with_loop(self, v: Var, lo: Expr, extent: Expr) -> Facts:
        if type(lo) is Const and type(extent) is Const:
            return self.with_range(v, Lin({}, lo.value), Lin({}, lo.value + extent.value - 1))
        first, n = arith.lin(lo, self), arith.lin(extent, self)
        return self.with_range(v, first, first + n - 1)

    def with_condition(self, cond: Expr) -> Facts:
        found = list(conditions(cond, self))
        return self.with_guards(found) if found else self


NOTHING = Facts()


NEGATED = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}


def conditions(cond: Expr, facts: Facts) -> Iterable[Lin]:
    """The forms that are >= 0 where `cond` holds."""
    if isinstance(cond, Call) and cond.name == "likely":
        yield from conditions(cond.args[0], facts)
    elif isinstance(cond, Bin) and cond.op == "and":
        for part in conjuncts(cond):
            yield from conditions(part, facts)
    elif isinstance(cond, Not) and isinstance(cond.a, Bin) and cond.a.op in NEGATED:
        yield from conditions(replace(cond.a, op=NEGATED[cond.a.op]), facts)
    elif isinstance(cond, Bin) and dt.is_int(cond.a.dtype) and dt.lanes(cond.a.dtype) == 1:
        d = arith.lin(cond.b, facts) - arith.lin(cond.a, facts)
        if cond.op == "<":
            yield d - 1
        elif cond.op == "<=":
            yield d
        elif cond.op == ">":
            yield -d - 1
        elif cond.op == ">=":
            yield -d
        elif cond.op == "==":
            yield d
            yield -d


def conjuncts(cond: Expr) -> Iterable[Expr]:
    """The parts of `a and b and c`."""
    return operands("and", cond)


def operands(op: str, e: Expr) -> Iterable[Expr]:
    """The parts of `a op b op c`."""
    stack = [e]
    while stack:
        top = stack.pop()
        if type(top) is Bin and top.op == op:
            stack += [top.b, top.a]
        else:
            yield top


def reads_memory(e: Expr) -> bool:
    """Does it load, or call something that may?"""
    return any(map(touches_memory, walk(e)))


def touches_memory(e: Any) -> bool:
    """Does this node, without its parts?"""
    return type(e) is Load or (type(e) is Call and e.kind != "pure")
