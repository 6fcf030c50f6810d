"""What the threads of a block do in a kernel: where statements stand, and which memory they touch there.

A kernel is an outermost thread loop. All thread loops of one tag are the same threads, so each tag has one variable
here (`Kernel.thread`), which stands for the variables of all its loops.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..core import affine, fragments
from ..core import dtype as dt
from ..core.affine import Facts, Lin
from ..core.build import binary, const, not_
from ..core.disjoint import Access
from ..core.intrin import C_FUNCTIONS
from ..core.node import Alloc, AllReduce, Buffer, Call, Const, Expr, For, LetStmt, Load, Node, Ramp, Stmt, Store, Var
from ..core.threads import BLOCK
from ..core.walk import children, constant, map_children, substitute, walk
from ..schedule.scopes import is_virtual, rank
from . import effects

INDEX = ("int32", "int64")


def is_thread_loop(s: Any) -> bool:
    return type(s) is For and s.kind == "thread" and not is_virtual(s.thread)


def of_thread(x: Any) -> bool:
    """May this node differ between threads by itself: memory that each has of its own, a function that nobody knows?

    Other memory holds the same for all threads that read one place of it.
    """
    if type(x) is Call:
        return x.kind == "packed" or (x.kind == "extern" and x.name not in C_FUNCTIONS)
    return type(x) is Load and (rank(x.buffer.scope) or 0) >= 2


def map_kernels(s: Stmt, kernel: Callable[[For], Stmt], host: Callable[[Stmt], None] = lambda s: None) -> Stmt:
    """Each kernel becomes what `kernel` makes of it; `host` sees the statements outside, in order."""
    if is_thread_loop(s):
        return kernel(s)  # type: ignore[arg-type]
    host(s)
    made: Stmt = map_children(s, lambda c: map_kernels(c, kernel, host) if isinstance(c, Stmt) else c)
    return made


@dataclass(eq=False)
class Kernel:
    """`thread`: tag -> its variable; `extents`: tag -> how many; `buffers`: handle -> buffer, of all that may be used.

    `writes`: handles of what it writes; `threads`: the variables that tell the threads of a block apart.
    """

    loop: For
    buffers: dict[Any, Buffer]
    thread: dict[str, Var] = field(default_factory=dict)
    extents: dict[str, Expr] = field(default_factory=dict)
    writes: set[Any] = field(default_factory=set)
    threads: frozenset[Var] = frozenset()

    def __post_init__(self) -> None:
        for x in walk(self.loop):
            if is_thread_loop(x):
                self._extent(x)  # type: ignore[arg-type]
            elif type(x) is Alloc:
                self.buffers[x.buffer.data] = x.buffer
            self.writes.update(effects.written(x))
        many = [t for t, n in self.extents.items() if t in BLOCK and constant(n) != 1]
        self.threads = frozenset(self.thread[t] for t in many)

    def _extent(self, loop: For) -> None:
        old = self.extents.get(loop.thread)
        self.thread.setdefault(loop.thread, Var(loop.thread, loop.var.dtype))
        same = old is None or affine.lin(old).key == affine.lin(loop.extent).key
        self.extents[loop.thread] = loop.extent if same or old is None else binary("max", old, loop.extent)

    def shared(self, warp: bool) -> set[Any]:
        """The memory that the threads of a block (of a warp) have in common and that the kernel writes."""
        level = "warp" if warp else "block"
        return {h for h in self.writes if h in self.buffers and _level(self.buffers[h]) == level}

    def is_whole(self, loop: For) -> bool:
        """Do all threads of the block enter this thread loop?"""
        return affine.lin(self.extents[loop.thread]).key == affine.lin(loop.extent).key

    def start(self, facts: Facts) -> Place:
        for tag, v in self.thread.items():
            facts = facts.with_loop(v, Const(0, v.dtype), self.extents[tag])
        blocks = (v for tag, v in self.thread.items() if tag not in BLOCK)
        fixed = (*(v for v in facts.ranges if v not in self.thread.values()), *blocks)
        return Place(self, facts, {}, frozenset(), fixed, {})


def _level(b: Buffer) -> str:
    level = rank(b.scope)
    return "block" if level is None or level < 2 else "warp" if level == 2 else "thread"


@dataclass(frozen=True, eq=False)
class Place:
    """Where a statement stands.

    `values`: what variables stand for, over the kernel's own; `unknown`: variables whose value comes from memory;
    `fixed`: variables with one value for all threads that are here at one time; `back`: the kernel's variables of
    threads -> what the program calls them here.
    """

    kernel: Kernel
    facts: Facts
    values: Mapping[Var, Expr]
    unknown: frozenset[Var]
    fixed: tuple[Var, ...]
    back: Mapping[Var, Expr]

    def expr(self, e: Expr) -> Expr:
        return substitute(e, self.values)

    def lin(self, e: Expr) -> Lin:
        return affine.lin(self.expr(e), self.facts)

    def varies(self, e: Expr) -> bool:
        """May it differ between the threads of a block?"""
        e = self.expr(e)
        return affine.reads_memory(e) or any(x in self.unknown or x in self.kernel.threads for x in walk(e))

    def of_thread(self, loop: For) -> Place:
        """Inside a thread loop."""
        own = self.kernel.thread[loop.thread]
        index: Expr = const(0, own.dtype) if constant(self.kernel.extents[loop.thread]) == 1 else own
        here = index if constant(loop.lo) == 0 else binary("+", loop.lo, index)
        called: Expr = loop.var if constant(loop.lo) == 0 else binary("-", loop.var, loop.lo)
        made = replace(self, values={**self.values, loop.var: here}, back={**self.back, own: called})
        return made if self.kernel.is_whole(loop) else made.when(binary("<", own, loop.extent))

    def inside(self, loop: For) -> Place:
        if affine.reads_memory(loop.lo) or affine.reads_memory(loop.extent):
            return replace(self, unknown=self.unknown | {loop.var})
        facts = self.facts.with_loop(loop.var, self.expr(loop.lo), self.expr(loop.extent))
        return replace(self, facts=facts, fixed=(*self.fixed, loop.var))

    def when(self, cond: Expr, holds: bool = True) -> Place:
        if affine.reads_memory(cond) or any(x in self.unknown for x in walk(cond)):
            return self
        facts = self.facts.with_condition(self.expr(cond if holds else not_(cond)))
        return self if facts is self.facts else replace(self, facts=facts)

    def let(self, s: LetStmt) -> Place:
        v: Any = s.var
        if affine.reads_memory(s.value) or any(x in self.unknown for x in walk(s.value)):
            return replace(self, unknown=self.unknown | {v})
        return replace(self, values={**self.values, v: self.expr(s.value)})

    # ------------------------------------------------------------ what is touched

    def accesses(self, n: Node, about: Stmt, wanted: set[Any]) -> list[Access]:
        """Of the memory in `wanted`, by the node (`about`: the statement it belongs to); reads first."""
        stores: list[Access] = []
        loads: list[Access] = []
        for x in walk(n):
            t = type(x)
            if t is Store or t is Load:
                if x.buffer.data in wanted:  # type: ignore[attr-defined]
                    (stores if t is Store else loads).append(self._element(x, about))
            elif fragments.is_call(x) and (found := self._tile(x, about, wanted)) is not None:
                (stores if found.store else loads).append(found)
            elif t is Call or t is AllReduce:
                loads += [self._all(h, False, about) for h in effects.read(x) if h in wanted]
                stores += [self._all(h, True, about) for h in effects.written(x) if h in wanted]
        return loads + stores

    def _all(self, handle: Any, store: bool, about: Stmt) -> Access:
        return Access(handle, self.kernel.buffers[handle].name, store, about, None, self.facts)

    def _tile(self, e: Any, about: Stmt, wanted: set[Any]) -> Access | None:
        """The elements of a tile that tensor cores copy; None where they are not known so well, or do not matter."""
        op = fragments.read(e) if len(e.args) == fragments.ARITY[e.name] else None
        pointer: Any = op and op.pointer
        if op is None or type(pointer) is not Call or pointer.args[0] not in wanted:
            return None
        handle, b = pointer.args[0], self.kernel.buffers[pointer.args[0]]
        held, shape = self.kernel.buffers.get(op.tiles[0].data), tuple(constant(n) for n in op.shape or ())
        role = "" if held is None else fragments.role(held.scope)
        if b.offset is not None or shape not in fragments.SHAPES or not role:
            return None
        sizes = fragments.tile(role, shape)
        facts, at = self.facts, self.lin(pointer.args[1])
        for name, n, step in zip("rc", sizes if op.layout == "row_major" else sizes[::-1], (op.stride, 1), strict=True):
            v = Var(name)
            facts = facts.with_range(v, affine.number(0), affine.number(n - 1))
            at = at + affine.product(affine.var(v), self.lin(const(1) if step == 1 else step))  # type: ignore[arg-type]
        forms: list[Lin] = []
        for step in b.strides or strides(b.shape):
            forms.append(affine.floordiv(at, self.lin(step), facts))
            at = affine.floormod(at, self.lin(step), facts)
        return Access(handle, b.name, op.name == "store_matrix_sync", about, tuple(forms), facts)

    def _element(self, x: Any, about: Stmt) -> Access:
        count = max([dt.lanes(i.dtype) for i in x.indices], default=1)
        lane = Var("lane")
        facts = self.facts if count == 1 else self.facts.with_range(lane, affine.number(0), affine.number(count - 1))
        forms = tuple(self._form(i, lane, facts) for i in x.indices)
        return Access(x.buffer.data, x.buffer.name, type(x) is Store, about, forms, facts)

    def _form(self, index: Expr, lane: Var, facts: Facts) -> Lin | None:
        """One index, of any of its lanes; None if it comes from memory."""
        if type(index) is Ramp:
            index = index.base + index.stride * lane
        if dt.lanes(index.dtype) > 1 or index.dtype not in INDEX:
            return None
        index = self.expr(index)
        if affine.reads_memory(index) or any(x in self.unknown for x in walk(index)):
            return None
        return affine.lin(index, facts)


def strides(shape: Sequence[Expr]) -> tuple[Expr, ...]:
    """Of memory without gaps: elements from one index to the next, per dimension."""
    found: list[Expr] = [const(1)]
    for n in reversed(shape[1:]):
        found.insert(0, binary("*", n, found[0]))
    return tuple(found)


def statements(s: Stmt) -> Iterator[Stmt]:
    """The statements directly inside one."""
    for name in s.CHILDREN:
        value = getattr(s, name)
        yield from (c for c in (value if name in s.MANY else (value,)) if isinstance(c, Stmt))


def has_threads(s: Stmt) -> bool:
    return is_thread_loop(s) or any(map(has_threads, statements(s)))


def threads_around(s: Any, memory: Any) -> set[str] | None:
    """The thread axes around the allocation of that memory; None where it is not in this statement."""
    if type(s) is Alloc and s.buffer.data is memory:
        return set()
    for c in children(s):
        if isinstance(c, Stmt) and (found := threads_around(c, memory)) is not None:
            return found | {s.thread} if is_thread_loop(s) else found
    return None
