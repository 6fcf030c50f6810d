"""A task: a template with its arguments and a target, whose space is searched for the best schedule."""

from __future__ import annotations

import linecache
import traceback
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from ..core.error import LabError, ScheduleError
from ..face.handle import Schedule
from ..target.base import Target
from .dispatch import ApplyConfig
from .flop import compute_flop
from .space import Config, Space
from .templates import Template, lookup
from .workload import Workload, given, plain, workload_of


class InstantiationError(LabError, ValueError):
    """A configuration that gives no schedule: the template says so, or a primitive refuses."""


class TemplateError(LabError, TypeError):
    """A template that gives something else than (schedule, [tensors])."""


class Task:
    """`task.space`, `task.flop`, `task.instantiate(task.space.get(7))`.

    `name`: of a template. `args`: what it is called with, as plain values (a tensor is ("TENSOR", shape, dtype)), for
    records. `target`: a name or a Target; that of the `with Target(...)`
    block, or llvm, unless given. The template is first run when its space is asked for.
    """

    def __init__(self, name: str, args: Sequence[Any], target: Any = None, target_host: Any = None) -> None:
        self.name, self.args = name, tuple(plain(a) for a in args)
        self._given = tuple(given(a) for a in args)
        self.target = Target(target or Target.current() or "llvm")
        self.func: Any = lookup(name)  # Template, or a stand-in for one that is not there
        self.kwargs: dict[str, Any] = {}
        self._space: Space | None = None
        self._flop: float | str = 0.0

    @staticmethod
    def of(outputs: Any, args: Sequence[Any], target: Any = None) -> Task:
        """A task without a template: tensors, or a schedule whose steps stay, in a space that fits any expression.

        `args`: the tensors the function takes, outputs included, as for `build`.
        """
        from .asked import need_tensors
        from .generic import task_of

        made = task_of(outputs, args, target)
        need_tensors(made.trace, made.tensors)
        return made

    @staticmethod
    def opened(schedule: Any, args: Sequence[Any], parameters: Any, target: Any = None) -> Task:
        """A task over the steps that a schedule has, whose space is some of their parameters: {"e1.factor": [8, 16]}.

        `parameters`: by id, as `tune.openable(schedule)` lists them, or by step: `{(1, "factor"): None}`; the values
        each may have, None for the usual ones. `args`: the tensors the function takes, as for `build`.
        """
        from .asked import need_tensors
        from .opened import OpenedTask

        made = OpenedTask(schedule, args, parameters, target)
        need_tensors(made.document.root, made.tensors)
        return made

    @property
    def space(self) -> Space:
        """What can be chosen: the template is run once to find out."""
        if self._space is None:
            self._space = self._collected()
        return self._space

    config_space = space

    @property
    def first(self) -> list[int]:
        """Points that a session begins with: 0, what an untuned template makes, with which the best is compared."""
        with suppress(Exception):  # of a person's filter: its candidates say what it was
            return [0] if self.space.is_index_valid(0) else []
        return []

    @property
    def flop(self) -> float:
        """The operations of the computation: what the template added, else what its expressions say."""
        _ = self.space
        if isinstance(self._flop, str):
            raise RuntimeError(self._flop)
        return self._flop

    @property
    def workload(self) -> Workload:
        return workload_of(self.name, self.args)

    target_host = property(lambda self: self.target.host)

    def instantiate(self, config: Config) -> tuple[Schedule, list[Any]]:
        """The schedule of one configuration and its arguments; InstantiationError where there is none, and why."""
        config.errors, config.flop = [], 0.0
        try:
            made = self._run(config)
        except ScheduleError as e:
            where = [*_line(e, self.func), *e.where]
            raise InstantiationError(e.rule, e.message, where, e.legal, e.hint) from e
        if not config.valid():
            raise InstantiationError("invalid-config", "; ".join(config.errors))
        return made

    def _collected(self) -> Space:
        space = Space()
        space.code_hash = self.func.code_hash
        try:
            schedule, _ = self._run(space)
        except BaseException as e:  # an interrupt too: it may have a loop without an end
            e.add_note(f"while the template {self.name!r} was run to collect its choices")
            raise
        self._flop = space.flop or _counted(schedule)
        space.errors = []
        return space

    def _run(self, config: Any) -> tuple[Schedule, list[Any]]:
        with ApplyConfig(config), self.target:
            try:
                made = self.func.function(*self._given)
            except Exception as e:
                for line in _line(e, self.func):
                    e.add_note(line)
                raise
        if not (isinstance(made, (tuple, list)) and len(made) == 2 and isinstance(made[0], Schedule)):
            raise TemplateError(
                "template-result", f"the template {self.name} gives {made!r}, not (schedule, [tensors])",
                hint="return s, [A, B, C]",
            )  # fmt: skip
        return made[0], list(made[1])

    def __reduce__(self) -> Any:
        return Task, (self.name, self.args, str(self.target))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Task) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[str, Workload]:
        return str(self.target), self.workload

    def __repr__(self) -> str:
        shown = ", ".join(map(str, self.args))
        return f"Task(func_name={self.name}, args=({shown[:200]}), kwargs={{}}, target={self.target})"


def create(task_name: str, args: Sequence[Any], target: Any = None, target_host: Any = None) -> Task:
    """The task of a template, its space collected; an unknown name is a RuntimeError."""
    name = task_name.name if isinstance(task_name, Template) else task_name
    task = Task(name, args, target, target_host)
    _ = task.flop
    return task


def _counted(schedule: Schedule) -> float | str:
    """The operations, or why they cannot be counted."""
    try:
        return float(compute_flop(schedule))
    except RuntimeError as e:
        return str(e)


def _line(error: BaseException, func: Any) -> list[str]:
    """The line of the template that raised it."""
    code = func.function.__code__ if isinstance(func, Template) else None
    if code is None:
        return []
    frames = [(f, n) for f, n in traceback.walk_tb(error.__traceback__) if f.f_code.co_filename == code.co_filename]
    if not frames:
        return []
    frame, number = frames[-1]
    text = linecache.getline(code.co_filename, number, frame.f_globals).strip()
    return [f"line {number} of {frame.f_code.co_name}:  {text}"] if text else []
