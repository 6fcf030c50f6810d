"""Tensor expressions, under their classic names: `from tvmlab import te`."""

# ruff: noqa: F401, I001
from __future__ import annotations

from importlib import import_module
from typing import Any

from ..core.build import all_ as all
from ..core.build import any_ as any
from ..core.build import binary, const, if_then_else
from ..core.intrin import (
    abs, acos, acosh, asin, asinh, atan, atan2, atanh, ceil, ceildiv, clz, copysign, cos, cosh, div, dot4, erf, exp,
    exp2, exp10, floor, floordiv, floormod, fmod, hypot, indexdiv, indexmod, infinity, isfinite, isinf, isnan,
    ldexp, likely, log, log1p, log2, log10, max_value, min_value, nearbyint, nextafter, popcount, power,
    reinterpret, round, rsqrt, sigmoid, sin, sinh, sqrt, tan, tanh, trunc, truncdiv, truncmod,
)  # fmt: skip
from ..core.node import IterVar, Range, Var
from ..expr import classic as _classic  # gives nodes their classic field names
from ..expr import encode as _encode  # makes tensors and operations savable
from ..expr.buffer import decl_buffer
from ..expr.extern import ExternOp, extern
from ..expr.intrin import (
    TensorComputeOp, TensorIntrin, TensorIntrinCall, decl_tensor_intrin, get_intrin, register_intrin,
)  # fmt: skip
from ..expr.reduce import comm_reducer, max, min, prod, reduce_axis, sum
from ..expr.scalar import AXIS_SEPARATOR, size_var, thread_axis, var
from ..expr.scan import ScanOp, scan
from ..expr.tensor import ComputeOp, Operation, PlaceholderOp, Tensor, TensorSlice, compute, placeholder, tag_scope
from ..names import missing

# schedules are above expressions: loaded on first use
_LATER = {"create_schedule": "tvmlab.face.api", "Schedule": "tvmlab.face.api", "Stage": "tvmlab.face.handle",
          "create_prim_func": "tvmlab.face.api"}  # fmt: skip
_ABSENT = {
    "SpecializedCondition": "there is one schedule per shape here",
    "trace": "to look at values while a program runs, register a function that prints and call it with tir.call_packed",
    "hybrid": "write the loops with te.extern and tir.ir_builder, or the computation with te.compute",
    "gradient": "write the gradient as te.compute expressions",
    "extern_primfunc": "there is no TensorIR here: te.extern takes a statement built with tir.ir_builder",
}


def add(a: Any, b: Any) -> Any:
    """`a + b`"""
    return binary("+", a, b)


def subtract(a: Any, b: Any) -> Any:
    """`a - b`"""
    return binary("-", a, b)


def multiply(a: Any, b: Any) -> Any:
    """`a * b`"""
    return binary("*", a, b)


_NOT_OURS = ("annotations", "Any", "import_module", "binary", "missing")
__all__ = [name for name in globals() if not name.startswith("_") and name not in _NOT_OURS]


def __getattr__(name: str) -> Any:
    if name == "schedule":
        return import_module("tvmlab.face.introspect")
    if name in ("tensor", "operation", "tag", "tensor_intrin"):  # where the classic sources define the names
        return import_module(__name__)
    if name in _LATER:
        value = getattr(import_module(_LATER[name]), name)
        globals()[name] = value
        return value
    raise missing("te", name, [*__all__, *_LATER], _ABSENT)


def __dir__() -> list[str]:
    return sorted({*__all__, *_LATER})
