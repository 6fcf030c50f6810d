"""Two copies of a buffer: while one is read, the part that the next iteration needs is computed into the other.

    for k in range(8):                          B = alloc((2, 4))
        B = alloc((4,))                         for j in range(4):
        for j in range(4):                          B[0, j] = A[0, j]
            B[j] = A[k, j]               ->     for k in range(8):
        use(B)                                      if k + 1 < 8:
                                                        for j in range(4):
                                                            B[(k + 1) % 2, j] = A[k + 1, j]
                                                    use(B[k % 2])

`config.split_loop` (even) writes out so many iterations, which makes the copy's number a constant and leaves the
condition to the last few. What is computed must not depend on what its own iteration makes: it runs one ahead.
Shared memory needs one barrier per iteration instead of two (the pass sync_threads has the last word on them).
"""

from __future__ import annotations

from typing import Any

from ...core.build import binary, const, not_
from ...core.error import LabError
from ...core.fresh import fresh
from ...core.node import Alloc, Attr, Barrier, Buffer, Expr, For, If, LetStmt, Seq, Stmt, Var
from ...core.program import Program
from ...core.walk import constant, map_children, replace, rewrite, seq, walk
from ..config import DEFAULT, Config
from ..copies import select, widened
from ..effects import all_read, all_written, written
from ..marks import Found, find, producing, without
from .simplify import NO_FACTS, Simplifier

KEY = "double_buffer"


def double_buffer(program: Program, config: Config = DEFAULT) -> Program:
    if config.split_loop < 1 or config.split_loop > 1 and config.split_loop % 2:
        raise LabError(
            "split-loop",
            f"split_loop of double buffering is {config.split_loop}",
            legal=["1 (do not split)", "an even number"],
        )

    def run(body: Stmt) -> Stmt:
        made = _visit(body, config.split_loop)
        return body if made is body else Simplifier(config.keep_unit_loops).stmt(made, NO_FACTS)

    return program.map_bodies(run)


def _mark(s: Stmt, v: Var) -> Found | None:
    """The first mark that alternates over the loop `v`."""
    return find(s, lambda mark: mark.key == KEY and mark.value is v)


def _visit(s: Any, split: int) -> Any:
    if type(s) is For and _mark(s.body, s.var) is not None:
        work = Ahead(s)
        while (found := _mark(work.rest, s.var)) is not None:
            work.take(found)
        return work.result(split)
    if type(s) is Attr and s.key == KEY and not isinstance(s.value, Var):
        return _visit(s.body, split)  # its loop has one iteration: nothing to overlap
    return map_children(s, lambda c: _visit(c, split) if isinstance(c, Stmt) else c)


class Ahead:
    """One loop, some of whose buffers are computed one iteration ahead.

    `heads`: what computes them for the next iteration; `rest`: the body that uses them; `first`: what computes them for
    the first iteration; `conditions`: that there is a next one.
    """

    def __init__(self, loop: For) -> None:
        self.loop, self.rest = loop, loop.body
        self.first: list[Stmt] = []
        self.heads: list[Stmt] = []
        self.allocs: list[Alloc] = []
        self.conditions: list[Expr] = []

    def take(self, found: Found) -> None:
        b: Buffer = found.mark.about
        produce, consume, removed = _parts(found.mark.body, b)
        if not produce:  # in this part of the iterations nothing of it is needed
            self.rest = without(self.rest, found.mark, found.mark.body, ())
            return
        _check_loop(self.loop, found)
        stores = all_written(seq(*produce))
        mine = [s for s in found.path if type(s) is Alloc and s.buffer.data in stores]
        taken = {a.buffer.data for a in self.allocs}  # virtual threads may have repeated the mark
        if b.data not in taken and not any(s.buffer is b for s in mine):
            raise LabError(
                "double-buffer-argument",
                f"cannot double buffer {b.name}: its memory is not allocated inside the loop `{self.loop.var.name}`",
                hint=f"an argument of the function has one copy: leave {b.name} out of the arguments",
            )
        self._check_order(found, produce, {b.data, *(s.buffer.data for s in mine)})
        made = {s.buffer: widened(s.buffer, 2) for s in mine}
        which = binary("%", binary("-", self.loop.var, self.loop.lo), 2)
        body = select(_wrapped(seq(*produce), found), made, which, "cannot double buffer")
        barrier = Barrier(b.scope, removed.origin) if removed is not None else None
        rest = without(self.rest, found.mark, seq(*consume), made)
        self.rest = select(rest, made, which, "cannot double buffer")
        self.first.append(seq(barrier, fresh(body, {self.loop.var: self.loop.lo})))
        self.heads.append(seq(barrier, self._next(body)))
        self.allocs += [replace(s, buffer=made[s.buffer]) for s in mine]

    def _next(self, body: Stmt) -> Stmt:
        v = self.loop.var
        following = binary("+", v, const(1, v.dtype))
        there_is = binary("<", following, binary("+", self.loop.lo, self.loop.extent))
        self.conditions.append(there_is)
        return If(there_is, fresh(body, {v: following}), likely=True)

    def _check_order(self, found: Found, produce: list[Stmt], mine: set[Any]) -> None:
        """What `produce` reads must be there one iteration ahead; the buffers taken before are."""
        b, name = found.mark.about, self.loop.var.name
        own = {x.buffer.data for p in produce for x in walk(p) if type(x) is Alloc}
        made_here = _written_outside(self.rest, {id(p) for p in produce})
        made_here |= {s.buffer.data for s in found.path if type(s) is Alloc}
        for h in all_read(seq(*produce)) - mine - own:
            if h in made_here:
                raise LabError(
                    "double-buffer-order",
                    f"cannot double buffer {b.name} over `{name}`: "
                    f"it reads {h.name}, which the same iteration computes",
                    legal=[f"double buffer {h.name} too", f"compute {h.name} outside of the loop `{name}`"],
                )

    def result(self, split: int) -> Stmt:
        loop = replace(self.loop, body=_visit(seq(*self.heads, self.rest), split))
        n, first = loop.extent, _visit(seq(*self.first), split)
        if (constant(n) or 0) <= 0:
            first = If(binary(">", n, 0), first, likely=True)
        made = seq(first, *self._loops(loop, split))
        for s in reversed(self.allocs):
            made = replace(s, body=made)
        return made

    def _loops(self, loop: For, split: int) -> list[Stmt]:
        """`split` iterations written out, all of which have a next one, then the last few."""
        if split == 1:
            return [loop]
        v = loop.var
        rounds = binary("max", binary("//", binary("-", loop.extent, 1), split), 0)  # a loop may have no iteration
        outer = Var(f"{v.name}_outer", v.dtype)
        base = binary("+", loop.lo, binary("*", outer, split))
        known = set(map(id, self.conditions))
        sure = rewrite(loop.body, lambda s: s.then if type(s) is If and id(s.cond) in known else None)
        written_out = seq(*[fresh(sure, {v: binary("+", base, k)}) for k in range(split)])
        done = binary("*", rounds, split)
        tail = replace(fresh(loop), lo=binary("+", loop.lo, done), extent=binary("-", loop.extent, done))
        return [For(outer, const(0, v.dtype), rounds, loop.kind, written_out, origin=loop.origin), tail]


def _wrapped(body: Stmt, found: Found) -> Stmt:
    """`body` under the conditions and lets that stand around the mark."""
    inner: Any = found.mark
    for s in reversed(found.path):
        if type(s) is If:
            body = If(s.cond if s.then is inner else not_(s.cond), body, likely=s.likely)
        elif type(s) is LetStmt:
            body = replace(s, body=body)
        inner = s
    return body


def _check_loop(loop: For, found: Found) -> None:
    between = next((s for s in found.path if type(s) is For), None)
    if loop.kind in ("serial", "unrolled") and between is None:
        return
    name = found.mark.about.name
    why = f"`{loop.var.name}`, is {loop.kind}: its iterations do not run one after another"
    if between is not None:
        why = f"`{loop.var.name}`, has the loop `{between.var.name}` in between"
    raise LabError(
        "double-buffer-loop",
        f"cannot double buffer {name}: the loop it is computed in, {why}",
        hint=f"attach it to a serial loop: s[{name}].compute_at(consumer, axis)",
    )


def _parts(body: Stmt, b: Buffer) -> tuple[list[Stmt], list[Stmt], Barrier | None]:
    """What computes the buffer, what uses it, and the barrier of its stage around it, if there is one (left out)."""
    stmts = list(body.stmts) if type(body) is Seq else [body]
    count = producing(body, b)
    produce, consume = stmts[:count], stmts[count:]
    removed = None
    if produce and type(produce[0]) is Barrier and produce[0].origin is not None:
        removed, produce = produce[0], produce[1:]
    if consume and type(consume[0]) is Barrier and consume[0].origin is not None:
        removed, consume = consume[0], consume[1:]
    return produce, consume, removed


def _written_outside(s: Any, skip: set[int]) -> set[Any]:
    """Handles of what the tree writes, the statements in `skip` left out."""
    if id(s) in skip:
        return set()
    found = set(written(s))
    for name in s.CHILDREN:
        value = getattr(s, name)
        for c in value if name in s.MANY else (value,):
            if c is not None:
                found |= _written_outside(c, skip)
    return found
