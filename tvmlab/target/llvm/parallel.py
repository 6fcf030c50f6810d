"""Parallel loops: the body becomes a function `body(closure, begin, count)`, run over chunks of the iterations.

In this process the chunks run on Numba's thread pool. One region runs at a time: a launch that finds another one
running (a nested one, or one of another Python thread) runs its iterations itself, which every threading layer allows.
An exported program brings a launcher of its own that makes threads (see launchers.py).
"""

from __future__ import annotations

import ctypes
import os
import sys
from functools import lru_cache
from typing import Any

import llvmlite.binding as llvm

from ...core import dtype as dt
from ...core.error import LabError
from ...core.node import Alloc, For, Load, Store, Var
from ...core.walk import walk
from .index import Lin
from .launchers import LAUNCH
from .memory import Place

BUSY = ctypes.c_int32(0)  # 1 while a parallel region runs, in any module
LOST = ctypes.c_bool(False)  # is this a forked process, whose pool had threads before?


def _after_fork() -> None:
    """A forked process has no threads of the pool, and some layers end it when it asks for them: it runs all itself."""
    numba_pool = sys.modules.get("numba.np.ufunc.parallel")
    LOST.value = LOST.value or bool(getattr(numba_pool, "_is_initialized", False))
    BUSY.value = int(LOST.value)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def launch(c: Any, s: For, lo: Lin, extent: Lin) -> None:
    """Run a parallel loop: outline its body, collect what it uses, call the launcher."""
    c.m.parallel = True
    name = f"{c.function}.parallel{len(c.m.functions)}"
    used = _Captured(c, s, lo)
    closure = c.name()
    c.entry.append(f"  {closure} = alloca [{used.words} x i64], align 8")
    c.emit(f"store i64 0, ptr {closure}")
    for operand, t, at in used.operands:
        c.emit(f"store {t} {operand}, ptr {c.op(f'getelementptr i64, ptr {closure}, i64 {at}')}, align 8")
    fails = _outline(c, s, lo, name, used)
    c.emit(f"call void @{LAUNCH}(ptr @{name}, ptr {closure}, i64 {c.i64(extent)})")
    c.loads.clear()
    if fails:
        c.fail_unless_zero(c.op(f"trunc i64 {c.op(f'load i64, ptr {closure}')} to i32"))


class _Captured:
    """What a loop's body uses from around it: (operand, type, word in the closure), and how to bind it inside.

    The closure's first word is the error code of the body.
    """

    def __init__(self, c: Any, s: For, lo: Lin) -> None:
        self.operands: list[tuple[str, str, int]] = []
        self.words = 1
        self.names: dict[str, str] = {}
        self.vars: dict[Var, Any] = {}
        self.places: dict[Any, Place] = {}
        for term, _ in lo.terms:
            self.capture(term, "i64")
        for n in walk(s.body):
            if isinstance(n, (Load, Store)):
                self._buffer(c, n.buffer)
            elif isinstance(n, Var):
                self._variable(c, n)
            elif isinstance(n, Alloc):
                for v in [v for extent in n.buffer.shape for v in walk(extent) if isinstance(v, Var)]:
                    self._variable(c, v)

    def capture(self, operand: str, t: str, words: int = 1) -> str:
        """The name of an outer value inside; constants stay as they are."""
        if operand[0] != "%":
            return operand
        if operand not in self.names:
            self.names[operand] = f"%in.{len(self.operands)}"
            self.operands.append((operand, t, self.words))
            self.words += words
        return self.names[operand]

    def inner(self, lin: Lin) -> Lin:
        return Lin(lin.const, tuple(sorted([(self.capture(s, "i64"), k) for s, k in lin.terms])))

    def _variable(self, c: Any, v: Var) -> None:
        if v in c.places:
            self._buffer(c, v)
        bound = c.env.get(v)
        if bound is None or v in self.vars:
            return
        words = -(-dt.lanes(v.dtype) * dt.nbytes(v.dtype) // 8)
        self.vars[v] = self.inner(bound) if type(bound) is Lin else self.capture(bound, c.m.type(v.dtype), words)

    def _buffer(self, c: Any, key: Any) -> None:
        place = c.places.get(key)
        if place is not None and key not in self.places:
            inner = Place(self.capture(place.pointer, "ptr"), place.dtype, place.align, place.buffer)
            for k, p in c.places.items():
                if p is place:
                    self.places[k] = inner


def _outline(c: Any, s: For, lo: Lin, name: str, used: _Captured) -> bool:
    """Emit the body as a function; can it fail? Pointers become noalias parameters, which loads would not be."""
    inner = type(c)(c.m, dict(used.vars), parallel=True)
    inner.function, inner.places, inner.chain = c.function, dict(used.places), [*c.chain]
    inner.nonneg |= {used.names[o] for o, _, _ in used.operands if o in c.nonneg}
    inner.nonneg |= {"%begin", "%count"}
    first = used.inner(lo).plus(Lin(0, (("%begin", 1),)))
    inner.serial_loop(s, first, Lin(0, (("%count", 1),)))
    body = inner.finish()
    heads = [f"{'ptr noalias' if t == 'ptr' else t} %in.{i}" for i, (_, t, _) in enumerate(used.operands)]
    heads += ["i64 %begin", "i64 %count"]
    c.m.functions.append(f"define internal i32 @{name}.body({', '.join(heads)}) #0 {{\n{body}\n}}")
    c.m.functions.append(_entry(name, used.operands))
    return bool(inner.fails)


def _entry(name: str, operands: list[tuple[str, str, int]]) -> str:
    """The function that the launcher calls: unpack the closure, run the body, keep the first error."""
    lines, args = [], []
    for i, (_, t, at) in enumerate(operands):
        lines.append(f"  %p{i} = getelementptr i64, ptr %closure, i64 {at}")
        lines.append(f"  %x{i} = load {t}, ptr %p{i}, align 8")
        args.append(f"{t} %x{i}")
    call = ", ".join([*args, "i64 %begin", "i64 %count"])
    lines += [
        f"  %code = call i32 @{name}.body({call})",
        "  %bad = icmp ne i32 %code, 0",
        "  br i1 %bad, label %failed, label %fine",
        "failed:",
        "  %wide = sext i32 %code to i64",
        "  store atomic i64 %wide, ptr %closure monotonic, align 8",
        "  br label %fine",
        "fine:",
        "  ret void",
    ]
    return f"define internal void @{name}(ptr %closure, i64 %begin, i64 %count) #0 {{\n" + "\n".join(lines) + "\n}"


# ---------------------------------------------------------------- Numba's thread pool


@lru_cache(maxsize=1)
def pool() -> tuple[dict[str, int], int]:
    """Start Numba's threads: (symbols -> addresses, number of threads). Numba is imported here, when it is needed."""
    from numba.core import config
    from numba.np.ufunc import parallel

    parallel._launch_threads()
    symbols = {"numba_parallel_for": "numba_parallel_for", "numba_threads": "get_num_threads"}
    found = {ours: int(llvm.address_of_symbol(theirs)) for ours, theirs in symbols.items()}
    return found, int(config.NUMBA_NUM_THREADS)  # type: ignore[attr-defined]


class Threads:
    """The thread count of one module: 0 means what `numba.get_num_threads()` says at the time of the call."""

    def __init__(self, count: int) -> None:
        self.addresses, self.most = pool()
        self.count = ctypes.c_int64(0)
        if count:
            self.set(min(count, self.most))

    def set(self, count: int) -> None:
        if not 1 <= count <= self.most:
            raise LabError(
                "thread-count", f"the number of threads must be from 1 to {self.most}, not {count}",
                hint="the environment variable NUMBA_NUM_THREADS, set before the first run, makes the pool larger",
            )  # fmt: skip
        self.count.value = count

    def symbols(self) -> dict[str, int]:
        return {
            **self.addresses, "tvmlab_busy": ctypes.addressof(BUSY), "tvmlab_threads": ctypes.addressof(self.count)
        }  # fmt: skip
