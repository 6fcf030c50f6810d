"""Every access of a small program, by visiting every iteration: what the analysis is held against.

Only for programs in which no index and no guard depends on data.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tvmlab.core import dtype as dt
from tvmlab.core.build import FOLD
from tvmlab.core.node import (
    Alloc,
    Attr,
    Barrier,
    Bin,
    Broadcast,
    Call,
    Cast,
    Const,
    Evaluate,
    Expr,
    For,
    If,
    Let,
    LetStmt,
    Load,
    Not,
    Ramp,
    Select,
    Seq,
    Store,
    Var,
)  # fmt: skip
from tvmlab.core.walk import children


@dataclass
class Run:
    """One run of a loop: the loops around it, what it touched and moved."""

    loop: For | None
    at: tuple[tuple[str, int], ...]
    touched: set[Any] = field(default_factory=set)  # (buffer, index, bytes)
    moved: int = 0
    iterations: int = 0

    @property
    def bytes(self) -> int:
        return sum(size for _, _, size in self.touched)


class Machine:
    def __init__(self) -> None:
        self.env: dict[Any, Any] = {}
        self.at: list[tuple[str, int]] = []
        self.top = Run(None, ())
        self.running = [self.top]
        self.runs: list[Run] = []

    # ------------------------------------------------------------ values of indices and conditions

    def value(self, e: Expr, lane: int = 0) -> Any:
        t = type(e)
        if t is Const:
            return e.value
        if t is Var:
            return self.env[e][lane] if isinstance(self.env[e], list) else self.env[e]
        if t is Bin:
            return FOLD[e.op](self.value(e.a, lane), self.value(e.b, lane))
        if t is Ramp:
            return self.value(e.base) + lane * self.value(e.stride)
        if t in (Broadcast, Cast):
            return self.value(e.value, lane)
        if t is Not:
            return not self.value(e.a, lane)
        if t is Call and e.name == "likely":
            return self.value(e.args[0], lane)
        cond, then, other = (e.cond, e.then, e.other) if t is Select else e.args
        return self.value(then if self.value(cond, lane) else other, lane)

    # ------------------------------------------------------------ accesses

    def expr(self, e: Any) -> None:
        if isinstance(e, Load):
            self.access(e, dt.lanes(e.dtype))
        if isinstance(e, Call) and e.name == "prefetch":
            return
        if isinstance(e, Call) and e.name == "if_then_else":
            cond, then, other = e.args
            self.expr(cond)
            self.expr(then if self.value(cond) else other)
            return
        if isinstance(e, Let):
            self.bind(e)
        for c in children(e):
            self.expr(c)

    def access(self, a: Any, lanes: int) -> None:
        size = dt.nbytes(a.buffer.dtype)
        for run in self.running:
            run.moved += lanes * size
        for lane in range(lanes):
            if a.mask is None or self.value(a.mask, lane):
                place = (a.buffer.owner, tuple(self.value(i, lane) for i in a.indices), size)
                for run in self.running:
                    run.touched.add(place)

    def bind(self, s: Any) -> None:
        try:
            lanes = dt.lanes(s.value.dtype)
            self.env[s.var] = [self.value(s.value, k) for k in range(lanes)] if lanes > 1 else self.value(s.value)
        except (KeyError, AttributeError, TypeError):  # data
            self.env.pop(s.var, None)

    # ------------------------------------------------------------ statements

    def stmt(self, s: Any) -> None:
        if isinstance(s, For):
            self.loop(s)
        elif isinstance(s, If):
            self.expr(s.cond)
            side = s.then if self.value(s.cond) else s.other
            if side is not None:
                self.stmt(side)
        elif isinstance(s, Store):
            self.access(s, max(dt.lanes(x.dtype) for x in (*s.indices, s.value)))
            for c in children(s):
                self.expr(c)
        elif isinstance(s, LetStmt):
            self.expr(s.value)
            self.bind(s)
            self.stmt(s.body)
        elif isinstance(s, (Alloc, Attr)):
            self.stmt(s.body)
        elif isinstance(s, Evaluate):
            self.expr(s.value)
        elif isinstance(s, Seq):
            for x in s.stmts:
                self.stmt(x)
        else:
            assert isinstance(s, Barrier), s

    def loop(self, s: For) -> None:
        run = Run(s, tuple(self.at))
        self.runs.append(run)
        self.running.append(run)
        lo = self.value(s.lo)
        for i in range(lo, lo + self.value(s.extent)):
            run.iterations += 1
            self.env[s.var] = i
            self.at.append((s.var.name, i))
            self.stmt(s.body)
            self.at.pop()
        self.running.pop()


def runs(body: Any) -> tuple[Run, list[Run]]:
    """The whole program as one run, and every run of every loop, in order."""
    machine = Machine()
    machine.stmt(body)
    return machine.top, machine.runs


def of(loop: For, all_runs: list[Run]) -> Iterator[Run]:
    return (r for r in all_runs if r.loop is loop)


