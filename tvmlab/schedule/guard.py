"""The checks that primitives share, with the errors a person reads.

Axes go by the names that lines of code gave them (`xo`), with the path behind where it is another (`C.i.outer`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary

from ..core import dtype as dt
from ..core import hooks
from ..core.build import to_expr
from ..core.error import LabError, ScheduleError, ScheduleTypeError, ScheduleValueError
from ..core.node import DATA, KIND_NAMES, OPAQUE, ORDERED, REDUCE, THREAD, Expr, IterVar, Range
from ..core.text import show
from ..core.walk import constant
from ..core.warning import warn
from .relations import derived_from
from .state import Stage, State, is_compute, is_input

NUMBERED = re.compile(r"(ax|i)\d+")  # names of axes that nobody named
WORDS = {DATA: "data", REDUCE: "reduction", ORDERED: "scan", THREAD: "thread", OPAQUE: "opaque"}


def name(state: State, axis: IterVar) -> str:
    """What a person calls the axis: the variable it was assigned to, else its own name."""
    return state.labels.get(axis, axis.name)


def named(state: State, axis: IterVar) -> str:
    """ "`xo` (C.i.outer)", "`i`": the axis in a sentence about its stage."""
    label, owner = name(state, axis), state.owner(axis)
    if label == axis.name or owner is None:
        return f"`{label}`"
    return f"`{label}` ({owner.path(axis)})"


def place(state: State, stage: Stage, axis: IterVar) -> str:
    """ "`xo` (C.i.outer)", "`C.i`": the axis in a sentence about several stages."""
    label = name(state, axis)
    return f"`{stage.path(axis)}`" if label == axis.name else f"`{label}` ({stage.path(axis)})"


def code(state: State, stage: Stage, axis: IterVar) -> str:
    """What to write for the axis in a line of Python: `xo`, `i`, `s[CC].op.axis[0]`."""
    label = name(state, axis)
    if label.isidentifier() and not NUMBERED.fullmatch(label):
        return label
    for field in ("axis", "reduce_axis"):
        if axis in (own := getattr(stage.op, field)):
            return f"s[{stage.called}].op.{field}[{own.index(axis)}]"
    return label


def extent(state: State, axis: IterVar) -> str:
    """How often the loop runs, as text: as bound inference finds it, else as declared; "" where neither says."""
    if state not in _RANGES:
        _RANGES[state] = _inferred(state)
    range_ = _RANGES[state].get(axis) or axis.dom
    return show(range_.extent) if range_ is not None else ""


_RANGES: WeakKeyDictionary[State, Mapping[IterVar, Range]] = WeakKeyDictionary()  # a state never changes


def _inferred(state: State) -> Mapping[IterVar, Range]:
    """What lowering would find; nothing for a state that it cannot take (what is shown here may be just that)."""
    infer = hooks.find("ranges", State)
    try:
        return infer(state) if infer is not None else {}
    except Exception:
        return {}


def describe(state: State, axis: IterVar) -> str:
    """`xo (32)`: the axis in a list of loops."""
    label, often = name(state, axis), extent(state, axis)
    return f"{label} ({often})" if often else label


def loops(state: State, stage: Stage, kinds: Iterable[int] | None = None) -> list[str]:
    """The stage's loops (of these types), each described."""
    wanted = None if kinds is None else set(kinds)
    return [describe(state, a) for a in stage.leaves if wanted is None or a.iter_type in wanted]


def loop_lines(state: State, stage: Stage, guilty: Sequence[IterVar] = (), why: str = "") -> list[str]:
    """The stage's loops, one a line, the guilty ones marked."""
    lines = []
    for depth, a in enumerate(stage.leaves):
        text = "  " * depth + f"for {name(state, a)} in {extent(state, a) or '?'}"
        lines.append(f"{text:<34} <- {why}" if a in guilty and why else text)
    return lines


def need(ok: Any, error: LabError) -> None:
    if not ok:
        raise error


def need_leaf(state: State, stage: Stage, axis: Any, verb: str, kinds: Sequence[int] | None = None) -> None:
    """`axis` must be one of the stage's current loops. `kinds`: the types that would do, for the legal ones."""
    if not isinstance(axis, IterVar):
        raise ScheduleTypeError(
            "not-an-axis",
            f"cannot {verb} {axis!r} in stage {stage.name}: it is {article(type(axis).__name__)}, not an axis",
            legal=loops(state, stage, kinds),
        )
    if axis in stage.leaves:
        return
    if axis in stage.axes:
        raise ScheduleError(
            "not-a-leaf",
            f"cannot {verb} {named(state, axis)} in stage {stage.name}: {_fate(state, stage, axis)}",
            where=loop_lines(state, stage),
            legal=loops(state, stage, kinds),
            hint=_instead(state, stage, axis),
        )
    owner = state.owner(axis)
    home = f"it is an axis of stage {owner.name}" if owner else "it is no axis of this schedule"
    hint = f"after cache_write or rfactor use s[{stage.called}].op.axis and s[{stage.called}].op.reduce_axis"
    if axis.iter_type == THREAD:
        home = "it is a thread axis, which other axes are bound to"
        hint = f"bind a loop to it: s[{stage.called}].bind(axis, thread_axis)"
    raise ScheduleError(
        "foreign-axis",
        f"cannot {verb} {named(state, axis)} in stage {stage.name}: {home}",
        where=loop_lines(state, stage),
        legal=loops(state, stage, kinds),
        hint=hint,
    )


def _fate(state: State, stage: Stage, axis: IterVar) -> str:
    for r in stage.relations:
        kind = type(r).__name__
        if kind == "Split" and r.parent is axis:  # type: ignore[union-attr]
            return f"it was split into {named(state, r.outer)} and {named(state, r.inner)}"  # type: ignore[union-attr]
        if kind == "Fuse" and axis in (r.outer, r.inner):  # type: ignore[union-attr]
            return f"it was fused into {named(state, r.fused)}"  # type: ignore[union-attr]
        if kind == "Transform" and axis in r.originals:  # type: ignore[union-attr]
            return "its loops follow the new layout now"
    if axis.iter_type == OPAQUE:
        return "it is opaque: the operation itself runs it"
    return "it is not a loop of the stage any more"


def _instead(state: State, stage: Stage, axis: IterVar) -> str:
    if axis.iter_type == OPAQUE:
        return ""
    if any(type(r).__name__ == "Transform" for r in stage.relations):
        return "use the axes that transform_layout returned"
    return "use the axes that the earlier step returned"


def need_kind(
    state: State, stage: Stage, axis: IterVar, allowed: Sequence[int], verb: str, why: str, hint: str = ""
) -> None:
    """The axis must have one of these types."""
    if axis.iter_type in allowed:
        return
    raise ScheduleError(
        f"{verb.split()[0]}-{WORDS.get(axis.iter_type, KIND_NAMES[axis.iter_type].lower())}",
        f"cannot {verb} {named(state, axis)} in stage {stage.name}",
        where=loop_lines(state, stage, [axis], why),
        legal=loops(state, stage, allowed),
        hint=hint,
    )


def rfactor_hint(state: State, stage: Stage, axis: IterVar, purpose: str) -> str:
    """The way to share out a reduction, where rfactor takes the axis."""
    if axis.iter_type != REDUCE or axis in derived_from(stage, stage.op.axis):
        return ""
    return f"to {purpose}, make partial sums first:  s.rfactor({stage.called}, {name(state, axis)})"


def need_unbound(
    state: State, stage: Stage, axis: IterVar, verb: str, kinds: Sequence[int] = (DATA, REDUCE, ORDERED)
) -> None:
    """A loop that threads run has no iterations of its own left to change."""
    thread = stage.mark(axis).thread
    if thread is None:
        return
    raise ScheduleValueError(
        f"{verb.split()[0]}-bound",
        f"cannot {verb} {named(state, axis)} in stage {stage.name}: it is bound to {thread.thread_tag}, whose threads "
        "run it",
        legal=[describe(state, a) for a in stage.leaves if stage.mark(a).thread is None and a.iter_type in kinds],
    )


def need_integer(value: Any, what: str) -> Expr:
    """The value as an expression: an integer, or an integer expression; no tensors' elements, floats or words."""
    try:
        made = to_expr(value)
        ok = dt.is_int(made.dtype)
    except TypeError:
        ok = False
    if not ok or isinstance(value, bool):
        raise ScheduleTypeError("not-an-integer", f"{what} must be an integer, not {value!r}")
    return made


def need_positive(value: Any, what: str) -> Expr:
    """The value as an expression: an integer above 0, as far as it is known."""
    made = need_integer(value, what)
    number = constant(made)
    if number is not None and number <= 0:
        raise ScheduleValueError("not-positive", f"{what} must be positive, not {number}")
    return made


def need_compute(stage: Stage, verb: str) -> None:
    if not is_compute(stage):
        raise ScheduleError("not-a-compute", f"cannot {verb} {stage.name}: it is {kind_of(stage)}, not a te.compute")


def kind_of(stage: Stage) -> str:
    """`a scan`, `an extern`: what made the stage."""
    if is_input(stage):
        return "an input"
    return article(stage.op.kind)


def article(noun: str) -> str:
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"


def need_movable(state: State, stage: Stage, verb: str) -> None:
    """A stage that a scan runs, or an input, cannot be placed elsewhere."""
    if stage.attach.kind == "scan":
        scan = state.stages[stage.attach.stage].name
        raise ScheduleError(
            "scan-update", f"cannot {verb} {stage.name}: it is the update of {scan}, which runs it in its own loop"
        )
    if is_input(stage):
        raise ScheduleError("input-stage", f"cannot {verb} {stage.name}: it is an input, nothing computes it")


def warn_lost(state: State, stage: Stage, axes: Sequence[IterVar], verb: str) -> None:
    """Marks belong to loops: those of a loop that becomes another are gone, as in the classic stack, but not unsaid."""
    for a in axes:
        mark = stage.mark(a)
        said = [mark.kind] if mark.kind else []
        said += [f"pragma {key}" for key, _ in mark.pragmas] + ["prefetch"] * bool(mark.prefetches)
        if said:
            what = f"{named(state, a)} of stage {stage.name} was marked {', '.join(said)}"
            warn(f"{what}; it is {verb}, which drops that")
