"""`lower` and `build`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from ..core import dtype as dt
from ..core import verify
from ..core.deep import deep
from ..core.error import BuildError, LabError, ScheduleTypeError, TVMError
from ..core.node import Alloc, Buffer
from ..core.program import Function, Program
from ..core.text import show
from ..core.walk import walk
from ..core.warning import warn
from ..expr.tensor import Operation, PlaceholderOp, Tensor
from ..lowering import pipeline
from ..lowering.config import DEFAULT, Config
from ..schedule.state import is_input
from ..target import Target, get, names
from ..target.base import KERNELS
from ..target.clike import CHECKED
from ..target.gpu import divergence, limits
from .handle import Schedule, create_schedule

SIMPLE_LEAVES_OUT = frozenset({"partition_loops", "promote_registers"})


@deep
def lower(
    inp: Schedule | Program,
    args: Sequence[Any] | None = None,
    name: str = "main",
    binds: Mapping[Any, Buffer] | None = None,
    simple_mode: bool = False,
    config: Config | None = None,
    target: Any = None,
) -> Program:
    """The loops of a schedule.

    `args`: tensors, buffers and variables, in the order in which the function takes them. `simple_mode`: loops as a
    person reads them, without the tails cut off and the registers that make them fast. Open obligations are printed as
    comments; `build` refuses them. `target`: whose code generator the loops are for; without one, that of a
    `with Target(...)` block, or of a schedule that is bound to threads a GPU's, of any other a CPU's.
    """
    if isinstance(inp, Program):
        return inp
    if isinstance(inp, Function):
        return Program((inp,))
    need_schedule(inp, "lower")
    if args is None:
        raise ValueError("lower needs the list of arguments of a schedule: lower(s, [A, B, C])")
    chosen = _for_loops(inp, config or current_config(), target or Target.current())
    return _lowered(inp, args, name, binds, simple_mode, chosen, [])


def _for_loops(schedule: Schedule, config: Config, target: Any) -> Config:
    """Without what no generator of that target takes."""
    if target is not None:
        return leaving_out(config, as_target(target))
    bound = any(m.thread is not None for stage in schedule.state.in_order for m in stage.marks.values())
    return replace(config, disabled=config.disabled | KERNELS) if bound else config


def _lowered(
    inp: Schedule, args: Sequence[Any], name: str, binds: Mapping[Any, Buffer] | None, simple_mode: bool,
    chosen: Config, problems: list[LabError],
) -> Program:  # fmt: skip
    """What stands in the way of a build is a note of the program, and is appended to `problems`."""
    need_arguments(args, "lower")
    if simple_mode:
        chosen = replace(chosen, disabled=chosen.disabled | SIMPLE_LEAVES_OUT)
    return pipeline.readable(inp.state, args, name, binds, chosen, problems)


def need_schedule(thing: Any, function: str) -> None:
    """A tensor, an operation or something else where the schedule belongs: say which call is meant."""
    if isinstance(thing, Schedule):
        return
    of = thing.name if isinstance(thing, (Tensor, Operation)) else "C"
    args = "[A, B]" if of == "B" else f"[A, B, {of}]"
    raise ScheduleTypeError(
        "not-a-schedule",
        f"{function} takes a schedule or a lowered program, not {thing!r} ({type(thing).__name__})",
        hint=f"s = te.create_schedule({of}.op), then {function}(s, {args})",
    )


def need_arguments(args: Any, function: str) -> None:
    """The second argument is the list of what the function takes, not a target, a name or one tensor."""
    if isinstance(args, (list, tuple)):
        return
    call = f"build(s, [A, B, C], {args!r})" if isinstance(args, str) and function == "build" else ""
    raise ScheduleTypeError(
        "not-arguments",
        f"{function}: the arguments are a list of tensors, buffers and variables, not {args!r}",
        hint=call or f"{function}(s, [A, B, C])",
    )


_configs: list[Config] = []


def current_config() -> Config:
    """The options in force: those of the innermost PassContext."""
    return _configs[-1] if _configs else DEFAULT


def push_config(config: Config) -> None:
    """Put options in force, until `pop_config`."""
    _configs.append(config)


def pop_config() -> None:
    _configs.pop()


def as_target(target: Any) -> Target:
    """A Target, or its text: `llvm`, `llvm -mcpu=x86-64-v3`, `numba`."""
    if isinstance(target, Target):
        return target
    if hasattr(target, "as_target"):
        made: Target = target.as_target()
        return made
    made = Target(target)
    get(made.name)  # an unknown one is refused by name
    return made


@deep
def build(
    inputs: Any,
    args: Sequence[Any] | None = None,
    target: Any = None,
    target_host: Any = None,
    name: str = "main",
    binds: Mapping[Any, Buffer] | None = None,
    config: Config | None = None,
) -> Any:
    """A module that runs: call it with NumPy arrays or nd.arrays, one per argument, outputs included.

    Indices are looked at on `interp` and in CUDA's simulator. On a device a write just beside an array is found when
    the call is over, one further away is silent: `PassContext(config={"tir.instrument_bound_checkers": True})` around
    the build makes kernels look at every index.
    """
    from ..runtime.module import Module

    if isinstance(inputs, Schedule) and args is None:
        raise ValueError("build needs the list of arguments of a schedule: build(s, [A, B, C])")
    inputs, target = _one(inputs, target)
    if isinstance(inputs, Schedule):
        need_arguments(args, "build")
        refuse_lost(inputs, args or ())
    record = as_target(target or Target.current() or "llvm")
    chosen = leaving_out(config or current_config(), record)
    found: list[LabError] = []
    if isinstance(inputs, Schedule):
        program = _lowered(inputs, args or (), name, binds, False, chosen, found)
    else:
        program = lower(inputs)
    refuse_open(program, found)
    verify.check(program)
    program = for_target(program, record, chosen)
    if not record.triple:
        refuse_huge(program)
    return Module(program.entry, record, record.kind.compile(program, record))


def readable(schedule: Schedule, args: Sequence[Any], name: str, config: Config) -> Program:
    """The loops of a schedule that is complete; any other is refused as `build` refuses it."""
    found: list[LabError] = []
    program = _lowered(schedule, args, name, None, False, config, found)
    refuse_open(program, found)
    verify.check(program)
    return program


def leaving_out(config: Config, target: Target) -> Config:
    """Without the passes that do the target no good."""
    return replace(config, disabled=config.disabled | target.kind.leaves_out)


def for_target(program: Program, target: Target, config: Config = DEFAULT) -> Program:
    """Readable loops as the target's generator takes them; a kernel that its device cannot start or end is refused."""
    made = pipeline.run(program, (*pipeline.FLAT, *target.kind.passes), config)
    if target.device_model:
        verify.check(made)
        limits.check(made, limits.of(target), lambda: _present(target))
        divergence.check(made, target.name)
    return _checked(made, target) if config.bounds else made


def _present(target: Target) -> tuple[str, Mapping[str, Any]] | None:
    """The first device of that target, if it was looked for before: to look takes a second."""
    from ..runtime.gpu import devices

    found = devices.known(target.kind.device)
    return None if found is None else (f"{found.kind}({found.index})", found.facts)


def _checked(program: Program, target: Target) -> Program:
    """With the mark that its kernels look at their indices."""
    if not target.kind.checks:
        legal = ", ".join(n for n in names() if get(n).checks)
        warn(f"code for {target.name} does not check bounds; these targets do: {legal}")
        return program
    entry = replace(program.entry, attrs=(*program.entry.attrs, CHECKED))
    return replace(program, functions=(entry, *program.functions[1:]))


def _one(inputs: Any, target: Any) -> tuple[Any, Any]:
    """The classic {target: module} and [function] of one entry each; a module here has one function."""
    if isinstance(inputs, Mapping) and len(inputs) == 1:
        ((target, inputs),) = inputs.items()
    if isinstance(inputs, (list, tuple)) and len(inputs) == 1:
        inputs = inputs[0]
    if isinstance(inputs, (Mapping, list, tuple)):
        raise BuildError("several-functions", f"build makes a module of one function, not of {len(inputs)}")
    if not isinstance(inputs, (Schedule, Program, Function)):
        need_schedule(inputs, "build")
    return inputs, target


def create_prim_func(ops: Any, index_dtype_override: str | None = None) -> Function:
    """The loops of tensors nobody scheduled, as a function of these tensors: `create_prim_func([A, B, C])`."""
    args = list(ops) if isinstance(ops, (list, tuple)) else [ops]
    read = {t for x in args for t in x.op.inputs}
    outputs = [x.op for x in args if x not in read and not isinstance(x.op, PlaceholderOp)]
    return lower(create_schedule(list(dict.fromkeys(outputs))), args).entry


def refuse_lost(schedule: Schedule, args: Sequence[Any]) -> None:
    """An output that is no argument would be computed, and thrown away."""
    given = {schedule.state.alias.get(a.op) for a in args if isinstance(a, Tensor)}
    for stage in schedule.state.in_order:
        if stage.is_output and stage.index not in given and not is_input(stage):
            raise BuildError(
                "output-not-passed", f"`{stage.name}` is an output of this schedule, but not among the arguments",
                hint=f"add {stage.name} to the list of arguments",
            )  # fmt: skip


def refuse_huge(program: Program) -> None:
    """A temporary that this machine's memory cannot hold is refused before anything runs."""
    for b in (x.buffer for x in walk(program.body) if isinstance(x, Alloc)):
        needed = (b.size or 0) * dt.nbytes(b.dtype) * dt.lanes(b.dtype)
        if needed > memory():
            shape = ", ".join(show(n) for n in b.owner.shape)
            wanted, there = needed / 2**30, memory() / 2**30
            raise BuildError(
                "too-much-memory",
                f"`{b.name}` ({b.dtype}[{shape}]) takes {wanted:.3g} GiB, this machine has {there:.3g}",
                hint=f"compute it in parts: s[{b.name}].compute_at(consumer, axis)",
            )


@cache
def memory() -> int:
    """Bytes of this machine's memory."""
    if not hasattr(os, "sysconf"):
        return 2**63
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


TITLES = {
    "out-of-bounds": "the program reads or writes outside a shape",
    "variable-unbound": "a variable has no value",
}


def refuse_open(program: Program, found: Sequence[LabError] = ()) -> None:
    """Open obligations, and variables that no argument gives, stop a build. `found`: what the notes are of."""
    if program.notes:
        owed = [line for note in program.notes for line in note.splitlines()]
        if found and all(isinstance(e, pipeline.ProgramError) for e in found):
            rules = {e.rule for e in found}
            title = TITLES.get(rules.pop() if len(rules) == 1 else "", "the program is not legal")
            raise BuildError(found[0].rule, title, where=owed)
        raise BuildError("open-obligations", "this schedule is not complete", where=owed)
    missing = pipeline.unbound(program)
    if missing:
        names = ", ".join(f"`{v.name}`" for v in missing)
        raise TVMError(f"{names}: used but not passed in as an argument, nor the extent of an argument's dimension")


__all__ = ["Schedule", "as_target", "build", "create_schedule", "current_config", "lower"]
