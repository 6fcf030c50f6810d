"""What a program does, read off its statements: loops, straight pieces of code, and the accesses in them.

Each stands in a domain: a box of loop variables, cut by guards. A guard that is no conjunction becomes several domains
that have no point in common. What depends on data, or on a size that nobody gave, is noted in `doubts`; then the domain
is larger than what runs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

from ..core import affine, fragments
from ..core import dtype as dt
from ..core.affine import Lin
from ..core.intrin import C_FUNCTIONS
from ..core.node import (
    Alloc,
    AllReduce,
    Attr,
    Barrier,
    Bin,
    Broadcast,
    Buffer,
    Call,
    Const,
    Evaluate,
    Expr,
    For,
    If,
    Let,
    LetStmt,
    Load,
    Ramp,
    Seq,
    Stmt,
    Store,
    Var,
    While,
)
from ..core.program import Function, Origin
from ..core.threads import WARP
from ..core.walk import children, constant, map_children, replace, walk
from . import domain
from .forms import Cons, Forms, defined, short
from .image import Place

PIECES = 64  # domains that one guard may become
VIRTUAL = ("vthread", "cthread", "virtual_thread")


@dataclass(eq=False)
class Loop:
    """A loop, or (`node` None) the whole program. `var`: what it counts in; `box`: its bounds whatever is outside.

    `pieces`: the conditions under which it starts; `own`: those that make its bounds, where they are no numbers.
    """

    node: For | None
    parent: Loop | None
    var: Any
    box: tuple[int, int]
    pieces: tuple[Cons, ...]
    own: Cons = ()
    children: list[Loop] = field(default_factory=list)
    threads: dict[Any, tuple[int, int]] = field(default_factory=dict)  # variables that a kernel brings in
    sites: list[Site] = field(default_factory=list)  # of the loops inside too
    blocks: list[Block] = field(default_factory=list)

    path: tuple[Loop, ...] = ()  # the loops from outside in, this one last

    def __post_init__(self) -> None:
        self.path = (*(self.parent.path if self.parent is not None else ()), self)

    @property
    def depth(self) -> int:
        """0 is outermost."""
        return sum(1 for loop in self.path if loop.var is not None) - 1


@dataclass(eq=False)
class Site:
    """An access. `forms` None: its indices are not affine. `lanes`: how many elements at a time."""

    node: Load | Store
    store: bool
    loop: Loop
    forms: tuple[Lin, ...] | None
    lanes: int
    pieces: tuple[Cons, ...]  # a mask's conditions among them
    lane: Any = None  # the variable that counts lanes
    sure: bool = True  # it happens at every point of its domain

    @property
    def buffer(self) -> Buffer:
        return self.node.buffer  # type: ignore[no-any-return]


@dataclass(eq=False)
class Block:
    """A straight piece of code: how often it runs is a count of points, the rest is known.

    `loads`, `stores`: elements per name of a buffer; `read`, `written`: bytes; `stage`: whose statement it is.
    """

    loop: Loop
    pieces: tuple[Cons, ...]
    loads: Counter[str] = field(default_factory=Counter)
    stores: Counter[str] = field(default_factory=Counter)
    read: int = 0
    written: int = 0
    flops: int = 0
    stage: str = ""
    lanes: int = 0  # of the widest statement that computes
    calls: int = 0  # of the flops, mathematical functions


@dataclass(eq=False)
class Guard:
    """A condition that is asked at every point of its domain."""

    loop: Loop
    pieces: tuple[Cons, ...]
    cond: Expr


class Reader(Forms):
    """One function. `sizes`: numbers for variables that are known only at the call, by name."""

    def __init__(self, fn: Function, sizes: Mapping[str, int] | None = None) -> None:
        super().__init__()
        self.fn = fn
        self.top = Loop(None, None, None, (0, 0), ((),))
        self.loops: list[Loop] = []
        self.sites: list[Site] = []
        self.blocks: list[Block] = []
        self.doubts: dict[str, None] = {}  # why counts are bounds
        self.tiles: dict[Any, tuple[int | None, ...]] = {}  # handle of a fragment -> m, n, k, as calls say
        self.blur: dict[str, None] = {}  # why the elements that are touched are bounds
        self.loop, self.sure, self.stage = self.top, True, ""
        self.pieces: tuple[Cons, ...] = ((),)
        self.block = Block(self.top, self.pieces)
        self.kernel: dict[str, Any] | None = None
        self.allocated: list[Buffer] = []
        self.regions: list[Loop] = []  # outermost parallel loops, and kernels
        self.guards: list[Guard] = []
        self.bits = 0  # of the widest elements that are computed with
        self.endless = False  # how often a loop runs is not known, not even a bound
        given = sizes or {}
        for v in (*(p for p in fn.params if isinstance(p, Var)), *fn.sizes):
            if v.name in given:
                self.env[v] = affine.number(int(given[v.name]))

    def read(self) -> Reader:
        self.blocks.append(self.block)
        self.stmt(self.fn.body)
        self.bits = self.bits or max([dt.bits(b.dtype) for b in self.fn.buffers], default=32)
        self.blocks = [b for b in self.blocks if b.loads or b.stores or b.flops]
        for site in self.sites:
            for loop in site.loop.path:
                loop.sites.append(site)
        for block in self.blocks:
            for loop in block.loop.path:
                loop.blocks.append(block)
        return self

    def doubt(self, why: str) -> None:
        self.doubts.setdefault(why)

    # ------------------------------------------------------------ conditions

    def under(self, cases: list[Cons] | None, cond: Expr, run: Callable[[], None], counted: bool = True) -> None:
        """Run a part of the walk where one of the cases is met."""
        kept = self.pieces, self.sure, self.block
        if cases is None:
            self.doubt(self.because(cond))
            self.sure = False
        else:
            made = self.and_(cases)
            if len(made) > PIECES:
                self.doubt(f"`{short(cond)}` has too many cases")
                self.sure = False
            else:
                self.pieces = made
        if counted:
            self.block = self.new_block()
        run()
        self.pieces, self.sure, self.block = kept

    def and_(self, cases: Sequence[Cons]) -> tuple[Cons, ...]:
        """The pieces in force, cut by each of the cases; those that no point meets are left out."""
        made = []
        for piece in self.pieces:
            for case in cases:
                kept = []
                for x in case:
                    lo, hi = domain.span(x, self.box)
                    if hi < 0:
                        break
                    if lo < 0:
                        kept.append(x)
                else:
                    made.append((*piece, *kept))
        return tuple(made)

    def new_block(self) -> Block:
        made = Block(self.loop, self.pieces, stage=self.stage)
        self.blocks.append(made)
        return made

    # ------------------------------------------------------------ expressions

    def expr(self, e: Any) -> None:
        """Count what evaluating an expression does; both sides of everything but `if_then_else`."""
        t = type(e)
        if t is Const or t is Var:
            return
        if t is Load:
            self.load(e)
        elif t is Call:
            self.call(e)
        elif t is Let:
            self.let(e, lambda: self.expr(e.body))
        else:
            if t is Bin and e.op not in ("and", "or") and dt.is_float(e.dtype):
                self.computes(e.a.dtype)
            for c in children(e):
                self.expr(c)

    def computes(self, dtype: str) -> None:
        lanes = dt.lanes(dtype)
        self.bits = max(self.bits or 0, dt.bits(dtype))
        self.block.flops += lanes
        self.block.lanes = max(self.block.lanes, lanes)

    def load(self, e: Load) -> None:
        lanes = dt.lanes(e.dtype)
        self.block.loads[e.buffer.owner.name] += lanes
        self.block.read += lanes * dt.nbytes(e.buffer.dtype)
        self.site(e, False, lanes)
        for c in children(e):
            self.expr(c)

    def call(self, e: Call) -> None:
        if e.name == "if_then_else" and dt.lanes(e.args[0].dtype) == 1:
            return self.choice(e)
        if e.name == "prefetch":
            return None
        if fragments.is_call(e) and len(e.args) == fragments.ARITY[e.name]:
            return self.on_tiles(fragments.read(e))
        unknown = e.kind == "packed" or (e.kind == "extern" and e.name not in C_FUNCTIONS)
        if unknown:
            self.doubt(f"what the function `{e.name}` does is not counted")
        elif dt.is_float(e.dtype) and e.name not in ("likely", "if_then_else"):
            self.computes(e.dtype)
            self.block.calls += dt.lanes(e.dtype)
        for a in e.args:
            if not (isinstance(a, Call) and a.kind == "intrin") and a.dtype != "handle":
                self.expr(a)
        return None

    def on_tiles(self, op: fragments.Op) -> None:
        """Arithmetic of tensor cores: every lane comes here, and does its part."""
        if op.shape:
            self.tiles[op.tiles[0].data] = tuple(map(constant, op.shape))
        if op.pointer is not None:
            self.doubt("the memory that tensor cores load from and store to is not counted")
        if op.name != "mma_sync":
            return
        known = next((self.tiles[t.data] for t in op.tiles if t.data in self.tiles), (None,))
        if None in known:
            return self.doubt("what mma_sync multiplies is not counted: nothing says the size of its tiles")
        self.block.flops += 2 * prod(known) // WARP  # type: ignore[arg-type]

    def choice(self, e: Call) -> None:
        """Lazy: each side runs under its condition only."""
        cond, then, other = e.args
        self.expr(cond)
        self.guards.append(Guard(self.loop, self.pieces, cond))
        for side, holds in ((then, True), (other, False)):
            self.under(self.cases(cond, holds), cond, lambda side=side: self.expr(side))  # type: ignore[misc]

    def let(self, s: Any, body: Callable[[], None]) -> None:
        self.expr(s.value)
        self.lets[s.var] = s.value
        if dt.is_int(s.var.dtype) and dt.lanes(s.var.dtype) == 1:
            form = self.lin(s.value)
            if form is not None:
                self.env[s.var] = form
        body()
        self.env.pop(s.var, None)

    # ------------------------------------------------------------ accesses

    def site(self, node: Any, store: bool, lanes: int) -> None:
        lane, pieces, sure = None, self.pieces, self.sure
        if any(dt.lanes(i.dtype) > 1 for i in node.indices):
            lane = Var("lane")
            self.box[lane] = (0, lanes - 1)
        if node.mask is not None:
            cases = self.cases(self.lane_of(node.mask, lane)) if lane is not None else self.cases(node.mask)
            if cases is None:
                self.blur.setdefault(self.because(node.mask))
                sure = False
            else:
                pieces = self.and_(cases)
        forms = [self.lin(self.lane_of(i, lane)) for i in node.indices]
        if None in forms:
            wrong = next(i for i, f in zip(node.indices, forms, strict=True) if f is None)
            self.blur.setdefault(self.because(wrong))
        known = None if None in forms else tuple(forms)
        self.sites.append(Site(node, store, self.loop, known, lanes, pieces, lane, sure))  # type: ignore[arg-type]

    def lane_of(self, e: Any, lane: Any) -> Any:
        """The scalar that a vector expression is in one lane."""
        if lane is None or not isinstance(e, Expr) or dt.lanes(e.dtype) == 1:
            return e
        if isinstance(e, Ramp):
            return Bin("+", e.base, Bin("*", e.stride, lane, e.base.dtype), e.base.dtype)
        if isinstance(e, Broadcast):
            return e.value
        if isinstance(e, Var):
            return self.lane_of(self.lets[e], lane) if e in self.lets else e
        made = map_children(e, lambda c: self.lane_of(c, lane))
        return replace(made, dtype=dt.element(made.dtype)) if "dtype" in made.FIELDS else made

    # ------------------------------------------------------------ statements

    def stmt(self, s: Stmt) -> None:
        STMT[type(s)](self, s)

    def _for(self, s: For) -> None:
        self.expr(s.lo)
        self.expr(s.extent)
        if s.kind in ("thread", "vthread") and self.kernel is None:
            self.launch(s)
            return
        if self.kernel is not None and s.kind == "thread" and s.thread in self.kernel:
            self.bind(s)
            return
        box, own = self.bounds(s)
        self.box[s.var] = box
        facts = self.facts
        self.facts = facts.with_range(s.var, affine.number(box[0]), affine.number(box[1]))
        if s.kind == "parallel" and not any(r in self.loop.path for r in self.regions):
            self.inside(s, s.var, box, own, region=True)
        else:
            self.inside(s, s.var, box, own)
        self.facts = facts

    def inside(self, s: For, var: Any, box: tuple[int, int], own: Cons, region: bool = False) -> None:
        """The loop's body, in which `own` holds too."""
        kept = self.loop, self.pieces, self.block
        loop = Loop(s, self.loop, var, box, self.pieces, own)
        self.loop.children.append(loop)
        self.loops.append(loop)
        if region:
            self.regions.append(loop)
        self.loop = loop
        if own:
            self.pieces = self.and_([own])
        self.block = self.new_block()
        self.stmt(s.body)
        self.loop, self.pieces, self.block = kept

    def bounds(self, s: For) -> tuple[tuple[int, int], Cons]:
        """Numbers between which the variable stays, and the conditions that make it exact."""
        if type(s.lo) is Const and type(s.extent) is Const:
            return (s.lo.value, s.lo.value + s.extent.value - 1), ()
        v = affine.var(s.var)
        lows = self.ends(s.lo, "max")
        extents = self.ends(s.extent, "min")
        if lows is None or extents is None or (len(lows) > 1):
            wrong = s.lo if lows is None else s.extent
            self.doubt(self.because(wrong))
            self.endless = True
            return (0, 0), ()
        highs = [lows[0] + n - 1 for n in extents]
        lo = max(domain.span(x, self.box)[0] for x in lows)
        hi = min(domain.span(x, self.box)[1] for x in highs)
        return (lo, hi), (*(v - x for x in lows if x.terms), *(x - v for x in highs if x.terms))

    def ends(self, e: Expr, op: str) -> list[Lin] | None:
        """The forms whose smallest (or largest) the expression is."""
        if isinstance(e, Bin) and e.op == op:
            a, b = self.ends(e.a, op), self.ends(e.b, op)
            return None if a is None or b is None else [*a, *b]
        form = self.lin(e)
        return None if form is None else [form]

    def launch(self, s: For) -> None:
        """A kernel: all its threads run the whole of it; a thread loop inside only gives the thread's own index."""
        self.kernel = {}
        threads: dict[Any, tuple[int, int]] = {}
        for n in walk(s):
            if isinstance(n, For) and n.kind == "thread" and not n.thread.startswith(VIRTUAL):
                form = self.lin(n.extent)
                extent = domain.span(form, self.box)[1] if form is not None else 1
                if form is None:
                    self.doubt(self.because(n.extent))
                    self.endless = True
                v = self.kernel.setdefault(n.thread, Var(n.thread))
                old = threads.get(v, (0, -1))
                threads[v] = (0, max(old[1], extent - 1))
        self.box.update(threads)
        facts, at = self.facts, len(self.loop.children)
        for v, (lo, hi) in threads.items():
            self.facts = self.facts.with_range(v, affine.number(lo), affine.number(hi))
        kept = self.loop, self.block
        kernel = Loop(s, self.loop, None, (0, 0), self.pieces, threads=threads)
        self.regions.append(kernel)
        self.loop = kernel
        self.block = self.new_block()
        self._for(s)
        self.loop, self.block = kept
        self.loop.children[at:] = kernel.children
        self.facts, self.kernel = facts, None

    def bind(self, s: For) -> None:
        assert self.kernel is not None
        h = self.kernel[s.thread]
        lo, extent = self.lin(s.lo), self.lin(s.extent)
        if lo is None or extent is None:
            self.doubt(self.because(s.lo if lo is None else s.extent))
            lo, extent = affine.number(0), affine.number(self.box[h][1] + 1)
        self.env[s.var] = lo + affine.var(h)
        own = extent - 1 - affine.var(h)
        self.inside(s, h, self.box[h], () if domain.span(own, self.box)[0] >= 0 else (own,))

    def _if(self, s: If) -> None:
        self.expr(s.cond)
        self.guards.append(Guard(self.loop, self.pieces, s.cond))
        self.under(self.cases(s.cond), s.cond, lambda: self.stmt(s.then))
        if s.other is not None:
            other = s.other
            self.under(self.cases(s.cond, False), s.cond, lambda: self.stmt(other))

    def _while(self, s: While) -> None:
        def body() -> None:
            self.expr(s.cond)
            self.stmt(s.body)

        self.endless = True
        self.under(None, s.cond, body)

    def _store(self, s: Store) -> None:
        kept, self.stage = self.stage, s.origin.stage if isinstance(s.origin, Origin) else self.stage
        if self.stage != self.block.stage and (self.block.stores or self.block.loads):
            self.block = self.new_block()
        self.block.stage = self.stage
        lanes = max(dt.lanes(x.dtype) for x in (*s.indices, s.value))
        self.block.stores[s.buffer.owner.name] += lanes
        self.block.written += lanes * dt.nbytes(s.buffer.dtype)
        self.site(s, True, lanes)
        for c in (s.value, *s.indices):
            self.expr(c)
        if s.mask is not None:
            self.expr(s.mask)
        self.stage = kept

    def _let(self, s: LetStmt) -> None:
        self.let(s, lambda: self.stmt(s.body))

    def _seq(self, s: Seq) -> None:
        for x in s.stmts:
            self.stmt(x)

    def _alloc(self, s: Alloc) -> None:
        self.allocated.append(s.buffer)
        self.stmt(s.body)

    def _reduce(self, s: AllReduce) -> None:
        for e in (*s.combiner.identity, s.cond, *s.sources, *s.combiner.result):
            self.expr(e)


STMT: dict[type, Callable[[Reader, Any], None]] = {
    For: Reader._for, If: Reader._if, While: Reader._while, Store: Reader._store, LetStmt: Reader._let,
    Seq: Reader._seq, Alloc: Reader._alloc, AllReduce: Reader._reduce, Barrier: lambda r, s: None,
    Attr: lambda r, s: r.stmt(s.body), Evaluate: lambda r, s: r.expr(s.value),
}  # fmt: skip


def place(site: Site, reader: Reader, fixed: Mapping[Any, int], piece: Cons) -> Place:
    """The elements of an access in one piece of its domain, with some variables fixed."""
    assert site.forms is not None
    forms = tuple([domain.at(f, fixed) for f in site.forms])
    cons = tuple([domain.at(x, fixed) for x in piece])
    box = {}
    for loop in site.loop.path:
        for v, r in ((loop.var, loop.box), *loop.threads.items()):
            if v is not None and v not in fixed:
                box[v] = r
    if site.lane is not None:
        box[site.lane] = reader.box[site.lane]
    box, cons, defs = defined(reader, forms, cons, box, fixed)
    return Place(forms, box, cons, defs)
