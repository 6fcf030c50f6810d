"""Index arithmetic: an index is a constant plus multiples of 64-bit values, `3 + 64*%i + %j`.

Kept symbolic until an address is needed, so that in an unrolled loop every address is a common base plus a constant.
By contract of the loop IR index arithmetic does not overflow, so it is done in 64 bits whatever the variables' type.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...core import dtype as dt
from ...core.build import FOLD
from ...core.node import Bin, Broadcast, Call, Cast, Const, Expr, Ramp, Select, Var
from .builder import Code, integers


@dataclass(frozen=True, slots=True)
class Lin:
    """`const + sum(coef * value)`; `terms` are sorted by the value's name, none has coefficient zero."""

    const: int
    terms: tuple[tuple[str, int], ...] = ()

    def scaled(self, k: int) -> Lin:
        return Lin(self.const * k, tuple([(s, c * k) for s, c in self.terms]) if k else ())

    def plus(self, other: Lin, k: int = 1) -> Lin:
        if not other.terms:
            return Lin(self.const + k * other.const, self.terms)
        if not self.terms and not self.const:
            return other if k == 1 else other.scaled(k)
        sums = dict(self.terms)
        for s, c in other.terms:
            sums[s] = sums.get(s, 0) + k * c
        return Lin(self.const + k * other.const, tuple(sorted([x for x in sums.items() if x[1]])))

    @property
    def divisor(self) -> int:
        """The largest power of two (up to 64) that divides it whatever the values are."""
        together = 64 | self.const
        for _, c in self.terms:
            together |= c
        return together & -together


SIGNED = ("int32", "int64")
INDEX_OPS = frozenset({"+", "-", "*", "//", "%", "min", "max", "truncdiv", "truncmod"})


class Indexing(Code):
    """Adds index arithmetic. `env` binds a variable to a Lin (loops, lets of index arithmetic) or an operand."""

    env: dict[Var, Any]

    def value(self, e: Expr) -> str:
        raise NotImplementedError

    # ------------------------------------------------------------ scalars

    def lin(self, e: Expr) -> Lin:
        """The index `e` as a Lin; what is not linear is computed and becomes a term."""
        kind = type(e)
        if kind is Const:
            return Lin(int(e.value))  # type: ignore[attr-defined]
        if kind is Var:
            bound = self.env[e]  # type: ignore[index]
            return bound if type(bound) is Lin else self.widened(bound, e.dtype)
        if kind is Bin and e.dtype in SIGNED:
            return self._bin(e)  # type: ignore[arg-type]
        if kind is Cast and e.dtype in SIGNED and e.value.dtype in SIGNED:  # type: ignore[attr-defined]
            return self.lin(e.value)  # type: ignore[attr-defined]
        if kind is Select and e.dtype in SIGNED:
            return self._select(e)  # type: ignore[arg-type]
        if kind is Call and e.name == "likely":  # type: ignore[attr-defined]
            return self.lin(e.args[0])  # type: ignore[attr-defined]
        return self.widened(self.value(e), e.dtype)

    def is_index(self, e: Expr) -> bool:
        """Made of loop variables, sizes and constants only: it does not overflow, so 64 bits are as good as 32."""
        kind = type(e)
        if kind is Var:
            return type(self.env.get(e)) is Lin  # type: ignore[call-overload]
        if kind is Bin:
            return e.op in INDEX_OPS and self.is_index(e.a) and self.is_index(e.b)  # type: ignore[attr-defined]
        if kind is Ramp:
            return self.is_index(e.base) and self.is_index(e.stride)  # type: ignore[attr-defined]
        if kind is Broadcast:
            return self.is_index(e.value)  # type: ignore[attr-defined]
        return kind is Const

    def term(self, operand: str, nonneg: bool = False) -> Lin:
        if operand[0] != "%":
            return Lin(int(operand))
        if nonneg:
            self.nonneg.add(operand)
        return Lin(0, ((operand, 1),))

    def widened(self, operand: str, dtype: str) -> Lin:
        """A value of an integer type as a 64-bit index."""
        if dtype == "bool":
            if operand in ("true", "false"):
                return Lin(int(operand == "true"))
            return self.term(self.once(("ext", operand), f"zext i1 {operand} to i64"), True)
        if operand[0] != "%":
            return Lin(int(operand))
        if dt.bits(dtype) == 64:
            return self.term(operand)
        signed = dt.is_signed(dtype)
        how = "sext" if signed else "zext"
        return self.term(self.once(("ext", operand), f"{how} i{dt.bits(dtype)} {operand} to i64"), not signed)

    def _bin(self, e: Bin) -> Lin:
        op = e.op
        if op == "+":
            return self.lin(e.a).plus(self.lin(e.b))
        if op == "-":
            return self.lin(e.a).plus(self.lin(e.b), -1)
        if op not in ("*", "//", "%", "min", "max", "truncdiv", "truncmod"):
            return self.widened(self.value(e), e.dtype)
        a, b = self.lin(e.a), self.lin(e.b)
        if not a.terms and not b.terms and not (b.const == 0 and op not in ("*", "min", "max")):
            return Lin(FOLD[op](a.const, b.const))
        if op == "*":
            return self._times(a, b)
        if op in ("min", "max"):
            return self._pick(op, a, b)
        return self._divide(op, a, b)

    def _times(self, a: Lin, b: Lin) -> Lin:
        if not b.terms:
            return a.scaled(b.const)
        if not a.terms:
            return b.scaled(a.const)
        x, y = self.i64(a), self.i64(b)
        nonneg = self.is_nonneg(a) and self.is_nonneg(b)
        return self.term(self.once(("*", x, y), f"mul nsw i64 {x}, {y}"), nonneg)

    def _pick(self, op: str, a: Lin, b: Lin) -> Lin:
        difference = a.plus(b, -1)
        if not difference.terms:
            return a if (difference.const <= 0) == (op == "min") else b
        x, y = self.i64(a), self.i64(b)
        nonneg = (any if op == "max" else all)((self.is_nonneg(a), self.is_nonneg(b)))
        f = self.m.declare(f"llvm.s{op}.i64", "i64", ["i64", "i64"])
        return self.term(self.once((op, x, y), f"call i64 {f}(i64 {x}, i64 {y})"), nonneg)

    def _divide(self, op: str, a: Lin, b: Lin) -> Lin:
        """Division and remainder by `b`. Terms that are multiples of a constant divisor are taken out first."""
        if b.terms or b.const <= 0:
            return self._divide_slow(op, a, b)
        d, floor = b.const, op in ("//", "%")
        if floor or self.is_nonneg(a):
            outside = Lin(a.const // d * d, tuple([t for t in a.terms if t[1] % d == 0]))
            inside = a.plus(outside, -1)
            if not inside.terms:
                quotient = Lin(inside.const // d)
                return _exact(outside, d).plus(quotient) if op in ("//", "truncdiv") else Lin(inside.const % d)
            if floor or self.is_nonneg(inside):
                q = self._quotient(inside, d, "sdiv" if self.is_nonneg(inside) else "floor")
                if op in ("//", "truncdiv"):
                    return _exact(outside, d).plus(q)
                return self._remainder(inside, d, q)
        q = self._quotient(a, d, "sdiv")
        return q if op == "truncdiv" else a.plus(q, -d)

    def _quotient(self, a: Lin, d: int, how: str) -> Lin:
        x, nonneg = self.i64(a), self.is_nonneg(a)
        if d & (d - 1) == 0 and how == "floor" or nonneg and d & (d - 1) == 0:
            shift = d.bit_length() - 1
            kind = "lshr" if nonneg else "ashr"
            return self.term(self.once(("//", x, d), f"{kind} i64 {x}, {shift}"), nonneg)
        if nonneg:
            return self.term(self.once(("//", x, d), f"udiv i64 {x}, {d}"), True)
        if how == "sdiv":
            return self.term(self.once(("sdiv", x, d), f"sdiv i64 {x}, {d}"))
        found = self.known(("//", x, d))
        if found is None:
            q, r = self.op(f"sdiv i64 {x}, {d}"), self.op(f"srem i64 {x}, {d}")
            found = self.op(f"add nsw i64 {q}, {self.op(f'ashr i64 {r}, 63')}")
            self.scopes[-1][("//", x, d)] = found
        return self.term(found)

    def _remainder(self, a: Lin, d: int, quotient: Lin) -> Lin:
        x = self.i64(a)
        if d & (d - 1) == 0:
            return self.term(self.once(("%", x, d), f"and i64 {x}, {d - 1}"), True)
        if self.is_nonneg(a):
            return self.term(self.once(("%", x, d), f"urem i64 {x}, {d}"), True)
        left = a.plus(quotient, -d)
        return self.term(self.i64(left), True)

    def _divide_slow(self, op: str, a: Lin, b: Lin) -> Lin:
        """By a value that is not known. A zero divisor would stop the process: the result is 0."""
        x, y = self.i64(a), self.i64(b)
        nonneg = self.is_nonneg(a) and self.is_nonneg(b)
        key = (op, x, y)
        found = self.known(key)
        if found is not None:
            return self.term(found, nonneg)
        nothing = self.op(f"icmp eq i64 {y}, 0")
        y = self.op(f"select i1 {nothing}, i64 1, i64 {y}")
        quotient = op in ("//", "truncdiv")
        if nonneg:
            found = self.op(f"{'udiv' if quotient else 'urem'} i64 {x}, {y}")
        elif op in ("truncdiv", "truncmod"):
            found = self.op(f"{'sdiv' if quotient else 'srem'} i64 {x}, {y}")
        else:
            q, r = self.op(f"sdiv i64 {x}, {y}"), self.op(f"srem i64 {x}, {y}")
            differs = self.op(f"icmp slt i64 {self.op(f'xor i64 {r}, {y}')}, 0")
            off = self.op(f"and i1 {self.op(f'icmp ne i64 {r}, 0')}, {differs}")
            if quotient:
                found = self.op(f"sub nsw i64 {q}, {self.op(f'zext i1 {off} to i64')}")
            else:
                found = self.op(f"add nsw i64 {r}, {self.op(f'select i1 {off}, i64 {y}, i64 0')}")
        if quotient:
            found = self.op(f"select i1 {nothing}, i64 0, i64 {found}")
        self.scopes[-1][key] = found
        return self.term(found, nonneg)

    def _select(self, e: Select) -> Lin:
        c = self.value(e.cond)
        if c in ("true", "false"):
            return self.lin(e.then if c == "true" else e.other)
        a, b = self.lin(e.then), self.lin(e.other)
        x, y = self.i64(a), self.i64(b)
        nonneg = self.is_nonneg(a) and self.is_nonneg(b)
        return self.term(self.op(f"select i1 {c}, i64 {x}, i64 {y}"), nonneg)

    def is_nonneg(self, a: Lin) -> bool:
        return a.const >= 0 and all(c > 0 and s in self.nonneg for s, c in a.terms)

    def i64(self, a: Lin) -> str:
        """The operand of the number: sums from the oldest value on, so that partial sums are shared."""
        if not a.terms:
            return str(a.const)
        if a.const == 0 and len(a.terms) == 1 and a.terms[0][1] == 1:
            return a.terms[0][0]
        done: tuple[Any, ...] = ()
        total = ""
        for s, c in sorted(a.terms, key=_age):
            x = s if c == 1 else self.once(("*", s, c), f"mul nsw i64 {s}, {c}")
            done += ((s, c),)
            total = x if not total else self.once(("sum", done), f"add nsw i64 {total}, {x}")
        if a.const:
            total = self.once(("sum", done, a.const), f"add nsw i64 {total}, {a.const}")
        return total

    # ------------------------------------------------------------ vectors

    def ramp(self, e: Expr) -> tuple[Lin, int] | None:
        """(base, stride) when the vector index `e` is `base + stride*lane` with a constant stride."""
        kind = type(e)
        if kind is Ramp:
            stride = self.lin(e.stride)  # type: ignore[attr-defined]
            return None if stride.terms else (self.lin(e.base), stride.const)  # type: ignore[attr-defined]
        if kind is Broadcast:
            return self.lin(e.value), 0  # type: ignore[attr-defined]
        if kind is Cast and dt.element(e.dtype) in SIGNED and dt.element(e.value.dtype) in SIGNED:  # type: ignore[attr-defined]
            return self.ramp(e.value)  # type: ignore[attr-defined]
        if kind is Bin and e.op in ("+", "-", "*") and dt.element(e.dtype) in SIGNED:  # type: ignore[attr-defined]
            a, b = self.ramp(e.a), self.ramp(e.b)  # type: ignore[attr-defined]
            return None if a is None or b is None else _combine(e.op, a, b)  # type: ignore[attr-defined]
        return None

    def index_vector(self, e: Expr) -> str:
        """The vector index `e` as a vector of i64."""
        n = dt.lanes(e.dtype)
        straight = self.ramp(e)
        if straight is not None:
            base, stride = straight
            start = self.splat("i64", self.i64(base), n)
            if stride == 0:
                return start
            steps = integers("i64", range(0, n * stride, stride))
            return self.op(f"add nsw <{n} x i64> {start}, {steps}") if start != "zeroinitializer" else steps
        if type(e) is Ramp:
            steps = self.op(
                f"mul nsw <{n} x i64> {self.splat('i64', self.i64(self.lin(e.stride)), n)}, {integers('i64', range(n))}"
            )
            return self.op(f"add nsw <{n} x i64> {self.splat('i64', self.i64(self.lin(e.base)), n)}, {steps}")
        if type(e) is Bin and e.op in ("+", "-", "*") and dt.element(e.dtype) in SIGNED:
            how = {"+": "add", "-": "sub", "*": "mul"}[e.op]
            return self.op(f"{how} nsw <{n} x i64> {self.index_vector(e.a)}, {self.index_vector(e.b)}")
        x = self.value(e)
        if dt.bits(e.dtype) == 64:
            return x
        how = "sext" if dt.is_signed(e.dtype) else "zext"
        return self.op(f"{how} {self.m.type(e.dtype)} {x} to <{n} x i64>")


def _combine(op: str, a: tuple[Lin, int], b: tuple[Lin, int]) -> tuple[Lin, int] | None:
    if op == "*":
        for x, y in ((a, b), (b, a)):
            if y[1] == 0 and not y[0].terms:
                return x[0].scaled(y[0].const), x[1] * y[0].const
        return None
    sign = 1 if op == "+" else -1
    return a[0].plus(b[0], sign), a[1] + sign * b[1]


def _exact(a: Lin, d: int) -> Lin:
    return Lin(a.const // d, tuple([(s, c // d) for s, c in a.terms]))


def _age(term: tuple[str, int]) -> int:
    name = term[0]
    return int(name[2:]) if name[1] == "v" and name[2:].isdigit() else 0
