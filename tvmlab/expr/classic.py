"""The classic classes of nodes over ours: `isinstance(e, tir.Add)`, `tir.Add(a, b)`, `e.condition`.

Our IR has one class for all binary operators; a classic class is a *view*: it recognises the nodes it means and
builds them. Views are not base classes of anything.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core import build
from ..core import dtype as dt
from ..core.calls import call_intrin
from ..core.node import (
    COMPARE,
    KIND_NAMES,
    LOGIC,
    Alloc,
    Attr,
    Bin,
    Broadcast,
    Buffer,
    Call,
    Cast,
    Combiner,
    Const,
    Evaluate,
    Expr,
    For,
    If,
    IterVar,
    Let,
    Load,
    Not,
    Ramp,
    Reduce,
    Select,
    Seq,
    Stmt,
    Store,
    Var,
    While,
)  # fmt: skip
from ..core.walk import seq
from .tensor import Tensor


class View(type):
    """The class of views: `test` says which nodes it means, `make` builds one."""

    test: Callable[[Any], bool]
    make: Callable[..., Any]

    def __instancecheck__(cls, instance: Any) -> bool:
        return bool(cls.test(instance))

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        return cls.make(*args, **kwargs)


def view(name: str, test: Callable[[Any], bool], make: Callable[..., Any], doc: str = "") -> Any:
    return View(name, (), {"test": staticmethod(test), "make": staticmethod(make), "__doc__": doc})


def _operator(name: str, *ops: str) -> Any:
    """The view of binary nodes with one of the operators; the first is built."""

    def make(a: Any, b: Any, span: Any = None) -> Expr:
        op = ops[-1] if len(ops) > 1 and not dt.is_float(build.to_expr(a).dtype) else ops[0]
        x, y = (
            (build.as_bool(a), build.as_bool(b)) if op in LOGIC else build.matched(build.to_expr(a), build.to_expr(b))
        )
        result = dt.vector("bool", dt.lanes(x.dtype)) if op in COMPARE else x.dtype
        return Bin(op, x, y, result)

    return view(name, lambda e: isinstance(e, Bin) and e.op in ops, make, f"`a {ops[0]} b`, not simplified.")


Add, Sub, Mul = _operator("Add", "+"), _operator("Sub", "-"), _operator("Mul", "*")
Div, Mod = _operator("Div", "/", "truncdiv"), _operator("Mod", "truncmod")
FloorDiv, FloorMod = _operator("FloorDiv", "//"), _operator("FloorMod", "%")
Min, Max = _operator("Min", "min"), _operator("Max", "max")
EQ, NE, LT, LE = _operator("EQ", "=="), _operator("NE", "!="), _operator("LT", "<"), _operator("LE", "<=")
GT, GE = _operator("GT", ">"), _operator("GE", ">=")
And, Or = _operator("And", "and"), _operator("Or", "or")

_ARITHMETIC = frozenset({"+", "-", "*", "/", "truncdiv", "truncmod", "//", "%", "min", "max"})
BinaryOpExpr = view("BinaryOpExpr", lambda e: isinstance(e, Bin) and e.op in _ARITHMETIC, Bin)
CmpExpr = view("CmpExpr", lambda e: isinstance(e, Bin) and e.op in COMPARE, Bin)
LogicalExpr = view("LogicalExpr", lambda e: isinstance(e, Not) or (isinstance(e, Bin) and e.op in LOGIC), Bin)


def _number(e: Any, kind: Callable[[str], bool]) -> bool:
    return isinstance(e, Const) and kind(e.dtype)


IntImm = view(
    "IntImm",
    lambda e: _number(e, lambda t: dt.is_int(t) or dt.is_bool(t)),
    lambda dtype, value: build.const(int(value), dtype),
)
FloatImm = view("FloatImm", lambda e: _number(e, dt.is_float), lambda dtype, value: build.const(float(value), dtype))
StringImm = view("StringImm", lambda e: _number(e, "handle".__eq__), lambda value: Const(str(value), "handle"))
ConstExpr = view("ConstExpr", lambda e: isinstance(e, Const), build.const)
SizeVar = view(
    "SizeVar", lambda e: isinstance(e, Var) and e.nonneg, lambda name, dtype="int32", span=None: Var(name, dtype, True)
)
ClassicCast = view("Cast", lambda e: isinstance(e, Cast), lambda dtype, value, span=None: build.cast(value, dtype))
ClassicNot = view("Not", lambda e: isinstance(e, Not), lambda a, span=None: build.not_(a))
ClassicSelect = view(
    "Select",
    lambda e: isinstance(e, Select),
    lambda condition, true_value, false_value, span=None: build.select(condition, true_value, false_value),
    "`true_value` where the condition holds, else `false_value`; both may be evaluated.",
)
ClassicCall = view(
    "Call", lambda e: isinstance(e, Call), lambda dtype, op, args, span=None: call_intrin(dtype, op, *args)
)
ClassicLet = view(
    "Let",
    lambda e: isinstance(e, Let),
    lambda var, value, body, span=None: Let(var, build.to_expr(value), build.to_expr(body)),
)
ClassicRamp = view(
    "Ramp",
    lambda e: isinstance(e, Ramp),
    lambda base, stride, lanes, span=None: Ramp(*build.matched(build.to_expr(base), build.to_expr(stride)), int(lanes)),
)
ClassicBroadcast = view(
    "Broadcast",
    lambda e: isinstance(e, Broadcast),
    lambda value, lanes, span=None: Broadcast(build.to_expr(value), int(lanes)),
)


# ---------------------------------------------------------------- accesses and statements


def _element(source: Any, indices: Any, span: Any = None) -> Expr:
    return source(*indices) if isinstance(source, Tensor) else source[tuple(indices)]


def _store(buffer: Buffer, value: Any, indices: Any, span: Any = None) -> Store:
    return buffer.vstore(list(indices), value)  # type: ignore[attr-defined,no-any-return]


BufferLoad = view("BufferLoad", lambda e: isinstance(e, Load) and isinstance(e.buffer, Buffer), _element)
ProducerLoad = view("ProducerLoad", lambda e: isinstance(e, Load) and isinstance(e.buffer, Tensor), _element)
AnyLoad = view("Load", lambda e: isinstance(e, Load), _element)
BufferStore = view("BufferStore", lambda s: isinstance(s, Store), _store)

FOR_TYPES = {"serial": 0, "parallel": 1, "vectorized": 2, "unrolled": 3}  # release 0.6
KINDS = {0: "serial", 1: "parallel", 2: "vectorized", 3: "unrolled", "vectorize": "vectorized", "unroll": "unrolled"}


def _for(loop_var: Var, min: Any, extent: Any, kind: Any, body: Stmt, *rest: Any, **more: Any) -> For:  # noqa: A002
    return For(loop_var, build.to_expr(min), build.to_expr(extent), KINDS.get(kind, kind), body)


ClassicFor = view("For", lambda s: isinstance(s, For), _for)
IfThenElse = view(
    "IfThenElse",
    lambda s: isinstance(s, If),
    lambda condition, then_case, else_case=None, span=None: If(build.as_bool(condition), then_case, else_case),
)
SeqStmt = view("SeqStmt", lambda s: isinstance(s, Seq), lambda stmts, span=None: seq(*stmts))
AttrStmt = view(
    "AttrStmt",
    lambda s: isinstance(s, Attr),
    lambda node, attr_key, value, body, span=None: Attr(attr_key, node, build.to_expr(value), body),
)
Allocate = view("Allocate", lambda s: isinstance(s, Alloc), lambda buffer, body: Alloc(buffer, body))
ClassicEvaluate = view(
    "Evaluate", lambda s: isinstance(s, Evaluate), lambda value, span=None: Evaluate(build.to_expr(value))
)
ClassicReduce = view(
    "Reduce",
    lambda e: isinstance(e, Reduce),
    lambda combiner, source, axis, condition, value_index, init=(), span=None: Reduce(
        combiner,
        tuple(source),
        tuple(axis),
        build.as_bool(condition),
        value_index,
        tuple(init or ()),
        source[value_index].dtype,
    ),
)


# ---------------------------------------------------------------- classic field names


def _aliases() -> dict[type, dict[str, Callable[[Any], Any]]]:
    return {
        Select: {"condition": lambda e: e.cond, "true_value": lambda e: e.then, "false_value": lambda e: e.other},
        Load: {"producer": lambda e: e.buffer},
        Reduce: {
            "source": lambda e: list(e.sources), "axis": lambda e: list(e.axes), "condition": lambda e: e.cond,
            "value_index": lambda e: e.index,
        },
        Combiner: {"identity_element": lambda c: list(c.identity)},
        Call: {"op": lambda e: OpName(e.name)},
        Ramp: {"lanes": lambda e: e.count},
        Broadcast: {"lanes": lambda e: e.count},
        For: {"loop_var": lambda s: s.var, "min": lambda s: s.lo, "for_type": lambda s: FOR_TYPES.get(s.kind, 0)},
        If: {"condition": lambda s: s.cond, "then_case": lambda s: s.then, "else_case": lambda s: s.other},
        While: {"condition": lambda s: s.cond},
        Seq: {"seq": lambda s: list(s.stmts)},
        Attr: {"attr_key": lambda s: s.key, "node": lambda s: s.about},
        Alloc: {
            "buffer_var": lambda s: s.buffer.data, "extents": lambda s: list(s.buffer.shape),
            "dtype": lambda s: s.buffer.dtype,
        },
    }  # fmt: skip


class OpName(str):
    """`call.op`, of which classic code reads the `name` ("tir.exp")."""

    __slots__ = ()

    @property
    def name(self) -> str:
        return f"tir.{self}"


def install() -> None:
    for number, kind in enumerate(KIND_NAMES):
        setattr(IterVar, kind, number)  # IterVar.Vectorized
    for cls, names in _aliases().items():
        for name, get in names.items():
            setattr(cls, name, property(get))
    members: dict[str, Any] = {
        "__getitem__": lambda s, i: s.stmts[i], "__len__": lambda s: len(s.stmts), "size": property(len),
        "__bool__": lambda s: True,  # an empty one is a statement all the same
    }  # fmt: skip
    for name, member in members.items():
        setattr(Seq, name, member)  # a classic SeqStmt is a sequence


install()
