"""The same kernel on two threads against one: its outermost loop over panels is parallel."""

from __future__ import annotations

import os
from typing import Any

from tvmlab.kernels import matmul

from ..bench import Bench, Row, agree, built, random_arrays
from ..rounds import ratio, timer

TITLE = "Two threads"
SIZES = (512, 1024, 2048)


def parallel(size: int) -> tuple[Any, list[Any]]:
    s, args = matmul.cpu(m=size, n=size, k=size)
    product = s[args[2]]
    product.parallel(product.leaf_iter_vars[0])
    return s, args


def run(bench: Bench, row: Row) -> None:
    row.heads = ("product", "two threads to one")
    if (os.cpu_count() or 1) < 2:
        row.notes.append("This machine has one core.")
        return
    for size in SIZES:
        modules = {}
        for n in (1, 2):
            module, args, _ = built(lambda size=size: parallel(size), "llvm")
            module.set_num_threads(n)
            a, b, c = random_arrays(args)
            module(a, b, c)
            agree(f"{n} threads, {size}", c, a @ b)
            modules[f"{n} threads"] = timer(module, a, b, c)
        times = bench.measure(row, f"threads {size}", modules, alone=0)
        row.line(f"square {size}", ratio(times, "2 threads", "1 threads"))
