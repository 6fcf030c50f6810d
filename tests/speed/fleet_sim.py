"""A fleet without machines: the scheduler is real, and so are its workers, but a trial is a sleep of its recorded time.

Nothing is compiled. As many workers as a process can hold run in one event loop (`python -m tests.speed.fleet_sim
ADDRESS COUNT`); for more of them `modelled` counts: one client, one scheduler, and workers, with the costs that were
measured with those that were real.
"""

from __future__ import annotations

import asyncio
import heapq
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tests.tuned import matmul
from tvmlab import tune
from tvmlab.tune.fleet import measurer
from tvmlab.tune.measure import Measured

from . import recorded

COMPILES = 0.1  # seconds of a trial that are not its runs: compiling, and comparing the result
RUNS = 8  # of a candidate in a trial, about: the first, and those that are timed
START = 300.0  # seconds for workers to be there
TOGETHER = 16  # workers that are started at a time
QUIET = {  # what workers of one process would do a thousand times over
    "distributed.worker.profile.enabled": False, "distributed.admin.system-monitor.disk": False,
    "distributed.admin.system-monitor.gil.enabled": False, "distributed.admin.system-monitor.interval": "10s",
}  # fmt: skip


# ---------------------------------------------------------------- on the workers


async def carried(function: Any, topic: str, key: str, text: str) -> None:
    """As `link.CARRIED`, of what has nothing to do but to let time pass."""
    from distributed import get_worker

    job = json.loads(text)
    if "takes" not in job:
        answer = json.dumps({"name": get_worker().name, "machine": "asleep", "host": get_worker().name, "why": ""})
    else:
        await asyncio.sleep(job["takes"])
        made = Measured("ok", times=(job["run"],) * 3, check="ok")
        answer = json.dumps({"measured": asdict(made), "notes": []})
    get_worker().log_event(topic, [key, answer])


async def workers(address: str, count: int) -> None:
    """So many workers in this process, until it is ended."""
    import dask
    from distributed import Worker

    with dask.config.set(QUIET):
        made = [Worker(address, nthreads=1, name=f"w{k}", memory_limit=0, dashboard=False) for k in range(count)]
        for k in range(0, count, TOGETHER):
            await asyncio.gather(*made[k : k + TOGETHER])
        await asyncio.Event().wait()


# ---------------------------------------------------------------- the session


@dataclass(frozen=True)
class Asleep:
    """A `fleet=` whose workers sleep. `seconds`: of one run, by point."""

    scheduler: str
    seconds: Sequence[float]
    security: None = None
    machine: str = ""
    need: tuple[str, ...] = ()
    silent: float = 60.0
    patience: float = START

    def open(self, setup: Any) -> Any:
        return Measurer(self, setup)


class Measurer(measurer.FleetMeasurer):
    """What a worker is sent is what it is sent in earnest, and how long it is to sleep."""

    def __init__(self, fleet: Asleep, setup: Any) -> None:
        self.runs: dict[str, float] = {}  # seconds, by the key of a candidate
        self.seconds = fleet.seconds
        super().__init__(fleet, setup)

    def measure(self, candidate: Any, *how: Any) -> Measured:
        self.runs[candidate.key] = self.seconds[candidate.index]
        return super().measure(candidate, *how)

    def _text(self, key: str, work: Any) -> str:
        link = self._link
        link.job = lambda function, key, text: (carried, function, link._topic, key, text)
        run = self.runs.get(work["asked"]["key"])
        return super()._text(key, work if run is None else {**work, **trial(run)})


def trial(run: float) -> dict[str, float]:
    return {"run": run, "takes": COMPILES + RUNS * run}


# ---------------------------------------------------------------- measuring


@dataclass(frozen=True)
class Found:
    """`rate`: trials a second. Seconds of processor time a trial: `client`, `scheduler`. `idle`: of the scheduler, a
    second and worker, when there is nothing to do. `lag`: seconds by which a trial on one worker is longer than its
    sleep, when it does not wait for the client.
    """

    workers: int
    rate: float
    client: float
    scheduler: float
    idle: float
    lag: float


@contextmanager
def cluster(count: int) -> Any:
    """The address of a scheduler with so many workers, and the processes of the two."""
    folder = Path(tempfile.mkdtemp())
    file = folder / "scheduler.json"
    words = ["distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard"]
    started = [_process(folder, *words, "--scheduler-file", str(file))]
    try:
        address = json.loads(_when(lambda: file.read_text() if file.exists() else ""))["address"]
        started.append(_process(folder, "tests.speed.fleet_sim", address, str(count)))
        yield address, started
    finally:
        for p in reversed(started):
            p.kill()
            p.wait()


def _process(folder: Path, *words: str) -> Any:
    path = os.pathsep.join([str(recorded.DATA.parents[3]), os.environ.get("PYTHONPATH", "")])
    with (folder / "log").open("ab") as log:
        return subprocess.Popen([sys.executable, "-m", *words], stdout=log, stderr=log,
                                env={**os.environ, "PYTHONPATH": path})  # fmt: skip


def _when(what: Any) -> Any:
    deadline = time.monotonic() + START
    while not (found := what()):
        if time.monotonic() > deadline:
            raise TimeoutError("the simulated fleet did not start")
        time.sleep(0.05)
    return found


def used(process: Any) -> float:
    """Seconds of processor time that a process has had."""
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measured(count: int, trials: int, seconds: Sequence[float], quiet: float = 3.0) -> Found:
    """A session of so many trials on so many workers; as many at the beginning and at the end are not counted."""
    from distributed import Client

    task = named(matmul())
    with cluster(count) as (address, (scheduler, _)):
        with Client(address, set_as_default=False) as c:
            c.wait_for_workers(count, timeout=START)
            before = used(scheduler)
            time.sleep(quiet)
            idle = (used(scheduler) - before) / quiet / count
        marks: list[tuple[float, float, float]] = []

        def mark(record: Any) -> None:
            marks.append((time.perf_counter(), time.process_time(), used(scheduler)))

        session = tune.Session(task, trials=trials, fleet=Asleep(address, seconds), on_trial=mark)
        session.start().wait()
        assert session._measurer is not None
        session._measurer.close()  # which waits until it is closed
        slept = [trial(r.times[0])["takes"] for r in session.records[count:-count]]
    (t0, mine0, its0), (t1, mine1, its1), n = marks[count - 1], marks[-count - 1], trials - 2 * count
    took = t1 - t0
    lag = max(0.0, count * took / n - float(np.mean(slept)))
    return Found(count, n / took, (mine1 - mine0) / n, max(0.0, its1 - its0 - idle * count * took) / n, idle, lag)


def named(task: Any) -> Any:
    """As a session wants it."""
    task.name, task.args, task.target, task.flop = "matmul", (512, 512, 512), "llvm", 2.0 * 512**3
    task.space.hash = "recorded"
    return task


# ---------------------------------------------------------------- the model


@dataclass(frozen=True)
class Cost:
    """Seconds of the model: a trial takes so long of the `client` and of the `scheduler`, and the `lag` of its worker;
    the scheduler has `idle` to do for each worker every second.
    """

    client: float
    scheduler: float
    idle: float
    lag: float

    def busy(self, rate: float, workers: int) -> tuple[float, float]:
        """The parts of a second that client and scheduler work."""
        return rate * self.client, rate * self.scheduler + workers * self.idle


def modelled(count: int, trials: int, seconds: Sequence[float], cost: Cost) -> float:
    """Trials a second, event by event: one client and one scheduler, each with one thing at a time, and workers.

    The client makes a candidate, the scheduler passes it on, a worker sleeps, the scheduler passes the result on. One
    more candidate is out than there are workers. Half of the scheduler's time is for each way.
    """
    takes = np.random.default_rng(0).choice(np.array(seconds), trials)
    left = 1 - cost.idle * count  # of the scheduler's time
    if left <= 0:
        return 0.0
    way, free = cost.scheduler / left / 2, {"client": 0.0, "scheduler": 0.0}
    workers = [0.0] * count  # when each is free
    events = [(0.0, k, "make") for k in range(min(count + 1, trials))]
    begun, last = len(events), 0.0

    def served(who: str, at: float, takes: float) -> float:
        free[who] = max(free[who], at) + takes
        return free[who]

    while events:
        at, k, what = heapq.heappop(events)
        if what == "make":
            heapq.heappush(events, (served("client", at, cost.client), k, "there"))
        elif what == "there":
            start = max(served("scheduler", at, way), heapq.heappop(workers))
            end = start + trial(float(takes[k]))["takes"] + cost.lag
            heapq.heappush(workers, end)
            heapq.heappush(events, (end, k, "back"))
        else:
            last = served("scheduler", at, way)
            if begun < trials:
                heapq.heappush(events, (last, begun, "make"))
                begun += 1
    return trials / last


if __name__ == "__main__":
    asyncio.run(workers(sys.argv[1], int(sys.argv[2])))
