"""Barriers and shuffles are for all threads of the block, or all lanes of the warp: where some stay away, a GPU hangs.

    for tx in thread("threadIdx.x", 64):
        if tx < 3:
            barrier("shared")       refused: `tx < 3` does not hold for all threads
        if tx < 32:
            barrier("warp")         taken: a warp comes as a whole, or stays away as a whole

A program is one that is split (see limits.py). What memory holds is the same for all threads that read one place of it;
of memory of scope local each thread has its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import prod
from typing import Any, NamedTuple

from ...core import dtype as dt
from ...core.affine import Lin, lin
from ...core.deep import deep
from ...core.error import BuildError
from ...core.node import Barrier, Bin, Call, Expr, For, If, LetStmt, Load, Node, Select, Stmt, Store, Var, While
from ...core.program import Function, Program, loop_name
from ...core.text import headline, show
from ...core.threads import BLOCK, WARP
from ...core.walk import children, constant, walk
from ...lowering.blocks import of_thread
from .limits import launch

HINTS = {
    "shared": "every thread of a block must reach a barrier: bind all stages of the kernel to thread axes of the "
    "same extent, or attach the stage that needs the barrier outside of the condition",
    "warp": f"all {WARP} lanes of a warp must reach a barrier of the warp: put it outside of the condition, or let the "
    "condition hold for whole warps",
}


@deep
def check(program: Program, target: str) -> None:
    """Refuse kernels in which threads wait for others that never come. `target`: its name, for the message."""
    for fn in program.functions:
        if launch(fn) is not None and any(type(x) is Barrier or _is_shuffle(x) for x in walk(fn.body)):
            Walk(fn, target).stmt(fn.body)


class Parting(NamedTuple):
    """Something around that not all threads of the block take part in. `lanes`: nor all lanes of a warp."""

    why: str
    lanes: bool


class Walk:
    """One kernel.

    `own`: variables that differ among the threads of a block; `lane`: among the lanes of a warp; `row`: those that
    count the lanes from a multiple of 32 on. `single`: tags of which a warp has one index.
    """

    def __init__(self, fn: Function, target: str) -> None:
        self.launched, self.target = launch(fn) or {}, target
        self.own: set[Any] = set()
        self.lane: set[Any] = set()
        self.row: set[Any] = set()
        self.around: list[Parting] = []
        self.place: list[Stmt] = []  # the loops and conditions around, for errors
        _, y, z = sizes = [self.size(t) for t in BLOCK]
        faster = [prod(sizes[:i]) for i in range(len(sizes))]  # threads that follow each other before the tag counts on
        whole = [n > 0 and n % WARP == 0 for n in faster]
        self.single = {t for t, n, w in zip(BLOCK, sizes, whole, strict=True) if w or n == 1}
        self.rows = whole[1] or y == z == 1  # does a warp lie along threadIdx.x?

    def size(self, tag: str) -> int:
        """How many threads are launched; 0 if that is not known yet."""
        return (constant(self.launched[tag]) or 0) if tag in self.launched else 1

    # ------------------------------------------------------------ statements

    def stmt(self, s: Stmt) -> None:
        STMT.get(type(s), Walk.parts)(self, s)

    def parts(self, n: Node) -> None:
        for c in children(n):
            self.stmt(c) if isinstance(c, Stmt) else self.expr(c, "")

    def loop(self, s: For) -> None:
        for e in (s.lo, s.extent):
            self.expr(e, "")
        with self.inside(s):
            if s.kind == "thread":
                self.thread(s)
                return
            self.named(s.var, s.lo)
            why = f"not all threads run as many turns of {loop_name(s)}"
            self.parted(s.body, why, self.varies(s.extent), self.lanes_differ(s.extent))

    def thread(self, s: For) -> None:
        launched = self.launched.get(s.thread, s.extent)
        if s.thread not in BLOCK or self.size(s.thread) == 1:
            return self.stmt(s.body)
        self.own.add(s.var)
        if s.thread not in self.single:
            self.lane.add(s.var)
        first = constant(s.lo)
        if s.thread == BLOCK[0] and self.rows and first is not None and first >= 0 and first % WARP == 0:
            self.row.add(s.var)
        few = lin(s.extent).key != lin(launched).key
        whole = s.thread in self.single or (self.rows and (constant(s.extent) or 1) % WARP == 0)
        why = f"only {show(s.extent)} of {show(launched)} threads of {s.thread} run {loop_name(s)}"
        return self.parted(s.body, why, few, few and not whole)

    def turns(self, s: While) -> None:
        with self.inside(s):
            why, lanes = f"not all threads run as many turns of `while {show(s.cond)}`", self.lanes_differ(s.cond)
            self.expr(s.cond, why if lanes else "")
            self.parted(s.body, why, self.varies(s.cond), lanes)

    def condition(self, s: If) -> None:
        self.expr(s.cond, "")
        with self.inside(s):
            for branch in (s.then, s.other):
                if branch is not None:
                    why = f"`{show(s.cond)}` does not hold for all threads"
                    self.parted(branch, why, self.varies(s.cond), self.lanes_differ(s.cond))

    def let(self, s: LetStmt) -> None:
        self.expr(s.value, "")
        self.named(s.var, s.value)
        self.stmt(s.body)

    def barrier(self, s: Barrier) -> None:
        waiting = "warp" if s.scope.startswith("warp") else "shared"
        missing = [p.why for p in self.around if p.lanes or waiting == "shared"]
        if missing:
            message = f"would wait forever at this barrier: {missing[-1]}"
            raise self.refused("divergent-barrier", s, message, hint=HINTS[waiting])

    def parted(self, body: Stmt, why: str, threads: bool, lanes: bool) -> None:
        self.around += [Parting(why, lanes)] * threads
        self.stmt(body)
        if threads:
            self.around.pop()

    @contextmanager
    def inside(self, s: Stmt) -> Iterator[None]:
        self.place.append(s)
        yield
        self.place.pop()

    def refused(self, rule: str, n: Node, why: str, hint: str = "") -> BuildError:
        where = ["    " * i + headline(x) for i, x in enumerate((*self.place, n))]
        return BuildError(rule, f"the target `{self.target}` {why}", where=where, hint=hint)

    # ------------------------------------------------------------ shuffles

    def expr(self, e: Node, choice: str) -> None:
        """`choice`: why not every lane that is here evaluates it."""
        if _is_shuffle(e):
            why = [*[p.why for p in self.around if p.lanes], *([choice] if choice else [])]
            if why:
                raise self.refused("divergent-shuffle", e, f"needs all lanes of the warp at this shuffle: {why[-1]}")
        cond, chosen = _choice(e)
        own = cond is not None and self.lanes_differ(cond)
        for c in children(e):
            self.expr(c, "it stands in a choice that each lane makes for itself" if own and c in chosen else choice)

    def masked(self, s: Store) -> None:
        """What is stored under a mask is printed under a condition."""
        own = s.mask is not None and self.lanes_differ(s.mask)
        for c in (*s.indices, s.value):
            self.expr(c, f"`{show(s.mask)}` does not hold for all lanes" if own else "")
        if s.mask is not None:
            self.expr(s.mask, "")

    # ------------------------------------------------------------ what differs

    def named(self, v: Any, value: Expr) -> None:
        """A variable differs where its value, or its first one, does."""
        if self.varies(value):
            self.own.add(v)
        if self.lanes_differ(value):
            self.lane.add(v)

    def varies(self, e: Expr) -> bool:
        """May it differ among the threads of a block?"""
        return any(x in self.own or of_thread(x) for x in walk(e))

    def lanes_differ(self, e: Node) -> bool:
        """May it differ among the lanes of a warp?"""
        if e in self.lane or of_thread(e):
            return True
        if type(e) is Bin and self.by_warps(e):
            return False
        return any(map(self.lanes_differ, children(e)))

    def by_warps(self, e: Bin) -> bool:
        """Is it the number of the warp, or a comparison that changes only from one warp to the next?

        tx // 64, tx < 32, 31 < tx, n*64 + tx < 96
        """
        if not dt.is_int(e.a.dtype):
            return False
        if e.op in ("//", "truncdiv"):
            x, by = lin(e.a), constant(e.b) or 0
            falls = e.op == "//" or (len(x.terms) == 1 and x.const >= 0)  # towards zero -64 goes to -1, but -63 to 0
            return falls and by > 0 and by % WARP == 0 and self.counts_lanes(x)
        if e.op not in ("<", "<=", ">", ">="):
            return False
        a, b = (e.a, e.b) if e.op in ("<", ">=") else (e.b, e.a)  # a < b, or that it is not so
        below = lin(a) - lin(b)
        return self.counts_lanes(below) or self.counts_lanes(-below - 1)  # x < 0, and its contrary

    def counts_lanes(self, x: Lin) -> bool:
        """Is it a multiple of 32, and the lane?"""
        rows = [v for v in x.terms if v in self.row]
        if len(rows) != 1 or x.terms[rows[0]] != 1 or x.const % WARP:
            return False
        others = [(v, c) for v, c in x.terms.items() if v is not rows[0]]
        return all(c % WARP == 0 and type(v) is Var and v not in self.lane for v, c in others)


def _is_shuffle(x: Any) -> bool:
    return type(x) is Call and x.name == "shuffle_xor"


def _choice(e: Any) -> tuple[Expr | None, tuple[Expr, ...]]:
    """A condition in an expression, and what is evaluated only as it says."""
    if type(e) is Select:
        return e.cond, (e.then, e.other)
    if type(e) is Call and e.name == "if_then_else":
        return e.args[0], e.args[1:]
    if type(e) is Bin and e.op in ("and", "or"):
        return e.a, (e.b,)
    if type(e) is Load and e.mask is not None:
        return e.mask, e.indices
    return None, ()


STMT: dict[type, Callable[[Walk, Any], None]] = {
    For: Walk.loop,
    While: Walk.turns,
    If: Walk.condition,
    LetStmt: Walk.let,
    Store: Walk.masked,
    Barrier: Walk.barrier,
}
