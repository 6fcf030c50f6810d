"""One pass per file: the file `vectorize.py` holds the function `vectorize(program, config) -> program`."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path

from ...core.program import Program
from ..config import Config

Pass = Callable[[Program, Config], Program]


def names() -> tuple[str, ...]:
    return tuple(sorted(p.stem for p in Path(__file__).parent.glob("*.py") if p.stem != "__init__"))


@cache
def get(name: str) -> Pass:
    """The pass of that name; an unknown name answers with those that exist."""
    if name not in names():
        raise KeyError(f"there is no pass `{name}`; the passes are {', '.join(names())}")
    made: Pass = getattr(import_module(f".{name}", __package__), name)
    return made
