"""Names of release 0.6, and values that only the classic face has: `convert`, `build_config`, ranges, containers."""

from __future__ import annotations

import collections.abc
from dataclasses import replace
from typing import Any

from .core.build import to_expr
from .core.error import MissingName
from .core.node import KIND_NAMES, Expr, Var
from .core.node import IterVar as _IterVar
from .core.node import Range as _Range
from .core.program import Function, Program
from .expr.attrs import convert
from .expr.classic import IntImm as IntImm
from .expr.classic import view
from .expr.reduce import as_range
from .expr.scalar import size_var

PrimExpr = Expr
shape_var = size_var  # its name for a few weeks of 2020


def _range(begin: Any, end: Any = None, span: Any = None) -> _Range:
    return as_range(begin if end is None else (begin, end))


Range = view("Range", lambda x: isinstance(x, _Range), _range, "The integers from `begin` to `end` (exclusive).")
Range.from_min_extent = Range.make_by_min_extent = staticmethod(
    lambda lo, n, span=None: _Range(to_expr(lo), to_expr(n))
)


def _iter_var(dom: Any, var: Any = "i", iter_type: int = 0, thread_tag: str = "", span: Any = None) -> _IterVar:
    domain = None if dom is None else as_range(dom)
    dtype = "int32" if domain is None else domain.extent.dtype
    return _IterVar(domain, Var(var, dtype) if isinstance(var, str) else var, iter_type, thread_tag)


IterVar = view("IterVar", lambda x: isinstance(x, _IterVar), _iter_var, "An axis from its parts.")
for _number, _name in enumerate(KIND_NAMES):
    setattr(IterVar, _name, _number)

Map = view("Map", lambda x: isinstance(x, collections.abc.Mapping), dict, "A mapping: a Python dict.")
Array = view("Array", lambda x: isinstance(x, (list, tuple)), list, "A sequence: a Python list or tuple.")


def _module(functions: Any = None, **more: Any) -> Program:
    table = dict(functions or {})
    for f in table.values():
        if not isinstance(f, Function):
            raise TypeError(f"an IRModule is made of lowered functions, not of {f!r}")
    return Program(tuple(replace(f, name=str(name)) for name, f in table.items()))


IRModule = view("IRModule", lambda x: isinstance(x, Program), _module, "A lowered program.")


# ---------------------------------------------------------------- expressions


def select(condition: Any, true_value: Any, false_value: Any) -> Expr:
    """Release 0.6's tir.Select."""
    from .core.build import select as make

    made: Expr = make(condition, true_value, false_value)
    return made


as_const = convert


# ---------------------------------------------------------------- options


def build_config(**options: Any) -> Any:
    """Release 0.6's options, for a `with` block: those of `transform.PassContext` under their old names."""
    from .transform import context_of

    return context_of(options)


BuildConfig = build_config


def decl_tensor_intrin(op: Any, fcompute: Any, name: str = "tensor_intrin", binds: Any = None, **more: Any) -> Any:
    """te.decl_tensor_intrin, whose default buffers follow the options of `build_config` in force."""
    from .expr.intrin import decl_tensor_intrin as declare
    from .face.api import current_config

    config = current_config()
    asked = {"offset_factor": config.offset_factor, "data_alignment": config.data_alignment}
    params = {k: v for k, v in asked.items() if v > 0} | dict(more.pop("default_buffer_params", None) or {})
    return declare(op, fcompute, name, binds, default_buffer_params=params or None, **more)


def decl_buffer(*args: Any, **options: Any) -> Any:
    """tir.decl_buffer, with the `offset_factor` and `data_alignment` of the `build_config` in force."""
    from .expr.buffer import decl_buffer as declare
    from .face.api import current_config

    config = current_config()
    if config.offset_factor > 0:
        options.setdefault("offset_factor", config.offset_factor)
    if config.data_alignment > 0:
        options.setdefault("data_alignment", config.data_alignment)
    return declare(*args, **options)


def schedule_to_module(sch: Any, args: Any = None, name: str = "main", binds: Any = None) -> Program:
    """The loop nest of a schedule before any pass (`tvm.driver.build_module.schedule_to_module`)."""
    from .lowering import pipeline

    return pipeline.loops(sch.state, args or [], name, binds)


# ---------------------------------------------------------------- what does not exist


def _no_lowering(name: str) -> Any:
    def refuse(*args: Any, **more: Any) -> Any:
        raise MissingName(
            "no-intrinsic-rules",
            f"tvm.{name} does not exist in tvmlab: each target has its own functions",
            hint="call a C function with call_pure_extern, or a Python function with call_packed",
        )

    refuse.__name__ = name
    return refuse


register_intrin_rule = _no_lowering("register_intrin_rule")
register_intrin_lowering = _no_lowering("register_intrin_lowering")
register_extension = _no_lowering("register_extension")
