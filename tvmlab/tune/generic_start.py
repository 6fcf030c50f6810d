"""Where the search of a space for any expression begins: points that a rule of thumb finds good.

Sums are made in a tile of registers, of `TILES` results (along the lanes, along the other axes), whose loops are
written out; what a vector reads is copied into panels first. Stages are at the root, or inlined where their readers sum
nothing; the last axis is in vectors, the outermost loop in parallel. Chance alone rarely finds all of that at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from math import log
from typing import Any

from ..core.node import IterVar
from ..core.walk import constant
from ..expr.tensor import ComputeOp
from .packing import lanes_choice
from .pieces import Piece

TILES = ((32, 14), (32, 8), (64, 7), (16, 14), (16, 6), (8, 8))  # registers: 32 of 16 lanes, 16 of 8, 32 of 4


def points(space: Any, pieces: Sequence[Piece]) -> list[int]:
    """By their numbers, the most promising first. For CPUs."""
    others = max((len(p.lanes) for p in pieces), default=0)
    wanted = [_wanted(pieces, k, tile) for tile in TILES for k in (*range(others), None)]
    found = [space.knob2point([_nearest(space.space_map[n], w.get(n)) for n in space.names]) for w in wanted]
    return list(dict.fromkeys(found))


def _wanted(pieces: Sequence[Piece], k: int | None, tile: tuple[int, int]) -> dict[str, Any]:
    """Values by the names of the choices. `k`: which of the other axes are the lanes; None: the last one."""
    found: dict[str, Any] = {}
    for p in pieces:
        sums = any(isinstance(r, ComputeOp) and r.reduce_axis for r in p.readers)
        other = None if k is None else next(islice(p.lanes, k, None), None)
        lanes = p.op.axis[-1] if other is None and p.op.axis else other
        own = {
            "place": "inline" if p.inline and not sums else "root", "order": "S0 S1 R0 R1 S2", "cache": 1,
            "parallel": 1, "swap": 0, "unroll": 64, "vectorize": 1,
            **{f"pack.{name}": "root" for name in p.reread},
            **({} if other is None else {"lanes": lanes_choice(p.op, other, "root")}),
        }  # fmt: skip
        found.update((f"{p.name}.{what}", value) for what, value in own.items())
        found.update((p.split(a), [1] * (p.levels - 2) + [n]) for a, n in _tile(p, lanes, tile))
        found.update((p.split(a), [1]) for a in p.op.reduce_axis)
    return found


def _tile(p: Piece, lanes: IterVar | None, tile: tuple[int, int]) -> Iterator[tuple[IterVar, int]]:
    """How long the innermost loop of each axis is, the last one first: others than the lanes share the room."""
    room = tile[1] if p.folds else 1
    for a in reversed(p.op.axis):
        if a is lanes:
            yield a, tile[0]
            continue
        n = _fitting(constant(a.extent) or room, room)
        room //= n
        yield a, n


def _fitting(n: int, room: int) -> int:
    """The largest part that divides n iterations, if it fills half of the room; else as many as there is room for."""
    exact = max(f for f in range(1, room + 1) if n % f == 0)
    return exact if 2 * exact > room else min(n, room)


def _nearest(knob: Any, wanted: Any) -> int:
    """The place of the candidate that is most like that."""
    if wanted is None:
        return 0
    if knob.kind == "sp":
        apart = [sum(abs(log(a / b)) for a, b in zip(e.size[1:], wanted, strict=True)) for e in knob.entities]
        return apart.index(min(apart))
    values = [e.val for e in knob.entities]
    return values.index(wanted) if wanted in values else 0
