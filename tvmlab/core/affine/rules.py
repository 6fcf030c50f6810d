"""Decided conditions and simplified expressions."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

from .. import build
from .. import dtype as dt
from ..node import Bin, Call, Cast, Const, Expr, Load, Not, Select, Var
from ..walk import identical, map_children, replace, walk
from . import arith, bound
from .facts import NEGATED, NOTHING, Facts, operands, reads_memory
from .form import Atom, Lin, to_expr


def decide(cond: Expr, facts: Facts) -> bool | None:
    """Is the condition always true, never true, or not known?"""
    if isinstance(cond, Const):
        return bool(cond.value)
    if isinstance(cond, Call) and cond.name == "likely":
        return decide(cond.args[0], facts)
    if isinstance(cond, Not):
        inner = decide(cond.a, facts)
        return None if inner is None else not inner
    if not isinstance(cond, Bin):
        return None
    if cond.op in ("and", "or"):
        a, b = decide(cond.a, facts), decide(cond.b, facts)
        if cond.op == "and":
            return False if False in (a, b) else True if a and b else None
        return True if True in (a, b) else False if a is False and b is False else None
    if not dt.is_int(cond.a.dtype) or dt.lanes(cond.a.dtype) > 1 or cond.op not in NEGATED:
        return None
    left, right = arith.lin(cond.a, facts), arith.lin(cond.b, facts)
    if _wraps(cond.a, left) or _wraps(cond.b, right):
        return None
    return _compare(cond.op, right - left, facts)


def _wraps(e: Expr, form: Lin) -> bool:
    """Arithmetic on data, unlike that on indices, may overflow: x + 1 > x is not always true."""
    parts = [Lin({a: 1}, 0) for a in form.terms if type(a) is not Var] if type(e) is Bin else []
    return any(reads_memory(to_expr(part, e.dtype)) for part in parts)


def _compare(op: str, d: Lin, facts: Facts) -> bool | None:
    """`a op b` for d = b - a."""
    if op in ("==", "!="):
        if not d.terms:
            return (d.const == 0) == (op == "==")
        apart = bound.nonneg(d - 1, facts) or bound.nonneg(-d - 1, facts)
        return (op == "!=") if apart else None
    if op in (">", ">="):
        d, op = -d, "<" if op == ">" else "<="
    gap = d - 1 if op == "<" else d
    if bound.nonneg(gap, facts):
        return True
    return False if bound.nonneg(-gap - 1, facts) else None


def simplify(e: Expr, facts: Facts = NOTHING) -> Expr:
    """The same value, plainer: index arithmetic in canonical form, decided conditions removed."""
    t = type(e)
    if t is Const or t is Var:
        return e
    if t is Bin:
        if e.op in NEGATED or e.op in ("and", "or"):  # type: ignore[attr-defined]
            return _simplify_condition(e, facts)  # type: ignore[arg-type]
        if _is_index(e.dtype):
            x = arith.lin(e, facts)
            if len(x.terms) == 1 and not x.const:
                (atom, c), = x.terms.items()
                if c == 1 and type(atom) is Atom and atom.op == "expr":
                    return build.cast(atom.args[0], e.dtype)
            return _kept(e, to_expr(x, e.dtype))
    if t is Not:
        known = decide(e, facts)
        if known is not None:
            return build.const(known, "bool")
        inner = simplify(e.a, facts)  # type: ignore[attr-defined]
        return e if inner is e.a else build.not_(inner)  # type: ignore[attr-defined]
    if t is Select or (t is Call and e.name == "if_then_else"):  # type: ignore[attr-defined]
        return _simplify_choice(e, facts)
    made = map_children(e, lambda c: simplify(c, facts) if isinstance(c, Expr) else c)
    if type(made) is Cast and isinstance(made.value, Const):
        return build.cast(made.value, made.dtype)
    if type(made) is Bin and made is not e:
        return build.binary(made.op, made.a, made.b) if dt.lanes(made.dtype) == 1 else made
    return made


def _kept(old: Expr, new: Expr) -> Expr:
    """The old node where the new one says the same: `is` tells what changed."""
    return old if identical(old, new) else new


def _is_index(dtype: str) -> bool:
    return dtype in ("int32", "int64")


def _simplify_condition(e: Bin, facts: Facts) -> Expr:
    if e.op in ("and", "or"):
        return _simplify_logic(e, facts)
    known = decide(e, facts)
    if known is not None and dt.lanes(e.dtype) == 1:
        return build.const(known, "bool")
    a, b = simplify(e.a, facts), simplify(e.b, facts)
    return e if a is e.a and b is e.b else replace(e, a=a, b=b)


def _simplify_logic(e: Bin, facts: Facts) -> Expr:
    """`a and b and c`: each knows what comes before it."""
    parts = list(operands(e.op, e))
    made = []
    for part in parts:
        made.append(simplify(part, facts))
        if e.op == "and":
            facts = facts.with_condition(made[-1])
    if all(map(operator.is_, made, parts)):
        return e
    joined = made[0]
    for part in made[1:]:
        joined = build.binary(e.op, joined, part)
    return _kept(e, joined)


def _simplify_choice(e: Any, facts: Facts) -> Expr:
    cond, then, other = (e.cond, e.then, e.other) if isinstance(e, Select) else e.args
    cond = simplify(cond, facts)
    known = decide(cond, facts)
    if known is not None:
        return simplify(then if known else other, facts)
    a = simplify(then, facts.with_condition(cond))
    b = simplify(other, facts.with_condition(build.not_(cond)) if dt.lanes(cond.dtype) == 1 else facts)
    return _kept(e, Select(cond, a, b) if isinstance(e, Select) else replace(e, args=(cond, a, b)))


def loads(e: Any) -> Iterable[Load]:
    """Every load in an expression, in reading order."""
    return (x for x in walk(e) if type(x) is Load)
