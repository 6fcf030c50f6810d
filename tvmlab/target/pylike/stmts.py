"""Statements as Python text, by type."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...core.node import (
    Alloc,
    AllReduce,
    Attr,
    Barrier,
    Call,
    Const,
    Evaluate,
    For,
    If,
    LetStmt,
    Seq,
    Store,
    While,
)
from .exprs import pure_index

if TYPE_CHECKING:
    from .printer import PyPrinter


def _alloc(p: PyPrinter, s: Alloc) -> None:
    p.memory.add(s.buffer)
    p.alloc(s)
    p.memory.discard(s.buffer)


def _for(p: PyPrinter, s: For) -> None:
    head = p.for_head(s)
    p.emit(head)
    p.place.append("    " * len(p.place) + head)
    p.block(s.body)
    p.place.pop()
    p.names.release(s.var)


def _while(p: PyPrinter, s: While) -> None:
    p.lazy += 1  # evaluated again and again: nothing may move before the loop
    head = f"while {p.condition(s.cond)}:"
    p.lazy -= 1
    p.emit(head)
    p.block(s.body)


def _if(p: PyPrinter, s: If) -> None:
    p.emit(f"if {p.condition(s.cond)}:")
    p.block(s.then)
    if s.other is not None:
        p.emit("else:")
        p.block(s.other)


def _seq(p: PyPrinter, s: Seq) -> None:
    for x in s.stmts:
        p.stmt(x)


def _let_stmt(p: PyPrinter, s: LetStmt) -> None:
    text = p.index(s.value) if pure_index(s.value) else p.typed(s.value)
    p.emit(f"{p.names(s.var)} = {text}")
    p.stmt(s.body)


def _evaluate(p: PyPrinter, s: Evaluate) -> None:
    if isinstance(s.value, Call) and s.value.name == "prefetch":
        p.prefetch(s.value.args[0])
    elif not isinstance(s.value, Const):
        p.emit(p.loose(s.value))


def _no_threads(p: PyPrinter, s: Barrier | AllReduce) -> None:
    raise p.refuse(s, "thread-statement", "has no threads that could meet here", legal=["target interp"])


STMT: dict[type, Callable[[Any, Any], None]] = {
    For: _for,
    While: _while,
    If: _if,
    Seq: _seq,
    Store: lambda p, s: p.store(s),
    Alloc: _alloc,
    LetStmt: _let_stmt,
    Attr: lambda p, s: p.stmt(s.body),
    Barrier: _no_threads,
    AllReduce: _no_threads,
    Evaluate: _evaluate,
}
