"""Which loops are expanded: marks them `unrolled` (code generators expand; here they stay loops).

    # pragma auto_unroll_max_step: 16
    for i in range(4):                  ->    for i in unrolled(4):
        A[i] = B[i]                               A[i] = B[i]

- `auto_unroll_max_step`: loops of constant extent whose body, expanded, has at most so many statements, and which hold
  at most `auto_unroll_max_depth` loops; `auto_unroll_max_extent`: loops of at most so many iterations. Both inside out.
- The pragma `auto_unroll_max_step` overrides the option for the loop it is on and what is inside. `unroll_explicit`
  chose between copying the body and a mark for the compiler behind: here it always is a mark, so it changes nothing.
- An `unrolled` loop that would expand to more than MAX_STATEMENTS becomes a serial loop with a warning, and one whose
  extent is not a constant becomes a serial loop: compiling it would take minutes or never end.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from ...core.node import NOP, Attr, For, Stmt
from ...core.program import Program
from ...core.walk import constant, map_children
from ...core.walk import replace as changed
from ...core.warning import warn
from ..config import DEFAULT, Config

MAX_STATEMENTS = 4096
STEP = "pragma_auto_unroll_max_step"


def unroll_loops(program: Program, config: Config = DEFAULT) -> Program:
    limits = Limits(config.auto_unroll_max_step, config.auto_unroll_max_depth, config.auto_unroll_max_extent)
    return program.map_bodies(lambda body: _stmt(body, limits).stmt)


@dataclass(frozen=True)
class Limits:
    step: int
    depth: int
    extent: int


@dataclass(frozen=True)
class Size:
    """A statement and what it expands to: `steps` statements, `depth` expanded loops deep, `loops` that stay."""

    stmt: Stmt
    steps: int
    depth: int = 0
    loops: int = 0


def _stmt(s: Stmt, limits: Limits) -> Size:
    if isinstance(s, For):
        return _loop(s, _own_limits(s, limits))
    if isinstance(s, Attr):
        limits = _overridden(s, limits)
    parts: list[Size] = []

    def visit(c: Any) -> Any:
        if not isinstance(c, Stmt):
            return c
        parts.append(_stmt(c, limits))
        return parts[-1].stmt

    made = map_children(s, visit)
    steps = sum(p.steps for p in parts) if parts or made is NOP else 1
    return Size(made, steps, max([p.depth for p in parts], default=0), sum(p.loops for p in parts))


def _loop(s: For, limits: Limits) -> Size:
    inner = _stmt(s.body, limits)
    n = constant(s.extent)
    kept = s if inner.stmt is s.body else changed(s, body=inner.stmt)
    if s.kind == "unrolled":
        return _marked(kept, n, inner)
    if s.kind != "serial" or n is None or inner.loops:
        return Size(kept, inner.steps, inner.depth, inner.loops + 1)
    small = n * inner.steps <= limits.step or n <= limits.extent
    if n > 1 and small and inner.depth <= limits.depth and n * inner.steps <= MAX_STATEMENTS:
        return Size(changed(kept, kind="unrolled"), n * inner.steps, inner.depth + 1)
    return Size(kept, inner.steps, inner.depth, inner.loops + 1)


def _marked(s: For, n: int | None, inner: Size) -> Size:
    """A loop that the schedule unrolls."""
    if n is None:
        return Size(changed(s, kind="serial"), inner.steps, inner.depth, inner.loops + 1)
    if n * inner.steps > MAX_STATEMENTS:
        warn(
            f"`{s.var.name}` stays a loop: unrolling it would give {n * inner.steps} statements "
            f"(at most {MAX_STATEMENTS}); split it and unroll the inner part"
        )
        return Size(changed(s, kind="serial"), inner.steps, inner.depth, inner.loops + 1)
    return Size(s, n * inner.steps, inner.depth + 1, inner.loops)


def _own_limits(s: For, limits: Limits) -> Limits:
    """A pragma is a note just inside the loop it is on."""
    body = s.body
    while isinstance(body, Attr):
        limits = _overridden(body, limits)
        body = body.body
    return limits


def _overridden(s: Attr, limits: Limits) -> Limits:
    return replace(limits, step=_number(s)) if s.key == STEP else limits


def _number(s: Attr) -> int:
    """The pragma's value: what the note is about, or its value."""
    about = getattr(s.about, "value", s.about)
    return int(about) if isinstance(about, (int, bool)) else constant(s.value) or 0
