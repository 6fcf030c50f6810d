"""`dot4` of one lane, as every language of kernels has it: four products of bytes into an int32.

    dot4(C[0:16], A[0:4], W[0:64])     of lane k:     dot4(C[k], A[0], A[1], A[2], A[3], W[4*k], ..., W[4*k + 3])

Both are calls of that name: with vectors (`core.intrin.dot4`), and with nine scalars once their lanes are known.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...core import dtype as dt
from ...core.build import binary, cast, const
from ...core.node import Call, Expr
from ...core.walk import walk

BYTES = 4


def is_dot(e: Any) -> bool:
    return type(e) is Call and e.name == "dot4"


def has_dot(e: Any) -> bool:
    return any(map(is_dot, walk(e)))


def of_lane(e: Call, k: Expr, lane: Callable[[Expr, Expr], Expr]) -> Call:
    """Lane `k` of a dot product; `lane(v, j)`: lane j of a vector. Four bytes alone meet every lane."""
    total, *sides = e.args
    n = dt.lanes(total.dtype)
    made = [lane(total, k)]
    for side in sides:
        first = binary("*", k, BYTES) if dt.lanes(side.dtype) == BYTES * n else const(0)
        made += [lane(side, binary("+", first, j)) for j in range(BYTES)]
    return Call("dot4", tuple(made), "int32")


def plain(e: Call) -> Expr:
    """The nine scalars as sums and products; the products fit, and the last sum wraps as int32 does."""
    total, a, b = e.args[0], e.args[1 : 1 + BYTES], e.args[1 + BYTES :]
    products = [binary("*", cast(x, "int32"), cast(y, "int32")) for x, y in zip(a, b, strict=True)]
    found = products[0]
    for x in products[1:]:
        found = binary("+", found, x)
    return binary("+", total, found)
