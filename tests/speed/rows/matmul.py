"""Matrix products on one thread against NumPy's BLAS: plain row-major inputs, packing inside the timed call."""

from __future__ import annotations

from typing import Any

import numpy as np

from tvmlab.kernels import matmul
from tvmlab.runtime.array import aligned
from tvmlab.target import Target
from tvmlab.target.llvm import jit

from ..bench import Bench, Row, agree, built, random_arrays
from ..rounds import Timer, ratio, timer

TITLE = "Matrix products"
SQUARE = [f"square {n}" for n in (256, 512, 1024, 2048)]
SAME_GENERATOR = ("A transposed", "batched", "float64")
MORE = {
    "small 64": {"m": 64, "n": 64, "k": 64},
    "small 100": {"m": 100, "n": 100, "k": 100},
    "1000": {"m": 1000, "n": 1000, "k": 1000},
    "500 x 300 x 700": {"m": 500, "n": 300, "k": 700},
    "B transposed": {"m": 1024, "n": 1024, "k": 1024, "transpose_b": True},
    "A transposed 2048": {"m": 2048, "n": 2048, "k": 2048, "transpose_a": True},
    "batched 64 x 64^3": {"m": 64, "n": 64, "k": 64, "batch": 64},
    "float64 2048": {"m": 2048, "n": 2048, "k": 2048, "dtype": "float64"},
}
TARGETS = {"llvm": 0.90, "numba": 0.80}


def numpys(a: Any, b: Any, shape: dict[str, Any]) -> tuple[Timer, Any]:
    """NumPy's product into an array that is there, and that array."""
    left = a.swapaxes(-1, -2) if shape.get("transpose_a") else a
    right = b.swapaxes(-1, -2) if shape.get("transpose_b") else b
    out = np.matmul(left, right, out=aligned((*a.shape[:-2], left.shape[-2], right.shape[-1]), a.dtype))
    return timer(lambda: np.matmul(left, right, out=out)), out


def measured(bench: Bench, row: Row, name: str, shape: dict[str, Any]) -> dict[str, Any]:
    """Time one product; the ratio of each of our targets to NumPy."""
    contestants: dict[str, Timer] = {}
    compiled = {}
    a, b, _ = random_arrays(matmul.declare(**shape))
    contestants["numpy"], expected = numpys(a, b, shape)
    for target in TARGETS:
        module, _, compiled[target] = built(lambda: matmul.cpu(**shape), target)
        c = aligned(expected.shape, expected.dtype)
        module(a, b, c)
        agree(f"{target}'s {name}", c, expected)
        contestants[target] = timer(module, a, b, c)
    if name in SQUARE:
        cpu = jit.settings(Target("llvm")).cpu
        contestants |= bench.prepared("tvm", name, [a, b], expected, what="run", shape=shape, cpu=cpu)
    times = bench.measure(row, name, contestants)
    flops = 2 * shape["m"] * shape["n"] * shape["k"] * max(1, shape.get("batch", 0))
    ratios = {target: ratio(times, target, "numpy") for target in TARGETS}
    against_tvm = str(ratio(times, "llvm", "tvm")) if "tvm" in times else "-"
    rate, share = bench.speed(flops, times["llvm"], shape.get("dtype", "float32"))
    ms = [f"{compiled[target]:.0f}" for target in TARGETS]
    row.line(name, ratios["llvm"], ratios["numba"], against_tvm, rate, share, *ms)
    return ratios


def run(bench: Bench, row: Row) -> None:
    row.heads = (
        "product", "llvm to NumPy", "numba to NumPy", "llvm to TVM", "GFLOP/s (llvm)", "of peak", "llvm ms", "numba ms",
    )  # fmt: skip
    found = {name: measured(bench, row, name, shape) for name, shape in (matmul.SHAPES | MORE).items()}
    for target, must in TARGETS.items():
        worst = min(SQUARE, key=lambda name: found[name][target].median)
        text = ", ".join(f"{found[name][target].median:.2f}" for name in SQUARE)
        passed = found[worst][target].median >= must
        row.check(f"matmul 256, 512, 1024, 2048, {target}", f"{must:.2f} of NumPy each", text, passed)
    text = ", ".join(f"{name} {found[name]['llvm'].median:.2f}" for name in SAME_GENERATOR)
    passed = min(found[name]["llvm"].median for name in SAME_GENERATOR) >= 0.80
    row.check("the same generator, llvm", "0.80 of NumPy each", text, passed)
