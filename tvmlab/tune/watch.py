"""Looking at a session: the pictures of a result, and one output that follows a session while it runs.

The pictures are drawn by a higher layer (`tvmlab.view.tuned`), which is found in the table of hooks.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from ..core import hooks

SLOW = 0.5  # seconds between two progress lines in a terminal
SELDOM = 10.0  # and elsewhere, as in a file


_aloud: ContextVar[bool] = ContextVar("aloud", default=False)


@contextmanager
def aloud(wanted: bool) -> Iterator[None]:
    """Is a person told inside the block what is being waited for?"""
    before = _aloud.set(wanted)
    try:
        yield
    finally:
        _aloud.reset(before)


def tell(text: str) -> None:
    """Say that in a line, if a person is to be told."""
    if _aloud.get():
        print(text, file=sys.stderr, flush=True)


class Drawn:
    """Mixed into Result. Each gives a plotly Figure: `pip install plotly`."""

    def plot(self) -> Any:
        """The best so far and every trial, in the order of measuring; failures as crosses with their reasons."""
        return _view("plot", self)()

    def landscape(self, x: str | None = None, y: str | None = None) -> Any:
        """The best time at each pair of values of two knobs; unless given, the two that explain most."""
        return _view("landscape", self)(x, y)

    def parallel(self) -> Any:
        """Parallel coordinates: a line for each trial, through its value of each knob."""
        return _view("parallel", self)()

    def importance(self) -> Any:
        """The share of the variance of log time that each knob alone explains (`insight.importance`)."""
        return _view("importance", self)()

    def predictions(self) -> Any:
        """What the search's model predicted against what was measured, and how well the order agreed over time."""
        return _view("predictions", self)()


class Watched(hooks.Shown):
    """Mixed into Session."""

    _followers: tuple[Any, ...] = ()

    def show(self) -> None:
        """One output that follows the session from now on: in a notebook the plots, elsewhere a line of progress."""
        follower = _follower(self)
        follower.begin()
        self._followers = (*self._followers, follower)

    def settle(self) -> None:
        """It has ended: wait until that has been shown."""
        for f in self._followers:
            if f.thread is not threading.current_thread():
                f.end()


def as_program(schedule: Any, args: Any) -> str:
    """A schedule as a program that runs by itself, and `args`, the tensors of a function."""
    text: str = _view("program", schedule)(args)
    return text


@contextmanager
def watched(session: Any, show: bool | None) -> Iterator[None]:
    """Follow a session inside the block. `show`: None is yes; elsewhere than in notebooks and terminals it is quiet
    of what takes less than `SELDOM`.
    """
    if show is False:
        yield
        return
    follower = _follower(session, quiet=show is None and not sys.stderr.isatty())
    follower.begin()
    try:
        yield
    finally:
        follower.end()


def in_notebook() -> bool:
    """Does a Jupyter kernel run this?"""
    module = sys.modules.get("IPython")
    shell = module.get_ipython() if module is not None else None
    return getattr(shell, "kernel", None) is not None


def _follower(session: Any, quiet: bool = False) -> Any:
    return _view("live", session) if in_notebook() else Line(session, quiet)


def _view(what: str, of: Any) -> Any:
    made = hooks.find(what, type(of))
    assert made is not None, "tvmlab/__init__.py says where the pictures are"
    return made(of)


def ended(session: Any, seconds: float) -> bool:
    """Wait so long at most; what was wrong with the session is for those who wait for it."""
    try:
        return bool(session.wait(seconds))
    except Exception:
        return True


class Line:
    """The progress on the last line of a terminal, written over again and again; elsewhere a line now and then.

    `quiet`: elsewhere nothing of a session that is soon over.
    """

    def __init__(self, session: Any, quiet: bool = False) -> None:
        self.session, self.quiet = session, quiet
        self.thread = threading.Thread(target=self._follow, name="tvmlab progress", daemon=True)

    def begin(self) -> None:
        self.thread.start()

    def end(self) -> None:
        self.thread.join(SLOW)

    def _follow(self) -> None:
        terminal = sys.stderr.isatty()
        again, end = ("\r\x1b[K", "") if terminal else ("", "\n")
        while not ended(self.session, SLOW if terminal else SELDOM):
            self.quiet = False
            print(f"{again}{self.session.progress}", end=end, file=sys.stderr, flush=True)
        if not self.quiet:
            print(f"{again}{self.session.progress}", file=sys.stderr, flush=True)
