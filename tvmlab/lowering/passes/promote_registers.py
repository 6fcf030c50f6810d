"""Accumulators leave memory for the time of their reduction loop.

    for ii in unrolled(6):                        tile = alloc((6, 16), scope="local")
        C[i*6 + ii, j:j + 16] = 0.0               for ii in unrolled(6):
    for k in range(n):                                tile[ii, 0:16] = 0.0
        for ii in unrolled(6):            ->      for k in range(n):
            C[i*6 + ii, j:j + 16] += ...              for ii in unrolled(6):
                                                          tile[ii, 0:16] += ...
                                                  for ii in unrolled(6):
                                                      C[i*6 + ii, j:j + 16] = tile[ii, 0:16]

The loop is the outermost serial one in which every store goes to such an accumulator: the store and all reads of that
buffer use one index, which names outer variables and unrolled loops only, one element for each of their values. All
indices of the tile are constants once its loops are unrolled, so code generators keep it in registers.
A local buffer that is a register tile already (small, its indices constant once unrolled) is left as it is.
Where nothing initialises the tile just before the loop, it is loaded. Guards and masks go along. The arithmetic and its
order stay, so the results are the same bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import permutations
from typing import Any

from ...core import affine
from ...core import dtype as dt
from ...core.affine import Facts
from ...core.cells import one_to_one
from ...core.node import Alloc, Attr, Buffer, Const, Expr, For, If, LetStmt, Load, Ramp, Seq, Stmt, Store, Var
from ...core.program import Program
from ...core.walk import children, constant, identical, map_children, replace, seq, substitute, variables, walk
from ..config import DEFAULT, Config

MAX_BYTES = 4096  # twice the vector registers of AVX-512
MAX_VALUES = 128  # vectors (or scalars) of a tile

Path = tuple[Stmt, ...]


def promote_registers(program: Program, config: Config = DEFAULT) -> Program:
    return program.map_bodies(lambda body: _Promoter(register_tiles(body)).stmt(body, Facts()))


def register_tiles(body: Stmt) -> set[Any]:
    """Handles of local buffers that are register tiles as they are: small, every index constant once unrolled."""
    found: set[Any] = set()
    other: set[Any] = set()

    def visit(s: Any, unrolled: frozenset[Any]) -> None:
        if isinstance(s, Alloc) and s.buffer.scope == "local":
            size = s.buffer.size
            if size is not None and size * dt.nbytes(s.buffer.dtype) <= MAX_BYTES:
                found.add(s.buffer.data)
        if isinstance(s, (Load, Store)):
            plain = s.mask is None and all(v in unrolled for i in s.indices for v in variables(i))
            if not plain:
                other.add(s.buffer.data)
        if isinstance(s, For) and s.kind == "unrolled" and constant(s.extent) is not None:
            unrolled |= {s.var}
        for c in children(s):
            visit(c, unrolled)

    visit(body, frozenset())
    return found - other


class _Promoter:
    """`registers`: buffers that code generators keep in registers without this pass."""

    def __init__(self, registers: set[Any]) -> None:
        self.registers = registers

    def stmt(self, s: Stmt, facts: Facts) -> Stmt:
        if isinstance(s, Seq):
            return self.seq(s, facts)
        if isinstance(s, For):
            tiles = self.tiles(s, facts)
            if tiles:
                return _promoted(s, tiles, [])
            facts = facts.with_loop(s.var, s.lo, s.extent)
        elif isinstance(s, If) and not affine.reads_memory(s.cond):
            then = self.stmt(s.then, facts.with_condition(s.cond))
            other = None if s.other is None else self.stmt(s.other, facts)
            return s if then is s.then and other is s.other else replace(s, then=then, other=other)
        return map_children(s, lambda c: self.stmt(c, facts) if isinstance(c, Stmt) else c)

    def seq(self, s: Seq, facts: Facts) -> Stmt:
        """A reduction loop takes the initialisations just before it along."""
        made: list[Stmt] = []
        for x in s.stmts:
            tiles = self.tiles(x, facts) if isinstance(x, For) else None
            made.append(_promoted(x, tiles, made) if isinstance(x, For) and tiles else self.stmt(x, facts))
        same = len(made) == len(s.stmts) and all(a is b for a, b in zip(made, s.stmts, strict=True))
        return s if same else seq(*made)

    def tiles(self, loop: For, facts: Facts) -> list[Tile] | None:
        tiles = _tiles(loop, facts)
        if tiles and all(t.update.buffer.data in self.registers for t in tiles):
            return None
        return tiles


def _promoted(s: For, tiles: list[Tile], before: list[Stmt]) -> Stmt:
    """The loop with its accumulators in tiles; takes off the end of `before` what initialises them."""
    first: dict[Tile, Stmt] = {}
    while before:
        found = _initialised(before[-1], tiles, first)
        if not found:
            break
        before.pop()
        first.update(found)
    starts = [first[t] if t in first else t.nest(t.load()) for t in tiles]
    body = seq(*starts, _on_tiles(s, tiles), *[t.nest(t.store()) for t in tiles])
    for t in reversed(tiles):
        body = Alloc(t.buffer, body, t.update.origin)
    return body


# ---------------------------------------------------------------- finding accumulators


@dataclass
class _Found:
    """What a loop contains: stores with the statements around each, loads, whether it takes an address."""

    stores: list[tuple[Store, Path]] = field(default_factory=list)
    loads: list[Load] = field(default_factory=list)
    pointers: bool = False

    def read(self, e: Any) -> None:
        for x in walk(e):
            if type(x) is Load:
                self.loads.append(x)
            elif type(x) is Var and x.dtype == "handle":
                self.pointers = True


@dataclass(frozen=True, eq=False)
class Tile:
    """`loops`: the unrolled loops that walk over it, outermost first. `guards`: conditions it shares with its update.

    `indices`: the element of `buffer` that stands for the update's.
    """

    update: Store
    loops: tuple[For, ...]
    guards: tuple[If, ...]
    buffer: Buffer
    indices: tuple[Expr, ...]

    def load(self) -> Store:
        s = self.update
        return Store(self.buffer, self.indices, Load(s.buffer, s.indices, self.dtype, s.mask), None, s.origin)

    def store(self) -> Store:
        return replace(self.update, value=Load(self.buffer, self.indices, self.dtype))

    @property
    def dtype(self) -> str:
        return self.update.value.dtype

    def nest(self, body: Stmt) -> Stmt:
        """The tile's loops, with variables of their own, around `body`."""
        names: dict[Any, Var] = {f.var: Var(f.var.name, f.var.dtype) for f in self.loops}
        for g in self.guards:
            body = If(g.cond, body, None, g.likely)
        body = substitute(body, names)
        for f in reversed(self.loops):
            body = replace(f, var=names[f.var], body=body)
        return body


def _tiles(loop: For, facts: Facts) -> list[Tile] | None:
    """A tile for every store of the loop, or None where one of them has none."""
    found = _Found()
    if loop.kind != "serial":
        return None
    if not _collect(loop.body, (loop,), found) or found.pointers:
        return None
    tiles = []
    for store, path in found.stores:
        memory = store.buffer.data
        if sum(other.buffer.data is memory for other, _ in found.stores) > 1:
            return None
        tile = _tile(store, path, [x for x in found.loads if x.buffer.data is memory], facts)
        if tile is None:
            return None
        tiles.append(tile)
    return tiles


def _collect(s: Stmt, path: Path, found: _Found) -> bool:
    """False where the statement holds something else than loops, guards, lets and stores."""
    if isinstance(s, Store):
        found.stores.append((s, path))
        found.read(s)
        return True
    if isinstance(s, Seq):
        return all(_collect(x, path, found) for x in s.stmts)
    if isinstance(s, For):
        return s.kind in ("serial", "unrolled") and _collect(s.body, (*path, s), found)
    if isinstance(s, If):
        found.read(s.cond)
        return s.other is None and _collect(s.then, (*path, s), found)
    if isinstance(s, LetStmt):
        found.read(s.value)
        return _collect(s.body, (*path, s), found)
    return isinstance(s, Attr) and _collect(s.body, path, found)


def _tile(s: Store, path: Path, loads: Sequence[Load], facts: Facts) -> Tile | None:
    if not loads or any(not _same_place(x, s) for x in loads):
        return None
    named = {v for i in (*s.indices, *([s.mask] if s.mask is not None else ())) for v in variables(i)}
    bound = {x.var for x in path if isinstance(x, (For, LetStmt))}
    loops = tuple(x for x in path if isinstance(x, For) and x.var in named)
    if any(f.kind != "unrolled" or constant(f.extent) is None or constant(f.lo) is None for f in loops):
        return None
    if named & bound != {f.var for f in loops} or any(map(affine.reads_memory, s.indices)):
        return None  # the place changes from one iteration of the reduction to the next
    if s.mask is not None and affine.reads_memory(s.mask):
        return None
    guards = _guards(s, path, {f.var for f in loops}, bound, facts)
    if guards is None or not _distinct(s, loops):
        return None
    return _made(s, loops, guards)


def _same_place(x: Load, s: Store) -> bool:
    return x.buffer is s.buffer and identical(x.indices, s.indices) and identical(x.mask, s.mask)


def _guards(s: Store, path: Path, own: set[Any], bound: set[Any], facts: Facts) -> tuple[If, ...] | None:
    """The conditions that decide whether an element exists; None when that cannot be told.

    A condition on the reduction (a tail of k) says nothing about the element: then it must be inside its buffer.
    """
    kept, free = [], False
    for x in path:
        if not isinstance(x, If):
            continue
        if affine.reads_memory(x.cond) or any(v in bound and v not in own for v in variables(x.cond)):
            free = True
        else:
            kept.append(x)
    if not free:
        return tuple(kept)
    for x in path:
        if isinstance(x, For) and x.var in own:
            facts = facts.with_loop(x.var, x.lo, x.extent)
    for x in kept:
        facts = facts.with_condition(x.cond)
    return tuple(kept) if s.mask is None and _inside(s, facts) else None


def _inside(s: Store, facts: Facts) -> bool:
    for i, n in zip(s.indices, s.buffer.shape, strict=True):
        lo, count = (i.base, i.count) if isinstance(i, Ramp) else (i, 1)
        first, size = affine.lin(lo, facts), affine.lin(n, facts)
        last = first + affine.lin(i.stride, facts) * (count - 1) if isinstance(i, Ramp) else first
        if not (affine.within(first, size, facts) and affine.within(last, size, facts)):
            return False
    return True


def _distinct(s: Store, loops: Sequence[For]) -> bool:
    """One element of memory for each element of the tile."""
    spans: dict[Any, int] = {f.var: (constant(f.extent) or 0) - 1 for f in loops}
    lane = Var("lane")
    forms = []
    for i in s.indices:
        if isinstance(i, Ramp) and constant(i.stride):
            spans[lane] = i.count - 1
            forms.append(affine.lin(i.base) + affine.Lin({lane: constant(i.stride) or 1}, 0))
        elif dt.lanes(i.dtype) > 1:
            return False
        else:
            forms.append(affine.lin(i))
    return one_to_one(forms, spans)


def _made(s: Store, loops: tuple[For, ...], guards: tuple[If, ...]) -> Tile | None:
    count = dt.lanes(s.value.dtype)
    extents = [constant(f.extent) or 0 for f in loops]
    values = 1
    for n in extents:
        values *= n
    if values > MAX_VALUES or values * count * dt.nbytes(s.buffer.dtype) > MAX_BYTES:
        return None
    indices: list[Expr] = [f.var if constant(f.lo) == 0 else f.var - f.lo for f in loops]
    shape = [*extents, count] if count > 1 else extents or [1]
    if count > 1:
        indices.append(Ramp(Const(0), Const(1), count))
    buffer = Buffer(f"{s.buffer.name}_tile", tuple(map(Const, shape)), s.buffer.dtype, scope="local")
    return Tile(s, loops, guards, buffer, tuple(indices or [Const(0)]))


# ---------------------------------------------------------------- rewriting


def _on_tiles(s: Any, tiles: Sequence[Tile]) -> Any:
    """The loop with its accesses moved to the tiles; masks are not needed there."""
    of = {t.update.buffer: t for t in tiles}

    def visit(n: Any) -> Any:
        t = type(n)
        if t in (Load, Store) and n.buffer in of:
            tile = of[n.buffer]
            if t is Load:
                return Load(tile.buffer, tile.indices, n.dtype)
            return Store(tile.buffer, tile.indices, visit(n.value), None, n.origin)
        return map_children(n, visit)

    return visit(s)


def _initialised(before: Stmt, tiles: Sequence[Tile], done: dict[Tile, Stmt]) -> dict[Tile, Stmt] | None:
    """The tiles (not done yet) whose elements `before` initialises, and how; None if it does anything else."""
    found = _Found()
    if not _collect(before, (), found) or not found.stores:
        return None
    if any(isinstance(x, LetStmt) for _, path in found.stores for x in path):
        return None
    of = {t.update.buffer.data: t for t in tiles if t not in done}
    memories = {t.update.buffer.data for t in tiles}
    made: dict[Tile, Stmt] = {}
    for store, path in found.stores:
        tile = of.pop(store.buffer.data, None)
        start = None if tile is None else _start(store, path, tile)
        if tile is None or start is None:
            return None
        made[tile] = start
    return None if found.pointers or any(x.buffer.data in memories for x in found.loads) else made


def _start(s: Store, path: Path, tile: Tile) -> Stmt | None:
    """The initialising store on the tile, when its loops walk over the same elements (in any order)."""
    if s.buffer is not tile.update.buffer:
        return None
    loops = [x for x in path if isinstance(x, For)]
    conds = [x.cond for x in path if isinstance(x, If)]
    if len(loops) != len(tile.loops) or len(conds) != len(tile.guards):
        return None
    for order in permutations(tile.loops):
        names = {f.var: g.var for f, g in zip(loops, order, strict=True)}
        extents = zip(loops, order, strict=True)
        if all(_same_range(f, g) for f, g in extents) and _agree(s, conds, tile, names):
            return tile.nest(Store(tile.buffer, tile.indices, substitute(s.value, names), None, s.origin))
    return None


def _same_range(f: For, g: For) -> bool:
    return constant(f.extent) == constant(g.extent) and constant(f.lo) == constant(g.lo) is not None


def _agree(s: Store, conds: Sequence[Expr], tile: Tile, names: dict[Any, Any]) -> bool:
    def same(a: Expr | None, b: Expr | None) -> bool:
        if a is None or b is None:
            return a is b
        a = substitute(a, names)
        return identical(a, b) or (dt.is_int(a.dtype) and _form(a) == _form(b))

    u = tile.update
    return (
        all(map(same, s.indices, u.indices))
        and same(s.mask, u.mask)
        and s.value.dtype == u.value.dtype
        and all(same(a, g.cond) for a, g in zip(conds, tile.guards, strict=True))
    )


def _form(e: Expr) -> Any:
    if isinstance(e, Ramp):
        return ("ramp", affine.lin(e.base).key, affine.lin(e.stride).key, e.count)
    return affine.lin(e).key if dt.lanes(e.dtype) == 1 else id(e)
