"""Is a result right? Element by element against a reference, with the tolerance said in words."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core import dtype as dt
from ..core.build import const
from ..core.walk import constant, substitute
from ..expr.tensor import Operation

SAFETY = 8.0  # times the rounding that a sum in another order shows usually


@dataclass(frozen=True)
class Tolerance:
    """`relative`: to the element; `absolute`: besides. `why`: in words."""

    relative: float
    absolute: float
    why: str


@dataclass(frozen=True)
class Difference:
    """Between a result and its reference. `index`: of the first element that is wrong, None if none is.

    `worst`: the largest difference, where it is, in words.
    """

    tensor: str
    worst: str
    share: float  # of what is allowed, the largest
    index: tuple[int, ...] | None = None
    got: str = ""
    expected: str = ""
    count: int = 0


def additions(operations: Sequence[Operation], numbers: Mapping[Any, Any]) -> int:
    """How many additions make an element, along the longest chain of reductions."""
    values = {v: const(n, v.dtype) for v, n in numbers.items()}
    longest: dict[Operation, int] = {}
    for op in operations:
        extents = [constant(substitute(a.dom.extent, values)) or 1 for a in op.reduce_axis if a.dom is not None]
        own = math.prod(extents) if extents else 0
        longest[op] = own + max((longest.get(t.op, 0) for t in op.inputs), default=0)
    return max(longest.values(), default=0)


def tolerance(dtype: str, count: int, depth: int, rtol: float, atol: float, scale: float) -> Tolerance:
    """How far an element may be from the reference. `rtol`, `atol` 0: by the type, the additions and the operations.

    `count`: additions per element; `depth`: operations one after the other; `scale`: the largest element expected.
    """
    if not dt.is_float(dtype):
        return Tolerance(0.0, 0.0, "must be equal")
    usual = float(np.finfo(np.dtype(dt.element(dtype))).eps) * SAFETY * (math.sqrt(max(count, 1)) + depth)
    relative = rtol or usual
    absolute = atol or usual * scale
    sums = f"{count} additions in another order" if count > 1 else "rounding"
    why = f"allowed {relative:.1e} of the element" + (f" and {absolute:.1e}" if absolute else "")
    return Tolerance(relative, absolute, f"{why}: {'as asked' if rtol else f'{dt.element(dtype)}, {sums}'}")


def difference(name: str, got: Any, expected: Any, allowed: Tolerance) -> Difference:
    """The first wrong element, how many there are, and the largest difference."""
    floats = got.dtype.kind == "f"
    with np.errstate(all="ignore"):
        if not floats:
            wrong = got != expected
            gaps = np.abs(got.astype(np.float64) - expected.astype(np.float64))
            limits = np.full(gaps.shape, 0.5)
        else:
            a, b = got.astype(np.float64), expected.astype(np.float64)
            same = (a == b) | (np.isnan(a) & np.isnan(b))
            gaps = np.where(same, 0.0, np.abs(a - b))
            gaps = np.where(np.isnan(gaps), np.inf, gaps)
            limits = allowed.absolute + allowed.relative * np.where(np.isfinite(b), np.abs(b), 0.0)
            wrong = gaps > limits
        shares = gaps / np.maximum(limits, 1e-300)
    return _told(name, got, expected, allowed, wrong, gaps, shares)


def _told(name: str, got: Any, expected: Any, allowed: Tolerance, wrong: Any, gaps: Any, shares: Any) -> Difference:
    if got.size == 0:
        return Difference(name, "there are no elements", 0.0)
    place = np.unravel_index(int(np.argmax(shares)), got.shape)
    gap = float(gaps[place])
    where = f"{name}[{', '.join(str(int(i)) for i in place)}]" if place else name
    worst = f"largest difference {gap:.2g} at {where}, {allowed.why}" if gap else f"equal ({allowed.why})"
    count = int(np.count_nonzero(wrong))
    if not count:
        return Difference(name, worst, float(shares[place]))
    first = tuple(int(i) for i in np.unravel_index(int(np.argmax(wrong)), got.shape))
    return Difference(name, worst, float(shares[place]), first, shown(got[first]), shown(expected[first]), count)


def shown(x: Any) -> str:
    """A number with as many digits as its type holds."""
    return str(x.item() if x.dtype.kind in "iub" else x)
