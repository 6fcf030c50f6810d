"""What is pointed at, from one step to the next; and what is looked at in a picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..core.error import LabError, MissingName
from ..schedule.guard import extent
from ..schedule.state import State, is_input
from ..view import pictures
from ..view.ids import id_of, ids


def first(state: State) -> list[str]:
    """Where a new lab points: the outermost loop of the last output that runs more than once."""
    stage = next((s for s in reversed(state.in_order) if s.is_output and not is_input(s)), None)
    if stage is None:
        return []
    if not stage.leaves:
        return [id_of(state, stage)]
    axis = next((a for a in stage.leaves if extent(state, a) != "1"), stage.leaves[0])
    return [id_of(state, stage, axis)]


def followed(selection: Sequence[str], state: State) -> list[str]:
    """The same loops after a step: of a split one its outermost part, of a part that is gone its loop."""
    there = ids(state)
    leaves = {id_of(state, s, a) for s in state.stages.values() for a in s.leaves}
    stages = {id_of(state, s) for s in state.stages.values()}
    found: dict[str, None] = {}
    for one in selection:
        found.update(dict.fromkeys(_followed(one, there.keys() & leaves, stages, [n for n in there if n in leaves])))
    return list(found) or first(state)


def _followed(one: str, leaves: set[str], stages: set[str], order: Sequence[str]) -> list[str]:
    if one in leaves or one in stages:
        return [one]
    parts = [n for n in order if n.startswith(f"{one}.")]
    stage, *names = one.split(".")
    before = [".".join([stage, *names[:n]]) for n in range(len(names) - 1, 0, -1)]
    parts += [n for n in before if n in leaves]
    return parts[:1] or ([stage] if stage in stages else [])


def looked(kind: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """What a person asks to look at in a picture: names and values that it has. A number may come as text."""
    legal = pictures.look(kind)
    for name, value in values.items():
        if name not in legal:
            raise MissingName("no-such-choice", f"there is no {name!r} to look at in {kind!r}", legal=[*legal])
        if not isinstance(_as(legal[name], value), legal[name]):
            wanted = "a number" if legal[name] is int else "text"
            raise LabError("choice-value", f"{name} must be {wanted}, not {value!r:.80}")
    return {name: _as(legal[name], value) for name, value in values.items()}


def _as(kind: type, value: Any) -> Any:
    if isinstance(value, bool):
        return None
    short = isinstance(value, str) and len(value) < 12
    return int(value) if kind is int and short and value.removeprefix("-").isdecimal() else value
