"""Calls that leave the generated code: C functions, registered Python functions, pointers, prefetches.

A packed call writes its arguments into 64-bit slots and calls back into Python (`Callbacks`), which makes NumPy arrays
of the pointers. What the function raises is kept, the generated code returns early, and the caller raises it again.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core import dtype as dt
from ...core import packed
from ...core.error import BuildError
from ...core.node import Buffer, Call, Const, Expr, Load, Var
from ...core.text import show
from .index import Lin
from .intrinsics import per_lane
from .numeric import suffix

PACKED = "tvmlab_packed"  # the symbol of the way back into Python
VARIADIC = {"printf": 1, "snprintf": 3, "fprintf": 2}  # C functions with `...` -> arguments before it


def emit_call(c: Any, e: Call) -> str:
    if e.kind == "extern":
        return _extern(c, e)
    if e.kind == "packed":
        return _packed(c, e)
    found = INTRIN.get(e.name)
    if found is not None:
        return found(c, e)
    if e.name.startswith("llvm."):
        return _llvm_intrinsic(c, e)
    raise BuildError(
        "unknown-intrinsic", f"the target llvm has no built-in `{e.name}`", where=[show(e)], legal=sorted(INTRIN)
    )


# ---------------------------------------------------------------- pointers


def _access_ptr(c: Any, e: Call) -> str:
    """access_ptr(data, offset, extent, mask)"""
    place = c.places.get(e.args[0])
    if place is None:
        raise BuildError(
            "unknown-pointer", f"`{show(e.args[0])}` is not the data of a buffer in scope", where=[show(e)]
        )
    c.forget(place)
    made: str = c.address(place, c.lin(e.args[1]), inside=False)
    return made


def _address_of(c: Any, e: Call) -> str:
    read = e.args[0]
    if not isinstance(read, Load):
        raise BuildError("address-of", "address_of needs an element of a buffer", where=[show(e)])
    place = c.place(read.buffer)
    c.forget(place)
    made: str = c.address(place, c.lin(c.index_of(read.indices, read.buffer)), inside=False)
    return made


def _prefetch(c: Any, e: Call) -> str:
    """prefetch(pointer, rw = 0, locality = 3, kind = 1); a missing number is as in LLVM."""
    f = c.m.declare("llvm.prefetch.p0", "void", ["ptr", "i32", "i32", "i32"])
    numbers = [str(int(a.value)) if isinstance(a, Const) else "0" for a in e.args[1:4]]
    rw, locality, kind = [*numbers, *("0", "3", "1")[len(numbers) :]]
    target = e.args[0]
    if isinstance(target, Load):  # nothing is read or written there: what is known of the memory stays known
        at = c.lin(c.index_of(target.indices, target.buffer))
        where = c.address(c.place(target.buffer), at, inside=False)
    else:
        where = pointer(c, target)
    c.emit(f"call void {f}(ptr {where}, i32 {rw}, i32 {locality}, i32 {kind})")
    return "0"


def pointer(c: Any, e: Expr) -> str:
    """The operand of a handle."""
    if isinstance(e, Var) and e in c.places:
        place = c.places[e]
        c.forget(place)
        return str(place.pointer)
    if isinstance(e, Load):
        return _address_of(c, Call("address_of", (e,), "handle", "intrin"))
    return str(c.value(e))


INTRIN: dict[str, Callable[[Any, Call], str]] = {
    "access_ptr": _access_ptr, "address_of": _address_of, "prefetch": _prefetch,
}  # fmt: skip


# ---------------------------------------------------------------- C


def _extern(c: Any, e: Call) -> str:
    """A C function: integers at their width, floats as they are, buffers as pointers. On vectors, lane by lane."""
    n = dt.lanes(e.dtype)
    operands = [pointer(c, a) if a.dtype == "handle" else c.value(a) for a in e.args]
    dtypes = [a.dtype for a in e.args]
    c.m.externs.setdefault(e.name, show(e))
    if e.name in VARIADIC:
        return _variadic(c, e, operands, dtypes)
    kinds = [_passed(c, d) for d in dtypes]
    result = " ".join(reversed(_passed(c, e.dtype).split()))  # an attribute of the result stands before its type
    f = c.m.declare(e.name, result, kinds, " nounwind")
    c.loads.clear()
    if n > 1:
        plain = [c.m.type(dt.element(d)) for d in dtypes]
        spread = [x if dt.lanes(d) == n else c.splat(k, x, n) for x, d, k in zip(operands, dtypes, plain, strict=True)]
        return per_lane(c, f, c.m.type(dt.element(e.dtype)), plain, spread, n)
    made: str = c.op(f"call {result} {f}({', '.join(f'{k} {x}' for k, x in zip(kinds, operands, strict=True))})")
    return made


def _passed(c: Any, dtype: str) -> str:
    """How C passes a scalar: narrow integers are extended by the caller."""
    element = dt.element(dtype)
    if element == "float16":
        raise BuildError("extern-half", "C has no float16 to pass to a function", legal=["cast it to float32"])
    t: str = c.m.type(element)
    if dt.is_float(element) or element == "handle" or dt.bits(element) >= 32:
        return t
    return f"{t} {'signext' if dt.is_signed(element) else 'zeroext'}"


def _variadic(c: Any, e: Call, operands: list[str], dtypes: list[str]) -> str:
    fixed = VARIADIC[e.name]
    parts = []
    for i, (x, d) in enumerate(zip(operands, dtypes, strict=True)):
        wide = d
        if i >= fixed and d != "handle":
            wide = "float64" if dt.is_float(d) else d if dt.bits(d) == 64 else "int32"
        parts.append(f"{c.m.type(wide)} {c.convert(x, d, wide) if wide != d else x}")
    head = ", ".join(["ptr"] * fixed) if e.name != "snprintf" else "ptr, i64, ptr"
    c.m.declared.setdefault(e.name, f"declare i32 @{e.name}({head}, ...) nounwind")
    c.loads.clear()
    made: str = c.op(f"call i32 ({head}, ...) @{e.name}({', '.join(parts)})")
    return made


def _llvm_intrinsic(c: Any, e: Call) -> str:
    """`llvm.name`, overloaded on the result's type as most are."""
    name = e.name if e.name.rsplit(".", 1)[-1] == suffix(e.dtype) else f"{e.name}.{suffix(e.dtype)}"
    kinds = [c.m.type(a.dtype) for a in e.args]
    f = c.m.declare(name, c.m.type(e.dtype), kinds)
    operands = ", ".join(f"{k} {c.value(a)}" for k, a in zip(kinds, e.args, strict=True))
    made: str = c.op(f"call {c.m.type(e.dtype)} {f}({operands})")
    return made


# ---------------------------------------------------------------- Python


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


def _packed(c: Any, e: Call) -> str:
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
        values += [c.op(f"ptrtoint ptr {_access_ptr(c, e)} to i64"), c.i64(c.lin(e.args[2]))]
        return Argument("array", c.places[e.args[0]].dtype, 1)
    if isinstance(e, Call) and e.name == "address_of" and isinstance(e.args[0], Load):
        place, at = c.place(e.args[0].buffer), c.lin(c.index_of(e.args[0].indices, e.args[0].buffer))
        left = _size(c, place.buffer).plus(at, -1)
        values += [c.op(f"ptrtoint ptr {_address_of(c, e)} to i64"), c.i64(left)]
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
    start = _access_ptr(c, Call("access_ptr", (data, offset, offset, mask), "handle", "intrin"))
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
