"""What editing a history needs: the new arguments of a step, and what became of loops that are not there now."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..core.error import LabError, ScheduleError, ScheduleTypeError, ScheduleValueError
from ..core.node import IterVar
from ..schedule import primitives
from ..schedule.state import Stage, State
from .history import Entry, Point, Ref, made_by

Decode = Callable[[Mapping[str, Any]], dict[str, Any]]


def need_known(entry: Entry) -> None:
    """A step of a newer version is kept, but cannot be taken."""
    if entry.primitive not in primitives.names():
        raise ScheduleError("unknown-step", f"this version of tvmlab does not know `{entry.primitive}`")


def as_error(error: Exception) -> LabError:
    """Why a step did not apply, as a record."""
    if isinstance(error, LabError):
        return error
    told = isinstance(error, (ValueError, TypeError)) and str(error)
    return ScheduleError("does-not-apply", str(error) if told else f"{type(error).__name__}: {error}")


# ---------------------------------------------------------------- new arguments


def arguments(entry: Entry, values: Mapping[str, Any], point: Point, decode: Decode) -> dict[str, Any]:
    """The step's arguments with those in `values` changed, as the primitive takes them at `point`."""
    known = primitives.parameters(entry.primitive)
    strange = [p for p in values if p not in known]
    if strange:
        raise ScheduleTypeError("arguments", f"{entry.primitive} has no argument `{strange[0]}`", legal=list(known))
    state = point.trace.state
    args = decode({p: v for p, v in entry.args.items() if p not in values})
    args |= {p: found(v, state) for p, v in values.items() if v is not None}
    ordered = {p: args[p] for p in known if p in args}
    return dict(primitives.prepare(entry.primitive, state, ordered))


def found(value: Any, state: State) -> Any:
    """A value that a person chose: {"axis": path} and the like by what they name."""
    if isinstance(value, (list, tuple)):
        return tuple(found(v, state) for v in value)
    if isinstance(value, float) and value.is_integer():
        return int(value)  # a browser has no integers
    if not isinstance(value, Mapping):
        return value
    if len(value) == 1:
        ((kind, name),) = value.items()
        if kind == "axis":
            return axis_at(state, name)
        if kind == "stage":
            return stage_called(state, name).index
        if kind == "tensor":
            return stage_called(state, name).op.outputs[0]
    raise ScheduleTypeError("argument-kind", f"{value!r} names no loop, stage or tensor")


def axis_at(state: State, path: str) -> IterVar:
    """The axis of that path, `C.i.outer`."""
    every = [(s, a) for s in state.in_order for a in (*s.leaves, *s.axes)]
    for s, a in every:
        if s.path(a) == path:
            return a
    legal = [s.path(a) for s in state.in_order for a in s.leaves]
    raise ScheduleValueError("no-such-axis", f"there is no loop `{path}` before this step", legal=legal)


def stage_called(state: State, name: str) -> Stage:
    made = next((s for s in state.in_order if s.name == name), None)
    if made is None:
        legal = [s.name for s in state.in_order]
        raise ScheduleValueError("no-such-stage", f"there is no stage `{name}` before this step", legal=legal)
    return made


def cursor_after_move(cursor: int, at: int, to: int) -> int:
    """The cursor once the step at `at` stands at `to`: every other step is as before, in force or undone."""
    others = cursor - (at < cursor)  # in force
    return others + (to < others or to == others and at < cursor)


# ---------------------------------------------------------------- what became of it


def missing(
    ref: Ref,
    called: str,
    before: Sequence[Entry],
    line: Sequence[Entry],
    every: Mapping[str, Entry],
    branches: Mapping[str, str],
    undone: bool,
) -> LabError:
    """Why what `ref` stands for is not there: the step that makes it was undone, is parked, was deleted ...

    `before`: the steps in force; `line`: all of the branch; `every`: each step there ever was; `branches`: the names
    of other branches, by the ids of their steps; `undone`: later steps are so because they were undone.
    """
    id = made_by(ref)
    if not id:
        what = f"`{called}`" if called else "an axis or a tensor that this step names"
        return ScheduleValueError("not-in-expression", f"{what} is not in this expression")
    what = f"`{called}`" if called else "what this step needs"
    step = every.get(id)
    code = f"`{step.code or step.label or step.primitive}`" if step is not None else "one"
    at = next((n for n, e in enumerate(line, 1) if e.id == id), None)
    taken = next((e for e in before if e.id == id), None)
    if taken is not None:
        why = f"which does not apply: {taken.reason}" if taken.parked else "which makes it no more"
        return ScheduleValueError("untaken-step", f"{what} was made by step {at}, {code}, {why}")
    if at is not None and not undone:
        return ScheduleValueError("untaken-step", f"{what} is made by {code}, which comes after this step")
    if at is not None:
        hint = "take that step again"
        return ScheduleValueError("untaken-step", f"{what} was made by step {at}, {code}, which was undone", hint=hint)
    if id in branches:
        name = branches[id]
        message = f"{what} was made by {code}, a step of another branch, {name}"
        return ScheduleValueError("untaken-step", message, hint=f"switch to {name}, or take that step here")
    return ScheduleValueError("untaken-step", f"{what} was made by {code}, a step that was deleted")
