"""Calls as Python text: mathematical functions, packed functions and their pointers, C functions of libm."""

from __future__ import annotations

from collections.abc import Sequence

from ...core import dtype as dt
from ...core.intrin import C_FUNCTIONS
from ...core.node import Call, Const, Expr, Load, Var
from . import maths
from .writer import Place, Writer

SILENT = frozenset({"prefetch"})  # touch memory ahead of its use: no meaning of their own


def call(w: Writer, e: Call) -> str:
    if e.kind == "packed":
        args = "".join(f"{argument(w, a)}, " for a in e.args)
        return w.atom(f"R.call_packed({e.name!r}, ({args}), {e.dtype!r})")
    if e.kind == "extern":
        return _extern(w, e)
    if e.name in SILENT:
        return "0"
    return mathematical(w, e, e.name)


def mathematical(w: Writer, e: Call, name: str) -> str:
    sources = tuple(a.dtype for a in e.args)
    f = maths.function(name, e.dtype, sources)
    if f is None:
        raise w.refuse(
            "unknown-function", f"the interpreter has no function `{name}` on {', '.join(sources)}", sorted(maths.NAMES)
        )
    if dt.is_float(e.dtype):
        w.block.flops += dt.lanes(e.dtype)
    args = ", ".join([w.value(a) for a in e.args])
    return w.atom(f"{w.constant(f, ('call', name, e.dtype, sources))}({args})")


def _extern(w: Writer, e: Call) -> str:
    name = C_FUNCTIONS.get(e.name)
    if name is not None:
        return mathematical(w, e, name)
    raise w.refuse(
        "extern-call",
        f"the interpreter cannot run the C function `{e.name}`",
        ["a packed function (call_packed)", "a function of libm, such as expf"],
        "to run this program, choose a target that links C",
    )


# ---------------------------------------------------------------- arguments of packed functions


def argument(w: Writer, e: Expr) -> str:
    """Numbers and strings as they are, pointers as arrays on the memory they point to."""
    if isinstance(e, Var) and e.dtype == "handle":
        p = _pointed(w, e)
        return f"R.whole({p.record}, {w.at(p.buffer)}, {p.version})"
    if isinstance(e, Call) and e.name == "access_ptr":
        data, offset, extent, mask, *region = e.args
        p = _pointed(w, data)
        rights = mask.value if isinstance(mask, Const) else 3
        part = f", {_block(w, region)}" if region else ""
        head = f"{p.record}, {w.index(offset)}, {w.index(extent)}, {rights}, {w.at(p.buffer)}, {p.version}"
        return f"R.pointer({head}{part})"
    if isinstance(e, Call) and e.name == "array_view":
        data, offset, mask, _, *numbers = e.args
        p = _pointed(w, data)
        rights = f"{mask.value}, {w.at(p.buffer)}, {p.version}"  # type: ignore[attr-defined]
        return f"R.view({p.record}, {w.index(offset)}, {_block(w, numbers)}, {rights})"
    if isinstance(e, Call) and e.name == "address_of" and isinstance(e.args[0], Load):
        return _address_of(w, e.args[0])
    return f"float({w.value(e)})" if dt.is_float(e.dtype) else w.value(e)


def _block(w: Writer, numbers: Sequence[Expr]) -> str:
    """`(shape), (strides)`"""
    n = len(numbers) // 2
    return ", ".join(f"({''.join(f'{w.index(x)}, ' for x in part)})" for part in (numbers[:n], numbers[n:]))


def _address_of(w: Writer, e: Load) -> str:
    """The memory from that element to its end; how much of it the function touches is not known."""
    p = w.place(e.buffer)
    at = "".join(f"{w.index(i)}, " for i in e.indices)
    start = w.atom(f"{p.record}.address(({at}))")
    return f"R.pointer({p.record}, {start}, {p.record}.size - {start}, 2, {w.at(p.buffer)}, {p.version})"


def _pointed(w: Writer, e: Expr) -> Place:
    found = w.places.get(e) if isinstance(e, Var) else None
    if found is None:
        raise w.refuse("unknown-pointer", f"`{e!r}` is not the data of a buffer in scope")
    return found
