"""The meaning of a kernel without barriers: all threads of a block run one statement together, then the next.

Independent of the passes and of the interpreter. `Lockstep(fn, arrays)` runs a function; `fires` then holds the
statements before which a barrier would have to stand, found by brute force: those that touch an element which another
thread has touched since the barrier before, at least one of the two writing.
"""

from __future__ import annotations

import operator
from itertools import product
from typing import Any

import numpy as np

from tvmlab.core.node import Alloc, Attr, Barrier, Bin, Call, Cast, Const, For, If, LetStmt, Load, Not, Seq, Store, Var
from tvmlab.core.walk import walk

OPS = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "//": operator.floordiv, "%": operator.mod, "min": min,
    "max": max, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq,
    "!=": operator.ne, "/": operator.truediv,
}  # fmt: skip


class Thread:
    def __init__(self, at: dict[str, int], number: int, env: dict[Any, Any]) -> None:
        self.at, self.number, self.env = at, number, dict(env)
        self.local: dict[Any, Any] = {}


class Lockstep:
    def __init__(self, fn: Any, arrays: list[np.ndarray]) -> None:
        self.shared = {b.data: a for b, a in zip(fn.buffers, arrays, strict=True)}
        self.fires: list[Any] = []
        self.pending: dict[Any, set[tuple[int, bool]]] = {}
        self.host(fn.body, {})

    def host(self, s: Any, env: dict[Any, Any]) -> None:
        if type(s) is For and s.kind == "thread":
            self.kernel(s, env)
        elif type(s) is For:
            lo, n = (self.value(e, Thread({}, 0, env)) for e in (s.lo, s.extent))
            for i in range(lo, lo + n):
                self.host(s.body, {**env, s.var: i})
        elif type(s) is Seq:
            for x in s.stmts:
                self.host(x, env)
        elif type(s) is Alloc:
            self.shared[s.buffer.data] = self.memory(s.buffer, Thread({}, 0, env))
            self.host(s.body, env)
        elif type(s) is Attr:
            self.host(s.body, env)
        else:
            self.run(s, [Thread({}, 0, env)])

    def kernel(self, s: For, env: dict[Any, Any]) -> None:
        at = Thread({}, 0, env)
        loops = [x for x in walk(s) if type(x) is For and x.kind == "thread"]
        extents = {x.thread: self.value(x.extent, at) for x in loops}
        blocks = [t for t in extents if t.startswith("block")]
        lanes = [t for t in extents if t.startswith("thread")]
        allocated = {x.buffer.data for x in walk(s) if type(x) is Alloc}
        for block in product(*(range(extents[t]) for t in blocks)):
            here = dict(zip(blocks, block, strict=True))
            every = enumerate(product(*(range(extents[t]) for t in lanes)))
            threads = [Thread({**here, **dict(zip(lanes, x, strict=True))}, k, env) for k, x in every]
            self.pending = {}
            self.shared = {h: m for h, m in self.shared.items() if h not in allocated}
            self.run(s, threads)

    # ------------------------------------------------------------ statements

    def run(self, s: Any, threads: list[Thread]) -> None:
        if threads:
            getattr(self, f"_{type(s).__name__.lower()}")(s, threads)

    def _seq(self, s: Seq, threads: list[Thread]) -> None:
        for x in s.stmts:
            self.run(x, threads)

    def _attr(self, s: Attr, threads: list[Thread]) -> None:
        self.run(s.body, threads)

    def _barrier(self, s: Barrier, threads: list[Thread]) -> None:
        pass

    def _letstmt(self, s: LetStmt, threads: list[Thread]) -> None:
        for t in threads:
            t.env[s.var] = self.value(s.value, t)
        self.run(s.body, threads)

    def _alloc(self, s: Alloc, threads: list[Thread]) -> None:
        if s.buffer.scope == "local":
            for t in threads:
                t.local[s.buffer.data] = self.memory(s.buffer, t)
        else:
            self.shared.setdefault(s.buffer.data, self.memory(s.buffer, threads[0]))
        self.run(s.body, threads)

    def _for(self, s: For, threads: list[Thread]) -> None:
        bounds = [(t, self.value(s.lo, t), self.value(s.extent, t)) for t in threads]
        if s.kind == "thread":
            for t, lo, _ in bounds:
                t.env[s.var] = lo + t.at[s.thread]
            return self.run(s.body, [t for t, _, n in bounds if t.at[s.thread] < n])
        for i in range(min(lo for _, lo, _ in bounds), max(lo + n for _, lo, n in bounds)):
            inside = [t for t, lo, n in bounds if lo <= i < lo + n]
            for t in inside:
                t.env[s.var] = i
            self.run(s.body, inside)
        return None

    def _if(self, s: If, threads: list[Thread]) -> None:
        holds = [bool(self.value(s.cond, t)) for t in threads]
        self.run(s.then, [t for t, h in zip(threads, holds, strict=True) if h])
        if s.other is not None:
            self.run(s.other, [t for t, h in zip(threads, holds, strict=True) if not h])

    def _store(self, s: Store, threads: list[Thread]) -> None:
        touched: list[tuple[Any, int, bool]] = []
        writes = []
        for t in threads:
            where = tuple(self.value(i, t) for i in s.indices)
            value = self.value(s.value, t, touched)
            if s.buffer.data not in t.local:
                touched.append(((s.buffer.data, where), t.number, True))
            writes.append((t.local.get(s.buffer.data, self.shared.get(s.buffer.data)), where, value))
        self.meet(s, touched)
        for memory, where, value in writes:
            memory[where] = value

    def meet(self, s: Any, touched: list[tuple[Any, int, bool]]) -> None:
        clash = any(
            other != thread and (write or wrote)
            for place, thread, write in touched
            for other, wrote in self.pending.get(place, ())
        )
        if clash:
            self.fires.append(s)
            self.pending = {}
        for place, thread, write in touched:
            self.pending.setdefault(place, set()).add((thread, write))

    # ------------------------------------------------------------ values

    def memory(self, b: Any, t: Thread) -> np.ndarray:
        return np.full([self.value(n, t) for n in b.shape], np.nan, b.dtype)

    def value(self, e: Any, t: Thread, touched: Any = None) -> Any:
        kind = type(e)
        if kind is Const:
            return e.value
        if kind is Var:
            return t.env[e]
        if kind is Load:
            where = tuple(self.value(i, t, touched) for i in e.indices)
            if e.buffer.data in t.local:
                return t.local[e.buffer.data][where]
            if touched is not None:
                touched.append(((e.buffer.data, where), t.number, False))
            return self.shared[e.buffer.data][where]
        if kind is Call and e.name == "if_then_else":
            return self.value(e.args[1 if self.value(e.args[0], t, touched) else 2], t, touched)
        if kind is Call and e.name == "likely":
            return self.value(e.args[0], t, touched)
        if kind is Cast:
            return np.dtype(e.dtype).type(self.value(e.value, t, touched))
        if kind is Not:
            return not self.value(e.a, t, touched)
        assert kind is Bin, e
        a = self.value(e.a, t, touched)
        if e.op in ("and", "or"):
            return self.value(e.b, t, touched) if bool(a) == (e.op == "and") else a
        return OPS[e.op](a, self.value(e.b, t, touched))
