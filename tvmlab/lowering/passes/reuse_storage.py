"""A temporary buffer takes over the memory of one that is not needed any more.

    A1 = alloc((100,))                              A1 = alloc((100,))
    for i in range(100): A1[i] = A[i] + 1.0         for i in range(100): A1[i] = A[i] + 1.0
    A2 = alloc((100,))                       ->     for i in range(100): A1[i] = A1[i] * 2.0
    for i in range(100): A2[i] = A1[i] * 2.0        for i in range(100): B[i] = A1[i]
    for i in range(100): B[i] = A2[i]

Of one level (no loop between the allocations), of one scope and data type. Constant sizes may differ up to sixteenfold
(the memory gets the larger one), sizes with variables must be equal. The last reader of the old buffer may be the
first writer of the new one where each element is read and written by the same iteration, as above. Registers
(`local`, `warp`, and what fits 32 bits) and memory whose address is taken stay apart; between threads a barrier must
separate the last use of the old buffer from the first of the new one, and in a loop also the last use of the new one
from the first of the old one in the next iteration. Works on flat programs.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ...core import affine
from ...core import dtype as dt
from ...core.affine import Lin
from ...core.node import (
    Alloc,
    AllReduce,
    Attr,
    Barrier,
    Buffer,
    Expr,
    For,
    If,
    LetStmt,
    Load,
    Node,
    Ramp,
    Seq,
    Stmt,
    Store,
    Var,
    While,
)
from ...core.program import Program
from ...core.walk import constant, identical, map_children, replace, rewrite, uses, walk
from ...schedule.scopes import known, rank
from ..config import DEFAULT, Config

FACTOR = 16
REGISTER_BITS = 32
THREADS = ("thread", "vthread")


def reuse_storage(program: Program, config: Config = DEFAULT) -> Program:
    if not config.reuse_storage:
        return program
    return program.map_bodies(lambda body: _level(body, False, False))


def _level(s: Stmt, threads: bool, again: bool) -> Stmt:
    """One level: the statements and allocations that no loop or condition separates; then the levels inside.

    `threads`: it is inside a kernel; `again`: and there inside a loop.
    """
    plan = Plan(s, threads, again)
    made: Stmt = plan.apply(s)

    def inner(x: Any) -> Any:
        if type(x) in (Seq, Alloc, Attr, LetStmt):
            return map_children(x, lambda c: inner(c) if isinstance(c, Stmt) else c)
        inside = threads or (type(x) is For and x.kind in THREADS)
        repeats = again or (threads and type(x) in (For, While) and not (type(x) is For and x.kind in THREADS))
        return map_children(x, lambda c: _level(c, inside, repeats) if isinstance(c, Stmt) else c)

    result: Stmt = inner(made)
    return result


@dataclass(eq=False)
class Slot:
    """Memory, and who lives there when: (first, last statement, buffer)."""

    home: Buffer
    size: Expr
    tenants: list[tuple[int, int, Buffer]] = field(default_factory=list)


class Plan:
    """Where each buffer of a level lives. `moves`: buffers that move into the memory of another."""

    def __init__(self, s: Stmt, threads: bool, again: bool) -> None:
        self.threads, self.again = threads, again
        self.leaves: list[Node] = []  # statements of the level in order
        self.span: dict[Any, tuple[int, int]] = {}  # handle -> first and last leaf that touches it
        self.pinned: set[Any] = set()  # handles that occur as values: their address is taken
        self.moves: dict[Buffer, Slot] = {}
        allocates = self._collect(s)
        if allocates > 1:
            self.barriers = [k for k, x in enumerate(self.leaves) if type(x) is Barrier and x.scope == "shared"]
            self._place(s, [])

    # ------------------------------------------------------------ when each buffer is used

    def _collect(self, s: Stmt) -> int:
        """Number the leaves; the count of allocations."""
        t = type(s)
        if t is Seq:
            counts: list[int] = [self._collect(x) for x in s.stmts]  # type: ignore[attr-defined]
            return sum(counts)
        if t is Alloc:
            return 1 + self._collect(s.body)  # type: ignore[attr-defined]
        if t is LetStmt or t is Attr:
            self._leaf(s.value)  # type: ignore[attr-defined]
            return self._collect(s.body)  # type: ignore[attr-defined]
        self._leaf(s)
        return 0

    def _leaf(self, n: Node) -> None:
        at = len(self.leaves)
        self.leaves.append(n)
        for x in walk(n):
            t = type(x)
            if t is Load or t is Store:
                self._touch(x.buffer.data, at)  # type: ignore[attr-defined]
            elif t is AllReduce:
                for b in x.buffers:  # type: ignore[attr-defined]
                    self._touch(b.data, at)
            elif t is Var and x.dtype == "handle":  # type: ignore[attr-defined]
                self.pinned.add(x)

    def _touch(self, handle: Any, at: int) -> None:
        self.span[handle] = (self.span.get(handle, (at, at))[0], at)

    # ------------------------------------------------------------ where each buffer lives

    def _place(self, s: Stmt, slots: list[Slot]) -> None:
        """`slots`: the memory that exists here, outermost first."""
        if type(s) is Seq:
            for x in s.stmts:
                self._place(x, slots)
        elif type(s) in (LetStmt, Attr):
            self._place(s.body, slots)  # type: ignore[attr-defined]
        elif type(s) is Alloc:
            b: Buffer = s.buffer
            if self._movable(b):
                slot = self._fitting(b, slots)
                if slot is None:
                    slot = Slot(b, b.shape[0])
                    slots = [*slots, slot]
                else:
                    self.moves[b] = slot
                    slot.size = _larger(slot.size, b.shape[0])
                slot.tenants.append((*self.span[b.data], b))
            self._place(s.body, slots)

    def _movable(self, b: Buffer) -> bool:
        if b.data not in self.span or b.data in self.pinned or b.ndim != 1 or b.strides is not None:
            return False
        level = rank(b.scope)
        if level is None or (level >= 2 and b.scope in known()) or (self.threads and level == 0):
            return False
        n = constant(b.shape[0])
        return n is None or n * dt.bits(b.dtype) * dt.lanes(b.dtype) > REGISTER_BITS

    def _fitting(self, b: Buffer, slots: list[Slot]) -> Slot | None:
        """The memory to move into: the smallest that is large enough, else the largest that can grow."""
        fits = [x for x in slots if _alike(x, b) and all(self._apart(t, b) for t in x.tenants)]
        n = constant(b.shape[0])
        if n is None or not fits:
            return fits[0] if fits else None
        enough = [x for x in fits if (constant(x.size) or 0) >= n]
        by_size = sorted(enough or fits, key=lambda x: constant(x.size) or 0)
        return by_size[0] if enough else by_size[-1]

    def _apart(self, tenant: tuple[int, int, Buffer], b: Buffer) -> bool:
        """Are the two never needed at the same time?"""
        first, last, other = tenant
        mine = self.span[b.data]
        if last == mine[0]:
            return not self._together(b) and in_place(self.leaves[last], other, b)
        begin, end = (last, mine[0]) if last < mine[0] else (mine[1], first)
        if begin >= end:
            return False
        return not self._together(b) or self._ordered((first, last), mine)

    def _ordered(self, one: tuple[int, int], other: tuple[int, int]) -> bool:
        """Do all threads meet between the two times of use, and in a loop between the second and the first again?"""
        (start, begin), (end, stop) = sorted((one, other))
        between = any(begin < k < end for k in self.barriers)
        return between and (not self.again or any(k < start or k > stop for k in self.barriers))

    def _together(self, b: Buffer) -> bool:
        """Do several threads use this memory?"""
        return rank(b.scope) in (1, 2)

    # ------------------------------------------------------------ the program that results

    def apply(self, s: Stmt) -> Stmt:
        if not self.moves:
            return s
        grown: dict[Buffer, Buffer] = {}
        for slot in self.moves.values():
            home, tenants = slot.home, [t[2] for t in slot.tenants]
            align = max(t.align for t in tenants)
            if slot.size is not home.shape[0] or align != home.align:
                grown[home] = home.with_(shape=(slot.size,), align=align, data=home.data)
        to = {b: grown.get(slot.home, slot.home) for b, slot in self.moves.items()} | grown

        def rule(x: Any) -> Any:
            t = type(x)
            if t is Alloc:
                return x.body if x.buffer in self.moves else replace(x, buffer=to[x.buffer]) if x.buffer in to else None
            if (t is Load or t is Store) and x.buffer in to:
                return replace(x, buffer=to[x.buffer])
            if t is Attr and isinstance(x.about, Buffer) and x.about in to:
                return replace(x, about=to[x.about])
            if t is AllReduce and any(b in to for b in x.buffers):
                return replace(x, buffers=tuple(to.get(b, b) for b in x.buffers))
            return None

        return rewrite(s, rule)


def _alike(slot: Slot, b: Buffer) -> bool:
    home = slot.home
    if home.scope != b.scope or home.dtype != b.dtype:
        return False
    have, need = constant(slot.size), constant(b.shape[0])
    if have is None or need is None:
        return identical(slot.size, b.shape[0])
    return have <= FACTOR * need and need <= FACTOR * have


def _larger(a: Expr, b: Expr) -> Expr:
    return b if (constant(a) or 0) < (constant(b) or 0) else a


# ---------------------------------------------------------------- in place


def in_place(s: Node, old: Buffer, new: Buffer) -> bool:
    """Does each iteration of the loops `s` read `old` only where it then writes `new`, and no two the same element?"""
    loops: list[For] = []
    while type(s) in (For, If, LetStmt, Attr):
        if type(s) is For:
            loops.append(s)
        elif type(s) is LetStmt or (type(s) is If and s.other is not None):
            return False
        if any(type(x) is Load and x.buffer in (old, new) for e in _controls(s) for x in walk(e)):
            return False
        s = s.then if type(s) is If else s.body  # type: ignore[attr-defined]
    if type(s) is not Store or s.buffer is not new or any(f.kind in THREADS for f in loops):
        return False
    if s.mask is not None and any(type(x) is Load for x in walk(s.mask)):
        return False
    reads = [x for x in walk(s) if type(x) is Load and x.buffer in (old, new)]
    alike = all(x.buffer is old and identical(x.indices[0], s.indices[0]) for x in reads)
    return bool(reads) and alike and one_to_one(s.indices[0], loops)


def _controls(s: Any) -> list[Expr]:
    return [c for n in s.CHILDREN if isinstance(c := getattr(s, n), Expr)]


def one_to_one(index: Expr, loops: list[For]) -> bool:
    """Do different iterations have different indices? Like digits: each stride is more than all smaller ones reach."""
    base, reach = index, affine.number(0)
    if type(index) is Ramp:
        if constant(index.stride) != 1:
            return False
        base, reach = index.base, affine.number(index.count - 1)
    elif dt.lanes(index.dtype) > 1:
        return False
    variables = {f.var for f in loops}
    if not all(_affine(a, variables) for a in affine.lin(base).terms):
        return False
    digits = [(_stride(base, f.var), affine.lin(f.extent)) for f in loops]
    while digits:
        stride, n = next((d for d in digits if all(affine.nonneg(o - d[0]) for o, _ in digits)), digits[-1])
        if uses(affine.to_expr(stride), variables) or not affine.nonneg(stride - reach - 1):
            return False
        reach = reach + affine.product(stride, n - 1)
        digits = [d for d in digits if d[0] is not stride]
    return True


def _stride(index: Expr, v: Var) -> Lin:
    """From one value of `v` to the next; it names loop variables if it is not the same for all."""
    first, second, third = (affine.lin(index, env={v: affine.number(k)}) for k in (0, 1, 2))
    bent = third - second - (second - first)
    return second - first if not bent.terms and not bent.const else affine.var(v)


def _affine(atom: Any, variables: set[Var]) -> bool:
    """Is the term free of quotients, remainders and the like of the loop variables?"""
    if type(atom) is Var:
        return True
    if atom.op == "*":
        return all(_affine(a, variables) for a in atom.args)
    return not uses(affine.to_expr(Lin({atom: 1})), variables)
