"""Methods of low objects that need a high layer: the high layer puts them in this table, on first use.

    class Tensor(Shown): ...                      low: a notebook asks it what it looks like
    @put("html", Tensor)                          high (`view/rich.py`): this is what
    def tensor(t): return "<b>...</b>"

`later(load)` says what fills the table: `load` runs once, at the first look-up that finds nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

_TABLE: dict[tuple[str, type], Callable[[Any], Any]] = {}
_LATER: list[Callable[[], Any]] = []


def later(load: Callable[[], Any]) -> None:
    """`load()` imports the modules that `put` something."""
    _LATER.append(load)


def put(what: str, kind: type) -> Callable[[F], F]:
    """Enter a function of objects of this class (and of classes derived from it)."""

    def enter(f: F) -> F:
        _TABLE[what, kind] = f
        return f

    return enter


def find(what: str, kind: type) -> Callable[[Any], Any] | None:
    """The function that was put for a class or the nearest class it derives from."""
    while True:
        found = next((_TABLE[what, c] for c in kind.__mro__ if (what, c) in _TABLE), None)
        if found is not None or not _LATER:
            return found
        _LATER.pop(0)()


class Shown:
    """Mixed into what a notebook shows: "html", and "text" where the repr is not what a person wants to read."""

    __slots__ = ()

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        html, text = find("html", type(self)), find("text", type(self))
        bundle = {"text/plain": repr(self) if text is None else text(self)}
        if html is not None:
            bundle["text/html"] = html(self)
        return bundle
