"""Schedules under their classic names: `topi.x86.schedule_dense(outs)`."""

from __future__ import annotations

from typing import Any

from .schedules import KERNEL, OWN, find


def __getattr__(name: str) -> Any:
    return OWN[name] if name in OWN else find(__name__, name)


def __dir__() -> list[str]:
    return sorted([*KERNEL, *OWN])
