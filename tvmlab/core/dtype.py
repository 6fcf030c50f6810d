"""Names of data types: `float32`, `int8`, `bool`, and vectors of them, `float32x16`."""

from __future__ import annotations

import math
import re
import struct
from functools import cache
from typing import Any

ELEMENTS = (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float16", "float32", "float64", "handle",
)  # fmt: skip
_ALIAS = {"uint1": "bool", "int": "int32", "float": "float32", "double": "float64", "int1": "bool"}
_FORM = re.compile(r"^([a-z]+?)(\d*)(?:x(\d+))?$")


@cache
def parse(dtype: str) -> tuple[str, int, int]:
    """`float32x16` -> ("float", 32, 16). Unknown names raise TypeError with the list of those that exist."""
    match = _FORM.match(dtype)
    if match:
        stem, digits, lanes = match.groups()
        name = _ALIAS.get(stem + digits, stem + digits)
        if name in ELEMENTS:
            stem = name.rstrip("0123456789")
            bits = {"bool": 1, "handle": 64}.get(name) or int(name[len(stem) :])
            return stem, bits, int(lanes or 1)
    raise TypeError(f"unknown dtype `{dtype}`; the data types are {', '.join(ELEMENTS)}, and vectors such as float32x4")


def canonical(dtype: Any) -> str:
    """The one spelling of a data type: `uint1` -> `bool`, `float32x1` -> `float32`; also of NumPy's own types."""
    if not isinstance(dtype, str):
        name = getattr(dtype, "name", None) or getattr(dtype, "__name__", None)
        if not isinstance(name, str) or callable(dtype) and not isinstance(dtype, type):
            raise TypeError(f"a dtype is a string such as 'float32', not {dtype!r}")
        dtype = name
    return _canonical(dtype)


@cache
def _canonical(dtype: str) -> str:
    stem, bits, lanes = parse(dtype)
    element = stem if stem in ("bool", "handle") else f"{stem}{bits}"
    return element if lanes == 1 else f"{element}x{lanes}"


def bits(dtype: str) -> int:
    return parse(dtype)[1]


def lanes(dtype: str) -> int:
    return parse(dtype)[2]


def nbytes(dtype: str) -> int:
    """Bytes of one element in memory; a bool takes one."""
    return max(1, parse(dtype)[1] // 8)


def size(dtype: str) -> int:
    """Bytes of one element with all its lanes: 16 of float32x4."""
    return nbytes(dtype) * lanes(dtype)


@cache
def element(dtype: str) -> str:
    stem, size, _ = parse(dtype)
    return stem if stem in ("bool", "handle") else f"{stem}{size}"


def vector(dtype: str, count: int) -> str:
    return element(dtype) if count == 1 else f"{element(dtype)}x{count}"


def is_float(dtype: str) -> bool:
    return parse(dtype)[0] == "float"


def is_int(dtype: str) -> bool:
    """Signed or unsigned integer, bool excluded."""
    return parse(dtype)[0] in ("int", "uint")


def is_signed(dtype: str) -> bool:
    return parse(dtype)[0] == "int"


def is_bool(dtype: str) -> bool:
    return parse(dtype)[0] == "bool"


@cache
def promote(a: str, b: str) -> str:
    """The data type of `x + y`: float beats integer, wider beats narrower, equal width int and uint give uint."""
    if a == b:
        return a
    (sa, ba, la), (sb, bb, lb) = parse(a), parse(b)
    if la != lb and 1 not in (la, lb):
        raise TypeError(f"cannot combine vectors of different length: {a} and {b}")
    count = max(la, lb)
    if sa == sb:
        return vector(a if ba >= bb else b, count)
    order = {"bool": 0, "int": 1, "uint": 1, "float": 2}
    if "handle" in (sa, sb):
        raise TypeError(f"no arithmetic on a handle: {a} and {b}")
    if order[sa] != order[sb]:
        return vector(a if order[sa] > order[sb] else b, count)
    if ba != bb:
        return vector(a if ba > bb else b, count)
    return vector(a if sa == "uint" else b, count)


def rounded(value: float, dtype: str) -> float:
    """The nearest number of a float type; beyond its range an infinity."""
    form = {16: "e", 32: "f", 64: "d"}[bits(dtype)]
    try:
        return float(struct.unpack(form, struct.pack(form, value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


def limits(dtype: str) -> tuple[float, float]:
    """(smallest, largest) finite value of an element type."""
    stem, size, _ = parse(dtype)
    if stem == "bool":
        return 0, 1
    if stem == "uint":
        return 0, 2**size - 1
    if stem == "int":
        return -(2 ** (size - 1)), 2 ** (size - 1) - 1
    top = {16: 65504.0, 32: 3.4028234663852886e38, 64: 1.7976931348623157e308}[size]
    return -top, top
