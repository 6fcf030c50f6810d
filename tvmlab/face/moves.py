"""What could be done to a selection: one offer for each primitive, always in the same order, so that hands learn it.

    for offer in offers(Chosen(state, stage, (axis,))): ...      offer.moves[0] is the step with usual arguments

Making offers asks nothing and lowers nothing: `judge` does, and whoever shows them decides when.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..core.node import REDUCE, IterVar
from ..core.threads import BLOCK, GRID
from ..core.walk import constant
from ..expr.intrin import as_given, registered
from ..expr.scalar import thread_axis
from ..expr.tensor import among
from ..schedule.guard import extent
from ..schedule.guard import name as called
from ..schedule.layout import Layout
from ..schedule.primitives.compute_at import readers
from ..schedule.primitives.storage_align import dimensions_of
from ..schedule.state import Stage, State, is_compute, is_input
from .verdict import Move

if TYPE_CHECKING:
    pass

LOOP = (
    "split", "tile", "fuse", "reorder", "unroll", "vectorize", "parallel", "bind", "vthread",
)  # fmt: skip
STAGE = (
    "compute_at", "compute_inline", "compute_root", "cache_read", "cache_write", "rfactor", "tensorize",
    "storage_align", "set_scope", "double_buffer", "rolling_buffer", "pragma", "prefetch", "transform_layout",
)  # fmt: skip
ORDER = (*LOOP, *STAGE)
OF_LOOPS = (*LOOP, "compute_at", "rfactor", "tensorize", "pragma", "prefetch")  # what a single loop can be asked for
OF_STAGES = tuple(p for p in STAGE if p not in ("tensorize", "pragma", "prefetch"))
THREADS = tuple(tag for pair in zip(GRID, BLOCK, strict=True) for tag in pair)
SCOPES = ("global", "shared", "local", "warp")


@dataclass(frozen=True)
class Chosen:
    """A selection: a stage, loops of it (none: the stage itself), perhaps a loop of another stage to put it at."""

    state: State
    stage: Stage
    axes: tuple[IterVar, ...] = ()
    place: IterVar | None = None

    @property
    def axis(self) -> IterVar | None:
        return self.axes[0] if len(self.axes) == 1 else None

    def called(self, axis: IterVar) -> str:
        return called(self.state, axis)


@dataclass(frozen=True)
class Offer:
    """`moves`: the usual step first, then its variants; the first `listed` differ in more than a number.

    `why`: why there is none.
    """

    name: str
    moves: tuple[Move, ...] = ()
    why: str = ""
    listed: int = 1


Made = list[Move] | str


def offers(c: Chosen, names: Sequence[str] = ORDER) -> Iterator[Offer]:
    """One offer for each of these primitives, in this order."""
    for name in names:
        made = FORMS[name](c)
        listed = {"split": 3, "compute_at": 99, "set_scope": 2}.get(name, 1)
        yield Offer(name, why=made) if isinstance(made, str) else Offer(name, tuple(made), "", listed)


# ---------------------------------------------------------------- loops


def _one_loop(c: Chosen) -> str:
    """Why the selection is not one loop; "" if it is."""
    if len(c.axes) == 1:
        return ""
    if c.axes:
        return "choose one loop: " + ", ".join(map(c.called, c.axes)) + " are selected"
    if not c.stage.leaves:
        return f"{c.stage.name} has no loops"
    return f"choose a loop of {c.stage.name}: " + ", ".join(map(c.called, c.stage.leaves))


def _split(c: Chosen) -> Made:
    if c.axis is None:
        return _one_loop(c)
    return [split_move(c.state, c.stage, c.axis, f) for f in factors(c.state, c.axis)]


def split_move(state: State, stage: Stage, axis: IterVar, factor: int) -> Move:
    text = f"s[{stage.called}].split({called(state, axis)}, factor={factor})"
    return Move("split", {"stage": stage.index, "parent": axis, "factor": factor}, text)


def _neighbours(c: Chosen, verb: str) -> tuple[IterVar, ...] | str:
    """The selected loops as they are nested; of a single one, it and the loop inside, else the loop around."""
    leaves = c.stage.leaves
    if not c.axes:
        return f"choose loops of {c.stage.name}" if leaves else _one_loop(c)
    if len(c.axes) > 1:
        return tuple(sorted(c.axes, key=leaves.index)) if all(a in leaves for a in c.axes) else c.axes
    if c.axes[0] not in leaves:
        return c.axes
    if len(leaves) < 2:
        return f"{c.stage.name} has no other loop to {verb} {c.called(c.axes[0])} with"
    at = min(leaves.index(c.axes[0]), len(leaves) - 2)
    return leaves[at : at + 2]


def _tile(c: Chosen) -> Made:
    pair = _neighbours(c, "tile")
    if isinstance(pair, str):
        return pair
    if len(pair) != 2:
        return "a tile is of two loops" + (f", not {len(pair)}" if len(pair) > 2 else "")
    return [tile_move(c.state, c.stage, pair[0], pair[1])]


def tile_move(state: State, stage: Stage, x: IterVar, y: IterVar) -> Move:
    sizes = [next((f for f in factors(state, a) if f <= 32), 2) for a in (x, y)]
    text = f"s[{stage.called}].tile({called(state, x)}, {called(state, y)}, {sizes[0]}, {sizes[1]})"
    args = {"stage": stage.index, "x_parent": x, "y_parent": y, "x_factor": sizes[0], "y_factor": sizes[1]}
    return Move("tile", args, text)


def _fuse(c: Chosen) -> Made:
    axes = _neighbours(c, "fuse")
    return axes if isinstance(axes, str) else [together(c.state, c.stage, "fuse", axes)]


def _reorder(c: Chosen) -> Made:
    axes = _neighbours(c, "swap")
    if isinstance(axes, str):
        return axes
    as_chosen = len(c.axes) > 1 and tuple(c.axes) != axes
    return [together(c.state, c.stage, "reorder", c.axes if as_chosen else axes[::-1])]


def together(state: State, stage: Stage, primitive: str, axes: Sequence[IterVar]) -> Move:
    text = f"s[{stage.called}].{primitive}({', '.join(called(state, a) for a in axes)})"
    return Move(primitive, {"stage": stage.index, "axes": tuple(axes)}, text)


def _mark(primitive: str) -> Callable[[Chosen], Made]:
    return lambda c: _one_loop(c) if c.axis is None else [on(c.state, c.stage, primitive, c.axis)]


def on(state: State, stage: Stage, primitive: str, axis: IterVar) -> Move:
    args = {"stage": stage.index, "var": axis}
    return Move(primitive, args, f"s[{stage.called}].{primitive}({called(state, axis)})")


def _bind(c: Chosen) -> Made:
    if c.axis is None:
        return _one_loop(c)
    taken = {m.thread.thread_tag for m in c.stage.marks.values() if m.thread is not None}
    tags = [t for t in THREADS if c.axis.iter_type != REDUCE or t in BLOCK]
    tags.sort(key=lambda t: t in taken)
    return [bind_move(c.state, c.stage, c.axis, t) for t in tags]


def _vthread(c: Chosen) -> Made:
    return _one_loop(c) if c.axis is None else [bind_move(c.state, c.stage, c.axis, "vthread")]


def bind_move(state: State, stage: Stage, axis: IterVar, tag: str) -> Move:
    text = f's[{stage.called}].bind({called(state, axis)}, te.thread_axis("{tag}"))'
    return Move("bind", {"stage": stage.index, "ivar": axis, "thread_ivar": thread(state, tag)}, text)


_THREADS: dict[str, IterVar] = {}  # virtual threads too: a loop that is offered twice is offered the same


def thread(state: State, tag: str) -> IterVar:
    """The thread axis of that tag that the schedule uses already; else one that is the same for all offers."""
    marks = (m for s in state.in_order for m in s.marks.values())
    used = next((m.thread for m in marks if m.thread is not None and m.thread.thread_tag == tag), None)
    if used is not None and tag in THREADS:
        return used
    if used is not None and used is _THREADS.get(tag):  # virtual threads nest: each loop has its own
        _THREADS[tag] = thread_axis(None, tag)
    if tag not in _THREADS:
        _THREADS[tag] = thread_axis(None, tag)
    return _THREADS[tag]


def _pragma(c: Chosen) -> Made:
    if c.axis is None:
        return _one_loop(c)
    label, made = c.called(c.axis), []
    for key, value in (("auto_unroll_max_step", 16), ("unroll_explicit", True)):
        args = {"stage": c.stage.index, "var": c.axis, "pragma_type": key, "pragma_value": value}
        made.append(Move("pragma", args, f's[{c.stage.called}].pragma({label}, "{key}", {value})'))
    return made


def _prefetch(c: Chosen) -> Made:
    if c.axis is None:
        return _one_loop(c)
    if not c.stage.op.inputs:
        return f"{c.stage.name} reads nothing that could be fetched"
    made = []
    for t in c.stage.op.inputs:
        args = {"stage": c.stage.index, "tensor": t, "var": c.axis, "offset": 1}
        source = c.state.stage_of(t).called
        made.append(Move("prefetch", args, f"s[{c.stage.called}].prefetch({source}, {c.called(c.axis)}, 1)"))
    return made


def _tensorize(c: Chosen) -> Made:
    if c.axis is None:
        return _one_loop(c)
    dtypes = [t.dtype for t in c.stage.op.outputs]
    known = registered(dtypes, c.state.scopes_around(c.stage))
    if not known:
        return f"no tensor intrinsic for {', '.join(dtypes)} is registered; te.register_intrin(intrin, name) adds one"
    made = []
    for intrin in known:
        args = {"stage": c.stage.index, "var": c.axis, "tensor_intrin": intrin}
        named = as_given(intrin) or intrin.name
        made.append(Move("tensorize", args, f"s[{c.stage.called}].tensorize({c.called(c.axis)}, {named})"))
    return made


def _rfactor(c: Chosen) -> Made:
    if len(c.axes) > 1:
        return _one_loop(c)
    axes = c.axes or tuple(a for a in c.stage.leaves if a.iter_type == REDUCE)
    if not axes:
        return f"{c.stage.name} has no reduction"
    return [rfactor_move(c.state, c.stage, a) for a in axes]


def rfactor_move(state: State, stage: Stage, axis: IterVar) -> Move:
    args = {"tensor": stage.op.outputs[0], "axis": axis}
    return Move("rfactor", args, f"s.rfactor({stage.called}, {called(state, axis)})")


# ---------------------------------------------------------------- stages


def _compute_at(c: Chosen) -> Made:
    """Of a stage: where it could go. Of a loop: what could be computed in it."""
    if c.place is not None:
        parent = c.state.owner(c.place)
        return [at_move(c.state, c.stage, parent or c.stage, c.place)]
    if c.axis is not None:
        return _into(c, c.axis)
    if c.axes:
        return _one_loop(c)
    found = places(c.state, c.stage)
    if found:
        return found
    if not c.stage.leaves:
        return f"{c.stage.name} is an input, nothing computes it" if is_input(c.stage) else _one_loop(c)
    return [at_move(c.state, c.stage, c.stage, c.stage.leaves[0])]  # refused, with the reason


def _into(c: Chosen, axis: IterVar) -> Made:
    sources = [s for s in c.state.in_order if not is_input(s) and c.stage.index in readers(c.state, s)]
    if not sources:
        return f"{c.stage.name} reads only inputs: there is nothing to compute in its loops"
    near = [s for s in sources if c.stage in c.state.consumers(s.op)]
    ordered = [*near, *(s for s in sources if s not in near)]
    return [at_move(c.state, s, c.stage, axis) for s in ordered]


def at_move(state: State, stage: Stage, parent: Stage, axis: IterVar) -> Move:
    args = {"stage": stage.index, "parent": parent.index, "scope": axis}
    return Move("compute_at", args, f"s[{stage.called}].compute_at(s[{parent.called}], {called(state, axis)})")


def places(state: State, stage: Stage) -> list[Move]:
    """Loops of the stage's consumers that it could be computed in."""
    return [at_move(state, stage, reader, a) for reader in state.consumers(stage.op) for a in reader.leaves]


def _plain(primitive: str) -> Callable[[Chosen], Made]:
    return lambda c: [Move(primitive, {"stage": c.stage.index}, f"s[{c.stage.called}].{primitive}()")]


def _cache_read(c: Chosen) -> Made:
    tensor = c.stage.op.outputs[0]
    found = [s for s in c.state.consumers(c.stage.op) if among(tensor, s.op.inputs)]
    if not found:
        return f"{c.stage.name} is an output that no other stage reads"
    listed = ", ".join(s.called for s in found)
    made = []
    for scope in ("local", "global", "shared"):
        args = {"tensor": tensor, "scope": scope, "readers": tuple(s.op for s in found)}
        made.append(Move("cache_read", args, f's.cache_read({c.stage.called}, "{scope}", [{listed}])'))
    return made


def _cache_write(c: Chosen) -> Made:
    outputs = tuple(c.stage.op.outputs)
    tensor = outputs[0] if len(outputs) == 1 else outputs
    text = 's.cache_write({}, "{}")'
    return [
        Move("cache_write", {"tensor": tensor, "scope": x}, text.format(c.stage.called, x))
        for x in ("local", "global", "shared")
    ]


def _given(stage: Stage) -> str:
    """Why its memory is not ours to change."""
    what = "an input" if is_input(stage) else "an output" if stage.is_output else ""
    return what and f"{stage.name} is {what}: its memory is the caller's"


def _set_scope(c: Chosen) -> Made:
    if theirs := _given(c.stage):
        return theirs
    others = [x for x in SCOPES if x != (c.stage.scope or "global")]
    others.sort(key=lambda x: x not in ("global", "local"))
    name = c.stage.called
    return [Move("set_scope", {"stage": c.stage.index, "scope": x}, f's[{name}].set_scope("{x}")') for x in others]


def _storage_align(c: Chosen) -> Made:
    dimensions = dimensions_of(c.stage)
    if theirs := _given(c.stage):
        return theirs
    if not dimensions:
        return f"{c.stage.name} has no dimension to align"
    axis = c.axis if c.axis in dimensions and c.axis is not None else dimensions[max(0, len(dimensions) - 2)]
    args = {"stage": c.stage.index, "axis": axis, "factor": 32, "offset": 1}
    return [Move("storage_align", args, f"s[{c.stage.called}].storage_align({c.called(axis)}, 32, 1)")]


def _transform_layout(c: Chosen) -> Made:
    axes = c.stage.op.axis
    if not axes or not is_compute(c.stage):
        return f"{c.stage.name} has no loops that a layout could change"
    if c.stage.is_output:
        return f"{c.stage.name} is an output: its array would have to be passed in the new layout (write it as code)"
    names = [a.name for a in axes]
    return [layout_move(c.stage, names, f) for f in layouts(len(axes))]


def layouts(rank: int) -> list[Callable[..., list[Any]]]:
    """Usual layouts: the last two dimensions swapped, the last one in blocks, the first one in blocks."""
    swap: Callable[..., list[Any]] = lambda *i: [*i[:-2], i[-1], i[-2]]  # noqa: E731
    last: Callable[..., list[Any]] = lambda *i: [*i[:-2], i[-1] // 8, *i[-2:-1], i[-1] % 8]  # noqa: E731
    first: Callable[..., list[Any]] = lambda *i: [i[0] // 8, *i[1:], i[0] % 8]  # noqa: E731
    return [swap, last, first] if rank > 1 else [first]


def layout_move(stage: Stage, names: Sequence[str], f: Callable[..., list[Any]]) -> Move:
    from ..core.text import identifier, show

    layout = Layout.of(f, names, stage.name)
    inside = ", ".join(show(e) for e in layout.outputs)
    text = f"s[{stage.called}].transform_layout(lambda {', '.join(map(identifier, names))}: [{inside}])"
    return Move("transform_layout", {"stage": stage.index, "layout": layout}, text)


FORMS: dict[str, Callable[[Chosen], Made]] = {
    "split": _split,
    "tile": _tile,
    "fuse": _fuse,
    "reorder": _reorder,
    "unroll": _mark("unroll"),
    "vectorize": _mark("vectorize"),
    "parallel": _mark("parallel"),
    "bind": _bind,
    "vthread": _vthread,
    "compute_at": _compute_at,
    "compute_inline": _plain("compute_inline"),
    "compute_root": _plain("compute_root"),
    "cache_read": _cache_read,
    "cache_write": _cache_write,
    "rfactor": _rfactor,
    "tensorize": _tensorize,
    "storage_align": _storage_align,
    "set_scope": _set_scope,
    "double_buffer": _plain("double_buffer"),
    "rolling_buffer": _plain("rolling_buffer"),
    "pragma": _pragma,
    "prefetch": _prefetch,
    "transform_layout": _transform_layout,
}


# ---------------------------------------------------------------- factors


def size(state: State, axis: IterVar) -> int | None:
    """How often a loop runs, where that is a number: as lowering finds it, else as declared."""
    text = extent(state, axis)
    return int(text) if text.isdigit() else constant(axis.dom.extent) if axis.dom is not None else None


def divisors(n: int) -> list[int]:
    """The factors that divide n, without 1 and n itself, the usual ones first."""
    found = [d for d in range(2, min(n, 4096)) if n % d == 0]
    return sorted(found, key=lambda d: (d & (d - 1) != 0, abs(d - 32)))


def factors(state: State, axis: IterVar) -> list[int]:
    """Factors to offer for a loop: those that divide it first, then powers of two that leave a tail."""
    n = size(state, axis)
    if n is None:
        return [8, 16, 32, 4]
    usual = [f for f in (8, 16, 4, 32, 64, 2) if f < n]
    found = divisors(n)
    return [*found, *(f for f in usual if f not in found)] or [2]
