"""A space whose every point has been measured, so that searches can be compared without hardware.

`python -m tests.speed.recorded` measures it: each point several times in each of several passes, which take the points
in different orders. What counts is the processor time of one thread, which others on the machine disturb least. It
takes about five minutes a pass; a run that is broken off goes on where it was.
"""

from __future__ import annotations

import gzip
import json
import random
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import tvmlab
from tests.tuned import matmul
from tvmlab.runtime import measure
from tvmlab.runtime.array import aligned

DATA = Path(__file__).with_name("data") / "matmul512.json.gz"
SIZE, PASSES, REPEATS = 512, 3, 5
FLOPS = 2 * SIZE**3


def load() -> dict[str, Any]:
    """`passes`: microseconds of each point, one list per pass; `cpu`, `target`, `size`, `choices`."""
    return json.loads(gzip.decompress(DATA.read_bytes()))  # type: ignore[no-any-return]


def scores(passes: list[list[float]]) -> np.ndarray:
    """GFLOP/s per point: of the median of the passes."""
    return FLOPS / np.median(np.array(passes, dtype=float), axis=0) * 1e-3


def record(partial: Path) -> None:
    task = matmul(SIZE, SIZE, SIZE)
    known = json.loads(partial.read_text()) if partial.exists() else [{} for _ in range(PASSES)]
    rng = np.random.default_rng(0)
    a, b, c = (aligned((SIZE, SIZE), np.dtype("float32")) for _ in range(3))
    a[:], b[:] = rng.random((2, SIZE, SIZE), dtype="float32")
    want = a @ b
    for number, done in enumerate(known):
        order = list(range(len(task.space)))
        random.Random(number).shuffle(order)
        for count, index in enumerate(order):
            if str(index) not in done:
                done[str(index)] = one(task, index, (a, b, c), want)
            if count % 100 == 99:
                partial.write_text(json.dumps(known))
                print(f"pass {number + 1}: {count + 1} of {len(order)}", flush=True)
    passes = [[round(p[str(i)] * 1e6, 1) for i in range(len(task.space))] for p in known]
    found = {"cpu": cpu(), "target": "llvm", "threads": 1, "size": SIZE, "clock": "processor time of the thread",
             "repeats": REPEATS, "choices": task.space.choices, "passes": passes}  # fmt: skip
    DATA.write_bytes(gzip.compress(json.dumps(found, separators=(",", ":")).encode(), mtime=0))


def one(task: Any, index: int, arrays: tuple[Any, ...], want: np.ndarray) -> float:
    schedule, args = task.instantiate(task.space.get(index))
    module = tvmlab.build(schedule, args, "llvm")
    module(*arrays)
    if not np.allclose(arrays[-1], want, rtol=1e-3):
        raise AssertionError(f"point {index} computes something else")

    def clock(number: int) -> float:
        start = time.thread_time_ns()
        for _ in range(number):
            module(*arrays)
        return (time.thread_time_ns() - start) * 1e-9

    return measure.run_by(clock, measure.Timing(number=1, repeat=REPEATS, min_repeat_ms=4)).median


def cpu() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown")


if __name__ == "__main__":
    record(Path(sys.argv[1] if len(sys.argv) > 1 else "recorded.partial.json"))
