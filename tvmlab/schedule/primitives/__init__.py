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
from typing import Any, SupportsIndex

from ...core.error import ScheduleTypeError
from ...core.node import IterVar
from ...expr.tensor import Tensor

CLASSES: dict[str, Any] = {"IterVar": IterVar, "str": str, "int": SupportsIndex, "Tensor": Tensor}
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
    for parameter, kind in kinds(name):
        given = args.get(parameter, ())
        for value in given if parameter == star(name) else (given,) if parameter in args else ():
            if not _fits(kind, value, state):
                raise ScheduleTypeError("argument-kind", f"{name}: `{parameter}` must be {WORDS[kind]}, not {_shown(value)}")
    module = import_module(f".{name}", __package__)
    return module.prepare(state, args) if hasattr(module, "prepare") else args


WORDS = {"StageIndex": "a stage, such as s[C]", "IterVar": "an axis", "str": "a string", "int": "an integer", "Tensor": "a tensor"}


@cache
def kinds(name: str) -> tuple[tuple[str, str], ...]:
    """The parameters of which the annotation says what they must be."""
    found = signature(get(name)).parameters.values()
    return tuple((p.name, str(p.annotation)) for p in found if str(p.annotation) in WORDS)


def _fits(kind: str, value: Any, state: Any) -> bool:
    if kind == "StageIndex":
        return isinstance(value, int) and not isinstance(value, bool) and value in state.stages
    return isinstance(value, CLASSES[kind])


def _shown(value: Any) -> str:
    """`iter_var(...)` by its name; anything else as Python shows it."""
    name = getattr(value, "name", None)
    return f"`{name}`" if isinstance(name, str) and not isinstance(value, str) else repr(value)


@cache
def parameters(name: str) -> tuple[str, ...]:
    """The names of what a person gives, in order."""
    return tuple(signature(get(name)).parameters)[1:]
