"""Search strategies, one a file, found by the file's name: each has a class `Search` (see base.py)."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ...core.error import LabError

SHARED_FILES = {"__init__", "base"}


def names() -> list[str]:
    return sorted(p.stem for p in Path(__file__).parent.glob("*.py") if p.stem not in SHARED_FILES)


def usual() -> str:
    """The one that learns, where the package that it needs is installed."""
    return "annealing" if find_spec("lightgbm") is not None else "random"


def get(name: str) -> Any:
    """The class of a strategy."""
    if name not in names():
        raise LabError("unknown-search", f"there is no search {name!r}", legal=names())
    return import_module(f"{__name__}.{name}").Search
