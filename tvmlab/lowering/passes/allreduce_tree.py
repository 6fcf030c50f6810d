"""A reduction over threads becomes a tree in shared memory, between barriers.

    for tx in thread("threadIdx.x", 6):
        total[0] = allreduce_sum(A[tx], over=[tx])

    for tx in thread("threadIdx.x", 6):
        red = alloc((6,), scope="shared")
        red[tx] = A[tx]
        barrier("shared")
        if tx < 2: red[tx] = red[tx] + red[tx + 4]      # what is beyond a power of two
        if tx < 2: red[tx] = red[tx] + red[tx + 2]      # then half of the threads, a quarter ...
        barrier("shared")
        if tx < 1: red[tx] = red[tx] + red[tx + 1]
        barrier("shared")
        total[0] = red[0]

Threads that differ in other tags are groups of their own, one after another in `red`; inside a group x is fastest.
A thread for which the condition does not hold gives the identity. The values are always combined in this order, so a
float result is the same in every run; it may differ in rounding from a serial sum. `red` belongs to the kernel: where
an earlier reduction, or an earlier round of a loop, may still be reading it, a barrier comes first.
A reduction that not all threads of the block reach is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...core.build import binary, const
from ...core.node import Barrier, Buffer, Expr, If, LetStmt, Load, Stmt, Store, Var
from ...core.program import Program
from ...core.walk import seq
from ...expr.reduce import combine
from ..config import DEFAULT, Config
from ..together import Scratch, Site, always, rewrite_reductions

SYNC = Barrier("shared")


def allreduce_tree(program: Program, config: Config = DEFAULT) -> Program:
    return rewrite_reductions(program, _memory, _tree)


def _memory(site: Site) -> int:
    return 0 if site.size == 1 else site.block.size


def _tree(site: Site, scratch: Scratch) -> Stmt:
    if site.size == 1:
        return given(site, lambda values: _stores(site.stmt.buffers, const(0), values))
    red = scratch.of(site.stmt)
    rank = site.block.linear(site.over, site.index)  # among the threads of the group
    first = binary("*", site.block.linear(site.others, site.index), site.size)
    own = binary("+", first, rank)
    steps: list[Stmt] = [SYNC] if site.stmt in scratch.reused else []
    steps += [given(site, lambda values: _stores(red, own, values)), SYNC]
    plan = folds(site.size)
    for (active, distance), (_, following) in zip(plan, [*plan[1:], (0, 0)], strict=True):
        steps.append(If(binary("<", rank, active), _fold(site, red, own, binary("+", own, distance))))
        if active > following:  # the next step reads from there on what others wrote in this one
            steps.append(SYNC)
    return seq(*steps, _stores(site.stmt.buffers, const(0), _read(red, first)))


def folds(size: int) -> list[tuple[int, int]]:
    """(how many threads combine, with the one how far on): the rest beyond a power of two, then half each time."""
    half = 1 << (size.bit_length() - 1)
    found = [(size - half, half)] if size > half else []
    while half > 1:
        half //= 2
        found.append((half, half))
    return found


def given(site: Site, use: Callable[[Sequence[Expr]], Stmt]) -> Stmt:
    """What is done with the thread's own values: the identity where the condition does not hold."""
    s = site.stmt
    if always(s.cond):
        return use(s.sources)
    return If(s.cond, use(s.sources), use(s.combiner.identity))


def _fold(site: Site, red: Sequence[Buffer], own: Expr, other: Expr) -> Stmt:
    """`red[own] = combine(red[own], red[other])`; of a tuple all results are known before any is stored."""
    results = combine(site.stmt.combiner, _read(red, own), _read(red, other))
    if len(red) == 1:
        return _stores(red, own, results)
    names = [Var(f"next{i}", b.dtype) for i, b in enumerate(red)]
    made = _stores(red, own, names)
    for v, x in reversed(list(zip(names, results, strict=True))):
        made = LetStmt(v, x, made)
    return made


def _read(red: Sequence[Buffer], at: Expr) -> tuple[Expr, ...]:
    return tuple(Load(b, (at,), b.dtype) for b in red)


def _stores(buffers: Sequence[Buffer], at: Expr, values: Sequence[Expr]) -> Stmt:
    return seq(*[Store(b, (at,), x) for b, x in zip(buffers, values, strict=True)])
