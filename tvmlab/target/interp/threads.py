"""Running the threads of a kernel in lock step from barrier to barrier; blocks one after another.

A thread is a generator. It yields (kind, site, loops, payload) where it waits: at a "warp" or "block" barrier, in a
"shuffle" among the lanes of its warp or a "reduce" over threads, from which it is sent the result. Between two waits
it runs alone; what others do in that time is ordered behind nothing, which is what the race checks (tasks.py) see.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from itertools import product
from typing import Any

from ...core.threads import BLOCK, GRID, WARP
from .machine import Machine
from .memory import Memory
from .report import InterpError, headline
from .tasks import Construct

Running = Generator[Any, Any, None]


class Thread:
    """`at`: its index per tag; `linear`: its number in the block; `virtual`: the virtual threads it stands for."""

    __slots__ = ("at", "linear", "memories", "virtual", "entries")

    def __init__(self, at: dict[str, int], linear: int, memories: dict[Any, Memory]) -> None:
        self.at, self.linear, self.memories = at, linear, memories
        self.virtual: tuple[int, ...] = ()
        self.entries: dict[Any, int] = {}

    def child(self, i: int) -> Thread:
        made = Thread(self.at, self.linear, self.memories)
        made.virtual, made.entries = (*self.virtual, i), self.entries
        return made

    def entered(self, k: int) -> int:
        """How often this thread has entered allocation `k`: what was written in earlier rounds is stale."""
        key = (k, self.virtual)
        self.entries[key] = self.entries.get(key, 0) + 1
        return self.entries[key]


def shared(
    R: Machine, g: Thread, k: int, shape: tuple[int, ...], strides: Any, logical: Any, forget: bool, track: bool
) -> Memory:
    """The one memory of allocation `k` in the thread's block (scope warp: in its warp)."""
    warp = g.linear // WARP if R.buffers[k].scope.startswith("warp") else -1
    key = (k, warp, g.virtual, shape)
    found = g.memories.get(key)
    if found is None:
        found = g.memories[key] = R.allocation(k, shape, strides, logical, forget, track)
    return found


def launch(R: Machine, body: Callable[[Thread], Running], dims: Iterable[tuple[str, int]]) -> None:
    """Run a kernel: `body(thread)` for all threads of all blocks."""
    extents = dict(dims)
    blocks, threads = (
        {t: n for t in tags if (n := extents.get(t)) is not None} for tags in (GRID, BLOCK)
    )
    base = R.task
    grid = R.tasks.instance(Construct("block", lambda i: _position(blocks, i)))
    for number, at in enumerate(_all(blocks)):
        R.task = R.tasks.child(base, grid, number)
        memories: dict[Any, Memory] = {}
        members = [Thread({**at, **t}, i, memories) for i, t in enumerate(_all(threads))]
        Block(R, members, threads).run([body(g) for g in members])
    R.task = base


def _all(extents: dict[str, int]) -> Iterable[dict[str, int]]:
    """Every index, x fastest."""
    tags = list(reversed(extents))
    for index in product(*(range(extents[t]) for t in tags)):
        yield dict(zip(tags, index))


def _position(extents: dict[str, int], linear: int) -> str:
    """`threadIdx.x = 3, threadIdx.y = 0`"""
    parts = []
    for tag, n in extents.items():
        parts.append(f"{tag} = {linear % n}")
        linear //= n
    return ", ".join(parts) or "the thread"


class Block:
    """The threads of one block. `epoch` and `rounds` are the intervals between barriers, of the block and per warp."""

    def __init__(self, R: Machine, threads: list[Thread], extents: dict[str, int]) -> None:
        self.R, self.threads, self.task = R, threads, R.task
        self.lane = Construct("thread", lambda i: _position(extents, i))
        self.rounds: dict[int, int] = {}
        self.epoch = 0

    def run(self, running: list[Running]) -> None:
        answers: list[Any] = [None] * len(running)
        self.next_epoch()
        while running:
            stops: list[Any] = []
            for start in range(0, len(running), WARP):
                warp = slice(start, start + WARP)
                stops += self.run_warp(start // WARP, running[warp], answers[warp])
            first = self.uniform(stops, "block")
            if first is None:
                return
            if first[0] == "reduce":
                answers = self.reduce(stops)
            else:
                answers = [None] * len(running)
                self.next_epoch()

    def next_epoch(self) -> None:
        self.epoch = self.R.tasks.instance(Construct("warp", str))
        self.rounds = {w: self.R.tasks.instance(self.lane) for w in range(-(-len(self.threads) // WARP))}

    def run_warp(self, warp: int, running: list[Running], answers: list[Any]) -> list[Any]:
        """Run the lanes until they wait for the block, or end."""
        tasks, base = self.R.tasks, 0
        while True:
            base = tasks.child(self.task, self.epoch, warp)
            stops = []
            for lane, (thread, answer) in enumerate(zip(running, answers)):
                self.R.task = tasks.child(base, self.rounds[warp], warp * WARP + lane)
                stops.append(resume(thread, answer))
            if not any(s is not None and s[0] in ("warp", "shuffle") for s in stops):
                return stops
            if self.uniform(stops, "warp", warp * WARP)[0] == "shuffle":
                answers = self.shuffle(stops, warp * WARP)
            else:
                self.rounds[warp] = tasks.instance(self.lane)
                answers = [None] * len(running)

    def uniform(self, stops: list[Any], what: str, start: int = 0) -> Any:
        """What all threads wait at; None when all have ended. Anything else is a divergent barrier."""
        first = stops[0]
        for i, stop in enumerate(stops):
            if (stop is None) != (first is None) or (stop is not None and stop[1] != first[1]):
                names = self.lane.name(start), self.lane.name(start + i)
                raise divergent(self.R, f"the threads of a {what} do not all", names, first, stop)
        return first

    def shuffle(self, stops: list[Any], start: int) -> list[Any]:
        """Each lane gets the value of the lane its mask leads to. No memory is ordered by that: the round goes on."""
        answers = []
        for lane, stop in enumerate(stops):
            other = lane ^ stop[3][1]
            if other >= len(stops):
                mine, message = self.lane.name(start + lane), f"lane {lane} shuffles with lane {other} of its warp"
                where = self.R.sites[stop[1]].where(stop[2])
                raise InterpError("shuffle-lane", f"{message}, which has {len(stops)} lanes ({mine})", where)
            answers.append(stops[other][3][0])
        return answers

    def reduce(self, stops: list[Any]) -> list[Any]:
        """Fold the values of the threads that differ only in the reduced tags; each gets its group's result."""
        combine, identity, tags, _ = stops[0][3]
        groups: dict[Any, Any] = {}
        keys = [tuple(i for t, i in g.at.items() if t not in tags) for g in self.threads]
        for key, stop in zip(keys, stops):
            groups[key] = combine(*groups.get(key, identity), *stop[3][3])
        return [groups[key] for key in keys]


def resume(thread: Running, answer: Any) -> Any:
    try:
        return thread.send(answer)
    except StopIteration:
        return None


def divergent(R: Machine, who: str, names: tuple[str, str], a: Any, b: Any) -> InterpError:
    wait = a if a is not None else b
    site = R.sites[wait[1]]
    where = [f"{name} {_doing(R, stop)}" for name, stop in zip(names, (a, b))]
    return InterpError(
        "divergent-barrier",
        f"divergent barrier: {who} reach {headline(site.stmt) if site.stmt is not None else 'it'}",
        where + [line for line in site.where(wait[2]) if site.stmt is None or line != headline(site.stmt)],
        hint="a barrier must stand where every thread reaches it, outside conditions that depend on the thread",
        loops=dict(zip(site.loops, wait[2])),
    )


def _doing(R: Machine, stop: Any) -> str:
    if stop is None:
        return "has ended"
    stmt = R.sites[stop[1]].stmt
    return f"waits at {headline(stmt)}" if stmt is not None else "waits"


def fork(
    R: Machine,
    g: Thread,
    name: str,
    lo: int,
    extent: int,
    body: Callable[[Thread, int], Running],
    site: int,
    loops: Any,
) -> Running:
    """The virtual threads of one thread: each runs to its next barrier in turn, then the thread itself waits."""
    construct = Construct("vthread", lambda i: f"{name} = {i}")
    inside = R.tasks.instance(construct)
    running = [body(g.child(lo + i), lo + i) for i in range(extent)]
    while running:
        base, stops = R.task, []
        for i, thread in enumerate(running):
            R.task = R.tasks.child(base, inside, lo + i)
            stops.append(resume(thread, None))
        R.task = base
        for i, stop in enumerate(stops):
            if (stop is None) != (stops[0] is None) or (stop is not None and stop[1] != stops[0][1]):
                names = construct.name(lo), construct.name(lo + i)
                raise divergent(R, "the virtual threads of a thread do not all", names, stops[0], stop)
        if stops[0] is None:
            return
        if stops[0][0] in ("reduce", "shuffle"):
            what = "a reduction over threads" if stops[0][0] == "reduce" else "a shuffle"
            raise InterpError(
                "vthread-reduce", f"{what} inside the virtual threads {name} has no meaning",
                R.sites[site].where(loops), hint="bind the axis to threads, or reduce serially",
            )  # fmt: skip
        yield stops[0]


GLOBALS: dict[str, Any] = {"launch": launch, "fork": fork, "shared": shared}
