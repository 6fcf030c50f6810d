"""Whose turn it is to be timed: two things at once would disturb each other's times.

A tuning session of this kernel rests while a run of any lab is on, and only one lab tunes at a time.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..core.error import LabError

_lock = threading.RLock()
_runs = 0
_tuner: weakref.ref[Any] | None = None


def tuner() -> Any:
    """Who tunes at the moment, or None."""
    return _tuner() if _tuner is not None else None


@contextmanager
def run() -> Iterator[None]:
    """A run is on inside: whoever tunes has come to rest when it begins."""
    global _runs
    with _lock:
        _runs += 1
        if (resting := tuner()) is not None:
            resting.rest()
    try:
        yield
    finally:
        with _lock:
            _runs -= 1
            if not _runs and (resting := tuner()) is not None:
                resting.go_on()


def begin(me: Any) -> None:
    """`me` tunes from now on: it has `rest` and `go_on`, and `name`. Refused while another does."""
    global _tuner
    with _lock:
        other = tuner()
        if other is not None and other is not me:
            raise LabError(
                "another-tunes", f"{other.name} is being tuned: two sessions would disturb each other's times",
                hint="stop the other one first",
            )  # fmt: skip
        _tuner = weakref.ref(me)
        if _runs:
            me.rest()


def end(me: Any) -> None:
    global _tuner
    with _lock:
        if tuner() is me:
            _tuner = None


def busy() -> bool:
    """Is anything timed, or tuned?"""
    return bool(_runs) or tuner() is not None
