"""Going through statements and changing them, under the classic names."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..core.build import to_expr
from ..core.node import IterVar, Node
from ..core.walk import children, map_children
from ..core.walk import substitute as _substitute


def post_order_visit(stmt: Any, fvisit: Callable[[Any], None]) -> None:
    """Call `fvisit` on every node, each once, children before their parents."""
    seen: set[Any] = set()

    def visit(n: Node) -> None:
        if n in seen:
            return
        seen.add(n)
        for c in children(n):
            visit(c)
        fvisit(n)

    visit(stmt)


def pre_order_visit(stmt: Any, fvisit: Callable[[Any], bool]) -> None:
    """Call `fvisit` on every node, parents first; where it gives False its children are left out."""
    if fvisit(stmt):
        for c in children(stmt):
            pre_order_visit(c, fvisit)


def ir_transform(
    stmt: Any,
    preorder: Callable[[Any], Any] | None,
    postorder: Callable[[Any], Any] | None,
    only_enable: Sequence[str] | None = None,
) -> Any:
    """A changed statement: each node of the classes in `only_enable` (all, without it) goes through the functions.

    `preorder` gives a node that replaces it with all below it, or None; `postorder` sees it with its children changed.
    """
    kinds = None if only_enable is None else tuple(_class(n) for n in only_enable)

    def visit(n: Any) -> Any:
        mine = kinds is None or isinstance(n, kinds)
        if mine and preorder is not None and (made := preorder(n)) is not None:
            return made
        changed = map_children(n, visit)
        made = postorder(changed) if mine and postorder is not None else None
        return changed if made is None else made

    return visit(stmt)


def _class(name: str) -> Any:
    """`tir.For` -> the class of loops."""
    from .. import tir

    return getattr(tir, name.removeprefix("tir."))


def substitute(node: Any, vmap: Mapping[Any, Any]) -> Any:
    """The node with variables replaced by expressions."""
    return _substitute(node, {k.var if isinstance(k, IterVar) else k: to_expr(v) for k, v in vmap.items()})
