"""Templates: functions that make a schedule of what `get_config()` gives them, found by name.

    @tune.template("matmul")
    def matmul(n, m, l):
        ...                                              # declare the computation, s = te.create_schedule(C.op)
        cfg = tune.get_config()
        cfg.define_split("tile_y", y, num_outputs=2)
        yo, yi = cfg["tile_y"].apply(s, C, y)
        return s, [A, B, C]

(The decorator is `tune.template`; no module may bear its name.)
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable
from difflib import get_close_matches
from functools import update_wrapper
from typing import Any

from ..core.error import LabError, ScheduleValueError
from ..target.base import Target
from .dispatch import ApplyConfig, current
from .workload import workload_of


class MissingTemplate(LabError):
    """A template that nobody has written. (A RuntimeError.)"""


class Template:
    """A function that makes (schedule, [tensors]) of plain arguments; called, it takes the configuration in force."""

    def __init__(self, name: str, function: Callable[..., Any]) -> None:
        self.name, self.function = name, function
        self.code_hash = _hash(function)
        update_wrapper(self, function)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        assert not kwargs, f"the template {self.name} takes positional arguments only, not {', '.join(kwargs)}="
        config = current().query(Target.current(), workload_of(self.name, args))
        with ApplyConfig(config):
            return self.function(*args)

    def __repr__(self) -> str:
        return f"template({self.name})"


class MissingTask:
    """Stands for a template that is not there: says so when it is called."""

    code_hash = None

    def __init__(self, name: str) -> None:
        self.name, self.function = name, self

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        close = get_close_matches(self.name, list(TEMPLATES), 4)
        raise MissingTemplate(
            "unknown-template",
            f"there is no template {self.name!r}",
            legal=close or sorted(TEMPLATES),
            hint="templates are found once the module that defines them is imported",
        )


TEMPLATES: dict[str, Template] = {}
GALLERY = "kernels."  # such names are found without an import, in other processes too


def template(task_name: Any = None, func: Callable[..., Any] | None = None) -> Any:
    """A decorator: `@template("name")`, or bare, `@template`, by the function's own name.

    Refused (ValueError): another function under a name that is taken. Running the cell that defined it again is not
    that.
    """
    if callable(task_name):
        return _registered(task_name.__name__, task_name)
    if func is not None:
        return _registered(task_name, func)
    return lambda f: _registered(task_name or f.__name__, f)


def lookup(name: str) -> Template | MissingTask:
    """The template of that name, or a stand-in that refuses to be called. `kernels.<operator>`: the gallery's."""
    if name not in TEMPLATES and name.startswith(GALLERY):
        from .. import kernels

        operator = name.removeprefix(GALLERY)
        if operator in kernels.names():
            kernels.get(operator)
    return TEMPLATES.get(name) or MissingTask(name)


def _registered(name: str, function: Callable[..., Any]) -> Template:
    known = TEMPLATES.get(name)
    if known is not None and not _again(known.function, function):
        raise ScheduleValueError(
            "template-taken", f"there is a template {name!r} already, {known.function.__qualname__} in "
            f"{known.function.__module__}", hint="give this one another name: @template(\"name\")",
        )  # fmt: skip
    TEMPLATES[name] = Template(name, function)
    return TEMPLATES[name]


def _again(old: Any, new: Any) -> bool:
    """Was the same definition run once more, by reloading its file or running its cell?"""
    if (old.__module__, old.__qualname__) != (new.__module__, new.__qualname__):
        return False
    a, b = old.__code__, new.__code__
    cells = all("ipykernel" in c.co_filename or c.co_filename.startswith("<") for c in (a, b))
    return cells or (a.co_filename, a.co_firstlineno) == (b.co_filename, b.co_firstlineno)


def _hash(function: Callable[..., Any]) -> str | None:
    """Of the template's text: records of another version of it can be told."""
    try:
        return hashlib.sha256(inspect.getsource(function).encode()).hexdigest()[:16]
    except (OSError, TypeError):
        return None
