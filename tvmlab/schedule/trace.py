"""A trace: tensors, and the steps applied to them. Immutable; each prefix keeps the state it leads to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..core.deep import deep
from ..core.error import ScheduleError, ScheduleTypeError
from ..core.node import IterVar
from ..expr.tensor import Operation, Tensor
from . import primitives
from .state import State, initial


@dataclass(frozen=True, eq=False)
class Step:
    """One primitive with its arguments. `where`: (file or cell, line). `names`: what the person called its results."""

    primitive: str
    args: Mapping[str, Any]
    where: tuple[str, int] | None = None
    names: tuple[str, ...] = ()

    def __repr__(self) -> str:
        parts = [f"{k}={getattr(v, 'name', v)}" for k, v in self.args.items() if v is not None]
        return f"{self.primitive}({', '.join(parts)})"


class Trace:
    """`trace + step`, `trace[:-1]`, `len(trace)`. The state after the last step is computed once, on demand."""

    __slots__ = ("_results", "_state", "length", "outputs", "parent", "step")

    def __init__(self, outputs: Sequence[Operation], parent: Trace | None = None, step: Step | None = None) -> None:
        self.outputs, self.parent, self.step = tuple(outputs), parent, step
        self.length: int = 0 if parent is None else parent.length + 1
        self._state: State | None = None
        self._results: Any = None

    def __add__(self, step: Step) -> Trace:
        return Trace(self.outputs, self, step)

    def __len__(self) -> int:
        return self.length

    def __iter__(self) -> Iterator[Step]:
        return iter(self.steps)

    @property
    def steps(self) -> tuple[Step, ...]:
        found: list[Step] = []
        node: Trace | None = self
        while node is not None and node.step is not None:
            found.append(node.step)
            node = node.parent
        return tuple(reversed(found))

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            start, stop, stride = index.indices(self.length)
            if start != 0 or stride != 1:
                raise ValueError("only a prefix of a trace is a trace: trace[:n]")
            return self.prefix(stop)
        return self.steps[index]

    def prefix(self, length: int) -> Trace:
        """The trace of the first `length` steps."""
        if not isinstance(length, int) or not 0 <= length <= self.length:
            raise ScheduleError("no-such-step", f"the trace has {self.length} steps; there is no prefix of {length}")
        node = self
        while node.length > length:
            node = node.parent  # type: ignore[assignment]
        return node

    @property
    def state(self) -> State:
        if self._state is None:
            self._evaluate()
        return self._state  # type: ignore[return-value]

    @property
    def results(self) -> Any:
        """What the last step gave the person: axes, a tensor, None."""
        if self._state is None:
            self._evaluate()
        return self._results

    def to_json(self) -> str:
        """The tensors and the steps as text; `Trace.from_json` reads it."""
        from .codec import to_json

        return to_json(self)

    @staticmethod
    def from_json(text: str, outputs: Any = None) -> Trace:
        """A saved trace; with `outputs` (an operation, a tensor, or a list of them), its steps on these."""
        from .codec import from_json

        return from_json(text, None if outputs is None else operations("from_json", outputs))

    def replay(self, outputs: Any) -> Trace:
        """The same steps on other operations (or tensors) of the same structure, perhaps of other shapes."""
        from .codec import replay

        return replay(self, operations("replay", outputs))

    def same(self, other: Trace) -> bool:
        """Equal up to renaming."""
        from .codec import same_steps

        return same_steps(self, other)

    def to_code(self, schedule: str = "s") -> str:
        from .code import to_code

        return to_code(self, schedule)

    def __repr__(self) -> str:
        return f"trace of {', '.join(op.name for op in self.outputs)}, {len(self)} steps\n{self.to_code()}"

    @deep
    def _evaluate(self) -> None:
        if self.parent is None or self.step is None:
            self._state = initial(self.outputs)
            return
        before = self.parent.state
        after, self._results = primitives.call(self.step.primitive, before, self.step.args)
        self._state = _identified(before, after, self.length - 1, self.step, self._results)


def operations(caller: str, things: Any) -> list[Operation]:
    """An operation, a tensor, or a list of them, as operations: what a schedule is of."""
    listed = things if isinstance(things, (list, tuple)) else [things]
    found = [x.op if isinstance(x, Tensor) else x for x in listed]
    for x in found:
        if not isinstance(x, Operation):
            raise ScheduleTypeError("not-an-operation", f"{caller} takes operations, not {x!r}", hint="pass C.op")
    if not found:
        raise ScheduleError("no-outputs", f"{caller} needs at least one operation")
    return found


def _identified(before: State, after: State, number: int, step: Step, results: Any) -> State:
    """Give every axis that this step made its identity, (step, slot), and the name the person gave it."""
    refs = dict(before.refs)
    slot = 0
    for i in after.order:
        stage = after.stages[i]
        if before.stages.get(i) is stage:
            continue
        for a in stage.axes:
            if a not in refs:
                refs[a] = ("step", number, slot)
                slot += 1
    made = results if isinstance(results, (tuple, list)) else (results,)
    labels, stages = dict(after.labels), dict(after.stages)
    for thing, name in zip(made, step.names, strict=False) if len(made) == len(step.names) else ():
        if not name.strip("_"):  # `_` names nothing
            continue
        if isinstance(thing, IterVar):
            labels[thing] = name
        elif isinstance(thing, Tensor) and thing.op.num_outputs == 1:
            index = after.alias[thing.op]
            stages[index] = replace(stages[index], label=name)
    return replace(after, refs=refs, labels=labels, stages=stages)
