"""The classic names of the table of packed functions."""

from __future__ import annotations

from typing import Any

from ..core import packed
from ..core.packed import Packed
from .array import packed_argument

packed.wrap_arguments(packed_argument)


def register_func(func_name: str | Packed, f: Packed | None = None, override: bool = False) -> Any:
    """Let programs call a function by name: `@register_func`, `@register_func("name")`, `register_func("name", f)`."""
    if callable(func_name):
        return packed.register(func_name.__name__, func_name, override)
    if f is not None:
        return packed.register(func_name, f, override)
    name = func_name
    return lambda made: packed.register(name, made, override)


def get_global_func(name: str, allow_missing: bool = False) -> Packed | None:
    """The function registered under `name`; with `allow_missing`, None where there is none."""
    if allow_missing and name not in packed.names():
        return None
    return packed.get(name)


def list_global_func_names() -> list[str]:
    return list(packed.names())


def remove_global_func(name: str) -> None:
    packed.remove(name)
