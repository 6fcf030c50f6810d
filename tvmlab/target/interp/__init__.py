"""The reference interpreter of the loop IR: it runs programs at every stage of the pipeline, and checks them.

    run(function, [A, B, C])                 computes into C, or raises an InterpError that says what is wrong and where
    run(function, [A, B, C], count=True)     also counts: .loads .stores .flops .iterations

It shares no code with the generators of the other targets. Semantics: integers wrap, float16 and float32 round after
each operation, an integer divided by zero gives 0, `select`, `and` and `or` evaluate all their parts, `if_then_else`
only the one it needs, threads run from barrier to barrier. Memory that is allocated starts undefined.

Files: run (the entry), writer exprs access calls stmts kernels (the function as Python source), machine memory maths
(what that calls), tasks sharing (races), threads (lock step), report (faults and counts).
"""

from __future__ import annotations

from .report import InterpError, Report
from .run import TARGET, Code, prepare, run

__all__ = ["TARGET", "Code", "InterpError", "Report", "prepare", "run"]
