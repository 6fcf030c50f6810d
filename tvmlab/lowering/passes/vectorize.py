"""Vectorized loops become vector accesses and vector arithmetic.

    for j in vectorized(16):
        if jo*16 + j < n:               ->     C[i, jo*16:jo*16 + 16] = broadcast(A[i], 16)
            C[i, jo*16 + j] = A[i]                 # where ramp(jo*16, 1, 16) < broadcast(n, 16)

- The loop's variable becomes the ramp `lo, lo + 1, ...`; what does not depend on it stays scalar until a vector is
  needed.
- A condition that depends on the lane becomes the mask of the loads and stores inside (`if_then_else`: a select of
  masked loads); one that does not stays a condition.
- An allocation inside gets one more dimension, the lanes. Inner loops stay, their bodies become vectors.
- What has no vector form (calls of C or Python functions, `while`, an inner loop whose extent depends on the lane,
  a store of all lanes to one place) runs in a serial loop instead, statement by statement.
- Of nested vectorized loops the innermost becomes vectors, the others run serially.
- More lanes than MAX_LANES are cut into several vectors.
"""

from __future__ import annotations

from ...core.affine import Facts, reads_memory
from ...core.error import ScheduleError
from ...core.fresh import fresh
from ...core.node import NOP, Const, For, If, Seq, Stmt, Var
from ...core.program import Program
from ...core.text import show
from ...core.walk import constant, loops, map_children, replace, seq, substitute
from ..config import DEFAULT, Config
from ..lanes import Lanes

MAX_LANES = 64  # four registers of 16 floats: wider values only make the compiler slow


def vectorize(program: Program, config: Config = DEFAULT) -> Program:
    return program.map_bodies(lambda body: _Driver(config.vectorize).stmt(body, Facts()))


class _Driver:
    """Finds the vectorized loops; `facts` are the ranges of the loops around."""

    def __init__(self, enabled: bool) -> None:
        self.enabled = enabled

    def stmt(self, s: Stmt, facts: Facts) -> Stmt:
        if isinstance(s, For):
            if s.kind == "vectorized":
                return self.loop(s, facts)
            facts = facts.with_loop(s.var, s.lo, s.extent)
        if isinstance(s, If) and not reads_memory(s.cond):
            then = self.stmt(s.then, facts.with_condition(s.cond))
            other = None if s.other is None else self.stmt(s.other, facts)
            return s if then is s.then and other is s.other else replace(s, then=then, other=other)
        if isinstance(s, Seq):
            made = [self.stmt(x, facts) for x in s.stmts]
            return s if all(a is b for a, b in zip(made, s.stmts, strict=True)) else seq(*made)
        return map_children(s, lambda c: self.stmt(c, facts) if isinstance(c, Stmt) else c)

    def loop(self, s: For, facts: Facts) -> Stmt:
        n = constant(s.extent)
        if n is None:
            raise _not_constant(s)
        if not self.enabled or any(inner.kind == "vectorized" for inner in loops(s.body)):
            inside = facts.with_loop(s.var, s.lo, s.extent)
            return replace(s, kind="serial", body=self.stmt(s.body, inside))
        if n <= 1:
            return substitute(s.body, {s.var: s.lo}) if n == 1 else NOP
        if n > MAX_LANES:
            return self.stmt(cut(s, n), facts)
        return Lanes(s, n).stmt(s.body, None, facts)


def cut(s: For, n: int) -> Stmt:
    """for v in vectorized(n)  ->  for c in ...(n//w): for v in vectorized(w), and what is left over"""
    width = next((w for w in range(MAX_LANES, 15, -1) if n % w == 0), MAX_LANES)
    whole, rest = divmod(n, width)
    parts: list[Stmt] = []
    for first, count in ((0, whole), (whole * width, 1 if rest else 0)):
        if count:
            parts.append(_chunks(s, first, count, width if first == 0 else rest))
    return seq(*parts)


def _chunks(s: For, first: int, count: int, width: int) -> Stmt:
    chunk, lane = Var(f"{s.var.name}_chunk", s.var.dtype), Var(s.var.name, s.var.dtype)
    start = s.lo + first if count == 1 else s.lo + (chunk * width + first)
    body = fresh(s.body, {s.var: start + lane})
    vector = replace(s, var=lane, lo=Const(0, s.var.dtype), extent=Const(width, s.var.dtype), body=body)
    if count == 1:
        return vector
    kind = "unrolled" if count <= 8 else "serial"
    return replace(s, var=chunk, lo=Const(0, s.var.dtype), extent=Const(count, s.var.dtype), kind=kind, body=vector)


def _not_constant(s: For) -> ScheduleError:
    where = f"for {s.var.name} in vectorized({show(s.extent)}):   <- the number of lanes must be known"
    return ScheduleError(
        "vectorize-extent",
        f"cannot vectorize `{s.var.name}`: its extent `{show(s.extent)}` is not a constant",
        where=[where],
        legal=["split it by a constant factor and vectorize the inner loop"],
    )
