"""Random schedules for threads: every stage runs in a kernel, with shared and local copies at random places.

`random_bound(seed)` gives a case whose schedule owes nothing (as far as passes before `sync_threads` can say): a small
program of odd extents, its stages inlined, bound to blocks and threads of their own, or computed inside another stage's
kernel in a scope of their own, cooperatively or by each thread, perhaps double buffered, aligned, in virtual threads.
"""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tests.traces import Case, _array, blur, conv, matmul, transpose
from tvmlab import te
from tvmlab.core.error import LabError
from tvmlab.face.api import create_schedule
from tvmlab.lowering.config import Config
from tvmlab.lowering.pipeline import readable

SIZES = (2, 3, 5, 6, 7, 8, 12, 13)
ATTEMPTS = 60
BEFORE = Config(disabled=frozenset({"sync_threads"}))


def chain(rng: random.Random) -> Case:
    """Three elementwise stages, the last one mirrored: each reads elements that other threads compute."""
    n = rng.choice(SIZES)
    A = te.placeholder((n,), name="A")
    X = te.compute((n,), lambda i: A[i] * 2.0, name="X")
    Y = te.compute((n,), lambda i: X[i] + X[n - 1 - i], name="Y")
    Z = te.compute((n,), lambda i: Y[n - 1 - i] - X[i], name="Z")
    a = _array(rng, n)
    x = 2 * a
    return Case(create_schedule(Z.op), [A, Z], [a], [(x + x[::-1])[::-1] - x])


def rows(rng: random.Random) -> Case:
    """Sums of rows, taken off each row: a reduction that a whole row reads."""
    m, n = rng.choice(SIZES), rng.choice(SIZES)
    A = te.placeholder((m, n), name="A")
    k = te.reduce_axis((0, n), name="k")
    S = te.compute((m,), lambda i: te.sum(A[i, k], axis=k), name="S")
    Y = te.compute((m, n), lambda i, j: A[i, j] * 4.0 - S[i], name="Y")
    a = _array(rng, m, n)
    return Case(create_schedule(Y.op), [A, Y], [a], [a * 4 - a.sum(1, keepdims=True)])


PROGRAMS: tuple[Callable[[random.Random], Case], ...] = (matmul, matmul, blur, conv, transpose, chain, rows)


def random_bound(seed: int, programs: tuple[Callable[[random.Random], Case], ...] = PROGRAMS) -> Case:
    """The same case for the same seed."""
    for attempt in range(ATTEMPTS):
        rng = random.Random(f"{seed}.{attempt}")
        case = rng.choice(programs)(rng)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                _Binding(rng, case).run(plain=attempt == ATTEMPTS - 1)
            except LabError:
                continue
        if not _owed(case):
            return case
    raise AssertionError(f"seed {seed}: no legal schedule in {ATTEMPTS} attempts")


def _owed(case: Case) -> list[LabError]:
    found: list[LabError] = []
    readable(case.schedule.state, case.args, config=BEFORE, problems=found)
    return found


@dataclass
class Kernel:
    """One stage's loops: leaves at which others can be attached, outermost first, and how many threads a tag has."""

    stage: Any
    places: list[Any] = field(default_factory=list)
    threads: dict[str, int] = field(default_factory=dict)


class _Binding:
    def __init__(self, rng: random.Random, case: Case) -> None:
        self.rng, self.s, self.args = rng, case.schedule, case.args
        self.kernels: dict[Any, Kernel] = {}

    def run(self, plain: bool) -> None:
        """From the outputs to the inputs: where each stage is computed."""
        for op in reversed([h.op for h in self.s.stages]):
            if type(op).__name__ != "PlaceholderOp":
                self.place(op.outputs[0], plain)

    def place(self, T: Any, plain: bool) -> None:
        h = self.s[T]
        readers = [] if h.is_output else [k for k in self.kernels.values() if self.reads(k, T)]
        how = self.rng.choice(("root", "inline", "inside", "inside", "inside")) if readers and not plain else "root"
        if how == "inline" and not T.op.reduce_axis:
            h.compute_inline()
        elif how == "inside" and len(readers) == 1:
            self.inside(T, readers[0])
        else:
            self.root(T, plain)

    def reads(self, k: Kernel, T: Any) -> bool:
        return T in self.s[k.stage].op.inputs

    # ------------------------------------------------------------ a kernel of its own

    def root(self, T: Any, plain: bool) -> None:
        s, rng = self.s, self.rng
        inner = s.cache_write(T, "local") if T.op.reduce_axis and rng.random() < 0.7 else None
        h = s[T]
        kernel = self.kernels[T] = Kernel(T)
        blocks, virtual, threads, tiles = [], [], [], []
        axes = list(h.op.axis)
        if len(axes) > 1 and rng.random() < 0.3:
            axes = [h.fuse(*axes)]
        for letter, axis in zip("xyz", reversed(axes), strict=False):
            factor = min(rng.choice((1, 2, 3, 4, 6)), _extent(axis, 6))
            o, i = h.split(axis, factor=factor)
            if rng.random() < 0.3 and not plain:
                o, t = h.split(o, factor=2)
                if rng.random() < 0.5:
                    h.bind(t, te.thread_axis("vthread"))
                    virtual.append(t)
                else:
                    tiles.append(t)
            h.bind(o, te.thread_axis(f"blockIdx.{letter}"))
            h.bind(i, te.thread_axis(f"threadIdx.{letter}"))
            kernel.threads[f"threadIdx.{letter}"] = factor
            blocks.insert(0, o)
            threads.insert(0, i)
        h.reorder(*blocks, *virtual, *threads, *tiles, *h.op.reduce_axis)
        kernel.places = [blocks[-1], threads[-1], *tiles]
        if inner is not None:
            self.accumulate(kernel, inner)
        if not plain:
            self.copies(kernel, T if inner is None else inner)

    def accumulate(self, kernel: Kernel, CL: Any) -> None:
        """The sum in a local tile, its reduction in two loops."""
        s, h = self.s, self.s[CL]
        h.compute_at(s[kernel.stage], kernel.places[-1])
        k = list(h.op.reduce_axis)
        ko, ki = h.split(k[0], factor=self.rng.choice((1, 2, 3, 4)))
        h.reorder(ko, ki, *k[1:], *h.op.axis)
        kernel.places = [*kernel.places, (CL, ko), (CL, ki)]

    # ------------------------------------------------------------ copies of what a kernel reads

    def copies(self, kernel: Kernel, reader: Any) -> None:
        """Some of the inputs come through shared memory, perhaps through registers after that."""
        s, rng = self.s, self.rng
        for source in list(dict.fromkeys(s[reader].op.inputs)):
            if rng.random() < 0.35:
                continue
            S = s.cache_read(source, rng.choice(("shared", "shared", "shared", "local")), [reader])
            L = s.cache_read(S, "local", [reader]) if rng.random() < 0.3 else None
            at = self.attach(S, kernel)
            if L is not None:
                self.attach(L, kernel, at)
            self.shape(S, kernel)

    def inside(self, T: Any, kernel: Kernel) -> None:
        """The stage itself inside the kernel of its one reader."""
        self.s[T].set_scope(self.rng.choice(("shared", "shared", "local")))
        self.attach(T, kernel)
        self.shape(T, kernel)

    def attach(self, S: Any, kernel: Kernel, least: int = 0) -> int:
        chosen = self.rng.randrange(least, len(kernel.places))
        at = kernel.places[chosen]
        stage, axis = at if isinstance(at, tuple) else (kernel.stage, at)
        self.s[S].compute_at(self.s[stage], axis)
        return chosen

    def shape(self, S: Any, kernel: Kernel) -> None:
        """How the threads share the work, and marks."""
        rng, h = self.rng, self.s[S]
        if rng.random() < 0.3:
            h.storage_align(rng.choice(list(h.op.axis)), rng.choice((2, 4)), rng.choice((0, 1)))
        if rng.random() < 0.3:
            h.double_buffer()
        if h.scope != "shared" or rng.random() < 0.2:
            return
        one = h.fuse(*h.op.axis)
        for tag in sorted(kernel.threads):
            one, t = h.split(one, factor=kernel.threads[tag])
            h.bind(t, te.thread_axis(tag))


def _extent(axis: Any, default: int) -> int:
    n = getattr(axis.extent, "value", default) if axis.dom is not None else default
    return max(1, int(n))


def arrays(case: Case) -> list[np.ndarray]:
    """The arguments of a call, outputs full of NaN."""
    outputs = [np.full(e.shape, np.nan, e.dtype) for e in case.expected]
    return [*[a.copy() for a in case.inputs], *outputs]
