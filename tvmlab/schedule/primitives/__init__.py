"""One primitive per file: the file `split.py` holds the function `split(state, stage, ...) -> (state, results)`.

The signature is the primitive's interface: it becomes the method on the handle, the menu entry, the form. An argument
annotated `StageIndex` is a stage, `IterVar` an axis, `Tensor` a tensor.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any

Primitive = Callable[..., tuple[Any, Any]]
StageIndex = int


@lru_cache(maxsize=1)
def names() -> tuple[str, ...]:
    return tuple(sorted(p.stem for p in Path(__file__).parent.glob("*.py") if not p.stem.startswith("_")))


@cache
def get(name: str) -> Primitive:
    """The primitive of that name; an unknown name answers with those that exist."""
    if name not in names():
        raise AttributeError(f"there is no schedule primitive `{name}`; the primitives are {', '.join(names())}")
    made: Primitive = getattr(import_module(f".{name}", __package__), name)
    return made


@cache
def star(name: str) -> str:
    """The parameter that takes any number of arguments (`*axes` of reorder), or ""."""
    kinds = signature(get(name)).parameters.values()
    return next((p.name for p in kinds if p.kind == p.VAR_POSITIONAL), "")


def call(name: str, state: Any, args: Mapping[str, Any]) -> tuple[Any, Any]:
    """Apply a primitive to recorded arguments."""
    many = star(name)
    if many not in args:
        return get(name)(state, **args)
    first = [v for k, v in args.items() if k != many]
    return get(name)(state, *first, *args[many])


def prepare(name: str, state: Any, args: Mapping[str, Any]) -> Mapping[str, Any]:
    """Arguments as a step records them: a primitive's file may turn callables into data."""
    get(name)
    module = import_module(f".{name}", __package__)
    return module.prepare(state, args) if hasattr(module, "prepare") else args


@cache
def parameters(name: str) -> tuple[str, ...]:
    """The names of what a person gives, in order."""
    return tuple(signature(get(name)).parameters)[1:]
