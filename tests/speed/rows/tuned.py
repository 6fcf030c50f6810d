"""What the gallery's templates and apache-tvm's meta-schedule find in the same time, and how many trials they make.

The peer may finish the batch of 16 in which its time ends. It does not check results; our trials are checked. Our
search begins with the hand schedule, point 0 of each template.
"""

from __future__ import annotations

import time
from typing import Any

from tvmlab import build, kernels, tune
from tvmlab.kernels import conv2d
from tvmlab.target import Target
from tvmlab.target.llvm import jit
from tvmlab.tune.search.annealing import Search

from ..bench import Bench, Row, agree, random_arrays
from ..peers import Missing
from ..rounds import Timer, ratio, timer

TITLE = "Tuned in the same time"
WORK: dict[str, tuple[str, dict[str, Any]]] = {
    "matmul 1024": ("matmul", {"m": 1024, "n": 1024, "k": 1024}),
    **{layer: ("conv2d", conv2d.SHAPES[layer]) for layer in ("C2", "C6", "C9", "C12")},
}
REPEATS = 3  # of a trial that counts
CORES = 2


def run(bench: Bench, row: Row) -> None:
    row.heads = ("what", "to meta-schedule", "to the hand schedule", "GFLOP/s", "of peak", "trials", "its trials")
    row.notes.append(f"Each was given {bench.seconds:g} s; trials: valid ones and the seconds they took.")
    found = {name: compared(bench, row, name, *work) for name, work in WORK.items()}
    text = ", ".join(f"{name} {'-' if x is None else f'{x:.2f}'}" for name, x in found.items())
    known = [x for x in found.values() if x is not None]
    met = min(known) >= 1 if known else None
    trials_per_second(bench, row)  # last: the peer's process keeps the threads that it has once used
    row.check(f"tuned for {bench.seconds:g} s, one thread", "at least as fast as meta-schedule's", text, met)


def searched(bench: Bench, task: Any, threads: int) -> Any:
    return tune.run(task, seconds=bench.seconds, search=Search(task, start=[0]), setup={"threads": threads})


def trials_per_second(bench: Bench, row: Row) -> None:
    """Different programs, compiled, right and timed several times, of a product of 512 on two cores."""
    shape = {"m": 512, "n": 512, "k": 512}
    start = time.perf_counter()
    result = searched(bench, kernels.task("matmul", "llvm", **shape), CORES)
    took = time.perf_counter() - start
    good = {r.trace for r in result.records if r.ok and r.check == "ok" and len(r.times) >= REPEATS}
    rate, said = len(good) / took, asked(bench, "matmul", "matmul", shape, CORES)
    against = f"meta-schedule {said['valid'] / said['seconds']:.2f}" if said else "meta-schedule is missing"
    row.check(f"trials per second, matmul 512, {CORES} cores", "5", f"{rate:.1f}; {against}", rate >= 5)


def asked(bench: Bench, name: str, operator: str, shape: dict[str, Any], threads: int) -> dict[str, Any]:
    """What the peer says of its trials, once its result is right; why there is none is reported, the rest goes on."""
    peer = bench.peer("tvm")
    if peer is None:
        return {}
    *inputs, _ = random_arrays(kernels.get(operator).declare(**shape))
    cpu = jit.settings(Target("llvm")).cpu
    try:
        result = peer.prepare(name, inputs, what="tune", operator=operator, shape=shape, cpu=cpu, threads=threads,
                              seconds=bench.seconds, seed=0)  # fmt: skip
        agree(f"meta-schedule's {name}", result, kernels.get(operator).reference(*inputs, **shape))
    except (Missing, AssertionError) as why:
        bench.say(f"  without meta-schedule's {name}: {why}")
        return {}
    said: dict[str, Any] = peer.said
    return said


def compared(bench: Bench, row: Row, name: str, operator: str, shape: dict[str, Any]) -> float | None:
    """How many times as fast as the peer's; None without the peer."""
    kernel, task = kernels.get(operator), kernels.task(operator, "llvm", **shape)
    result = searched(bench, task, 1)
    *inputs, out = random_arrays(kernel.declare(**shape))
    contestants: dict[str, Timer] = {}
    for who, (schedule, args) in {"tuned": result.schedule(), "hand": kernel.cpu(**shape)}.items():
        module = build(schedule, args, "llvm")
        if "set_num_threads" in module.compiled.extra:
            module.set_num_threads(1)
        module(*inputs, out)
        agree(f"{who} {name}", out, kernel.reference(*inputs, **shape))
        contestants[who] = timer(module, *inputs, out)
    said = asked(bench, name, operator, shape, 1)
    if said:
        contestants["tvm"] = bench.peers["tvm"].timer(name)
    times = bench.measure(row, name, contestants)
    against = ratio(times, "tuned", "tvm") if said else None
    trials = f"{sum(r.ok for r in result.records)} in {result.progress.seconds:.0f} s"
    theirs = f"{said['valid']} in {said['seconds']:.0f} s" if said else "-"
    speed = bench.speed(task.flop, times["tuned"])
    row.line(name, against or "-", ratio(times, "tuned", "hand"), *speed, trials, theirs)
    bench.say("    " + ", ".join(f"{knob} {value}" for knob, _, value in result.best.config))
    return against.median if against else None
