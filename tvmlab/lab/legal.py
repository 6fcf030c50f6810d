"""How many points of a space are legal: looked at one by one in a thread that rests as long as it works.

Nothing is compiled for it. Of a large space a sample is looked at. While something is timed it waits.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from itertools import islice
from random import Random
from typing import Any

from ..tune.candidate import Refused, candidate
from ..tune.search.base import shuffled
from . import timing

WHOLE = 3000  # points, up to which all are looked at
SAMPLE = 200  # of a larger space
WAIT = 0.2  # seconds between two looks whether there is time


class Counting:
    """`tried` of the points, `legal` of them; `reasons` of the others. `space`: the task's, or a part of it."""

    def __init__(self, task: Any, space: Any, target: str, changed: Callable[[], Any] = lambda: None) -> None:
        self.task, self.space, self.target, self.changed = task, space, target, changed
        self.size = space.range_length
        self.tried = self.legal = 0
        self.reasons: Counter[str] = Counter()
        self.stopped = threading.Event()
        self._thread = threading.Thread(target=self._work, name="tvmlab legal points", daemon=True)

    def start(self) -> Counting:
        self._thread.start()
        return self

    def stop(self) -> None:
        self.stopped.set()

    def wait(self, seconds: float | None = None) -> None:
        self._thread.join(seconds)

    @property
    def none(self) -> bool:
        """Is it known that no point is legal?"""
        return self.tried == self.size and not self.legal

    def __str__(self) -> str:
        """ "1 296 combinations, 804 legal"."""
        said = "1 combination" if self.size == 1 else f"{_grouped(self.size)} combinations"
        if self.tried == self.size:
            return f"{said}, {_grouped(self.legal)} legal"
        return f"{said}; of {_grouped(self.tried)} tried, {_grouped(self.legal)} legal" if self.tried else said

    def _work(self) -> None:
        order = shuffled(self.size, Random(0))
        for point in order if self.size <= WHOLE else islice(order, SAMPLE):
            while timing.busy() and not self.stopped.wait(WAIT):
                pass
            if self.stopped.is_set():
                return
            start = time.thread_time()
            self._look(point)
            self.changed()
            self.stopped.wait(time.thread_time() - start)

    def _look(self, point: int) -> None:
        whole = getattr(self.space, "whole", None)
        found = candidate(self.task, point if whole is None else whole(point), self.target)
        if isinstance(found, Refused):
            self.reasons[found.text] += 1
        else:
            self.legal += 1
        self.tried += 1


def _grouped(n: int) -> str:
    """1 296"""
    return f"{n:,}".replace(",", " ")
