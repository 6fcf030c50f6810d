"""Calls that are no mathematical function: built-ins, C functions, LLVM's intrinsics."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...core import dtype as dt
from ...core.error import BuildError
from ...core.node import Call
from ...core.text import show
from .intrinsics import per_lane
from .numeric import suffix
from .packed import packed_call
from .pointers import access_ptr, address_of, pointer, prefetch

VARIADIC = {"printf": 1, "snprintf": 3, "fprintf": 2}  # C functions with `...` -> arguments before it
INTRIN: dict[str, Callable[[Any, Call], str]] = {
    "access_ptr": access_ptr, "address_of": address_of, "prefetch": prefetch,
}  # fmt: skip


def emit_call(c: Any, e: Call) -> str:
    if e.kind == "extern":
        return _extern(c, e)
    if e.kind == "packed":
        return packed_call(c, e)
    found = INTRIN.get(e.name)
    if found is not None:
        return found(c, e)
    if e.name.startswith("llvm."):
        return _llvm_intrinsic(c, e)
    raise BuildError(
        "unknown-intrinsic", f"the target llvm has no built-in `{e.name}`", where=[show(e)], legal=sorted(INTRIN)
    )


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
