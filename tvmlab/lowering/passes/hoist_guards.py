"""A guard that a loop does not change moves out of the loop.

    for k in range(64):                       if io*8 + ii < 30:
        if io*8 + ii < 30 and k < n:  ->          for k in range(64):
            S                                         if k < n:
                                                          S

Conditions part: those that name the loop's variable stay. Neighbours under the same guard are put under one, which can
then move further. Guards that read memory stay where they are, and none leaves a thread loop (all threads must meet
at its barriers) or the scope of a let it names.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...core import build
from ...core.affine import conjuncts, reads_memory
from ...core.node import Attr, Expr, For, If, Seq, Stmt
from ...core.program import Program
from ...core.walk import identical, map_children, replace, seq, uses
from ..config import DEFAULT, Config

MOVES_OUT_OF = frozenset({"serial", "parallel", "unrolled", "vectorized"})


def hoist_guards(program: Program, config: Config = DEFAULT) -> Program:
    return program.map_bodies(_stmt)


def _stmt(s: Stmt) -> Stmt:
    made: Stmt = map_children(s, lambda c: _stmt(c) if isinstance(c, Stmt) else c)
    if isinstance(made, Seq):
        return _joined(made)
    if isinstance(made, If):
        return _merged(made)
    if isinstance(made, For) and made.kind in MOVES_OUT_OF:
        return _out_of(made)
    if isinstance(made, Attr) and _moves(made.body):
        return _past(made, made.body)
    return made


def _past(note: Attr, guard: Any) -> Stmt:
    """# note: if a: S  ->  if a: # note: S"""
    moved: Stmt = replace(guard, then=replace(note, body=guard.then))
    return moved


def _moves(s: Stmt) -> bool:
    """Is it a guard that may move: no other side, no memory read?"""
    return isinstance(s, If) and s.other is None and not reads_memory(s.cond)


def _out_of(s: For) -> Stmt:
    if not _moves(s.body):
        return s
    guard: Any = s.body
    parts = list(conjuncts(guard.cond))
    inner = [c for c in parts if uses(c, s.var)]
    outer = [c for c in parts if not uses(c, s.var)]
    if not outer:
        return s
    body = guard.then if not inner else replace(guard, cond=build.all_(*inner))
    return _merged(If(build.all_(*outer), replace(s, body=body), None, guard.likely))


def _merged(s: If) -> Stmt:
    """if a: if b: S  ->  if a and b: S"""
    inner = s.then
    if not (_moves(s) and isinstance(inner, If) and _moves(inner) and inner.likely == s.likely):
        return s
    return If(build.all_(s.cond, inner.cond), inner.then, None, s.likely)


def _joined(s: Seq) -> Stmt:
    """if a: S; if a: T  ->  if a: S; T  (also for the conditions that both have in common)"""
    made: list[Stmt] = []
    for x in s.stmts:
        joined = _under_one(made[-1], x) if made else None
        if joined is None:
            made.append(x)
        else:
            made[-1] = joined
    return s if len(made) == len(s.stmts) else seq(*made)


def _under_one(a: Stmt, b: Stmt) -> Stmt | None:
    if not (isinstance(a, If) and isinstance(b, If) and _moves(a) and _moves(b) and a.likely == b.likely):
        return None
    first, second = list(conjuncts(a.cond)), list(conjuncts(b.cond))
    shared = [c for c in first if _has(second, c)]
    if not shared:
        return None
    body = seq(_rest(a, first, shared), _rest(b, second, shared))
    return If(build.all_(*shared), body, None, a.likely)


def _has(conditions: Sequence[Expr], c: Expr) -> bool:
    return any(identical(c, x) for x in conditions)


def _rest(s: If, parts: Sequence[Expr], shared: Sequence[Expr]) -> Stmt:
    """The statement under the conditions that are not shared."""
    own = [c for c in parts if not _has(shared, c)]
    return replace(s, cond=build.all_(*own)) if own else s.then
