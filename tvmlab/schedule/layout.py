"""The layout of a stage's result: from logical indices to the indices of its memory, and back.

    Layout(i, k -> [i//14, k, i%14])        panels of 14 rows

Invertible layouts only: each output is a mixed-radix number made of pieces `v`, `v//c`, `v%c`, `v//c%d` of the logical
indices, and the pieces of each index must make it up again. An extent that a piece does not divide is padded; the
padding is never read, and guards keep it from being computed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..core import serial
from ..core.affine import NOTHING, Atom, Facts, Lin, floordiv, floormod, lin, nonneg, number, to_expr, upper
from ..core.build import to_expr as expression
from ..core.error import ScheduleError
from ..core.node import Expr, Var
from ..expr.scalar import AXIS_SEPARATOR as SEPARATOR


class Layout:
    """`variables`: the logical indices; `outputs`: expressions of them; `separators`: positions of axis separators."""

    def __init__(self, variables: Sequence[Var], outputs: Sequence[Expr], separators: Sequence[int] = ()) -> None:
        self.variables, self.outputs, self.separators = tuple(variables), tuple(outputs), tuple(separators)

    @staticmethod
    def of(f: Callable[..., Any], names: Sequence[str], stage: str) -> Layout:
        """From a function of one argument per dimension that gives the list of new indices."""
        variables = [Var(n) for n in names]
        try:
            result = f(*variables)
        except TypeError as e:
            raise ScheduleError(
                "layout-arguments", f"transform_layout of {stage}: the function must take {len(names)} indices ({e})"
            ) from None
        listed = list(result) if isinstance(result, (list, tuple)) else [result]
        separators: list[int] = []
        outputs: list[Expr] = []
        for x in listed:
            if isinstance(x, str) and x == SEPARATOR:
                separators.append(len(outputs))
            else:
                outputs.append(expression(x))
        return Layout(variables, outputs, separators)

    def forward(self, values: Sequence[Lin], facts: Facts = NOTHING) -> list[Lin]:
        env = dict(zip(self.variables, values, strict=True))
        return [lin(e, facts, env) for e in self.outputs]

    def extents(self, sizes: Sequence[Lin]) -> list[Lin]:
        """The extent of each new dimension, from those of the logical ones."""
        facts = self._facts(sizes)
        found = []
        for e in self.outputs:
            top = upper(lin(e, facts), facts)
            if top is None:
                raise ScheduleError("layout-extent", f"the extent of `{e!r}` is not known")
            found.append(top + 1)
        return found

    def shape(self, shape: Sequence[Expr]) -> tuple[Expr, ...]:
        return tuple(to_expr(x) for x in self.extents([lin(e) for e in shape]))

    def check(self, sizes: Sequence[Lin]) -> None:
        """Raise where the layout has no inverse on a result of this size."""
        self._pieces(tuple(sizes))

    def inverse(self, values: Sequence[Lin], sizes: Sequence[Lin], facts: Facts = NOTHING) -> list[Lin]:
        """The logical indices of the element at these new ones."""
        totals = {v: number(0) for v in self.variables}
        for value, pieces in zip(values, self._pieces(tuple(sizes)), strict=True):
            for k, (v, scale, _, weight) in enumerate(pieces):
                part = floordiv(value, number(weight), facts)
                if k + 1 < len(pieces):
                    part = floormod(part, number(pieces[k + 1][3] // weight), facts)
                totals[v] = totals[v] + part * scale
        return [totals[v] for v in self.variables]

    def _facts(self, sizes: Sequence[Lin]) -> Facts:
        return Facts({v: (number(0), n - 1) for v, n in zip(self.variables, sizes, strict=True)})

    def _pieces(self, sizes: tuple[Lin, ...]) -> list[list[tuple[Var, int, Lin, int]]]:
        """Per output, its pieces (variable, scale, extent, weight), the lightest first."""
        facts = self._facts(sizes)
        found = [self._output(e, lin(e), facts) for e in self.outputs]
        for v in self.variables:
            self._covers(v, [(scale, extent) for pieces in found for w, scale, extent, _ in pieces if w is v])
        return found

    def _output(self, e: Expr, form: Lin, facts: Facts) -> list[tuple[Var, int, Lin, int]]:
        """A mixed-radix number: each piece must fit below the weight of the next."""
        if form.const or not form.terms:
            raise self._refuse(f"`{e!r}` is not made of pieces of the indices")
        pieces: list[tuple[Var, int, Lin, int]] = []
        for atom, c in sorted(form.terms.items(), key=lambda item: item[1]):
            v, scale, extent = self._piece(atom, e, facts)
            below = pieces[-1] if pieces else None
            fits = c == 1 if below is None else c % below[3] == 0 and nonneg(number(c // below[3]) - below[2])
            if not fits:
                raise self._refuse(f"the parts of `{e!r}` overlap or leave gaps")
            pieces.append((v, scale, extent, c))
        return pieces

    def _piece(self, atom: Any, e: Expr, facts: Facts) -> tuple[Var, int, Lin]:
        """(variable, scale, extent) of `v`, `v//c`, `v%d`, `v//c%d`."""
        if isinstance(atom, Var) and atom in facts.ranges:
            return atom, 1, facts.ranges[atom][1] + 1
        if type(atom) is Atom and atom.op in ("//", "%") and not atom.args[1].terms and atom.args[1].const > 0:
            inner, d = atom.args[0], atom.args[1].const
            if len(inner.terms) == 1 and not inner.const and next(iter(inner.terms.values())) == 1:
                v, scale, extent = self._piece(next(iter(inner.terms)), e, facts)
                if atom.op == "%":
                    return v, scale, number(d)
                return v, scale * d, floordiv(extent + d - 1, number(d))
        raise self._refuse(f"`{e!r}` is not made of pieces `v`, `v//c`, `v%c` of the indices")

    def _covers(self, v: Var, pieces: list[tuple[int, Lin]]) -> None:
        reach = 1
        for n, (scale, extent) in enumerate(sorted(pieces, key=lambda p: p[0])):
            if scale != reach:
                raise self._refuse(f"`{v.name}` cannot be found again from the new indices")
            last = n + 1 == len(pieces)
            if not last and extent.terms:
                raise self._refuse(f"`{v.name}` cannot be found again from the new indices")
            reach = scale * extent.const
        if not pieces:
            raise self._refuse(f"`{v.name}` does not occur in the new indices")

    def _refuse(self, why: str) -> ScheduleError:
        names = ", ".join(v.name for v in self.variables)
        shown = ", ".join(repr(e) for e in self.outputs)
        return ScheduleError(
            "layout-not-invertible",
            f"the layout ({names}) -> [{shown}] cannot be inverted: {why}",
            legal=["permutations", "i//c with i%c", "i*n + j"],
        )


serial.register(Layout, lambda x: (x.variables, x.outputs, x.separators), Layout)
