"""Index arithmetic as forms over loop variables, and conditions as conjunctions of forms that are >= 0.

A quotient that stays (`f // 7`) becomes a variable of its own, with two conditions that say what it is; a remainder is
what is left. A condition that is no conjunction becomes several, of which exactly one holds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..core import affine
from ..core import dtype as dt
from ..core.affine import Atom, Facts, Lin
from ..core.node import Bin, Call, Cast, Const, Expr, Not, Var
from ..core.text import show
from ..core.walk import walk
from . import domain
from .image import Definition

NEGATED = affine.NEGATED
CASES = 32  # conjunctions that one condition may become
Cons = tuple[Lin, ...]


class Forms:
    """What is known at a place of the program.

    `box`: bounds of variables; `env`: forms that some stand for; `lets`: what they are bound to; `defs`: quotients.
    """

    def __init__(self) -> None:
        self.env: dict[Any, Lin] = {}
        self.lets: dict[Any, Expr] = {}
        self.box: dict[Any, tuple[int, int]] = {}
        self.facts = Facts()
        self.defs: dict[Any, Definition] = {}
        self.quotients: dict[Any, Any] = {}

    # ------------------------------------------------------------ forms

    def lin(self, e: Expr) -> Lin | None:
        """The form in loop variables and quotients of them; None where it is something else."""
        return self.plain(affine.lin(e, self.facts, self.env) if self.env else affine.lin(e, self.facts))

    def plain(self, form: Lin) -> Lin | None:
        if all(type(a) is Var and a in self.box for a in form.terms):
            return form
        made = affine.number(form.const)
        for a, c in form.terms.items():
            part = self.atom(a)
            if part is None:
                return None
            made = made + part * c
        return made

    def atom(self, a: Any) -> Lin | None:
        if type(a) is Var:
            return affine.var(a) if a in self.box else None
        if a.op == "*":
            return self.product(a)
        if a.op == "expr":
            return self.narrowed(a.args[0])
        if a.args[1].terms or a.args[1].const <= 0:
            return None
        num, d = self.plain(a.args[0]), a.args[1].const
        if num is None:
            return None
        q = affine.var(self.quotient(num, d))
        return q if a.op == "//" else num - q * d

    def product(self, a: Atom) -> Lin | None:
        """Of factors that are numbers, but for one."""
        total = affine.number(1)
        for part in a.args:
            form = self.atom(part)
            if form is None or (form.terms and total.terms):
                return None
            total = affine.product(total, form)
        return total

    def narrowed(self, e: Expr) -> Lin | None:
        """An integer in fewer bits, where it fits."""
        if isinstance(e, Const) and dt.is_int(e.dtype):
            return affine.number(int(e.value))
        if not (isinstance(e, Cast) and dt.is_int(e.dtype) and dt.is_int(e.value.dtype)) or dt.lanes(e.dtype) > 1:
            return None
        form = self.lin(e.value)
        if form is None:
            return None
        (lo, hi), (least, most) = domain.span(form, self.box), dt.limits(e.dtype)
        return form if least <= lo and hi <= most else None

    def quotient(self, num: Lin, d: int) -> Any:
        """The variable that is `num // d`."""
        key = (num.key, d)
        q = self.quotients.get(key)
        if q is None:
            q = self.quotients[key] = Var(f"q{len(self.quotients)}")
            lo, hi = domain.span(num, self.box)
            self.box[q] = (lo // d, hi // d)
            self.defs[q] = Definition(q, num, d)
        return q

    def because(self, e: Expr) -> str:
        """Why an expression is no number known beforehand."""
        if affine.reads_memory(e):
            return f"`{short(e)}` depends on data"
        unknown = next((x for x in walk(e) if type(x) is Var and x not in self.box and x not in self.env), None)
        if unknown in self.lets:
            return self.because(self.lets[unknown])
        if unknown is not None:
            return f"`{unknown.name}` is known only when the program is called"
        return f"`{short(e)}` has too many cases" if dt.is_bool(e.dtype) else f"`{short(e)}` is not affine"

    # ------------------------------------------------------------ conditions

    def cases(self, cond: Expr, holds: bool = True) -> list[Cons] | None:
        """Conjunctions of which exactly one is met where `cond` holds (or does not); None where it is not known."""
        if isinstance(cond, Const):
            return [()] if bool(cond.value) == holds else []
        if isinstance(cond, Call) and cond.name == "likely":
            return self.cases(cond.args[0], holds)
        if isinstance(cond, Not):
            return self.cases(cond.a, not holds)
        if isinstance(cond, Bin) and cond.op in ("and", "or"):
            return self.joined(cond, holds)
        if isinstance(cond, Bin) and cond.op in NEGATED and dt.is_int(cond.a.dtype) and dt.lanes(cond.a.dtype) == 1:
            return self.compared(cond.op if holds else NEGATED[cond.op], cond)
        return None

    def joined(self, cond: Bin, holds: bool) -> list[Cons] | None:
        a, b = self.cases(cond.a, holds), self.cases(cond.b, holds)
        if a is None or b is None:
            return None
        if (cond.op == "and") == holds:
            return _times(a, b)
        other = self.cases(cond.a, not holds)  # a or b: a, else b
        rest = None if other is None else _times(other, b)
        return None if rest is None else [*a, *rest]

    def compared(self, op: str, cond: Bin) -> list[Cons] | None:
        a, b = self.lin(cond.a), self.lin(cond.b)
        if a is None or b is None:
            return None
        d = b - a
        if op == "==":
            return [(d, -d)]
        if op == "!=":
            return [(d - 1,), (-d - 1,)]
        return [({"<": d - 1, "<=": d, ">": -d - 1, ">=": -d}[op],)]


def defined(
    known: Forms, forms: Sequence[Lin], cons: Cons, box: dict[Any, tuple[int, int]], fixed: Mapping[Any, int]
) -> tuple[dict[Any, tuple[int, int]], Cons, tuple[Definition, ...]]:
    """With the quotients that occur as variables of their own, and the conditions that say what they are."""
    if not known.defs:
        return box, cons, ()
    wanted: dict[Any, Definition] = {}
    todo = [v for x in (*forms, *cons) for v in x.terms]
    while todo:
        v = todo.pop()
        quotient = known.defs.get(v)
        if quotient is not None and v not in wanted:
            wanted[v] = Definition(v, domain.at(quotient.num, fixed), quotient.d)
            todo += wanted[v].num.terms
    order = [wanted[q] for q in known.defs if q in wanted]  # those inside others come first
    for q, num, d in order:
        lo, hi = domain.span(num, box)
        box[q] = (lo // d, hi // d)
        rest = num - affine.var(q) * d
        cons = (*cons, rest, affine.number(d - 1) - rest)
    return box, cons, tuple(order)


def _times(a: Sequence[Cons], b: Sequence[Cons]) -> list[Cons] | None:
    """One of the first and one of the second; None where there are too many."""
    return None if len(a) * len(b) > CASES else [(*x, *y) for x in a for y in b]


def short(e: Expr) -> str:
    text = show(e)
    return text if len(text) < 60 else text[:57] + "..."
