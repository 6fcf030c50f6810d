"""A space over the steps that a schedule has: parameters of them are opened, and nothing else is needed.

    task = Task.opened(s, [A, B, C], {"e1.factor": [8, 16, 32], "e5.taken": None}, "llvm")
    s2, args = task.instantiate(task.space.get(4))

A configuration replays the steps with its values; a loop is the same loop for the later steps whatever the factor of
the split that made it. Where a later step can no longer be taken, that is an InstantiationError that names it. The
values that the opened parameters have now are no part of the space: the same steps with the same parameters opened are
the same space, in another process and on another day.
"""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..core import serial
from ..core.error import LabError
from ..core.node import IterVar
from ..core.text import show
from ..face.document import Document
from ..face.handle import Schedule
from ..face.history import Entry, Point, start
from ..face.history_codec import written
from ..face.history_edit import as_error
from ..face.history_replay import placed
from ..face.moves import size
from ..schedule import identity
from ..schedule.guard import name as called
from ..schedule.trace import Trace
from .generic import work
from .parameters import Candidate, Parameter, in_force, openable
from .space import Config, Space
from .task import InstantiationError, Task

KEPT = 512  # places of the history that are kept: most configurations begin like another one

Wanted = Mapping[Any, Sequence[Any] | None]


class OpenedTask(Task):
    """`parameters`: those that are opened, in the order of the steps. `document`: a copy, which nobody changes."""

    def __init__(self, of: Document | Schedule, args: Sequence[Any], opened: Wanted, target: Any = None) -> None:
        document = of if isinstance(of, Document) else Document.of(of)
        self.document = document.copy(Schedule(document.point.trace))
        self.tensors = tuple(args)
        self.parameters = chosen(self.document, opened)
        self.steps = [e for _, e in in_force(self.document)]
        super().__init__("opened", [_shown(document.root), self._steps_hash()], target)
        self._of_step = {e.id: [k for k, p in enumerate(self.parameters) if p.step == e.id] for e in self.steps}
        self._by_value = [{repr(c.value): k for k, c in enumerate(p.candidates)} for p in self.parameters]
        self._places: OrderedDict[tuple[int, ...], Point] = OrderedDict()
        self._lock = threading.RLock()

    def _collected(self) -> Space:
        space = Space()
        for p in self.parameters:
            space.define_knob(p.name, p.values)
        space.identity = [self._said(p) for p in self.parameters]
        self._flop = work(Schedule(self.document.root))
        return space

    @property
    def first(self) -> list[int]:
        """The point that the steps are at: the best is compared with it. [] where a value is none to choose from."""
        places = [p.now for p in self.parameters]
        return [] if -1 in places else [self.space.knob2point(places)]

    def _said(self, p: Parameter) -> list[Any]:
        """A parameter and its values, whatever the loops are called."""
        number = {e.id: n for n, e in enumerate(self.steps, 1)}
        table = self.document.known.table
        values = [[written(self._renamed(dict(c.args), number), table, _nameless), c.off] for c in p.candidates]
        return [number[p.step], p.param, values]

    def candidates(self, config: Config) -> list[tuple[Parameter, Candidate]]:
        """What a configuration chooses."""
        values = [config[p.name].val for p in self.parameters]
        found = zip(self.parameters, self._by_value, values, strict=True)
        return [(p, p.candidates[places[repr(v)]]) for p, places, v in found]

    def instantiate(self, config: Config) -> tuple[Schedule, list[Any]]:
        """The steps with the values of a configuration; InstantiationError where one of them cannot be taken."""
        chosen = [c for _, c in self.candidates(config)]
        with self._lock:  # a session's thread and a notebook's may ask at the same time
            point = self._replayed(chosen)
        return Schedule(point.trace), list(self.tensors)

    # ------------------------------------------------------------ replaying

    def _replayed(self, chosen: Sequence[Candidate]) -> Point:
        point = start(self.document.root)
        key: tuple[int, ...] = (0,)
        for n, entry in enumerate(self.steps, 1):
            own = self._of_step[entry.id]
            key = (n, *key[1:], *(self._by_value[k][repr(chosen[k].value)] for k in own))
            known = self._places.get(key)
            if known is None:
                known = self._after(n, entry, [chosen[k] for k in own], point)
                self._places[key] = known
            self._places.move_to_end(key)
            point = known
        while len(self._places) > KEPT:
            self._places.popitem(last=False)
        return point

    def _after(self, n: int, entry: Entry, own: Sequence[Candidate], point: Point) -> Point:
        """The place after the step with these values of its parameters."""
        if any(c.off for c in own) or (entry.off and not any(c.value is True for c in own)):
            return point
        given = replace(entry, args={**entry.args, **{k: v for c in own for k, v in c.args.items()}})
        try:
            after = placed(self.document.known, given, point, self.document._missing(self.steps[: n - 1]))
        except Exception as e:  # a step of a file may hold anything
            found = as_error(e)
            said = f"step {n}, {entry.primitive}, cannot be taken: {found.message}"
            raise InstantiationError(found.rule, said, found.where, found.legal, found.hint) from e
        self._need_room(n, own, point, after)
        return after

    def _need_room(self, n: int, own: Sequence[Candidate], before: Point, after: Point) -> None:
        """A factor beyond the loop is cut to it without a word: the point would be another one's twin."""
        step = after.trace.step
        assert step is not None
        for c in own:
            for param in c.args:
                axis = step.args.get(param.replace("factor", "parent") if param != "nparts" else "parent")
                if step.primitive not in ("split", "tile") or not isinstance(axis, IterVar):
                    continue
                often = size(before.trace.state, axis)
                if often is not None and c.value > max(often, 1):
                    loop = called(before.trace.state, axis)
                    raise InstantiationError("factor-too-large", f"step {n}: {loop} runs fewer times than its {param}")

    # ------------------------------------------------------------ which space it is

    def _steps_hash(self) -> str:
        """Of the steps, without the values of what is opened, and without their ids."""
        opened = {(p.step, k) for p in self.parameters for c in p.candidates for k in c.args}
        number = {e.id: n for n, e in enumerate(self.steps, 1)}
        table = self.document.known.table
        said = []
        for e in self.steps:
            args = {k: None if (e.id, k) in opened else self._renamed(v, number) for k, v in e.args.items()}
            free = any(p.step == e.id and p.param == "taken" for p in self.parameters)
            said.append([e.primitive, written(args, table, _nameless), e.off and not free])
        return identity.of_data(identity.of(self.document.root), said)

    def _renamed(self, v: Any, number: Mapping[str, int]) -> Any:
        """An argument with the steps it speaks of by their number, and the loops they made by the part these play."""
        if isinstance(v, list):
            return [self._renamed(x, number) for x in v]
        if isinstance(v, dict):
            return {k: self._renamed(x, number) for k, x in v.items()}
        if not isinstance(v, str) or v.startswith("#"):
            return v
        for mark in ".#":
            step, _, rest = v.partition(mark)
            if step in number and rest.isdigit():
                slots = self.document.known.slots.of.get(step, [])
                part = slots[int(rest)][0] if mark == "." and int(rest) < len(slots) else rest
                return f"{number[step]}{mark}{part}"
        return v

    # ------------------------------------------------------------ elsewhere

    def __reduce__(self) -> Any:
        """As text: nothing of a schedule is pickled."""
        state = self.document.root.state
        places = [(state.stage_of(t).index, t.value_index) for t in self.tensors]
        opened = {p.id: p.values for p in self.parameters}
        return _restored, (json.dumps(self.document.to_json()), places, opened, str(self.target))


def _restored(text: str, places: Sequence[tuple[int, int]], opened: Wanted, target: str) -> OpenedTask:
    document = Document.from_json(text)
    stages = document.root.state.stages
    return OpenedTask(document, [stages[n].op.outputs[k] for n, k in places], opened, target)


def chosen(document: Document, opened: Wanted) -> list[Parameter]:
    """The parameters that a person names, in the order of the steps, each with the values it may have.

    By id (`e1.factor`), by step and argument (`(1, "factor")`, `"1.factor"`), by step alone where it has one parameter,
    or in words (`split i: factor`). Values: None is what is usual.
    """
    every = openable(document)
    found: dict[str, Parameter] = {}
    for key, values in opened.items():
        p = _named(document, every, key)
        if p.why and values is None:
            raise LabError("not-openable", f"{p.name} ({p.id}) cannot be opened: {p.why}")
        found[p.id] = p if values is None else p.only(values)
    if not found:
        raise LabError(
            "nothing-opened", "no parameter of a step is opened: there is nothing to choose from",
            legal=[f"{p.id} ({p.name})" for p in every if not p.why][:12], hint="open one, or open all",
        )  # fmt: skip
    return [found[p.id] for p in every if p.id in found]


def _named(document: Document, every: Sequence[Parameter], key: Any) -> Parameter:
    key = ".".join(map(str, key)) if isinstance(key, tuple) else str(key)
    step, _, param = key.partition(".")
    if step.isdigit() and 0 < int(step) <= len(document.entries):
        step = document.entries[int(step) - 1].id
    named = [p for p in every if p.name == key]
    named = named or [p for p in every if p.step == step and param in ("", p.param)]
    if len(named) == 1:
        return named[0]
    what = f"{step} has several parameters" if named else f"the steps in force have no parameter {key!r}"
    raise LabError("no-such-parameter", what, legal=[f"{p.id} ({p.name})" for p in named or every][:12])


def _nameless(thing: Any, loops: Sequence[Any]) -> Any:
    """An object that a step holds; the loops that it speaks of are told apart by what they are, not by their names."""
    try:
        return serial.canonical(thing, loops)
    except LabError:
        return repr(thing)  # what cannot be saved is only equal to itself


def _shown(root: Trace) -> str:
    made = [f"{t.name}: {t.dtype}[{', '.join(map(show, t.shape))}]" for op in root.outputs for t in op.outputs]
    return ", ".join(made)
