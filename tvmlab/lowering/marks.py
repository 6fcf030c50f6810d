"""Marks on a stage's part of a loop: Attr(key, buffer, value, Seq(<what computes the buffer>, <what uses it>))."""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import dataclass
from typing import Any

from ..core.node import Alloc, Attr, Buffer, Seq, Stmt
from ..core.walk import map_children, seq
from .effects import all_written


@dataclass(frozen=True)
class Found:
    """A mark, and the statements around it, outermost first."""

    path: list[Any]
    mark: Attr


def find(s: Stmt, wanted: Callable[[Attr], bool], path: tuple[Any, ...] = ()) -> Found | None:
    """The first such mark in reading order."""
    if type(s) is Attr and wanted(s):
        return Found(list(path), s)
    inner = s.stmts if type(s) is Seq else [c for n in s.CHILDREN if isinstance(c := getattr(s, n), Stmt)]
    for c in inner:
        found = find(c, wanted, (*path, s))
        if found is not None:
            return found
    return None


def producing(body: Stmt, b: Buffer) -> int:
    """How many of the first statements compute the buffer: up to the last that writes it."""
    stmts = body.stmts if type(body) is Seq else (body,)
    return max((k + 1 for k, s in enumerate(stmts) if b.data in all_written(s)), default=0)


def without(s: Any, mark: Attr, body: Stmt, moved: Container[Buffer]) -> Any:
    """`s` with `body` in the place of the mark, and without the allocations that moved out."""
    if s is mark:
        return body
    if type(s) is Alloc and s.buffer in moved:
        return without(s.body, mark, body, moved)
    if type(s) is Seq:
        return seq(*[without(x, mark, body, moved) for x in s.stmts])
    return map_children(s, lambda c: without(c, mark, body, moved) if isinstance(c, Stmt) else c)
