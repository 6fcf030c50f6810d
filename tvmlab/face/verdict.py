"""May this step be taken? Asked without taking it: the step is tried on a fork, and the fork is looked at."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ..core.error import LabError, ScheduleTypeError
from ..core.hooks import Shown
from ..core.node import REDUCE, IterVar
from ..core.text import show_program
from ..core.walk import constant
from ..lowering import pipeline
from ..schedule.guard import name as called
from ..schedule.state import Stage, State, is_input
from ..schedule.trace import Step, Trace

if TYPE_CHECKING:
    from .handle import Schedule

LEGAL, ILLEGAL, UNKNOWN, NO_EFFECT, OWES = "legal", "illegal", "unknown", "no effect", "legal with an obligation"
SIGNS = {LEGAL: "+", ILLEGAL: "x", UNKNOWN: "?", NO_EFFECT: "=", OWES: "+"}


@dataclass(frozen=True)
class Move:
    """A step that could be taken: a primitive and its arguments."""

    primitive: str
    args: dict[str, Any]
    text: str

    def __repr__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Verdict(Shown):
    """`kind`: legal, illegal, unknown, no effect, or legal with an obligation.

    `reason`: why, as the error a person would read. `clash`: two iterations that conflict, as text. `alternatives`:
    legal moves instead, each tried. `obligations`: what the schedule would owe that it does not owe now.
    """

    kind: str
    reason: str = ""
    error: LabError | None = None
    clash: str = ""
    alternatives: tuple[Move, ...] = ()
    obligations: tuple[LabError, ...] = ()

    @property
    def ok(self) -> bool:
        return self.kind in (LEGAL, NO_EFFECT, OWES)

    def __bool__(self) -> bool:
        return self.ok

    def __str__(self) -> str:
        lines = [f"{SIGNS[self.kind]} {self.kind}" + (f": {self.reason}" if self.reason else "")]
        if self.clash:
            lines.append(f"  {self.clash}")
        lines += [f"  owes: {o.message}" for o in self.obligations]
        if self.alternatives:
            lines.append("  instead: " + ", ".join(m.text for m in self.alternatives))
        return "\n".join(lines)

    __repr__ = __str__


class Moves(list[tuple[Move, Verdict]], Shown):
    """Moves with their verdicts; printed as one line each."""

    def __repr__(self) -> str:
        width = max((len(m.text) for m, _ in self), default=0)
        return "\n".join(f"{SIGNS[v.kind]} {m.text:{width}}  {v.reason or v.kind}" for m, v in self)


def verdict(schedule: Schedule, primitive: str, args: dict[str, Any], deep: bool = True) -> Verdict:
    """The verdict on one step. `deep=False` leaves out the alternatives (they are verdicts themselves)."""
    before = schedule.trace
    after = before + Step(primitive, args)
    try:
        with warnings.catch_warnings():  # asking is no step
            warnings.simplefilter("ignore")
            _ = after.state
    except (LabError, ValueError, TypeError) as e:
        error = e if isinstance(e, LabError) else None
        clash = clashing(before.state, primitive, args)
        options = tuple(alternatives(schedule, primitive, args)) if deep else ()
        return Verdict(ILLEGAL, error.message if error else str(e), error, clash, options)
    by_passes = primitive in BY_PASSES
    text, owed = _lowered(before, by_passes)
    new_text, new_owed = _lowered(after, by_passes)
    known = {o.message for o in owed}
    new = tuple(o for o in new_owed if o.message not in known)
    if text == new_text and not new:
        return Verdict(NO_EFFECT, "the loops stay as they are")
    return Verdict(OWES, obligations=new) if new else Verdict(LEGAL)


BY_PASSES = frozenset({"double_buffer", "rolling_buffer", "prefetch", "bind"})  # whose marks a pass may find impossible


@lru_cache(maxsize=32)
def _lowered(trace: Trace, by_passes: bool) -> tuple[str, tuple[LabError, ...]]:
    """The loops as text, and what the schedule owes."""
    args, found = arguments(trace), []  # type: tuple[list[Any], list[LabError]]
    program = pipeline.loops(trace.state, args, problems=found)
    if by_passes:
        pipeline.run(program, pipeline.READABLE, problems=found)
    return show_program(replace(program, notes=())), tuple(found)


def arguments(trace: Trace) -> list[Any]:
    """The inputs, the outputs and the scalars of a schedule, in order: what a function of it takes."""
    first = trace.prefix(0).state
    inputs = pipeline.inputs(first)
    outputs = [t for op in trace.outputs for t in op.outputs if t not in inputs]
    return [*inputs, *outputs, *pipeline.scalars(trace.state)]


def clashing(state: State, primitive: str, args: dict[str, Any]) -> str:
    """Two iterations of a reduction loop that update the same element, for loops whose iterations must not meet."""
    if primitive not in ("vectorize", "parallel"):
        return ""
    axis, stage = args.get("var"), state.stages.get(args.get("stage", -1))
    if stage is None or not isinstance(axis, IterVar) or axis.iter_type != REDUCE or axis not in stage.leaves:
        return ""
    extent = constant(axis.dom.extent) if axis.dom is not None else None
    if extent is not None and extent < 2:
        return ""
    element = ", ".join(called(state, a) for a in stage.op.axis) or "()"
    label = called(state, axis)
    return f"iterations {label} = 0 and {label} = 1 both update {stage.name}[{element}]"


# ---------------------------------------------------------------- alternatives


def alternatives(schedule: Schedule, primitive: str, args: dict[str, Any]) -> list[Move]:
    """Legal moves near the refused one: the same primitive elsewhere, or the step that makes it possible."""
    state = schedule.state
    stage = state.stages.get(args.get("stage", -1))
    if stage is None:
        return []
    candidates = [m for m in _candidates(state, stage, primitive, args) if not _same(m, primitive, args)]
    return [m for m in candidates if verdict(schedule, m.primitive, m.args, deep=False).kind in (LEGAL, OWES)][:6]


def _same(m: Move, primitive: str, args: dict[str, Any]) -> bool:
    return m.primitive == primitive and all(m.args.get(k) is v for k, v in args.items())


def _candidates(state: State, stage: Stage, primitive: str, args: dict[str, Any]) -> list[Move]:
    axis = next((args[k] for k in ("var", "ivar", "parent") if k in args), None)
    found: list[Move] = []
    if primitive in ("vectorize", "parallel", "unroll"):
        ordered = reversed(stage.leaves) if primitive != "parallel" else stage.leaves
        found = [_on(state, stage, primitive, a) for a in ordered]
        if isinstance(axis, IterVar) and axis.iter_type == REDUCE and axis in stage.leaves:
            tensor = stage.op.outputs[0]
            text = f"s.rfactor({stage.called}, {called(state, axis)})"
            found.append(Move("rfactor", {"tensor": tensor, "axis": axis}, text))
    elif primitive == "split" and isinstance(axis, IterVar):
        found = [_split(state, stage, axis, f) for f in divisors(axis)]
    elif primitive in ("compute_at", "compute_inline"):
        found = _places(state, stage)
    elif primitive == "fuse":
        found = [_together(state, stage, "fuse", a, b) for a, b in zip(stage.leaves, stage.leaves[1:], strict=False)]
    return found


def _on(state: State, stage: Stage, primitive: str, axis: IterVar) -> Move:
    return Move(primitive, {"stage": stage.index, "var": axis}, f"s[{stage.called}].{primitive}({called(state, axis)})")


def _split(state: State, stage: Stage, axis: IterVar, factor: int) -> Move:
    text = f"s[{stage.called}].split({called(state, axis)}, factor={factor})"
    return Move("split", {"stage": stage.index, "parent": axis, "factor": factor}, text)


def _together(state: State, stage: Stage, primitive: str, a: IterVar, b: IterVar) -> Move:
    text = f"s[{stage.called}].{primitive}({called(state, a)}, {called(state, b)})"
    return Move(primitive, {"stage": stage.index, "axes": (a, b)}, text)


def _places(state: State, stage: Stage) -> list[Move]:
    """Loops of the stage's consumers that it could be computed in."""
    found = []
    for reader in state.consumers(stage.op):
        for a in reader.leaves:
            args = {"stage": stage.index, "parent": reader.index, "scope": a}
            text = f"s[{stage.called}].compute_at(s[{reader.called}], {called(state, a)})"
            found.append(Move("compute_at", args, text))
    return found


def divisors(axis: IterVar) -> list[int]:
    """The factors that divide the axis' extent, without 1 and itself, the usual ones first."""
    n = constant(axis.dom.extent) if axis.dom is not None else None
    if n is None:
        return [4, 8, 16, 32]
    found = [d for d in range(2, min(n, 4096)) if n % d == 0]
    return sorted(found, key=lambda d: (d & (d - 1) != 0, abs(d - 32)))


# ---------------------------------------------------------------- moves

ORDER = (
    "split", "tile", "fuse", "reorder", "vectorize", "unroll", "parallel",
    "compute_at", "compute_inline", "compute_root", "cache_read", "cache_write", "rfactor", "set_scope",
    "double_buffer",
)  # fmt: skip


def moves(schedule: Schedule, stage: Stage, axis: IterVar | None) -> Moves:
    """What may be done to a loop (or a stage), in a fixed order, each with its verdict; nothing is left out."""
    if axis is not None and not isinstance(axis, IterVar):
        raise ScheduleTypeError("argument-kind", f"moves: `axis` must be an axis, not {axis!r}")
    offered = _axis_moves(schedule.state, stage, axis) if axis is not None else _stage_moves(schedule.state, stage)
    offered.sort(key=lambda m: ORDER.index(m.primitive))
    return Moves((m, verdict(schedule, m.primitive, m.args)) for m in offered)


def _axis_moves(state: State, stage: Stage, axis: IterVar) -> list[Move]:
    found = [_on(state, stage, p, axis) for p in ("vectorize", "unroll", "parallel")]
    found += [_split(state, stage, axis, f) for f in divisors(axis)[:3] or [2]]
    if axis in stage.leaves:
        at = stage.leaves.index(axis)
        if at + 1 < len(stage.leaves):
            inner = stage.leaves[at + 1]
            found.append(_together(state, stage, "fuse", axis, inner))
            found.append(_together(state, stage, "reorder", inner, axis))
            found.append(_tile(state, stage, axis, inner))
    if axis.iter_type == REDUCE:
        args = {"tensor": stage.op.outputs[0], "axis": axis}
        found.append(Move("rfactor", args, f"s.rfactor({stage.called}, {called(state, axis)})"))
    return found


def _tile(state: State, stage: Stage, x: IterVar, y: IterVar) -> Move:
    factors = [next((f for f in divisors(a) if f <= 32), 2) for a in (x, y)]
    text = f"s[{stage.called}].tile({called(state, x)}, {called(state, y)}, {factors[0]}, {factors[1]})"
    args = {"stage": stage.index, "x_parent": x, "y_parent": y, "x_factor": factors[0], "y_factor": factors[1]}
    return Move("tile", args, text)


def _stage_moves(state: State, stage: Stage) -> list[Move]:
    name = stage.called
    found = [
        Move(p, {"stage": stage.index}, f"s[{name}].{p}()") for p in ("compute_inline", "compute_root", "double_buffer")
    ]
    found += _places(state, stage)
    outputs = list(stage.op.outputs)
    tensor = outputs[0] if len(outputs) == 1 else outputs
    found.append(Move("cache_write", {"tensor": tensor, "scope": "local"}, f's.cache_write({name}, "local")'))
    readers = [s for s in state.consumers(stage.op) if outputs[0] in s.op.inputs]
    args = {"tensor": outputs[0], "scope": "local", "readers": [s.op for s in readers]}
    listed = ", ".join(s.called for s in readers)
    found.append(Move("cache_read", args, f's.cache_read({name}, "local", [{listed}])'))
    if not stage.is_output and not is_input(stage):
        others = [x for x in ("global", "local") if x != (stage.scope or "global")]
        found += [Move("set_scope", {"stage": stage.index, "scope": x}, f's[{name}].set_scope("{x}")') for x in others]
    return found


def ask(schedule: Schedule, primitive: str, args: Sequence[Any], kwargs: dict[str, Any]) -> Verdict:
    """`s.verdict("vectorize", C, k)`: the stage comes first, as a tensor, an operation or a stage."""
    from .handle import StageHandle, takes_stage

    values = list(args)
    if takes_stage(primitive) and values and not isinstance(values[0], StageHandle):
        values[0] = schedule[values[0]]
    return verdict(schedule, primitive, dict(schedule.arguments(primitive, values, kwargs)))
