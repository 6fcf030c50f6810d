"""Calls of registered Python functions from the generated code.

A call writes its arguments into 64-bit slots and calls back into Python (`Callbacks`), which makes NumPy arrays of the
pointers. What the function raises is kept, the generated code returns early, and the caller raises it again.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core import dtype as dt
from ...core import packed
from ...core.error import BuildError
from ...core.node import Buffer, Call, Const, Expr, Load, Var
from ...core.text import show
from .index import Lin
from .pointers import access_ptr, address_of

PACKED = "tvmlab_packed"  # the symbol of the way back into Python


@dataclass(frozen=True)
class Argument:
    """One argument of a packed call. `kind`: array, int, float or text; `strided`: the strides follow the shape."""

    kind: str
    dtype: str = ""
    ndim: int = 0
    strided: bool = False
    text: str = ""


@dataclass(frozen=True)
class Site:
    """A packed call in the program: the function's name, its arguments, the dtype of its result."""

    name: str
    args: tuple[Argument, ...]
    dtype: str


def packed_call(c: Any, e: Call) -> str:
    if c.parallel:
        raise BuildError(
            "packed-in-parallel",
            f"the Python function `{e.name}` is called inside a parallel loop, where Python cannot run",
            where=[*c.chain, show(e)],
            legal=["make the loop serial", "call a C function (call_extern)"],
        )
    values: list[str] = []
    args = tuple([_argument(c, a, values) for a in e.args])
    site = len(c.m.sites)
    c.m.sites.append(Site(e.name, args, e.dtype))
    count = max(1, len(values))
    slots = c.name()
    c.entry.append(f"  {slots} = alloca [{count} x i64], align 8")
    for i, x in enumerate(values):
        c.emit(f"store i64 {x}, ptr {c.op(f'getelementptr i64, ptr {slots}, i64 {i}')}")
    f = c.m.declare(PACKED, "i32", ["i64", "ptr"], " nounwind")
    code = c.op(f"call i32 {f}(i64 {site}, ptr {slots})")
    c.loads.clear()
    c.fail_unless_zero(code)
    if e.dtype == "handle":
        return "null"
    raw = c.op(f"load i64, ptr {slots}")
    if not dt.is_float(e.dtype):
        return str(c.convert(raw, "int64", e.dtype))
    return str(c.convert(c.op(f"bitcast i64 {raw} to double"), "float64", e.dtype))


def _argument(c: Any, e: Expr, values: list[str]) -> Argument:
    """Append the slots of an argument; returns what they are."""
    if isinstance(e, Const) and isinstance(e.value, str):
        return Argument("text", text=e.value)
    if isinstance(e, Var) and e in c.places:
        return _whole(c, c.places[e].buffer, c.places[e].pointer, values)
    if isinstance(e, Call) and e.name == "array_view":
        return _view(c, e, values)
    if isinstance(e, Call) and e.name == "access_ptr":
        values += [c.op(f"ptrtoint ptr {access_ptr(c, e)} to i64"), c.i64(c.lin(e.args[2]))]
        return Argument("array", c.places[e.args[0]].dtype, 1)
    if isinstance(e, Call) and e.name == "address_of" and isinstance(e.args[0], Load):
        place, at = c.place(e.args[0].buffer), c.lin(c.index_of(e.args[0].indices, e.args[0].buffer))
        left = _size(c, place.buffer).plus(at, -1)
        values += [c.op(f"ptrtoint ptr {address_of(c, e)} to i64"), c.i64(left)]
        return Argument("array", place.dtype, 1)
    if dt.is_float(e.dtype):
        values.append(c.op(f"bitcast double {c.convert(c.value(e), e.dtype, 'float64')} to i64"))
        return Argument("float")
    x = c.value(e)
    values.append(c.op(f"ptrtoint ptr {x} to i64") if e.dtype == "handle" else c.convert(x, e.dtype, "int64"))
    return Argument("int", e.dtype)


def _view(c: Any, e: Call, values: list[str]) -> Argument:
    """array_view(data, offset, mask, ndim, *shape, *strides)"""
    data, offset, mask, ndim, *numbers = e.args
    start = access_ptr(c, Call("access_ptr", (data, offset, offset, mask), "handle", "intrin"))
    values.append(c.op(f"ptrtoint ptr {start} to i64"))
    values += [c.i64(c.lin(x)) for x in numbers]
    return Argument("array", c.places[data].dtype, ndim.value, strided=True)  # type: ignore[attr-defined]


def _whole(c: Any, buffer: Buffer, pointer: str, values: list[str]) -> Argument:
    seen = buffer.owner
    c.forget(c.place(buffer))
    base = c.lin(seen.offset) if seen.offset is not None else Lin(0)
    at = (
        c.op(f"getelementptr {c.m.stored(buffer.dtype)}, ptr {pointer}, i64 {c.i64(base)}")
        if base != Lin(0)
        else pointer
    )
    values.append(c.op(f"ptrtoint ptr {at} to i64"))
    values += [c.i64(c.lin(x)) for x in (*seen.shape, *(seen.strides or ()))]
    return Argument("array", buffer.dtype, seen.ndim, strided=bool(seen.strides))


def _size(c: Any, buffer: Buffer) -> Lin:
    total = Lin(1)
    for extent in buffer.shape:
        total = c._times(total, c.lin(extent))
    return total


class Callbacks:
    """The Python side of a module's packed calls. `address`: what PACKED stands for; keep this object alive."""

    def __init__(self, sites: Sequence[Site]) -> None:
        self.sites = sites
        self.errors: dict[int, BaseException] = {}
        self.function = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int64, ctypes.POINTER(ctypes.c_int64))(self.enter)
        self.address = ctypes.cast(self.function, ctypes.c_void_p).value or 0

    def enter(self, site: int, slots: Any) -> int:
        """Called by the generated code; nothing may be raised through it."""
        try:
            call = self.sites[site]
            result = packed.call(call.name, _unpacked(call.args, slots))
            if call.dtype != "handle" and result is not None:
                _return(slots, result, call.dtype)
            elif call.dtype != "handle":
                slots[0] = 0
            return 0
        except BaseException as e:  # given to the caller by `raise_error`
            self.errors[threading.get_ident()] = e
            return -1

    def raise_error(self) -> None:
        """Raise what a packed function raised in this thread."""
        error = self.errors.pop(threading.get_ident(), None)
        if error is not None:
            raise error


def _return(slots: Any, result: Any, dtype: str) -> None:
    if dt.is_float(dtype):
        ctypes.cast(slots, ctypes.POINTER(ctypes.c_double))[0] = float(result)
    else:
        slots[0] = int(result)


def _unpacked(args: Sequence[Argument], slots: Any) -> list[Any]:
    """The arguments, from the slots: arrays on the program's memory, valid during the call."""
    made: list[Any] = []
    i = 0
    floats = ctypes.cast(slots, ctypes.POINTER(ctypes.c_double))
    for a in args:
        if a.kind == "text":
            made.append(a.text)
            continue
        if a.kind == "array":
            numbers = slots[i : i + 1 + a.ndim * (2 if a.strided else 1)]
            made.append(_array(a, numbers))
            i += len(numbers)
            continue
        made.append(floats[i] if a.kind == "float" else bool(slots[i]) if a.dtype == "bool" else slots[i])
        i += 1
    return made


def _array(a: Argument, numbers: Sequence[int]) -> Any:
    kind = np.dtype(a.dtype)
    shape = tuple(numbers[1 : 1 + a.ndim])
    if 0 in shape:
        return np.zeros(shape, kind)
    strides = tuple(s * kind.itemsize for s in numbers[1 + a.ndim :]) if a.strided else None
    span = sum((n - 1) * s for n, s in zip(shape, strides, strict=True)) + kind.itemsize if strides else None
    size = span if span is not None else int(np.prod(shape, dtype=np.int64)) * kind.itemsize
    memory = (ctypes.c_char * size).from_address(numbers[0])
    return np.ndarray(shape, kind, memoryview(memory), strides=strides)
