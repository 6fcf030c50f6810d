"""A barrier follows every loop that has one, for OpenCL on CPUs.

    for ko in range(2):                              for ko in range(2):
        barrier("shared")                                barrier("shared")
        ...                                              ...
        if bx*8 + tx < 18: total[0] += S[tx]     ->      if bx*8 + tx < 18: total[0] += S[tx]
    if bx*8 + tx < 18: C[bx*8 + tx] = total[0]       barrier("shared")
                                                     if bx*8 + tx < 18: C[bx*8 + tx] = total[0]

It changes no result: where a loop has a barrier every thread of the block arrives, behind the loop too. It is there
for PoCL, whose compiler joins the two equal conditions around the end of such a loop, and then takes the way of one
thread for all: the threads of a block that the guard cuts wrote nothing (PoCL 3.0 and 3.1, LLVM 14 and 15).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from ...core.node import Barrier, For, Seq, Stmt, While
from ...core.program import Program
from ...core.walk import map_children, seq, walk
from ..config import DEFAULT, Config


@dataclass(frozen=True)
class Closing:
    """Why such a barrier is there."""

    brief: str = "no conflict: for PoCL, whose compiler needs one behind such a loop"


SYNC = Barrier("shared", Closing())


def close_barrier_loops(program: Program, config: Config = DEFAULT) -> Program:
    """Of a split program: its kernels. Loops at the very end of a kernel stay as they are."""
    host, *kernels = program.functions
    made = [k if (body := _closed(k.body, True)) is k.body else replace(k, body=body) for k in kernels]
    if all(a is b for a, b in zip(made, kernels, strict=True)):
        return program
    return replace(program, functions=(host, *made))


def _closed(s: Any, last: bool) -> Any:
    """`last`: the kernel ends behind `s`."""
    if isinstance(s, Seq):
        return _row(s, last)
    repeats = _repeats(s)
    made = map_children(s, lambda c: _closed(c, last and not repeats) if isinstance(c, Stmt) else c)
    return seq(made, SYNC) if repeats and not last and _waits(s) else made


def _row(s: Seq, last: bool) -> Stmt:
    """A barrier that stands behind the loop already is enough."""
    made: list[Stmt] = []
    for k, x in enumerate(s.stmts):
        end = k == len(s.stmts) - 1
        followed = not end and isinstance(s.stmts[k + 1], Barrier)
        made.append(_closed(x, last and end or followed))
    return s if all(a is b for a, b in zip(made, s.stmts, strict=True)) else seq(*made)


def _repeats(s: Any) -> bool:
    return isinstance(s, While) or (isinstance(s, For) and s.kind != "thread")


def _waits(s: Stmt) -> bool:
    return any(isinstance(x, Barrier) and x.scope == "shared" for x in walk(s))
