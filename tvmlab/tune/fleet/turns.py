"""Turns among all who measure on one machine, in whatever processes: two files that are locked.

The system gives a lock back when the process that has it ends, however that happens.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..measure import Turns

try:
    import fcntl
except ImportError:  # Windows: one worker a machine there
    fcntl = None  # type: ignore[assignment]

IMPATIENT = 1.0


class HostTurns(Turns):
    """As Turns. `patience`: seconds after which a turn is taken without being given: who has it may have been stopped;
    the next ones are then waited for only `IMPATIENT` seconds.

    `late`: that has happened since it was last set to False.
    """

    def __init__(self, patience: float) -> None:
        super().__init__()
        self.patience, self.late, self._left = patience, False, patience
        mine = os.path.join(tempfile.gettempdir(), f"tvmlab-measuring-{os.getuid() if hasattr(os, 'getuid') else 0}")
        self._gate, self._room = f"{mine}.gate", f"{mine}.room"

    @contextmanager
    def together(self) -> Iterator[None]:
        if not self.strict:
            yield
            return
        with self._locked(self._gate, True):
            room = self._take(self._room, False)
        try:
            yield
        finally:
            _give(room)

    @contextmanager
    def alone(self) -> Iterator[None]:
        with self._locked(self._gate, True):  # nobody else comes in while the room empties
            room = self._take(self._room, True)
        try:
            yield
        finally:
            _give(room)

    @contextmanager
    def _locked(self, path: str, alone: bool) -> Iterator[None]:
        f = self._take(path, alone)
        try:
            yield
        finally:
            _give(f)

    def _take(self, path: str, alone: bool) -> int | None:
        if fcntl is None:
            return None
        f = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        deadline, pause = time.monotonic() + self._left, 0.001
        self._left = self.patience
        while not _try(f, fcntl.LOCK_EX if alone else fcntl.LOCK_SH):
            if time.monotonic() > deadline:
                self.late, self._left = True, min(IMPATIENT, self.patience)
                break
            time.sleep(pause)
            pause = min(0.02, 1.5 * pause)
        return f


def _try(f: int, how: Any) -> bool:
    try:
        fcntl.flock(f, how | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _give(f: int | None) -> None:
    if f is not None:
        os.close(f)
