"""Index arithmetic, under its classic names: `arith.Analyzer().simplify(e)`."""

# ruff: noqa: N802
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .core import affine
from .core.affine import Facts, lin
from .core.build import binary, const, to_expr
from .core.node import Expr, IterVar, Var
from .names import lazy


@dataclass(frozen=True)
class ConstIntBound:
    """Inclusive bounds; unknown ones are POS_INF and NEG_INF."""

    min_value: int
    max_value: int
    POS_INF = (1 << 63) - 1
    NEG_INF = -POS_INF


@dataclass(frozen=True)
class ModularSet:
    """All numbers `coeff * k + base`."""

    coeff: int
    base: int


class Analyzer:
    """What is known about variables, and what follows from it."""

    def __init__(self) -> None:
        self.facts = Facts()
        self.values: dict[Any, Any] = {}

    def bind(self, var: Any, expr: Any) -> None:
        """A variable's value, or its Range."""
        v = var.var if isinstance(var, IterVar) else var
        if hasattr(expr, "extent"):
            lo = lin(expr.min, self.facts)
            self.facts = self.facts.with_range(v, lo, lo + lin(expr.extent, self.facts) - 1)
        else:
            self.values[v] = lin(to_expr(expr), self.facts, self.values)

    def update(self, var: Var, info: Any, override: bool = False) -> None:
        """A variable's bounds, as a ConstIntBound."""
        self.facts = self.facts.with_range(var, affine.number(info.min_value), affine.number(info.max_value))

    def simplify(self, expr: Any, steps: int = 2) -> Expr:
        """The same value, simpler."""
        e = to_expr(expr)
        if self.values:
            from .core.walk import substitute

            e = substitute(e, {v: affine.to_expr(x, v.dtype) for v, x in self.values.items()})
        return affine.simplify(e, self.facts)

    rewrite_simplify = canonical_simplify = simplify

    def const_int_bound(self, expr: Any) -> ConstIntBound:
        lo, hi = affine.bounds(lin(to_expr(expr), self.facts, self.values), self.facts)
        return ConstIntBound(ConstIntBound.NEG_INF if lo is None else lo, ConstIntBound.POS_INF if hi is None else hi)

    def modular_set(self, expr: Any) -> ModularSet:
        import math

        x = lin(to_expr(expr), self.facts, self.values)
        coeff = math.gcd(*(abs(c) for c in x.terms.values())) if x.terms else 0
        return ModularSet(coeff, x.const % coeff if coeff else x.const)

    def can_prove(self, expr: Any, strength: int = 0) -> bool:
        """Does the condition hold, whatever the values?"""
        e = self.simplify(expr)
        value = getattr(e, "value", None)
        return bool(value) if value is not None else affine.decide(e, self.facts) is True

    def can_prove_equal(self, lhs: Any, rhs: Any) -> bool:
        return self.can_prove(binary("==", lhs, rhs))

    def can_prove_greater_equal(self, expr: Any, lower_bound: int) -> bool:
        return self.can_prove(binary(">=", expr, lower_bound))

    def can_prove_less(self, expr: Any, upper_bound: int) -> bool:
        return self.can_prove(binary("<", expr, upper_bound))


def detect_linear_equation(expr: Any, var_list: Sequence[Any]) -> list[Expr]:
    """[c0, c1, ..., base] with expr == c0*v0 + c1*v1 + ... + base, or [] when it has no such form."""
    wanted = [v.var if isinstance(v, IterVar) else v for v in var_list]
    x = lin(to_expr(expr))
    rest = affine.Lin({a: c for a, c in x.terms.items() if a not in wanted}, x.const)
    if any(affine.mentions(a, dict.fromkeys(wanted, 0)) for a in rest.terms):
        return []
    return [*(const(x.terms.get(v, 0), v.dtype) for v in wanted), affine.to_expr(rest)]


DetectLinearEquation = detect_linear_equation

__getattr__, __dir__ = lazy(__name__, {})
