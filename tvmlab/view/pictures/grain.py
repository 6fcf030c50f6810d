"""Which elements of a tensor who computes, drawn: the tensor in coarse grain, and a part of it element by element.

A plane of the tensor is drawn: the two dimensions in which the part is largest, at its first place in the others.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...analysis.owned import Owned

LINE = 32  # elements of a row of a part that has only one


@dataclass(frozen=True)
class Plane:
    """`axes`: the two dimensions that are drawn, rows first (-1: there is none); `at`: where, in all dimensions."""

    axes: tuple[int, int]
    at: tuple[int, ...]

    def points(self, found: Owned) -> tuple[Any, Any, Any]:
        """Rows, columns, and who, of what lies in the plane."""
        index, who = found.index, found.who
        for d, n in enumerate(self.at):
            if d not in self.axes:
                inside = index[:, d] == n
                index, who = index[inside], who[inside]
        rows, columns = (index[:, a] if a >= 0 else np.zeros(len(index), np.int64) for a in self.axes)
        return rows, columns, who

    def extents(self, shape: tuple[int, ...]) -> tuple[int, int]:
        rows, columns = (shape[a] if a >= 0 else 1 for a in self.axes)
        return rows, columns

    @property
    def others(self) -> str:
        """ "" or "dimension 0 = 3, dimension 1 = 0", where more than two dimensions are there."""
        left = [f"dimension {d} = {n}" for d, n in enumerate(self.at) if d not in self.axes]
        return ", ".join(left)


def plane(part: Owned) -> Plane:
    """The plane in which the part is largest."""
    rank = len(part.shape)
    first = tuple(int(n) for n in part.index[np.lexsort(part.index.T[::-1])[0]]) if rank else ()
    spans = [int(part.index[:, d].max() - part.index[:, d].min()) + 1 for d in range(rank)]
    order = sorted(range(rank), key=lambda d: (spans[d], part.shape[d], d), reverse=True)
    axes = sorted(order[:2])
    return Plane((axes[0], axes[1]) if len(axes) == 2 else (-1, axes[0] if axes else -1), first)


@dataclass(frozen=True)
class Grain:
    """Cells of `tall` x `wide` elements, the first at `row`, `column`; -1 where nobody writes. `folded`: one row of
    elements, drawn in lines of so many."""

    cells: Any
    row: int = 0
    column: int = 0
    tall: int = 1
    wide: int = 1
    folded: bool = False

    @property
    def fine(self) -> bool:
        return self.tall == self.wide == 1

    def scale(self, wide: float, tall: float, most: float) -> tuple[float, float]:
        """The width and height of a cell, in a picture so large at the most; its elements square, within reason."""
        rows, columns = self.cells.shape
        ratio = min(max(rows * self.tall / (columns * self.wide), 1 / 8), 8.0)
        width = min(wide, tall / ratio, most * columns, most * rows / ratio)
        return width / columns, width * ratio / rows


def coarse(
    rows: Any, columns: Any, who: Any, extents: tuple[int, int], most: tuple[int, int], part: tuple[int, int] = (1, 1)
) -> Grain:
    """All of a plane, in about so many cells at the most, of a size that a part of so many elements is whole cells of:
    of each, who computes its first element that anybody does."""
    tall, wide = (_size(*x) for x in zip(extents, most, part, strict=True))
    cells = np.full((-(-extents[0] // tall), -(-extents[1] // wide)), -1, np.int64)
    # They come row by row; of several assignments the last stays: backwards, the first element's.
    cells[rows[::-1] // tall, columns[::-1] // wide] = who[::-1]
    return Grain(cells, 0, 0, tall, wide)


def _size(extent: int, most: int, part: int) -> int:
    least = -(-extent // most)
    return next((n for n in range(least, 2 * least + 1) if n % part == 0 or part % n == 0), least)


def close(rows: Any, columns: Any, who: Any, most: tuple[int, int]) -> Grain:
    """The box around a part."""
    top, left = int(rows.min()), int(columns.min())
    down, across = int(rows.max()) - top + 1, int(columns.max()) - left + 1
    if down == 1 and across > LINE:
        rows, columns, folded = (columns - left) // LINE, (columns - left) % LINE, True
        found = coarse(rows, columns, who, (-(-across // LINE), LINE), most)
    else:
        folded = False
        found = coarse(rows - top, columns - left, who, (down, across), most)
    return Grain(found.cells, top, left, found.tall, found.wide, folded)


def boxes(cells: Any) -> Iterator[tuple[int, int, int, int, int]]:
    """Equal neighbours together: (value, row, column, rows, columns); nobody's cells are left out."""
    open_: dict[tuple[int, int, int], tuple[int, int]] = {}  # (value, column, columns) -> (first row, rows)
    for r in range(len(cells) + 1):
        here = dict.fromkeys(_runs(cells[r])) if r < len(cells) else {}
        for run in [run for run in open_ if run not in here]:
            top, tall = open_.pop(run)
            yield run[0], top, run[1], tall, run[2]
        for run in here:
            top, tall = open_.get(run, (r, 0))
            open_[run] = top, tall + 1


def _runs(row: Any) -> Iterator[tuple[int, int, int]]:
    edges = [0, *(np.flatnonzero(row[1:] != row[:-1]) + 1).tolist(), len(row)]
    for a, b in zip(edges, edges[1:], strict=False):
        if row[a] >= 0:
            yield int(row[a]), a, b - a


def spans(found: Owned) -> str:
    """ "[64:128, 0:64]": the box around the elements."""
    if not found.shape:
        return ""
    ends = [(int(found.index[:, d].min()), int(found.index[:, d].max()) + 1) for d in range(len(found.shape))]
    return "[" + ", ".join(str(a) if b == a + 1 else f"{a}:{b}" for a, b in ends) + "]"
