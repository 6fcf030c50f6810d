"""What generated code calls: memory, faults, and the slow halves of checked accesses."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ...core import packed as registry
from ...core.dtype import is_float
from ...core.node import Buffer
from .memory import Memory, allocate, memory_of, numpy_type
from .report import InterpError, Site, element, headline, span
from .tasks import ROOT, Clash, Construct, Tasks

Loops = tuple[int, ...]


class Stop(Exception):
    """Enough faults were collected."""


class Machine:
    """One run. `task` is the running task; `faults` collects up to `limit` places (1: the first one is raised)."""

    def __init__(
        self,
        sites: Sequence[Site],
        buffers: Sequence[Buffer],
        arrays: Sequence[Any],
        *,
        limit: int = 1,
        packed: Mapping[str, Callable[..., Any]] | None = None,
        strict: bool = False,
        exact_readers: bool = False,
    ) -> None:
        self.sites, self.buffers, self.arrays = sites, buffers, arrays
        self.limit, self.packed, self.strict, self.exact_readers = limit, packed or {}, strict, exact_readers
        self.faults: dict[tuple[str, int], InterpError] = {}
        self.tasks = Tasks()
        self.task = ROOT

    # ------------------------------------------------------------ faults

    def fault(self, error: InterpError, site: int) -> None:
        """Raise, or note the first fault of each kind and place."""
        if self.limit == 1:
            raise error
        self.faults.setdefault((error.rule, site), error)
        if len(self.faults) >= self.limit:
            raise Stop

    def report(
        self,
        site: int,
        loops: Loops,
        rule: str,
        message: str,
        hint: str = "",
        *,
        index: Sequence[int] = (),
        more: Any = (),
    ) -> None:
        s = self.sites[site]
        tensor = s.buffer.name if s.buffer is not None else ""
        error = InterpError(
            rule,
            message,
            [*s.where(loops), *more],
            hint=hint,
            tensor=tensor,
            index=index,
            loops=dict(zip(s.loops, loops)),
        )
        self.fault(error, site)

    def outside(self, m: Memory, index: tuple[int, ...], site: int, loops: Loops, verb: str) -> Any:
        """An access outside the buffer; a read gives 0."""
        name, rule = m.name, f"out-of-bounds-{verb}"
        if m.logical is not None:
            size, at = m.shape[0], m.element(index[0])
            text = f"flat index {index[0]} (as {element(name, at)}) is not in {span(size)}; its shape is {m.logical}"
        else:
            at = index
            bad = [d for d, (i, n) in enumerate(zip(index, m.shape)) if not 0 <= i < n]
            parts = [
                f"index {index[d]} in dimension {d} of {element(name, index)} is not in {span(m.shape[d])}" for d in bad
            ]
            if not bad:
                parts = [f"{element(name, index)} is element {m.address(index)} of its memory, which has {m.size}"]
            text = f"{', '.join(parts)}; its shape is {m.shape}"
        self.report(site, loops, rule, f"{verb} outside {name}: {text}", index=at)
        return self.zero(m)

    def zero(self, m: Memory) -> Any:
        return m.data.dtype.type(0) if m.data.dtype.char in "ef" else m.data.dtype.type(0).item()

    def unwritten(self, m: Memory, address: int, site: int, loops: Loops) -> Any:
        at = m.element(address)
        common = self.exact_readers and m.writer is not None
        hint = "if another thread writes it, a barrier must stand between" if common else ""
        message = f"read of {element(m.name, at)}, which nothing has written yet"
        self.report(site, loops, "uninitialised-read", message, hint, index=at)
        return self.zero(m)

    def by_zero(self, site: int, loops: Loops) -> int:
        """What integer division and remainder by zero give."""
        if self.strict:
            self.report(site, loops, "division-by-zero", "division of integers by zero")
        return 0

    def divide(self, f: Callable[[Any, Any], Any], a: Any, b: Any, site: int, loops: Loops) -> Any:
        """`f(a, b)` lane by lane; 0 where b is."""
        a, b = np.asarray(a), np.asarray(b)
        if b.dtype != a.dtype:  # one of them is a plain number, the same in all lanes
            a, b = (a, b.astype(a.dtype)) if a.ndim else (a.astype(b.dtype), b)
        zero = b == 0
        if not zero.any():
            return f(a, b)
        return np.where(zero, self.by_zero(site, loops), f(a, np.where(zero, 1, b).astype(b.dtype))).astype(b.dtype)

    def shift(self, op: str, a: Any, b: Any, bits: int, site: int, loops: Loops) -> Any:
        """`a << b` or `a >> b`; a shift by the width or more leaves nothing but the sign (of `>>`)."""
        bad = (b < 0) | (b >= bits)
        if self.strict and np.any(bad):
            message = f"shift of a {bits}-bit integer by {b}: only 0..{bits - 1} is defined"
            self.report(site, loops, "shift-range", message)
        if isinstance(a, int) and isinstance(b, int):
            if bad:
                return -1 if op == ">>" and a < 0 else 0
            return a << b if op == "<<" else a >> b
        near = np.where(bad, 0, b).astype(a.dtype)
        far = np.where(a < 0, -1, 0).astype(a.dtype) if op == ">>" else np.zeros_like(a)
        return np.where(bad, far, a << near if op == "<<" else a >> near)

    # ------------------------------------------------------------ memory

    def parameter(
        self,
        k: int,
        shape: tuple[int, ...],
        strides: tuple[int, ...] | None,
        offset: int,
        logical: Any,
        forget: bool,
        track: bool,
    ) -> Memory:
        """The memory of buffer parameter `k`, whose shape is checked against the array's."""
        array, buffer = self.arrays[k], self.buffers[k]
        want = shape if logical is None else logical
        if tuple(array.shape) != tuple(want):
            raise InterpError(
                "argument-shape",
                f"argument {buffer.name} has shape {tuple(array.shape)}, but the program needs {tuple(want)}",
            )
        m = Memory(buffer, memory_of(array), shape, strides, offset, logical)
        if logical is not None and shape[0] > m.size:
            m.shape = (m.size,)
        return m.shadowed(forget, track)

    def allocation(
        self, k: int, shape: tuple[int, ...], strides: Any, logical: Any, forget: bool, track: bool
    ) -> Memory:
        return allocate(self.buffers[k], shape, strides, logical).shadowed(forget, track)

    # ------------------------------------------------------------ vectors

    def lanes(
        self, m: Memory, index: tuple[Any, ...], mask: Any, count: int, site: int, loops: Loops, verb: str, bounds: bool
    ) -> tuple[Any, Any]:
        """Addresses of the lanes, and which lanes are touched. Lanes outside are reported and left out."""
        on = np.broadcast_to(True if mask is None else mask, count).copy()
        columns = [np.broadcast_to(i, count) for i in index]
        address = np.broadcast_to(m.address(tuple(columns)), count)
        if bounds:
            good = (address >= 0) & (address < m.size)
            for i, n in zip(columns, m.shape):
                good &= (i >= 0) & (i < n)
            for lane in np.flatnonzero(on & ~good)[:1]:
                self.outside(m, tuple(int(i[lane]) for i in columns), site, loops, verb)
            on &= good
        return address, on

    def load(
        self,
        m: Memory,
        index: tuple[Any, ...],
        mask: Any,
        count: int,
        site: int,
        loops: Loops,
        bounds: bool,
        version: int,
    ) -> Any:
        address, on = self.lanes(m, index, mask, count, site, loops, "read", bounds)
        if m.init is not None and version:
            for a in address[on & (m.written[np.where(on, address, 0)] < version)][:1] if on.any() else ():
                self.unwritten(m, int(a), site, loops)
        if m.writer is not None:
            for a in address[on]:
                self.note_read(m, int(a), site, loops)
        value = np.zeros(count, m.data.dtype)
        value[on] = m.data[address[on]]
        return value

    def store(
        self,
        m: Memory,
        index: tuple[Any, ...],
        value: Any,
        mask: Any,
        count: int,
        site: int,
        loops: Loops,
        bounds: bool,
        version: int,
    ) -> None:
        address, on = self.lanes(m, index, mask, count, site, loops, "write", bounds)
        lanes = np.broadcast_to(value, count)
        if m.writer is not None:
            for a, v in zip(address[on], lanes[on]):
                self.note_write(m, int(a), site, loops, v)
        m.data[address[on]] = lanes[on]
        if m.init is not None:
            m.written[address[on]] = version

    # ------------------------------------------------------------ races

    def note_read(self, m: Memory, a: int, site: int, loops: Loops) -> None:
        task, writer = self.task, m.writer[a]
        if writer != task and (clash := self.tasks.clash(writer, task)):
            self.race(m, a, site, loops, clash, "writes", "reads", m.writer_site.get(a))
        known = m.readers.setdefault(a, {})
        if task in known:
            return
        # In depth-first order one reader stands for all that run beside it; threads stop half-way, so keep each.
        beside = {t: s for t, s in known.items() if self.tasks.together(t, task)}
        if self.exact_readers or not beside:
            beside[task] = site
        m.readers[a] = beside

    def note_write(self, m: Memory, a: int, site: int, loops: Loops, value: Any) -> None:
        task = self.task
        for other, where, verb in [(m.writer[a], m.writer_site.get(a), "writes")] + [
            (t, s, "reads") for t, s in m.readers.get(a, {}).items()
        ]:
            clash = self.tasks.clash(other, task)
            if clash is not None and not self.harmless(m, a, clash, value):
                self.race(m, a, site, loops, clash, verb, "writes", where)
                break
        m.writer[a] = task
        m.writer_site[a] = site
        m.readers.pop(a, None)

    def harmless(self, m: Memory, a: int, clash: Clash, value: Any) -> bool:
        """Threads that store what is there already do no harm: classic schedules let all threads compute one value."""
        if self.strict or clash.kind == "parallel":
            return False
        old = m.data[a]
        return bool(old == value) or bool(old != old and value != value)

    def race(
        self, m: Memory, a: int, site: int, loops: Loops, clash: Clash, verb: str, verb2: str, other: int | None
    ) -> None:
        at = m.element(a)
        what = element(m.name, at)
        lines = []
        if other is not None and self.sites[other].stmt is not self.sites[site].stmt:
            lines = [f"the other access: {headline(s)}" for s in [self.sites[other].stmt] if s is not None]
        acts = (
            f"both {verb2.removesuffix('s')} {what}" if verb == verb2 else f"{verb} {what}, {clash.second} {verb2} it"
        )
        sides = f"{clash.first} and {clash.second} {acts}" if verb == verb2 else f"{clash.first} {acts}"
        rule, head, hint = {
            "parallel": ("parallel-race", "race between iterations of a parallel loop", "this loop must stay serial"),
            "block": ("block-race", "race between blocks", "no barrier orders blocks"),
            "thread": ("thread-race", "race between threads", "a barrier must stand between the two accesses"),
            "vthread": ("vthread-race", "race between virtual threads", "virtual threads must be independent"),
        }[clash.kind]
        self.report(site, loops, rule, f"{head}: {sides}", hint, index=at, more=lines)

    def parallel(self, name: str) -> int:
        return self.tasks.instance(Construct("parallel", lambda i: f"{name} = {i}"))

    # ------------------------------------------------------------ packed functions

    def pointer(
        self,
        m: Memory,
        offset: int,
        extent: int,
        mask: int,
        site: int,
        loops: Loops,
        version: int,
        shape: tuple[int, ...] | None = None,
        strides: tuple[int, ...] = (),
    ) -> Any:
        """access_ptr: `extent` elements from `offset` on, as an array on the same memory.

        `shape`, `strides`: those of them that the pointer is for, where there are others between.
        """
        if offset < 0 or extent < 0 or offset + extent > m.size:
            self.outside_part("access_ptr", m, offset, offset + extent - 1, mask, site, loops)
            return m.data[:0]
        own = range(offset, offset + extent) if shape is None else places(offset, shape, strides)
        self.touch(m, own, mask, site, loops, version)
        return m.data[offset : offset + extent]

    def view(
        self,
        m: Memory,
        offset: int,
        shape: tuple[int, ...],
        strides: tuple[int, ...],
        mask: int,
        site: int,
        loops: Loops,
        version: int,
    ) -> Any:
        """array_view: a part with strides, as an array on the same memory."""
        own = places(offset, shape, strides)
        first, last = (min(own), max(own)) if own else (0, -1)
        if first < 0 or last >= m.size:
            self.outside_part("array", m, first, last, mask, site, loops)
            return np.zeros(shape, m.data.dtype)
        self.touch(m, own, mask, site, loops, version)
        size = m.data.itemsize
        return np.lib.stride_tricks.as_strided(m.data[offset:], shape, [s * size for s in strides])

    def outside_part(self, what: str, m: Memory, first: int, last: int, mask: int, site: int, loops: Loops) -> None:
        """A part of a buffer that is not all inside it."""
        text = f"elements {first}..{last} are not all in {span(m.size)}; its shape is {m.logical or m.shape}"
        rule = f"out-of-bounds-{'write' if mask & 2 else 'read'}"
        self.report(site, loops, rule, f"{what} outside {m.name}: {text}", index=m.element(first))

    def whole(self, m: Memory, site: int, loops: Loops, version: int) -> Any:
        """The whole buffer as an argument; what the function does with it is not known, so it counts as written."""
        self.touch(m, range(m.size), 2, site, loops, version)
        return m.array()

    def touch(self, m: Memory, addresses: Sequence[int], mask: int, site: int, loops: Loops, version: int) -> None:
        if mask & 1 and m.init is not None and version:
            for a in [a for a in addresses if m.init[a] < version][:1]:
                self.unwritten(m, a, site, loops)
        if m.writer is not None:
            for a in addresses:
                if mask & 1:
                    self.note_read(m, a, site, loops)
                if mask & 2:
                    self.note_write(m, a, site, loops, np.nan)
        if mask & 2 and m.init is not None:
            at = slice(addresses.start, addresses.stop) if isinstance(addresses, range) else addresses
            m.written[at] = version

    def call_packed(self, name: str, args: Sequence[Any], dtype: str) -> Any:
        f = self.packed.get(name)
        result = f(*args) if f is not None else registry.call(name, args)
        if result is None or dtype == "handle":
            return 0 if result is None else result
        kind = numpy_type(dtype)
        return kind.type(result) if is_float(dtype) and kind.itemsize < 8 else kind.type(result).item()


def places(offset: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> list[int]:
    """The addresses of a part with strides."""
    steps = [i * s for i, s in zip(np.ix_(*map(np.arange, shape)), strides)]
    return np.asarray(sum(steps, np.intp(offset))).ravel().tolist()
