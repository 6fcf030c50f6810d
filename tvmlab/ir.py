"""What lowering returns, saved and compared, under the classic names: `tvmlab.ir.structural_equal(a, b)`."""

# ruff: noqa: F401
from __future__ import annotations

import json
from typing import Any

from .classic import Array, IntImm, IRModule, Map, PrimExpr, Range
from .core.node import Node
from .core.program import Function, Program
from .core.serial import dumps, loads
from .core.walk import fingerprint, free_variables, same
from .expr import encode as _encode  # makes tensors and operations savable
from .face.handle import Schedule
from .names import lazy
from .schedule.trace import Trace
from .transform import PassContext

BaseFunc = PrimFunc = Function


def structural_equal(lhs: Any, rhs: Any, map_free_vars: bool = False) -> bool:
    """Have the two the same structure, up to the names of bound variables? (`map_free_vars`: of free ones too.)

    Programs, functions, statements and expressions can be compared.
    """
    a, b = _comparable(lhs), _comparable(rhs)
    names: dict[Any, Any] = {}
    if not map_free_vars and isinstance(lhs, Node) and isinstance(rhs, Node):
        names = {k: v for x in free_variables(lhs) for k, v in ((x, x), (("back", x), x))}
    return same(a, b, names)


def _comparable(x: Any) -> Any:
    if isinstance(x, Program):
        return tuple(_comparable(f) for f in x.functions)
    if isinstance(x, Function):
        return (x.name, tuple(p.data if hasattr(p, "data") else p for p in x.params), x.body)
    return tuple(x) if isinstance(x, list) else x


def assert_structural_equal(lhs: Any, rhs: Any, map_free_vars: bool = False) -> None:
    """ValueError with both texts when the two differ."""
    if not structural_equal(lhs, rhs, map_free_vars):
        raise ValueError(f"not structurally equal:\n{lhs}\n--- and ---\n{rhs}")


def structural_hash(node: Any, map_free_vars: bool = False) -> int:
    """A number that structurally equal programs share."""
    return hash(fingerprint(_comparable(node)))


def save_json(node: Any) -> str:
    """A tensor, an operation, an expression, a statement or a schedule as text; `load_json` reads it back."""
    text: str = node.trace.to_json() if isinstance(node, Schedule) else dumps(node)
    return text


def load_json(json_str: str) -> Any:
    """What `save_json` wrote."""
    return Schedule(Trace.from_json(json_str)) if "steps" in json.loads(json_str) else loads(json_str)


__getattr__, __dir__ = lazy(
    __name__,
    {"transform": "=tvmlab.transform", "module": "=tvmlab.ir", "container": "=tvmlab.ir", "expr": "=tvmlab.expr",
     "Op": "tvmlab.expr.classic:OpName", "register_intrin_lowering": "tvmlab.classic"},
    {"register_op_attr": "operators have no attributes here: a computation is its te expression"},
)  # fmt: skip
