"""Passes of release 0.6 on bare statements and expressions: `tvm.ir_pass.Simplify(e)`."""

# ruff: noqa: N802, F401
from __future__ import annotations

from typing import Any

from .arith import Analyzer
from .core.build import to_expr
from .core.node import Expr, Stmt, Var
from .core.walk import free_variables, identical, same
from .core.walk import uses as _uses
from .names import lazy
from .tir.stmt_functor import ir_transform as IRTransform
from .tir.stmt_functor import post_order_visit as PostOrderVisit
from .tir.stmt_functor import substitute as _substitute
from .transform import standard


def Simplify(x: Any, vrange: Any = None) -> Any:
    """A simpler expression or statement. `vrange`: {variable: Range}."""
    if isinstance(x, Stmt):
        return standard("Simplify")(x)
    analyzer = Analyzer()
    for v, r in (vrange or {}).items():
        analyzer.bind(v, r)
    return analyzer.simplify(to_expr(x))


CanonicalSimplify = Simplify


def Substitute(x: Any, vmap: Any) -> Any:
    return _substitute(x, vmap)


def Equal(lhs: Any, rhs: Any) -> bool:
    """The same structure over the same variables."""
    return identical(lhs, rhs) or (isinstance(lhs, Stmt) and same(lhs, rhs))


def ExprUseVar(expr: Expr, var: Var) -> bool:
    return _uses(expr, var)


def VectorizeLoop(stmt: Stmt) -> Stmt:
    return standard("VectorizeLoop")(stmt)


def UnrollLoop(
    stmt: Stmt, auto_max_step: int = 0, auto_max_depth: int = 8, auto_max_extent: int = 0, explicit_unroll: bool = True
) -> Stmt:
    made: Stmt = standard(
        "UnrollLoop", auto_unroll_max_step=auto_max_step, auto_unroll_max_depth=auto_max_depth,
        auto_unroll_max_extent=auto_max_extent,
    )(stmt)  # fmt: skip
    return made


def LoopPartition(stmt: Stmt, split_const_loop: bool = False) -> Stmt:
    return standard("LoopPartition", partition_const_loop=bool(split_const_loop))(stmt)


def InjectVirtualThread(stmt: Stmt) -> Stmt:
    return standard("InjectVirtualThread")(stmt)


def InjectDoubleBuffer(stmt: Stmt, split_loop: int = 1) -> Stmt:
    return standard("InjectDoubleBuffer", split_loop=split_loop)(stmt)


def StorageRewrite(stmt: Stmt) -> Stmt:
    return standard("StorageRewrite")(stmt)


def StorageFlatten(stmt: Stmt, extern_buffer: Any = None, cache_line_size: int = 64) -> Stmt:
    return standard("StorageFlatten")(stmt)


def RemoveNoOp(stmt: Stmt) -> Stmt:
    return standard("RemoveNoOp")(stmt)


def UndefinedVars(stmt: Any, defs: Any = ()) -> list[Var]:
    return [v for v in free_variables(stmt) if v not in list(defs)]


def VerifySSA(stmt: Any) -> bool:
    from .tir.analysis import verify_ssa

    return verify_ssa(stmt)


def SplitHostDevice(func: Any) -> list[Any]:
    """The functions of the host and of the devices: one, since CPU targets have no other."""
    return [func]


def LowerTVMBuiltin(func: Any) -> Any:
    """Nothing to do: targets lower their own built-ins."""
    return func


LowerIntrin = CombineContextCall = BindDeviceType = LowerThreadAllreduce = LowerWarpMemory = InferFragment = (
    LowerTVMBuiltin
)


__getattr__, __dir__ = lazy(
    __name__,
    {},
    dict.fromkeys(("MakeAPI",), "calls are checked before a program runs"),
)
