"""Calls by name: mathematical functions, built-ins, C symbols, registered Python functions, LLVM intrinsics.

    call_intrin("float32", "tir.exp", x)             the same as exp(x)
    call_extern("int32", "my_gemv", ptr, n)          a C symbol; a target that cannot link it refuses by name
    call_packed("my.function", A, 3)                 a registered Python function; a buffer arrives as an array
"""

from __future__ import annotations

import re
from collections.abc import Callable
from difflib import get_close_matches
from typing import Any

from . import dtype as dt
from . import intrin
from .build import binary, cast, if_then_else, to_expr
from .error import ExpressionError
from .node import Barrier, Buffer, Call, Const, Evaluate, Expr, Stmt
from .walk import replace

# built-ins with an effect or a meaning of their own: (name, what it takes)
BUILTINS: dict[str, str] = {
    "access_ptr": "(data, offset, extent, mask[, *shape, *strides]): the address of an element of a buffer's memory; "
    "shape and strides say which of the `extent` elements it is for",
    "array_view": "(data, offset, mask, ndim, *shape, *strides): a part of a buffer, as an array for a packed function",
    "address_of": "(element): the address of one element",
    "prefetch": "(address): ask the cache for a line, a hint",
    "storage_sync": "(scope): all threads of the scope wait for each other",
    "isnullptr": "(handle): is the pointer null",
    "fill_fragment": "(fragment, m, n, k, tile, value): every element of a tile of tensor cores (core/fragments.py)",
    "load_matrix_sync": "(fragment, m, n, k, tile, address, stride, layout): a tile from memory",
    "mma_sync": "(d, tile, a, tile, b, tile, c, tile): d = a x b + c, of tiles",
    "store_matrix_sync": "(fragment, m, n, k, tile, address, stride, layout): a tile to memory",
    "shuffle_xor": "(value, mask, width): the value that lane `lane ^ mask` of the warp has, all of whose lanes come "
    "here together. mask and width are numbers, 0 < mask < width, width a power of two up to 32",
}

# built-ins that stand for memory handed to a call: where their mask is (1: it is read, 2: it is written)
POINTERS = {"access_ptr": 3, "array_view": 2}


def pointed(e: Any, bit: int) -> list[Any]:
    """The handles of memory that a call gets by pointers. `bit` of their masks: 1, it may be read; 2, written."""
    pointers = [(a, a.args[POINTERS[a.name]]) for a in e.args if type(a) is Call and a.name in POINTERS]
    return [p.args[0] for p, mask in pointers if not isinstance(mask, Const) or mask.value & bit]


# other spellings -> how the call is built
_FUNCTIONS: dict[str, Callable[..., Expr]] = {
    "abs": intrin.abs, "power": intrin.power, "pow": intrin.power, "shift_left": intrin.shift_left,
    "shift_right": intrin.shift_right, "bitwise_and": intrin.bitwise_and, "bitwise_or": intrin.bitwise_or,
    "bitwise_xor": intrin.bitwise_xor, "bitwise_not": intrin.bitwise_not,
    "q_multiply_shift": intrin.q_multiply_shift, "dot4": intrin.dot4,
    "q_multiply_shift_per_axis": intrin.q_multiply_shift_per_axis, "if_then_else": if_then_else,
    "likely": intrin.likely,
    "tvm_if_then_else": if_then_else, "floor": intrin.floor, "ceil": intrin.ceil, "trunc": intrin.trunc,
    "round": intrin.round, "nearbyint": intrin.nearbyint, "fabs": intrin.abs, "floordiv": intrin.floordiv,
    "floormod": intrin.floormod, "indexdiv": intrin.indexdiv, "indexmod": intrin.indexmod,
}  # fmt: skip


def _bare(name: str) -> str:
    """`tir.exp`, `tvm_access_ptr` -> exp, access_ptr"""
    name = name.removeprefix("tir.")
    short = name.removeprefix("tvm_")
    return short if short in BUILTINS else name


def argument(value: Any) -> Expr:
    """An argument of a call: a buffer stands for its memory, a string is one."""
    if isinstance(value, Buffer):
        return value.data
    return Const(value, "handle") if isinstance(value, str) else to_expr(value)


def call_intrin(dtype: str, name: Any, *args: Any) -> Expr:
    """Call of a mathematical function or a built-in, which must exist."""
    bare = _bare(getattr(name, "name", name))
    dtype = dt.canonical(dtype)
    if bare in _FUNCTIONS:
        made = _FUNCTIONS[bare](*args)
        return made if made.dtype == dtype else cast(made, dtype)
    if bare == "reinterpret":
        return intrin.reinterpret(dtype, *args)
    values = tuple(argument(a) for a in args)
    if bare in intrin.PURE:
        _check_count(bare, len(values), intrin.PURE[bare].arity)
        return Call(bare, values, dtype)
    if bare in BUILTINS:
        return Call(bare, _pointer_arguments(bare, values), dtype, "intrin")
    known = sorted({*intrin.PURE, *_FUNCTIONS, *BUILTINS})
    raise ExpressionError(
        "unknown-intrinsic",
        f"there is no intrinsic `{bare}`",
        legal=get_close_matches(bare, known, n=4) or known,
        hint="a C function is called with call_extern, a registered Python function with call_packed",
    )


def _check_count(name: str, have: int, want: int) -> None:
    if have != want:
        raise ExpressionError("argument-count", f"{name} takes {want} argument{'s' * (want != 1)}, not {have}")


def _pointer_arguments(name: str, values: tuple[Expr, ...]) -> tuple[Expr, ...]:
    """The classic tvm_access_ptr has a type in front of (data, offset, extent, mask)."""
    if name == "access_ptr" and len(values) == 5:
        return values[1:]
    if name == "access_ptr":
        _check_count(name, len(values), 4)
    return values


call_pure_intrin = call_intrin


def call_extern(dtype: str, name: str, *args: Any) -> Expr:
    """Call of a C symbol. `dtype`: what it returns."""
    return Call(name, tuple(argument(a) for a in args), dt.canonical(dtype), "extern")


def call_pure_extern(dtype: str, name: str, *args: Any) -> Expr:
    """Like `call_extern`, of a function without effects. The C names of PURE functions (`expf`, `__expf`) are those."""
    bare = intrin.C_FUNCTIONS.get(name.removeprefix("__"))
    if bare is None or bare == "ldexp" or len(args) != intrin.PURE[bare].arity or not dt.is_float(dtype):
        return call_extern(dtype, name, *args)
    return Call(bare, tuple(cast(a, dtype) for a in args), dt.canonical(dtype))


def call_packed(name: str, *args: Any) -> Expr:
    """Call of a function registered with register_func: buffers arrive as NumPy arrays, the rest as numbers."""
    return Call(name, tuple(argument(a) for a in args), "int32", "packed")


# ---------------------------------------------------------------- LLVM's names

_LLVM: dict[str, tuple[int, Callable[..., Expr]]] = {
    **{
        name: (intrin.PURE[name].arity, lambda *a, name=name: Call(name, a, a[0].dtype))
        for name in "exp exp2 exp10 log log2 log10 sqrt sin cos tan fabs pow copysign".split()
    },
    "floor": (1, intrin.floor),
    "ceil": (1, intrin.ceil),
    "trunc": (1, intrin.trunc),
    "round": (1, intrin.round),
    "nearbyint": (1, intrin.nearbyint),
    "rint": (1, intrin.nearbyint),
    "fma": (3, lambda a, b, c: binary("+", binary("*", a, b), c)),
    "fmuladd": (3, lambda a, b, c: binary("+", binary("*", a, b), c)),
    "minnum": (2, lambda a, b: binary("min", a, b)),
    "maxnum": (2, lambda a, b: binary("max", a, b)),
    "smin": (2, lambda a, b: binary("min", a, b)),
    "smax": (2, lambda a, b: binary("max", a, b)),
    "umin": (2, lambda a, b: binary("min", a, b)),
    "umax": (2, lambda a, b: binary("max", a, b)),
    "abs": (1, intrin.abs),
    "ctpop": (1, intrin.popcount),
    "ctlz": (1, intrin.clz),
}
_LLVM_TYPE = re.compile(r"\.(v\d+)?(f16|f32|f64|i8|i16|i32|i64)$")


def call_llvm_pure_intrin(dtype: str, name: str, *args: Any) -> Expr:
    """Call of an LLVM intrinsic by its name (`llvm.exp`); those with a meaning on every target are accepted.

    The classic first argument, the number of signature arguments, may be there or not. `llvm.fma` is `a*b + c`: fused
    where the target fuses.
    """
    bare = _LLVM_TYPE.sub("", str(name)).removeprefix("llvm.")
    if bare not in _LLVM:
        raise ExpressionError(
            "unknown-llvm-intrinsic",
            f"cannot call the LLVM intrinsic `{name}`: only those that every target has a counterpart of are known",
            legal=sorted(f"llvm.{n}" for n in _LLVM),
        )
    arity, build = _LLVM[bare]
    values = [to_expr(a) for a in args]
    if len(values) > arity and isinstance(values[0], Const) and dt.is_int(values[0].dtype):
        values = values[1:]  # the number of signature arguments
    if bare in ("ctlz", "abs"):
        values = values[:1]  # LLVM's flag: is the result for 0 (for the least integer) undefined
    _check_count(f"llvm.{bare}", len(values), arity)
    return cast(build(*values), dtype)


call_llvm_intrin = call_llvm_pure_intrin


def address_of(element: Any) -> Expr:
    """The address of an element of a buffer."""
    return Call("address_of", (to_expr(element),), "handle", "intrin")


def as_stmt(value: Any) -> Stmt | None:
    """A statement as it is; a call as a statement of its own, whose result nobody uses; None for anything else."""
    if isinstance(value, Stmt):
        return value
    if not isinstance(value, Expr):
        return None
    if isinstance(value, Call) and value.name == "storage_sync" and isinstance(value.args[0], Const):
        return Barrier(value.args[0].value)
    if isinstance(value, Call) and value.kind == "packed":
        value = replace(value, dtype="handle")  # so that a function may return what it likes
    return Evaluate(value)
