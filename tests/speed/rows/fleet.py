"""How a session scales with its workers, and what stops it: recorded times, no compiling (tests/speed/fleet_sim.py)."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from .. import fleet_sim as sim
from .. import recorded
from ..bench import Bench, Row

TITLE = "A fleet, simulated"
REAL = (1, 4, 16, 64, 256)  # workers of dask that are there; a thousand do not start in five minutes on two cores
MODEL = (1, 4, 16, 64, 256, 1000)
ENOUGH = 0.95  # of what the limit allows: saturated


def run(bench: Bench, row: Row) -> None:
    row.heads = ("workers", "trials/s: measured", "modelled", "without limits", "session busy", "scheduler busy")
    data = recorded.load()
    seconds = (np.median(np.array(data["passes"]), axis=0) * 1e-6).tolist()
    mean = float(np.mean([sim.trial(x)["takes"] for x in seconds]))
    found = {n: sim.measured(n, max(60, 6 * n), seconds) for n in REAL}
    for n, f in found.items():
        bench.say(f"  {n} workers: {f.rate:.1f} trials/s")
    last = found[REAL[-2]]
    cost = sim.Cost(last.client, last.scheduler, found[REAL[-1]].idle, found[1].lag)
    for n in MODEL:
        row.line(n, *cells(n, found.get(n), sim.modelled(n, 20 * n + 200, seconds, cost), mean, cost))
    row.notes += notes(mean, cost, seconds)
    modelled = sim.modelled(16, 520, seconds, cost)
    more = found[16].rate / found[1].rate
    row.check("16 simulated workers against 1", "at least 8 times the trials", f"{more:.1f} times", more >= 8)
    row.check("a fleet's model against 16 real workers", "within 25%", f"{modelled / found[16].rate - 1:+.0%}",
              abs(modelled / found[16].rate - 1) < 0.25)  # fmt: skip
    rising = [sim.modelled(n, 20 * n + 200, seconds, cost) for n in MODEL[:3]]
    steps = ", ".join(f"{r:.0f}" for r in rising)
    row.check("a fleet's model, 1 to 16 workers", "each step more", steps, all(a < b for a, b in pairwise(rising)))


def cells(n: int, f: Any, modelled: float, mean: float, cost: sim.Cost) -> tuple[str, ...]:
    client, scheduler = cost.busy(modelled, n)
    return (f"{f.rate:.1f}" if f else "", f"{modelled:.1f}", f"{n / mean:.1f}", f"{client:.0%}", f"{scheduler:.0%}")


def notes(mean: float, cost: sim.Cost, seconds: list[float]) -> list[str]:
    free = sim.Cost(0.0, cost.scheduler, cost.idle, cost.lag)
    rates = {n: sim.modelled(n, 10 * n + 200, seconds, free) for n in (64, 128, 256, 512, 1000)}
    shown = ", ".join(f"{r:.0f} with {n}" for n, r in rates.items())
    return [
        f"A trial is a sleep of {mean:.2f} s on average: {sim.COMPILES:g} s, and {sim.RUNS} runs of the recorded time"
        " of a point of the matmul 512. *Measured*: a session, dask's scheduler and that many of its workers, which"
        " share two processes and this machine's cores with the session. *Modelled*: event by event, with what was"
        f" measured: a trial takes {1e3 * cost.client:.1f} ms of the session's process, which makes the candidates,"
        f" {1e3 * cost.scheduler:.2f} ms of the scheduler, which has {1e3 * cost.idle:.2f} ms to do for each worker and"
        f" second besides, and {1e3 * cost.lag:.0f} ms on the way. The session's process is the limit first, at"
        f" {1 / cost.client:.0f} trials a second.",
        f"Real workers end at {REAL[-1]}: a thousand would keep these cores busy for minutes with starting alone."
        f" Without the session's limit (modelled, trials a second): {shown}; the scheduler alone would pass on"
        f" {1 / cost.scheduler:.0f} of them.",
    ]
