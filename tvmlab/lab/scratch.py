"""Running text that is only being typed: in a namespace of its own, for a short time, without a trace left behind.

What is protected: the notebook's variables (assignments go to a copy), its schedules with their histories, its lists,
dicts and sets that the text names (copied first, up to 10,000 elements), its labs (not to be had), its files,
processes and connections (refused), its output (thrown away). What is not: the insides of other objects, such as arrays
and instances of your classes, and what functions of the notebook do to such objects and to lists and dicts; a module
that is imported stays imported.
"""

from __future__ import annotations

import contextlib
import ctypes
import io
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from functools import cache
from typing import Any, TypeVar

from ..core.error import LabError
from ..face.document import Document
from ..face.group import GroupHandle
from ..face.handle import Schedule, StageHandle
from ..face.sandbox import trying

R = TypeVar("R")
TYPED, EXPRESSION = "<typed>", "<expression>"  # the file names of such texts: of a cell, of the drawer
MOST = 10_000  # things that are copied
AGAIN = 0.05  # seconds until a text that caught its end is ended again

_on: ContextVar[bool] = ContextVar("tvmlab_scratch", default=False)


@contextlib.contextmanager
def scratch(namespace: Mapping[str, Any], used: set[str]) -> Iterator[dict[str, Any]]:
    """Inside, what was typed may run. Gives its namespace; `used`: the names that occur in it."""
    _install()
    token = _on.set(True)
    try:
        with trying(), _silence(), _alone(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield copied(namespace, used)
    finally:
        _on.reset(token)


# ---------------------------------------------------------------- the namespace


def copied(namespace: Mapping[str, Any], used: set[str]) -> dict[str, Any]:
    """The namespace with what could be changed through it replaced by copies."""
    memo: dict[int, Any] = {}
    made = {n: _copy(v, memo, n) if n in used or isinstance(v, ALWAYS) else v for n, v in namespace.items()}
    made |= {n: _NotNow(n) for n in NOT_NOW}
    return {**made, "display": lambda *args, **kwargs: None, "__name__": "__main__"}


NOT_NOW = ("input", "exit", "quit", "breakpoint", "get_ipython")
ALWAYS = (Schedule, StageHandle, GroupHandle, Document)


def _copy(value: Any, memo: dict[int, Any], name: str) -> Any:
    if id(value) not in memo:
        memo[id(value)] = _copy_of(value, memo, name)
    return memo[id(value)]


def _copy_of(value: Any, memo: dict[int, Any], name: str) -> Any:
    if isinstance(value, Schedule):
        return forked(value)
    if isinstance(value, (StageHandle, GroupHandle)):
        made = object.__new__(type(value))  # of a stage that is gone too, which says so when it is used
        made.__dict__.update(value.__dict__, schedule=_copy(value.schedule, memo, name))
        return made
    if isinstance(value, Document):
        return _copy(value.schedule, memo, name).history
    if type(value) in CONTAINERS and len(value) + len(memo) <= MOST:
        return _copy_in(value, memo, name)
    if type(value).__module__.startswith("tvmlab.lab"):
        return _NotNow(name)
    return value


CONTAINERS = (list, tuple, set, frozenset, dict)


def _copy_in(value: Any, memo: dict[int, Any], name: str) -> Any:
    """A container with copies in it; one that contains itself contains itself again."""
    if type(value) is list:
        listed: list[Any] = []
        memo[id(value)] = listed
        listed.extend(_copy(x, memo, name) for x in value)
        return listed
    if type(value) is dict:
        keyed: dict[Any, Any] = {}
        memo[id(value)] = keyed
        keyed.update((k, _copy(v, memo, name)) for k, v in value.items())
        return keyed
    return type(value)(_copy(x, memo, name) for x in value)


def forked(s: Schedule) -> Schedule:
    """The schedule, to go its own way, with its history."""
    made = Schedule(s.trace, list(s._family))
    if s.document is not None:
        made.document = s.document.copy(made)
    return made


class _NotNow:
    """What cannot be had while typing."""

    def __init__(self, name: str) -> None:
        self._name = name

    def _refuse(self) -> Any:
        raise LabError("only-trying", f"`{self._name}` is not used while you type", hint="run the cell")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self._refuse()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self._refuse()


# ---------------------------------------------------------------- files, processes, connections

WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
REFUSED = {
    *(f"os.{n}" for n in """remove rename rmdir mkdir truncate link symlink chmod chown utime putenv unsetenv chdir kill
        killpg fork forkpty exec posix_spawn spawn system startfile""".split()),
    "subprocess.Popen", "pty.spawn", "socket.connect", "socket.bind", "socket.sendto", "socket.getaddrinfo",
    "shutil.copyfile", "shutil.move", "shutil.rmtree", "shutil.make_archive", "shutil.unpack_archive",
}  # fmt: skip


@cache
def _install() -> None:
    """Python's own hook for such events; once in a process, idle while nothing is tried."""
    sys.addaudithook(_audit)


def _audit(event: str, args: Sequence[Any]) -> None:
    if not _on.get():
        return
    if event == "open":
        flags = args[2]
        if isinstance(flags, int) and flags & WRITING:
            raise PermissionError(f"{args[0]!r} is not written while you type: run the cell")
    elif event in REFUSED:
        raise PermissionError(f"{event} is not done while you type: run the cell")


@contextlib.contextmanager
def _alone() -> Iterator[None]:
    """No threads are started: they would go on when the trial is over. (There is no event for it in Python 3.11.)"""
    start = threading.Thread.start

    def refused(self: threading.Thread) -> None:
        if _on.get() and self.name != "tvmlab-deep":  # which runs what is nested deep, and waits for it
            raise PermissionError("threads are not started while you type: run the cell")
        start(self)

    threading.Thread.start = refused  # type: ignore[method-assign]
    try:
        yield
    finally:
        threading.Thread.start = start  # type: ignore[method-assign]


class _Nowhere(io.TextIOBase):
    """Where the output goes."""

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        return len(text)


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    """Nothing is printed or displayed."""
    with contextlib.ExitStack() as stack:
        nowhere = _Nowhere()
        stack.enter_context(contextlib.redirect_stdout(nowhere))
        stack.enter_context(contextlib.redirect_stderr(nowhere))
        if "IPython" in sys.modules:
            from IPython.utils.capture import capture_output

            stack.enter_context(capture_output(stdout=False, stderr=False, display=True))
        yield


# ---------------------------------------------------------------- the time


class _Expired(BaseException):
    """Not an Exception: what is typed seldom catches it, and when it does, it comes again."""


class TooSlow(LabError):
    """`line`: what was running when the time was over."""

    line = 0


def limited(work: Callable[[], R], seconds: float) -> R:
    """The value of `work()`, which is ended after that time while it runs typed text."""
    by_alarm = hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()
    lines: list[int] = []
    try:
        return (_by_alarm if by_alarm else _by_thread)(work, seconds, lines)
    except _Expired:
        late = TooSlow("too-slow", f"stopped after {seconds:g} s: the text takes too long to be followed")
        late.line = lines[0] if lines else 0
        raise late from None


def _typed(frame: Any) -> int:
    """The line of the typed text that is running. (0: its end has come already, and must not come to somebody else.)"""
    while frame is not None:
        if frame.f_code.co_filename in (TYPED, EXPRESSION):
            return int(frame.f_lineno)
        frame = frame.f_back
    return 0


def _by_alarm(work: Callable[[], R], seconds: float, lines: list[int]) -> R:
    def ring(_number: int, frame: Any) -> None:
        if line := _typed(frame):
            lines.append(line)
            raise _Expired

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds, AGAIN)
    try:
        return work()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _by_thread(work: Callable[[], R], seconds: float, lines: list[int]) -> R:
    """Where there are no alarms (Windows, other threads): another thread watches. It cannot end a call into C."""
    me, done, lock = threading.get_ident(), threading.Event(), threading.Lock()

    def watch() -> None:
        wait = seconds
        while not done.wait(wait):
            with lock:
                if not done.is_set() and (line := _typed(sys._current_frames().get(me))):
                    lines.append(line)
                    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(me), ctypes.py_object(_Expired))
            wait = AGAIN

    token = _on.set(False)
    threading.Thread(target=watch, name="tvmlab-watch", daemon=True).start()
    _on.reset(token)
    try:
        return work()
    finally:
        with lock:
            done.set()
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(me), None)
