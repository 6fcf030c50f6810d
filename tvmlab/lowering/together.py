"""Kernels and their reductions over threads: who the threads of the block are, and whether all of them come together.

    for blockIdx_x in thread("blockIdx.x", 3):              a kernel: its outermost thread loop
        for threadIdx_y in thread("threadIdx.y", 4):        its block: 16 x 4 threads, counted x fastest
            for threadIdx_x in thread("threadIdx.x", 16):
                B_red[0] = allreduce_sum(..., over=[threadIdx_x])      4 groups of 16 threads

`rewrite_reductions` replaces each `AllReduce` of a program. What replaces one has barriers or shuffles, so one that not
every thread of the block reaches is refused. Memory that the threads share for it is of the kernel (`Scratch`): later
reductions use it again, and so does the next round of a loop around; `Scratch.reused` says which of them must first
wait for the readers of the last one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

from ..core.build import binary, const
from ..core.error import BuildError
from ..core.node import (
    Alloc,
    AllReduce,
    Barrier,
    Buffer,
    Const,
    Expr,
    For,
    If,
    LetStmt,
    Seq,
    Stmt,
    Var,
    While,
)  # fmt: skip
from ..core.program import Program, loop_name
from ..core.text import show
from ..core.threads import BLOCK, WARP
from ..core.walk import constant, map_children, replace, walk
from ..schedule.scopes import is_virtual
from .blocks import is_thread_loop, map_kernels, of_thread

Key = tuple[str, int]


@dataclass(frozen=True)
class Block:
    """The threads of a kernel's block: tag -> how many, the fastest first."""

    extents: Mapping[str, int]

    @property
    def size(self) -> int:
        return prod(self.extents.values())

    def count(self, tags: Iterable[str]) -> int:
        return prod(self.extents[t] for t in tags)

    def linear(self, tags: Iterable[str], index: Mapping[str, Expr]) -> Expr:
        """The number of a thread among those that differ in these tags only, x fastest."""
        total, stride = const(0), 1
        for t, n in self.extents.items():
            if t in tags:
                total, stride = binary("+", total, binary("*", index[t], stride)), stride * n  # type: ignore[assignment]
        return total

    def warp(self, index: Mapping[str, Expr]) -> Expr:
        """The number of the thread's warp in the block."""
        tags, lanes = list(self.extents), 1
        while tags and lanes < WARP:
            lanes *= self.extents[tags.pop(0)]
        if lanes == WARP:  # the slower tags count warps
            return self.linear(tags, index)
        return binary("//", self.linear(self.extents, index), WARP)


@dataclass(frozen=True, eq=False)
class Site:
    """A reduction and its threads: the `over` tags are those it folds; `index` tells a thread's own index per tag."""

    stmt: AllReduce
    block: Block
    over: tuple[str, ...]
    index: Mapping[str, Expr]

    @property
    def others(self) -> tuple[str, ...]:
        return tuple(t for t in self.block.extents if t not in self.over)

    @property
    def size(self) -> int:
        """How many threads fold their values into one."""
        return self.block.count(self.over)


@dataclass(frozen=True, eq=False)
class Scratch:
    """The memory that the reductions of one kernel share: (dtype, which of that dtype) -> buffer.

    `reused`: the reductions that may find it still being read.
    """

    buffers: Mapping[Key, Buffer]
    reused: frozenset[AllReduce]

    def of(self, s: AllReduce) -> list[Buffer]:
        """One buffer for each of the reduction's values."""
        return [self.buffers[k] for k in _keys(s)]


def _keys(s: AllReduce) -> list[Key]:
    dtypes = [b.dtype for b in s.buffers]
    return [(d, dtypes[:i].count(d)) for i, d in enumerate(dtypes)]


def _scratch(top: For, memory: Mapping[AllReduce, int]) -> Scratch:
    sizes: dict[Key, int] = {}
    for s, n in memory.items():
        sizes.update({k: max(n, sizes.get(k, 0)) for k in _keys(s) if n})
    made: dict[Key, Buffer] = {}
    for key, n in sizes.items():
        plain = Buffer(f"red{len(made) or ''}", (const(n),), key[0], scope="shared")
        made[key] = plain.with_(logical=plain, data=plain.data)  # flat, as all memory is by now
    return Scratch(made, _reused(top, {s for s, n in memory.items() if n}))


Memory = Callable[[Site], int | None]
Rule = Callable[[Site, Scratch], Stmt]


def rewrite_reductions(program: Program, memory: Memory, rule: Rule) -> Program:
    """Each reduction over threads becomes what `rule` makes of it.

    `memory`: how many elements it needs of what the threads share, for each of its values; None leaves it as it is.
    """

    def kernel(s: For) -> Stmt:
        return Kernel(s, memory, rule).rewritten() if any(type(x) is AllReduce for x in walk(s)) else s

    return program.map_bodies(lambda body: map_kernels(body, kernel, _host))


def _host(s: Stmt) -> None:
    if type(s) is AllReduce:
        raise BuildError("allreduce-threads", f"`{show(s)}` stands outside of every thread loop")


# ---------------------------------------------------------------- one kernel


class Kernel:
    """A kernel on its way to be rewritten."""

    def __init__(self, top: For, memory: Memory, rule: Rule) -> None:
        self.top, self.rule = top, rule
        self.block = block_of(top, "that reduces over threads")
        self.varies: set[Any] = set()  # variables that differ between the threads of a block
        self.index: dict[str, Expr] = {}  # of the thread loops around
        self.tags: dict[Var, str] = {}
        self.apart = ""  # the statement around that parts the threads, "" while they are together
        self.sites: dict[AllReduce, Site] = {}
        self.look(top)
        needed = {s: memory(site) for s, site in self.sites.items()}
        self.memory = {s: n for s, n in needed.items() if n is not None}
        self.scratch = _scratch(top, self.memory)

    def rewritten(self) -> Stmt:
        if not self.memory:
            return self.top
        body: Stmt = self.visit(self.top.body)
        for b in reversed(list(self.scratch.buffers.values())):
            body = Alloc(b, body)
        return replace(self.top, body=body)

    def visit(self, s: Any) -> Any:
        if s not in self.memory:
            return map_children(s, lambda c: self.visit(c) if isinstance(c, Stmt) else c)
        site = self.sites[s]
        missing = {t: Var(t.replace(".", "_")) for t in self.block.extents if t not in site.index}
        made = self.rule(Site(s, site.block, site.over, {**site.index, **missing}), self.scratch)
        for t, v in missing.items():  # every thread is here; the loop gives its index a name
            made = For(v, const(0), const(self.block.extents[t]), "thread", made, t)
        return made

    # ------------------------------------------------------------ where its reductions stand

    def look(self, s: Stmt) -> None:
        if type(s) is AllReduce:
            self.sites[s] = self.site(s)
        elif is_thread_loop(s):
            self.thread(s)  # type: ignore[arg-type]
        elif type(s) is For:
            self.parted(s, s.lo, s.extent, virtual=s.kind == "vthread" or is_virtual(s.thread))
        elif type(s) in (If, While):
            self.parted(s, s.cond)  # type: ignore[attr-defined]
        elif type(s) is LetStmt:
            if not self.uniform(s.value):
                self.varies.add(s.var)
            self.look(s.body)
        else:
            for c in (getattr(s, name) for name in s.CHILDREN):
                for x in c if type(c) is tuple else (c,):
                    if isinstance(x, Stmt):
                        self.look(x)

    def thread(self, s: For) -> None:
        if s.thread in BLOCK:
            self.varies.add(s.var)
            self.tags[s.var] = s.thread
            outer = self.index.get(s.thread)
            self.index[s.thread] = binary("-", s.var, s.lo)
        n = constant(s.extent)
        narrow = s.thread in BLOCK and n is not None and n < self.block.extents[s.thread]
        self.inside(s, _headline(s) if narrow else "")
        if s.thread in BLOCK:
            self.index.pop(s.thread)
            if outer is not None:
                self.index[s.thread] = outer

    def parted(self, s: Any, *controls: Expr, virtual: bool = False) -> None:
        if virtual and any(type(x) is AllReduce for x in walk(s)):
            raise BuildError(
                "vthread-reduce",
                f"a reduction over threads inside the virtual threads {loop_name(s)} has no meaning",
                hint="bind the axis to threads, or reduce serially",
            )
        self.inside(s, "" if all(map(self.uniform, controls)) else _headline(s))

    def inside(self, s: Any, parts: str) -> None:
        before, self.apart = self.apart, self.apart or parts
        for x in (s.then, s.other) if type(s) is If else (s.body,):
            if x is not None:
                self.look(x)
        self.apart = before

    def uniform(self, e: Expr) -> bool:
        """Is it the same for all threads of a block?"""
        return not any(x in self.varies or of_thread(x) for x in walk(e))

    def site(self, s: AllReduce) -> Site:
        loose = [v.name for v in s.threads if v not in self.tags or self.tags[v] not in self.index]
        if loose:
            message = f"`{show(s)}` is over {', '.join(loose)}, but no loop over the threads of a block binds it"
            raise BuildError("allreduce-threads", message, legal=BLOCK)
        if self.apart:
            raise BuildError(
                "allreduce-divergent",
                f"`{show(s)}` is not reached by all threads of its block, which must wait for each other there",
                where=[f"{self.apart}    <- not every thread enters"],
                hint="all threads must take part: move the condition into the sum (where=...), or out of the block",
            )
        over = tuple(t for t in self.block.extents if t in {self.tags[v] for v in s.threads})
        return Site(s, self.block, over, dict(self.index))


def block_of(top: For, what: str) -> Block:
    """The block of a kernel; its size must be known. `what`: which kernels need that, for the refusal."""
    found: dict[str, int] = {}
    for s in walk(top):
        if type(s) is not For or s.kind != "thread" or s.thread not in BLOCK:
            continue
        n = constant(s.extent)
        if n is None:
            raise BuildError(
                "block-extent",
                f"{s.thread} has {show(s.extent)} threads in {loop_name(s)}: a kernel {what} needs a number",
                hint="split the axis by the number of threads and bind the inner part",
            )
        found[s.thread] = max(n, found.get(s.thread, 0))
    return Block({t: found[t] for t in BLOCK if t in found})


def _headline(s: Any) -> str:
    if type(s) is For:
        kind = f'thread("{s.thread}", {show(s.extent)})' if s.kind == "thread" else f"range({show(s.extent)})"
        return f"for {s.var.name} in {kind}:"
    return f"{'if' if type(s) is If else 'while'} {show(s.cond)}:"


# ---------------------------------------------------------------- who must wait before the memory is used again


def _reused(top: For, sites: set[AllReduce]) -> frozenset[AllReduce]:
    """The reductions before which a thread may still read what an earlier one, or an earlier round, left."""
    flow = _Flow(sites)
    flow.visit(top, frozenset())
    return frozenset(flow.found)


class _Flow:
    """`read`, before and after each statement: the memory that may have been read since the last barrier."""

    def __init__(self, sites: set[AllReduce]) -> None:
        self.sites = sites
        self.found: set[AllReduce] = set()

    def visit(self, s: Stmt, read: frozenset[Key]) -> frozenset[Key]:
        if type(s) is Barrier:
            return frozenset() if s.scope.startswith("shared") else read
        if type(s) is AllReduce:
            return self.reduction(s, read)
        if type(s) is Seq:
            for x in s.stmts:
                read = self.visit(x, read)
            return read
        if type(s) is If:
            other = read if s.other is None else self.visit(s.other, read)
            return self.visit(s.then, read) | other
        if type(s) is While or (type(s) is For and s.kind != "thread" and constant(s.extent) != 1):
            return self.loop(s.body, read)
        inner = getattr(s, "body", None)
        return read if inner is None else self.visit(inner, read)

    def reduction(self, s: AllReduce, read: frozenset[Key]) -> frozenset[Key]:
        if s not in self.sites:
            return read
        mine = frozenset(_keys(s))
        if mine & read:
            self.found.add(s)
        return mine  # its own barriers end all earlier reads

    def loop(self, body: Stmt, read: frozenset[Key]) -> frozenset[Key]:
        """The next round begins with what the last one left; it may be that there is none."""
        after = read | self.visit(body, read)
        return read | self.visit(body, after)


def always(cond: Expr) -> bool:
    return isinstance(cond, Const) and bool(cond.value)
