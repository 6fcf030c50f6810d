"""Which elements of its outputs a block of a kernel computes, and which of its threads each of them.

    found = of_block(kernel, {"blockIdx.x": 3})
    found[0].index[k], .thread[k]            element k, and the thread of the block that writes it

Exact: every thread is looked at, and every iteration of the loops that an index or a condition depends on. What memory
decides, or what is too much to count, is said in `why`, and then there are no elements, or too many (`most`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from ..core.calls import pointed
from ..core.node import Alloc, Attr, Buffer, Call, Const, Evaluate, Expr, For, If, LetStmt, Seq, Store, While
from ..core.threads import BLOCK, GRID
from ..core.walk import variables, walk
from .warps import Unknown, Values, launch, value

MOST = 1 << 20  # writes that are looked at


@dataclass(frozen=True)
class Owned:
    """`index`: an element per row; `who`: the thread of the block (of `of_grid`: the block) that writes it, counted
    with x fastest; the first of several (`shared`). `most`: these at the most: memory decides which of them."""

    buffer: Buffer
    shape: tuple[int, ...]
    index: Any
    who: Any
    shared: bool = False
    most: bool = False
    why: str = ""


def of_block(
    kernel: For, block: Mapping[str, int], sizes: Mapping[Any, int] | None = None, buffers: Sequence[Buffer] = ()
) -> list[Owned]:
    """What one block writes into global memory, by its threads, in the order of the writes. Raises Unknown.

    `buffers`: those that intrinsics may be given pointers into.
    """
    extents = launch(kernel, sizes)
    threads, count = _spread(extents, BLOCK)
    tags = {**{tag: block.get(tag, 0) for tag in GRID if tag in extents}, **threads}
    return _found(kernel, tags, (count,), np.arange(count), sizes, buffers)


def of_grid(kernel: For, sizes: Mapping[Any, int] | None = None) -> list[Owned]:
    """What all blocks write, by blocks. Raises Unknown."""
    extents = launch(kernel, sizes)
    (blocks, grid), (threads, count) = _spread(extents, GRID), _spread(extents, BLOCK)
    tags = {**{tag: at[:, None] for tag, at in blocks.items()}, **threads}
    return _found(kernel, tags, (grid, count), np.arange(grid)[:, None], sizes)


def _spread(extents: Mapping[str, int], axes: tuple[str, ...]) -> tuple[dict[str, Any], int]:
    """The index of every block or thread along each axis, and how many there are."""
    sizes = {tag: extents[tag] for tag in axes if tag in extents}
    total = prod(sizes.values())
    if total > MOST:
        return dict.fromkeys(sizes, np.zeros(0, np.int64)), total
    step, found = 1, {}
    for tag, n in sizes.items():
        found[tag] = np.arange(total) // step % n
        step *= n
    return found, total


def _found(
    kernel: For, tags: Mapping[str, Any], shape: tuple[int, ...], who: Any, sizes: Any, buffers: Sequence[Buffer] = ()
) -> list[Owned]:
    by_memory: dict[Any, list[Owned]] = {}
    for write, around in _writes(kernel, (), {b.data: b for b in buffers}):
        if isinstance(write, Store):
            by_memory.setdefault(write.buffer.owner, []).append(
                _one(write, around, tags, shape, who, dict(sizes or {}))
            )
        else:
            buffer = write.buffer.owner
            by_memory.setdefault(buffer, []).append(_unknown(buffer, "an intrinsic writes there"))
    return [_together(parts) for parts in by_memory.values()]


@dataclass(frozen=True)
class _Written:
    """By an intrinsic: where is not looked into."""

    buffer: Buffer


def _writes(
    s: Any, around: tuple[Any, ...], handles: Mapping[Any, Buffer]
) -> Iterator[tuple[Store | _Written, tuple[Any, ...]]]:
    """The writes to global memory, and what stands around each, outermost first: loops, lets, (condition, wanted)."""
    if isinstance(s, Store):
        if s.buffer.owner.scope == "global":
            yield s, around
    elif isinstance(s, (For, LetStmt, While)):
        yield from _writes(s.body, (*around, s), handles)
    elif isinstance(s, If):
        yield from _writes(s.then, (*around, (s.cond, True)), handles)
        if s.other is not None:
            yield from _writes(s.other, (*around, (s.cond, False)), handles)
    elif isinstance(s, Seq):
        for x in s.stmts:
            yield from _writes(x, around, handles)
    elif isinstance(s, (Alloc, Attr)):
        yield from _writes(s.body, around, handles)
    elif isinstance(s, Evaluate):
        named = [b for x in walk(s) if isinstance(b := getattr(x, "buffer", None), Buffer)]
        named += [handles[h] for x in walk(s) if isinstance(x, Call) for h in pointed(x, 2) if h in handles]
        yield from ((_Written(b), around) for b in dict.fromkeys(b.owner for b in named) if b.scope == "global")


def _unknown(b: Buffer, why: str) -> Owned:
    none = np.zeros((0, len(b.shape)), np.int64)
    return Owned(b, (), none, none[:, :0].reshape(0), why=why)


def _one(
    s: Store, around: Sequence[Any], tags: Mapping[str, Any], shape: tuple[int, ...], who: Any, values: Values
) -> Owned:
    b = s.buffer
    try:
        dims = tuple(int(value(n, values)) for n in b.owner.shape)
        kept, on_memory = _needed(s, around)
        loops = [x for x in kept if isinstance(x, For) and x.kind != "thread"]
        extents: list[int] = []
        for x in loops:
            if prod(extents) * prod(shape) <= MOST:
                extents.append(_most(x, kept, tags, values))
        if prod(extents) * prod(shape) > MOST:
            return _unknown(b.owner, f"more than {MOST} writes, too many to look at")
        full = (*extents, *shape)
        on = _bound(kept, tags, values, len(full))
        if s.mask is not None:
            on = on & np.asarray(value(s.mask, values), bool)
        at = [np.broadcast_to(value(i, values), full) for i in s.indices]
    except Unknown as e:
        return _unknown(b.owner, f"it depends on {e}, which only a run knows")
    there = np.broadcast_to(on, full)
    index = np.stack([i[there] for i in at], -1) if at else np.zeros((int(there.sum()), 0), np.int64)
    if len(at) == 1 and len(dims) != 1:  # a flat view of the tensor
        index = np.stack(np.unravel_index(index[:, 0], dims), -1) if dims else index[:, :0]
    return Owned(b.owner, dims, index, np.broadcast_to(who, full)[there], most=on_memory)


def _needed(s: Store, around: Sequence[Any]) -> tuple[list[Any], bool]:
    """Of what stands around a store, what decides where it writes; and whether memory has a say in whether it does."""
    wanted = {v for e in (*s.indices, *([] if s.mask is None else [s.mask])) for v in variables(e)}
    kept: list[Any] = []
    on_memory = False
    for x in reversed(around):
        if isinstance(x, While):
            on_memory = True
        elif isinstance(x, tuple):
            if _decided(x[0], around):
                kept.append(x)
                wanted.update(variables(x[0]))
            else:
                on_memory = True
        elif isinstance(x, LetStmt):
            if x.var in wanted:
                kept.append(x)
                wanted.update(variables(x.value))
        elif x.kind == "thread" or x.var in wanted or not isinstance(x.extent, Const):
            kept.append(x)
            wanted.update(v for e in (x.lo, x.extent) for v in variables(e))
        elif x.extent.value < 1:
            kept.append(x)
    return kept[::-1], on_memory


def _decided(cond: Expr, around: Sequence[Any]) -> bool:
    """Not by memory: neither itself nor what its variables are let to be reads any."""
    lets = {x.var: x.value for x in around if isinstance(x, LetStmt)}
    todo, seen = [cond], set()
    while todo:
        e = todo.pop()
        if any(hasattr(x, "buffer") for x in walk(e)):
            return False
        for v in variables(e):
            if v in lets and v not in seen:
                seen.add(v)
                todo.append(lets[v])
    return True


def _most(loop: For, kept: Sequence[Any], tags: Mapping[str, Any], values: Values) -> int:
    """The iterations of a loop; the most that any thread makes, where they differ."""
    if isinstance(loop.extent, Const):
        return max(int(loop.extent.value), 0)
    trial = dict(values)
    before = kept[: kept.index(loop)]
    outer = [x for x in before if isinstance(x, For) and x.kind != "thread"]
    _bound(before, tags, trial, len(outer) + max((np.ndim(t) for t in tags.values()), default=1))
    return max(int(np.max(value(loop.extent, trial), initial=0)), 0)


def _bound(kept: Sequence[Any], tags: Mapping[str, Any], values: Values, rank: int) -> Any:
    """Gives the variables their values, an axis for each loop, and says for which of them a store is reached."""
    on: Any = np.ones((1,) * rank, bool)
    axis = 0
    for x in kept:
        if isinstance(x, LetStmt):
            values[x.var] = value(x.value, values)
        elif isinstance(x, tuple):
            on = on & (np.asarray(value(x[0], values), bool) == x[1])
        else:
            extent = value(x.extent, values)
            if x.kind == "thread":
                index: Any = tags[x.thread]
            else:
                n = max(int(np.max(extent, initial=0)), 0)
                index = np.arange(n).reshape((-1,) + (1,) * (rank - axis - 1))
                axis += 1
            on = on & (index < np.asarray(extent))
            values[x.var] = index + value(x.lo, values)
    return on


def _together(parts: Sequence[Owned]) -> Owned:
    """All writes to one buffer, each element once."""
    unknown = next((p for p in parts if p.why), None)
    if unknown is not None:
        return unknown
    first = parts[0]
    index, who = np.concatenate([p.index for p in parts]), np.concatenate([p.who for p in parts])
    inside = np.all((index >= 0) & (index < np.array(first.shape, np.int64)), axis=1)
    index, who = index[inside], who[inside]
    flat = np.ravel_multi_index(tuple(index.T), first.shape) if first.shape else np.zeros(len(index), np.int64)
    order = np.argsort(flat * (int(who.max(initial=0)) + 1) + who, kind="stable")  # as lexsort, in half its time
    flat, who, index = flat[order], who[order], index[order]
    new = np.ones(len(flat), bool)
    new[1:] = flat[1:] != flat[:-1]
    several = bool(np.any(~new[1:] & (who[1:] != who[:-1])))
    return Owned(first.buffer, first.shape, index[new], who[new], several, any(p.most for p in parts))


__all__ = ["Owned", "of_block", "of_grid"]
