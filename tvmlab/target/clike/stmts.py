"""Statements of a kernel as C text, by type.

A thread loop binds its variable to the thread's own index and, where more threads run than it has iterations, lets
only those in that it has:

    for tx in thread("threadIdx.x", 48):      ->      if (tx < 48) {
        ...                                               ...
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...core import dtype as dt
from ...core import fragments
from ...core.affine import lin
from ...core.node import (
    Alloc,
    AllReduce,
    Attr,
    Barrier,
    Bin,
    Call,
    Const,
    Evaluate,
    For,
    If,
    LetStmt,
    Load,
    Seq,
    Store,
    Var,
    While,
)
from ...core.program import loop_name
from ...core.text import briefly, headline
from ...core.walk import constant, identical
from ...lowering.passes import infer_fragment
from . import lanes, wmma

if TYPE_CHECKING:
    from .printer import CPrinter


def _for(p: CPrinter, s: For) -> None:
    head = headline(s)
    p.place.append("    " * len(p.place) + head)
    p.around.append(loop_name(s))
    if s.kind == "thread":
        _thread(p, s)
    elif s.kind == "vthread":
        raise p.refuse(None, "vthread", f"runs no virtual threads: {loop_name(s)} must be lowered before it is printed")
    else:
        _loop(p, s)
    p.place.pop()
    p.around.pop()


def _thread(p: CPrinter, s: For) -> None:
    """The index is declared at the top of the kernel; here the thread's own iteration runs, if it has one."""
    own, launched = p.threads[s.thread]
    base = constant(s.lo) == 0
    if base:
        p.names.of[s.var] = own
    whole = lin(s.extent).key == lin(launched).key and lin(s.extent).const == lin(launched).const
    p.ranges.loop(s)
    if whole and base:
        return p.stmt(s.body)
    condition = "" if whole else f"if ({own} < {p.index(s.extent)}) "
    p.emit(condition + "{")
    p.depth += 1
    if not base:
        p.emit(f"const {p.type_of(s.var.dtype)} {p.names(s.var)} = {p.index(s.lo, 9)} + {own};")
    p.stmt(s.body)
    p.depth -= 1
    p.emit("}")
    if not base:
        p.names.release(s.var)
    return None


def _loop(p: CPrinter, s: For) -> None:
    lo, end = p.index(s.lo), _end(p, s)
    p.ranges.loop(s)
    name, kind = p.names(s.var), p.type_of(s.var.dtype)
    if s.kind == "unrolled":
        p.emit(p.d.unroll)
    p.emit(f"for ({kind} {name} = {lo}; {name} < {end}; ++{name}) {{")
    p.block(s.body)
    p.emit("}")
    p.names.release(s.var)


def _end(p: CPrinter, s: For) -> str:
    """Where the loop ends; what memory holds is read once, as C would read it in every turn."""
    end = s.extent if constant(s.lo) == 0 else s.lo + s.extent
    if p.pure_index(end):
        return p.index(end, 8)
    v = Var(f"{s.var.name}_end", s.var.dtype)
    p.define(v, end)
    return p.names(v)


def _while(p: CPrinter, s: While) -> None:
    p.emit(f"while ({p.lazily(s.cond)}) {{")
    p.block(s.body)
    p.emit("}")


def _if(p: CPrinter, s: If) -> None:
    p.emit(f"if ({p.value(s.cond)}) {{")
    p.block(s.then)
    if s.other is not None:
        p.emit("} else {")
        p.block(s.other)
    p.emit("}")


def _seq(p: CPrinter, s: Seq) -> None:
    for x in s.stmts:
        p.stmt(x)


def _store(p: CPrinter, s: Store) -> None:
    if lanes.lanes_of(s) > 1 or s.mask is not None:
        return lanes.store(p, s)
    v = s.value
    if _updates(p, s):
        target = f"{p.array(s.buffer)}[{p.subscript(s.buffer, s.indices[0], writes=True)}]"
        return p.emit(f"{target} {v.op}= {p.value(v.b)};")  # type: ignore[attr-defined]
    return p.store(s.buffer, s.indices[0], p.stored(s.buffer, v))


def _updates(p: CPrinter, s: Store) -> bool:
    """`C[i] = C[i] + ...`, of numbers whose sums C computes as they are."""
    v = s.value
    if not isinstance(v, Bin) or v.op not in ("+", "-", "*", "/") or not isinstance(v.a, Load):
        return False
    if v.a.buffer is not s.buffer or v.a.mask is not None or not identical(v.a.indices, s.indices):
        return False
    native = v.dtype in ("float32", "float64", "uint32", "uint64") or (v.dtype == "float16" and p.d.half == "native")
    return native


def _let(p: CPrinter, s: LetStmt) -> None:
    if dt.lanes(s.value.dtype) > 1:
        return lanes.let(p, s)
    p.define(s.var, s.value)
    return p.stmt(s.body)


def _alloc(p: CPrinter, s: Alloc) -> None:
    """Shared memory is declared at the top of the kernel, other memory where it stands."""
    b = s.buffer
    name = p.declare(b)
    if fragments.role(b.scope):
        wmma.declare(p, b, name)
    elif b.scope == "local":
        p.emit(f"{p.alignment(b)}{p.memory_type(b)} {name}[{p.size(b)}];")
    elif b.scope != "shared":
        raise p.refuse(
            None, "scope", f"has no memory of scope `{b.scope}`, where `{b.name}` is", legal=["shared", "local"],
            hint="" if b.scope != "warp" else "the pass warp_memory makes it shared memory",
        )  # fmt: skip
    p.stmt(s.body)


def _attr(p: CPrinter, s: Attr) -> None:
    if s.key == infer_fragment.KEY:
        wmma.note(p, s)
    p.stmt(s.body)


def _barrier(p: CPrinter, s: Barrier) -> None:
    scope = "warp" if s.scope.startswith("warp") else s.scope
    text = p.d.barriers.get(scope)
    if text is None:
        known = [b for b in p.d.barriers if b != "both"]
        raise p.refuse(s, "barrier-scope", f"has no barrier of scope `{s.scope}`", legal=known)
    if scope == "shared" and p.exchanged and "both" in p.d.barriers:
        text = p.d.barriers["both"]
    p.emit(f"{text}  // {why}" if (why := briefly(s)) else text)


def _all_reduce(p: CPrinter, s: AllReduce) -> None:
    raise p.refuse(
        s, "allreduce", "prints no cross-thread reduction: lower it first", hint="the pass is lower_allreduce"
    )  # fmt: skip


def _evaluate(p: CPrinter, s: Evaluate) -> None:
    e = s.value
    if fragments.is_call(e):
        return wmma.call(p, s)
    if isinstance(e, Const) or (isinstance(e, Call) and e.name == "prefetch"):
        return  # a prefetch is a hint
    if dt.lanes(e.dtype) > 1:
        raise p.refuse(s, "vector-call", "calls no function of a vector for its effect")
    p.emit(f"{p.value(e)};")


STMT: dict[type, Callable[[Any, Any], None]] = {
    For: _for,
    While: _while,
    If: _if,
    Seq: _seq,
    Store: _store,
    Alloc: _alloc,
    LetStmt: _let,
    Attr: _attr,
    Barrier: _barrier,
    AllReduce: _all_reduce,
    Evaluate: _evaluate,
}
