"""What a tuning session has found: the best as a schedule, every trial in a table, what is to be said of them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..core.error import CallError
from ..core.hooks import Shown
from ..core.units import duration
from . import finish, insight
from .finish import CLOSE
from .ranking import Placed, ranked, unsettled
from .records import Log, Record, config_of, contenders
from .watch import Drawn, as_program

DRIFTS = 0.1  # part by which the same candidate's time changes, from which on it is said

STEADY = "the machine is steady"


@dataclass(frozen=True)
class Drift:
    """The same candidate timed again and again. `times`: (after so many trials, seconds)."""

    record: Record | None = None
    times: tuple[tuple[int, float], ...] = ()

    @property
    def change(self) -> float:
        """The part by which its slowest time is above its fastest."""
        found = [t for _, t in self.times] + ([self.record.seconds] if self.record and self.record.seconds else [])
        return max(found) / min(found) - 1 if len(found) > 1 else 0.0

    def __str__(self) -> str:
        if self.record is None or self.record.seconds is None or not self.times:
            return ""
        found = [self.record.seconds, *(t for _, t in self.times)]
        often = f"one candidate, timed {len(found)} times in between,"
        if self.change <= DRIFTS:
            return f"{STEADY}: {often} took {_between(found)}"
        slowest, fastest = (pick([(0, found[0]), *self.times], key=lambda x: x[1]) for pick in (max, min))
        moments = [f"{duration(t)} {f'after {n} trials' if n else 'at first'}" for n, t in sorted((slowest, fastest))]
        apart = f"candidates less than {self.change:.0%} apart may be in the wrong order"
        return f"the machine drifts: {often} took {', '.join(moments)}; {apart}"


def _between(found: Sequence[float]) -> str:
    """`120 µs to 125 µs`, or one of them where they read the same."""
    return " to ".join(dict.fromkeys(map(duration, (min(found), max(found)))))


@dataclass(frozen=True)
class Progress:
    """`left`: seconds to go, as far as can be said. `best`: seconds. `how`: it ended, where not by itself.
    `before`: how many of those that are done were so before the clock ran.
    """

    state: str
    done: int
    trials: int | None
    seconds: float
    limit: float | None
    best: float | None
    discarded: int
    how: str = ""
    before: int = 0

    @property
    def left(self) -> float | None:
        guesses = [] if self.limit is None else [max(0.0, self.limit - self.seconds)]
        if self.trials is not None and (made := self.done - self.before) > 0:
            guesses.append(max(0.0, self.seconds / made * (self.trials - self.done)))
        return min(guesses, default=None)

    def __str__(self) -> str:
        more = self.trials is not None and self.done > self.trials
        of = "" if self.trials is None or more else f" of {self.trials}"
        asked = f", {self.trials} asked for" if more else ""
        best = "" if self.best is None else f"; best {duration(self.best)}"
        left = "" if not self.left or self.state == "done" else f", about {duration(self.left)} to go"
        return f"{self.how or self.state}: {self.done}{of} trials{asked}{left}{best}"


@dataclass(frozen=True)
class Result(Drawn, Shown):
    """`records`: every trial. `discarded`: how many points gave nothing to measure, by reason. `notes`: sentences.

    `retimed`: the fastest ones, timed again at the end.
    """

    task: Any
    target: str
    records: Sequence[Record]
    discarded: Mapping[str, int] = field(default_factory=dict)
    notes: Sequence[str] = ()
    drift: Drift = field(default_factory=Drift)
    progress: Progress | None = None
    retimed: Sequence[Record] = ()

    @property
    def history(self) -> list[Record]:
        """All that a file has of it."""
        return [*self.records, *self.retimed]

    @property
    def ranked(self) -> list[Placed]:
        """`trials`, each with what is to be said of its time."""
        return ranked(self.history)

    @property
    def trials(self) -> list[Record]:
        """Those that were measured, the fastest first, then those that failed.

        Those that were timed again have their times of then. What was faster at first than the best is, and was not
        timed again, comes after the best.
        """
        return [p.record for p in self.ranked]

    @property
    def best(self) -> Record | None:
        found = self.trials[:1]
        return found[0] if found and found[0].seconds is not None else None

    def schedule(self, record: Record | None = None) -> tuple[Any, Sequence[Any]]:
        """(schedule, arguments) of the best trial, or of another, as ordinary steps."""
        chosen = record or self.best
        if chosen is None:
            raise CallError("no-best", "no trial succeeded", where=_reasons(self.records))
        made: tuple[Any, Sequence[Any]] = self.task.instantiate(config_of(self.task, chosen))
        return made

    def to_code(self, record: Record | None = None) -> str:
        """The best trial (or another) as a whole program: the expression, the steps, and `args`, what `build` takes.

        What cannot be written so is named in a comment.
        """
        chosen = record or self.best
        whole = as_program(*self.schedule(chosen))
        assert chosen is not None
        knobs = ", ".join(f"{name} = {value}" for name, _, value in chosen.config)
        time = "" if chosen.seconds is None else f": {duration(chosen.seconds)}{speed(chosen)}"
        return f"# {chosen.task}{tuple(chosen.args)} for {chosen.target}{time}\n# {knobs}\n{whole}"

    def table(self, n: int | None = 20) -> Table:
        """The fastest `n` trials; None: all of them, those that failed at the end."""
        whole = isinstance(n, int) and not isinstance(n, bool)
        if n is not None and not (whole and n >= 0):
            raise CallError("amount", f"n must be how many rows to show, or None for all, not {n!r}")
        placed = self.ranked
        shown = placed[:n]
        return Table([p.record for p in shown], len(placed) - len(shown), [p.said for p in shown])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Add all records to a file."""
        log = Log(path)
        log.pending = self.history
        if not log.flush():
            raise OSError(log.trouble)

    @property
    def summary(self) -> str:
        """One sentence about the best."""
        best = self.best
        if best is None:
            return "no trial succeeded"
        good = [r for r in contenders(self.history) if r.alone and r.seconds]
        close = sum((r.seconds or 0) < (1 + CLOSE) * (best.seconds or 0) for r in good) - 1
        also = f"; {close} more within {CLOSE:.0%}" if close else ""
        again = finish.verdict(self.records, self.retimed)
        decided = f"; {again}" if again is not None and again.of(best) else ""
        more = unsettled(self.ranked)
        left = f"; {more} faster at first, not timed again" if more else ""
        time = f"{duration(best.seconds or 0)}{speed(best)}{spread(best)}"
        return f"best {time}, point {best.index}{also}{decided}{left}"

    @property
    def left_out(self) -> list[str]:
        """A sentence for each reason for which points gave nothing to measure, the most frequent first."""
        often = sorted(self.discarded.items(), key=lambda x: -x[1])
        return [f"{n} point{'s' * (n != 1)} not measured: {why}" for why, n in often]

    @property
    def remarks(self) -> list[str]:
        """What is to be said of the times and of the session."""
        last = max((r.at for r in self.retimed), default=0.0)
        unlike = finish.unlike(self.records, [r for r in self.retimed if r.at == last])
        drift = str(self.drift).removeprefix(f"{STEADY}: ") if unlike else str(self.drift)
        return [line for line in (drift, unlike, *self.notes) if line]

    def __repr__(self) -> str:
        lines = [f"{self.task.name}{tuple(self.task.args)} for {self.target}: {self.summary}"]
        lines.append(f"  {len(self.trials)} trials, {sum(r.ok for r in self.trials)} of them ok")
        failed = _reasons(self.trials)
        lines += [f"    {line}" for line in failed]
        lines += [f"  {line}" for line in (*self.left_out, *self.remarks)]
        return "\n".join(lines)


class Table(list[Record], Shown):
    """Trials, printed as a table. `left`: how many more there are. `said`: of the time of each."""

    def __init__(self, trials: Iterable[Record] = (), left: int = 0, said: Sequence[str] = ()) -> None:
        super().__init__(trials)
        self.left = left
        self._said = list(said)

    @property
    def remarks(self) -> list[str]:
        """Of each: whose time it is that is shown, and the reason."""
        said = self._said if len(self._said) == len(self) else [""] * len(self)
        return ["; ".join(filter(None, (about, r.reason))) for about, r in zip(said, self, strict=True)]

    @property
    def more(self) -> str:
        """What says that there are more; "" if these are all."""
        return f"... {self.left} more: .table(None)" if self.left else ""

    def __repr__(self) -> str:
        if not self:
            return self.more or "no trials"
        knobs = [str(k[0]) for k in self[0].config]
        who = ["worker"] if any(r.worker for r in self) else []
        rows = [("", "time", "spread", "GFLOP/s", "point", *knobs, *who, "")]
        numbered = enumerate(zip(self, self.remarks, strict=True), 1)
        rows += [(*_row(n, r, len(knobs), bool(who)), remark) for n, (r, remark) in numbered]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ["  ".join(f"{cell:{w}}" for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows]
        return "\n".join([*lines, self.more] if self.left else lines)


def _row(n: int, r: Record, knobs: int, who: bool) -> tuple[str, ...]:
    time = duration(r.seconds) if r.seconds is not None else r.outcome
    spread = f"{r.spread:.1%}" if r.alone and r.spread is not None and len(r.times) > 1 else ""
    speed = f"{r.score:.1f}" if r.flop and r.score else ""
    values = [str(k[2]).replace(" ", "") for k in r.config]
    return (str(n), time, spread, speed, str(r.index), *(values + [""] * knobs)[:knobs], *[r.worker] * who)


def speed(r: Record) -> str:
    """ ", 12.3 GFLOP/s", or "" where it is not known."""
    return f", {r.score:.1f} GFLOP/s" if r.flop and r.score else ""


def spread(r: Record) -> str:
    """ " (IQR 1.5%)", or "" of a single time."""
    return f" (IQR {r.spread:.1%})" if r.spread is not None and len(r.times) > 1 else ""


def _reasons(records: Sequence[Record]) -> list[str]:
    """The failures: how many were alike, and the first one's reason."""
    return [f"{f.count} {f.text}" for f in insight.failures(records, insight.KINDS)]
