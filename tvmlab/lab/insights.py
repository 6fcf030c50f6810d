"""What the trials of a session say, worked out in a thread of its own: the model's order, what knobs explain."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from ..core.error import LabError
from ..tune import insight
from ..tune.records import Record

EVERY = 8  # trials between two answers


class Insights:
    """`ranks`: (trial, rho); `shares`: by the name of a knob. `changed`: called when there is another answer."""

    def __init__(self, space: Any, changed: Any) -> None:
        self.space, self.changed = space, changed
        self.ranks: list[tuple[int, float]] = []
        self.shares: Mapping[str, float] = {}
        self._done = 0
        self._thread: threading.Thread | None = None

    def look(self, records: Sequence[Record], last: bool) -> None:
        """Begin to work it out anew, if there is more to say. `last`: no trial will follow."""
        more = len(records) - self._done
        if more < (1 if last else EVERY) or (self._thread is not None and self._thread.is_alive()):
            return
        self._done = len(records)
        self._thread = threading.Thread(target=self._work, args=(list(records),), name="tvmlab insights", daemon=True)
        self._thread.start()

    def wait(self) -> None:
        if self._thread is not None:
            self._thread.join()

    def _work(self, records: list[Record]) -> None:
        with suppress(LabError):
            self.ranks = insight.rank_over_time(records, EVERY)
            self.shares = insight.importance(self.space, records) or {}
        self.changed()
