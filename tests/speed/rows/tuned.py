"""What the gallery's templates, the space of any expression and apache-tvm's meta-schedule find in the same time.

The peer may finish the batch of 16 in which its time ends. It does not check results; our trials are checked. Of the
templates our search begins with the hand schedule, their point 0; without a template there is none.
"""

from __future__ import annotations

import time
from typing import Any

from tvmlab import build, kernels, tune
from tvmlab.kernels import conv2d
from tvmlab.target import Target
from tvmlab.target.llvm import jit

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
    row.heads = ("what", "by", "to meta-schedule", "to the hand schedule", "GFLOP/s", "of peak", "trials", "its trials")
    row.notes.append(f"Each was given {bench.seconds:g} s; trials: valid ones and the seconds they took.")
    row.notes.append("By the gallery's template, whose search begins with the hand schedule, or without a template.")
    found = {name: compared(bench, row, name, *work) for name, work in WORK.items()}
    trials_per_second(bench, row)  # last: the peer's process keeps the threads that it has once used
    for k, how in enumerate(("by the gallery's template", "without a template")):
        text = ", ".join(f"{name} {f'{x[k]:.2f}' if x else '-'}" for name, x in found.items())
        known = [x[k] for x in found.values() if x]
        row.check(f"tuned for {bench.seconds:g} s, one thread, {how}", "at least as fast as meta-schedule's", text,
                  min(known) >= 1 if known else None)  # fmt: skip


def searched(bench: Bench, task: Any, threads: int) -> Any:
    return tune.run(task, seconds=bench.seconds, setup={"threads": threads})


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


def compared(bench: Bench, row: Row, name: str, operator: str, shape: dict[str, Any]) -> list[float]:
    """How many times as fast as the peer's, with a template and without; [] without the peer."""
    kernel, tensors = kernels.get(operator), kernels.get(operator).declare(**shape)
    results = {
        "template": searched(bench, kernels.task(operator, "llvm", **shape), 1),
        "none": searched(bench, tune.Task.of(tensors[-1], list(tensors), "llvm"), 1),
    }
    *inputs, out = random_arrays(tensors)
    contestants: dict[str, Timer] = {}
    made = {who: result.schedule() for who, result in results.items()}
    for who, (schedule, args) in {**made, "hand": kernel.cpu(**shape)}.items():
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
    theirs = f"{said['valid']} in {said['seconds']:.0f} s" if said else "-"
    for who, result in results.items():
        against = ratio(times, who, "tvm") if said else "-"
        trials = f"{sum(r.ok for r in result.records)} in {result.progress.seconds:.0f} s"
        speed = bench.speed(result.task.flop, times[who])
        row.line(name, who, against, ratio(times, who, "hand"), *speed, trials, theirs)
        bench.say("    " + ", ".join(f"{knob} {value}" for knob, _, value in result.best.config))
    return [ratio(times, who, "tvm").median for who in results] if said else []
