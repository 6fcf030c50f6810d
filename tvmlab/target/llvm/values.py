"""Expressions as LLVM IR: arithmetic, comparisons, casts, selections; scalars and vectors alike.

Integers wrap. Floats round at each operation, except that a product and a sum may be fused (`Module.fp`).
`min(a, b)` is `a < b ? a : b`, so a NaN gives b.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...core import dtype as dt
from ...core.build import wrap
from ...core.error import BuildError
from ...core.node import (
    COMPARE,
    LOGIC,
    Bin,
    Broadcast,
    Call,
    Cast,
    Const,
    Expr,
    Let,
    Load,
    Not,
    Ramp,
    Reduce,
    Select,
    Var,
)  # fmt: skip
from ...core.walk import walk
from . import half
from .builder import integers
from .index import Lin
from .intrinsics import emit_pure
from .memory import Memory

INT = {"+": "add", "-": "sub", "*": "mul", "&": "and", "|": "or", "^": "xor"}
FLOAT = {"+": "fadd", "-": "fsub", "*": "fmul", "/": "fdiv"}
SIGNED = {"<": "slt", "<=": "sle", ">": "sgt", ">=": "sge", "==": "eq", "!=": "ne"}
UNSIGNED = {"<": "ult", "<=": "ule", ">": "ugt", ">=": "uge", "==": "eq", "!=": "ne"}
ORDERED = {"<": "olt", "<=": "ole", ">": "ogt", ">=": "oge", "==": "oeq", "!=": "une"}


class Values(Memory):
    """Adds expressions. `value(e)` gives the operand: an SSA name or a constant's text."""

    def value(self, e: Expr) -> str:
        return VALUE[type(e)](self, e)

    def operand(self, lin: Lin, dtype: str) -> str:
        """An index as a value of an integer type: the low bits."""
        x = self.i64(lin)
        bits = dt.bits(dtype)
        if bits == 64:
            return x
        if not lin.terms:
            return str(wrap(lin.const, f"int{bits}"))
        return self.once(("low", x, bits), f"trunc i64 {x} to i{bits}")

    # ------------------------------------------------------------ arithmetic

    def binary(self, op: str, dtype: str, a: str, b: str) -> str:
        """`a op b` where both operands have type `dtype`; a comparison gives a bool."""
        t = self.m.type(dtype)
        if op in ("min", "max"):
            c = self.compare("<" if op == "min" else ">", dtype, a, b)
            return self.op(f"select {self.bools(dtype)} {c}, {t} {a}, {t} {b}")
        if dt.is_float(dtype):
            return self._float(op, dtype, a, b)
        if op in INT:
            return self.op(f"{INT[op]} {t} {a}, {b}")
        if op in ("<<", ">>"):
            return self._shift(op, dtype, a, b)
        return self._divide_values(op, dtype, a, b)

    def compare(self, op: str, dtype: str, a: str, b: str) -> str:
        t = self.m.type(dtype)
        if dt.is_float(dtype):
            return self.op(f"fcmp {ORDERED[op]} {t} {a}, {b}")
        table = SIGNED if dt.is_signed(dtype) else UNSIGNED
        return self.op(f"icmp {table[op]} {t} {a}, {b}")

    def bools(self, dtype: str) -> str:
        """The type of what comparing values of `dtype` gives."""
        return self.m.type(dt.vector("bool", dt.lanes(dtype)))

    def _float(self, op: str, dtype: str, a: str, b: str) -> str:
        t = self.m.type(dtype)
        if op in FLOAT:
            flags = "" if op == "/" else self.m.fp
            return half.rounded(self, dtype, self.op(f"{FLOAT[op]} {flags}{t} {a}, {b}"))
        return self._float_divide(op, dtype, a, b)

    def _float_divide(self, op: str, dtype: str, a: str, b: str) -> str:
        """`//`, `%` and their truncating forms on floats, from the quotient rounded to an integer."""
        from .intrinsics import unary

        if op == "truncmod":
            return emit_pure(self, "fmod", dtype, [a, b], [dtype, dtype])
        q = self.binary("/", dtype, a, b)
        whole = unary(self, "floor" if op in ("//", "%") else "trunc", dtype, q)
        if op != "%":
            return whole
        r = emit_pure(self, "fmod", dtype, [a, b], [dtype, dtype])
        t, zero = self.m.type(dtype), self.constant(0.0, dtype)
        signs = self.op(f"fcmp olt {t} {self.op(f'fmul {t} {r}, {b}')}, {zero}")
        moved = self.op(f"fadd {t} {r}, {b}")
        return self.op(f"select {self.bools(dtype)} {signs}, {t} {moved}, {t} {r}")

    def _shift(self, op: str, dtype: str, a: str, b: str) -> str:
        """Shifting by the width or more gives 0 (or the sign), not an undefined value."""
        t, bits = self.m.type(dtype), dt.bits(dtype)
        how = "shl" if op == "<<" else "ashr" if dt.is_signed(dtype) else "lshr"
        if b[0] != "%":
            return self.op(f"{how} {t} {a}, {b}")
        bools = self.bools(dtype)
        fits = self.op(f"icmp ult {t} {b}, {self.constant(bits, dtype)}")
        if how == "ashr":
            b = self.op(f"select {bools} {fits}, {t} {b}, {t} {self.constant(bits - 1, dtype)}")
            return self.op(f"ashr {t} {a}, {b}")
        b = self.op(f"select {bools} {fits}, {t} {b}, {t} {self.constant(0, dtype)}")
        moved = self.op(f"{how} {t} {a}, {b}")
        return self.op(f"select {bools} {fits}, {t} {moved}, {t} {self.constant(0, dtype)}")

    def _divide_values(self, op: str, dtype: str, a: str, b: str) -> str:
        """Integer division. Dividing by zero gives 0 and `min / -1` wraps; neither may stop the process."""
        t, bools = self.m.type(dtype), self.bools(dtype)
        quotient, signed = op in ("//", "truncdiv"), dt.is_signed(dtype)
        zero, one = self.constant(0, dtype), self.constant(1, dtype)
        known = _safe_divisor(b)
        divisor = b
        if not known:
            none = self.op(f"icmp eq {t} {b}, {zero}")
            bad = none
            if signed:
                minus = self.op(f"icmp eq {t} {b}, {self.constant(-1, dtype)}")
                bad = self.op(f"or {bools} {none}, {minus}")
            divisor = self.op(f"select {bools} {bad}, {t} {one}, {t} {b}")
        if not signed:
            r = self.op(f"{'udiv' if quotient else 'urem'} {t} {a}, {divisor}")
        elif op in ("truncdiv", "truncmod"):
            r = self.op(f"{'sdiv' if quotient else 'srem'} {t} {a}, {divisor}")
        else:
            r = self._floor_divide(t, bools, a, divisor, quotient, zero)
        if known:
            return r
        if signed and quotient:
            negated = self.op(f"sub {t} {zero}, {a}")
            r = self.op(f"select {bools} {minus}, {t} {negated}, {t} {r}")
        return self.op(f"select {bools} {none}, {t} {zero}, {t} {r}")

    def _floor_divide(self, t: str, bools: str, a: str, b: str, quotient: bool, zero: str) -> str:
        r = self.op(f"srem {t} {a}, {b}")
        differs = self.op(f"icmp slt {t} {self.op(f'xor {t} {r}, {b}')}, {zero}")
        off = self.op(f"and {bools} {self.op(f'icmp ne {t} {r}, {zero}')}, {differs}")
        if not quotient:
            return self.op(f"add {t} {r}, {self.op(f'select {bools} {off}, {t} {b}, {t} {zero}')}")
        return self.op(f"add {t} {self.op(f'sdiv {t} {a}, {b}')}, {self.op(f'sext {bools} {off} to {t}')}")

    # ------------------------------------------------------------ conversions

    def convert(self, x: str, source: str, target: str) -> str:
        """`x` from one dtype to another of as many lanes."""
        a, b = dt.element(source), dt.element(target)
        if a == b or (a == "handle" and b == "handle"):
            return x
        if a == "float16" or b == "float16":
            return half.convert(self, x, source, target)
        s, t = self.m.type(source), self.m.type(target)
        if b == "bool":
            return self.compare("!=", source, x, self.constant(0, source))
        if dt.is_float(a):
            return self._from_float(x, source, target)
        if dt.is_float(b):
            return self.op(f"{'sitofp' if dt.is_signed(a) else 'uitofp'} {s} {x} to {t}")
        if a == "bool":
            return self.op(f"zext {s} {x} to {t}")
        if "handle" in (a, b):
            return self.op(f"{'inttoptr' if b == 'handle' else 'ptrtoint'} {s} {x} to {t}")
        if dt.bits(a) == dt.bits(b):
            return x
        how = "trunc" if dt.bits(a) > dt.bits(b) else "sext" if dt.is_signed(a) else "zext"
        return self.op(f"{how} {s} {x} to {t}")

    def _from_float(self, x: str, source: str, target: str) -> str:
        s, b, n = self.m.type(source), dt.element(target), dt.lanes(target)
        if dt.is_float(b):
            how = "fpext" if dt.bits(b) > dt.bits(source) else "fptrunc"
            return self.op(f"{how} {s} {x} to {self.m.type(target)}")
        if b == "uint64":
            return self.op(f"fptoui {s} {x} to {self.m.type(target)}")
        wide = "int64" if b in ("uint32", "int64") else "int32"  # as C does on common machines
        made = self.op(f"fptosi {s} {x} to {self.m.type(dt.vector(wide, n))}")
        return self.convert(made, dt.vector(wide, n), target)

    # ------------------------------------------------------------ choices

    def lazily(self, cond: str, then: Callable[[], str], other: Callable[[], str], t: str) -> str:
        """A value computed on one of two paths."""
        yes, no, end = self.label("then"), self.label("else"), self.label("end")
        self.branch(cond, yes, no)
        a, after_a = self.inside(yes, then, end)
        b, after_b = self.inside(no, other, end)
        self.start(end)
        return self.op(f"phi {t} [ {a}, %{after_a} ], [ {b}, %{after_b} ]")

    def inside(self, label: str, body: Callable[[], str], end: str) -> tuple[str, str]:
        self.start(label)
        self.scopes.append({})
        made = body()
        self.scopes.pop()
        last = self.at
        self.jump(end)
        return made, last


def _safe_divisor(operand: str) -> bool:
    """A constant (each lane of it) by which any integer may be divided."""
    if operand[0] == "%" or operand == "zeroinitializer":
        return False
    return not {"0", "-1"} & {lane.split()[-1] for lane in operand.strip("<>").split(",")}


def needs_care(e: Expr) -> bool:
    """May evaluating `e` where its guard does not hold do harm, or cost much?"""
    return any(type(x) is Load or (type(x) is Call and x.name != "likely") for x in walk(e))


def _var(c: Values, e: Var) -> str:
    bound = c.env.get(e)
    if bound is None:
        raise BuildError("unbound-variable", f"the variable `{e.name}` is used where it has no value", where=[repr(e)])
    return c.operand(bound, e.dtype) if type(bound) is Lin else bound


def _bin(c: Values, e: Bin) -> str:
    op, a, b = e.op, e.a, e.b
    if op in LOGIC:
        return _logic(c, e)
    if op in COMPARE:
        if dt.element(a.dtype) in ("int32", "int64") and c.is_index(a) and c.is_index(b):
            return _compare_indices(c, e) if dt.lanes(a.dtype) == 1 else _compare_ramps(c, e)
        return c.compare(op, a.dtype, c.value(a), c.value(b))
    return c.binary(op, e.dtype, c.value(a), c.value(b))


def _holds(op: str, d: int) -> bool:
    """Is `d op 0`?"""
    return {"<": d < 0, "<=": d <= 0, ">": d > 0, ">=": d >= 0, "==": d == 0, "!=": d != 0}[op]


def _compare_ramps(c: Values, e: Bin) -> str:
    """A mask such as `[i*16:i*16 + 16] < n`: lane*stride against one number, computed once where it is visible."""
    a, b, n = c.ramp(e.a), c.ramp(e.b), dt.lanes(e.dtype)
    if a is None or b is None:
        return c.compare(e.op, e.a.dtype, c.value(e.a), c.value(e.b))
    base, stride = a[0].plus(b[0], -1), a[1] - b[1]
    if not base.terms:
        lanes = [_holds(e.op, base.const + stride * i) for i in range(n)]
        if len(set(lanes)) == 1:
            return c.splat("i1", "true" if lanes[0] else "false", n)
        return f"<{', '.join('i1 true' if x else 'i1 false' for x in lanes)}>"
    element = dt.element(e.a.dtype)
    t, limit = c.m.type(element), c.operand(base.scaled(-1), element)
    key = ("mask", e.op, stride, n, element, limit)
    found = c.known(key)
    if found is None:
        steps = integers(t, range(0, n * stride, stride)) if stride else "zeroinitializer"
        found = c.once(key, f"icmp {SIGNED[e.op]} {c.m.type(e.a.dtype)} {steps}, {c.splat(t, limit, n)}")
    return found


def _compare_indices(c: Values, e: Bin) -> str:
    difference = c.lin(e.a).plus(c.lin(e.b), -1)
    if not difference.terms:
        return "true" if _holds(e.op, difference.const) else "false"
    x, y = c.i64(c.lin(e.a)), c.i64(c.lin(e.b))
    return c.once(("cmp", e.op, x, y), f"icmp {SIGNED[e.op]} i64 {x}, {y}")


def _logic(c: Values, e: Bin) -> str:
    t, stop = c.m.type(e.dtype), e.op == "or"
    a = c.value(e.a)
    if a in ("true", "false"):
        return a if (a == "true") == stop else c.value(e.b)
    if dt.lanes(e.dtype) == 1 and any(type(x) is Load for x in walk(e.b)):
        if stop:
            return c.lazily(a, lambda: "true", lambda: c.value(e.b), "i1")
        return c.lazily(a, lambda: c.value(e.b), lambda: "false", "i1")
    b = c.value(e.b)
    if b in ("true", "false"):
        return b if (b == "true") == stop else a
    return c.op(f"{e.op} {t} {a}, {b}")


def _not(c: Values, e: Not) -> str:
    a = c.value(e.a)
    if a in ("true", "false"):
        return "false" if a == "true" else "true"
    return c.op(f"xor {c.m.type(e.dtype)} {a}, {c.constant(True, e.dtype)}")


def _select(c: Values, e: Select | Call) -> str:
    cond, then, other = (e.cond, e.then, e.other) if type(e) is Select else e.args  # type: ignore[union-attr]
    k = c.value(cond)
    if k in ("true", "false"):
        return c.value(then if k == "true" else other)
    a, b = c.value(then), c.value(other)
    return c.op(f"select {c.m.type(cond.dtype)} {k}, {c.m.type(e.dtype)} {a}, {c.m.type(e.dtype)} {b}")


def _call(c: Values, e: Call) -> str:
    if e.name == "likely":
        return c.value(e.args[0])
    if e.name == "if_then_else":
        cond, then, other = e.args
        if dt.lanes(cond.dtype) > 1 or not (needs_care(then) or needs_care(other)):
            return _select(c, e)
        k = c.value(cond)
        if k in ("true", "false"):
            return c.value(then if k == "true" else other)
        return c.lazily(k, lambda: c.value(then), lambda: c.value(other), c.m.type(e.dtype))
    if e.kind == "pure":
        return emit_pure(c, e.name, e.dtype, [c.value(a) for a in e.args], [a.dtype for a in e.args])
    from .calls import emit_call

    return emit_call(c, e)


def _ramp(c: Values, e: Ramp) -> str:
    t, n, element = c.m.type(e.dtype), e.count, dt.element(e.dtype)
    scalar = c.m.type(element)
    base = c.splat(scalar, c.value(e.base), n)
    if type(e.stride) is Const:
        steps = integers(scalar, [i * int(e.stride.value) for i in range(n)])
        return steps if base == "zeroinitializer" else c.op(f"add {t} {base}, {steps}")
    steps = c.op(f"mul {t} {c.splat(scalar, c.value(e.stride), n)}, {integers(scalar, range(n))}")
    return c.op(f"add {t} {base}, {steps}")


def _let(c: Values, e: Let) -> str:
    c.bind(e.var, e.value)  # type: ignore[arg-type]
    return c.value(e.body)


def _reduce(c: Values, e: Reduce) -> str:
    raise BuildError(
        "reduce-left", "a reduction reached the code generator, it has to be lowered first", where=[repr(e)]
    )


VALUE: dict[type, Callable[[Any, Any], str]] = {
    Var: _var,
    Const: lambda c, e: c.constant(e.value, e.dtype),
    Bin: _bin,
    Not: _not,
    Cast: lambda c, e: c.convert(c.value(e.value), e.value.dtype, e.dtype),
    Select: _select,
    Call: _call,
    Load: lambda c, e: c.load(e),
    Ramp: _ramp,
    Broadcast: lambda c, e: c.splat(c.m.type(dt.element(e.dtype)), c.value(e.value), e.count),
    Let: _let,
    Reduce: _reduce,
}
