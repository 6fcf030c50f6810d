"""From the expression to code that runs: scheduling, lowering, LLVM. Nothing comes from the disk cache."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvmlab import build
from tvmlab.kernels import matmul
from tvmlab.target import Target
from tvmlab.target.llvm import jit

from ..bench import Bench, Row, median_ms
from ..rounds import ratio, timer
from .lowering import ten_primitives

TITLE = "Compiling"


def kernels() -> dict[str, Callable[[], Any]]:
    fast = lambda m, n, k: lambda: matmul.cpu(m=m, n=n, k=k)
    return {
        "ten primitives": ten_primitives,
        "kernels/matmul.py 1024": fast(1024, 1024, 1024),
        "kernels/matmul.py 500 x 300 x 700": fast(500, 300, 700),
    }


def run(bench: Bench, row: Row) -> None:
    row.heads = ("what", "ms: median [quartiles]", "TVM's time / ours")
    cpu = jit.settings(Target("llvm")).cpu
    timed = {name: timer(lambda make=make: build(*make(), "llvm")) for name, make in kernels().items()}
    peer = bench.prepared("tvm", "build", (), None, what="build", shape=dict.fromkeys("mnk", 1024), cpu=cpu)
    times = bench.measure(row, "compile", {**timed, **peer}, block=0.01)
    for name in timed:
        against = str(ratio(times, name, "tvm")) if peer else "-"
        row.line(name, median_ms(times[name]), against)
    if peer:
        row.line("apache-tvm, its blocked TensorIR matmul", median_ms(times["tvm"]), "1")
    found = ratio(times, "ten primitives", "tvm") if peer else None
    must = "at or below apache-tvm"
    measured = f"{median_ms(times['ten primitives'])} ms" + (f", TVM's / ours {found}" if found else "")
    row.check("compile that kernel for llvm, lowering included", must, measured, found and found.median >= 1)
