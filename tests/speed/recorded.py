"""A space whose every point has been measured, so that searches can be compared without hardware.

`python -m tests.speed.recorded` measures it: each point several times in each of several passes, which take the points
in different orders; and a few points of the same operator with other shapes, to see what a model carries over. What
counts is the processor time of one thread, which others on the machine disturb least. It takes about five minutes a
pass; a run that is broken off goes on where it was.
"""

from __future__ import annotations

import gzip
import json
import math
import random
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import tvmlab
from tests.tuned import matmul
from tvmlab.runtime import measure
from tvmlab.runtime.array import aligned

DATA = Path(__file__).with_name("data") / "matmul512.json.gz"
SHAPE = (512, 512, 512)
OTHERS = ((256, 256, 256), (128, 1024, 256), (512, 128, 1024))
FEW = 200  # points of each of the others
PASSES, REPEATS = 3, 5


def load() -> dict[str, Any]:
    """`passes`: microseconds of each point, one list per pass; `others`: shape, points and microseconds."""
    return json.loads(gzip.decompress(DATA.read_bytes()))  # type: ignore[no-any-return]


def scores(passes: list[list[float]], shape: Sequence[int] = SHAPE) -> np.ndarray:
    """GFLOP/s per point: of the median of the passes."""
    return 2e-3 * math.prod(shape) / np.median(np.array(passes, dtype=float), axis=0)


def record(partial: Path) -> None:
    size = len(matmul(*SHAPE).space)
    known = json.loads(partial.read_text()) if partial.exists() else {}
    for number in range(PASSES):
        order = random.Random(number).sample(range(size), size)
        timed(SHAPE, order, known.setdefault(f"pass {number}", {}), lambda: partial.write_text(json.dumps(known)))
    for number, shape in enumerate(OTHERS):
        order = random.Random(number).sample(range(size), FEW)
        timed(shape, order, known.setdefault(str(shape), {}), lambda: partial.write_text(json.dumps(known)))
    found = {
        "cpu": cpu(), "target": "llvm", "threads": 1, "clock": "processor time of the thread", "repeats": REPEATS,
        "shape": SHAPE, "choices": matmul(*SHAPE).space.choices,
        "passes": [[rounded(known[f"pass {n}"][str(i)]) for i in range(size)] for n in range(PASSES)],
        "others": [other(shape, known[str(shape)]) for shape in OTHERS],
    }  # fmt: skip
    DATA.write_bytes(gzip.compress(json.dumps(found, separators=(",", ":")).encode(), mtime=0))


def other(shape: Sequence[int], seconds: dict[str, float]) -> dict[str, Any]:
    return {"shape": shape, "points": list(map(int, seconds)), "times": list(map(rounded, seconds.values()))}


def rounded(seconds: float) -> float:
    return round(seconds * 1e6, 1)


def timed(shape: Sequence[int], order: Sequence[int], done: dict[str, float], save: Callable[[], Any]) -> None:
    """Measure the points that are not in `done`."""
    task, (m, n, k) = matmul(*shape), shape
    rng = np.random.default_rng(0)
    a, b, c = (aligned(s, np.dtype("float32")) for s in ((m, k), (k, n), (m, n)))
    a[:], b[:] = rng.random((m, k), dtype="float32"), rng.random((k, n), dtype="float32")
    want = a @ b
    for count, index in enumerate(order):
        if str(index) not in done:
            done[str(index)] = one(task, index, (a, b, c), want)
        if count % 100 == 99:
            save()
            print(f"{shape}: {count + 1} of {len(order)}", flush=True)
    save()


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
