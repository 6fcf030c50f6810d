"""Copies of a statement under new names, so that a program may hold it twice: every variable stays bound once."""

from __future__ import annotations

from typing import Any, TypeVar

from .node import Alloc, AllReduce, Attr, Buffer, Const, For, Let, LetStmt, Load, Node, Store, Var
from .walk import map_children, replace

N = TypeVar("N", bound=Node)


def fresh(n: N, values: dict[Any, Any] | None = None) -> N:
    """`n` with new variables and new allocated buffers for those bound inside; `values` replaces others on the way.

    Origins stay: both copies of a loop tell the axis they came from.
    """
    made: N = _Copier(dict(values or {})).visit(n)
    return made


class _Copier:
    def __init__(self, values: dict[Any, Any]) -> None:
        self.values = values
        self.buffers: dict[Any, Buffer] = {}

    def visit(self, n: Any) -> Any:
        t = type(n)
        if t is Var:
            return self.values.get(n, n)
        if t is Const:
            return n
        if t is For or t is LetStmt or t is Let:
            self.values[n.var] = Var(n.var.name, n.var.dtype, n.var.nonneg)
            return self._bound(n, var=self.values[n.var])
        if t is Alloc:
            return self._bound(n, buffer=self._copy(n.buffer))
        if self.buffers:
            if (t is Load or t is Store) and n.buffer in self.buffers:
                return self._bound(n, buffer=self.buffers[n.buffer])
            if t is Attr and n.about in self.buffers:
                return self._bound(n, about=self.buffers[n.about])
        if t is AllReduce:
            buffers = tuple(self.buffers.get(b, b) for b in n.buffers)
            return self._bound(n, buffers=buffers, threads=tuple(self.values.get(v, v) for v in n.threads))
        return map_children(n, self.visit)

    def _bound(self, n: Any, **changes: Any) -> Any:
        return replace(map_children(n, self.visit), **changes)

    def _copy(self, b: Buffer) -> Buffer:
        shape = tuple(self.visit(x) for x in b.shape)
        strides = None if b.strides is None else tuple(self.visit(x) for x in b.strides)
        self.buffers[b] = made = b.with_(shape=shape, strides=strides)
        self.values[b.data] = made.data
        return made
