"""Small search spaces for the tests of the tuner, and the one whose every point has been measured.

A space here is a product of choices, numbered as all spaces are: the first knob varies fastest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from tvmlab import te


class Product:
    """All combinations of some choices: a stand-in for a space."""

    def __init__(self, **choices: Sequence[Any]) -> None:
        self.choices = choices
        self.dims = [len(c) for c in choices.values()]

    @property
    def names(self) -> list[str]:
        return list(self.choices)

    @property
    def space_map(self) -> dict[str, list[Any]]:
        """As of a space: what a search may see of the candidates."""
        return {name: [SimpleNamespace(value=v) for v in values] for name, values in self.choices.items()}

    def __len__(self) -> int:
        total = 1
        for n in self.dims:
            total *= n
        return total

    def point2knob(self, index: int) -> list[int]:
        knobs = []
        for n in self.dims:
            index, at = divmod(index, n)
            knobs.append(at)
        return knobs

    def knob2point(self, knobs: Sequence[int]) -> int:
        index = 0
        for n, at in zip(reversed(self.dims), reversed(knobs), strict=True):
            index = index * n + at
        return index

    def get(self, index: int) -> dict[str, Any]:
        return {name: c[at] for (name, c), at in zip(self.choices.items(), self.point2knob(index), strict=True)}


@dataclass(eq=False)
class Task:
    """A space, and what makes a schedule of one of its points."""

    space: Any
    make: Callable[[Mapping[str, Any]], tuple[Any, list[Any]]]

    def instantiate(self, config: Mapping[str, Any]) -> tuple[Any, list[Any]]:
        return self.make(config)


MATMUL = {
    "rows": (1, 2, 4, 8, 16),  # of the tile that is computed at a time
    "vectors": (1, 2, 4, 8),
    "lanes": (4, 16),
    "depth": (16, 512),  # of the block of k
    "order": ("rows outside", "columns outside", "tile inside"),
    "pack": (False, True),  # B's panel is copied
    "cache": (False, True),  # the tile is summed up apart, then written
    "expand": (False, True),  # the rows are unrolled
}


def matmul(m: int = 512, n: int = 512, k: int = 512) -> Task:
    """C = A B: what tile, in what order, with which copies."""
    return Task(Product(**MATMUL), lambda knobs: matmul_schedule(m, n, k, **knobs))


def matmul_schedule(
    m: int, n: int, k: int, rows: int, vectors: int, lanes: int, depth: int, order: str, pack: bool, cache: bool,
    expand: bool,
) -> tuple[Any, list[Any]]:  # fmt: skip
    a, b = te.placeholder((m, k), name="A"), te.placeholder((k, n), name="B")
    r = te.reduce_axis((0, k), name="k")
    c = te.compute((m, n), lambda i, j: te.sum(a[i, r] * b[r, j], axis=r), name="C")
    s = te.create_schedule(c.op)
    panel = s.cache_read(b, "global", [c]) if pack else None
    part = s.cache_write(c, "local") if cache else c
    i, j = s[c].op.axis
    io, ii = s[c].split(i, factor=rows)
    jo, ji = s[c].split(j, factor=vectors * lanes)
    jv, jl = s[c].split(ji, factor=lanes)
    outer = (io, jo) if order == "rows outside" else (jo, io)
    if cache:
        s[c].reorder(*outer, ii, jv, jl)
        s[part].compute_at(s[c], outer[1])
        pi, pj = s[part].op.axis
        pv, pl = s[part].split(pj, factor=lanes)
        ko, ki = s[part].split(s[part].op.reduce_axis[0], factor=depth)
        tile = (pi, pv) if order != "tile inside" else (pv, pi)
        s[part].reorder(ko, ki, *tile, pl)
        vectorized(s[part], *tile, pl, expand)
        vectorized(s[c], ii, jv, jl, expand)
    else:
        ko, ki = s[c].split(s[c].op.reduce_axis[0], factor=depth)
        inner = (ii, jv) if order != "tile inside" else (jv, ii)
        s[c].reorder(*outer, ko, ki, *inner, jl)
        vectorized(s[c], *inner, jl, expand)
    if panel is not None:
        s[panel].compute_at(s[c], outer[0])
        _, lane = s[panel].split(s[panel].op.axis[1], factor=lanes)
        s[panel].vectorize(lane)
    return s, [a, b, c]


def vectorized(stage: Any, outer: Any, inner: Any, lane: Any, expand: bool) -> None:
    if expand:
        stage.unroll(outer)
        stage.unroll(inner)
    stage.vectorize(lane)


CONV2D = {
    "channels": (1, 2, 4),  # vectors of them that are computed at a time
    "lanes": (4, 8, 16),
    "columns": (1, 2, 4, 7, 14),
    "depth": (8, 64),  # of the block of input channels
    "order": ("window inside", "window outside"),
    "pad": ("apart", "inlined", "per row"),
    "expand": (False, True),
    "parallel": (False, True),
}


def conv2d(channels: int = 64, size: int = 56, filters: int = 64, window: int = 3, stride: int = 1) -> Task:
    """A convolution of an image: what tile of columns and channels, in what order, padded where."""
    return Task(Product(**CONV2D), lambda knobs: conv2d_schedule(channels, size, filters, window, stride, **knobs))


def conv2d_schedule(
    c: int, size: int, f: int, window: int, stride: int, channels: int, lanes: int, columns: int, depth: int,
    order: str, pad: str, expand: bool, parallel: bool,
) -> tuple[Any, list[Any]]:  # fmt: skip
    x, w = te.placeholder((size, size, c), name="X"), te.placeholder((window, window, c, f), name="W")
    around, out = window // 2, (size + 2 * (window // 2) - window) // stride + 1
    inside = lambda i: te.all(i >= around, i < size + around)
    padded = te.compute(
        (size + 2 * around, size + 2 * around, c),
        lambda i, j, k: te.if_then_else(te.all(inside(i), inside(j)), x[i - around, j - around, k], 0.0),
        name="P",
    )
    p, q, k = (te.reduce_axis((0, n), name=v) for n, v in ((window, "p"), (window, "q"), (c, "k")))
    term = lambda i, j, o: padded[i * stride + p, j * stride + q, k] * w[p, q, k, o]
    y = te.compute((out, out, f), lambda i, j, o: te.sum(term(i, j, o), axis=[p, q, k]), name="Y")
    s = te.create_schedule(y.op)
    i, j, o = s[y].op.axis
    jo, ji = s[y].split(j, factor=columns)
    oo, oi = s[y].split(o, factor=channels * lanes)
    ov, ol = s[y].split(oi, factor=lanes)
    ko, ki = s[y].split(k, factor=depth)
    loops = (p, q, ko, ki) if order == "window outside" else (ko, ki, p, q)
    s[y].reorder(i, oo, jo, *loops, ji, ov, ol)
    vectorized(s[y], ji, ov, ol, expand)
    if parallel:
        s[y].parallel(i)
    if pad == "inlined":
        s[padded].compute_inline()
    elif pad == "per row":
        s[padded].compute_at(s[y], i)
    return s, [x, w, y]
