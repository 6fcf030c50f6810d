"""Calls as C text: mathematical functions, bit counts, bit patterns, pointers, functions of the language itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ...core import affine
from ...core import dtype as dt
from ...core.build import cast
from ...core.intrin import C_FUNCTIONS
from ...core.node import Bin, Call, Cast, Const, Expr, Load, Var
from ...core.text import ATOM
from ..pylike.maths import COMPOSED
from . import lanes

if TYPE_CHECKING:
    from .printer import CPrinter

Printed = tuple[str, int]
TERNARY, UNARY = 0, 11
_LACKING = ("erf", "log1p", "hypot", "nextafter")  # helpers where the language has none, in float32


def call(p: CPrinter, e: Call) -> Printed:
    if e.kind == "extern":
        return _extern(p, e)
    if e.kind == "component":  # of a vector that was read whole (lanes.py)
        return e.name, ATOM
    if e.kind == "packed":
        raise p.refuse(
            e, "packed-call", f"cannot call the Python function `{e.name}` from a kernel",
            legal=["target llvm", "target interp"],
        )  # fmt: skip
    special = SPECIAL.get(e.name)
    if special is not None:
        return special(p, e)
    if dt.is_float(e.args[0].dtype):
        return _of_float(p, e)
    raise _unknown(p, e)


def _unknown(p: CPrinter, e: Call) -> Exception:
    kinds = ", ".join(a.dtype for a in e.args)
    known = sorted({*p.d.functions, *SPECIAL, *COMPOSED})
    return p.refuse(e, "unknown-function", f"has no function `{e.name}` of {kinds}", legal=known)


def _of_float(p: CPrinter, e: Call) -> Printed:
    """Of float16 computed as float32 and rounded; what the language lacks is a helper, or said with others."""
    kind = e.args[0].dtype
    if kind == "float16":
        wide = tuple([cast(a, "float32") if a.dtype == "float16" else a for a in e.args])
        if e.dtype != "float16":
            return p.printed(Call(e.name, wide, e.dtype))
        return p.printed(Cast(Call(e.name, wide, "float32"), "float16"))
    p.type_of(kind, e)
    arguments = [p.value(a) for a in e.args]
    template = p.d.functions.get(f"{e.name}:{kind}") or p.d.functions.get(e.name)
    if template is not None:
        return template.format(*arguments, f="f" if kind == "float32" else ""), ATOM
    if e.name in COMPOSED:
        return p.printed(COMPOSED[e.name](*e.args))
    if e.name in _LACKING and kind == "float32":
        return f"{p.helper(e.name, kind)}({', '.join(arguments)})", ATOM
    raise _unknown(p, e)


# ---------------------------------------------------------------- functions of the IR itself


def _if_then_else(p: CPrinter, e: Call) -> Printed:
    return p.ternary(*e.args)


def _popcount(p: CPrinter, e: Call) -> Printed:
    return p.narrowed(p.d.functions[f"popcount:{_word(e)}"].format(_bits(p, e.args[0])), e.dtype, ATOM)


def _clz(p: CPrinter, e: Call) -> Printed:
    text = f"(int){p.d.functions[f'clz:{_word(e)}'].format(_bits(p, e.args[0]))}"
    unused = max(32, dt.bits(e.args[0].dtype)) - dt.bits(e.args[0].dtype)
    return (f"{text} - {unused}", 9) if unused else (text, UNARY)


def _word(e: Call) -> str:
    return "uint64" if dt.bits(e.args[0].dtype) == 64 else "uint32"


def _bits(p: CPrinter, e: Expr) -> str:
    """The bits of an integer, filled with zeros to a word."""
    text = f"({p.d.types[f'uint{dt.bits(e.dtype)}']}){p.value(e, UNARY)}"
    return text if dt.bits(e.dtype) >= 32 else f"({p.d.types['uint32']}){text}"


def _bitwise_not(p: CPrinter, e: Call) -> Printed:
    text = f"~{p.value(e.args[0], UNARY)}"
    unsigned = not dt.is_signed(e.dtype) and dt.bits(e.dtype) < 32
    return p.narrowed(text, e.dtype, UNARY) if unsigned else (text, UNARY)


def _abs(p: CPrinter, e: Call) -> Printed:
    """Of an integer; the smallest one stays as it is."""
    x = e.args[0]
    if dt.is_float(x.dtype):
        return _of_float(p, Call("fabs", e.args, e.dtype))
    if not dt.is_signed(x.dtype):
        return p.printed(x)
    return p.ternary(Bin("<", x, Const(0, x.dtype), "bool"), Bin("-", Const(0, x.dtype), x, x.dtype), x)


def _reinterpret(p: CPrinter, e: Call) -> Printed:
    """The same bits as another type."""
    x = e.args[0]
    if dt.lanes(x.dtype) != dt.lanes(e.dtype):
        raise p.refuse(e, "reinterpret-lanes", f"cannot take {x.dtype} apart as {e.dtype}")
    if not dt.is_float(x.dtype) and not dt.is_float(e.dtype):
        return f"({p.type_of(e.dtype, e)}){p.value(x, UNARY)}", UNARY
    if "float16" in (x.dtype, e.dtype) and p.d.half == "float":
        return _half_bits(p, e, x)
    exact = f"({p.type_of(x.dtype, e)}){p.value(x, UNARY)}" if dt.bits(x.dtype) < 32 else p.value(x)
    template = p.d.bitcast.get(f"{x.dtype}:{e.dtype}") or p.d.bitcast.get("")
    if template is None:
        raise p.refuse(e, "reinterpret", f"cannot read {x.dtype} as {e.dtype}", legal=sorted(p.d.bitcast))
    return template.format(v=exact, type=p.type_of(e.dtype, e)), ATOM


def _half_bits(p: CPrinter, e: Call, x: Expr) -> Printed:
    if e.dtype == "float16":
        return f"{p.helper('half_of', 'float16')}(({p.d.types['uint16']}){p.value(x, UNARY)})", ATOM
    text = f"{p.helper('half_bits', 'float16')}({p.value(x)})"
    return (text, ATOM) if e.dtype == "uint16" else (f"({p.d.types[e.dtype]}){text}", UNARY)


# ---------------------------------------------------------------- pointers, and what the language calls itself


def _extern(p: CPrinter, e: Call) -> Printed:
    """A function of libm is ours; any other is one that the language has: it is printed as it is written."""
    name = C_FUNCTIONS.get(e.name)
    if name is not None and all(dt.is_float(a.dtype) or dt.is_int(a.dtype) for a in e.args):
        return call(p, Call(name, e.args, e.dtype))
    return f"{e.name}({', '.join([_argument(p, a) for a in e.args])})", ATOM


def _argument(p: CPrinter, a: Expr) -> str:
    if isinstance(a, Const) and a.dtype == "handle":
        raise p.refuse(a, "string-argument", "has no strings in kernels")
    return p.names(a) if isinstance(a, Var) else p.value(a)


def _access_ptr(p: CPrinter, e: Call) -> Printed:
    name, at = p.names(e.args[0]), p.index(e.args[1], 10)
    return (name, ATOM) if at == "0" else (f"{name} + {at}", 9)


def _address_of(p: CPrinter, e: Call) -> Printed:
    at = e.args[0]
    if not isinstance(at, Load):
        raise p.refuse(e, "address", "takes the address of an element of a buffer only")
    return p.pointer(at.buffer, at.indices[0]), 9


def _dot4(p: CPrinter, e: Call) -> Printed:
    """Four products of bytes and a sum that wraps: an instruction where the bytes lie as words, else a helper."""
    if len(e.args) == 3:
        e = lanes.scalar(p, e, Const(0))
    total, a, b = e.args[0], e.args[1:5], e.args[5:]
    kind = {x.dtype for x in (*a, *b)}
    template = p.d.functions.get(f"dot4:{kind.pop()}") if len(kind) == 1 else None
    if template is not None and _word_of(p, a) and _word_of(p, b):
        words = {k: p.pointer(x[0].buffer, x[0].indices[0], lanes=4) for k, x in (("a", a), ("b", b))}  # type: ignore[attr-defined]
        return template.format(c=p.value(total), **words), ATOM
    return f"{p.helper('dot4', 'int32')}({', '.join([p.value(x) for x in (total, *a, *b)])})", ATOM


def _word_of(p: CPrinter, four: tuple[Expr, ...]) -> bool:
    """Are they neighbours in memory, the first where a word may begin?"""
    loads = [x for x in four if type(x) is Load and x.mask is None]
    if len(loads) < len(four) or len({x.buffer.data for x in loads}) > 1 or loads[0].buffer.data not in p.wide:
        return False
    first = affine.lin(loads[0].indices[0])
    steps = [affine.lin(x.indices[0]) - first for x in loads]
    near = all(not x.terms and x.const == k for k, x in enumerate(steps))
    return near and lanes.aligned(loads[0].indices[0], 4)


def _shuffle(p: CPrinter, e: Call) -> Printed:
    """`shuffle_xor(value, mask, width)`"""
    template = p.d.functions.get("shuffle_xor")
    if template is None:
        raise p.refuse(
            e, "shuffle", "exchanges no values among the lanes of a warp", legal=["target cuda_c", "target interp"],
            hint="a reduction over threads needs none: it goes through shared memory",
        )  # fmt: skip
    if dt.bits(e.dtype) not in (32, 64):
        raise p.refuse(e, "shuffle-dtype", f"shuffles values of 32 and 64 bits, not {e.dtype}")
    return template.format(*[p.value(a) for a in e.args]), ATOM


SPECIAL: dict[str, Callable[[CPrinter, Call], Printed]] = {
    "if_then_else": _if_then_else,
    "likely": lambda p, e: p.printed(e.args[0]),
    "popcount": _popcount,
    "clz": _clz,
    "bitwise_not": _bitwise_not,
    "abs": _abs,
    "reinterpret": _reinterpret,
    "q_multiply_shift": lambda p, e: p.printed(COMPOSED["q_multiply_shift"](*e.args)),
    "dot4": _dot4,
    "shuffle_xor": _shuffle,
    "access_ptr": _access_ptr,
    "address_of": _address_of,
}
