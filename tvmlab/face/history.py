"""What a history is made of: its steps, its branches, and what is what in it, whatever becomes of the steps before.

A step names the loops it acts on by identity, never by its place in the trace:

    "#2"      stage 2 of the expression          "#2.0"    its axis 0
    "e7#0"    the stage that step e7 added       "e7.1"    the axis in slot 1 of step e7

A slot is a part that a step's results play: the outer loop of a split is slot 0 of it whatever the factor, and so it
stays the same loop for all later steps when the factor is changed. Axes that come with a new stage (those of a cache)
are told apart by name: when a step before is deleted and the cache has fewer loops, none takes the place of another.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ..core.error import LabError
from ..core.node import IterVar
from ..expr.tensor import Operation
from ..schedule.guard import name
from ..schedule.state import State
from ..schedule.trace import Trace

Ref = str


@dataclass(frozen=True, eq=False)
class Entry:
    """One step of a history. A value: to change it is to put another in its place, under the same `id`.

    `args`: as `history_codec` writes them. `error`: why it does not apply where it stands; None when it does.
    `group`: steps of one recipe share it. `when`: seconds since 1970. `evidence`: what its verdict rested on.
    `label`, `code`: in words and as a call, as when it last applied. `off`: it is kept and not taken, until somebody
    tries it again. `extra`: what a newer version saved with it.
    """

    id: str
    primitive: str
    args: Mapping[str, Any]
    names: tuple[str, ...] = ()
    origin: Mapping[str, str] = field(default_factory=lambda: {"kind": "widget", "label": "widget"})
    when: float = 0.0
    name: str = ""
    note: str = ""
    group: str = ""
    evidence: str = ""
    label: str = ""
    code: str = ""
    off: bool = False
    error: LabError | None = None
    where: tuple[str, int] | None = None  # in this process: not saved
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def parked(self) -> bool:
        return self.error is not None

    @property
    def reason(self) -> str:
        """Why it is parked, or ""."""
        return self.error.message if self.error is not None else ""

    def __repr__(self) -> str:
        return f"{self.id} {self.label or self.primitive}" + (f" (parked: {self.reason})" if self.parked else "")


@dataclass(eq=False)
class Branch:
    """A line of steps. `cursor`: where it was left. `points`: the places along it, the start too, or None."""

    id: str
    name: str
    entries: tuple[Entry, ...] = ()
    cursor: int = 0
    points: list[Point] | None = None
    coded: bool = True  # do the steps have their code? It is written when somebody looks

    def index(self, entry: str) -> int | None:
        return next((n for n, e in enumerate(self.entries) if e.id == entry), None)

    def recipe(self, at: int) -> tuple[int, int]:
        """Where the recipe begins and ends that the step at `at` is of; of a step of none, the step."""
        group, first, end = self.entries[at].group, at, at + 1
        while group and first and self.entries[first - 1].group == group:
            first -= 1
        while group and end < len(self.entries) and self.entries[end].group == group:
            end += 1
        return first, end

    def last_before(self, at: int) -> int | None:
        """Where the last step in force before `at` begins; None when there is none."""
        return next((n for n in reversed(range(at)) if not self.entries[n].parked), None)

    def next_after(self, at: int) -> int | None:
        """Where the next step from `at` that applies ends; None when there is none."""
        return next((n + 1 for n in range(at, len(self.entries)) if not self.entries[n].parked), None)

    def __repr__(self) -> str:
        return f"{self.name}: {', '.join(map(repr, self.entries)) or 'no steps'}"


class Slots:
    """Which parts the results of each step have played: (key, what a person called it), never forgotten."""

    def __init__(self) -> None:
        self.of: dict[str, list[tuple[str, str]]] = {}

    def copy(self) -> Slots:
        made = Slots()
        made.of = {entry: list(slots) for entry, slots in self.of.items()}
        return made

    def take(self, entry: str, key: str, label: str) -> int:
        known = self.of.setdefault(entry, [])
        at = next((n for n, (k, _) in enumerate(known) if k == key), len(known))
        known[at : at + 1] = [(key, label)]
        return at

    def label(self, ref: Ref) -> str:
        """What a person called the axis, or ""."""
        entry, _, slot = ref.partition(".")
        known = self.of.get(entry, [])
        return known[int(slot)][1] if slot.isdigit() and int(slot) < len(known) else ""


@dataclass(frozen=True, eq=False)
class Point:
    """A place in a history: the trace up to here, and every axis, stage and group of it by its identity, both ways."""

    trace: Trace
    axes: Mapping[Ref, IterVar]
    stages: Mapping[Ref, int]
    groups: Mapping[Ref, int]

    @cached_property
    def axis_refs(self) -> dict[IterVar, Ref]:
        return {a: ref for ref, a in self.axes.items()}

    @cached_property
    def stage_refs(self) -> dict[int, Ref]:
        return {n: ref for ref, n in self.stages.items()}

    @cached_property
    def group_refs(self) -> dict[int, Ref]:
        return {n: ref for ref, n in self.groups.items()}

    @property
    def operations(self) -> Iterator[tuple[Operation, Ref]]:
        """Every operation that a stage has had, with the stage's identity."""
        return ((op, self.stage_refs[n]) for op, n in self.trace.state.alias.items())

    def after(self, entry: str, trace: Trace, slots: Slots) -> Point:
        """The place after one more step, `trace` being the trace with it."""
        before, state = self.trace.state, trace.state
        axes = {**self.axes}
        for key, axis in made_axes(before, state, trace.results):
            axes[f"{entry}.{slots.take(entry, key, name(state, axis))}"] = axis
        stages = sorted(set(state.stages) - set(before.stages))
        groups = sorted(set(state.groups) - set(before.groups))
        return Point(
            trace,
            axes,
            {**self.stages, **{f"{entry}#{k}": n for k, n in enumerate(stages)}},
            {**self.groups, **{f"{entry}#{k}": n for k, n in enumerate(groups)}},
        )


def start(trace: Trace) -> Point:
    """The place before any step."""
    state = trace.prefix(0).state
    axes = {f"#{ref[1]}.{ref[2]}": a for a, ref in state.refs.items()}
    return Point(trace.prefix(0), axes, {f"#{n}": n for n in state.stages}, {})


def made_axes(before: State, after: State, results: Any) -> Iterator[tuple[str, IterVar]]:
    """The axes that a step made, each with the part it plays: its place in what the step returned, else its name."""
    new = sorted((a for a in after.refs if a not in before.refs), key=lambda a: after.refs[a][-1])
    listed = results if isinstance(results, (tuple, list)) else (results,)
    returned = {id(a): n for n, a in enumerate(listed) if isinstance(a, IterVar)}
    homes: dict[int, int] = {}
    seen: dict[str, int] = {}
    for a in new:
        if id(a) in returned:
            yield f"result {returned[id(a)]}", a
            continue
        owner = after.owner(a)
        home = homes.setdefault(-1 if owner is None else owner.index, len(homes))
        key = f"{home} {a.name}"
        seen[key] = seen.get(key, 0) + 1
        yield f"{key} {seen[key]}", a


def made_by(ref: Ref) -> str:
    """The id of the step that made what the identity stands for; "" for what the expression has from the start."""
    return ref.partition("#")[0].partition(".")[0]
