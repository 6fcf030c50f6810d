"""The Schedule Lab: `Lab(s, [A, B, C])`, a schedule with its history, its runs and a widget around it."""

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    """`Lab`, when it is asked for: the modules beside it load without it."""
    if name == "Lab":
        return import_module(f"{__name__}.app").Lab
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
