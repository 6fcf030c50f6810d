"""Tensor expressions as the Python that builds them again: `A[i, k] * B[k, j]`.

What is written here is read by `te` with its own rules (promotion of types, folding), so a number stands bare only
where those rules give it the type it has; else it is `te.const(3, "int64")`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from ..core import dtype as dt
from ..core import intrin
from ..core.node import Bin, Call, Cast, Combiner, Const, Expr, Load, Not, Reduce, Select, Var
from ..core.walk import children, size

LEVEL = {"|": 5, "^": 6, "&": 7, "<<": 8, ">>": 8, "+": 9, "-": 9, "*": 10, "/": 10, "//": 10, "%": 10}
LEVEL |= dict.fromkeys(("<", "<=", ">", ">="), 4)
ATOM = 12
CALLED = {"min": "te.min", "max": "te.max", "truncdiv": "te.truncdiv", "truncmod": "te.truncmod"}
JOINED = {"and": "te.all", "or": "te.any"}
WORTH = 6  # nodes from which on a part that is used twice gets a name


class Unwritten(Exception):
    """Something that no call of `te` builds."""


def quoted(text: str) -> str:
    """A string as Python reads it, in double quotes where that needs no escapes."""
    made = repr(text)
    return f'"{made[1:-1]}"' if made[0] == "'" and '"' not in text else made


class Code:
    """`names`: variables and tensors -> how they are written. `uses_tir`: whether anything needed `tir`."""

    def __init__(self, names: Mapping[Any, str]) -> None:
        self.names: dict[Any, str] = dict(names)
        self.parts: dict[int, str] = {}  # id of an expression that has a name of its own
        self.uses_tir = False

    # ------------------------------------------------------------ expressions

    def expr(self, e: Expr, level: int = 0) -> str:
        if id(e) in self.parts:
            return self.parts[id(e)]
        write = WRITERS.get(type(e))
        if write is None:
            raise Unwritten(f"{type(e).__name__} has no call in te")
        text, own = write(self, e)
        return f"({text})" if own < level else text

    def beside(self, e: Expr, other: Expr | None, level: int = 0) -> str:
        """An operand or argument; a number may be bare where the other one gives it its type."""
        if not isinstance(e, Const):
            return self.expr(e, level)
        bare = literal(e)
        if bare is None or isinstance(other, Const):
            return self.expr(e, level)
        own = DEFAULTS[type(e.value)]
        fits = e.dtype == own if other is None else dt.promote(own, other.dtype) == other.dtype == e.dtype
        negative = bare.startswith("-") and level > 9
        return (f"({bare})" if negative else bare) if fits else self.expr(e, level)

    def index(self, e: Expr) -> str:
        return self.beside(e, None)

    def argument(self, e: Expr) -> str:
        """What a called function is given: a string too."""
        return quoted(e.value) if isinstance(e, Const) and isinstance(e.value, str) else self.beside(e, None)

    def tir(self, name: str) -> str:
        self.uses_tir = True
        return f"tir.{name}"

    # ------------------------------------------------------------ reductions

    def reduction(self, r: Reduce, many: tuple[Expr, ...], reducer: str) -> str:
        """`te.sum(A[i, k], axis=k)`; of several outputs, all in one."""
        sources = [self.expr(x) for x in r.sources]
        axes = [self.names[a.var] for a in r.axes]
        parts = [f"({', '.join(sources)})" if len(sources) > 1 else sources[0]]
        parts.append(f"axis={axes[0] if len(axes) == 1 else '[' + ', '.join(axes) + ']'}")
        if not (isinstance(r.cond, Const) and r.cond.value):
            parts.append(f"where={self.expr(r.cond)}")
        if r.init:
            inits = [self.expr(x) for x in r.init]
            parts.append(f"init={inits[0] if len(inits) == 1 else '(' + ', '.join(inits) + ')'}")
        if len(many) != len(r.sources):
            raise Unwritten("not all results of a reduction are outputs")
        return f"{reducer}({', '.join(parts)})"

    def combiner(self, c: Combiner) -> str:
        """`te.comm_reducer(lambda x, y: x + y, lambda t: te.const(0, t), name="sum")`"""
        many = len(c.lhs) > 1
        inner = Code(self.names)
        for side, variables in (("x", c.lhs), ("y", c.rhs)):
            inner.names |= {v: f"{side}[{k}]" if many else side for k, v in enumerate(variables)}
        results = [inner.expr(r) for r in c.result]
        identities = [inner.expr(e) for e in c.identity]
        self.uses_tir = self.uses_tir or inner.uses_tir
        left, right = (f"({', '.join(x)})" if many else x[0] for x in (results, identities))
        return f"te.comm_reducer(lambda x, y: {left}, lambda *t: {right}, name={quoted(c.name)})"


DEFAULTS: dict[type, str] = {bool: "bool", int: "int32", float: "float32"}


def literal(e: Const) -> str | None:
    """The number as Python writes it, where its bare form has a type of its own; None for strings, infinities, NaN."""
    v = e.value
    if isinstance(v, bool) or type(v) not in DEFAULTS or (isinstance(v, float) and not math.isfinite(v)):
        return None
    if isinstance(v, int) and not -(2**31) <= v < 2**31:
        return None
    return repr(v)


def _const(p: Code, e: Const) -> tuple[str, int]:
    if type(e.value) not in DEFAULTS:
        raise Unwritten(f"a constant of {type(e.value).__name__}")
    text = repr(e.value)
    if isinstance(e.value, float) and not math.isfinite(e.value):
        text = f'float("{text}")'
    return f"te.const({text}, {quoted(e.dtype)})", ATOM


def _bin(p: Code, e: Bin) -> tuple[str, int]:
    if e.op in JOINED:
        parts, first = [e.b], e.a
        while isinstance(first, Bin) and first.op == e.op and id(first) not in p.parts:
            parts, first = [first.b, *parts], first.a
        return f"{JOINED[e.op]}({', '.join(p.expr(x) for x in [first, *parts])})", ATOM
    if e.op in CALLED:
        return f"{CALLED[e.op]}({p.beside(e.a, e.b)}, {p.beside(e.b, e.a)})", ATOM
    if e.op == "==":
        return f"{p.expr(e.a, ATOM)}.equal({p.beside(e.b, e.a)})", ATOM
    if e.op == "!=":
        return f"{p.expr(e.a, 5)} != {p.beside(e.b, e.a, 5)}", 3
    level = LEVEL.get(e.op)
    if level is None:
        raise Unwritten(f"the operator {e.op}")
    own = level + 1 if level == 4 else level
    tight = level == 10 and e.op != "/" and dt.is_int(e.dtype) and not _reads(e)
    sign = e.op if tight else f" {e.op} "
    # Python turns `3 < x` round when 3 is its own
    left = p.expr(e.a, own) if level == 4 else p.beside(e.a, e.b, own)
    return f"{left}{sign}{p.beside(e.b, e.a, level + 1)}", level


def _reads(e: Expr) -> bool:
    return isinstance(e, Load) or any(_reads(c) for c in children(e) if isinstance(c, Expr))


def _load(p: Code, e: Load) -> tuple[str, int]:
    if e.mask is not None:
        raise Unwritten("a masked read")
    name = p.names[e.buffer]
    return f"{name}[{', '.join(map(p.index, e.indices))}]" if e.indices else f"{name}()", ATOM


def _call(p: Code, e: Call) -> tuple[str, int]:
    if e.name == "if_then_else":
        c, a, b = e.args
        return f"te.if_then_else({p.expr(c)}, {p.beside(a, b)}, {p.beside(b, a)})", ATOM
    if e.kind == "packed":
        raise Unwritten("a call of a Python function")
    if e.kind == "extern":
        args = [quoted(e.dtype), quoted(e.name), *map(p.expr, e.args)]
        return f"{p.tir('call_extern')}({', '.join(args)})", ATOM
    if e.name == "reinterpret":
        return f"te.reinterpret({quoted(e.dtype)}, {p.expr(e.args[0])})", ATOM
    if e.name == "bitwise_not":
        return f"~{p.expr(e.args[0], ATOM)}", 11
    arguments = list(map(p.expr, e.args))
    if _is_te(e):
        return f"te.{SPELT.get(e.name, e.name)}({', '.join(arguments)})", ATOM
    arguments = [quoted(e.dtype), quoted(f"tir.{e.name}"), *arguments]
    return f"{p.tir('call_intrin')}({', '.join(arguments)})", ATOM


SPELT = {"pow": "power", "fabs": "abs"}


def _is_te(e: Call) -> bool:
    """Does the function of that name, which `te` has too, make just this call?"""
    function = getattr(intrin, SPELT.get(e.name, e.name), None) if e.kind == "pure" else None
    if function is None:
        return False
    stand_ins = [Var(f"x{k}", a.dtype) for k, a in enumerate(e.args)]
    try:
        made = function(*stand_ins)
    except Exception:  # it takes something else
        return False
    same = isinstance(made, Call) and (made.name, made.dtype, made.kind) == (e.name, e.dtype, e.kind)
    return same and len(made.args) == len(stand_ins) and all(a is b for a, b in zip(made.args, stand_ins, strict=True))


def _select(p: Code, e: Select) -> tuple[str, int]:
    return f"{p.tir('Select')}({p.expr(e.cond)}, {p.beside(e.then, e.other)}, {p.beside(e.other, e.then)})", ATOM


def _not(p: Code, e: Not) -> tuple[str, int]:
    return f"{p.tir('Not')}({p.expr(e.a)})", ATOM


WRITERS: dict[type, Callable[[Code, Any], tuple[str, int]]] = {
    Var: lambda p, e: (p.names[e], ATOM),
    Const: _const,
    Bin: _bin,
    Not: _not,
    Cast: lambda p, e: (f"{p.expr(e.value, ATOM)}.astype({quoted(e.dtype)})", ATOM),
    Select: _select,
    Call: _call,
    Load: _load,
}


def shared(roots: tuple[Expr, ...]) -> list[Expr]:
    """The parts that are used more than once and long enough to get a name, inner ones first."""
    uses: Counter[int] = Counter()
    order: dict[int, Expr] = {}

    def visit(e: Expr) -> None:
        uses[id(e)] += 1
        if uses[id(e)] > 1:
            return
        for c in children(e):
            if isinstance(c, Expr):
                visit(c)
        order[id(e)] = e

    for r in roots:
        visit(r)
    return [e for k, e in order.items() if uses[k] > 1 and not isinstance(e, (Var, Const)) and size(e) >= WORTH]
