"""What the search templates of several operators share: knobs that begin with the hand schedule, and register tiles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from . import _shared

REGISTERS = 32  # of the widest CPUs; those with 16, of half the width, find their tiles among the smaller ones
FEWEST = 6  # sums that do not wait for each other: with fewer a CPU that adds 16 elements at once is half idle
ROWS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14)
VECTORS = (1, 2, 3, 4)


def choose(cfg: Any, choices: Mapping[str, Sequence[Any]], hand: Mapping[str, Any]) -> dict[str, Any]:
    """Define a knob for each of the choices, and say what is chosen.

    The choice of the hand schedule comes first: it is point 0 of the space, and what an untuned template makes.
    """
    for name, legal in choices.items():
        cfg.define_knob(name, [hand[name], *[x for x in legal if x != hand[name]]])
    return {name: cfg[name].val for name in choices}


def tiles(most_rows: int, most_vectors: int, rows: Sequence[int] = ROWS) -> list[tuple[int, int]]:
    """(rows, vectors) of tiles whose sums fit registers, beside a vector of each column and one of the rows."""
    vectors = [v for v in VECTORS if v <= max(1, most_vectors)]
    some = [r for r in rows if 1 < r <= most_rows] or [1]
    found = [(r, v) for v in vectors for r in some if r * v + v + 1 <= REGISTERS]
    least = min(FEWEST, max(r * v for r, v in found))
    return [(r, v) for r, v in found if r * v >= least]


def threads(work: int) -> list[bool]:
    """In parallel or not, where that can pay. `work`: elements visited."""
    return [False, True] if work >= _shared.WORTH_THREADS else [False]


def below(sizes: Sequence[int], extent: int) -> list[int]:
    """Sizes of blocks that cut a loop; 0 is none."""
    return [0, *[n for n in sizes if n < extent]]
