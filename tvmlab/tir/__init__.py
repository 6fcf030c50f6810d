"""Nodes, built-in functions, buffers and the statement builder, under their classic names: `from tvmlab import tir`."""

# ruff: noqa: F401, I001
from __future__ import annotations

from importlib import import_module
from typing import Any

from ..core.build import all_ as all
from ..core.build import any_ as any
from ..core.build import cast, const, if_then_else
from ..core.calls import (
    address_of, call_extern, call_intrin, call_llvm_intrin, call_llvm_pure_intrin, call_packed, call_pure_extern,
    call_pure_intrin,
)  # fmt: skip
from ..core.intrin import (
    abs, acos, acosh, asin, asinh, atan, atan2, atanh, bitwise_and, bitwise_not, bitwise_or, bitwise_xor, ceil,
    ceildiv, clz, copysign, cos, cosh, div, dot4, erf, exp, exp2, exp10, fabs, floor, floordiv, floormod, fmod,
    hypot, indexdiv, indexmod, infinity, isfinite, isinf, isnan, ldexp, likely, log, log1p, log2, log10, max_value,
    min_value, nearbyint, nextafter, popcount, pow, power, q_multiply_shift, q_multiply_shift_per_axis, reinterpret,
    round, rsqrt, shift_left, shift_right, sigmoid, sin, sinh, sqrt, tan, tanh, trunc, truncdiv, truncmod,
)  # fmt: skip
from ..core.node import Buffer, LetStmt, Stmt, Var, While
from ..core.node import Combiner as CommReducer
from ..core.node import Expr as PrimExpr
from ..expr import ir_builder
from ..expr.buffer import decl_buffer
from ..expr.classic import (
    EQ, GE, GT, LE, LT, NE, Add, Allocate, And, AttrStmt, BinaryOpExpr, BufferLoad, BufferStore, CmpExpr, ConstExpr,
    Div, FloatImm, FloorDiv, FloorMod, IfThenElse, IntImm, LogicalExpr, Max, Min, Mod, Mul, Or, ProducerLoad, SeqStmt,
    SizeVar, StringImm, Sub,
)  # fmt: skip
from ..expr.classic import AnyLoad as Load
from ..expr.classic import ClassicBroadcast as Broadcast
from ..expr.classic import ClassicCall as Call
from ..expr.classic import ClassicCast as Cast
from ..expr.classic import ClassicEvaluate as Evaluate
from ..expr.classic import ClassicFor as For
from ..expr.classic import ClassicLet as Let
from ..expr.classic import ClassicNot as Not
from ..expr.classic import ClassicRamp as Ramp
from ..expr.classic import ClassicReduce as Reduce
from ..expr.classic import ClassicSelect as Select
from ..expr.reduce import comm_reducer, max, min, sum
from ..expr.scalar import AXIS_SEPARATOR
from ..names import missing

_ABSENT = dict.fromkeys(
    ("Schedule", "PrimFunc", "Block", "BlockRealize", "IndexMap", "TensorIntrin", "StmtSRef", "BlockScope"),
    "there is no TensorIR here: a program is scheduled through te.create_schedule",
)
__all__ = [
    name
    for name in globals()
    if not name.startswith("_") and name not in ("annotations", "Any", "missing", "import_module")
]


_MODULES = ("transform", "stmt_functor", "analysis")


class ForKind:
    """Kinds of loops, as `tir.For` takes them."""

    SERIAL, PARALLEL, VECTORIZED, UNROLLED, THREAD_BINDING = "serial", "parallel", "vectorized", "unrolled", "thread"


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"{__name__}.{name}")
    if name in ("stmt", "expr", "op", "function", "buffer"):  # where the classic sources define the names
        return import_module(__name__)
    if name in ("IterVar", "Range"):
        return getattr(import_module("tvmlab.classic"), name)
    raise missing("tir", name, __all__, _ABSENT)


def __dir__() -> list[str]:
    return sorted(__all__)
