"""Memory of scope `warp` becomes shared memory, with a slice for each warp of the block.

    for ty in thread("threadIdx.y", 2):              for ty in thread("threadIdx.y", 2):
        W = alloc((32,), scope="warp")                   W = alloc((64,), scope="shared")
        for tx in thread("threadIdx.x", 32):    ->       for tx in thread("threadIdx.x", 32):
            W[tx] = A[tx]                                    W[ty*32 + tx] = A[tx]
        for tx in thread("threadIdx.x", 32):             for tx in thread("threadIdx.x", 32):
            barrier("warp")                                  barrier("warp")
            C[tx] = W[(tx + 1) % 32]                         C[tx] = W[ty*32 + (tx + 1) % 32]

A warp is 32 threads that follow each other, x fastest. The barriers that stand around the memory stay what they are
(see `block_barriers`). The classic way, registers whose lanes shuffle, is not done. Refused: a block
of unknown size, memory whose address is taken, a condition or the extent of a loop that reads such memory where not
all of the thread's indices have names.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...core import dtype as dt
from ...core.build import binary, const
from ...core.error import BuildError
from ...core.node import (
    Alloc,
    AllReduce,
    Attr,
    Broadcast,
    Buffer,
    Call,
    Evaluate,
    Expr,
    For,
    Load,
    Ramp,
    Stmt,
    Store,
    Var,
)
from ...core.program import Program
from ...core.text import headline, show
from ...core.threads import BLOCK, WARP
from ...core.walk import map_children, replace, walk
from ...schedule.scopes import rank
from ..blocks import map_kernels
from ..config import DEFAULT, Config
from ..together import block_of


def warp_memory(program: Program, config: Config = DEFAULT) -> Program:
    return program.map_bodies(lambda body: map_kernels(body, _kernel))


def _kernel(s: For) -> Any:
    return Slices(s).visit(s) if any(type(x) is Alloc and _warp(x.buffer) for x in walk(s)) else s


def _warp(b: Any) -> bool:
    return rank(b.scope) == 2


class Slices:
    """One kernel. `index`: the thread's own index per tag, of the loops around; `made`: the buffers with slices."""

    def __init__(self, top: For) -> None:
        self.block = block_of(top, "that uses warp memory")
        self.warps = -(-self.block.size // WARP)
        self.index: dict[str, Expr] = {}
        self.made: dict[Any, Buffer] = {}

    def visit(self, s: Any) -> Any:
        t = type(s)
        if t is For and s.kind == "thread" and s.thread in BLOCK:
            return self.thread(s)
        if t is Alloc and _warp(s.buffer):
            self.made[s.buffer] = self.sliced(s.buffer)
            return replace(s, buffer=self.made[s.buffer], body=self.visit(s.body))
        if t is Attr and s.about in self.made:
            return replace(
                s, about=self.made[s.about], value=self.moved(s, s.value, self.index), body=self.visit(s.body)
            )
        if t in (Store, Evaluate, AllReduce):
            return self.named(s) if self.touches(s) else s
        return map_children(s, lambda c: self.visit(c) if isinstance(c, Stmt) else self.moved(s, c, self.index))

    def thread(self, s: For) -> Stmt:
        outer = self.index.get(s.thread)
        self.index[s.thread] = binary("-", s.var, s.lo)
        body = self.visit(s.body)
        self.index.pop(s.thread)
        if outer is not None:
            self.index[s.thread] = outer
        return s if body is s.body else replace(s, body=body)

    def touches(self, n: Any) -> bool:
        return any(getattr(x, "buffer", None) in self.made or _taken(x, self.made) for x in walk(n)) or (
            type(n) is AllReduce and any(b in self.made for b in n.buffers)
        )

    def named(self, s: Any) -> Stmt:
        """A statement inside loops that name all of its thread's indices; every thread that comes here runs it."""
        missing = {t: Var(t.replace(".", "_")) for t in self.block.extents if self.warps > 1 and t not in self.index}
        made: Stmt = self.moved(s, s, {**self.index, **missing})
        for t, v in missing.items():
            made = For(v, const(0), const(self.block.extents[t]), "thread", made, t)
        return made

    # ------------------------------------------------------------ buffers and indices

    def sliced(self, b: Buffer) -> Buffer:
        if self.warps == 1:
            return b.with_(scope="shared", data=b.data)
        size = b.shape[0] if b.shape else const(1)
        if b.ndim != 1 or b.strides is not None:
            raise BuildError("warp-memory", f"{b.name} in warp memory is not flat: flatten the program first")
        return b.with_(scope="shared", shape=(binary("*", size, self.warps),), data=b.data)

    def moved(self, around: Any, n: Any, index: Mapping[str, Expr]) -> Any:
        """`n` with its accesses in the slice of the thread's warp."""

        def visit(x: Any) -> Any:
            if _taken(x, self.made):
                message = f"`{show(around)}` takes the address of {_taken(x, self.made)} in warp memory"
                raise BuildError("warp-address", message, hint='use scope "shared" or "local"')
            x = map_children(x, visit)
            if type(x) in (Load, Store) and x.buffer in self.made:
                return replace(x, buffer=self.made[x.buffer], indices=self.indices(around, x, index))
            if type(x) is AllReduce and any(b in self.made for b in x.buffers):
                raise BuildError(
                    "warp-reduce", f"`{show(x)}` gives each thread a result, which warp memory cannot hold"
                )
            return x

        return visit(n)

    def indices(self, around: Any, x: Any, index: Mapping[str, Expr]) -> tuple[Expr, ...]:
        if self.warps == 1:
            return tuple(x.indices)
        unnamed = [t for t in self.block.extents if t not in index]
        if unnamed:
            head = headline(around)
            message = f"`{head}` reads {x.buffer.name}, which is in warp memory, where {', '.join(unnamed)} has no name"
            raise BuildError("warp-memory", message, hint='use scope "shared", or bind all thread axes outside')
        return (shifted(x.indices[0], binary("*", self.block.warp(index), x.buffer.shape[0])),)


def _taken(x: Any, made: Mapping[Any, Buffer]) -> str:
    """The buffer of which a call gets the address."""
    if type(x) is not Call:
        return ""
    return next((b.name for b in made if any(a is b.data for a in x.args)), "")


def shifted(index: Expr, by: Expr) -> Expr:
    """`index + by`, of a vector in each lane."""
    if type(index) is Ramp:
        return Ramp(binary("+", index.base, by), index.stride, index.count)
    lanes = dt.lanes(index.dtype)
    return binary("+", index, by if lanes == 1 else Broadcast(by, lanes))
