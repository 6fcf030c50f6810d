from __future__ import annotations

from typing import Any

from ...core.error import ScheduleError
from ...core.node import Load
from ...expr.tensor import ComputeOp, Tensor, among, axis_of
from ..scopes import known, rank
from ..state import Stage, State
from ._stages import insert_after, unique_name


def cache_read(state: State, tensor: Tensor, scope: str, readers: Any) -> tuple[State, Tensor]:
    """The readers read a copy of the tensor, in memory `scope`; returns the copy.

                                            for i: A_shared[i] = A[i]
        for i: C[i] = f(A[i])        ->     for i: C[i] = f(A_shared[i])

    The copy is a new stage right after the producer; attach it where it should be fetched. Refused: a reader that
    does not read the tensor, a scan that the tensor updates, a scope that does not exist.
    """
    source = state.stage_of(tensor)
    current = source.op.output(tensor.value_index)
    indices = _readers(state, source, current, readers)
    if rank(scope) is None:
        raise ScheduleError("unknown-scope", f"there is no storage scope `{scope}`", legal=known())
    base = current.op.name if current.op.num_outputs == 1 else f"{current.op.name}.v{tensor.value_index}"
    axes = [axis_of(e, f"ax{k}") for k, e in enumerate(current.shape)]
    body = Load(current, tuple(a.var for a in axes), current.dtype)
    op = ComputeOp(unique_name(state, f"{base}.{scope}"), axes, [body])
    state = insert_after(state, source.index, op, scope)
    made = op.output(0)
    return state.replace_tensors({current: made}, indices), made


def _readers(state: State, source: Stage, tensor: Tensor, readers: Any) -> list[int]:
    things = readers if isinstance(readers, (list, tuple)) else [readers]
    if not things:
        raise ScheduleError("no-readers", f"cache_read of {source.name}: the list of readers is empty")
    found = []
    for thing in things:
        reader = state.stage_of(thing)
        if not among(tensor, reader.op.inputs):
            legal = [s.name for s in state.consumers(source.op)]
            raise ScheduleError(
                "not-a-reader",
                f"cannot cache {source.name} for {reader.name}: {reader.name} does not read it",
                legal=legal,
                hint="cache before other steps rename the readers" if not legal else "",
            )
        if tensor in getattr(reader.op, "updates", ()):
            raise ScheduleError(
                "scan-update",
                f"cannot cache {source.name} for {reader.name}: {reader.name} runs it in its own loop, into its own "
                "memory",
                legal=[s.name for s in state.consumers(source.op) if s is not reader],
            )
        found.append(reader.index)
    return found
