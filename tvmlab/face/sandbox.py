"""Trying code without consequences: inside `trying()` only schedules that were made inside can be changed.

For code that is evaluated while it is being typed: whatever it calls, a schedule of the notebook stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from ..core.error import ScheduleError

P = ParamSpec("P")
R = TypeVar("R")

_TRIAL: ContextVar[object | None] = ContextVar("tvmlab_trial", default=None)


@contextmanager
def trying() -> Iterator[None]:
    token = _TRIAL.set(object())
    try:
        yield
    finally:
        _TRIAL.reset(token)


def current() -> object | None:
    """The trial that is on; None outside."""
    return _TRIAL.get()


def need_changeable(trial: object | None) -> None:
    """`trial`: the one in which a schedule was made. In another, it must not be changed."""
    now = _TRIAL.get()
    if now is not None and trial is not now:
        raise ScheduleError(
            "only-trying",
            "this schedule belongs to the notebook: it is not changed while code is only being tried",
            hint="run the cell",
        )


def changes(method: Callable[P, R]) -> Callable[P, R]:
    """A method of what has a `schedule`, which it changes."""

    @wraps(method)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        of: Any = args[0]
        need_changeable(of.schedule.trial)
        return method(*args, **kwargs)

    return checked
