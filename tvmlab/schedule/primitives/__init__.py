"""One primitive per file: the file `split.py` holds the function `split(state, stage, ...) -> (state, results)`.

The signature is the primitive's interface: it becomes the method on the handle, the menu entry, the form. An argument
annotated `StageIndex` is a stage, `IterVar` an axis, `Tensor` a tensor.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from functools import cache, lru_cache
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any

from ...core.error import MissingName, ScheduleTypeError
from ...expr.tensor import Operation, Tensor

Primitive = Callable[..., tuple[Any, Any]]
StageIndex = int


@lru_cache(maxsize=1)
def names() -> tuple[str, ...]:
    return tuple(sorted(p.stem for p in Path(__file__).parent.glob("*.py") if not p.stem.startswith("_")))


@cache
def get(name: str) -> Primitive:
    """The primitive of that name; an unknown name answers with those that exist."""
    if name not in names():
        close = get_close_matches(name, names(), 3)
        hint = f"did you mean {' or '.join(close)}?" if close else ""
        raise MissingName("unknown-primitive", f"there is no schedule primitive `{name}`", legal=names(), hint=hint)
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
    """Arguments as a step records them: a tensor where a stage is meant is its stage, callables become data."""
    made = dict(args)
    for parameter, kind in kinds(name):
        if parameter in made:
            made[parameter] = _fitting(name, parameter, kind, made[parameter], state)
    module = import_module(f".{name}", __package__)
    prepared: Mapping[str, Any] = module.prepare(state, made) if hasattr(module, "prepare") else made
    return prepared


WORDS = {"StageIndex": "a stage, such as s[C]", "str": "a string"}  # other kinds are for the primitives to check


@cache
def kinds(name: str) -> tuple[tuple[str, str], ...]:
    """The parameters of which the annotation alone says what they must be."""
    found = signature(get(name)).parameters.values()
    return tuple((p.name, str(p.annotation)) for p in found if str(p.annotation) in WORDS)


def _fitting(name: str, parameter: str, kind: str, value: Any, state: Any) -> Any:
    if kind == "StageIndex" and isinstance(value, (Tensor, Operation)):
        return state.stage_of(value).index
    plain = isinstance(value, int) and not isinstance(value, bool) and value in state.stages
    if plain if kind == "StageIndex" else isinstance(value, str):
        return value
    raise ScheduleTypeError("argument-kind", f"{name}: `{parameter}` must be {WORDS[kind]}, not {_shown(value)}")


def _shown(value: Any) -> str:
    """`iter_var(...)` by its name; anything else as Python shows it."""
    name = getattr(value, "name", None)
    return f"`{name}`" if isinstance(name, str) and not isinstance(value, str) else repr(value)


@cache
def parameters(name: str) -> tuple[str, ...]:
    """The names of what a person gives, in order."""
    return tuple(signature(get(name)).parameters)[1:]
