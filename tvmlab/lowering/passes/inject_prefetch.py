"""Prefetch marks become calls: ask the cache for what a later iteration will read.

    for i in range(64):                         for i in range(64):
        # prefetch_scope A: i + 2                   for j_line in range(8):
        for j in range(128):              ->            prefetch(A[i + 2, j_line*16])
            B[i, j] = A[i, j]                       for j in range(128):
                                                        B[i, j] = A[i, j]

One call per cache line (64 bytes) along the last dimension of the region that the loop's body touches, at the iteration
that the mark names. `prefetch(A[...])` is Call("prefetch", (Load,), kind "intrin"): the address of the element, which
is not read and may be outside of the array. The interpreter leaves it out. A mark on a loop of one iteration, which
has nothing ahead, goes away.
"""

from __future__ import annotations

from typing import Any

from ...core import affine
from ...core import dtype as dt
from ...core.affine import Facts, Lin
from ...core.build import binary, const
from ...core.error import LabError
from ...core.node import Alloc, Attr, Buffer, Call, Evaluate, Expr, For, LetStmt, Load, Stmt, Store, Var
from ...core.program import Program
from ...core.walk import map_children, replace, seq, substitute, uses, variables, walk
from ..config import DEFAULT, Config

KEY = "prefetch_scope"
LINE = 64  # bytes of a cache line


def inject_prefetch(program: Program, config: Config = DEFAULT) -> Program:
    return program.map_bodies(lambda body: _visit(body, None, Facts()))


def _visit(s: Any, loop: For | None, facts: Facts) -> Any:
    """`loop`: the loop around."""
    if type(s) is Attr and s.key == KEY:
        body = _visit(s.body, loop, facts)
        if loop is None or not uses(s.value, loop.var):
            return body
        return seq(*_fetch(s, loop, facts), body)
    if type(s) is For:
        inside = facts.with_loop(s.var, s.lo, s.extent)
        body = _visit(s.body, s, inside)
        return s if body is s.body else replace(s, body=body)
    return map_children(s, lambda c: _visit(c, loop, facts) if isinstance(c, Stmt) else c)


def _fetch(mark: Attr, loop: For, facts: Facts) -> list[Stmt]:
    """The calls for one mark."""
    b = mark.about
    where = f"`{loop.var.name}`" + (f" of stage {loop.origin.stage}" if loop.origin is not None else "")
    if not isinstance(b, Buffer):
        raise LabError("prefetch-no-memory", f"cannot prefetch {b.name} at {where}: it is inlined, so it has no memory")
    if any(type(x) is Alloc and x.buffer is b for x in walk(mark.body)):
        raise LabError(
            "prefetch-no-memory",
            f"cannot prefetch {b.name} at {where}: its memory is made anew in each iteration",
            hint="prefetch what it is computed from",
        )
    if loop.kind == "vectorized":
        raise LabError(
            "prefetch-vector",
            f"cannot prefetch {b.name} at {where}: all its iterations are one vector operation",
            hint="prefetch at a loop outside of it",
        )
    region = Region(b, where)
    region.add(mark.body, facts, frozenset())
    if region.bounds is None:
        raise LabError("prefetch-untouched", f"cannot prefetch {b.name} at {where}: nothing in that loop reads it")
    ahead = {loop.var: mark.value}
    return [_calls(b, [(substitute(lo, ahead), substitute(n, ahead)) for lo, n in region.boxes(facts)])]


class Region:
    """The part of a buffer that a statement touches, dimension by dimension: (first, last) index."""

    def __init__(self, buffer: Buffer, where: str) -> None:
        self.buffer, self.where = buffer, where
        self.bounds: list[tuple[Lin, Lin]] | None = None

    def add(self, n: Any, facts: Facts, inner: frozenset[Any]) -> None:
        """`inner`: variables bound inside the statement, over which the region spreads."""
        if type(n) is For:
            facts = facts.with_loop(n.var, n.lo, n.extent)
        if type(n) is For or type(n) is LetStmt:
            inner = inner | {n.var}
        if (type(n) is Load or type(n) is Store) and n.buffer is self.buffer:
            self._join([self._spread(i, k, facts, inner) for k, i in enumerate(n.indices)], facts)
        for name in n.CHILDREN:
            value = getattr(n, name)
            for c in value if name in n.MANY else (value,):
                if c is not None:
                    self.add(c, facts, inner)

    def _spread(self, index: Expr, k: int, facts: Facts, inner: frozenset[Any]) -> tuple[Lin, Lin]:
        if affine.reads_memory(index):
            raise LabError(
                "prefetch-index",
                f"cannot prefetch {self.buffer.name} at {self.where}: its index {index!r} is read from memory, "
                "so what a later iteration reads is not known",
            )
        form = affine.lin(index, facts)
        ends = [affine.relax(form, facts, [v for v in inner if v in facts.ranges], sign) for sign in (-1, 1)]
        if any(e is None or inner & set(variables(affine.to_expr(e))) for e in ends):
            return affine.number(0), affine.lin(self.buffer.shape[k]) - 1
        return ends[0], ends[1]  # type: ignore[return-value]

    def _join(self, box: list[tuple[Lin, Lin]], facts: Facts) -> None:
        if self.bounds is not None:
            box = [
                (_pick("min", a[0], b[0], facts), _pick("max", a[1], b[1], facts))
                for a, b in zip(self.bounds, box, strict=True)
            ]
        self.bounds = box

    def boxes(self, facts: Facts) -> list[tuple[Expr, Expr]]:
        """(first index, extent) of each dimension."""
        return [(affine.to_expr(lo), affine.to_expr(hi - lo + 1)) for lo, hi in self.bounds or ()]


def _pick(op: str, a: Lin, b: Lin, facts: Facts) -> Lin:
    if affine.nonneg(b - a, facts):
        return a if op == "min" else b
    if affine.nonneg(a - b, facts):
        return b if op == "min" else a
    return affine.lin(binary(op, affine.to_expr(a), affine.to_expr(b)), facts)


def _calls(b: Buffer, box: list[tuple[Expr, Expr]]) -> Stmt:
    """Loops over the lines of the region, around the call."""
    indices: list[Expr] = []
    loops: list[tuple[Var, Expr]] = []
    per_line = max(1, LINE // max(1, dt.bits(b.dtype) // 8))
    for k, (lo, n) in enumerate(box):
        step = per_line if k + 1 == len(box) else 1
        count = affine.simplify(binary("//", binary("+", n, step - 1), step))
        v = Var(f"{b.name}_line" if k + 1 == len(box) else f"{b.name}_row{k}", "int32")
        one = affine.lin(count)
        if one.terms or one.const != 1:
            loops.append((v, count))
            lo = binary("+", lo, binary("*", v, step))
        indices.append(lo)
    made: Stmt = Evaluate(Call("prefetch", (Load(b, tuple(indices), b.dtype),), "int32", "intrin"))
    for v, count in reversed(loops):
        made = For(v, const(0), count, "serial", made)
    return made
