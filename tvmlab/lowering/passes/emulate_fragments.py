"""Tensor cores done by the lanes of the warp, for targets that have none.

    mma_sync(Cf, 0, Af, 0, Bf, 0, Cf, 0)        for threadIdx_x in thread("threadIdx.x", 32):
                                         ->         for e in range(8):
                                                        for k in range(16):
                                                            Cf[e] = Cf[e] + float32(Af[e*16 + k])*float32(Bf[k])

Lane l of the warp has column l % n of an accumulator's tile, its rows l//n, l//n + 32//n, ...: eight elements. It
keeps these rows of matrix_a and this column of matrix_b in memory of its own, so nothing has to wait.
"""

from __future__ import annotations

from dataclasses import replace as changed
from typing import Any

from ...core import fragments
from ...core.build import binary, cast, const
from ...core.fragments import Op
from ...core.node import Alloc, Attr, Buffer, Evaluate, Expr, For, Load, Stmt, Store, Var
from ...core.program import Function, Program
from ...core.threads import WARP
from ...core.walk import identical, map_children, replace, seq, walk
from ..blocks import is_thread_loop
from ..config import DEFAULT, Config
from ..fragments import LANES, Fragment, found_in
from ..together import block_of

REMARK = "no tensor cores here: the lanes of each warp do their work"
EACH = 8  # elements of a lane in a tile of an accumulator: 256 by 32


def emulate_fragments(program: Program, config: Config = DEFAULT) -> Program:
    """What breaks a rule of fragments is refused, as where there are tensor cores."""
    made = tuple(_function(fn) for fn in program.functions)
    if all(a is b for a, b in zip(made, program.functions, strict=True)):
        return program
    return changed(program, functions=made, remarks=(*program.remarks, REMARK))


def _function(fn: Function) -> Function:
    found = found_in(fn)
    return fn.with_body(_Emulation(fn, found).visit(fn.body)) if found else fn


class _Emulation:
    """`own`: handle -> the lane's part of a fragment. `index`: of the lane, where a loop around names it."""

    def __init__(self, fn: Function, found: dict[Any, Fragment]) -> None:
        self.found = found
        self.own = {h: _part(f) for h, f in found.items()}
        self.buffers = {b.data: b for b in fn.buffers}
        self.buffers.update({x.buffer.data: x.buffer for x in walk(fn.body) if type(x) is Alloc})
        self.index: Expr | None = None
        self.lanes = 0

    def visit(self, s: Any) -> Any:
        if is_thread_loop(s):
            return self.thread(s)
        if type(s) is Alloc and s.buffer.data in self.own:
            return replace(s, buffer=self.own[s.buffer.data], body=self.visit(s.body))
        if type(s) is Attr and isinstance(s.about, Buffer) and s.about.data in self.own:
            return self.visit(s.body)
        if type(s) is Evaluate and fragments.is_call(s.value):
            return self.call(fragments.read(s.value))  # type: ignore[arg-type]
        return map_children(s, lambda c: self.visit(c) if isinstance(c, Stmt) else c)

    def thread(self, s: For) -> Stmt:
        outer, lanes = self.index, self.lanes
        if not lanes:
            self.lanes = block_of(s, "that uses tensor cores").extents.get(LANES, 0)
        if s.thread == LANES:
            self.index = binary("-", s.var, s.lo)
        made: Stmt = replace(s, body=self.visit(s.body))
        self.index, self.lanes = outer, lanes
        return made

    def call(self, op: Op) -> Stmt:
        if self.index is not None:
            return self.rules(op, self.index)
        v = Var(LANES.replace(".", "_"))
        return For(v, const(0), const(self.lanes), "thread", self.rules(op, v), LANES)

    def rules(self, op: Op, x: Expr) -> Stmt:
        lane = x if self.lanes == WARP else binary("%", x, WARP)
        made: Stmt = _RULES[op.name](self, op, lane)
        return made

    # ------------------------------------------------------------ the four calls

    def fill(self, op: Op, lane: Expr) -> Stmt:
        f, own, first = self.tile(op, 0)
        e = Var("e")
        return _loop(e, _size(f), Store(own, (first + e,), cast(op.value, own.dtype)))

    def load(self, op: Op, lane: Expr) -> Stmt:
        f, own, first = self.tile(op, 0)
        return self.elements(f, op, lane, lambda at, place: Store(own, (first + at,), place))

    def store(self, op: Op, lane: Expr) -> Stmt:
        f, own, first = self.tile(op, 0)

        def put(at: Expr, place: Any) -> Stmt:
            return Store(place.buffer, place.indices, Load(own, (first + at,), own.dtype))

        return self.elements(f, op, lane, put)

    def product(self, op: Op, lane: Expr) -> Stmt:
        (f, d, di), (_, a, ai), (_, b, bi), (_, c, ci) = (self.tile(op, k) for k in range(4))
        e, k = Var("e"), Var("k")
        depth, dtype = f.shape[2], d.dtype
        left = cast(Load(a, (ai + e * depth + k,), a.dtype), dtype)
        right = cast(Load(b, (bi + k,), b.dtype), dtype)
        total = Store(d, (di + e,), Load(d, (di + e,), dtype) + left * right)
        whole = _loop(k, depth, total)
        if d is not c or not identical(op.tiles[0].index, op.tiles[3].index):
            whole = seq(Store(d, (di + e,), Load(c, (ci + e,), dtype)), whole)
        return _loop(e, EACH, whole)

    # ------------------------------------------------------------ tiles, and what the lane has of one

    def tile(self, op: Op, k: int) -> tuple[Fragment, Buffer, Expr]:
        """The fragment, the lane's part of it, and where its part of the tile begins there."""
        t = op.tiles[k]
        f = self.found[t.data]
        return f, self.own[t.data], binary("*", t.index, _size(f))

    def elements(self, f: Fragment, op: Op, lane: Expr, use: Any) -> Stmt:
        """`use(position in the lane's part, element in memory)` for each element that the lane has."""
        pointer: Any = op.pointer
        memory = self.buffers[pointer.args[0]]
        columns, depth = f.shape[1], f.shape[2]
        e, k = Var("e"), Var("k")
        row = binary("+", binary("//", lane, columns), e * (WARP // columns))
        column = binary("%", lane, columns)
        rows, at, loops = {
            "accumulator": ((row, column), e, ((e, EACH),)),
            "matrix_a": ((row, k), e * depth + k, ((e, EACH), (k, depth))),
            "matrix_b": ((k, column), k, ((k, depth),)),
        }[f.role]
        i, j = rows if op.layout == "row_major" else rows[::-1]
        place = binary("+", binary("+", pointer.args[1], binary("*", i, op.stride)), j)
        body: Stmt = use(at, Load(memory, (place,), memory.dtype))
        for v, n in reversed(loops):
            body = _loop(v, n, body)
        return body


_RULES: dict[str, Any] = {
    "fill_fragment": _Emulation.fill,
    "load_matrix_sync": _Emulation.load,
    "mma_sync": _Emulation.product,
    "store_matrix_sync": _Emulation.store,
}


def _size(f: Fragment) -> int:
    """Elements of a tile that one lane keeps."""
    depth = f.shape[2]
    return {"accumulator": EACH, "matrix_a": EACH * depth, "matrix_b": depth}[f.role]


def _part(f: Fragment) -> Buffer:
    plain = Buffer(f.buffer.name, (const(f.count * _size(f)),), f.buffer.dtype, scope="local")
    return plain.with_(logical=plain, data=plain.data)  # flat, as all memory is by now


def _loop(v: Var, n: int, body: Stmt) -> Stmt:
    return For(v, const(0), const(n), "serial", body)
