"""The next points, proposed and checked while those before them are measured: processes that measure need not wait.

    ahead = Ahead(searching, make)
    ahead.ask(8)                        in a thread of its own: the search is told what it was not yet, and proposes
    points = ahead.take(until)          each with what `make` gave: a candidate, or why there is none
    ahead.tell(results)                 before it proposes again

So a batch is proposed when the results of the one before it are not there yet. Only one thread uses the search.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from .candidate import Candidate, Refused

LOOK = 0.05  # seconds between two looks at whether it is still waited for


@dataclass(frozen=True)
class Point:
    """`made`: None of a point that is known. `predicted`: the score that the search expects, `fitted` to so many."""

    index: int
    made: Candidate | Refused | None
    predicted: float | None = None
    fitted: int = 0


class Ahead:
    """`searching()`: the search; it may be another one each time. `by`: the one whose points were taken last.

    `make(index)`: the candidate at a point, why there is none, or None if it is known. `first`: points that come before
    what the search proposes.
    """

    def __init__(
        self, searching: Callable[[], Any], make: Callable[[int], Candidate | Refused | None], first: Sequence[int] = ()
    ) -> None:
        self._searching, self._make, self._first = searching, make, list(first)
        self.by: Any = None
        self._asked: Any = None  # the one that proposes
        self._told: list[Any] = []
        self._thread: threading.Thread | None = None
        self._found: list[Point] = []
        self._error: Exception | None = None
        self._over = False

    @property
    def asked(self) -> bool:
        """Is there something to take?"""
        return self._thread is not None

    def ask(self, n: int) -> None:
        """Begin with up to `n` points."""
        self._thread = threading.Thread(target=self._work, args=(n,), name="tvmlab tuning, ahead", daemon=True)
        self._thread.start()

    def take(self, until: Callable[[], bool]) -> list[Point] | None:
        """What was asked for, none where all have been tried; None if it is not waited for any more."""
        assert self._thread is not None
        while self._thread.is_alive():
            if until():
                return None
            self._thread.join(LOOK)
        self._thread = None
        if self._error is not None:
            raise self._error
        self.by = self._asked
        return self._found

    def tell(self, results: Sequence[tuple[int, float | None]]) -> None:
        self._told += results

    def close(self, wait: bool) -> None:
        """The search knows all results then; not if there is no time to wait for it."""
        self._over = True
        if self._thread is not None and wait:
            self._thread.join()
        if self._thread is None or not self._thread.is_alive():
            self._pass_on()

    def _work(self, n: int) -> None:
        try:
            self._asked = search = self._pass_on()
            first, self._first = self._first[:n], self._first[n:]
            more = search.propose(n - len(first)) if n > len(first) else ()
            wanted = [*first, *(i for i in more if i not in first)]
            self._found = [self._point(search, i) for i in wanted if not self._over]
        except Exception as e:  # of the search, which may be a person's
            self._error = e

    def _pass_on(self) -> Any:
        """Tell what has not been told; who knows it now."""
        search = self._searching()
        told, self._told = self._told, []
        if told:
            search.tell(told)
        return search

    def _point(self, search: Any, index: int) -> Point:
        made = self._make(index)
        predict = getattr(search, "predicted", None)
        if predict is None or not isinstance(made, Candidate):
            return Point(index, made)
        expected = predict(index)
        return Point(index, made, None if expected is None else float(expected), getattr(search, "fitted", 0))
