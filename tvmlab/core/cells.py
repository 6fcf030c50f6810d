"""Which iterations touch the same element: one-to-one index maps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .affine import Lin, mentions


def one_to_one(forms: Sequence[Lin], spans: Mapping[Any, int]) -> bool:
    """Do different values of the variables always give different tuples of forms? (proved, or False)

    `spans`: variable -> largest minus smallest value; other variables are the same for all. In one form the variables
    can be told apart when each coefficient is larger than what the smaller ones reach together: 32*i + j, j < 32.
    A variable that one form tells is known in the others.
    """
    unknown = {v for v, span in spans.items() if span > 0}
    progress = True
    while unknown and progress:
        progress = False
        for form in forms:
            told = _told(form, spans, unknown)
            if told:
                unknown -= told
                progress = True
    return not unknown


def _told(form: Lin, spans: Mapping[Any, int], unknown: set[Any]) -> set[Any]:
    """The unknown variables that the form's value determines: all those in it, or none."""
    order = dict.fromkeys(unknown, 0)
    reach, told = 0, set()
    for atom, c in sorted(form.terms.items(), key=lambda term: abs(term[1])):
        if atom in unknown:
            if abs(c) <= reach:
                return set()
            reach += abs(c) * spans[atom]
            told.add(atom)
        elif mentions(atom, order):
            return set()  # inside a quotient, a product, an opaque expression
    return told
