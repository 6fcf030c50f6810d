"""Room for deep programs. A chain of a thousand stages is a program nested a thousand deep; Python's stack is not.

    @deep
    def lower(...): ...      runs as usual; where it meets the recursion limit, once more on a thread with a large stack

What is decorated must be pure, since it may run twice. Interrupts reach it on its thread too.
"""

from __future__ import annotations

import contextvars
import ctypes
import functools
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any, ParamSpec, TypeVar

from .error import LabError

P = ParamSpec("P")
R = TypeVar("R")

STACK = 512 << 20  # bytes, reserved but not touched before they are needed
FRAMES = 300_000

_lock = threading.Lock()
_usual = 0  # the recursion limit to return to
_under_way = 0
_workers: set[int] = set()  # threads that have a large stack
waiting: dict[int, FrameType] = {}  # such a thread -> the frame that waits for it


def deep(f: Callable[P, R]) -> Callable[P, R]:
    """`f` that does not mind how deep its argument is nested."""

    @functools.wraps(f)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        if threading.get_ident() in _workers:
            return f(*args, **kwargs)
        try:
            return f(*args, **kwargs)
        except RecursionError:
            pass
        return _with_room(lambda: f(*args, **kwargs))

    return run


def _with_room(f: Callable[[], R]) -> R:
    """The value of `f()`, computed on a thread with a large stack."""
    outcome: list[Any] = []
    done = threading.Event()
    context, here = contextvars.copy_context(), sys._getframe()

    def work() -> None:
        _workers.add(threading.get_ident())
        waiting[threading.get_ident()] = here
        try:
            outcome[:] = [True, context.run(f)]
        except BaseException as e:  # handed to the caller, whatever it is
            outcome[:] = [False, e]
        finally:
            _workers.discard(threading.get_ident())
            del waiting[threading.get_ident()]
            done.set()

    _enter()
    try:
        _finish(_started(work), done)
    finally:
        _leave()
    good, value = outcome
    if good:
        return value  # type: ignore[no-any-return]
    if isinstance(value, RecursionError):
        raise LabError(
            "too-deep", f"this program is nested too deep to be compiled (more than {FRAMES} calls inside each other)",
            hint="give parts of a long expression a te.compute of their own",
        ) from None  # fmt: skip
    raise value


def _started(work: Callable[[], None]) -> threading.Thread:
    thread = threading.Thread(target=work, name="tvmlab-deep", daemon=True)
    with _lock:
        before = threading.stack_size(STACK)
        try:
            thread.start()
        finally:
            threading.stack_size(before)
    return thread


def _finish(thread: threading.Thread, done: threading.Event) -> None:
    """Wait for the thread; an interrupt of the one that waits stops the work."""
    try:
        done.wait()
    except BaseException as e:
        while not done.is_set():
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident or 0), ctypes.py_object(type(e)))
            done.wait(0.1)
        raise


def _enter() -> None:
    global _usual, _under_way
    with _lock:
        if not _under_way:
            _usual = sys.getrecursionlimit()
            sys.setrecursionlimit(max(FRAMES, _usual))
        _under_way += 1


def _leave() -> None:
    global _under_way
    with _lock:
        _under_way -= 1
        if not _under_way:
            sys.setrecursionlimit(_usual)
