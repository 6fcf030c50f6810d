"""Candidates compiled, checked and timed in processes that may be ended; whatever happens comes back as a value.

    with Measurer(Setup(threads=1)) as m:
        m.measure(candidate(task, 7))       Measured("ok", ...), Measured("timeout", ...), never an exception

Several processes compile and check side by side; what is timed runs alone, if it may use all processors.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from ..core.error import LabError
from ..face.options import Options, cores
from ..face.trial import spec
from ..runtime.worker import Outcome, Worker, usual_memory
from .candidate import Candidate, sentence

Kind = Literal["ok", "instantiation", "compile", "wrong", "crash", "timeout", "memory", "lost", "cancelled"]
INSIDE = f"{__package__}.inside"
PRELOAD = (INSIDE, "tvmlab.target.llvm", "tvmlab.target.interp")
REFERENCE_LIMIT = 120.0  # seconds for the reference, which is computed once in a process
AGAIN = 3  # repeats of a candidate in each round of those that are timed again
KEPT = 400  # candidates that a process compiles before a new one takes its place: compilers do not give all back


@dataclass(frozen=True)
class Setup:
    """How candidates are measured.

    `threads`: 0 means all. `repeats`: at most so many, fewer where quartiles are closer than the part `agree` of the
    median, or after `enough` seconds. `min_ms`: a repeat is as many runs as last so long. `compile_limit`, `run_limit`:
    seconds. `memory`: bytes a process may take. `flush`: each run finds its arguments in main memory. `slower`: what
    took so many times the best in its first run is not timed further. `jobs`: processes; 0 means as is usual.
    `retime`: of how many of the fastest, at most, times are taken again at the end, and again of so many, where the
    best turns out slower than others were at first; 0 is none.
    """

    target: str = "llvm"
    threads: int = 0
    repeats: int = 12
    agree: float = 0.05
    enough: float = 0.15
    min_ms: float = 1.0
    compile_limit: float = 20.0
    run_limit: float = 10.0
    memory: int = 0
    flush: bool = False
    check: bool = True
    seed: int = 0
    slower: float = 5.0
    jobs: int = 0
    retime: int = 5

    @classmethod
    def of(cls, given: Setup | Mapping[str, Any] | None, target: str, here: bool = True) -> Setup:
        """A person's choices, for a target; refused is what cannot be. Not `here`: with other machines' threads."""
        if isinstance(given, Setup):
            made = replace(given, target=target)
        else:
            legal = list(cls.__dataclass_fields__)
            for name in given or {}:
                if name not in legal:
                    raise LabError("option", f"a measurement has no option `{name}`", legal=legal)
            made = cls(**{"target": target, **(given or {})})
        (made if here else replace(made, threads=0)).options()
        return made

    def options(self) -> Options:
        return Options(
            target=self.target, threads=self.threads, repeats=self.repeats, limit=self.run_limit, seed=self.seed,
            min_ms=self.min_ms, enough=self.enough, check=self.check, baseline=False,
        )  # fmt: skip

    @property
    def processes(self) -> int:
        return self.jobs or max(2, min(4, cores() // 2))


@dataclass(frozen=True)
class Measured:
    """How it went. `reason`: one sentence, for all but "ok"; there it says what is worth saying. `phase`: compile, run.

    `times`: seconds per run, one mean per repeat of `number` runs. `alone`: were they taken with nothing else running?
    `worker`, `machine`: who measured it, and what that is (`host.description()`); "" is this machine.
    """

    outcome: Kind
    reason: str = ""
    phase: str = ""
    times: tuple[float, ...] = ()
    number: int = 1
    alone: bool = True
    compile: float = 0.0
    check: str = ""
    worker: str = ""
    machine: str = ""

    @property
    def seconds(self) -> float | None:
        return float(np.median(self.times)) if self.outcome == "ok" and self.times else None


def asked(candidate: Candidate, chosen: Options) -> dict[str, Any] | Measured:
    """What the process that measures needs, as plain data; or why there is no such thing."""
    try:
        return spec(candidate.trace, chosen, None, candidate.args)
    except LabError as e:
        return Measured("compile", sentence(e.message, e.where), "compile")
    except RecursionError:
        return Measured("compile", "its loops are nested too deeply", "compile")


def preload(setup: Setup) -> list[str]:
    """Modules that the processes import once."""
    return [*PRELOAD, "numba"] if setup.target.startswith("numba") else [*PRELOAD]


class Measurer:
    """The processes of one session. `turns`: shared with others who measure on this machine. `worker`: of an earlier
    session, with the same memory, when one process is enough.
    """

    def __init__(self, setup: Setup, turns: Turns | None = None, worker: Worker | None = None) -> None:
        self.setup = setup
        self._options = setup.options()
        count = setup.processes
        memory = setup.memory or usual_memory() // count
        workers = [worker] if worker is not None else [Worker(memory, preload(setup)) for _ in range(count)]
        self._workers = [_Process(w) for w in workers]
        self._turns = turns or Turns(strict=not setup.threads or setup.threads + count - 1 > cores())
        self.notes: list[str] = []

    def __len__(self) -> int:
        return len(self._workers)

    def __enter__(self) -> Measurer:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        for p in self._workers:
            p.worker.close()

    def warm(self) -> None:
        """Have the processes ready."""
        for p in self._workers:
            threading.Thread(target=p.worker.warm, name="tvmlab measurer begins", daemon=True).start()

    def cancel(self, stop: threading.Event) -> None:
        """End what runs, in all processes: `stop` is what the measurements were given."""
        stop.set()
        for p in self._workers:
            p.worker.cancel()

    @property
    def busy(self) -> bool:
        """Is a candidate being measured?"""
        return any(p.busy for p in self._workers)

    def measure(
        self, candidate: Candidate, best: float | None = None, process: int = 0, stop: threading.Event | None = None
    ) -> Measured:
        """`best`: seconds of the best so far. `process`: which one does it; each does one at a time.

        `stop`: set by who cancels.
        """
        what = asked(candidate, self._options)
        return what if isinstance(what, Measured) else self.measure_asked(what, best, process, stop)

    def measure_asked(
        self, asked: dict[str, Any], best: float | None = None, process: int = 0, stop: threading.Event | None = None
    ) -> Measured:
        """A candidate as the plain data of `asked`."""
        p = self._workers[process]
        p.busy = True
        try:
            return self._measure(p, asked, best, stop or threading.Event())
        finally:
            p.busy = False

    def again(self, candidate: Candidate, process: int = 0, stop: threading.Event | None = None) -> Measured:
        """A few more times of it. It is compiled when it is first asked for, and stays so beside others like it."""
        what = asked(candidate, self._options)
        return what if isinstance(what, Measured) else self.again_asked(what, process, stop)

    def again_asked(
        self, asked: dict[str, Any], process: int = 0, stop: threading.Event | None = None
    ) -> Measured:
        """The same of a candidate as the plain data of `asked`."""
        p, stop = self._workers[process], stop or threading.Event()
        p.busy = True
        try:
            found = Measured("ok")
            if asked["key"] not in p.prepared:
                made = self._compile(p, asked, stop, beside=True)
                found = made if isinstance(made, Measured) else self._found(p, made)
            return self._clock(p, asked["key"], found, stop, AGAIN) if found.outcome == "ok" else found
        finally:
            p.busy = False

    def _measure(self, p: _Process, asked: dict[str, Any], best: float | None, stop: threading.Event) -> Measured:
        made = self._compile(p, asked, stop)
        if isinstance(made, Measured):
            return made
        found = self._found(p, made)
        if found.outcome != "ok":
            return found
        first = made["first"]
        if best is not None and first is not None and first > self.setup.slower * best:
            return replace(found, times=(first,), alone=False, reason=too_slow(first, best))
        return self._clock(p, asked["key"], found, stop)

    # ------------------------------------------------------------ the parts

    def _compile(
        self, p: _Process, asked: dict[str, Any], stop: threading.Event, beside: bool = False
    ) -> dict[str, Any] | Measured:
        """Compiled and checked, or how that failed."""
        with self._turns.together():
            self._refer(p, asked, stop)
            if not p.checks:
                asked["options"]["check"] = False
            made = self._prepare(p, asked, beside, stop)
        if not isinstance(made, Measured):
            p.has(asked["key"], beside)
        return made

    def _found(self, p: _Process, made: dict[str, Any]) -> Measured:
        """Of what has been compiled and run once: right, wrong, or not checked and why."""
        found = Measured("ok", compile=made["compile"], check=made["check"])
        if made["check"] == "wrong":
            return replace(found, outcome="wrong", phase="run", reason=wrong(made))
        if self.setup.check and made["check"] != "ok":
            found = replace(found, reason=made["worst"] or p.why)
        return found

    def _clock(self, p: _Process, key: str, found: Measured, stop: threading.Event, repeats: int = 0) -> Measured:
        """With its times: nothing else runs meanwhile."""
        with self._turns.alone():
            o = self._run(p, "clocked", key, self.setup.agree, self.setup.flush, repeats, stop=stop)
        if not o.ok:
            return replace(self._failed(o, "run"), compile=found.compile, check=found.check)
        return replace(found, times=tuple(o.value["times"]), number=o.value["number"])

    def _run(self, p: _Process, name: str, *args: Any, stop: threading.Event, **how: Any) -> Outcome:
        if stop.is_set():
            return Outcome("cancelled", text="cancelled")
        return p.worker.run(f"{INSIDE}:{name}", *args, stop=stop, **{"limit": self.setup.run_limit, **how})

    def _refer(self, p: _Process, asked: Any, stop: threading.Event) -> None:
        """The reference, in a process that is new."""
        if p.jobs >= KEPT:
            p.worker.renew()
        if p.worker.pid is not None and p.worker.pid == p.knows:
            p.jobs += 1
            return
        p.jobs = 0
        if self.setup.check and p.checks:
            o = self._run(p, "reference", asked, stop=stop, limit=REFERENCE_LIMIT)
            if o.kind in ("timeout", "crash", "memory"):
                p.checks, p.why = False, f"not checked: the reference {o.text.removeprefix('it ')}"
                self.notes.append(f"results are {p.why}")
        p.knows = p.worker.pid

    def _prepare(self, p: _Process, asked: Any, beside: bool, stop: threading.Event) -> dict[str, Any] | Measured:
        """Compile and check; the two have limits of their own."""
        s, ended = self.setup, _Either(stop)
        with _Watch(s.compile_limit, lambda: p.worker.cancel(ended)) as watch:

            def heard(said: Any) -> None:
                if said.get("state") == "running":
                    watch.next("run", s.run_limit)

            limit = s.compile_limit + s.run_limit
            o = self._run(p, "prepare", asked, beside, stop=ended, limit=limit, progress=heard)
        if o.kind == "cancelled" and not stop.is_set():
            doing, limit = ("compiling", s.compile_limit) if watch.phase == "compile" else ("it", s.run_limit)
            o = Outcome("timeout", text=f"{doing} was still running after {limit:g} s and was ended")
        return o.value if o.ok else self._failed(o, watch.phase)

    def _failed(self, o: Outcome, phase: str) -> Measured:
        killed = o.kind == "crash" and (o.error or {}).get("signal") == "SIGKILL"
        kind: dict[str, Kind] = {
            "error": "compile" if phase == "compile" else "crash", "memory": "memory", "timeout": "timeout",
            "crash": "memory" if killed else "crash", "lost": "lost", "cancelled": "cancelled",
        }  # fmt: skip
        where = (o.error or {}).get("where", ()) if o.kind == "error" else ()
        text = sentence(o.text, where)
        if o.kind in ("crash", "memory") and phase == "compile":
            text = f"while it was compiled, {text}"
        return Measured(kind[o.kind], text, phase)


def wrong(made: Any) -> str:
    """What differs first, in a sentence: of what `face.trial.checked` says."""
    w = made["wrong"]
    return f"{w['tensor']}{w['index']} is {w['got']} and must be {w['expected']}; {w['note']}"


def too_slow(first: float, best: float) -> str:
    """Why a candidate has the time of its first run only."""
    return f"one run took {first / best:.0f} times the best's time: not timed further"


@dataclass
class _Process:
    worker: Worker
    knows: int | None = None  # the process that has the reference
    checks: bool = True
    why: str = ""
    jobs: int = 0
    busy: bool = False
    ready: set[str] = field(default_factory=set)  # keys of what is compiled there, and may be timed
    ready_in: int | None = None  # the process that has them

    def has(self, key: str, beside: bool) -> None:
        """It has been told to compile it: beside what it has, or in its place."""
        self.ready = {*(self.prepared if beside else ()), key}
        self.ready_in = self.worker.pid

    @property
    def prepared(self) -> set[str]:
        return self.ready if self.worker.pid == self.ready_in else set()


class _Either(threading.Event):
    """Set when it is, or when the other is."""

    def __init__(self, other: threading.Event) -> None:
        super().__init__()
        self.other = other

    def is_set(self) -> bool:
        return super().is_set() or self.other.is_set()


class _Watch:
    """Calls `late` when a phase takes longer than it may."""

    def __init__(self, limit: float, late: Callable[[], Any]) -> None:
        self.phase, self.late = "compile", late
        self._timer = self._started(limit)

    def next(self, phase: str, limit: float) -> None:
        self._timer.cancel()
        self.phase, self._timer = phase, self._started(limit)

    def _started(self, limit: float) -> threading.Timer:
        timer = threading.Timer(limit, self.late)
        timer.daemon = True
        timer.start()
        return timer

    def __enter__(self) -> _Watch:
        return self

    def __exit__(self, *error: object) -> None:
        self._timer.cancel()


@dataclass
class Turns:
    """Many may work `together`; `alone` there is nobody else. Not `strict`: only what is alone excludes the same."""

    strict: bool = True
    _changed: threading.Condition = field(default_factory=threading.Condition)
    _working: int = 0
    _waiting: int = 0
    _alone: bool = False

    @contextmanager
    def together(self) -> Iterator[None]:
        with self._changed:
            self._changed.wait_for(lambda: not self.strict or not self._alone and not self._waiting)
            self._working += 1
        try:
            yield
        finally:
            with self._changed:
                self._working -= 1
                self._changed.notify_all()

    @contextmanager
    def alone(self) -> Iterator[None]:
        with self._changed:
            self._waiting += 1
            self._changed.wait_for(lambda: not self._alone and not (self.strict and self._working))
            self._waiting -= 1
            self._alone = True
        try:
            yield
        finally:
            with self._changed:
                self._alone = False
                self._changed.notify_all()
