"""The short way through a call: arguments that look like those of the last good call need no full check.

    plan = make_plan(...)      after a good call
    plan(args) -> True         it ran     False: something is different, take the long way

Three arrays cost about a microsecond: their types, then (dtype, shape, flags) of each compared as a whole, then the
addresses, which the call needs anyway, for overlap.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..core import dtype as dt
from .array import Array, NDArray, addresses
from .bind import Bound, reach
from .signature import ScalarSpec, Signature

Plan = Callable[[tuple[Any, ...]], bool]
Call = Callable[[Sequence[Any], Sequence[Any]], None]

LAYOUT = operator.attrgetter("dtype", "shape", "flags.num")
STRIDED_LAYOUT = operator.attrgetter("dtype", "shape", "flags.num", "strides")


def make_plan(signature: Signature, args: Sequence[Any], bound: Bound, call: Call, raw: Any) -> Plan | None:
    """A plan for calls like this one, whose `bound` has no copies; None where calls are never taken as they are.

    `raw(*addresses, *numbers)` where the target has it, else `call(arrays, numbers)`.
    """
    kinds = tuple(map(type, args))
    specs = signature.buffers
    places = [i for i, p in enumerate(signature.params) if not isinstance(p, ScalarSpec)]
    if any(kinds[i] not in (np.ndarray, NDArray) for i in places):
        return None
    if raw is None and any(s.flat and s.strides is not None for s in specs):
        return None  # `call` wants views made for each call
    layout = STRIDED_LAYOUT if any(s.strides is not None for s in specs) else LAYOUT
    pick = _picker(kinds, places)
    expected = list(map(layout, pick(args)))
    clashes = _clashes(signature, bound.arrays)
    numbers = _numbers(signature, bound)
    sizes = tuple(bound.sizes)

    def plan(args: tuple[Any, ...]) -> bool:
        if tuple(map(type, args)) != kinds:
            return False
        arrays = pick(args)
        if list(map(layout, arrays)) != expected:
            return False
        at = addresses(arrays)
        for x, y, x_bytes, y_bytes in clashes:
            if at[x] < at[y] + y_bytes and at[y] < at[x] + x_bytes:
                return False
        scalars = numbers(args)
        if scalars is None:
            return False
        if raw is None:
            call(arrays, (*scalars, *sizes))
        else:
            raw(*at, *scalars, *sizes)
        return True

    return plan


def _picker(kinds: tuple[type, ...], places: list[int]) -> Callable[[Sequence[Any]], Sequence[Array]]:
    """The arrays among the arguments, as NumPy memory."""
    if NDArray in kinds:
        return lambda args: [a.data if type(a) is NDArray else a for a in map(args.__getitem__, places)]
    if len(places) == len(kinds):
        return lambda args: args
    return lambda args: [args[i] for i in places]


def _clashes(signature: Signature, arrays: list[Array]) -> list[tuple[int, int, int, int]]:
    """The pairs (an array that is written, another) that must lie apart, with the bytes from first to last of each."""
    bytes_of = [reach(a) for a in arrays]
    written = [i for i, s in enumerate(signature.buffers) if s.written]
    pairs = {frozenset((w, o)) for w in written for o in range(len(arrays)) if w != o and bytes_of[w] and bytes_of[o]}
    return [(x, y, bytes_of[x], bytes_of[y]) for x, y in map(sorted, pairs)]


def _numbers(signature: Signature, bound: Bound) -> Callable[[Sequence[Any]], Sequence[Any] | None]:
    """The scalar arguments as the code takes them; None when one needs a closer look.

    An int that a shape depends on must be the one of the last good call.
    """
    specs = [(i, p) for i, p in enumerate(signature.params) if isinstance(p, ScalarSpec)]
    if not specs:
        return lambda args: ()
    shaping = signature.shaping
    checks = []
    for (i, spec), value in zip(specs, bound.scalars, strict=True):
        low, high = (value, value) if spec.name in shaping else dt.limits(spec.dtype)
        checks.append((i, np.dtype(spec.dtype).type if dt.is_float(spec.dtype) else None, low, high))

    def numbers(args: Sequence[Any]) -> list[Any] | None:
        found = []
        for i, to_type, low, high in checks:
            value = args[i]
            if not low <= value <= high:
                return None
            if to_type is None and type(value) not in (int, bool):
                return None
            found.append(value if to_type is None else float(to_type(value)))
        return found

    return numbers
