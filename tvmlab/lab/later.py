"""Work that can wait: done by the event loop of the kernel when nothing more urgent is left."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from . import garbage


class Later:
    """`later("story", 0.5, work)`: `work()` half a second from now; asked for again before then, it starts over.

    Outside an event loop (a script, a test) nothing runs by itself: `flush()` does what is due.
    """

    def __init__(self) -> None:
        self._due: dict[str, tuple[Callable[[], Any], asyncio.TimerHandle | None]] = {}
        self._loop: asyncio.AbstractEventLoop | None = running()

    def __call__(self, name: str, seconds: float, work: Callable[[], Any]) -> None:
        self.cancel(name)
        self._loop = running() or self._loop
        alive = self._loop is not None and self._loop.is_running()
        timer = self._loop.call_later(seconds, self._run, name) if alive and self._loop else None
        self._due[name] = (work, timer)

    def soon(self, work: Callable[[], Any]) -> None:
        """From another thread: `work()` in the kernel's thread. Without an event loop: at once, in that thread."""
        if self._loop is not None and self._loop.is_running():
            self._loop.call_soon_threadsafe(work)
        else:
            work()

    def cancel(self, name: str) -> None:
        _, timer = self._due.pop(name, (None, None))
        if timer is not None:
            timer.cancel()

    def flush(self) -> None:
        while self._due:
            name = next(iter(self._due))
            work, timer = self._due.pop(name)
            if timer is not None:
                timer.cancel()
            work()

    def close(self) -> None:
        for name in list(self._due):
            self.cancel(name)

    def _run(self, name: str) -> None:
        work, _ = self._due.pop(name, (None, None))
        if work is not None:
            with garbage.put_off():
                work()


def running() -> asyncio.AbstractEventLoop | None:
    """The event loop this thread is in, if any."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
