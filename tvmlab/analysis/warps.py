"""What the lanes of one warp ask of memory, access by access: transactions of global memory, conflicts of shared banks.

    found = warp(kernel, block={"blockIdx.x": 0}, number=0)
    found.accesses[0].sectors, .ideal        32-byte sectors that the access touches, and the fewest that could do
    found.accesses[0].degree                 how many turns the banks of shared memory need: 1 is without conflict

Of loops inside the kernel the first iteration is looked at. A condition or an index that memory decides is not known:
its access is listed, without numbers. The rules are those of NVIDIA's devices since compute capability 5 (CUDA C++
Programming Guide, "Global Memory" and "Shared Memory" of the compute capabilities): sectors of 32 bytes; 32 banks of 4
bytes, lanes that read one word share it; accesses of 8 and 16 bytes go by half and by quarter warps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..core import dtype as dt
from ..core.build import FOLD
from ..core.node import (
    AllReduce,
    Bin,
    Broadcast,
    Buffer,
    Call,
    Cast,
    Const,
    Expr,
    For,
    If,
    LetStmt,
    Load,
    Not,
    Ramp,
    Select,
    Stmt,
    Store,
    Var,
)
from ..core.threads import BLOCK, GRID, LAUNCH
from ..core.threads import WARP as WARP  # whoever draws warps finds it here
from ..core.walk import children, walk

SECTOR, BANKS, WORD = 32, 32, 4
Values = dict[Any, Any]  # of variables: a number, or one for each lane


class Unknown(Exception):
    """A value that memory, or a size that nobody gave, decides."""


@dataclass(frozen=True)
class Access:
    """`offsets`: where each lane's bytes begin in the buffer, -1 for lanes that are off; None where that is not known.

    `width`: bytes of each lane. `sectors`, `ideal`: of global memory. `degree`: of shared memory.
    """

    node: Any
    store: bool
    buffer: Buffer
    width: int
    offsets: tuple[int, ...] | None
    sectors: int | None = None
    ideal: int | None = None
    degree: int | None = None

    @property
    def lanes(self) -> int:
        """How many take part."""
        return sum(o >= 0 for o in self.offsets or ())


@dataclass(frozen=True)
class Warp:
    """`at`: the thread index of each lane, by tag. Lanes beyond the block's last thread are not there."""

    block: Mapping[str, int]
    number: int
    at: tuple[Mapping[str, int], ...]
    accesses: tuple[Access, ...]


def kernels(s: Stmt) -> list[For]:
    """The outermost thread loops, in order."""
    if isinstance(s, For) and s.kind == "thread":
        return [s]
    return [k for c in children(s) if isinstance(c, Stmt) for k in kernels(c)]


def launch(kernel: For, sizes: Mapping[Any, int] | None = None) -> dict[str, int]:
    """How many blocks and threads there are along each axis that the kernel binds; raises Unknown."""
    values: Values = dict(sizes or {})
    found: dict[str, int] = {}
    for loop in walk(kernel):
        if isinstance(loop, For) and loop.kind == "thread":
            n = int(_value(loop.extent, values))
            found[loop.thread] = max(n, found.get(loop.thread, 0))
    return {tag: found[tag] for tag in LAUNCH if tag in found}


def threads(extents: Mapping[str, int]) -> int:
    """Of a block."""
    return int(np.prod([n for tag, n in extents.items() if tag in BLOCK], dtype=np.int64))


def warp(
    kernel: For, block: Mapping[str, int] | None = None, number: int = 0, sizes: Mapping[Any, int] | None = None
) -> Warp:
    """Warp `number` of a block (the first one, where none is named). Raises Unknown where the launch is not known."""
    extents = launch(kernel, sizes)
    chosen = {tag: (block or {}).get(tag, 0) for tag in extents if tag in GRID}
    at = [_thread(extents, i) for i in range(number * WARP, min((number + 1) * WARP, threads(extents)))]
    walked = _Walk(chosen, at, dict(sizes or {}))
    walked.stmt(kernel, np.ones(len(at), bool))
    return Warp(chosen, number, tuple(at), tuple(walked.found))


def _thread(extents: Mapping[str, int], linear: int) -> dict[str, int]:
    """The index of thread `linear`, x fastest."""
    found = {}
    for tag in BLOCK:
        n = extents.get(tag, 1)
        if tag in extents:
            found[tag] = linear % n
        linear //= n
    return found


class _Walk:
    """Statements in order; `on`: the lanes that are there, None where that is not known. `values`: what variables are,
    for each lane."""

    def __init__(self, block: Mapping[str, int], at: Sequence[Mapping[str, int]], values: Values) -> None:
        self.block, self.at, self.values = block, at, values
        self.vectors: dict[Any, int] = {}  # variables of vectorized loops, and their lanes
        self.found: list[Access] = []

    def stmt(self, s: Any, on: Any) -> None:
        if isinstance(s, For):
            return self.loop(s, on)
        if isinstance(s, If):
            return self.condition(s, on)
        if isinstance(s, LetStmt):
            self.reads(s.value, on)
            self.let(s.var, s.value)
            return self.stmt(s.body, on)
        if isinstance(s, Store):
            for e in (*s.indices, s.value, *([] if s.mask is None else [s.mask])):
                self.reads(e, on)
            self.access(s, True, on)
            return None
        if isinstance(s, AllReduce):
            for e in s.sources:
                self.reads(e, on)
            return None
        for c in children(s):
            if isinstance(c, Stmt):
                self.stmt(c, on)
            else:
                self.reads(c, on)
        return None

    def loop(self, s: For, on: Any) -> None:
        lo = self.known(s.lo)
        if s.kind == "thread":
            own = self.block.get(s.thread)
            index = np.array([t.get(s.thread, 0) for t in self.at]) if own is None else own
            extent = self.known(s.extent)
            self.values[s.var] = None if lo is None else index + lo
            on = None if on is None or extent is None else on & (index < extent)
        else:
            self.values[s.var] = lo
            extent = self.known(s.extent)
            if on is not None and extent is not None:
                on = on & (np.asarray(extent) > 0)
            if s.kind == "vectorized" and isinstance(s.extent, Const):
                self.vectors[s.var] = s.extent.value
        self.stmt(s.body, on)
        self.vectors.pop(s.var, None)

    def condition(self, s: If, on: Any) -> None:
        self.reads(s.cond, on)
        self.stmt(s.then, self.where(on, s.cond))
        if s.other is not None:
            self.stmt(s.other, self.where(on, s.cond, False))

    def where(self, on: Any, cond: Expr, want: bool = True) -> Any:
        """Of these lanes, those where the condition is so; None where that is not known."""
        holds = self.known(cond)
        return None if on is None or holds is None else on & (np.asarray(holds, bool) == want)

    def let(self, v: Any, e: Expr) -> None:
        self.values[v] = self.known(e)

    def known(self, e: Expr) -> Any:
        """The value, or None."""
        try:
            return _value(e, self.values)
        except Unknown:
            return None

    def reads(self, e: Any, on: Any) -> None:
        """The loads of an expression, each for the lanes that need it."""
        if isinstance(e, Call) and e.name == "if_then_else":
            cond, then, other = e.args
            self.reads(cond, on)
            self.reads(then, self.where(on, cond))
            self.reads(other, self.where(on, cond, False))
            return
        for c in children(e):
            self.reads(c, on)
        if isinstance(e, Load):
            self.access(e, False, on)

    def access(self, a: Any, store: bool, on: Any) -> None:
        if a.buffer.scope.startswith("local"):
            return  # registers
        size = dt.size(a.buffer.dtype)
        on = on if a.mask is None else self.where(on, a.mask)
        try:
            first, count = self.offset(a)
        except Unknown:
            on = None
        if on is None:
            self.found.append(Access(a, store, a.buffer, size, None))
            return
        lanes = np.broadcast_to(np.asarray(first, np.int64) * size, (len(self.at),))
        offsets = tuple(int(o) if there else -1 for o, there in zip(lanes, on, strict=True))
        self.found.append(_counted(Access(a, store, a.buffer, size * count, offsets)))

    def offset(self, a: Any) -> tuple[Any, int]:
        """Elements from the buffer's first to the access's, for each lane; and how many lie there side by side."""
        scalars = [i.base if isinstance(i, Ramp) else i.value if isinstance(i, Broadcast) else i for i in a.indices]
        first = _place(a.buffer, scalars, self.values)
        ramp = next((i for i in a.indices if isinstance(i, Ramp)), None)
        if ramp is not None:
            return first, ramp.count
        for v, lanes in self.vectors.items():
            kept = self.values[v]
            self.values[v] = kept + 1
            step = _place(a.buffer, scalars, self.values) - first
            self.values[v] = kept
            if np.all(step == 1):
                return first, lanes
        return first, 1


def _counted(a: Access) -> Access:
    begins = [o for o in a.offsets or () if o >= 0]
    if a.buffer.scope.startswith("shared"):
        return replace(a, degree=degree(a.offsets or (), a.width))
    touched = {s for o in begins for s in range(o // SECTOR, (o + a.width - 1) // SECTOR + 1)}
    used = len({byte for o in begins for byte in range(o, o + a.width)})
    return replace(a, sectors=len(touched), ideal=-(-used // SECTOR))


def degree(offsets: Sequence[int], width: int) -> int:
    """How many times as long as without conflicts the banks take. Words that several lanes read are read once."""
    parts = {8: 2, 16: 4}.get(width, 1)
    size = -(-WARP // parts)
    turns = []
    for start in range(0, len(offsets), size):
        words: dict[int, set[int]] = {}
        for o in offsets[start : start + size]:
            for w in range(o // WORD, (o + width - 1) // WORD + 1) if o >= 0 else ():
                words.setdefault(w % BANKS, set()).add(w)
        turns.append(max(map(len, words.values()), default=0))
    return max(turns, default=0)


# ---------------------------------------------------------------- values, one for each lane


def _place(b: Buffer, indices: Sequence[Expr], values: Values) -> Any:
    """Elements from the buffer's first; compact row-major where it has no strides."""
    total: Any = 0 if b.offset is None else _value(b.offset, values)
    strides = b.strides
    step: Any = 1
    for k in reversed(range(len(indices))):
        n = _value(strides[k], values) if strides is not None else step
        total = total + _value(indices[k], values) * n
        step = step * _value(b.shape[k], values) if strides is None else step
    return total


def _value(e: Any, values: Values) -> Any:
    """The number that an expression over integers is, for all lanes or for each."""
    if isinstance(e, Const):
        return e.value
    if isinstance(e, Var):
        found = values.get(e)
        if found is None:
            raise Unknown(e.name)
        return found
    if isinstance(e, Cast) and (dt.is_int(e.dtype) or dt.is_bool(e.dtype)):
        return _value(e.value, values)
    if isinstance(e, Bin):
        return _binary(e.op, _value(e.a, values), _value(e.b, values))
    if isinstance(e, Not):
        return np.logical_not(_value(e.a, values))
    if isinstance(e, (Select, Call)):
        return _chosen(e, values)
    raise Unknown(type(e).__name__)


def _chosen(e: Any, values: Values) -> Any:
    if isinstance(e, Call) and e.name == "likely":
        return _value(e.args[0], values)
    if isinstance(e, Call) and e.name != "if_then_else":
        raise Unknown(e.name)
    cond, a, b = (e.cond, e.then, e.other) if isinstance(e, Select) else e.args
    return np.where(_value(cond, values), _value(a, values), _value(b, values))


ARRAYS = {"and": np.logical_and, "or": np.logical_or, "min": np.minimum, "max": np.maximum}


def _binary(op: str, a: Any, b: Any) -> Any:
    if op in ARRAYS:
        return ARRAYS[op](a, b)
    if op in ("//", "%") and np.any(np.asarray(b) == 0):
        raise Unknown("division by zero")
    return FOLD[op](a, b)


__all__ = ["Access", "Unknown", "Warp", "degree", "kernels", "launch", "threads", "warp"]
