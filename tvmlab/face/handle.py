"""The schedule as people hold it: `s = te.create_schedule(C.op); s[C].split(x, 32)`. Its only state is its trace."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any
from weakref import ref

from ..core import hooks
from ..core.error import LabError, ScheduleTypeError, ScheduleValueError
from ..core.hooks import Shown
from ..core.node import PARALLEL, TENSORIZED, UNROLLED, VECTORIZED, IterVar
from ..core.warning import warn
from ..expr.attrs import StringImm
from ..expr.tensor import Operation, Tensor
from ..lowering import pipeline
from ..schedule import primitives
from ..schedule.code import to_code
from ..schedule.guard import describe, name
from ..schedule.state import Marks, Stage, State
from ..schedule.trace import Step, Trace, operations
from . import sandbox
from .asking import ask, moves
from .group import GroupHandle
from .source import caller, place, result_names, writer
from .verdict import Moves, Verdict

if TYPE_CHECKING:
    from .document import Document

STAGE_ARGUMENTS = ("stage", "parent")


class Schedule(Shown):
    """A handle on a trace. Every call that succeeds appends a step; one that is refused changes nothing."""

    def __init__(self, trace: Trace, family: list[Any] | None = None) -> None:
        self.trace = trace
        # Where axes and tensors of steps that this schedule has not taken may come from: undone traces, other handles.
        self._family: list[Any] = [] if family is None else family
        self._family.append(ref(self))
        self.trial = sandbox.current()  # made while code was only being tried
        self.document: Document | None = None  # its history, once somebody has asked for it (see Document.of)

    # ------------------------------------------------------------ looking

    @property
    def state(self) -> State:
        return self.trace.state

    def __getitem__(self, thing: Any) -> StageHandle:
        thing = self._now(thing.op if isinstance(thing, StageHandle) else thing)
        return StageHandle(self, self.state.stage_of(thing).index)

    @property
    def stages(self) -> list[StageHandle]:
        return [StageHandle(self, i) for i in self.state.order]

    @property
    def outputs(self) -> list[Operation]:
        return [s.op for s in self.state.in_order if s.is_output]

    @property
    def groups(self) -> list[GroupHandle]:
        return [GroupHandle(self, i) for i in self.state.groups]

    @property
    def stage_map(self) -> dict[Operation, StageHandle]:
        return {op: StageHandle(self, i) for op, i in self.state.alias.items()}

    # ------------------------------------------------------------ acting

    def apply(self, primitive: str, /, *args: Any, **kwargs: Any) -> Any:
        """Append one step; returns what the primitive returns."""
        sandbox.need_changeable(self.trial)
        frame = caller()
        bound = self.arguments(primitive, args, kwargs)
        trace = self.trace + Step(primitive, bound, place(frame), result_names(writer()))
        results = trace.results  # refused steps raise here, and leave the schedule as it was
        self.trace = trace
        if self.document is not None:
            self.document.follow()
        return results

    def advance(self, trace: Trace) -> None:
        """For its document: go to another place of the history."""
        self.trace = trace

    def arguments(self, primitive: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Mapping[str, Any]:
        """What a call gave, as a step records it: stages of this schedule by number, layouts as data."""
        bound = bind(primitive, [self.plain(a) for a in args], {k: self.plain(v) for k, v in kwargs.items()})
        return primitives.prepare(primitive, self.state, {k: self._now(v) for k, v in bound.items()})

    def plain(self, value: Any) -> Any:
        """A stage (or group) of this schedule by its number."""
        if not isinstance(value, (StageHandle, GroupHandle)):
            return value
        if value.schedule is not self:
            what = "this group" if isinstance(value, GroupHandle) else f"stage {value.record.name}"
            raise ScheduleValueError(
                "foreign-stage",
                f"{what} belongs to another schedule",
                legal=[s.record.name for s in self.stages],
                hint="look both stages up in the schedule that is changed: s[C].compute_at(s[D], i)",
            )
        return value.record.index if isinstance(value, StageHandle) else value.index

    def _now(self, value: Any) -> Any:
        """What a person gave, as it is now: an axis of a step that was changed since is the one the step makes now."""
        if isinstance(value, (list, tuple)):
            return type(value)(self._now(x) for x in value)
        thing = value.op if isinstance(value, Tensor) else value
        if not isinstance(thing, (IterVar, Operation)) or _knows(self.state, thing):
            return value
        now = self.document.resolve(value) if self.document is not None else None
        if now is None:
            self._refuse_untaken(thing)
        return value if now is None else now

    def _refuse_untaken(self, thing: IterVar | Operation) -> None:
        """An axis or an operation made by a step that was undone, or that only a fork took: say which."""
        if self.document is not None and (error := self.document.fate(thing)) is not None:
            raise error
        for number, trace, undone in self._untaken():
            if _knows(trace.state, thing):
                label = trace.state.labels.get(thing, thing.name) if isinstance(thing, IterVar) else thing.name
                why = "which was undone" if undone else "which this schedule has not taken: another handle has"
                raise ScheduleValueError(
                    "untaken-step",
                    f"`{label}` was made by step {number}, `{to_code(trace).splitlines()[-1]}`, {why}",
                    hint="take that step again",
                )

    def _untaken(self) -> Iterator[tuple[int, Trace, bool]]:
        """The traces of steps that are not ours, each with its number (1, 2, ...) and whether it was undone."""
        ours = {id(t) for t in _prefixes(self.trace)}
        for member in self._family:
            trace = member if isinstance(member, Trace) else getattr(member(), "trace", None)
            steps = [] if trace is None else [t for t in _prefixes(trace) if id(t) not in ours]
            for t in reversed(steps):
                yield len(t), t, isinstance(member, Trace)

    def undo(self, steps: int = 1) -> Schedule:
        """Take back the last steps; a warning says so if there were fewer. `redo` takes them again."""
        need_count("undo", steps)
        sandbox.need_changeable(self.trial)
        self._family[:] = [m for m in self._family if isinstance(m, Trace) or m() is not None]
        if not any(m is self.trace for m in self._family):
            self._family.append(self.trace)
        done = self.history.back(steps)
        if done < steps:
            warn(f"undo({steps}) took back {done} step{'s' * (done != 1)}: there were no more")
        return self

    def redo(self, steps: int = 1) -> Schedule:
        """Take steps again that were undone; a warning says so if there were fewer."""
        need_count("redo", steps)
        done = self.history.forward(steps)
        if done < steps:
            warn(f"redo({steps}) took {done} step{'s' * (done != 1)} again: there were no more")
        return self

    @property
    def history(self) -> Document:
        """The steps taken, undone and parked, with their branches: what labs of this schedule share."""
        from .document import Document

        return Document.of(self)

    def at(self, step: int) -> Schedule:
        """A new handle on the schedule as it was after `step` steps."""
        return Schedule(self.trace.prefix(step), self._family)

    def fork(self) -> Schedule:
        """A new handle that starts here and goes its own way."""
        return Schedule(self.trace, self._family)

    copy = fork

    def normalize(self) -> Schedule:
        """A copy. Lowering itself substitutes inlined stages and moves attach points; its loops all begin at zero."""
        return self.fork()

    def create_group(self, outputs: Any, inputs: Any, include_inputs: bool = False) -> GroupHandle:
        """The stages from `inputs` (left out unless asked for) to `outputs`, as one thing to place."""
        return GroupHandle(self, self.apply("create_group", outputs, inputs, include_inputs))

    def __reduce__(self) -> Any:
        return _restored, (self.trace.to_json(),)

    def verdict(self, primitive: str, /, *args: Any, **kwargs: Any) -> Verdict:
        """May this step be taken? `s.verdict("vectorize", C, k)`; nothing is applied."""
        return ask(self, primitive, args, kwargs)

    def moves(self, stage: Any, axis: IterVar | None = None) -> Moves:
        """What may be done to a loop of a stage (to the stage itself without an axis), each with its verdict."""
        return moves(self, self[stage].record, axis)

    def check(self, target: Any = None) -> list[LabError]:
        """What `build` would refuse: open obligations, accesses outside a shape, marks that passes cannot follow.

        With a `target` also what only that one refuses: loops bound to threads where it has none, kernels with more
        threads or shared memory than its device, barriers that not all threads reach. Without one nothing is said of
        devices, so that a build for a GPU may still be refused.
        """
        found = pipeline.problems(self.state)
        if target is None or found:
            return found
        from .api import as_target
        from .fits import refused

        error = refused(self.trace, as_target(target))
        return [] if error is None else [error]

    def default(self, target: Any = None) -> Schedule:
        """A default GPU schedule, as ordinary steps: each stage shared out to blocks of threads; returns the schedule.

        Kernels that are bound already stay as they are. `target`: cuda, cuda_c, opencl, metal or interp; without one,
        that of the `with Target(...)` block, or cuda. Refused: `te.extern` without threads of its own, threads bound
        inside loops that are not.
        """
        from .defaults import default

        sandbox.need_changeable(self.trial)
        self.trace = default(self.trace, target, place(caller()))
        if self.document is not None:
            self.document.follow()
        return self

    def lab(self, args: Sequence[Any] | None = None, **options: Any) -> Any:
        """The Schedule Lab around this schedule: what is done in it is done here, and the reverse."""
        around = hooks.find("lab", Schedule)
        assert around is not None  # tvmlab.lab puts it there
        return around(self)(args, **options)

    def to_code(self) -> str:
        """The steps as code, in the classic calls and the person's names."""
        return to_code(self.trace)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in primitives.names():
            raise AttributeError(_unknown("a schedule", name, schedule_level=True))
        return _method(self, name)

    def __dir__(self) -> list[str]:
        return sorted({*object.__dir__(self), *primitives.names()})

    def __repr__(self) -> str:
        head = f"schedule of {', '.join(op.name for op in self.outputs)}, {len(self.trace)} steps"
        return "\n".join([head, *[f"  {stage_line(s, self.state)}" for s in self.state.in_order]])


class StageHandle(Shown):
    """One stage of a schedule: `s[C]`. The primitives are its methods."""

    def __init__(self, schedule: Schedule, index: int) -> None:
        self.schedule, self.index = schedule, index
        self.origin_op = schedule.state.stages[index].origin

    @property
    def record(self) -> Stage:
        found = self.schedule.state.stages.get(self.index)
        if found is not None and found.origin is self.origin_op:
            return found
        document = self.schedule.document
        now = document.resolve(self.origin_op) if document is not None else None
        if now is None:
            name = self.origin_op.name
            raise ScheduleValueError("untaken-step", f"stage {name} is gone: the step that made it was undone")
        return self.schedule.state.stage_of(now)

    op = property(lambda self: self.record.op)
    scope = property(lambda self: self.record.scope)
    all_iter_vars = property(lambda self: list(self.record.axes))
    leaf_iter_vars = property(lambda self: list(self.record.leaves))
    relations = property(lambda self: list(self.record.relations))
    is_output = property(lambda self: self.record.is_output)
    double_buffer_on = property(lambda self: self.record.double_buffer)

    store_predicate = property(lambda self: self.record.predicate)

    @property
    def iter_var_attrs(self) -> dict[IterVar, IterVarAttr]:
        """Classic: what is said of the axes that something is said of."""
        return {a: IterVarAttr(a, m) for a, m in self.record.marks.items()}

    def same_as(self, other: Any) -> bool:
        """Is it the same stage of the same schedule?"""
        return bool(self == other)

    @property
    def attach_type(self) -> int:
        """The classic numbers: 1 root, 2 inline, 4 inside a loop, 5 scan update."""
        return {"root": 1, "inline": 2, "at": 4, "scan": 5}[self.record.attach.kind]

    @property
    def attach_ivar(self) -> IterVar | None:
        return self.record.attach.axis

    @property
    def attach_stage(self) -> StageHandle | None:
        at = self.record.attach
        return StageHandle(self.schedule, at.stage) if at.kind in ("at", "scan") else None

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in primitives.names() or not takes_stage(name):
            raise AttributeError(_unknown(f"stage {self.record.name}", name, schedule_level=False))
        return _method(self.schedule, name, self.record.index)

    @property
    def group(self) -> GroupHandle | None:
        found = self.record.group
        return None if found is None else GroupHandle(self.schedule, found)

    def __dir__(self) -> list[str]:
        return sorted({*object.__dir__(self), *filter(takes_stage, primitives.names())})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StageHandle) and (self.schedule, self.index) == (other.schedule, other.index)

    def __hash__(self) -> int:
        return hash((id(self.schedule), self.index))

    def __repr__(self) -> str:
        return f"stage({stage_line(self.record, self.schedule.state)})"


KINDS = {"unrolled": UNROLLED, "vectorized": VECTORIZED, "parallel": PARALLEL, "tensorized": TENSORIZED}


class IterVarAttr:
    """What is said of one leaf, under the classic names (`s[T].iter_var_attrs[xi].iter_type`)."""

    def __init__(self, axis: IterVar, marks: Marks) -> None:
        self.iter_type = KINDS.get(marks.kind, axis.iter_type)
        self.bind_thread = marks.thread
        self.pragma_keys = [StringImm(k) for k, _ in marks.pragmas]
        self.pragma_values = [v for _, v in marks.pragmas]
        self.prefetch_data = [t for t, _ in marks.prefetches]
        self.prefetch_offset = [o for _, o in marks.prefetches]
        self.tensor_intrin = marks.intrin


def need_count(verb: str, steps: Any) -> None:
    if not isinstance(steps, int) or steps < 0:
        raise ScheduleValueError(f"{verb}-count", f"{verb} takes a number of steps, not {steps!r}")


def _restored(text: str) -> Schedule:
    return Schedule(Trace.from_json(text))


def _method(schedule: Schedule, name: str, *first: Any) -> Any:
    def call(*args: Any, **kwargs: Any) -> Any:
        return schedule.apply(name, *first, *args, **kwargs)

    call.__name__ = call.__qualname__ = name
    call.__signature__ = shown_signature(name, bool(first))  # type: ignore[attr-defined]
    call.__doc__ = shown_text(name)
    return call


@cache
def shown_text(primitive: str) -> str | None:
    return inspect.getdoc(primitives.get(primitive))


@cache
def signature(primitive: str) -> inspect.Signature:
    """What a person gives: the primitive's parameters without the state."""
    whole = inspect.signature(primitives.get(primitive))
    return whole.replace(parameters=list(whole.parameters.values())[1:], return_annotation=inspect.Signature.empty)


@cache
def shown_signature(primitive: str, of_stage: bool) -> inspect.Signature:
    """What a notebook shows while a call is written: names and defaults; the stage is in front of the dot."""
    given = [p.replace(annotation=p.empty) for p in signature(primitive).parameters.values()]
    return inspect.Signature(given[1:] if of_stage else given)


@cache
def takes_stage(primitive: str) -> bool:
    return next(iter(signature(primitive).parameters), "") == "stage"


def bind(primitive: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Positional and keyword arguments as a plain mapping; a wrong count names the signature."""
    form = signature(primitive)
    try:
        bound = form.bind(*args, **kwargs)
    except TypeError as e:
        shown = [str(p) for n, p in form.parameters.items() if n != "stage"]
        raise ScheduleTypeError(
            "arguments", f"{primitive}: {e}", legal=[f"{primitive}({', '.join(_bare(x) for x in shown)})"]
        ) from None
    return dict(bound.arguments)


def _bare(parameter: str) -> str:
    name, _, default = parameter.partition("=")
    return name.partition(":")[0].strip() + (f"={default.strip()}" if default else "")


def _prefixes(trace: Trace) -> Iterator[Trace]:
    """The trace and those it goes on from, the longest first."""
    node: Trace | None = trace
    while node is not None:
        yield node
        node = node.parent


def _knows(state: State, thing: Any) -> bool:
    return thing in (state.refs if isinstance(thing, IterVar) else state.alias)


def stage_line(s: Stage, state: State) -> str:
    """`C: i.outer (32), j (1024)  [at D.i]`"""
    leaves = ", ".join(_leaf(s, a, state) for a in s.leaves) or "input"
    at = s.attach
    place = ""
    if at.kind == "inline":
        place = "  [inlined]"
    elif at.axis is not None:
        place = f"  [at {state.stages[at.stage].name}.{name(state, at.axis)}]"
    scope = f" in {s.scope}" if s.scope else ""
    return f"{s.name}{scope}: {leaves}{place}"


def _leaf(s: Stage, a: IterVar, state: State) -> str:
    mark = s.mark(a)
    note = mark.kind or (mark.thread.thread_tag if mark.thread is not None else "")
    return f"{describe(state, a)}{' ' + note if note else ''}"


def _unknown(what: str, name: str, schedule_level: bool) -> str:
    from difflib import get_close_matches

    if name in primitives.names():
        return f"{what} has no `{name}`: it is a step of the whole schedule, s.{name}(...)"
    there = [n for n in primitives.names() if schedule_level or takes_stage(n)]
    close = get_close_matches(name, there, 3)
    hint = f"; did you mean {' or '.join(close)}?" if close else f"; the primitives are {', '.join(there)}"
    return f"{what} has no `{name}`{hint}"


def create_schedule(ops: Any) -> Schedule:
    """A schedule of one operation (or tensor), or a list of them, nothing scheduled yet; or the schedule of a trace."""
    return Schedule(ops if isinstance(ops, Trace) else Trace(operations("create_schedule", ops)))
