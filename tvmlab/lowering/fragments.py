"""Fragments of tensor cores in a kernel: which there are, and whether its calls on them keep the rules.

    Ac = alloc((512,), "float16", scope="wmma.matrix_a")
    load_matrix_sync(Ac, 16, 16, 16, 0, access_ptr(A_shared, 0, ...), 24, "row_major")
    ->  Fragment(Ac, role="matrix_a", shape=(16, 16, 16), layout="row_major", count=2)

Refused, because a GPU would compute something else without a word: calls that some lanes of a warp do not reach, or on
tiles that differ between them; a tile that does not exist; memory outside a buffer; addresses and rows that are not
aligned; one fragment with two shapes or layouts; single elements, which lie in the lanes in an unknown order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any, NoReturn

from ..core import affine, fragments
from ..core import dtype as dt
from ..core.affine import Facts, number
from ..core.build import binary
from ..core.error import BuildError
from ..core.fragments import Op, Tile
from ..core.node import (
    Alloc,
    Buffer,
    Call,
    Const,
    Evaluate,
    Expr,
    For,
    If,
    LetStmt,
    Load,
    Stmt,
    Store,
    Var,
    While,
)
from ..core.program import Function
from ..core.text import headline, show
from ..core.threads import BLOCK, WARP
from ..core.walk import children, constant, substitute, walk
from ..schedule.scopes import rank
from .binding import zero
from .blocks import Kernel, Place, is_thread_loop, of_thread

ALIGNED = 32  # bytes: where a tile may begin in memory
ROW = 16  # bytes: of what its rows must be a multiple apart
LANES = BLOCK[0]


@dataclass(frozen=True, eq=False)
class Fragment:
    """Memory of tiles. `layout`: of the memory they are loaded from, "" of an accumulator."""

    buffer: Buffer
    role: str
    shape: tuple[int, int, int]
    layout: str

    @property
    def tile(self) -> tuple[int, int]:
        """Rows and columns of one."""
        return fragments.tile(self.role, self.shape)

    @property
    def count(self) -> int:
        """How many tiles."""
        return (self.buffer.size or 0) // prod(self.tile)

    @property
    def note(self) -> str:
        return " ".join([*map(str, self.shape), *filter(None, [self.layout])])


def has_fragments(s: Stmt) -> bool:
    return any(fragments.is_call(x) or (type(x) is Alloc and fragments.role(x.buffer.scope)) for x in walk(s))


def found_in(fn: Function) -> dict[Any, Fragment]:
    """The fragments of a flat function, by handle; what breaks a rule is refused."""
    if not has_fragments(fn.body):
        return {}
    buffers = {b.data: b for b in fn.buffers}
    made: dict[Any, Fragment] = {}
    inside: set[Any] = set()
    for loop, facts in _kernels(fn.body, Facts()):
        if has_fragments(loop):
            made.update(_Reader(Kernel(loop, dict(buffers))).read(facts))
            inside.update(filter(fragments.is_call, walk(loop)))
    outside = next((x for x in walk(fn.body) if fragments.is_call(x) and x not in inside), None)
    if outside is not None:
        message = f"`{show(outside)}` stands outside of every thread loop"
        raise BuildError("fragment-warp", message, legal=[f"{WARP} threads of {LANES}"])
    return made


def _kernels(s: Stmt, facts: Facts) -> Iterator[tuple[For, Facts]]:
    if is_thread_loop(s):
        yield s, facts  # type: ignore[misc]
        return
    if type(s) is For:
        facts = facts.with_loop(s.var, s.lo, s.extent)
    for c in children(s):
        if isinstance(c, Stmt):
            yield from _kernels(c, facts)


class _Reader:
    """One kernel. `shapes`, `layouts`: what calls said of a fragment; `seen`: calls with where they stand."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.made: dict[Any, Buffer] = {}
        self.shapes: dict[Any, tuple[int, int, int]] = {}
        self.layouts: dict[Any, str] = {}
        self.seen: list[tuple[Op, Place, Stmt]] = []

    def read(self, facts: Facts) -> Mapping[Any, Fragment]:
        for x in walk(self.kernel.loop):
            if type(x) is Alloc and fragments.role(x.buffer.scope):
                self.made[x.buffer.data] = x.buffer
        self.visit(self.kernel.loop, self.kernel.start(facts), "")
        for op, _, s in self.seen:
            self.products(op, s)
        found = {h: self.fragment(h, b) for h, b in self.made.items()}
        for op, place, s in self.seen:
            for t in op.tiles:
                self.index(t, found[t.data], place, s)
            if op.pointer is not None:
                self.memory(op, found[op.tiles[0].data], place, s)
        return found

    # ------------------------------------------------------------ where the calls stand

    def visit(self, s: Stmt, place: Place, apart: str) -> None:
        """`apart`: the statement around that parts the lanes of a warp."""
        t = type(s)
        if t is Evaluate and fragments.is_call(s.value):  # type: ignore[attr-defined]
            return self.call(s, place, apart)
        self.elements(s)
        if t is For:
            apart = apart or (headline(s) if self.parts(s, place) else "")  # type: ignore[arg-type]
            place = place.of_thread(s) if is_thread_loop(s) else place.inside(s)  # type: ignore[arg-type]
        elif t is LetStmt:
            place = place.let(s)  # type: ignore[arg-type]
        elif t in (If, While):
            apart = apart or (headline(s) if self.varies(s.cond, place) else "")  # type: ignore[attr-defined]
        sides = {"then": True, "other": False} if t is If else {}
        for name in s.CHILDREN:
            value = getattr(s, name)
            here = place.when(s.cond, sides[name]) if name in sides else place  # type: ignore[attr-defined]
            for c in value if name in s.MANY else (value,):
                if isinstance(c, Stmt):
                    self.visit(c, here, apart)
        return None

    def parts(self, s: For, place: Place) -> bool:
        """Do some lanes of a warp run other iterations than others?"""
        if is_thread_loop(s):
            return s.thread == LANES and not place.kernel.is_whole(s) and (constant(s.extent) or 1) % WARP != 0
        return self.varies(s.lo, place) or self.varies(s.extent, place)

    def varies(self, e: Expr, place: Place) -> bool:
        """May it differ between the lanes of a warp?"""
        e = place.expr(e)
        if any(x in place.unknown or of_thread(x) for x in walk(e)):
            return True
        x = self.kernel.thread.get(LANES)
        if x is None or not any(v is x for v in walk(e)):
            return False
        lane, warp = Var("lane", x.dtype), Var("warp", x.dtype)
        facts = place.facts.with_range(lane, number(0), number(WARP - 1)).with_range(
            warp, number(0), number(max((constant(self.kernel.extents[LANES]) or WARP) // WARP - 1, 0))
        )
        apart = affine.simplify(substitute(e, {x: binary("+", binary("*", warp, WARP), lane)}), facts)
        return any(v is lane for v in walk(apart))

    def elements(self, s: Stmt) -> None:
        """Outside of the calls nothing may touch a fragment."""
        own = [c for c in children(s) if not isinstance(c, Stmt)]
        for x in [s, *(x for e in own for x in walk(e))]:
            if type(x) in (Load, Store) and fragments.role(x.buffer.scope):  # type: ignore[attr-defined]
                b = x.buffer  # type: ignore[attr-defined]
                refuse(
                    "fragment-element", f"`{headline(s)}` touches single elements of {b.name}, a fragment of tensor "
                    f"cores (scope {b.scope}): which lane has which is not known", s,
                    legal=fragments.NAMES, hint="tensorize the stage with an intrinsic made of these calls, or compute "
                    f"it in another scope: s[{b.name}].set_scope('local')",
                )  # fmt: skip
            if fragments.is_call(x):
                refuse("fragment-value", f"`{show(x)}` has no value: it is a statement of its own", s)

    # ------------------------------------------------------------ one call

    def call(self, s: Any, place: Place, apart: str) -> None:
        e: Call = s.value
        if len(e.args) != fragments.ARITY[e.name]:
            refuse("fragment-arguments", f"{e.name} takes {fragments.ARITY[e.name]} arguments, not {len(e.args)}", s)
        op = fragments.read(e)
        lanes = constant(self.kernel.extents.get(LANES, Const(1)))
        if lanes is None or lanes % WARP:
            have = "none" if LANES not in self.kernel.extents else show(self.kernel.extents[LANES])
            refuse(
                "fragment-warp", f"{e.name} is done by whole warps: {LANES} needs a multiple of {WARP} threads, and "
                f"this kernel has {have}", s,
                hint=f"bind an axis of {WARP} iterations, of a stage that fetches, to {LANES}",
            )  # fmt: skip
        if apart:
            refuse("fragment-divergent", f"not all lanes of a warp reach this call: `{apart}` parts them", s)
        for a in e.args:
            varying = a if type(a) is not Call else next((x for x in a.args if self.varies(x, place)), None)
            if varying is not None and type(varying) is not Const and self.varies(varying, place):
                refuse("fragment-divergent", f"`{show(varying)}` may differ between the lanes of a warp", s)
        for t in op.tiles:
            if t.data not in self.made:
                known = [b.name for b in self.made.values()] or list(fragments.ROLES)
                refuse("fragment-scope", f"`{show(t.data)}` is no fragment of this kernel", s, legal=known)
        self.says(op, s)
        self.seen.append((op, place, s))

    def says(self, op: Op, s: Stmt) -> None:
        """What a call says of its fragment, which must be what others said."""
        h = op.tiles[0].data
        b = self.made[h]
        if op.shape is not None:
            shape: Any = tuple(map(constant, op.shape))
            if shape not in fragments.SHAPES:
                said = ", ".join(map(show, op.shape))
                refuse("fragment-shape", f"there are no tiles of m, n, k = {said}", s, legal=map(str, fragments.SHAPES))
            self.agree(self.shapes, b, shape, "tiles of m, n, k =", s)
        if op.layout is not None:
            if op.layout not in fragments.LAYOUTS:
                refuse("fragment-layout", f"{op.layout!r} is no layout", s, legal=fragments.LAYOUTS)
            if fragments.role(b.scope) != "accumulator":
                self.agree(self.layouts, b, op.layout, "layout", s)
        if op.name == "store_matrix_sync" and fragments.role(b.scope) != "accumulator":
            refuse("fragment-role", f"{b.name} is {b.scope}: only an accumulator can be stored", s)

    def agree(self, known: dict[Any, Any], b: Buffer, value: Any, what: str, s: Stmt) -> None:
        if known.setdefault(b.data, value) != value:
            refuse("fragment-twice", f"{b.name} has {what} {value} here, and {known[b.data]} elsewhere", s)

    def products(self, op: Op, s: Stmt) -> None:
        """The parts of `d = a x b + c` have their roles, types that go together, and one shape."""
        if op.name != "mma_sync":
            return
        d, a, b, c = (self.made[t.data] for t in op.tiles)
        for x, role in ((d, "accumulator"), (a, "matrix_a"), (b, "matrix_b"), (c, "accumulator")):
            if fragments.role(x.scope) != role:
                refuse("fragment-role", f"{x.name} is {x.scope}, where mma_sync takes wmma.{role}", s)
        if a.dtype != b.dtype or d.dtype not in fragments.SUMS.get(a.dtype, ()) or c.dtype != d.dtype:
            legal = [f"{k} x {k} -> {v}" for k, vs in fragments.SUMS.items() for v in vs]
            refuse("fragment-dtype", f"there are no products {a.dtype} x {b.dtype} -> {d.dtype}", s, legal=legal)
        shapes = {self.shapes[x.data] for x in (d, a, b, c) if x.data in self.shapes}
        if len(shapes) > 1:
            refuse("fragment-twice", f"mma_sync multiplies tiles of different shapes: {sorted(shapes)}", s)
        for x in (d, a, b, c):
            self.shapes.setdefault(x.data, next(iter(shapes), fragments.SHAPES[0]))

    # ------------------------------------------------------------ the whole fragment, its tiles in memory

    def fragment(self, handle: Any, b: Buffer) -> Fragment:
        shape = self.shapes.get(handle, fragments.SHAPES[0])
        made = Fragment(b, fragments.role(b.scope), shape, self.layouts.get(handle, ""))
        sums = {x for found in fragments.SUMS.values() for x in found}
        legal = sorted(sums) if made.role == "accumulator" else list(fragments.SUMS)
        if b.dtype not in legal:
            refuse("fragment-dtype", f"{b.name} is {b.dtype}: there are no tiles of it in {b.scope}", None, legal=legal)
        if made.role != "accumulator" and not made.layout:
            refuse("fragment-layout", f"nothing loads {b.name}, so its layout is not known", None)
        size = b.size
        if not size or size % prod(made.tile):
            extents = ", ".join(map(show, b.owner.shape))
            refuse(
                "fragment-size", f"{b.name} has ({extents}) elements, which is not a number of whole tiles of "
                f"{made.tile[0]} x {made.tile[1]}", None, hint="split its axes by the sizes of a tile",
            )  # fmt: skip
        return made

    def index(self, t: Tile, f: Fragment, place: Place, s: Stmt) -> None:
        at = place.lin(t.index)
        if affine.nonneg(at, place.facts) and affine.nonneg(number(f.count - 1) - at, place.facts):
            return
        has = f"{f.buffer.name} has {f.count} tile{'s' * (f.count > 1)}"
        refuse("fragment-index", f"{has}, counted from 0: number `{show(t.index)}` may not be one of them", s)

    def memory(self, op: Op, f: Fragment, place: Place, s: Stmt) -> None:
        """The elements of a tile are inside of the buffer, where the instruction can reach them."""
        p: Any = op.pointer
        if type(p) is not Call or p.name != "access_ptr" or p.args[0] not in self.kernel.buffers:
            refuse("fragment-pointer", f"{op.name} takes the access_ptr of a buffer, not `{show(p)}`", s)
        b = self.kernel.buffers[p.args[0]]
        if b.dtype != f.buffer.dtype or rank(b.scope) not in (0, 1):
            refuse(
                "fragment-pointer", f"{b.name} is {b.dtype} in {b.scope} memory, {f.buffer.name} needs "
                f"{f.buffer.dtype} in global or shared memory", s,
            )  # fmt: skip
        first, stride = place.lin(p.args[1]), place.lin(op.stride)  # type: ignore[arg-type]
        rows, columns = f.tile if op.layout == "row_major" else f.tile[::-1]
        last = first + affine.product(number(rows - 1), stride) + (columns - 1)
        room = affine.lin(b.shape[0]) - 1 - last
        inside = affine.nonneg(first, place.facts) and affine.nonneg(room, place.facts)
        if not inside or not affine.nonneg(stride - columns, place.facts):
            elements = show(b.shape[0])
            refuse(
                "fragment-bounds", f"a tile of {rows} rows of {columns} elements, `{show(op.stride)}` apart, may reach "
                f"beyond the {elements} elements of {b.name}", s,
            )  # fmt: skip
        size = dt.nbytes(b.dtype)
        rows_apart = f"s[{b.name}].storage_align(axis, {ROW // size}, 0)"
        alone = f"take tiles of {ALIGNED // size} elements along the rows of {b.name}, or lay them one behind another"
        for what, at, unit, hint in (
            ("begins at element", first, ALIGNED // size, alone),
            ("has rows apart by", stride, ROW // size, rows_apart),
        ):
            if not zero(affine.floormod(at, number(unit), place.facts)):
                refuse(
                    "fragment-alignment", f"the tile {what} `{show(affine.to_expr(at))}` of {b.name}, which must be a "
                    f"multiple of {unit}", s, hint=hint,
                )  # fmt: skip


def refuse(rule: str, message: str, s: Stmt | None, **more: Any) -> NoReturn:
    if "legal" in more:
        more["legal"] = list(more["legal"])
    raise BuildError(rule, message, where=[] if s is None else [headline(s)], **more)
