"""Trials in a file: one JSON object a line, only ever added to.

    log = Log("matmul.jsonl"); log.add(record)
    load("matmul.jsonl").records        all of them, also those of AutoTVM logs; `.notes` says what could not be read
    best("matmul.jsonl", task)          the fastest one; `apply_best(...)`: as a schedule

A line that a crash cut short is passed over, and the next one begins a line of its own. Two processes may write.
"""

from __future__ import annotations

import errno
import json
import os
import sys
import time
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..core.error import LabError
from ..face.api import as_target
from ..runtime import host
from ..runtime.measure import BenchmarkResult
from . import autolog

VERSION = 1
MARK = "tvmlab"  # the key of a line's version
PACKAGE = __name__.split(".", 1)[0]


class RecordError(LabError, ValueError):
    """A file of records that cannot be used."""


class Score(float):
    """A score that comes with the times it is of: seconds per run."""

    times: Sequence[float] = ()


@dataclass(frozen=True)
class Record:
    """One trial. `space`: the hash of its space; `config`: [[name, kind, value], ...]; `trace`: its fingerprint.

    `outcome`: ok, instantiation, compile, wrong, crash, timeout, memory, lost; `reason`: one sentence; `phase`: compile
    or run. `times`: seconds per run, one mean per repeat of `number`; not `alone`: one run beside other work.
    `threads`: 0 means all. `machine`, `worker`: where it was measured, and by whom of a fleet. `predicted`: the score
    that the search expected, by a model of `fitted` scores: comparable where that is the same. `kind`: `trial`; or of
    an earlier candidate that was timed again, `drift` (now and then, to see whether the machine is steady) or
    `retimed` (one of the fastest, at the end; those of one end have the same `at`); or `space`: nothing was measured,
    `config` says what a lab had opened.
    """

    task: str
    args: list[Any] = field(default_factory=list)
    target: str = "llvm"
    space: str = ""
    index: int = -1
    config: list[Any] = field(default_factory=list)
    trace: str = ""
    outcome: str = "ok"
    reason: str = ""
    phase: str = ""
    times: list[float] = field(default_factory=list)
    number: int = 1
    alone: bool = True
    compile: float = 0.0
    check: str = ""
    flop: float = 0.0
    threads: int = 0
    predicted: float | None = None
    fitted: int = 0
    search: str = ""
    kind: str = "trial"
    machine: str = ""
    worker: str = ""
    versions: dict[str, str] = field(default_factory=dict)
    at: float = 0.0

    @property
    def ok(self) -> bool:
        return self.outcome == "ok"

    @property
    def seconds(self) -> float | None:
        return float(np.median(self.times)) if self.ok and self.times else None

    @property
    def spread(self) -> float | None:
        """Between the quartiles, as a part of the median."""
        if not self.times or self.seconds is None:
            return None
        return BenchmarkResult(tuple(self.times)).iqr / max(self.seconds, 1e-12)

    @property
    def score(self) -> float | None:
        """Higher is better: GFLOP/s, or runs per second of a task that does not say its flop; None of a failure."""
        if not self.seconds:
            return None
        score = Score(self.flop / self.seconds / 1e9 if self.flop else 1 / self.seconds)
        score.times = self.times
        return score

    def to_json(self) -> str:
        return json.dumps({MARK: VERSION, **asdict(self)}, separators=(",", ":"))


def now(**values: Any) -> Record:
    """A record made now, of this machine unless `machine` says another."""
    values["machine"] = values.get("machine") or host.description()
    return Record(versions=versions(), at=time.time(), **values)


def versions() -> dict[str, str]:
    """Of what makes and runs the code, as far as it is imported."""
    known = (PACKAGE, "numpy", "llvmlite", "numba")
    found = {name: getattr(sys.modules.get(name), "__version__", "") for name in known}
    python = ".".join(map(str, sys.version_info[:3]))
    return {"python": python, **{k: v for k, v in found.items() if v}}


# ---------------------------------------------------------------- reading


@dataclass(frozen=True)
class Loaded:
    """`notes`: a sentence for each line that was passed over."""

    records: list[Record]
    notes: list[str]

    def __iter__(self) -> Iterator[Record]:
        return iter(self.records)

    def __len__(self) -> int:
        return len(self.records)


def load(path: str | os.PathLike[str]) -> Loaded:
    """The records of a file. Refused: a file that does not exist, and one of a newer version."""
    return parsed(Path(path).read_bytes(), Path(path).name)


def parsed(data: bytes, name: str) -> Loaded:
    """The records of a file's contents."""
    found, notes = [], []
    for number, raw in enumerate(data.split(b"\n"), 1):
        if not raw.strip():
            continue
        try:
            found.append(decode(raw.decode()))
        except RecordError:
            raise
        except (ValueError, TypeError, KeyError, IndexError, AttributeError) as e:
            last = number == data.count(b"\n") + 1
            why = "it was cut short, as by a crash" if last or isinstance(e, json.JSONDecodeError) else str(e)
            notes.append(f"line {number} of {name} was passed over: {why}")
    return Loaded(found, notes)


def decode(line: str) -> Record:
    """A line as a record; also one of AutoTVM."""
    data = json.loads(line)
    if not isinstance(data, dict):
        raise ValueError("it is no record")
    if MARK not in data:
        return Record(**autolog.decode(data))
    if data[MARK] > VERSION:
        raise RecordError(
            "newer-records", f"these records are of version {data[MARK]}; this tvmlab reads up to {VERSION}",
            hint="a newer tvmlab wrote them: update this one, or give another file",
        )  # fmt: skip
    names = {f.name for f in fields(Record)}
    made = Record(**{k: v for k, v in data.items() if k in names})
    if not all(isinstance(t, (int, float)) for t in made.times):
        raise ValueError("its times are no numbers")
    return made


# ---------------------------------------------------------------- writing


class Log:
    """A file that records are added to. What cannot be written stays in memory, and is tried again with the next one.

    `trouble`: why nothing is written at the moment, "" if all is.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.pending: list[Record] = []
        self.trouble = ""
        self._seen = 0  # bytes of the file that have been read
        self._own: set[bytes] = set()  # lines of ours that have not been read since

    def news(self) -> Loaded:
        """What others have added since it was read last; at first, all that there is."""
        size = self.path.stat().st_size if self.path.exists() else 0
        if size <= self._seen:  # nothing, or another file has taken its place
            self._seen = size
            return Loaded([], [])
        first = not self._seen
        with open(self.path, "rb") as f:
            f.seek(self._seen)
            data = f.read()
        whole = data if first else data[: data.rfind(b"\n") + 1]  # a line that is being written comes later
        self._seen += len(whole)
        lines = whole.split(b"\n")
        others = [line for line in lines if line not in self._own]
        self._own.difference_update(lines)
        return parsed(b"\n".join(others), self.path.name)

    def add(self, record: Record) -> bool:
        """False if it could not be written."""
        self.pending.append(record)
        return self.flush()

    def flush(self) -> bool:
        """Try to write what is still in memory."""
        if self.pending:
            try:
                append(self.path, self.pending)
                self._own.update(r.to_json().encode() for r in self.pending)
            except OSError as e:
                self.trouble = f"{self.path.name} cannot be written ({e.strerror or e})"
                return False
        self.pending, self.trouble = [], ""
        return True


def append(path: Path, records: Sequence[Record]) -> None:
    """Add lines: all of them or, where the disk is full, none."""
    lines = "".join(r.to_json() + "\n" for r in records).encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    with _locked(path) as f:
        size = os.fstat(f).st_size
        if size and os.lseek(f, size - 1, os.SEEK_SET) >= 0 and os.read(f, 1) != b"\n":
            lines = b"\n" + lines  # a crash cut the last line short
        try:
            if _write(f, lines) != len(lines):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError:
            with suppress(OSError):
                os.ftruncate(f, size)
            raise


_write = os.write


@contextmanager
def _locked(path: Path) -> Iterator[int]:
    """The file, open for adding, and nobody else's until the end of the block."""
    f = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)
    try:
        with suppress(ImportError):  # Windows has no such lock; one write of a line is one there too
            import fcntl

            with suppress(OSError):  # nor have some network file systems
                fcntl.flock(f, fcntl.LOCK_EX)
        yield f
    finally:
        os.close(f)


# ---------------------------------------------------------------- using


def matching(records: Iterable[Record], task: Any, target: str = "", kinds: Sequence[str] = ("trial",)) -> list[Record]:
    """The trials of a task: its name, arguments and target."""
    name, args, wanted = task.name, plain(task.args), usual(target or str(task.target))
    mine = [r for r in records if r.kind in kinds and r.task == name and plain(r.args) == args]
    return [r for r in mine if usual(r.target) == wanted]


def contenders(records: Iterable[Record]) -> list[Record]:
    """The trials whose times may be compared, with the times that count."""
    return [counts for _, counts in standing(records) if counts is not None]


def standing(records: Iterable[Record]) -> list[tuple[Record, Record | None]]:
    """Each trial, and how it counts among the fastest.

    Where the fastest were timed again at the end, those count, with their times of then, and what has been measured
    since; None for the others: a first time that stands out may be luck. Elsewhere all count as they were measured.
    """
    records = list(records)
    last: dict[Any, float] = {}
    for r in records:
        if r.kind == "retimed":
            last[comparable(r)] = max(r.at, last.get(comparable(r), r.at))
    trials = [r for r in records if r.kind == "trial"]
    if not last:
        return [(r, r) for r in trials]
    again = {(comparable(r), r.index): r for r in records if r.kind == "retimed" and r.at == last[comparable(r)]}
    found: list[tuple[Record, Record | None]] = []
    for r in trials:
        own = comparable(r)
        later = again.get((own, r.index))
        since = r.at > last.get(own, -1.0)
        found.append((r, replace(later, kind="trial") if later is not None else r if since else None))
    return found


def comparable(r: Record) -> tuple[Any, ...]:
    """The same for records whose times may be compared."""
    return r.task, str(r.args), r.target, r.space, r.threads, r.machine


def fastest(records: Iterable[Record]) -> Record | None:
    """The best of the trials whose times may be compared."""
    good = (r for r in contenders(records) if r.alone and r.seconds is not None)
    return min(good, key=lambda r: r.seconds or 0.0, default=None)


def of(source: Any) -> list[Record]:
    """The records of a file, of a result, or given as they are."""
    if isinstance(source, (str, os.PathLike)):
        return load(source).records
    return list(getattr(source, "history", source))


def usual(target: str) -> str:
    """A target's text without options that say nothing here; as it is, where it is no target of ours."""
    try:
        return str(as_target(target))
    except LabError:
        return str(target)


def plain(value: Any) -> Any:
    """Arguments as JSON has them: tuples are lists."""
    return json.loads(json.dumps(value, default=str))


def best(source: Any, task: Any = None, target: str = "") -> Record | None:
    """The fastest trial of a file, a result, or records; of a task, if one is given. A warning says if it is not ours.

    Its times are those of its last re-timing, if there was one.
    """
    records = of(source)
    mine = records if task is None else matching(records, task, target, ("trial", "retimed"))
    found = fastest(r for r in mine if r.machine == host.description()) or fastest(mine)
    if found is not None:
        _warn_foreign(found)
    elif task is not None and (elsewhere := {r.target for r in records if r.task == task.name}):
        warnings.warn(f"there are trials of {task.name} for {', '.join(sorted(elsewhere))} only", stacklevel=2)
    return found


def _warn_foreign(r: Record) -> None:
    if r.machine != host.description():
        where = r.machine or "another machine"
        warnings.warn(f"this trial was made elsewhere ({where}): here it need not be the best", stacklevel=3)


def apply_best(source: Any, task: Any, target: str = "") -> tuple[Any, Sequence[Any]]:
    """(schedule, arguments) of the fastest trial of a task. Refused: when there is none, or its space is another."""
    found = best(source, task, target)
    if found is None:
        raise RecordError("no-record", f"there is no successful trial of {task.name}{tuple(task.args)} for this target")
    made: tuple[Any, Sequence[Any]] = task.instantiate(config_of(task, found))
    return made


def config_of(task: Any, record: Record) -> Any:
    """The configuration of a record in a task's space."""
    if record.space and record.space != str(task.space.hash):
        raise RecordError(
            "other-space", f"the space of {task.name} has changed since: its point {record.index} is another one now",
            hint="tune again, or use the template as it was",
        )  # fmt: skip
    if record.index >= 0:
        config = task.space.get(record.index)
        renamed = getattr(task.space, "identity", None) is not None
        if not record.config or _alike(config.to_json(), record.config, renamed):
            return config
    raise RecordError("other-config", f"the space of {task.name} has no such configuration: {record.config}")


def _alike(a: Any, b: Any, renamed: bool) -> bool:
    """Is it the same configuration? `renamed`: loops may have other names, and the number of the point says which."""
    if renamed:
        return [k[1] for k in a] == [k[1] for k in b]
    return bool(plain(a) == plain(b))


# ---------------------------------------------------------------- AutoTVM


def import_autotvm(path: str | os.PathLike[str]) -> list[Record]:
    """The records of an AutoTVM log, of either format."""
    return load(path).records


def export_autotvm(source: Any, path: str | os.PathLike[str], version: float = 0.2) -> None:
    """Write a file's, a result's or other records as an AutoTVM log of format 0.1 or 0.2.

    Such a log has one time of each trial: the last that was taken. Left out is what was faster at first than the best
    is, and was not timed again when that was.
    """
    pairs = standing(of(source))
    least: dict[Any, float] = {}
    for _, r in pairs:
        if r is not None and r.seconds is not None:
            least[comparable(r)] = min(r.seconds, least.get(comparable(r), r.seconds))
    slower = lambda r: r.seconds is None or r.seconds >= least.get(comparable(r), 0.0)
    kept = [counts or r for r, counts in pairs if counts is not None or slower(r)]
    lines = [autolog.encode(asdict(r), r.seconds, version) for r in kept]
    Path(path).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
