"""The convolutions C1 to C12 of ResNet-18 on one thread against PyTorch's oneDNN."""

from __future__ import annotations

from typing import Any

from tvmlab.kernels import conv2d

from ..bench import Bench, Row, agree, built, random_arrays
from ..rounds import Spread, geometric_mean, ratio, timer

TITLE = "Convolutions"


def run(bench: Bench, row: Row) -> None:
    layers(bench, row, conv2d, lambda shape: 1, "conv2d C1 to C12")


def layers(bench: Bench, row: Row, operator: Any, groups: Any, what: str) -> None:
    """Time every layer of an operator: NCHW in and out; who packs the weights does so within the call."""
    row.heads = ("layer", "llvm to PyTorch", "GFLOP/s", "of peak", "llvm us", "PyTorch us", "compile ms")
    found: dict[str, Spread] = {}
    for name, shape in operator.SHAPES.items():
        module, args, compiled = built(lambda shape=shape: operator.cpu(**shape), "llvm")
        data, weight, out = random_arrays(args)
        expected = operator.reference(data, weight, **shape)
        module(data, weight, out)
        agree(name, out, expected)
        how = {"stride": shape["stride"], "padding": shape["padding"], "groups": groups(shape)}
        peer = bench.prepared("torch", name, [data, weight], expected, what="conv2d", **how)
        times = bench.measure(row, name, {"llvm": timer(module, data, weight, out), **peer})
        flops = 2 * out.size * weight[0].size
        us = [f"{1e6 * Spread.of(times[x]).median:.0f}" if x in times else "-" for x in ("llvm", "torch")]
        if peer:
            found[name] = ratio(times, "llvm", "torch")
        row.line(name, found.get(name, "-"), *bench.speed(flops, times["llvm"]), *us, f"{compiled:.0f}")
    if not found:
        row.check(what, "geometric mean 0.7 of PyTorch", "PyTorch is missing", None)
        return
    mean = geometric_mean([x.median for x in found.values()])
    worst = min(found, key=lambda name: found[name].median)
    row.check(what, "geometric mean 0.7 of PyTorch", f"{mean:.2f}; worst {worst} {found[worst]}", mean >= 0.7)
