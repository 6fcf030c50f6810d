"""A clock that rests while a session does."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field


@dataclass
class Clock:
    """`seconds` between each `go` and `rest`."""

    before: float = 0.0
    since: float | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def go(self) -> None:
        with self._lock:
            self.since = time.monotonic()

    def rest(self) -> None:
        with self._lock:
            if self.since is not None:
                self.before, self.since = self.before + time.monotonic() - self.since, None

    @property
    def seconds(self) -> float:
        with self._lock:
            return self.before + (0.0 if self.since is None else time.monotonic() - self.since)
