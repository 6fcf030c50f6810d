"""Kernels without a GPU: the texts, what was predicted of them, and OpenCL on the CPU against a hand-written kernel.

The hand-written kernel (peers/matmul.cl) has the same tiles: 64 x 64 to a block, 4 x 4 to a thread, 16 deep. Both run
in turns in one process, on one device; times are of the kernels, by the device's events.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from tvmlab import build, kernels, lower, te
from tvmlab.core.node import Barrier
from tvmlab.core.walk import walk
from tvmlab.face.api import for_target, leaving_out
from tvmlab.kernels import matmul, matmul_f16
from tvmlab.lowering.config import DEFAULT
from tvmlab.runtime import gpu
from tvmlab.runtime.gpu import Launcher
from tvmlab.target import Target
from tvmlab.target.cuda_c import check
from tvmlab.target.gpu import DeviceCode, Kernel, Param, limits

from ..bench import Bench, Row, agree, median_ms
from ..rounds import Spread, Timer, ratio, timer

TITLE = "GPU kernels, without a GPU"
HAND = Path(__file__).parents[1] / "peers" / "matmul.cl"
SIZES = (256, 512, 1024)
LANGUAGES = ("cuda_c", "opencl", "metal", "cuda")
ARCHITECTURES = ("sm_80", "sm_90")
NOTE = (
    "No machine with a GPU could be had so far: `python -m tests.cuda.on_gpu`, which compares with cuBLAS and cuDNN on "
    "one, has only run its simulated part, and nothing here is a GPU's time."
)


def run(bench: Bench, row: Row) -> None:
    row.heads = ("what", "measured")
    texts(bench, row)
    predictions(row)
    on_opencl(bench, row)
    row.notes.append(NOTE)


def texts(bench: Bench, row: Row) -> None:
    """From the schedule to four texts, each lowered, verified and checked against its device's limits."""
    s, args = matmul.gpu(m=1024, n=1024, k=1024)
    every = lambda: [build(s, args, name).source for name in LANGUAGES]
    times = bench.measure(row, "four texts", {"all": timer(every)}, block=0.05)
    row.line("the matmul's four texts, lowered, verified, checked, ms", median_ms(times["all"]))
    took = Spread.of(times["all"]).median * 1e3
    row.check("generate and check the GPU matmul, four texts", "under 60 ms", f"{took:.1f} ms", took < 60)


# ---------------------------------------------------------------- what ptxas says


def predictions(row: Row) -> None:
    """Shared memory, and whether there is a barrier, of the gallery's kernels at published shapes."""
    if check.missing():
        row.check("shared memory and barriers, predicted", "as ptxas says", f"no NVRTC: {check.missing()}", None)
        return
    wrong, count = [], 0
    for name, s, args in gallery():
        target = Target("cuda_c")
        program = for_target(lower(s, args, config=leaving_out(DEFAULT, target)), target, leaving_out(DEFAULT, target))
        for arch in ARCHITECTURES:
            used = check.check(target.kind.source(program, target), arch)
            for fn in program.functions[1:]:
                predicted = limits.shared_bytes(fn), int(any(isinstance(x, Barrier) for x in walk(fn.body)))
                found, count = used[fn.name], count + 1
                wrong += [] if predicted == (found.shared, found.barriers) else [f"{name} {arch}"]
                row.line(f"{name}, {fn.name}, {arch}", f"{found.registers} registers, {found.shared} bytes shared, "
                         f"{found.spill_stores + found.spill_loads} bytes spilled")  # fmt: skip
    said = f"{count - len(wrong)} of {count} kernels" + (f"; not {', '.join(wrong)}" if wrong else "")
    row.check("shared memory and barriers, predicted", "as ptxas says", said, not wrong)


def gallery() -> list[tuple[str, Any, list[Any]]]:
    shapes = {"conv2d": ("C2", "C6", "C9"), "depthwise_conv2d": ("D5",), "softmax": ("a batch of classes",)}
    found = [("matmul 2048", *matmul.gpu(m=2048, n=2048, k=2048))]
    found.append(("matmul 2048, tensor cores", *matmul_f16.gpu(m=2048, n=2048, k=2048)))
    for name, chosen in shapes.items():
        kernel = kernels.get(name)
        for shape in chosen:
            args = kernel.declare(**kernel.SHAPES[shape])
            outs = [a for a in args if not isinstance(a.op, te.PlaceholderOp)]
            found.append((f"{name} {shape}", kernel.schedule_gpu(outs), args))
    return found


# ---------------------------------------------------------------- OpenCL


def on_opencl(bench: Bench, row: Row) -> None:
    what, must = f"OpenCL matmul {', '.join(map(str, SIZES))}", "not slower than a hand-written kernel"
    there = gpu.listing("opencl")
    if not there.devices:
        row.check(what, must, f"no device: {there.why}", None)
        return
    row.line("device", there.devices[0])
    ratios = [against_hand(bench, row, n) for n in SIZES]
    measured = ", ".join(f"{r.median:.2f} [{r.low:.2f}, {r.high:.2f}]" for r in ratios)
    row.check(what, must, measured, min(r.high for r in ratios) >= 1.0)


def against_hand(bench: Bench, row: Row, n: int) -> Spread:
    s, args = matmul.gpu(m=n, n=n, k=n)
    ours = build(s, args, "opencl")
    draw = np.random.default_rng(0)
    a, b = (draw.random((n, n), dtype="float32") for _ in range(2))
    c, d = np.zeros((n, n), "float32"), np.zeros((n, n), "float32")
    hand = hand_written(n, ours)
    ours(a, b, c)
    hand.call([a, b, d], [])
    agree("the generated kernel", c, a @ b)
    agree("the hand-written kernel", d, a @ b)
    contestants = {"tvmlab": by_events(ours._launcher, [a, b, c]), "hand": by_events(hand, [a, b, d])}
    times = bench.measure(row, f"opencl {n}", contestants, block=0.02, alone=0.0)
    found = ratio(times, "tvmlab", "hand")
    row.line(f"matmul {n}: ms of the kernel, hand-written / ours", f"{median_ms(times['tvmlab'])}, {found}")
    return found


def hand_written(n: int, like: Any) -> Launcher:
    """The kernel of peers/matmul.cl, launched as ours is."""
    params = (Param("A", "float32", True), Param("B", "float32", True), Param("C", "float32", True, True))
    options = tuple(f"-D{x}={n}" for x in "MNK")
    code = DeviceCode("opencl", HAND.read_text(), (Kernel("main_C", params),), options=options)
    source = code.source.replace("void matmul(", "void main_C(")
    return Launcher(DeviceCode("opencl", source, code.kernels, options=options), like.compiled.extra["host"])


def by_events(launcher: Launcher, arrays: list[Any]) -> Timer:
    """Seconds of the kernels, by the device; what the process did meanwhile says nothing about it."""

    def run(count: int) -> tuple[float, float]:
        with launcher.timed(arrays, []) as clock:
            seconds = clock(count)
        return seconds, seconds

    return run
