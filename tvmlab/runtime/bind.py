"""The check of a call's arguments, before anything runs, and what is then passed to the compiled code.

What is refused: a wrong count, kind, dtype, number of dimensions, dimension, stride, device; a read-only array, or two
overlapping arrays, that the program writes. What works by a copy: an array that is not contiguous where the code wants
it compact (copied in; and back, if the program writes it), and an input that overlaps an output (the result is as if
they were apart, as in NumPy).
"""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..core import dtype as dt
from ..core.error import CallError
from .array import Array, NDArray, aligned, memory_dtype
from .signature import BufferSpec, Dim, ScalarSpec, Signature, evaluate, words


@dataclass
class Bound:
    """Arguments as the compiled code takes them.

    `back`: (copy, original) to write back when it has run. `copied`: which of the arrays are copies. `place`: the
    number of the device that its nd.arrays are on. `owners`: by position, those of the nd.arrays whose memory may stay
    there; what `arrays` has of them may be older.
    """

    arrays: list[Array]
    scalars: list[Any]
    sizes: list[int]
    back: list[tuple[Array, Array]]
    copied: set[int]
    place: int = 0
    owners: dict[int, NDArray] = field(default_factory=dict)

    @property
    def numbers(self) -> list[Any]:
        return [*self.scalars, *self.sizes]

    def finish(self) -> None:
        for copy, original in self.back:
            original[...] = copy


def bind(signature: Signature, args: Sequence[Any], device: str = "cpu") -> Bound:
    """Check everything and bind the sizes. Raises CallError naming the argument."""
    params = signature.params
    if len(args) != len(params):
        raise CallError(
            "argument-count", f"{signature.name} takes {_count(len(params))}, got {len(args)}", where=[str(signature)]
        )
    sizes = _Sizes(signature)
    scalars: list[Any] = []
    for i, (spec, arg) in enumerate(zip(params, args, strict=True)):
        if isinstance(spec, ScalarSpec):
            scalars.append(scalar(i, spec, arg))
            sizes.bind(spec.name, scalars[-1], "the argument")
    stay = _staying(params, args) if device != "cpu" else {}
    given = [(i, s, _memory(i, s, args[i], device, stay)) for i, s in enumerate(params) if isinstance(s, BufferSpec)]
    for i, spec, a in given:
        sizes.shape(i, spec, a)
    sizes.settle()
    bound = Bound([], scalars, [], [], set(), 0 if device == "cpu" else _place(params, args))
    bound.owners = {k: stay[i] for k, (i, _, _) in enumerate(given) if i in stay}
    for i, spec, a in given:
        bound.arrays.append(_laid_out(i, spec, a, sizes, bound))
    sizes.settle()
    bound.sizes = [sizes.values[name] for name, _ in signature.sizes]
    _separate(given, bound)
    return bound


class NamedArguments(CallError, TypeError):
    """Arguments given by name; Python's own error would be a TypeError."""


def refuse_names(signature: Signature, named: Mapping[str, Any]) -> None:
    """A program takes its arguments in order."""
    if named:
        given, names = (", ".join(f"`{n}`" for n in x) for x in (named, [p.name for p in signature.params]))
        raise NamedArguments(
            "argument-name", f"{signature.name} takes its arguments by position, got {given} by name",
            where=[str(signature)], hint=f"give {names}, in this order and without names",
        )  # fmt: skip


def _staying(params: Sequence[Any], args: Sequence[Any]) -> dict[int, NDArray]:
    """Arguments whose memory may stay on their device: compact nd.arrays that are given once, by position."""
    found = [id(a) for a in args]
    return {
        i: a
        for i, (spec, a) in enumerate(zip(params, args, strict=True))
        if getattr(a, "keeps", False) and isinstance(spec, BufferSpec) and spec.strides is None
        if found.count(id(a)) == 1
    }


def _place(params: Sequence[Any], args: Sequence[Any]) -> int:
    """The number of the one device that all nd.arrays are on; 0 where there are only NumPy arrays."""
    first = None
    for i, (spec, arg) in enumerate(zip(params, args, strict=True)):
        if not isinstance(arg, NDArray):
            continue
        if first is not None and arg.device != first:
            message = f" is on {arg.device}, others are on {first}"
            raise _refuse(i, spec, "argument-device", message, _moved(spec, str(first)))
        first = arg.device
    return 0 if first is None else first.device_id


def _count(n: int) -> str:
    return f"{n} argument" if n == 1 else f"{n} arguments"


def _refuse(i: int, spec: BufferSpec | ScalarSpec, rule: str, message: str, hint: str = "") -> CallError:
    return CallError(rule, f"argument {i} ({spec.name}){message}", hint=hint)


# ---------------------------------------------------------------- scalars


def scalar(i: int, spec: ScalarSpec, value: Any) -> Any:
    """A number as the parameter's type holds it: an int in range, a float rounded to the type, a bool."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if dt.is_float(spec.dtype):
        return _float(i, spec, value)
    try:
        number = operator.index(value.item() if isinstance(value, np.bool_) else value)
    except TypeError:
        raise _refuse(i, spec, "argument-kind", f": expected {_a(spec.dtype)} number, got {_kind(value)}") from None
    low, high = dt.limits(spec.dtype)
    if not low <= number <= high:
        raise _refuse(i, spec, "argument-range", f": {number} does not fit {spec.dtype} ({low} to {high})")
    return bool(number) if dt.is_bool(spec.dtype) else number


def _float(i: int, spec: ScalarSpec, value: Any) -> float:
    if not isinstance(value, (int, float, np.integer, np.floating, np.bool_)):
        raise _refuse(i, spec, "argument-kind", f": expected {_a(spec.dtype)} number, got {_kind(value)}")
    try:
        with np.errstate(over="ignore"):
            return float(np.dtype(spec.dtype).type(value))
    except OverflowError:
        raise _refuse(i, spec, "argument-range", f": {value} does not fit {spec.dtype}") from None


def _a(word: str) -> str:
    return f"an {word}" if word[0] in "aeiou" and not word.startswith("uint") else f"a {word}"


def _kind(value: Any) -> str:
    if isinstance(value, (np.ndarray, NDArray)):
        return f"an array of shape {tuple(value.shape)}"
    name = type(value).__name__
    return f"{name} {value!r}" if isinstance(value, (int, float, str)) else name


# ---------------------------------------------------------------- arrays


def _memory(i: int, spec: BufferSpec, arg: Any, device: str, stay: Mapping[int, Any]) -> Array:
    """The argument as NumPy memory of the right dtype and number of dimensions (a lane dimension last, if any)."""
    if isinstance(arg, NDArray):
        if arg.device.kind != device:
            message = f" is on {arg.device}, the module runs on {device}"
            raise _refuse(i, spec, "argument-device", message, _moved(spec, f"{device}(0)"))
        arg = stay[i].mirror if i in stay else arg.changed(whole=False) if spec.written else arg.seen()
    elif isinstance(arg, np.generic) and not spec.written:
        arg = np.asarray(arg)
    if not isinstance(arg, np.ndarray):
        hint = "NumPy arrays and nd.array are taken; np.asarray(x) makes one"
        raise _refuse(i, spec, "argument-kind", f": expected an array, got {_kind(arg)}", hint)
    base, lanes = memory_dtype(spec.dtype)
    if arg.dtype != base:
        hint = f"{spec.name}.astype({base.name!r}) converts"
        raise _refuse(i, spec, "argument-dtype", f" is {arg.dtype}, expected {base}", hint)
    rank = len(spec.shape) + len(lanes)
    if arg.ndim != rank:
        expected = f"{rank}: {_shape_text(spec.shape, lanes)}"
        message = f" has {_dims(arg.ndim)} {arg.shape}, expected {expected}"
        raise _refuse(i, spec, "argument-ndim", message, _reshaped(spec, arg, lanes))
    if lanes and arg.shape[-1] != lanes[0]:
        message = f": the last dimension holds the {lanes[0]} lanes of {spec.dtype}, it is {arg.shape[-1]}"
        raise _refuse(i, spec, "argument-shape", message)
    if spec.written and not arg.flags.writeable:
        raise _refuse(i, spec, "argument-readonly", " is read-only, and the program writes it")
    return arg if type(arg) is np.ndarray else arg.view(np.ndarray)


def _moved(spec: BufferSpec | ScalarSpec, there: str) -> str:
    """How to give the array where it is wanted. What the program writes is not in a copy's original."""
    copy = f"nd.array({spec.name}, {there})"
    if isinstance(spec, BufferSpec) and spec.written:
        return f"pass out = {copy}; what the program writes is in out then, {spec.name}.copyfrom(out) takes it over"
    return f"pass {spec.name}.numpy(), or {copy}"


def _reshaped(spec: BufferSpec, arg: Array, lanes: tuple[int, ...]) -> str:
    """Of an array that has the right number of elements, in other dimensions."""
    wanted = (*spec.shape, *lanes)
    whole = tuple(d for d in wanted if isinstance(d, int))
    fits = len(whole) == len(wanted) and math.prod(whole) == arg.size
    return f"{spec.name}.reshape({_shape_text(spec.shape, lanes)}) has them" if fits else ""


def _dims(n: int) -> str:
    return f"{n} dimension" if n == 1 else f"{n} dimensions"


def _shape_text(shape: tuple[Dim, ...], lanes: tuple[int, ...]) -> str:
    dims = [str(d) for d in (*shape, *lanes)]
    return f"({', '.join(dims)}{',' if len(dims) == 1 else ''})"


class _Sizes:
    """The sizes bound so far, where each came from, and the dimensions that wait for one."""

    def __init__(self, signature: Signature) -> None:
        self.dtypes = dict(signature.sizes)
        self.values: dict[str, int] = {}
        self.source: dict[str, str] = {}
        self.given: dict[int, tuple[int, ...]] = {}
        self.waiting: list[tuple[int, BufferSpec, str, Dim, int]] = []

    def bind(self, name: str, value: int, source: str) -> None:
        self.values[name], self.source[name] = value, source

    def shape(self, i: int, spec: BufferSpec, a: Array) -> None:
        self.given[i] = a.shape
        for axis, dim in enumerate(spec.shape):
            self.match(i, spec, f"shape[{axis}]", dim, a.shape[axis])

    def match(self, i: int, spec: BufferSpec, place: str, dim: Dim, actual: int) -> None:
        """A bare size that is new is bound by `actual`; a dimension that can be computed must be it; others wait."""
        if isinstance(dim, str) and dim.isidentifier() and dim not in self.values:
            dtype = self.dtypes.get(dim, "int64")
            if actual > dt.limits(dtype)[1]:
                raise _refuse(i, spec, "argument-range", f": {place} is {actual}, which does not fit {dim} ({dtype})")
            self.bind(dim, actual, f"{spec.name}.{place}")
            return
        expected = evaluate(dim, self.values)
        if expected is None:
            self.waiting.append((i, spec, place, dim, actual))
        elif expected != actual:
            message = f": {place} is {actual}, expected {expected}{self.reason(dim)}"
            raise _refuse(i, spec, "argument-shape", message, self.advice(i, spec, place, dim))

    def advice(self, i: int, spec: BufferSpec, place: str, dim: Dim) -> str:
        """Of a shape that is turned around, or that the program has no other one of."""
        wanted = tuple(evaluate(d, self.values) for d in spec.shape)
        if not place.startswith("shape"):
            return ""
        if len(wanted) > 1 and self.given.get(i, ())[::-1] == wanted:
            return f"{spec.name}.T has that shape"
        if not isinstance(dim, int):
            return ""
        return f'this program is for {dim} only: with te.size_var("n") in its place build makes one for any size'

    def settle(self) -> None:
        """Check the dimensions that waited."""
        waiting, self.waiting = self.waiting, []
        for entry in waiting:
            self.match(*entry)

    def reason(self, dim: Dim) -> str:
        """` (n = 7 from A.shape[0])`; for an expression the expression first."""
        if isinstance(dim, int):
            return ""
        parts = [f"{n} = {self.values[n]} from {self.source[n]}" for n in self.values if n in words(dim)]
        head = "" if dim in self.values else f"{dim}, "
        return f" ({head}{', '.join(parts)})"


# ---------------------------------------------------------------- layout


def _laid_out(i: int, spec: BufferSpec, a: Array, sizes: _Sizes, bound: Bound) -> Array:
    """The memory in the layout the code expects; binds stride and offset variables."""
    sizes.match(i, spec, "offset", spec.offset, 0)
    if spec.strides is None:
        return a if a.flags.c_contiguous and a.flags.aligned else _compacted(spec, a, bound)
    if any(s % a.itemsize for s in a.strides) or min(a.strides, default=0) < 0 or not a.flags.aligned:
        a = _compacted(spec, a, bound)
    for axis, dim in enumerate(spec.strides):
        step = a.strides[axis] // a.itemsize
        if a.shape[axis] == 1 or a.size == 0:
            # A stride that moves nowhere: whatever the code wants. Broadcasting wants 0.
            known = evaluate(dim, sizes.values)
            step = known if known is not None else 0 if spec.broadcast else step
        sizes.match(i, spec, f"strides[{axis}]", dim, step)
    return _span(a) if spec.flat else a


def _compacted(spec: BufferSpec, a: Array, bound: Bound) -> Array:
    """A compact copy, which is written back if the program writes it."""
    copy = aligned(a.shape, a.dtype)
    copy[...] = a
    bound.copied.add(len(bound.arrays))
    if spec.written:
        bound.back.append((copy, a))
    return copy


def reach(a: Array) -> int:
    """Bytes from the start of the first to the end of the last element; no stride is negative."""
    return 0 if a.size == 0 else a.itemsize + sum((n - 1) * s for n, s in zip(a.shape, a.strides, strict=True))


def _span(a: Array) -> Array:
    """All memory between the first and the last element, as a one-dimensional array: what flat indices run over."""
    return np.lib.stride_tricks.as_strided(a, (reach(a) // a.itemsize,), (a.itemsize,))


Given = list[tuple[int, BufferSpec, Array]]


def _separate(given: Given, bound: Bound) -> None:
    """No array that the program writes shares memory with another one: inputs are copied, two outputs refused."""
    for x, (i, spec, a) in enumerate(given):
        if not spec.written:
            continue
        for y, (j, other, b) in enumerate(given):
            if x == y or not overlap(a, b):
                continue
            if other.written:
                message = f" shares memory with argument {i} ({spec.name}), and the program writes both"
                raise _refuse(j, other, "argument-overlap", message)
            if not bound.copied & {x, y}:
                bound.arrays[y] = _apart(bound.arrays[y])
                bound.copied.add(y)


def overlap(a: Array, b: Array) -> bool:
    """Do two arrays share an element? (True where that is too hard to find out.)"""
    if not np.may_share_memory(a, b):
        return False
    try:
        return bool(np.shares_memory(a, b, max_work=100_000))  # type: ignore[arg-type]
    except np.exceptions.TooHardError:
        return True


def _apart(a: Array) -> Array:
    """A copy with the same strides (the code may have been told them)."""
    span = _span(a)
    copy = aligned(span.shape, span.dtype)
    copy[...] = span
    return np.lib.stride_tricks.as_strided(copy, a.shape, a.strides)
