from __future__ import annotations

from dataclasses import replace
from typing import Any

from ...core.error import ScheduleError, ScheduleTypeError
from ...core.node import THREAD, IterVar
from ..guard import kind_of
from ..state import State
from . import StageIndex


def env_threads(state: State, stage: StageIndex, threads: Any) -> tuple[State, None]:
    """Launch threads around a whole scan.

        for t in range(n):           ->     for bx in thread("blockIdx.x", 8):
            <update>                            for t in range(n):
                                                    <update>

    Refused: a stage that is no scan, a second call, something that is no thread axis.
    """
    s = state.stages[stage]
    axes = tuple(threads) if isinstance(threads, (list, tuple)) else (threads,)
    for a in axes:
        if not isinstance(a, IterVar) or a.iter_type != THREAD:
            message = f"env_threads of {s.name}: `{getattr(a, 'name', a)}` is no thread axis"
            raise ScheduleTypeError("not-a-thread", message)
    if s.op.kind != "scan":
        raise ScheduleError("env-threads-scan", f"env_threads launches threads around a scan; {s.name} is {kind_of(s)}")
    if s.env_threads:
        raise ScheduleError("env-threads-twice", f"env_threads of {s.name} was set before")
    return state.with_stage(replace(s, env_threads=axes)), None
