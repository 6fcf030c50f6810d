"""What crosses between the kernel and the lab's Tune drawer: beside `payload.py`, for what is loaded when asked for.

All of it goes through requests of the kind "tune": `what` and `values` are one of `Asked`. The drawer asks for "state"
a few times a second while it is open, so that a kernel without a browser, a reload or a second view need nothing more.
A trial is sent once. Plain JSON; `extension/src/tune/payload.ts` is made from this file (`python -m tests.payloads`).
"""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict

from .payload import Card, Table


class Openable(TypedDict):
    """A parameter of a step that can be made tunable."""

    step: str  # id of the step
    param: str  # an argument of it, or "taken": is the step made at all?
    label: str  # "split i: factor"
    now: str  # its value
    open: bool
    count: int  # candidates it would have
    why: str  # why it cannot be opened, or ""


class Knob(TypedDict):
    """A choice of the space. `on`: the values (by place) that the search may use; brushing sets it."""

    id: str
    label: str
    values: list[str]
    on: list[int]
    current: int  # the place of the value that the schedule has now; -1: none
    kind: Literal["number", "word"]
    help: str  # what its values mean, or ""


class Search(TypedDict):
    name: str
    label: str
    available: bool
    why: str


class Trial(TypedDict):
    """A measured point. `n`: 1, 2, ... in the order of measuring."""

    n: int
    index: str  # of the point in its space: may be more than a browser's numbers hold
    values: list[int]  # places in the knobs' values; -1: a value that is not among them
    outcome: str  # ok, or how it failed
    reason: str
    seconds: float | None
    spread: float | None  # interquartile range over the median
    gflops: float | None
    predicted: float | None  # the model's score, higher is better; comparable within one session only
    worker: str
    again: bool  # read from the file, not measured in this session


class Count(TypedDict):
    text: str
    count: int


class Rank(TypedDict):
    """How well the model's order agreed with the measured one, over the trials up to `n`: Spearman's rho."""

    n: int
    rho: float


class Retimed(TypedDict):
    """A trial timed again at the end, in turns with the other fast ones: this time counts, not that of the trial."""

    index: str
    seconds: float | None  # None: it failed


class Share(TypedDict):
    knob: str  # id
    share: float  # 0..1: of the variance that this knob alone explains


class Worker(TypedDict):
    """Who measures on another machine. `asked`: it is being tried; `out`: it takes no part; `gone`: it was lost."""

    name: str
    state: Literal["asked", "takes part", "out", "gone"]
    trials: int  # that it has measured
    note: str  # why it does not take part


class TuneState(TypedDict):
    n: int  # grows with every change
    source: Literal["steps", "generic"]  # the opened parameters of the steps, or a space for the whole expression
    openable: list[Openable]
    knobs: list[Knob]
    size: str  # "1 296 combinations, 804 legal"
    searches: list[Search]
    search: str
    trials: int | None  # the budget
    limit: float | None  # the budget in seconds
    file: str  # records; "": in memory only
    fleet: str  # where it measures: the address of a scheduler, or what a person gave, in words; "": on this machine
    workers: list[Worker]  # of the fleet, once it was reached
    state: Literal["empty", "ready", "connecting", "running", "paused", "finishing", "stopping", "done"]
    done: int
    elapsed: float
    left: float | None  # seconds, as far as can be told
    best: float | None
    now: float | None  # seconds of the schedule as it is, where it was measured here
    count: int  # trials there are
    failures: list[Count]
    discarded: list[Count]
    notes: list[str]
    retimed: list[Retimed]  # the last time that was done
    since: int  # trials after number `since` were measured after that: their own times count
    ranks: list[Rank]
    shares: list[Share]
    adopted: str  # index of the trial whose schedule the lab shows, or ""
    error: Card | None


class Update(TypedDict):
    """The answer to "state", `values` {n, since}: None where it is still that of `n`; the trials from `since` on."""

    state: TuneState | None
    trials: list[Trial]
    since: int  # they begin at this place: less than was asked for where another run has begun


class Heat(TypedDict):
    """The answer to "heat", `values` {x, y}: ids of two knobs. A cell is the best time there, None where nothing is."""

    x: str
    y: str
    cells: list[list[float | None]]  # rows by y, columns by x
    table: Table


class Asked(TypedDict):
    what: Literal[
        "state", "heat",
        "open", "close",  # {step, param}
        "source",  # {source}
        "allow",  # {knob, on}
        "settings",  # {search, trials, limit, file, fleet}: those that are to change
        "start", "pause", "resume", "stop", "clear",
        "trial",  # {index}: a Preview of it
        "adopt",  # {index}: the steps are so from now on, one Undo takes it back
    ]  # fmt: skip
    values: NotRequired[dict[str, Any]]
