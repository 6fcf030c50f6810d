"""Kernels made at random: conditions and loops of a thread's own around accesses to shared memory.

Every store's index is another one for each thread, and no statement both reads and writes shared memory, so that in
lock step the result does not depend on the order of the threads.
"""

import random

from tests.pure.passes.ir import buffer, load, loop, program, store, when
from tvmlab.core import build
from tvmlab.core.node import Alloc, If, LetStmt, Var
from tvmlab.core.walk import seq


class Kernel:
    """`program`: one block; its output has an element for each of the `count` threads."""

    def __init__(self, seed):
        self.rng = rng = random.Random(seed)
        n, tx, ty, bx = rng.choice((3, 4, 5, 6)), Var("tx"), Var("ty"), Var("bx")
        two = rng.random() < 0.3
        self.t = ty * 2 + tx if two else tx
        self.count = count = 2 * n if two else n
        self.loops, self.names = [], 0
        self.shared = [buffer(f"S{k}", count + 3, scope="shared") for k in range(2)]
        self.own, out = buffer("L", 1, scope="local"), buffer("C", count)
        start = [store(s, self.t, build.cast(self.t, "float32") + float(k)) for k, s in enumerate(self.shared)]
        start += [when(self.t < 3, store(s, self.t + count, 1.0)) for s in self.shared]
        body = seq(
            *start, store(self.own, 0, 1.0), *self.stmts(3), *self.stmts(2), store(out, self.t, load(self.own, 0))
        )
        for b in (self.own, *self.shared):
            body = Alloc(b, body)
        body = loop(tx, 2 if two else n, body, kind="thread", thread="threadIdx.x")
        if two:
            body = loop(ty, n, body, kind="thread", thread="threadIdx.y")
        self.program = program([out], loop(bx, 1, body, kind="thread", thread="blockIdx.x"))

    def name(self, stem):
        self.names += 1
        return Var(f"{stem}{self.names}")

    def stmts(self, depth):
        return [self.stmt(depth) for _ in range(self.rng.randrange(1, 4))]

    def stmt(self, depth):
        k = self.rng.random()
        if depth == 0 or k < 0.5:
            return self.leaf()
        if k < 0.75:
            return self.loop(depth)
        if k < 0.95:
            other = seq(*self.stmts(depth - 1)) if self.rng.random() < 0.3 else None
            return If(self.cond(), seq(*self.stmts(depth - 1)), other, self.rng.random() < 0.5)
        return LetStmt(self.name("x"), self.t + 1, seq(*self.stmts(depth - 1)))

    def leaf(self):
        s, own = self.rng.choice(self.shared), load(self.own, 0)
        if self.rng.random() < 0.5:
            return store(self.own, 0, own * 0.5 + load(s, self.index()))
        return store(s, self.one_each(), own + float(self.rng.randrange(8)))

    def loop(self, depth):
        rng, v = self.rng, self.name("i")
        extents = [2, 3, 4, build.binary("min", self.t + 1, 2), self.t % 3 + 1]
        extents += [rng.choice(self.loops) + 1] if self.loops else []
        lo = rng.choice((0, 0, 0, 1)) if rng.random() < 0.8 else self.t % 2
        self.loops.append(v)
        body = self.stmts(depth - 1)
        self.loops.pop()
        return loop(v, rng.choice(extents), *body, lo=lo)

    def cond(self):
        rng, t, count = self.rng, self.t, self.count
        found = [t < rng.randrange(1, count), t >= rng.randrange(1, count), build.binary("==", t % 2, 0)]
        found.append(build.binary("==", t, rng.randrange(count)))
        if self.loops:
            found += [t < rng.choice(self.loops) + 1, rng.choice(self.loops) < rng.randrange(1, 3)]
        return rng.choice(found)

    def one_each(self):
        rng, t, count = self.rng, self.t, self.count
        found = [t, t, (t + rng.randrange(1, count)) % count, t + rng.randrange(1, 4), count - 1 - t]
        found += [(t + rng.choice(self.loops)) % count] if self.loops else []
        return rng.choice(found)

    def index(self):
        found = [build.const(self.rng.randrange(self.count)), self.one_each(), self.one_each()]
        found += [self.rng.choice(self.loops) % self.count] if self.loops else []
        return self.rng.choice(found)
