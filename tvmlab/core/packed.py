"""Packed functions: Python functions that programs call by name (`te.extern` with `call_packed`, tensor intrinsics).

    register("my.addone", lambda x, y: ...)      a program that says  packed("my.addone", A, B)  runs it

Arguments are NumPy arrays for buffers and numbers for the rest. `wrap` is what makes such an array out of a bare one:
the runtime puts its own there, so that classic functions find `asnumpy` and `copyto` on what they get.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .error import LabError, TVMError

Packed = Callable[..., Any]

_TABLE: dict[str, Packed] = {}
_WRAP: list[Callable[[Any], Any]] = [lambda argument: argument]


class MissingPacked(LabError, ValueError):
    """A name under which no function is registered."""


def register(name: str, f: Packed, override: bool = False) -> Packed:
    """Put `f` in the table. A name is taken once, unless `override`, or a cell that defines the function runs again."""
    old = _TABLE.get(name)
    if old is not None and not override and _identity(old) != _identity(f):
        raise TVMError(f"global function `{name}` is already registered; override=True replaces it")
    _TABLE[name] = f
    return f


def _identity(f: Packed) -> tuple[Any, Any]:
    """Where a function was written; objects without a name, and lambdas, are only themselves."""
    name = getattr(f, "__qualname__", "<lambda>")
    return (id(f), None) if "<lambda>" in name else (getattr(f, "__module__", None), name)


def get(name: str) -> Packed:
    """The function of that name; an unknown one answers with those that exist."""
    if name not in _TABLE:
        raise MissingPacked(
            "unknown-packed", f"cannot find global function `{name}`", legal=names(),
            hint="to add one:  @tvmlab.register_func(name)",
        )  # fmt: skip
    return _TABLE[name]


def call(name: str, args: Sequence[Any]) -> Any:
    """Run the function as a program does: what it returns, None for nothing."""
    return get(name)(*map(_WRAP[0], args))


def remove(name: str) -> None:
    """Take the function out of the table."""
    get(name)
    del _TABLE[name]


def names() -> tuple[str, ...]:
    return tuple(sorted(_TABLE))


def wrap_arguments(wrap: Callable[[Any], Any]) -> None:
    """Let `call` pass each argument through `wrap`."""
    _WRAP[0] = wrap
