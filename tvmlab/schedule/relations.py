"""The algebra of axes: extents flow down (roots to leaves), values flow up (leaves to roots) or down.

    split   parent = outer * extent(inner) + inner        extent(outer) = ceildiv(extent(parent), extent(inner))
    fuse    fused = outer * extent(inner) + inner          extent(fused) = extent(outer) * extent(inner)

Everything is in canonical affine form (`core.affine.Lin`), relative to the axis' minimum: 0 <= value < extent.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..core.affine import NOTHING, Facts, Lin, floordiv, floormod, lin, nonneg, number, product
from ..core.node import IterVar
from .state import Fuse, Rebase, Singleton, Split, Stage, Transform

Extents = dict[IterVar, Lin]
Values = dict[IterVar, Lin]


def extents(stage: Stage, roots: Mapping[IterVar, Lin], facts: Facts = NOTHING) -> Extents:
    """The extent of every axis, from those of the root axes."""
    found: Extents = dict(roots)
    for r in stage.relations:
        if isinstance(r, Split):
            found[r.outer], found[r.inner] = _split(stage, r, found[r.parent], facts)
        elif isinstance(r, Fuse):
            found[r.fused] = product(found[r.outer], found[r.inner])
        elif isinstance(r, Rebase):
            found[r.rebased] = found[r.parent]
        elif isinstance(r, Singleton):
            found[r.iter] = number(1)
        else:
            found.update(zip(r.transformed, r.layout.extents([found[a] for a in r.originals]), strict=True))
    return found


def _split(stage: Stage, r: Split, extent: Lin, facts: Facts) -> tuple[Lin, Lin]:
    given = lin(r.factor if r.factor is not None else r.nparts, facts)  # type: ignore[arg-type]
    if not _bound_below(stage, r.inner if r.factor is not None else r.outer) and _smaller(extent, given, facts):
        given = extent
    other = floordiv(extent + given - 1, given, facts) if given.terms or given.const > 0 else number(0)
    return (other, given) if r.factor is not None else (given, other)


def _smaller(extent: Lin, given: Lin, facts: Facts) -> bool:
    """A factor is clamped to an extent that is provably smaller, and not zero."""
    return nonneg(given - extent - 1, facts) and (bool(extent.terms) or extent.const > 0)


def _bound_below(stage: Stage, axis: IterVar) -> bool:
    """Is the axis, or a leaf made from it, bound to a thread (whose extent must stay as asked)?"""
    family = {axis}
    for r in stage.relations:
        if isinstance(r, Split) and r.parent in family:
            family |= {r.outer, r.inner}
        elif isinstance(r, Fuse) and (r.outer in family or r.inner in family):
            family.add(r.fused)
    return any(stage.mark(a).thread is not None for a in family)


def values_up(stage: Stage, leaves: Mapping[IterVar, Lin], sizes: Extents, facts: Facts = NOTHING) -> Values:
    """The value of every axis that the given leaves determine."""
    found: Values = dict(leaves)
    for r in reversed(stage.relations):
        if isinstance(r, Split):
            if r.outer in found and r.inner in found:
                found[r.parent] = product(found[r.outer], sizes[r.inner]) + found[r.inner]
        elif isinstance(r, Fuse):
            if r.fused in found:
                found[r.outer], found[r.inner] = _divided(found[r.fused], sizes[r.inner], facts)
        elif isinstance(r, Rebase):
            if r.rebased in found:
                found[r.parent] = found[r.rebased]
        elif isinstance(r, Transform) and all(a in found for a in r.transformed):
            back = r.layout.inverse([found[a] for a in r.transformed], [sizes[a] for a in r.originals], facts)
            found.update(zip(r.originals, back, strict=True))
    return found


def _divided(value: Lin, size: Lin, facts: Facts) -> tuple[Lin, Lin]:
    """Quotient and remainder; in a loop without iterations there are no values, so any will do."""
    if not size.terms and not size.const:
        return number(0), number(0)
    return floordiv(value, size, facts), floormod(value, size, facts)


def values_down(stage: Stage, roots: Mapping[IterVar, Lin], sizes: Extents, facts: Facts = NOTHING) -> Values:
    """The value of every axis, from those of the root axes."""
    found: Values = dict(roots)
    for r in stage.relations:
        if isinstance(r, Split) and r.parent in found:
            found[r.outer], found[r.inner] = _divided(found[r.parent], sizes[r.inner], facts)
        elif isinstance(r, Fuse) and r.outer in found and r.inner in found:
            found[r.fused] = product(found[r.outer], sizes[r.inner]) + found[r.inner]
        elif isinstance(r, Rebase) and r.parent in found:
            found[r.rebased] = found[r.parent]
        elif isinstance(r, Singleton):
            found[r.iter] = number(0)
        elif isinstance(r, Transform) and all(a in found for a in r.originals):
            forward = r.layout.forward([found[a] for a in r.originals], facts)
            found.update(zip(r.transformed, forward, strict=True))
    return found


def padded(stage: Stage, sizes: Extents, facts: Facts = NOTHING) -> list[IterVar]:
    """The axes whose value may run past their extent, because a split (or a layout) does not divide it."""
    found: list[IterVar] = []
    for r in stage.relations:
        if isinstance(r, Split):
            over = product(sizes[r.outer], sizes[r.inner]) - sizes[r.parent]
            if over.terms or over.const:
                found.append(r.parent)
        elif isinstance(r, Transform):
            total, whole = number(1), number(1)
            for a in r.transformed:
                total = product(total, sizes[a])
            for a in r.originals:
                whole = product(whole, sizes[a])
            if (total - whole).terms or (total - whole).const:
                found.extend(r.originals)
    return found


def derived_from(stage: Stage, roots: tuple[IterVar, ...]) -> set[IterVar]:
    """The axes that depend on any of the given ones, themselves included."""
    found = set(roots)
    for r in stage.relations:
        if isinstance(r, Split) and r.parent in found:
            found |= {r.outer, r.inner}
        elif isinstance(r, Fuse) and (r.outer in found or r.inner in found):
            found.add(r.fused)
        elif isinstance(r, Rebase) and r.parent in found:
            found.add(r.rebased)
        elif isinstance(r, Transform) and any(a in found for a in r.originals):
            found |= set(r.transformed)
    return found
