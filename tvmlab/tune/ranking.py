"""The order of trials that a person reads: by the time that counts, and a word where that is not the first one.

    for p in ranked(result.history): p.record.seconds, p.said

A trial that was timed again has its time of then. One that was faster at first than the best is, and was not timed
again with it, may have been luck: it says so, and stands below the best.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..core.units import duration
from .records import Record, comparable, standing


@dataclass(frozen=True)
class Placed:
    """`record`: with the time that is shown. `first`: seconds at first of one that was timed again; `open`: faster than
    the best by a time that cannot be compared with it.
    """

    record: Record
    counts: bool = True
    first: float | None = None
    open: bool = False

    @property
    def said(self) -> str:
        before = "" if self.first is None else f"timed again: {duration(self.first)} at first"
        if not self.open:
            return before
        return f"{before}, not timed again with the best" if before else "first time only, not timed again"

    @property
    def sure(self) -> bool:
        """Does its time count among the fastest?"""
        return self.counts and self.record.alone and self.record.seconds is not None


def ranked(history: Iterable[Record]) -> list[Placed]:
    """Every trial that was measured, the fastest first, then those that failed."""
    history = list(history)
    latest = {(comparable(r), r.index): r for r in sorted(history, key=lambda r: r.at) if r.kind == "retimed"}
    found = [_placed(r, c, latest) for r, c in standing(history) if r.outcome != "instantiation"]
    least = min((p.record.seconds or 0.0 for p in found if p.sure), default=0.0)

    def place(p: Placed) -> tuple[bool, float, bool, float]:
        took = p.record.seconds or 0.0
        return p.record.seconds is None, max(took, least), not p.sure, took

    return [replace(p, open=_open(p, least)) for p in sorted(found, key=place)]


def _placed(r: Record, counts: Record | None, latest: dict[Any, Record]) -> Placed:
    again = latest.get((comparable(r), r.index))
    shown = counts or (r if again is None else replace(again, kind="trial"))
    return Placed(shown, counts is not None, None if again is None else r.seconds)


def _open(p: Placed, least: float) -> bool:
    took = p.record.seconds
    return took is not None and p.record.alone and not p.counts and (took < least or not least)


def unsettled(placed: Sequence[Placed]) -> int:
    """How many were faster at first than the best is, and were not timed again."""
    return sum(p.open for p in placed)
