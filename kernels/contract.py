"""Sums of products over chosen dimensions: tensordot and einsum."""

from __future__ import annotations

from typing import Any

from tvmlab import te

from . import _shared

SHAPES = {"attention scores": {"subscripts": "bhqd,bhkd->bhqk", "shapes": ((1, 12, 128, 64), (1, 12, 128, 64))}}
SMALL = [
    {"subscripts": "ij,jk->ik", "shapes": ((5, 7), (7, 19))},
    {"subscripts": "bij,bkj->bik", "shapes": ((2, 5, 7), (2, 3, 7))},
    {"subscripts": "ii->i", "shapes": ((5, 5),)},
    {"subscripts": "ij->", "shapes": ((5, 7),)},
    {"subscripts": "i,j,k", "shapes": ((2,), (3,), (4,))},
    {"axes": 1, "shapes": ((5, 7), (7, 3))},
    {"axes": ((1, 2), (0, 1)), "shapes": ((5, 2, 3), (2, 3, 4))},
]


def einsum(subscripts: str, *operand: Any) -> Any:
    """NumPy's einsum, without `...`: einsum("ij,jk->ik", A, B)"""
    inputs, arrow, output = subscripts.replace(" ", "").partition("->")
    terms = inputs.split(",")
    if "." in subscripts or len(terms) != len(operand):
        raise ValueError(f"einsum: {subscripts!r} must name every dimension of each of {len(operand)} operands")
    extent: dict[str, Any] = {}
    for term, t in zip(terms, operand):
        if len(term) != len(t.shape):
            raise ValueError(f"einsum: `{term}` names {len(term)} dimensions, {t.name} has {len(t.shape)}")
        extent.update(zip(term, t.shape))
    if not arrow:
        output = "".join(sorted(c for c in extent if inputs.count(c) == 1))
    over = {c: te.reduce_axis((0, n), name=c) for c, n in extent.items() if c not in output}

    def element(*i: Any) -> Any:
        at = {**dict(zip(output, i)), **{c: r.var for c, r in over.items()}}
        value: Any = None
        for term, t in zip(terms, operand):
            factor = t(*[at[c] for c in term])
            value = factor if value is None else value * factor
        return te.sum(value, axis=list(over.values())) if over else value

    return te.compute([extent[c] for c in output], element, name="T_einsum", tag="einsum" if over else "injective")


def tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    """The sum over the last `axes` dimensions of `a` and the first of `b`; or over the listed pairs."""
    m, n = len(a.shape), len(b.shape)
    if isinstance(axes, int):
        axes = (list(range(m - axes, m)), list(range(axes)))
    left, right = ([x] if isinstance(x, int) else list(x) for x in axes)
    letters = iter("abcdefghijklmnopqrstuvwxyz")
    first = [next(letters) for _ in range(m)]
    second = [next(letters) for _ in range(n)]
    for p, q in zip(left, right):
        second[q] = first[p]
    out = [c for d, c in enumerate(first) if d not in [p % m for p in left]]
    out += [c for d, c in enumerate(second) if d not in [q % n for q in right]]
    return einsum(f"{''.join(first)},{''.join(second)}->{''.join(out)}", a, b)


def declare(shapes: Any, subscripts: str = "", axes: Any = None, dtype: str = "float32") -> list[Any]:
    xs = [te.placeholder(s, dtype, name=n) for s, n in zip(shapes, "ABCD")]
    return [*xs, einsum(subscripts, *xs) if subscripts else tensordot(xs[0], xs[1], axes)]


def reference(*xs: Any, subscripts: str = "", axes: Any = None, **shape: Any) -> Any:
    import numpy as np

    return np.asarray(np.einsum(subscripts, *xs) if subscripts else np.tensordot(xs[0], xs[1], axes))


def schedule_cpu(outs: Any) -> Any:
    """The sums run around a vector of the last dimension; the outer dimensions in parallel."""
    return _shared.schedule(outs, _shared.rows, lambda op: op.tag == "einsum")
