"""How much memory a program allocates: the most that is live at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..core import dtype as dt
from ..core.build import FOLD
from ..core.error import LabError
from ..core.node import Alloc, Bin, Buffer, Cast, Const, Expr, For, Stmt, Var
from ..core.program import Program
from ..expr.buffer import span


def peak_bytes(program: Program, sizes: Mapping[str, int] | None = None, threads: int = 1) -> int:
    """Bytes of the temporary buffers that exist at the same time, at worst; arguments do not count.

    `sizes`: values of the shape variables, by name. `threads`: how many iterations of a parallel loop run at once, each
    with its own buffers. Of GPU threads one is counted: shared memory is per block, local memory per thread.
    """
    given = dict(sizes or {})
    return max(_peak(fn.body, given, threads) for fn in program.functions)


def buffer_bytes(b: Buffer, sizes: Mapping[str, int] | None = None) -> int:
    """The bytes of one buffer; a bool is one byte."""
    return _value(span(b), dict(sizes or {}), b) * max(1, dt.bits(b.dtype) * dt.lanes(b.dtype) // 8)


def _peak(s: Stmt, sizes: dict[str, int], threads: int) -> int:
    inner = [_peak(c, sizes, threads) for c in _statements(s)]
    most = max(inner, default=0)
    if isinstance(s, Alloc):
        return most + buffer_bytes(s.buffer, sizes)
    if isinstance(s, For) and s.kind == "parallel" and most:
        n = s.extent.value if isinstance(s.extent, Const) else threads
        return most * max(1, min(threads, n))
    return most


def _statements(s: Stmt) -> list[Stmt]:
    found: list[Any] = []
    for name in s.CHILDREN:
        value = getattr(s, name)
        found += [c for c in (value if name in s.MANY else (value,)) if isinstance(c, Stmt)]
    return found


def _value(e: Expr, sizes: dict[str, int], b: Buffer) -> int:
    if isinstance(e, Const):
        return int(e.value)
    if isinstance(e, Cast):
        return _value(e.value, sizes, b)
    if isinstance(e, Bin):
        return int(FOLD[e.op](_value(e.a, sizes, b), _value(e.b, sizes, b)))
    if isinstance(e, Var) and e.name in sizes:
        return sizes[e.name]
    raise LabError(
        "size-unknown",
        f"the size of {b.name} depends on `{e!r}`, whose value is not given",
        hint="give it by name: peak_bytes(program, {'n': 1024})",
    )
