"""How long a person waits for the loops: a matmul with ten primitives, from schedule to verified text."""

from __future__ import annotations

from typing import Any

from tvmlab import lower, te
from tvmlab.core import verify
from tvmlab.kernels import matmul

from ..bench import Bench, Row, median_ms
from ..rounds import Spread, timer

TITLE = "Lowering"
BLOCK = 32


def ten_primitives(size: int = 1024) -> tuple[Any, list[Any]]:
    """The last step of TVM's tutorial on matrix products: packed B, a block of C on the side, vectors, threads."""
    a, b = (te.placeholder((size, size), name=x) for x in "AB")
    k = te.reduce_axis((0, size), "k")
    packed = te.compute((size // BLOCK, size, BLOCK), lambda x, y, z: b[y, x * BLOCK + z], name="packed")
    c = te.compute((size, size), lambda i, j: te.sum(a[i, k] * packed[j // BLOCK, k, j % BLOCK], axis=k), name="C")
    s = te.create_schedule(c.op)
    block = s.cache_write(c, "global")
    xo, yo, _, yi = s[c].tile(*s[c].op.axis, BLOCK, BLOCK)
    s[block].compute_at(s[c], yo)
    xc, yc = s[block].op.axis
    ko, ki = s[block].split(s[block].op.reduce_axis[0], factor=4)
    s[block].reorder(ko, xc, ki, yc)
    s[block].vectorize(yc)
    s[block].unroll(ki)
    s[c].parallel(xo)
    s[c].vectorize(yi)
    s[packed].vectorize(s[packed].op.axis[2])
    return s, [a, b, c]


def text(s: Any, args: list[Any]) -> str:
    program = lower(s, args)
    verify.check(program)
    return str(program)


def prefixes(s: Any, args: list[Any]) -> list[str]:
    """The loops after each step, as a person sees them who writes one step after the other."""
    return [str(lower(s.at(step), args)) for step in range(len(s.trace) + 1)]


def run(bench: Bench, row: Row) -> None:
    row.heads = ("what", "steps", "ms: median [quartiles]")
    s, args = ten_primitives()
    assert len(s.trace) == 10
    fast, fast_args = matmul.cpu(m=1024, n=1024, k=1024)
    odd, odd_args = matmul.cpu(m=1000, n=1000, k=1000)
    timed = {
        "lower, verify, print": timer(text, s, args),
        "every prefix": timer(prefixes, s, args),
        "kernels/matmul.py 1024": timer(text, fast, fast_args),
        "kernels/matmul.py 1000": timer(text, odd, odd_args),
    }
    times = bench.measure(row, "lowering", timed, block=0.02)
    steps = [len(s.trace), len(s.trace), len(fast.trace), len(odd.trace)]
    for (what, seconds), n in zip(times.items(), steps):
        row.line(what, n, median_ms(seconds))
    one, every = (Spread.of(times[x]).median * 1e3 for x in ("lower, verify, print", "every prefix"))
    row.check("lower ten primitives to verified text", "under 5 ms", f"{one:.2f} ms", one < 5)
    row.check("all prefixes of the trace", "under 30 ms", f"{every:.1f} ms", every < 30)
