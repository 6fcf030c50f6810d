"""A window that slides over a buffer keeps what the next position needs again; only what is new is computed.

    for y in range(8):                          B = alloc((3, 16))
        B = alloc((3, 16))                      for y in range(8):
        # rolling_buffer B: window(y, 0)            for r in range(3):
        for r in range(3):                              if y == 0 or r >= 2:
            for x in range(16):         ->                  for x in range(16):
                B[r, x] = f(y + r, x)                           B[(y + r) % 3, x] = f(y + r, x)
        use(B[0], B[1], B[2])                       use(B[y % 3], B[(y + 1) % 3], B[(y + 2) % 3])

`window` tells where the iteration's part begins in each dimension. It may move along one dimension, by the same step in
each iteration, over the innermost loop that moves it; the first iteration computes all of it. Row `i` lives in slot
`i % rows`. A window whose positions do not overlap stays as it is.
"""

from __future__ import annotations

from typing import Any, NoReturn

from ...core import affine
from ...core.affine import Lin
from ...core.build import all_, any_, binary
from ...core.error import LabError
from ...core.node import (
    Alloc,
    Attr,
    Barrier,
    Buffer,
    Call,
    Expr,
    For,
    If,
    Let,
    LetStmt,
    Load,
    Seq,
    Stmt,
    Store,
    Var,
)
from ...core.program import Program
from ...core.walk import constant, map_children, replace, rewrite, seq, uses, variables, walk
from ..config import DEFAULT, Config
from ..effects import all_written
from ..marks import Found, find, producing, without

KEY = "rolling_buffer"


def rolling_buffer(program: Program, config: Config = DEFAULT) -> Program:
    return program.map_bodies(lambda body: Roller().run(body))


class Roller:
    """`rolled`: the loops that windows slide over, inner ones first."""

    def __init__(self) -> None:
        self.rolled: set[Var] = set()

    def run(self, body: Stmt) -> Stmt:
        made: Stmt = self.visit(body)
        left = find(made, lambda mark: mark.key == KEY)
        if left is None:
            return made
        if any(type(s) is For for s in left.path):
            _refuse(left.mark.about, "no loop around it moves its window: every iteration needs the same part", _OUTER)
        return self.run(without(made, left.mark, left.mark.body, ()))  # one iteration: nothing to keep

    def visit(self, s: Any) -> Any:
        s = map_children(s, lambda c: self.visit(c) if isinstance(c, Stmt) else c)
        if type(s) is not For:
            return s
        allocs: list[Alloc] = []
        v = s.var
        while (found := find(s.body, lambda m: m.key == KEY and uses(m.value, v))) is not None:
            s = self.roll(s, found, allocs)
        made: Stmt = s
        for a in reversed(allocs):
            made = replace(a, body=made)
        return made

    def roll(self, loop: For, found: Found, allocs: list[Alloc]) -> For:
        mark, b = found.mark, found.mark.about
        _check_place(loop, found)
        window = Window(loop, mark)
        if window.step >= (constant(window.rows) or window.step + 1):
            return replace(loop, body=without(loop.body, mark, mark.body, ()))
        stmts = list(mark.body.stmts) if type(mark.body) is Seq else [mark.body]
        count = producing(mark.body, b)
        _check_producer(stmts[:count], b, self.rolled)
        inner = [s for s in found.path if type(s) is For]
        fresh = [window.restrict(s, inner) for s in stmts[:count]]
        allocs += [s for s in found.path if type(s) is Alloc and s.buffer is b]
        self.rolled.add(loop.var)
        body = without(loop.body, mark, seq(*fresh, *stmts[count:]), (b,))
        return replace(loop, body=window.circular(body))


class Window:
    """`dim`: the dimension it moves along, by `step` each iteration, from `low`; `rows`: how long it is."""

    def __init__(self, loop: For, mark: Attr) -> None:
        self.loop, self.buffer = loop, mark.about
        lows: tuple[Expr, ...] = mark.value.args  # type: ignore[attr-defined]
        moving = [k for k, low in enumerate(lows) if uses(low, loop.var)]
        if len(moving) > 1:
            _refuse(self.buffer, f"over `{loop.var.name}` its window moves along {len(moving)} dimensions at once")
        self.dim = moving[0]
        self.low, self.rows = lows[self.dim], self.buffer.shape[self.dim]
        form = affine.lin(self.low)
        self.step = form.terms.get(loop.var, 0)
        rest = affine.to_expr(Lin({a: c for a, c in form.terms.items() if a is not loop.var}, form.const))
        if self.step <= 0 or uses(rest, loop.var):
            _refuse(self.buffer, f"its window, at {self.low!r}, does not move evenly forward with `{loop.var.name}`")

    def restrict(self, s: Any, inner: list[For]) -> Any:
        """Compute only what the last position did not have, at the outermost place that tells."""
        rows = [x.indices[self.dim] for x in walk(s) if type(x) is Store and x.buffer is self.buffer]
        if not rows:
            return s
        bound = {x.var for x in walk(s) if type(x) in (For, LetStmt, Let)}  # type: ignore[attr-defined]
        if len({affine.lin(r).key for r in rows}) == 1 and not bound & set(variables(rows[0])):
            kept = binary("-", self.rows, self.step)
            new = any_(binary("==", self.loop.var, self.loop.lo), binary(">=", rows[0], kept))
            return If(all_(new, *[binary("==", f.var, f.lo) for f in inner]), s)
        return map_children(s, lambda c: self.restrict(c, inner) if isinstance(c, Stmt) else c)

    def circular(self, body: Stmt) -> Stmt:
        """Row `low + r` in slot `(low + r) % rows`."""
        low, rows = affine.lin(self.low), affine.lin(self.rows)

        def rule(x: Any) -> Any:
            if not (type(x) is Load or type(x) is Store) or x.buffer is not self.buffer:
                return None
            slot = affine.to_expr(affine.floormod(low + affine.lin(x.indices[self.dim]), rows, affine.NOTHING))
            return replace(x, indices=(*x.indices[: self.dim], slot, *x.indices[self.dim + 1 :]))

        return rewrite(body, rule)


# ---------------------------------------------------------------- what cannot roll

_OUTER = "compute it outside of that loop (compute_at a loop further out, or compute_root)"


def _refuse(b: Buffer, why: str, hint: str = "") -> NoReturn:
    raise LabError("rolling-buffer", f"cannot roll {b.name}: {why}", hint=hint)


def _check_place(loop: For, found: Found) -> None:
    b, path = found.mark.about, found.path
    for f in (loop, *(s for s in path if type(s) is For)):
        if f.kind not in ("serial", "unrolled"):
            _refuse(b, f"the loop `{f.var.name}` is {f.kind}: its iterations do not run one after another")
    own = [s for s in path if type(s) is Alloc and s.buffer is b]
    if not own:
        _refuse(b, f"its memory is not allocated inside the loop `{loop.var.name}`: an argument is kept whole")
    if any(type(s) in (If, LetStmt) for s in path):
        _refuse(b, "a condition stands around it: an iteration that is left out would leave a gap in the window")
    if any(type(s) is Attr and s.key == "double_buffer" and s.about is b for s in (*path, *walk(found.mark.body))):
        _refuse(b, "it is double buffered: a window has one copy")
    bound = {loop.var, *(s.var for s in path if type(s) is For)}
    if any(uses(n, bound) for n in b.shape):
        _refuse(b, "its size depends on the loop")
    given = {a for x in walk(loop.body) if type(x) is Call for a in x.args if type(a) is Var}
    if b.data in given:
        _refuse(b, "its address is given to a call, which expects its rows in order")


def _check_producer(stmts: list[Stmt], b: Buffer, rolled: set[Var]) -> None:
    body = seq(*stmts)
    own = {x.buffer.data for x in walk(body) if type(x) is Alloc}
    others = [h.name for h in all_written(body) - own - {b.data}]
    if others:
        _refuse(b, f"it is computed together with {', '.join(sorted(others))}, which would lose its rows")
    if any(type(x) is Barrier for x in walk(body)):
        _refuse(b, "threads meet at a barrier while it is computed: leaving rows out would part them")
    inner = [x.var.name for x in walk(body) if type(x) is For and x.var in rolled]
    if inner:
        _refuse(b, f"another window rolls over its loop `{inner[0]}`, of which iterations would be left out")
