"""May this step be taken? Asked without taking it: the step is tried on a copy, and what became of it is looked at.

    judge(trace, "vectorize", {"stage": 2, "var": k})     -> Verdict: x illegal, because ...

Cheap things first: the primitive's own checks, then the loops of the copy, then what `core.verify` proves of them.
What it cannot prove is run, where the program is small. Answers are kept: the same question costs nothing again.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from ..core.deep import deep
from ..core.error import LabError
from ..core.hooks import Shown
from ..core.node import REDUCE, IterVar
from ..core.program import Program
from ..core.text import show_program
from ..core.verify import Clean, Finding, verify
from ..core.walk import constant, same
from ..expr.tensor import among
from ..lowering import pipeline
from ..lowering.config import DEFAULT
from ..lowering.nest import Nest
from ..schedule.guard import extent
from ..schedule.guard import name as called
from ..schedule.scopes import is_virtual
from ..schedule.state import State
from ..schedule.trace import Step, Trace
from . import bounded, exact

LEGAL, ILLEGAL, UNKNOWN, NO_EFFECT, OWES = "legal", "illegal", "unknown", "no effect", "legal with an obligation"
SIGNS = {LEGAL: "+", ILLEGAL: "x", UNKNOWN: "?", NO_EFFECT: "=", OWES: "+"}
REFUSALS = (LabError, ValueError, TypeError, AttributeError)  # how primitives refuse


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
    legal moves instead, each tried. `obligations`: what the schedule would owe that it does not owe now. `warnings`:
    what the step would say, such as a mark that it drops.
    """

    kind: str
    reason: str = ""
    error: LabError | None = None
    clash: str = ""
    alternatives: tuple[Move, ...] = ()
    obligations: tuple[LabError, ...] = ()
    warnings: tuple[str, ...] = ()

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
        lines += [f"  but: {w}" for w in self.warnings]
        if self.alternatives:
            lines.append("  instead: " + ", ".join(m.text for m in self.alternatives))
        return "\n".join(lines)

    __repr__ = __str__


class Moves(list[tuple[Move, Verdict]], Shown):
    """Moves with their verdicts; printed as one line each."""

    def __repr__(self) -> str:
        width = max((len(m.text) for m, _ in self), default=0)
        return "\n".join(f"{SIGNS[v.kind]} {m.text:{width}}  {v.reason or v.kind}" for m, v in self)


# ---------------------------------------------------------------- the question


@deep
def judge(trace: Trace, primitive: str, args: Mapping[str, Any]) -> Verdict:
    """The verdict on one step, without alternatives."""
    frozen = frozen_args(args)
    try:
        return _judged(trace, primitive, frozen)
    except TypeError:  # an argument that cannot be a key: asked anew each time
        return _judged.__wrapped__(trace, primitive, frozen)


@deep
def taken(trace: Trace, primitive: str, args: Mapping[str, Any]) -> Trace:
    """The trace with the step, evaluated; the same one each time. A refused step raises."""
    frozen = frozen_args(args)
    try:
        return _taken(trace, primitive, frozen)[0]
    except TypeError:
        return _taken.__wrapped__(trace, primitive, frozen)[0]


Frozen = tuple[tuple[str, str, Any], ...]  # name, kind, value: `True` is not `1`


def frozen_args(args: Mapping[str, Any]) -> Frozen:
    return tuple((k, type(v).__name__, tuple(v) if isinstance(v, list) else v) for k, v in args.items())


@lru_cache(maxsize=1024)
def _taken(trace: Trace, primitive: str, frozen: Frozen) -> tuple[Trace, tuple[str, ...]]:
    """The trace with the step, and what the step warned of."""
    after = trace + Step(primitive, {k: v for k, _, v in frozen})
    with warnings.catch_warnings(record=True) as said:  # asking is no step: nobody is warned
        warnings.simplefilter("always")
        _ = after.state
    return after, tuple(str(w.message) for w in said)


@lru_cache(maxsize=4096)
def _judged(trace: Trace, primitive: str, frozen: Frozen) -> Verdict:
    args = {k: v for k, _, v in frozen}
    try:
        after, said = _taken(trace, primitive, frozen)
    except REFUSALS as e:
        error = e if isinstance(e, LabError) else None
        return Verdict(ILLEGAL, error.message if error else str(e), error, clashing(trace.state, primitive, args))
    found = change(trace, after)
    if found.kind == NO_EFFECT:
        found = replace(found, reason=idle(trace.state, after.state, primitive, args) or found.reason)
    return replace(found, warnings=(*said, *_too_big(trace.state, primitive, args)))


def _too_big(state: State, primitive: str, args: Mapping[str, Any]) -> tuple[str, ...]:
    """A factor beyond the extent is cut to it, without a word."""
    asked, axis = args.get("factor", args.get("nparts")), args.get("parent")
    if primitive != "split" or not isinstance(asked, int) or not isinstance(axis, IterVar):
        return ()
    often = extent(state, axis)
    if not often.isdigit() or int(often) >= asked:
        return ()
    return (f"{called(state, axis)} runs only {often} times: one part has all of it",)


def change(before: Trace, after: Trace) -> Verdict:
    """What became of the loops between two traces, whatever steps lie between."""
    old = _lowered(before, _marked(before.state))
    try:
        new = _loops(after, _marked(after.state), before)
    except LabError as e:
        return Verdict(ILLEGAL, e.message, e)
    known = {o.message for o in old.owed}
    owed = tuple(o for o in new.owed if o.message not in known)
    if owed:
        return Verdict(OWES, obligations=owed)
    if _look_alike(old.program, new.program):
        return Verdict(NO_EFFECT, "the loops stay as they are")
    return _proved(old, new)


def _look_alike(old: Program | None, new: Program | None) -> bool:
    """Would a person see the same loops? Most programs differ before their text has to be made."""
    if old is None or new is None or not same(old.entry.body, new.entry.body):
        return False
    return show_program(replace(old, notes=())) == show_program(replace(new, notes=()))


def _proved(old: Lowered, new: Lowered) -> Verdict:
    """Does the verifier find something that it did not find before?"""
    said = {f.message for f in old.findings}
    fresh = [f for f in new.findings if f.message not in said]
    wrong = next((f for f in fresh if f.status == "refuted"), None)
    if wrong is not None:
        return Verdict(ILLEGAL, wrong.message, _as_error(wrong))
    if any("[" in _index(f) for f in old.findings):  # the expression's own doubt, not the step's
        fresh = [f for f in fresh if "[" not in _index(f)]
    if fresh and new.program is not None:
        proved = bounded.settled(new.program, [f.message for f in fresh])
        fresh = [f for f in fresh if f.message not in proved]
    if not fresh or new.program is None:
        return Verdict(LEGAL)
    outcome, text = exact.trial(new.program)
    if outcome == exact.CLEAR:
        return Verdict(LEGAL)
    if outcome == exact.CLASH:
        return Verdict(ILLEGAL, text, _as_error(fresh[0]))
    return Verdict(UNKNOWN, f"could not decide: {fresh[0].message}" + (f" {text}" if text else ""), _as_error(fresh[0]))


def _index(f: Finding) -> str:
    """The index that a finding is about: "index 0 of `B` is `I[i]`; ..." -> `I[i]`."""
    return f.message.split("` is `", 1)[-1].split("`", 1)[0] if f.rule == "out-of-bounds" else ""


def _as_error(f: Finding) -> LabError:
    return LabError(f.rule, f.message, where=f.where)


# ---------------------------------------------------------------- the loops of a trace


@dataclass(frozen=True)
class Lowered:
    """`program` is None where the loops could not be made."""

    owed: tuple[LabError, ...]
    findings: tuple[Finding, ...]
    program: Program | None
    nest: Nest | None = None
    clean: Clean = field(default_factory=dict)  # nests of it in which the verifier found nothing


NOTHING = Lowered((), (), None)
REFUSING = replace(DEFAULT, disabled=frozenset({"partition_loops", "promote_registers", "remove_noop"}))  # these cannot


@lru_cache(maxsize=64)
def _lowered(trace: Trace, by_passes: bool) -> Lowered:
    try:
        return _loops(trace, by_passes)
    except LabError as e:
        return Lowered((e,), (), None)


@lru_cache(maxsize=256)
def _loops(trace: Trace, by_passes: bool, before: Trace | None = None) -> Lowered:
    """The loops, what the schedule owes, and what the verifier says of a complete one."""
    found: list[LabError] = []
    old = _lowered(before, _marked(before.state)) if before is not None else NOTHING
    program, nest = pipeline.after(old.nest, trace.state, arguments(trace), problems=found)
    if by_passes:
        pipeline.run(program, pipeline.READABLE, REFUSING, problems=found)
    clean: Clean = {}
    findings = () if found else tuple(verify(program, clean, old.clean))
    return Lowered(tuple(found), findings, program, nest, clean)


def _marked(state: State) -> bool:
    """Is something said of the schedule that a pass may find impossible?"""
    return any(s.double_buffer or s.rolling_buffer or any(map(_of_a_pass, s.marks.values())) for s in state.in_order)


def _of_a_pass(mark: Any) -> bool:
    return bool(mark.prefetches) or (mark.thread is not None and is_virtual(mark.thread.thread_tag))


def arguments(trace: Trace) -> list[Any]:
    """The inputs, the outputs and the scalars of a schedule, in order: what a function of it takes."""
    first = trace.prefix(0).state
    inputs = pipeline.inputs(first)
    outputs = [t for op in trace.outputs for t in op.outputs if not among(t, inputs)]
    return [*inputs, *outputs, *pipeline.scalars(trace.state)]


# ---------------------------------------------------------------- in words


def clashing(state: State, primitive: str, args: Mapping[str, Any]) -> str:
    """Two iterations of a reduction loop that update the same element, for loops whose iterations must not meet."""
    if primitive not in ("vectorize", "parallel", "bind"):
        return ""
    axis, stage = args.get("ivar" if primitive == "bind" else "var"), state.stages.get(args.get("stage", -1))
    if stage is None or not isinstance(axis, IterVar) or axis.iter_type != REDUCE or axis not in stage.leaves:
        return ""
    size = constant(axis.dom.extent) if axis.dom is not None else None
    if size is not None and size < 2:
        return ""
    element = ", ".join(called(state, a) for a in stage.op.axis) or "()"
    label = called(state, axis)
    return f"iterations {label} = 0 and {label} = 1 both update {stage.name}[{element}]"


def idle(before: State, after: State, primitive: str, args: Mapping[str, Any]) -> str:
    """Why a step changes no loop; "" where there is nothing to add."""
    stage = before.stages.get(args.get("stage", -1))
    if stage is None:
        return ""
    axis = next((args[k] for k in ("var", "ivar", "parent") if isinstance(args.get(k), IterVar)), None)
    if axis is not None and extent(before, axis) == "1":
        return f"{called(before, axis)} runs only once"
    kind = stage.mark(axis).kind if axis is not None else ""
    if axis is not None and kind and kind == after.stages[stage.index].mark(axis).kind:
        return f"{called(before, axis)} is {kind} already"
    now = after.stages[stage.index]
    if primitive == "reorder" and stage.leaves == now.leaves:
        return "the loops are in this order already"
    if primitive == "compute_at" and (stage.attach.kind, stage.attach.axis) == ("at", args.get("scope")):
        return f"{stage.name} is computed there already"
    if primitive == "compute_root" and stage.attach.kind == "root":
        return f"{stage.name} is computed at the root already"
    if primitive == "set_scope" and (stage.scope or "global") == args.get("scope"):
        return f"{stage.name} is in {args['scope']} memory already"
    return ""
