"""Schedules and operators for GPUs under classic names: `topi.cuda.schedule_dense(outs)`, `topi.cuda.dense(A, W)`.

They are for every GPU that there is a target for (`topi.gpu` and `topi.metal` are this module). An operator is the one
in `topi.nn`; a schedule is the kernel's own, or the default one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..target import Target
from . import nn
from .schedules import KERNEL, OWN, find


def __getattr__(name: str) -> Any:
    if name in OWN:
        return _on_a_gpu(OWN[name])
    return getattr(nn, name) if name in dir(nn) else find(__name__, name, _target())


def _on_a_gpu(f: Callable[..., Any]) -> Callable[..., Any]:
    def schedule(*args: Any, **more: Any) -> Any:
        with Target(_target()):
            return f(*args, **more)

    schedule.__name__, schedule.__doc__ = f.__name__, f.__doc__
    return schedule


def _target() -> str:
    """The GPU target in force, without one `cuda`."""
    now = Target.current(allow_none=True)
    return now.name if now is not None and now.kind.model else "cuda"


def __dir__() -> list[str]:
    return sorted([*KERNEL, *OWN])
