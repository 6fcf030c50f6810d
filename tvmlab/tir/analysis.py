"""Questions about lowered programs, under their classic names."""

from __future__ import annotations

from typing import Any

from ..core.node import For, Let, LetStmt
from ..core.program import Function
from ..core.walk import free_variables, identical, walk


def expr_deep_equal(lhs: Any, rhs: Any) -> bool:
    """Are the two expressions the same, over the same variables?"""
    return identical(lhs, rhs)


def verify_ssa(func: Any) -> bool:
    """Is each variable bound once?"""
    body = func.body if isinstance(func, Function) or hasattr(func, "entry") else func
    bound = [n.var for n in walk(body) if isinstance(n, (For, Let, LetStmt))]
    return len(bound) == len(set(bound))


def undefined_vars(node: Any, defs: Any = ()) -> list[Any]:
    """The variables used but not bound inside."""
    return [v for v in free_variables(node) if v not in list(defs)]
