"""Temporary memory of the kernels: what the schedule asks for, and the most that exists at once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tvmlab import lower
from tvmlab.core.node import Alloc, Buffer, Stmt
from tvmlab.core.walk import children
from tvmlab.kernels import conv2d, depthwise_conv2d, matmul
from tvmlab.lowering import pipeline
from tvmlab.lowering.memory import buffer_bytes, peak_bytes

from ..bench import Bench, Row

TITLE = "Memory"
REGISTERS = ("local",)  # scopes that are registers when the code runs


def allocated(s: Stmt) -> Iterator[Buffer]:
    if isinstance(s, Alloc):
        yield s.buffer
    for child in children(s):
        if isinstance(child, Stmt):
            yield from allocated(child)


def kernels() -> dict[str, tuple[Any, list[Any]]]:
    return {
        **{f"matmul, {name}": matmul.cpu(**matmul.SHAPES[name]) for name in ("square 1024", "square 2048")},
        "matmul, A transposed": matmul.cpu(**matmul.SHAPES["A transposed"]),
        **{f"conv2d {name}": conv2d.cpu(**conv2d.SHAPES[name]) for name in ("C1", "C2", "C7")},
        "depthwise D2": depthwise_conv2d.cpu(**depthwise_conv2d.SHAPES["D2"]),
    }


def run(bench: Bench, row: Row) -> None:
    row.heads = ("kernel", "the schedule's stages, KiB", "peak at run time, KiB", "its temporaries")
    met = True
    for name, (s, args) in kernels().items():
        asked = pipeline.loops(s.state, args)
        wanted = {b.name: buffer_bytes(b) for b in allocated(asked.entry.body) if b.scope not in REGISTERS}
        flat = pipeline.run(lower(s, args), pipeline.FLAT)
        kept = {b.name: buffer_bytes(b) for b in allocated(flat.entry.body) if b.scope not in REGISTERS}
        peak = peak_bytes(flat)
        met = met and sum(kept.values()) <= sum(wanted.values()) and max(kept.values()) <= max(wanted.values())
        texts = ", ".join(f"{b} {size / 1024:.0f}" for b, size in kept.items())
        row.line(name, f"{sum(wanted.values()) / 1024:.0f}", f"{peak / 1024:.1f}", texts)
    must = "nothing larger than the schedule asks for"
    row.check("temporary memory", must, "as the schedule asks" if met else "more than the schedule asks", met)
