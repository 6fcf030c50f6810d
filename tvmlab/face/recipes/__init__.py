"""Recipes: several steps that belong together, taken as one and unfolded in the history.

One recipe per file: `tile_for_cache.py` is "recipe:tile-for-cache". It holds LABEL, VALUES (what can be set), and

    def steps(state, stage, rows, columns):          a generator; its docstring shows the loops before and after
        (io, ii), state = yield "split", {...}       each step is answered by its results and the state after it

so that later steps name the loops that earlier ones made. `follow` runs one against anything that takes steps: a fork
for a verdict (`judge`), the history when it is applied.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache, lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any

from ...core.deep import deep
from ...core.error import LabError, MissingName, ScheduleTypeError, ScheduleValueError
from ...core.node import DATA, REDUCE, IterVar
from ...schedule.guard import extent, name
from ...schedule.state import Stage, State, is_compute
from ...schedule.trace import Trace
from ..verdict import ILLEGAL, REFUSALS, Frozen, Verdict, change, frozen_args, taken

PREFIX = "recipe:"
Args = dict[str, Any]
Steps = Generator[tuple[str, Args], tuple[Any, State], None]
Take = Callable[[str, Args], tuple[Any, State]]


@dataclass(frozen=True)
class Value:
    """Something about a recipe that can be set. `kind`: factor, choice or axis (None: the recipe chooses)."""

    name: str
    label: str
    value: Any
    kind: str = "factor"
    choices: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Recipe:
    name: str  # "recipe:tile-for-cache"
    label: str
    about: str  # the docstring
    values: tuple[Value, ...]
    steps: Callable[..., Steps]

    def arguments(self, state: State, given: Mapping[str, Any]) -> Args:
        """`stage`, and a value for all that can be set; what does not fit is refused."""
        known = ["stage", *(v.name for v in self.values)]
        unknown = [k for k in given if k not in known]
        if unknown:
            raise ScheduleTypeError("recipe-value", f"{self.label} has no `{unknown[0]}`", legal=known)
        if given.get("stage") not in list(state.stages):  # which may be a list, that no dict can look up
            raise ScheduleValueError("no-such-stage", f"{self.label} is of a stage", legal=_names(state))
        made = {"stage": given["stage"]}
        for v in self.values:
            made[v.name] = _fitting(self, v, given.get(v.name, v.value))
        return made


def _names(state: State) -> list[str]:
    return [s.name for s in state.in_order]


def _fitting(recipe: Recipe, v: Value, value: Any) -> Any:
    if v.kind == "factor" and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
        raise ScheduleValueError("not-positive", f"{recipe.label}: {v.label} must be a positive number, not {value!r}")
    if v.kind == "choice" and value not in v.choices:
        legal = [str(c) for c in v.choices]
        raise ScheduleValueError("recipe-value", f"{recipe.label}: {v.label} cannot be {value!r}", legal=legal)
    if v.kind == "axis" and value is not None and not isinstance(value, IterVar):
        raise ScheduleTypeError("not-an-axis", f"{recipe.label}: {v.label} must be a loop, not {value!r}")
    return value


@lru_cache(maxsize=1)
def names() -> tuple[str, ...]:
    found = sorted(p.stem for p in Path(__file__).parent.glob("*.py") if not p.stem.startswith("_"))
    return tuple(PREFIX + n.replace("_", "-") for n in found)


@cache
def get(called: str) -> Recipe:
    """The recipe of that name, with or without "recipe:"; an unknown one answers with those that exist."""
    whole = called if called.startswith(PREFIX) else PREFIX + called
    if whole not in names():
        close = get_close_matches(whole, names(), 3)
        hint = f"did you mean {' or '.join(close)}?" if close else ""
        raise MissingName("unknown-recipe", f"there is no recipe `{called}`", legal=names(), hint=hint)
    module = import_module(f".{whole.removeprefix(PREFIX).replace('-', '_')}", __package__)
    return Recipe(whole, module.LABEL, inspect.getdoc(module.steps) or "", module.VALUES, module.steps)


def follow(recipe_name: str, args: Mapping[str, Any], state: State, take: Take) -> None:
    """Run a recipe: each step goes to `take(primitive, args)`, which gives its results and the state after it.

    A recipe that does not fit raises before its first step. Judge it first: `take` may refuse a later one.
    """
    recipe = get(recipe_name)
    whole = recipe.arguments(state, args)
    steps = recipe.steps(state, state.stages[whole.pop("stage")], **whole)
    answer: tuple[Any, State] | None = None
    while True:
        try:
            primitive, given = next(steps) if answer is None else steps.send(answer)
        except StopIteration:
            return
        answer = take(primitive, given)


def traces(trace: Trace, recipe: str, args: Mapping[str, Any]) -> list[Trace]:
    """The trace after each step of a recipe."""
    found = [trace]

    def take(primitive: str, given: Args) -> tuple[Any, State]:
        try:
            found.append(taken(found[-1], primitive, given))
        except LabError as e:
            e.message = f"step {len(found)}, {primitive}: {e.message}"
            raise
        return found[-1].results, found[-1].state

    follow(recipe, args, trace.state, take)
    return found[1:]


@deep
def judge(trace: Trace, recipe: str, args: Mapping[str, Any]) -> Verdict:
    """The verdict on a recipe as a whole: all its steps are tried on a copy. Kept, as those of primitives are."""
    frozen = frozen_args(args)
    try:
        return _judged(trace, recipe, frozen)
    except TypeError:  # an argument that cannot be a key
        return _judged.__wrapped__(trace, recipe, frozen)


@lru_cache(maxsize=2048)
def _judged(trace: Trace, recipe: str, frozen: Frozen) -> Verdict:
    args = {k: v for k, _, v in frozen}
    try:
        made = traces(trace, recipe, args)
    except REFUSALS as e:
        error = e if isinstance(e, LabError) else None
        return Verdict(ILLEGAL, error.message if error else str(e), error)
    return change(trace, made[-1]) if made else Verdict(ILLEGAL, "there is nothing for it to do")


# ---------------------------------------------------------------- what recipes share


def loops(state: State, stage: Stage, kind: int) -> list[IterVar]:
    """The loops of a stage, data or reduction, outermost first; those that run once only where there are no others."""
    found = [a for a in stage.leaves if a.iter_type == kind]
    return [a for a in found if extent(state, a) != "1"] or found


def data_loops(state: State, stage: Stage, least: int, label: str) -> list[IterVar]:
    """The data loops; a stage that has fewer than `least` is refused."""
    if not is_compute(stage):
        raise LabError("recipe-stage", f"{stage.name} is not computed by loops of its own")
    found = loops(state, stage, DATA)
    if len(found) < least:
        wanted = f"{least} data loops" if least > 1 else "a data loop"
        message = f"{label} needs {wanted}, {stage.name} has {len(found)}"
        raise LabError("recipe-loops", message, legal=[name(state, a) for a in found])
    return found


def marked(stage: Stage, axis: IterVar) -> str:
    """What is said of a loop: vectorized, parallel, threadIdx.x ...; "" of a plain one."""
    mark = stage.mark(axis)
    return mark.thread.thread_tag if mark.thread is not None else mark.kind


def need_plain(state: State, stage: Stage, axes: Sequence[IterVar], label: str) -> None:
    """A recipe that cuts loops begins with plain ones: it would drop what is said of them."""
    said = next((a for a in axes if marked(stage, a)), None)
    if said is not None:
        message = f"{label} needs plain loops: {name(state, said)} of {stage.name} is {marked(stage, said)} already"
        raise LabError("recipe-marked", message, hint="take it before the steps that mark loops")


def reductions(state: State, stage: Stage) -> list[IterVar]:
    """The reduction loops of which nothing is said."""
    return [a for a in loops(state, stage, REDUCE) if not marked(stage, a)]


def split(stage: Stage, axis: IterVar, factor: int) -> tuple[str, Args]:
    return "split", {"stage": stage.index, "parent": axis, "factor": factor}


def mark(primitive: str, stage: Stage, axis: IterVar) -> tuple[str, Args]:
    return primitive, {"stage": stage.index, "var": axis}


def reorder(stage: Stage, *axes: IterVar) -> tuple[str, Args]:
    return "reorder", {"stage": stage.index, "axes": axes}
