"""Barriers out of places that not all threads of a block reach.

if tx < n:                        if tx < n:
    S[tx] = A[tx]                     S[tx] = A[tx]
    barrier("shared")     ->      barrier("shared")
    B[tx] = S[tx + 1]             if tx < n:
                                      B[tx] = S[tx + 1]

for i in range(min(4, n - tx)):       for i in range(min(4, n)):
    S[tx] = A[tx, i]                      if i < min(4, n - tx):
    barrier("shared")         ->              S[tx] = A[tx, i]
    use(S)                                barrier("shared")
                                          if i < min(4, n - tx):
                                              use(S)
"""

from __future__ import annotations

from collections.abc import Sequence

from ..core import affine
from ..core.affine import Lin
from ..core.build import all_, binary
from ..core.error import LabError
from ..core.node import Alloc, Attr, Barrier, Expr, For, If, LetStmt, Seq, Stmt, While
from ..core.text import headline, show
from ..core.walk import constant, map_children, replace, seq, substitute, walk
from .blocks import Place


class CannotSplit(Exception):
    """`at`: the statement that keeps the barrier inside; `why`: in words."""

    def __init__(self, at: Stmt, why: str) -> None:
        super().__init__(why)
        self.at, self.why = at, why


def has_barrier(s: Stmt) -> bool:
    return any(type(x) is Barrier for x in walk(s))


def guarded(cond: Expr, s: Stmt, around: Stmt) -> Stmt:
    """`s` where `cond` holds, its barriers for all threads. `around`: the statement the condition is from."""
    if affine.reads_memory(cond):
        raise CannotSplit(around, f"the condition `{show(cond)}` reads memory, which may change on the way")
    return _guarded(cond, s, around)


def _guarded(cond: Expr, s: Stmt, around: Stmt) -> Stmt:
    t = type(s)
    if t is Barrier:
        return s
    if not has_barrier(s):
        likely = around.likely if type(around) is If else True
        return If(cond, s, None, likely)
    if type(s) is Seq:
        return seq(*[_guarded(cond, x, around) for x in _runs(s.stmts)])
    if t is While or (type(s) is LetStmt and affine.reads_memory(s.value)):
        raise CannotSplit(s, "what it reads from memory may differ between the threads, and change on the way")
    if t not in (Alloc, Attr, For, If, LetStmt):
        raise CannotSplit(s, "it cannot be split")
    return map_children(s, lambda c: _guarded(cond, c, around) if isinstance(c, Stmt) else c)


def _runs(stmts: Sequence[Stmt]) -> list[Stmt]:
    """Neighbours without barriers as one statement."""
    made: list[list[Stmt]] = []
    for x in stmts:
        if has_barrier(x) or not made or has_barrier(made[-1][0]):
            made.append([])
        made[-1].append(x)
    return [seq(*run) for run in made]


def for_all(loop: For, body: Stmt, place: Place) -> For:
    """The loop with bounds that are the same for all threads of the block, its body (with barriers) under the old ones.

    `place`: where the loop stands.
    """
    v, conditions = loop.var, []
    first, end = place.lin(loop.lo), place.lin(loop.lo) + place.lin(loop.extent)
    lo, stop = loop.lo, binary("+", loop.lo, loop.extent)
    if place.varies(loop.lo):
        conditions.append(binary("<=", lo, v))
        lo = _bound(first, place, -1, loop)
    conditions.append(binary("<", v, stop))
    extent = binary("-", _bound(end, place, 1, loop), lo)
    if (constant(extent) or 0) <= 0:
        extent = binary("max", extent, 0)
    return replace(loop, lo=lo, extent=extent, body=guarded(all_(*conditions), body, loop))


def _bound(x: Lin, place: Place, sign: int, loop: For) -> Expr:
    """The least (sign -1) or largest value that any thread of the block has."""
    bound = affine.relax(x, place.facts, place.kernel.threads, sign)
    if bound is not None:
        made = substitute(affine.to_expr(bound, loop.var.dtype), place.back)
        if not place.varies(made) and not any(e in place.kernel.thread.values() for e in walk(made)):
            return made
    raise CannotSplit(loop, "the number of its iterations differs between the threads, without a bound that is known")


def refusal(buffer: str, stage: str, accesses: Sequence[str], e: CannotSplit) -> LabError:
    """The error for a barrier that has no place."""
    head = headline(e.at)
    of = f" of stage {stage}" if stage else ""
    return LabError(
        "barrier-divergent",
        f"{buffer}{of} needs a barrier between two accesses, but not all threads of a block come there: {e.why}",
        where=[f"inside   {head}", *accesses],
        hint=f"give {buffer} a part of its own for each thread (scope local), or compute it at a loop outside",
    )
