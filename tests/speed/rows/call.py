"""What a call costs before the code runs: three small arrays, checked, against the bare ctypes call."""

from __future__ import annotations

import numpy as np

from tvmlab import build, te

from ..bench import Bench, Row
from ..rounds import Spread, timer

TITLE = "Calls"


def run(bench: Bench, row: Row) -> None:
    row.heads = ("what", "ns: median [quartiles]")
    a, b = (te.placeholder((16,), name=x) for x in "AB")
    c = te.compute((16,), lambda i: a[i] + b[i], name="C")
    module = build(te.create_schedule(c.op), [a, b, c], "llvm")
    arrays = [np.arange(16, dtype="float32") for _ in range(3)]
    module(*arrays)
    assert (arrays[2] == 2 * arrays[0]).all()
    raw = module.compiled.extra["raw"]
    at = [x.ctypes.data for x in arrays]
    timed = {
        "module(a, b, c), arguments checked": timer(module, *arrays),
        "ctypes, addresses taken from the arrays": timer(lambda: raw(*[x.ctypes.data for x in arrays])),
        "ctypes, addresses at hand": timer(raw, *at),
        "numpy.add(a, b, out=c)": timer(lambda: np.add(arrays[0], arrays[1], out=arrays[2])),
    }
    times = bench.measure(row, "call", timed)
    for what, seconds in times.items():
        s = Spread.of(seconds)
        row.line(what, f"{1e9 * s.median:.0f} [{1e9 * s.low:.0f}, {1e9 * s.high:.0f}]")
    us = 1e6 * Spread.of(times["module(a, b, c), arguments checked"]).median
    row.check("call of a compiled module, three arrays", "under 5 us", f"{us:.2f} us", us < 5)
