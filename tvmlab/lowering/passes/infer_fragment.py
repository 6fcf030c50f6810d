"""What the calls on a fragment say of it, as a note on its memory: for targets that have tensor cores.

    Af = alloc((512,), "float16", scope="wmma.matrix_a")       # fragment of Af: 16 16 16 row_major
    load_matrix_sync(Af, 16, 16, 16, 0, ...)              ->   Af = alloc((512,), "float16", scope="wmma.matrix_a")
                                                               load_matrix_sync(Af, 16, 16, 16, 0, ...)

m, n, k and, of a side of the product, the layout of the memory it comes from. What breaks a rule of fragments is
refused (`lowering/fragments.py`).
"""

from __future__ import annotations

from dataclasses import replace as changed
from typing import Any

from ...core.node import Alloc, Attr, Const
from ...core.program import Function, Program
from ...core.walk import rewrite
from ..config import DEFAULT, Config
from ..fragments import Fragment, found_in

KEY = "fragment"


def infer_fragment(program: Program, config: Config = DEFAULT) -> Program:
    made = tuple(_function(fn) for fn in program.functions)
    same = all(a is b for a, b in zip(made, program.functions, strict=True))
    return program if same else changed(program, functions=made)


def _function(fn: Function) -> Function:
    found = found_in(fn)
    return fn.with_body(rewrite(fn.body, lambda s: _noted(s, found))) if found else fn


def _noted(s: Any, found: dict[Any, Fragment]) -> Any:
    if type(s) is not Alloc or s.buffer.data not in found:
        return None
    f = found[s.buffer.data]
    return Attr(KEY, f.buffer, Const(f.note, "handle"), s)
