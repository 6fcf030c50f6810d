"""What a trace means: per stage its leaf axes, how they came about, where it is attached, its marks.

Derived, never saved.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..core.error import ScheduleError, ScheduleValueError
from ..core.node import DATA, ORDERED, REDUCE, Expr, IterVar
from ..expr.tensor import ComputeOp, Operation, PlaceholderOp, Tensor, post_order


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """parent = outer * factor + inner; with `nparts` the outer extent is given instead."""

    parent: IterVar
    outer: IterVar
    inner: IterVar
    factor: Expr | None
    nparts: Expr | None


@dataclass(frozen=True, slots=True, eq=False)
class Fuse:
    """fused = outer * extent(inner) + inner"""

    outer: IterVar
    inner: IterVar
    fused: IterVar


@dataclass(frozen=True, slots=True, eq=False)
class Rebase:
    """parent = rebased + min(parent)"""

    parent: IterVar
    rebased: IterVar


@dataclass(frozen=True, slots=True, eq=False)
class Singleton:
    """An axis of one iteration that belongs to nothing."""

    iter: IterVar


@dataclass(frozen=True, slots=True, eq=False)
class Transform:
    """transformed = layout(originals): the loops of a stage follow its new layout."""

    originals: tuple[IterVar, ...]
    transformed: tuple[IterVar, ...]
    layout: Any  # schedule.layout.Layout


Relation = Split | Fuse | Rebase | Singleton | Transform


@dataclass(frozen=True, slots=True, eq=False)
class Marks:
    """What is said of one leaf. `kind`: "", unrolled, vectorized, parallel, tensorized."""

    kind: str = ""
    thread: IterVar | None = None
    pragmas: tuple[tuple[str, Any], ...] = ()
    prefetches: tuple[tuple[Any, Any], ...] = ()
    intrin: Any = None


PLAIN = Marks()


@dataclass(frozen=True, slots=True, eq=False)
class Attach:
    """Where a stage is computed: at the root, inlined, inside a loop of another stage (`at`), or by its scan."""

    kind: str = "root"
    stage: int = -1
    axis: IterVar | None = None


ROOT = Attach()


@dataclass(frozen=True, eq=False)
class Stage:
    """One operation and how its loops run.

    `axes`: every axis it ever had; `leaves`: the loops, outermost first. `origin`: the operation it was created for.
    `align`: {axis: (factor, offset)}. `layout`: of the result, if transform_layout changed it. `group`: index or None.
    """

    index: int
    op: Operation
    origin: Operation
    axes: tuple[IterVar, ...]
    leaves: tuple[IterVar, ...]
    relations: tuple[Relation, ...] = ()
    marks: Mapping[IterVar, Marks] = field(default_factory=dict)
    attach: Attach = ROOT
    scope: str = ""
    group: int | None = None
    is_output: bool = False
    double_buffer: bool = False
    rolling_buffer: bool = False
    predicate: Expr | None = None
    env_threads: tuple[IterVar, ...] = ()
    align: Mapping[IterVar, tuple[int, int]] = field(default_factory=dict)
    layout: Any = None
    label: str = ""

    @property
    def name(self) -> str:
        return self.op.name

    @property
    def called(self) -> str:
        """What to write for its tensor: the name the person gave it on the line that made it, else the operation's."""
        return self.label or self.op.name

    @property
    def root_axes(self) -> tuple[IterVar, ...]:
        return (*self.op.axis, *self.op.reduce_axis)

    def mark(self, axis: IterVar) -> Marks:
        return self.marks.get(axis, PLAIN)

    def with_mark(self, axis: IterVar, **changes: Any) -> Stage:
        return replace(self, marks={**self.marks, axis: replace(self.mark(axis), **changes)})

    def with_leaf(self, old: Sequence[IterVar], new: Sequence[IterVar], *relations: Relation) -> Stage:
        """`new` takes the place of the (adjacent) leaves `old`."""
        at = self.leaves.index(old[0]) if old else 0
        rest = [a for a in self.leaves if a not in old]
        leaves = (*rest[:at], *new, *rest[at:])
        return replace(self, leaves=leaves, axes=(*self.axes, *new), relations=(*self.relations, *relations))

    def path(self, axis: IterVar) -> str:
        """The display name of an axis: `C.i.outer`."""
        return axis.name if axis.name.startswith(f"{self.name}.") else f"{self.name}.{axis.name}"


@dataclass(frozen=True, eq=False)
class Group:
    """Stages that move together: those at its root are computed where the group is. `parent`: a group around."""

    index: int
    parent: int | None = None
    attach: Attach = ROOT
    key: object = field(default_factory=object)  # stays with the group, whatever its number


@dataclass(frozen=True, eq=False)
class State:
    """`order`: stage indices, producers first. `alias`: every operation a stage has had -> its index.

    `refs`: each axis -> ("stage", index, position) or ("step", number, slot), its identity across replays.
    `labels`: the names a person gave axes on the line that made them.
    """

    order: tuple[int, ...]
    stages: Mapping[int, Stage]
    alias: Mapping[Operation, int]
    refs: Mapping[IterVar, tuple[Any, ...]] = field(default_factory=dict)
    labels: Mapping[IterVar, str] = field(default_factory=dict)
    groups: Mapping[int, Group] = field(default_factory=dict)
    created: int = 0

    @property
    def in_order(self) -> list[Stage]:
        return [self.stages[i] for i in self.order]

    def with_stage(self, stage: Stage) -> State:
        return replace(self, stages={**self.stages, stage.index: stage})

    def scopes_around(self, stage: Stage) -> list[str]:
        """Where the stage and what it reads are kept, as far as somebody said."""
        return [stage.scope, *(self.stage_of(t).scope for t in stage.op.inputs)]

    def stage_of(self, thing: Any) -> Stage:
        """The stage of a tensor or an operation, also of one that cache_write or rfactor has replaced since."""
        op = thing.op if isinstance(thing, Tensor) else thing
        index = self.alias.get(op) if isinstance(op, Operation) else None
        if isinstance(thing, str):
            raise ScheduleValueError(
                "stage-by-name",
                f"{thing!r} is a str: a stage is looked up by its tensor or operation",
                legal=[f"s[{s.name}]" for s in self.in_order],
            )
        if index is None:
            what = getattr(op, "name", thing)
            hint = (
                "a schedule holds the operations its outputs depend on, and what cache_read, cache_write and rfactor "
                "added"
            )
            if any(s.name == what for s in self.in_order):
                hint = f"the schedule has another `{what}`: use the tensor that its outputs were made from"
            raise ScheduleValueError(
                "foreign-stage",
                f"`{what}` is not part of this schedule",
                legal=[s.name for s in self.in_order],
                hint=hint,
            )
        return self.stages[index]

    def owner(self, axis: IterVar) -> Stage | None:
        """The stage an axis belongs to (or once belonged to)."""
        for i in self.order:
            if any(a is axis for a in self.stages[i].axes):  # `in` would ask `==`, which builds expressions
                return self.stages[i]
        return None

    def groups_of(self, group: int | None) -> list[int]:
        """A group and those around it, innermost first."""
        found: list[int] = []
        while group is not None:
            found.append(group)
            group = self.groups[group].parent
        return found

    def members(self, group: int) -> list[Stage]:
        """The stages of a group, those of the groups inside it too."""
        return [s for s in self.in_order if group in self.groups_of(s.group)]

    def attach_of(self, stage: Stage) -> Attach:
        """Where a stage is computed: at its own place, else at that of the nearest group that has one."""
        if stage.attach.kind != "root":
            return stage.attach
        places = (self.groups[g].attach for g in self.groups_of(stage.group))
        return next((a for a in places if a.kind != "root"), ROOT)

    def consumers(self, op: Operation) -> list[Stage]:
        return [s for s in self.in_order if any(t.op is op for t in s.op.inputs)]

    def replace_tensors(self, replaced: dict[Any, Any], only: Iterable[int] | None = None) -> State:
        """Make (all, or the given) stages read other tensors; ripples to the readers of rebuilt operations."""
        wanted = None if only is None else set(only)
        replaced, stages, alias = dict(replaced), dict(self.stages), dict(self.alias)
        chained: dict[Any, Any] = dict(replaced) if wanted is None else {}
        for i in self.order:
            stage = stages[i]
            mapping = {**chained, **(replaced if wanted is not None and i in wanted else {})}
            op = stage.op.with_inputs(mapping)
            if op is stage.op:
                continue
            chained.update(zip(stage.op.outputs, op.outputs, strict=True))
            stages[i], alias[op] = replace(stage, op=op), i
        return replace(self, stages=stages, alias=alias)


def initial(outputs: Sequence[Operation]) -> State:
    """The schedule nobody has touched: every operation at the root, loops in the order of its axes."""
    if not outputs:
        raise ScheduleError("no-outputs", "a schedule needs at least one operation")
    order = post_order(outputs)
    stages, refs = {}, {}
    for i, op in enumerate(order):
        axes = (*op.axis, *op.reduce_axis)
        leaves = tuple(a for a in axes if a.iter_type in (DATA, REDUCE, ORDERED))
        stages[i] = Stage(i, op, op, axes, leaves, is_output=op in outputs)
        refs.update({a: ("stage", i, k) for k, a in enumerate(axes)})
    state = State(tuple(range(len(order))), stages, {op: i for i, op in enumerate(order)}, refs)
    return attach_scans(state)


def attach_scans(state: State) -> State:
    """The update stages of a scan run inside its loop: they are attached by the scan itself."""
    for stage in state.in_order:
        for t in getattr(stage.op, "updates", ()):
            inner = state.stages[state.alias[t.op]]
            state = state.with_stage(replace(inner, attach=Attach("scan", stage.index, stage.op.axis[0])))
    return state


def is_input(stage: Stage) -> bool:
    return isinstance(stage.op, PlaceholderOp)


def is_compute(stage: Stage) -> bool:
    return isinstance(stage.op, ComputeOp)
