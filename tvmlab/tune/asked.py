"""What is refused before anything is measured: what is no task, and a task that cannot give anything for its target."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core.error import CallError, LabError
from ..expr.tensor import Operation, PlaceholderOp, Tensor
from ..face.api import as_target
from ..face.handle import Schedule
from ..schedule.trace import Trace
from .templates import Template


def need_task(task: Any) -> None:
    """Refused is anything else, with how to make a task of it."""
    if hasattr(task, "instantiate"):
        return
    what, hint = f"{type(task).__name__} {task!r}", "a task is made by tune.create(name, args) or tune.Task.of(...)"
    if isinstance(task, (Tensor, Operation)):
        what, hint = f"the tensor {task.name}", f"make one: tune.Task.of({task.name}, [inputs and outputs])"
    elif isinstance(task, Schedule):
        what, hint = "a schedule", "make one: tune.Task.of(s, args), or tune.Task.opened(s, args, {...})"
    elif isinstance(task, (Template, str)):
        name = task if isinstance(task, str) else task.name
        what, hint = f"the name {name!r}", f"make one: tune.create({name!r}, [its arguments])"
    raise CallError("no-task", f"what is tuned is a task, not {what}", hint=hint)


def need_same_kind(task: Any, target: str) -> None:
    """The space of a CPU's task has no blocks and threads in it, that of a GPU's has nothing else."""
    try:
        of, asked = as_target(task.target), as_target(target)
    except LabError:
        return  # of no target of ours: it is said elsewhere
    if not task.target or "interp" in (of.name, asked.name) or bool(of.kind.threads) == bool(asked.kind.threads):
        return
    kinds = [f"{t.name} (a {'GPU' if t.kind.threads else 'CPU'})" for t in (of, asked)]
    raise CallError(
        "other-kind", f"the space of {task.name} is for {kinds[0]}: no point of it is a schedule for {kinds[1]}",
        hint=f'make the task for it: tune.Task.of(C, [A, B, C], "{asked.name}"), '
        f'or tune.create(name, args, "{asked.name}")',
    )  # fmt: skip


def need_tensors(trace: Trace, args: Sequence[Any]) -> None:
    """Every input and output of the expression has to be among the arguments."""
    given = {a.op for a in args if isinstance(a, Tensor)}
    outputs = set(trace.prefix(0).outputs)
    for stage in trace.prefix(0).state.in_order:
        what = "an input" if isinstance(stage.op, PlaceholderOp) else "an output" if stage.op in outputs else ""
        if what and stage.op not in given:
            raise CallError(
                "no-argument", f"`{stage.name}` is {what} of the expression, but not among the arguments",
                hint=f"add {stage.name} to the list of arguments",
            )  # fmt: skip
