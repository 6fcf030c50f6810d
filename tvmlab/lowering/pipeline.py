"""The pipeline, in order: state -> loops -> better loops -> flat loops. One screen."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..core import verify
from ..core.error import LabError, ScheduleError, TVMError
from ..core.node import Buffer, Expr, Var
from ..core.program import Function, Program, Snapshot
from ..core.text import identifier
from ..core.walk import free_variables, variables
from ..expr.reduce import REDUCE_VARS
from ..expr.tensor import ComputeOp, PlaceholderOp, Tensor, among
from ..schedule.state import Split, Stage, State, is_input
from . import kept, passes, repeated
from .bounds import Bounds
from .config import DEFAULT, Config
from .nest import Nest
from .normalise import normalise
from .obligations import of_bounds

CHECK = os.environ.get("TVMLAB_CHECK") == "1"  # verify after every pass: on in the tests, off in a live lab
# What `lower` shows: loops a person reads. Each is the name of a file in passes/.
READABLE = (
    "rolling_buffer",
    "inject_prefetch",
    "simplify",
    "hoist_guards",
    "partition_loops",
    "simplify",
    "unroll_loops",
    "vectorize",
    "virtual_threads",
    "double_buffer",
    "promote_registers",
    "remove_noop",
    "sync_threads",
)
# What a code generator of flat memory needs after that.
FLAT = ("flatten_storage", "reuse_storage")
# Passes of one's own (`tir.add_lower_pass`): phase -> the pass they run before; phase 3 after the last readable one.
# What a pass refuses, and the obligation that has said so already.
SAID = {"vectorize-extent": "vector-extent"}
CUSTOM = {"simplify": 0, "partition_loops": 1, "vectorize": 2}


def loops(
    state: State,
    args: Sequence[Any],
    name: str = "main",
    binds: Mapping[Any, Buffer] | None = None,
    config: Config = DEFAULT,
    problems: list[LabError] | None = None,
) -> Program:
    """The loop nest of a state, before any pass: multi-dimensional, with guards, marks as loop kinds.

    What the schedule owes becomes notes of the program, and is appended to `problems`.
    """
    return after(None, state, args, name, binds, config, problems)[0]


def after(
    old: Nest | None,
    state: State,
    args: Sequence[Any],
    name: str = "main",
    binds: Mapping[Any, Buffer] | None = None,
    config: Config = DEFAULT,
    problems: list[LabError] | None = None,
) -> tuple[Program, Nest]:
    """`loops` of a state that differs little from the one `old` is of, and the nest for those that come after it."""
    ready = normalise(state)
    bounds = Bounds(ready, old.bounds if old else None)
    params, buffers = parameters(state, args, binds or {}, old.buffers if old else {})
    nest = Nest(ready, bounds, buffers, config.keep_unit_loops, old)
    body = nest.build()
    owed = {str(o): o for o in (*of_bounds(bounds), *nest.problems)}
    if problems is not None:
        problems += owed.values()
    notes = tuple(owed)
    sizes = tuple(v for v in _shape_variables(params) if v not in params)
    inputs = tuple(i for i, a in enumerate(args) if isinstance(a, Tensor) and isinstance(a.op, PlaceholderOp))
    remarks = ready.remarks if notes else (*ready.remarks, *repeated.remarks(bounds))
    return Program((Function(name, params, body, sizes, (("inputs", inputs),)),), notes, remarks), nest


def parameters(
    state: State, args: Sequence[Any], binds: Mapping[Any, Buffer], old: Mapping[Any, Buffer]
) -> tuple[tuple[Any, ...], dict[Any, Buffer]]:
    """The function's parameters, and the buffer of each tensor among them; one of `old` where it is the same."""
    params: list[Buffer | Var] = []
    buffers: dict[Any, Buffer] = {}
    if not isinstance(args, (list, tuple)):
        raise TypeError(f"the arguments are a list of tensors, buffers and variables, not {args!r}")
    for position, a in enumerate(args):
        if any(a is b for b in args[:position]):
            first = [b is a for b in args].index(True)
            message = f"`{getattr(a, 'name', a)}` is passed twice: arguments {first} and {position}"
            raise LabError("argument-twice", message, hint="each array is one argument")
        if isinstance(a, Tensor) and isinstance(a.op, PlaceholderOp) and a.op not in state.alias:
            params.append(binds.get(a) or Buffer(identifier(a.name), a.shape, a.dtype))  # nobody reads it
        elif isinstance(a, Tensor):
            current = state.stage_of(a).op.outputs[a.value_index]
            stage = state.stage_of(a)
            shape = current.shape
            if stage.layout is not None:
                shape = stage.layout.shape(shape)
            buffer = binds.get(a) or kept.buffer(old.get(current), Buffer(identifier(a.name), tuple(shape), a.dtype))
            buffers[current] = buffer
            params.append(buffer)
        elif isinstance(a, (Buffer, Var)):
            params.append(a)
        else:
            kind = type(a).__name__
            raise TVMError(f"argument {position} must be a tensor, a buffer or a variable, not {a!r} ({kind})")
    return tuple(params), buffers


def _shape_variables(params: Sequence[Any]) -> list[Var]:
    found: dict[Var, None] = {}
    for p in params:
        if isinstance(p, Buffer):
            for e in (*p.shape, *(p.strides or ()), *((p.offset,) if isinstance(p.offset, Expr) else ())):
                found.update(dict.fromkeys(variables(e)))
    return list(found)


def readable(
    state: State,
    args: Sequence[Any],
    name: str = "main",
    binds: Mapping[Any, Buffer] | None = None,
    config: Config = DEFAULT,
    problems: list[LabError] | None = None,
) -> Program:
    """The loops that `lower` shows. Whatever stands in the way of a build is a note, and is appended to `problems`."""
    found: list[LabError] = [] if problems is None else problems
    program = loops(state, args, name, binds, config, found)
    if not program.notes:
        refuted = [f for f in verify.verify(program) if f.status == "refuted"]
        free = {v.name: v for v in unbound(program)}
        found += [_refused(f, free) for f in refuted]
        program = replace(program, notes=tuple(map(str, found)))
    return run(program, READABLE, config, found)


class ProgramError(ScheduleError):
    """The program itself is not legal, however it is scheduled."""


def _refused(finding: verify.Finding, free: Mapping[str, Var]) -> ProgramError:
    """What the verifier found, with what to do about a variable without value."""
    message, hint = finding.message, ""
    v = next((v for name, v in free.items() if finding.message.startswith(f"`{name}` is used, but")), None)
    if v is not None and v in REDUCE_VARS:
        message = f"`{v.name}` is a reduce axis, but nothing is folded over it"
        hint = f"wrap the expression in te.sum(..., axis={v.name})"
    elif v is not None:
        hint = f"add {v.name} to the arguments"
    return ProgramError(finding.rule, message, where=finding.where, hint=hint)


def problems(state: State, args: Sequence[Any] | None = None) -> list[LabError]:
    """Everything a build would refuse: open obligations, accesses outside a shape, marks that passes cannot follow."""
    found: list[LabError] = []
    readable(state, default_arguments(state) if args is None else args, problems=found)
    return found


def default_arguments(state: State) -> list[Any]:
    """The inputs, the outputs, then the scalars."""
    given = inputs(state)
    outputs = [t for s in state.in_order if s.is_output for t in s.op.outputs if not among(t, given)]
    return [*given, *outputs, *scalars(state)]


def inputs(state: State) -> list[Tensor]:
    """The tensors that nothing computes, in order; those that stand for the states of a scan are none."""
    states = {t for s in state.in_order for t in getattr(s.op, "state_placeholder", ())}
    return [t for s in state.in_order if is_input(s) for t in s.op.outputs if t not in states]


def scalars(state: State) -> list[Var]:
    """Variables of expressions, predicates and factors that are no axis, and no extent of an argument."""
    ends = (t for s in state.in_order if is_input(s) or s.is_output for t in s.op.outputs)
    bound = {v for t in ends for e in t.shape for v in variables(e)} | {a.var for a in state.refs}
    bound |= {m.thread.var for s in state.in_order for m in s.marks.values() if m.thread is not None}
    used = (v for s in state.in_order for e in _expressions(s) for v in variables(e))
    return list(dict.fromkeys(v for v in used if v not in bound))


def _expressions(s: Stage) -> Iterator[Expr]:
    """What scalars may occur in."""
    if isinstance(s.op, ComputeOp):
        yield from s.op.body
    if s.predicate is not None:
        yield s.predicate
    yield from (e for r in s.relations if isinstance(r, Split) for e in (r.factor, r.nparts) if e is not None)


def run(
    program: Program, names: Sequence[str], config: Config = DEFAULT, problems: list[LabError] | None = None
) -> Program:
    """The passes of these names, in order; with `config.snapshots` the program after each is kept.

    A pass that cannot do what a mark asks raises; with `problems` it is left out, and its error a note and appended.
    """
    kept: list[Snapshot] = list(program.snapshots)
    for position, name in enumerate(names):
        if name not in names[:position]:
            program = _custom(program, config, CUSTOM.get(name))
        if name in config.disabled:
            continue
        start = time.perf_counter()
        try:
            program = passes.get(name)(program, config)
        except LabError as e:
            if problems is None:
                raise
            if not any(p.rule == SAID.get(e.rule, e.rule) for p in problems):
                problems.append(e)
                program = replace(program, notes=(*program.notes, str(e)))
        if (config.check or CHECK) and not program.notes:
            verify.check(program)
        if config.snapshots:
            kept.append(Snapshot(name, replace(program, snapshots=()), (time.perf_counter() - start) * 1e3))
    if tuple(names) == READABLE:
        program = _custom(program, config, 3)
    return replace(program, snapshots=tuple(kept)) if config.snapshots else program


def _custom(program: Program, config: Config, phase: int | None) -> Program:
    for wanted, f in config.custom:
        if wanted == phase:
            program = f(program)
    return program


def unbound(program: Program) -> list[Var]:
    """Variables that the program uses but that no argument gives."""
    fn = program.entry
    given = {*(p for p in fn.params if isinstance(p, Var)), *fn.sizes, *(b.data for b in fn.buffers)}
    return [v for v in free_variables(fn.body) if v not in given and v.dtype != "handle"]
