"""Copies of what a sum reads again and again, in the order in which its innermost tile reads them.

    B[k, j], j in tiles of 16  ->  panels [j//16, k, j%16], made once, or at a loop of the sum's for what runs inside it

The elements that a tile needs lie together then: its reads go through memory in order, and need few pages.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import prod
from typing import Any

from ..core.affine import Lin
from ..core.dtype import nbytes
from ..core.error import ScheduleError
from ..core.node import IterVar, Load, Var
from ..core.walk import constant, variables, walk
from ..expr.tensor import ComputeOp, Operation, Tensor
from ..lowering.bounds import Bounds
from ..schedule.state import Stage

AT = ("", "root", "first", "block")  # no copy; of all of it; at the loop S0's first, at R0's last
CACHED = 32 << 10  # bytes of an input that stays in a first cache as it is: no copy is offered
LARGEST = 4 << 20  # bytes of a copy inside a loop
OFTEN = 4  # reads of an element that was copied, on average, at least
WIDE = 8  # results of an axis whose loop may be lanes instead of the last one's
LAST = "last axis"
TEXT = 16  # elements that are copied one after the other in the text, at most


def reread(op: ComputeOp) -> dict[str, Tensor]:
    """By a name for each: the inputs that a sum reads at one place, again for other results, and in vectors.

    That is what the last axis of the result indexes. Of a matmul the other side is read one number at a time: its copy
    brought nothing where it was tried, and a choice that brings nothing makes every search longer.
    """
    found: dict[str, Tensor] = {}
    for t in dict.fromkeys(op.inputs if op.reduce_axis and op.axis else ()):
        load = _load(op, t)
        if load is None or not _known(op, t):
            continue
        if _elements(t) * nbytes(t.dtype) <= CACHED:
            continue
        used = {v for i in load.indices for v in variables(i)}
        again = any(constant(a.extent) != 1 and a.var not in used for a in op.axis)
        if again and any(a.var in used for a in op.reduce_axis) and any(a is op.axis[-1] for a in _tiled(op, load)):
            names = [name.partition("#")[0] for name in found]
            found[t.name if t.name not in names else f"{t.name}#{names.count(t.name) + 1}"] = t
    return found


def other_lanes(op: ComputeOp) -> dict[IterVar, list[Tensor]]:
    """Axes that may be the lanes of vectors in the last one's place, and the inputs that are copied into panels for it.

    Of sums whose last axis indexes no input by itself, as where a window slides along it. In a convolution lanes are
    along the positions, which are read as they lie, or along the output channels (packed weights), or the batch. The
    axis with the smallest copies comes first.
    """
    if not op.reduce_axis or len(op.axis) < 2 or op.num_outputs > 1 or not _known(op, *op.inputs):
        return {}
    loads = {t: _load(op, t) for t in op.inputs}
    alone = [_tiled(op, load) for load in loads.values() if load is not None]
    if any(a is op.axis[-1] for dims in alone for a in dims):
        return {}
    found = {a: _indexed(op, loads, a) for a in op.axis[:-1] if (constant(a.extent) or 0) >= WIDE}
    kept = {a: used for a, used in found.items() if 0 < len(used) < len(loads)}
    return dict(sorted(kept.items(), key=lambda one: sum(map(_elements, one[1]))))


def _known(op: ComputeOp, *tensors: Tensor) -> bool:
    """Are the lengths of all loops and of these tensors numbers, and not 0?"""
    lengths = [*(a.extent for a in _all(op)), *(n for t in tensors for n in t.shape)]
    return all((constant(n) or 0) > 0 for n in lengths)


def _elements(t: Tensor) -> int:
    return prod(constant(n) or 1 for n in t.shape)


def _indexed(op: ComputeOp, loads: Mapping[Tensor, Load | None], a: IterVar) -> list[Tensor]:
    """The inputs that `a` indexes, each in one dimension and by itself; [] where one is indexed otherwise."""
    found: list[Tensor] = []
    for t, load in loads.items():
        if load is None:
            return []
        places = [k for k, i in enumerate(load.indices) if a.var in set(variables(i))]
        if len(places) > 1 or places and _tiled(op, load)[places[0]] is not a:
            return []
        found += [t] * len(places)
    return found


def lanes_choices(op: ComputeOp, lanes: Iterable[IterVar]) -> list[str]:
    """The candidates of the choice; they name axes by their places, as loops may be called anything."""
    return [LAST, *(lanes_choice(op, a, place) for a in lanes for place in AT[1:])]


def lanes_choice(op: ComputeOp, a: IterVar, place: str) -> str:
    return f"axis {op.axis.index(a)}, copies: {place}"


def lanes_chosen(op: ComputeOp, choice: str) -> tuple[IterVar | None, str]:
    """The axis, and where what it indexes is copied; None and "" for the last axis."""
    if choice == LAST:
        return None, ""
    number, place = choice.removeprefix("axis ").split(", copies: ")
    return op.axis[int(number)], place


def _all(op: ComputeOp) -> tuple[IterVar, ...]:
    return (*op.axis, *op.reduce_axis)


def _load(op: ComputeOp, t: Tensor) -> Load | None:
    """Where it is read, if at one place only. The results of one reduction share their expression."""
    loads = [x for b in op.body[:1] for x in walk(b) if isinstance(x, Load) and x.buffer is t]
    return loads[0] if len(loads) == 1 else None


def _tiled(op: ComputeOp, load: Load) -> list[IterVar | None]:
    """For each dimension the axis of the result that it is indexed by, and nothing else."""
    axes = {a.var: a for a in op.axis}
    return [axes.get(i) if isinstance(i, Var) else None for i in load.indices]


def pack(s: Any, op: ComputeOp, t: Tensor, reader: Operation, tiles: Mapping[IterVar, int]) -> Any:
    """The stage of a copy for `reader`, which makes the sums of `op`. `tiles`: lengths, by axis of the result."""
    load = _load(op, t)
    assert load is not None
    own = _tiled(op, load)
    sizes = [1 if a is None else tiles[a] for a in own]
    if max(sizes) == 1:
        raise ScheduleError("generic-copy", f"a copy of {t.name} for {op.name} brings nothing: no index of it is tiled")

    def layout(*at: Any) -> list[Any]:
        panels = [x // n if n > 1 else x for x, n, a in zip(at, sizes, own, strict=True) if a is not None]
        rest = [x for x, a in zip(at, own, strict=True) if a is None]
        return [*panels, *rest, *(x % n for x, n in zip(at, sizes, strict=True) if n > 1)]

    stage = s[s.cache_read(t, "global", [reader])]
    *_, last = stage.transform_layout(layout)
    if sizes[-1] > 1:
        stage.vectorize(last)  # they lie together in the original too
    elif [n for n in sizes if n > 1][-1] <= TEXT:
        stage.unroll(last)
    return stage


def check(bounds: Bounds, op: ComputeOp, copy: Stage) -> None:
    """Is the copy for `op` small enough for its place, and read often enough? Told by the lengths of the loops."""
    d = bounds.of[copy.index]
    size = prod(_length(d.sizes[a]) for a in copy.op.axis)
    outer = [(s, a) for s, a in d.path if s is not copy]
    memory = size * nbytes(copy.op.output(0).dtype)
    if outer and memory > LARGEST:
        raise ScheduleError("generic-copy", f"{copy.name} in a loop of {op.name} is large: {memory} of {LARGEST} bytes")
    copied = size * prod(_length(bounds.of[s.index].sizes[a]) for s, a in outer)
    often = prod(constant(a.extent) or 1 for a in _all(op)) / copied
    if often < OFTEN:
        raise ScheduleError(
            "generic-copy", f"what is copied to {copy.name} is read {often:.1f} times, which is not worth it"
        )


def _length(n: Lin) -> int:
    return 1 if n.terms else n.const
