"""A layout as text, and back: `i, j -> [j, i//8, i%8]`. Read as arithmetic on the indices; nothing is evaluated."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..core.error import ScheduleValueError
from ..core.node import Var
from ..core.text import Names, show
from ..expr.scalar import AXIS_SEPARATOR
from ..schedule.layout import Layout

OPERATIONS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}  # fmt: skip
SEPARATOR = "AXIS_SEPARATOR"


def layout_text(layout: Layout) -> str:
    """`i, j -> [j, i]`"""
    names = Names()
    left = ", ".join(names(v) for v in layout.variables)
    parts: list[str] = []
    for k, e in enumerate(layout.outputs):
        parts += [SEPARATOR] * layout.separators.count(k)
        parts.append(show(e, names))
    return f"{left} -> [{', '.join(parts)}]"


def layout_of(text: str) -> Layout:
    """The layout that the text says; `lambda i, j: [j, i]` is read too."""
    written = text.strip()
    left, arrow, right = written.partition("->")
    if written.startswith("lambda"):
        left, arrow, right = written.removeprefix("lambda").partition(":")
    names = [n.strip() for n in left.split(",")]
    if not arrow or not all(n.isidentifier() for n in names) or len(set(names)) != len(names):
        raise _refuse(text, "it must begin with the names of the indices")
    try:
        tree = ast.parse(right.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise _refuse(text, "the part behind the arrow cannot be read") from None
    outputs = tree.elts if isinstance(tree, (ast.List, ast.Tuple)) else [tree]
    return Layout.of(lambda *indices: _read(text, outputs, dict(zip(names, indices, strict=True))), names, "a stage")


def _read(text: str, outputs: Sequence[ast.expr], known: Mapping[str, Var]) -> list[Any]:
    return [
        AXIS_SEPARATOR if isinstance(e, ast.Name) and e.id == SEPARATOR else _expr(text, e, known) for e in outputs
    ]


def _expr(text: str, e: ast.expr, known: Mapping[str, Var]) -> Any:
    if isinstance(e, ast.Constant) and type(e.value) is int:
        return e.value
    if isinstance(e, ast.Name) and e.id in known:
        return known[e.id]
    if isinstance(e, ast.BinOp) and type(e.op) in OPERATIONS:
        a, b = _expr(text, e.left, known), _expr(text, e.right, known)
        if isinstance(e.op, (ast.FloorDiv, ast.Mod)) and b == 0 and isinstance(b, int):
            raise _refuse(text, "it divides by zero")
        return OPERATIONS[type(e.op)](a, b)
    raise _refuse(text, f"`{ast.unparse(e)}` is no sum, product or quotient of {', '.join(known)}")


def _refuse(text: str, why: str) -> ScheduleValueError:
    legal = ["i, j -> [j, i]", "i, j -> [i//8, j, i%8]"]
    return ScheduleValueError("layout-text", f"`{text[:80]}` is no layout: {why}", legal=legal)
