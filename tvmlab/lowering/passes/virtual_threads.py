"""Loops over virtual threads disappear: each statement that depends on the thread is repeated where it stands.

    for v in vthread(2):                        B = alloc((2, 4))
        B = alloc((4,))                         for j in range(4):
        for j in range(4):                          B[0, j] = A[j]
            B[j] = A[v*4 + j]           ->          B[1, j] = A[4 + j]
        for j in range(4):                      for j in range(4):
            C[v*4 + j] = B[j] + 1.0                 C[j] = B[0, j] + 1.0
                                                    C[4 + j] = B[1, j] + 1.0

The threads run in lock step, one statement after another, at the deepest place possible: loops that do not depend on
the thread are shared. A buffer allocated inside gets one copy per thread if its contents depend on the thread; what
does not depend on it is stored and computed once. Axes bound to `cthread` share nothing (each context of a coprocessor
has its own memory). Under 16 threads a statement without loops is written out; else a loop `v_s` runs the threads.
"""

from __future__ import annotations

from typing import Any

from ...core.build import binary, const
from ...core.error import LabError
from ...core.fresh import fresh
from ...core.node import (
    Alloc,
    AllReduce,
    Attr,
    Barrier,
    Buffer,
    Call,
    Expr,
    For,
    If,
    Let,
    LetStmt,
    Load,
    Node,
    Seq,
    Stmt,
    Store,
    Var,
    While,
)  # fmt: skip
from ...core.program import Program
from ...core.text import show
from ...core.walk import children, constant, replace, rewrite, seq, walk
from ..config import DEFAULT, Config
from ..copies import select, widened
from ..effects import written
from .simplify import NO_FACTS, Simplifier

WRITTEN_OUT = 16  # from so many threads on, a loop runs them
CONTEXTS = frozenset({"coproc_scope", "coproc_uop_scope"})  # what a coprocessor takes as one piece


def virtual_threads(program: Program, config: Config = DEFAULT) -> Program:
    """A loop without a constant extent is refused; it stays where the program says what it still owes (its notes)."""

    def rule(n: Any) -> Any:
        if type(n) is not For or n.kind != "vthread" or (program.notes and constant(n.extent) is None):
            return None
        return Threads(n).visit(n.body)

    def run(body: Stmt) -> Stmt:
        made = rewrite(body, rule)  # inner threads first
        return body if made is body else Simplifier(config.keep_unit_loops).stmt(made, NO_FACTS)

    return program.map_bodies(run)


class Threads:
    """One loop over virtual threads on its way out. `copies`: buffers with one copy per thread."""

    def __init__(self, loop: For) -> None:
        self.loop, self.count = loop, _count(loop)
        self.apart = loop.thread.startswith("cthread")
        self.touched = _touched(loop.var, loop.body)
        self.copies: dict[Buffer, Buffer] = {}

    def visit(self, s: Stmt) -> Stmt:
        if self._repeats(s):
            return self.repeat(s)
        if type(s) is Seq:
            return seq(*map(self.visit, s.stmts))
        if type(s) is Alloc:
            return self._alloc(s)
        changes: dict[str, Any] = {c: self.visit(x) for c in s.CHILDREN if isinstance(x := getattr(s, c), Stmt)}
        if type(s) is Attr and s.about in self.copies:
            changes["about"] = self.copies[s.about]
        return replace(s, **changes) if changes else s

    def _repeats(self, s: Stmt) -> bool:
        """Is this the deepest place at which the statement can be repeated?"""
        t = type(s)
        if t is Seq or t is Alloc or t is Barrier:
            return False
        if t is Attr and self.apart and s.key in CONTEXTS:  # type: ignore[attr-defined]
            return True
        if t in (For, If, While, LetStmt, Attr):  # by what controls it
            controls = [c for c in children(s) if isinstance(c, Expr) and c is not getattr(s, "var", None)]
            return any(_depends(c, self.touched) for c in controls)
        written = {s.buffer} if isinstance(s, Store) else set(s.buffers) if isinstance(s, AllReduce) else set()
        return self.apart or bool(written & self.copies.keys()) or _depends(s, self.touched)

    def _alloc(self, s: Alloc) -> Stmt:
        b: Buffer = s.buffer
        if any(_depends(n, self.touched) for n in b.shape):
            shape = ", ".join(map(show, b.shape))
            raise LabError("virtual-thread-size", f"the size of {b.name} ({shape}) depends on {_axis(self.loop)}")
        if self.apart or b.data in self.touched:
            self.copies[b] = widened(b, self.count)
        return replace(s, buffer=self.copies.get(b, b), body=self.visit(s.body))

    def repeat(self, s: Stmt) -> Stmt:
        v, lo = self.loop.var, self.loop.lo
        s = select(s, self.copies, binary("-", v, lo), f"{_axis(self.loop)} needs copies of")
        if self.count < WRITTEN_OUT and not any(type(x) is For or type(x) is While for x in walk(s)):
            return seq(*[fresh(s, {v: binary("+", lo, const(k, v.dtype))}) for k in range(self.count)])
        one = Var(f"{v.name}_s", v.dtype)
        return For(one, lo, self.loop.extent, "serial", fresh(s, {v: one}), origin=self.loop.origin)


def _count(loop: For) -> int:
    n = constant(loop.extent)
    if n is None or n < 1:
        raise LabError(
            "virtual-thread-extent",
            f"{_axis(loop)} has {show(loop.extent)} iterations: the number of virtual threads must be a constant",
            hint="split the axis by nparts=<number of threads> and bind the outer part",
        )
    return n


def _axis(loop: For) -> str:
    """`the virtual thread vthread (axis i.outer of stage C)`"""
    origin = loop.origin
    axis = getattr(origin, "axis", None)
    place = f" (axis {axis.name} of stage {origin.stage})" if axis is not None else ""
    return f"the virtual thread {loop.thread or loop.var.name}{place}"


# ---------------------------------------------------------------- what depends on the thread


def _touched(v: Var, body: Stmt) -> set[Any]:
    """Variables whose value depends on the thread, and handles of the buffers whose contents do: a fixed point."""
    found: set[Any] = {v}
    size = 0
    while len(found) > size:
        size = len(found)
        _grow(body, found, False)
    return found


def _depends(n: Node, touched: set[Any]) -> bool:
    return any(
        (type(x) is Var and x in touched) or (type(x) is Load and x.buffer.data in touched) for x in walk(n)
    )


def _grow(n: Node, touched: set[Any], under: bool) -> None:
    """`under`: whether, or how often, the statement runs depends on the thread."""
    t = type(n)
    if t is Store or t is AllReduce or t is Call:
        if under or _depends(n, touched):
            touched.update(written(n))
    elif t is LetStmt or t is Let:
        if _depends(n.value, touched):  # type: ignore[attr-defined]
            touched.add(n.var)  # type: ignore[attr-defined]
    elif t is For:
        if _depends(n.lo, touched) or _depends(n.extent, touched):  # type: ignore[attr-defined]
            touched.add(n.var)  # type: ignore[attr-defined]
            under = True
    elif t is If or t is While:
        under = under or _depends(n.cond, touched)  # type: ignore[attr-defined]
    for c in children(n):
        _grow(c, touched, under)
