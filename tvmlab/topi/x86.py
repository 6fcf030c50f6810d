"""Schedules and operators for CPUs under their classic names: `topi.x86.schedule_dense(outs)`, `topi.x86.dense(A, W)`.

An operator is the one in `topi.nn`: there is one expression for all targets.
"""

from __future__ import annotations

from typing import Any

from . import nn
from .schedules import KERNEL, OWN, find

_OTHER_NAMES = {"dense_nopack": "dense", "dense_pack": "dense"}


def __getattr__(name: str) -> Any:
    if name in OWN:
        return OWN[name]
    operator = _OTHER_NAMES.get(name, name)
    return getattr(nn, operator) if operator in dir(nn) else find(__name__, name)


def __dir__() -> list[str]:
    return sorted([*KERNEL, *OWN, *_OTHER_NAMES])
