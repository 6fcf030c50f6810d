"""A reduction over threads becomes shuffles among the lanes of a warp, without memory or barriers.

    for tx in thread("threadIdx.x", 4):
        total[0] = allreduce_sum(A[tx], over=[tx])

    for tx in thread("threadIdx.x", 4):
        own = A[tx]
        other = shuffle_xor(own, 1, 4)              # pairs, then pairs of pairs: every lane has the result
        own_1 = own + other
        other_1 = shuffle_xor(own_1, 2, 4)
        own_2 = own_1 + other_1
        total[0] = own_2

For groups of neighbouring lanes: the reduced tags vary fastest, and the number of threads is a power of two up to 32,
or a multiple of 32. Then each warp shuffles, its first lane stores to one slot of shared memory per warp, and after a
barrier every warp folds the slots of its group. Values of 32 or 64 bits. All else is left for `allreduce_tree`.

The lanes of a group combine their values in one order, the lower lane's on the left, so all get the same result.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from ...core import dtype as dt
from ...core.build import binary, const, if_then_else, select
from ...core.node import Barrier, Bin, Call, Combiner, Expr, If, LetStmt, Load, Stmt, Store, Var
from ...core.program import Program
from ...core.threads import WARP
from ...core.walk import seq
from ...expr.reduce import combine
from ..config import DEFAULT, Config
from ..together import Scratch, Site, always, rewrite_reductions

SYNC = Barrier("shared")
Values = tuple[Expr, ...]


def allreduce_shuffle(program: Program, config: Config = DEFAULT) -> Program:
    return rewrite_reductions(program, _memory, _shuffled)


def _memory(site: Site) -> int | None:
    """One slot per warp where a group has several; None: not for shuffles."""
    n = site.size
    in_warp = n <= WARP and n & (n - 1) == 0
    if not (in_warp or n % WARP == 0) or not _neighbours(site):
        return None
    if any(dt.lanes(b.dtype) > 1 or dt.bits(b.dtype) not in (32, 64) for b in site.stmt.buffers):
        return None
    return 0 if in_warp else site.block.size // WARP


def _neighbours(site: Site) -> bool:
    """Are the threads of a group one after another in the block?"""
    wide = [t in site.over for t, n in site.block.extents.items() if n > 1]
    return not any(b and not a for a, b in pairwise(wide))


def _shuffled(site: Site, scratch: Scratch) -> Stmt:
    s, rank = site.stmt, site.block.linear(site.over, site.index)
    sources: Values = s.sources
    if not always(s.cond):
        sources = tuple(if_then_else(s.cond, x, i) for x, i in zip(s.sources, s.combiner.identity, strict=True))
    first = Lanes(s.combiner)
    own = first.folded(sources, rank, min(site.size, WARP))
    if site.size <= WARP:
        return first.around(_results(site, own))
    return first.around(_across(site, scratch, own, rank))


def _across(site: Site, scratch: Scratch, own: Values, rank: Expr) -> Stmt:
    """The warps of a group hand each other what they have."""
    s, red, warps = site.stmt, scratch.of(site.stmt), site.size // WARP
    base = binary("*", site.block.linear(site.others, site.index), warps)
    mine = binary("+", base, binary("//", rank, WARP))
    width = 1 << (warps - 1).bit_length()
    slot = binary("%", rank, width)
    stored = seq(*[Store(b, (mine,), x) for b, x in zip(red, own, strict=True)])
    slots: Values = tuple(Load(b, (binary("+", base, slot),), b.dtype) for b in red)
    if width > warps:
        inside = binary("<", slot, warps)
        slots = tuple(if_then_else(inside, x, i) for x, i in zip(slots, s.combiner.identity, strict=True))
    second = Lanes(s.combiner)
    total = second.folded(slots, slot, width)
    return seq(
        SYNC if s in scratch.reused else None,
        If(binary("==", binary("%", rank, WARP), 0), stored),
        SYNC,
        second.around(_results(site, total)),
    )


def _results(site: Site, values: Values) -> Stmt:
    return seq(*[Store(b, (const(0),), x) for b, x in zip(site.stmt.buffers, values, strict=True)])


class Lanes:
    """Names for what each lane has, in order; the statement that uses them goes inside."""

    def __init__(self, combiner: Combiner) -> None:
        self.combiner = combiner
        self.bound: list[tuple[Var, Expr]] = []

    def folded(self, values: Values, rank: Expr, width: int) -> Values:
        """The values of `width` lanes, folded by a butterfly. `rank`: the lane's number among them."""
        own, mask = self.names("own", values), 1
        while mask < width:
            others = self.names("other", tuple(_shuffle(x, mask, width) for x in own))
            own = self.names("own", combine(self.combiner, *self.sides(own, others, rank, mask)))
            mask *= 2
        return own

    def sides(self, own: Values, others: Values, rank: Expr, mask: int) -> tuple[Values, Values]:
        """The lower lane's values on the left, where that makes a difference."""
        if _symmetric(self.combiner):
            return own, others
        lower = self.names("lower", (binary("==", binary("&", rank, mask), 0),))[0]
        pairs = list(zip(own, others, strict=True))
        left = self.names("left", tuple(select(lower, a, b) for a, b in pairs))
        right = self.names("right", tuple(select(lower, b, a) for a, b in pairs))
        return left, right

    def names(self, stem: str, values: Values) -> Values:
        made = tuple(Var(stem, x.dtype) for x in values)
        self.bound += zip(made, values, strict=True)
        return made

    def around(self, s: Stmt) -> Stmt:
        for v, x in reversed(self.bound):
            s = LetStmt(v, x, s)
        return s


def _shuffle(value: Expr, mask: int, width: int) -> Expr:
    return Call("shuffle_xor", (value, const(mask), const(width)), value.dtype, "intrin")


def _symmetric(c: Combiner) -> bool:
    """Are both orders the same to the last bit? A maximum of floats is not: of -0.0 and 0.0 it takes one side."""
    sides: Sequence[Expr] = (*c.lhs, *c.rhs)
    r = c.result[0]
    if len(c.result) > 1 or type(r) is not Bin or {r.a, r.b} != set(sides):
        return False
    return r.op in ("+", "*") or (r.op in ("min", "max") and not dt.is_float(r.dtype))
