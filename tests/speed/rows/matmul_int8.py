"""Products of bytes in int32 on one thread against oneDNN's through PyTorch: row-major inputs, packed in the call.

PyTorch has two: `_int_mm` takes int8 times int8 to int32 and packs in the call; the quantised linear layer takes uint8
times int8 with weights that were packed before, to float32. The faster of the two in a round is what counts.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tvmlab.kernels import matmul_int8
from tvmlab.runtime.array import aligned

from ..bench import Bench, Row, agree, built
from ..rounds import Spread, Timer, ratio, timer

TITLE = "Matrix products of bytes"
MUST = 0.60
PEERS = ("int_mm", "qlinear")


def drawn(n: int) -> tuple[Any, Any]:
    """uint8 and int8 matrices of all values there are."""
    draw = np.random.default_rng(0)
    a, b = aligned((n, n), np.dtype("uint8")), aligned((n, n), np.dtype("int8"))
    a[...], b[...] = draw.integers(0, 256, (n, n)), draw.integers(-128, 128, (n, n))
    return a, b


def theirs(bench: Bench, name: str, a: Any, b: Any, expected: Any) -> dict[str, Timer]:
    """PyTorch's products; the one of signed bytes gets the left side less 128."""
    signed = (a.astype("int16") - 128).astype("int8")
    found: dict[str, Timer] = {}
    for what, left, result in (
        ("int_mm", signed, expected - 128 * b.astype("int32").sum(axis=0)),
        ("qlinear", a, expected.astype("float32")),
    ):
        made = bench.prepared("torch", f"{what} {name}", [left, b], result, what=what)
        if made:
            found[what] = made["torch"]
    return found


def measured(bench: Bench, row: Row, name: str, shape: dict[str, int]) -> Spread | None:
    """Time one product; the ratio to the faster of the peers."""
    a, b = drawn(shape["n"])
    expected = matmul_int8.reference(a, b)
    module, _, compiled = built(lambda: matmul_int8.cpu(**shape), "llvm")
    c = aligned(expected.shape, expected.dtype)
    module(a, b, c)
    agree(f"llvm's {name}", c, expected)
    times = bench.measure(row, name, {"llvm": timer(module, a, b, c), **theirs(bench, name, a, b, expected)})
    ratios = {p: ratio(times, "llvm", p) for p in PEERS if p in times}
    rate = 2 * shape["m"] * shape["n"] * shape["k"] / float(np.median(times["llvm"])) / 1e9
    row.line(name, *[ratios.get(p, "-") for p in PEERS], f"{rate:.0f}", f"{compiled:.0f}")
    return min(ratios.values(), key=lambda r: r.median) if ratios else None


def run(bench: Bench, row: Row) -> None:
    row.heads = ("product", "llvm to _int_mm", "llvm to quantised linear", "Gop/s (llvm)", "llvm ms")
    found = {name: measured(bench, row, name, shape) for name, shape in matmul_int8.SHAPES.items()}
    what, must = "uint8 x int8 matmul 256, 512, 1024, 2048", f"{MUST:.2f} of oneDNN's faster one each"
    worst = [r.median for r in found.values() if r is not None]
    if len(worst) < len(found):
        row.check(what, must, "PyTorch is missing", None)
        return
    row.check(what, must, ", ".join(f"{x:.2f}" for x in worst), min(worst) >= MUST)
