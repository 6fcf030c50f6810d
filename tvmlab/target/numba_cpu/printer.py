"""Prints a function's body for Numba: plain Python for scalars, the prelude's vocabulary for vectors.

b = load16(B, k*32)
acc_0 = fma(splat16(at(A, k*14)), b, acc_0)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...core import dtype as dt
from ...core.node import (
    Alloc,
    Bin,
    Broadcast,
    Buffer,
    Call,
    Cast,
    Const,
    Expr,
    For,
    Let,
    Load,
    Node,
    Not,
    Ramp,
    Select,
    Seq,
    Stmt,
    Store,
    Var,
)  # fmt: skip
from ...core.text import ATOM, PRECEDENCE
from ...core.walk import constant, walk
from ..pylike import EXPR, UNARY, Printed, PyPrinter, libm_name, pure_index
from ..pylike.maths import COMPOSED, HELPERS, MATH
from .expand import Place, place, registers, written_first
from .share import Shared
from .text import OPERATORS, pieces

LLVM_HAS = {
    "sqrt": "sqrt", "fabs": "fabs", "abs": "fabs", "floor": "floor", "ceil": "ceil", "trunc": "trunc",
    "nearbyint": "nearbyint", "round": "round",
}  # fmt: skip
POLYNOMIALS = {"exp": "vec_exp", "tanh": "vec_tanh"}  # what has vectors of its own; the rest is called lane by lane
DIVISIONS = {"//": "floor_divide", "%": "floor_modulo", "truncdiv": "trunc_divide", "truncmod": "trunc_modulo"}
SHIFTS = {"<<": "shl", ">>": "ashr"}
SHARE_FROM = 4  # statements in a row, from which on equal parts get a name


def lanes_like(value: Expr, index: Expr) -> Expr:
    """A number that is stored to many elements is stored to each."""
    count = dt.lanes(index.dtype)
    return value if dt.lanes(value.dtype) == count else Broadcast(value, count)


def has_vectors(n: Node) -> bool:
    return any(isinstance(x, Expr) and dt.lanes(x.dtype) > 1 for x in walk(n))


class NumbaPrinter(PyPrinter):
    """`direct`: elements are read without the test for negative subscripts, which costs a hot loop a fifth.
    `contract`: a product and a sum may round once."""

    target = "numba"

    def __init__(self, direct: bool, contract: bool = True, buffers: tuple[Any, ...] = ()) -> None:
        super().__init__((*pieces(), "types", "cgutils", "intrinsic"), buffers)
        self.direct, self.contract = direct, contract
        self.made: dict[str, str] = {}
        self.registers: dict[Buffer, dict[Place, str]] = {}
        self.shared: Shared | None = None
        self.parallel = False

    # ------------------------------------------------------------ names

    def fresh(self, base: str) -> str:
        """A name that nothing else has."""
        return self.names(Var(base))

    def make(self, name: str, factory: str, argument: str) -> str:
        """The name of what a factory of the prelude makes: `load16` is `loader(16)`."""
        text = f"{factory}({argument})"
        found = next((k for k, v in self.made.items() if v == text), None)
        if found is None:
            self.made[found := self.fresh(name)] = text
        self.helpers.add(factory)
        if argument in pieces():
            self.helpers.add(argument)
        return found

    def caster(self, dtype: str) -> str:
        dtype = "float32" if dtype == "float16" else dtype
        return self.make(f"as_{dtype}", "caster", f"types.{'boolean' if dtype == 'bool' else dtype}")

    def operator(self) -> None:
        self.helpers.add(OPERATORS)

    # ------------------------------------------------------------ expressions

    def loose(self, e: Expr, level: int = 0) -> str:
        name = self.named(e, "value", lambda: self.loose(e))
        if name is not None:
            return name
        if dt.lanes(e.dtype) == 1:
            return super().loose(e, level)
        text, own = VECTOR[type(e)](self, e)
        return f"({text})" if own < level else text

    def index(self, e: Expr, level: int = 0) -> str:
        name = self.named(e, "index", lambda: self.index(e)) if isinstance(e, Bin) else None
        return super().index(e, level) if name is None else name

    def named(self, e: Expr, context: str, text: Callable[[], str]) -> str | None:
        """The variable that holds this value, if the statements around share it; emits its assignment on first use."""
        s = self.shared
        number = None if s is None else s.number(e)
        if s is None or number is None:
            return None
        found = s.names.get((number, context))
        if found is not None or self.lazy or (number, context) in s.busy:
            return found
        s.busy.add((number, context))
        made = text()
        s.busy.discard((number, context))
        s.names[number, context] = name = self.fresh(s.title(e, context))
        self.emit(f"{name} = {made}")
        return name

    def wide(self, e: Expr, level: int = 0) -> str:
        """A vector of indices: int64 lanes."""
        if isinstance(e, Ramp):
            return (
                f"{self.make(f'ramp{e.count}', 'ramper', str(e.count))}({self.index(e.base)}, {self.index(e.stride)})"
            )
        if isinstance(e, Broadcast):
            inner = self.index(e.value)
            inner = inner if isinstance(e.value, Const) else f"np.int64({inner})"  # a parameter may be narrower
            return f"{self.make(f'splat{e.count}', 'splatter', str(e.count))}({inner})"
        if isinstance(e, Cast) and dt.is_int(e.value.dtype):
            return self.wide(e.value, level)
        if isinstance(e, Bin) and dt.is_int(e.dtype):
            text, own = vector_binary(self, e, self.wide)
            return f"({text})" if own < level else text
        return f"{self.caster('int64')}({self.loose(e)})"

    def rounded(self, text: str, dtype: str) -> str:
        return f"{self.helper('half')}({text})" if dt.element(dtype) == "float16" else text

    def reinterpret(self, e: Call) -> str:
        source, target = e.args[0], dt.element(e.dtype)
        text = self.typed(source)
        if dt.element(source.dtype) == "float16":
            text = f"{self.helper('to_half')}({text})"
        if target == "float16":
            if dt.element(source.dtype) != "uint16":
                text = f"{self.make('bits_as_uint16', 'reinterpreter', 'types.uint16')}({text})"
            return f"{self.helper('from_half')}({text})"
        lanes = dt.lanes(e.dtype)
        if lanes != dt.lanes(source.dtype):
            name = f"bits_as_{target}" + (f"x{lanes}" if lanes > 1 else "")
            return f"{self.make(name, 'reinterpreter', f'types.{target}, {lanes}')}({text})"
        return f"{self.make(f'bits_as_{target}', 'reinterpreter', f'types.{target}')}({text})"

    # ------------------------------------------------------------ memory

    def register(self, b: Any, index: Expr) -> str | None:
        pieces = self.registers.get(b)
        found = place(index) if pieces is not None else None
        return None if pieces is None or found is None else pieces[found]

    def load(self, e: Load) -> str:
        b, i = e.buffer, e.indices[0]
        held = self.register(b, i)
        if held is not None:
            return held
        text = f"{self.helper('at')}({self.array(b)}, {self.index(i)})" if self.direct else self.element(b, i)
        if e.mask is not None:
            zero = self.number(0, b.dtype if b.dtype != "float16" else "float32")
            text = f"({text} if {self.lazily(e.mask, 1)} else {zero})"
        return f"{self.helper('from_half')}({text})" if b.dtype == "float16" else text

    def store(self, s: Store) -> None:
        held = self.register(s.buffer, s.indices[0])
        if held is not None:
            self.assign(held, s)
        elif dt.lanes(s.value.dtype) > 1 or dt.lanes(s.indices[0].dtype) > 1:
            self.emit(self.vector_store(s))
        elif s.mask is not None:
            self.emit(f"if {self.condition(s.mask)}:")
            self.depth += 1
            self.scalar_store(s)
            self.depth -= 1
        else:
            self.scalar_store(s)

    def scalar_store(self, s: Store) -> None:
        if not self.direct:
            return super().store(s)
        self.emit(f"{self.helper('put')}({self.array(s.buffer)}, {self.index(s.indices[0])}, {self.stored(s.value)})")

    def assign(self, name: str, s: Store) -> None:
        v = s.value
        again = (
            isinstance(v, Bin)
            and v.op in "+*"
            and isinstance(v.a, Load)
            and self.register(v.a.buffer, v.a.indices[0]) == name
        )
        if again and dt.is_float(v.dtype) and dt.lanes(v.dtype) == 1 and v.dtype != "float16":
            self.emit(f"{name} {v.op}= {self.loose(v.b)}")  # type: ignore[attr-defined]
        else:
            self.emit(f"{name} = {self.typed(lanes_like(v, s.indices[0]))}")

    def stored(self, v: Expr) -> str:
        return f"{self.helper('to_half')}({self.loose(v)})" if dt.element(v.dtype) == "float16" else self.loose(v)

    def vector_store(self, s: Store) -> str:
        name, index, value = self.array(s.buffer), s.indices[0], self.stored(lanes_like(s.value, s.indices[0]))
        masked = "" if s.mask is None else "_masked"
        tail = "" if s.mask is None else f", {self.loose(s.mask)}"
        if isinstance(index, Ramp) and constant(index.stride) == 1:
            return f"{self.helper('store' + masked)}({name}, {self.index(index.base)}, {value}{tail})"
        return f"{self.helper('scatter' + masked)}({name}, {self.wide(index)}, {value}{tail})"

    def vector_load(self, e: Load) -> str:
        name, index = self.array(e.buffer), e.indices[0]
        masked = "" if e.mask is None else "_masked"
        tail = "" if e.mask is None else f", {self.loose(e.mask)}"
        if not (isinstance(index, Ramp) and constant(index.stride) == 1):
            return f"{self.helper('gather' + masked)}({name}, {self.wide(index)}{tail})"
        base = self.index(index.base)
        if e.mask is None:
            return f"{self.make(f'load{index.count}', 'loader', str(index.count))}({name}, {base})"
        return f"{self.helper('load_masked')}({name}, {base}{tail})"

    def prefetch(self, pointer: Expr) -> None:
        """Of an element in memory; a register is near enough."""
        element = pointer.args[0] if isinstance(pointer, Call) and pointer.name == "address_of" else pointer
        if isinstance(element, Load) and element.buffer not in self.registers:
            i = element.indices[0]
            at = self.index(i.base if isinstance(i, Ramp) else i)
            self.emit(f"{self.helper('prefetch')}({self.array(element.buffer)}, {at})")

    def alloc(self, s: Alloc) -> None:
        pieces = registers(s)
        if pieces is not None:
            self.registers[s.buffer] = {
                p: self.fresh(f"{s.buffer.name}_{n}" if len(pieces) > 1 else s.buffer.name)
                for n, p in enumerate(pieces)
            }
            self.first_values(s)
            return self.stmt(s.body)
        if not self.direct:
            return super().alloc(s)
        b = s.buffer
        size = " * ".join(self.index(x, 10) for x in b.shape) or "1"
        self.emit(f"{self.names(b)} = {self.helper('empty_aligned')}({size}, {self.memory_type(b.dtype)})")
        self.stmt(s.body)

    def first_values(self, s: Alloc) -> None:
        """Numba wants a variable assigned on every path: those that a branch or loop writes first start at zero."""
        pieces = self.registers[s.buffer]
        done = written_first(s.body, s.buffer)
        for p in pieces:
            if p not in done:
                zero: Expr = Const(0.0 if dt.is_float(s.buffer.dtype) else 0, s.buffer.dtype)
                self.emit(f"{pieces[p]} = {self.typed(zero if p[1] == 1 else Broadcast(zero, p[1]))}")

    # ------------------------------------------------------------ statements

    def range_name(self, s: For) -> str:
        if s.kind != "parallel":
            return super().range_name(s)
        self.parallel = True
        return "prange"

    def block(self, s: Stmt) -> None:
        kept, self.shared = self.shared, None
        super().block(s)
        self.shared = kept

    def stmt(self, s: Stmt) -> None:
        if not isinstance(s, Seq):
            return super().stmt(s)
        run: list[Store] = []
        for x in s.stmts:
            if isinstance(x, Store):
                run.append(x)
            else:
                self.stores(run)
                run = []
                self.stmt(x)
        self.stores(run)

    def stores(self, run: list[Store]) -> None:
        """Stores in a row; values that several of them use get a name."""
        if len(run) < SHARE_FROM:
            for s in run:
                super().stmt(s)
            return
        self.shared = Shared(run, lambda b, i: self.register(b, i) is not None)
        for n, s in enumerate(run):
            self.shared.at(n)
            super().stmt(s)
        self.shared = None


# ---------------------------------------------------------------- vectors, by type


def vector_binary(p: NumbaPrinter, e: Bin, operand: Callable[[Expr, int], str]) -> Printed:
    if dt.is_float(e.a.dtype):
        if e.op in ("//", "%", "truncdiv", "truncmod"):
            return _float_division(p, e)
        if e.op == "+" and p.contract and (found := _product(p, e)) is not None:
            return found
    elif e.op in DIVISIONS:
        return f"{p.helper(DIVISIONS[e.op])}({operand(e.a, 0)}, {operand(e.b, 0)})", ATOM
    if e.op in ("min", "max"):
        return f"{p.helper({'min': 'minimum', 'max': 'maximum'}[e.op])}({operand(e.a, 0)}, {operand(e.b, 0)})", ATOM
    if e.op in SHIFTS and not (isinstance(e.b, Broadcast) and isinstance(e.b.value, Const)):
        method = SHIFTS[e.op] if e.op == "<<" or dt.is_signed(e.dtype) else "lshr"
        shift = p.make(f"shift_{method}", "shifter", f'"{method}"')
        return f"{shift}({operand(e.a, 0)}, {operand(e.b, 0)})", ATOM
    p.operator()
    op = {"and": "&", "or": "|"}.get(e.op, e.op)
    level = PRECEDENCE[op]
    return f"{operand(e.a, level + (level == 4))} {op} {operand(e.b, level + 1)}", level


def _product(p: NumbaPrinter, e: Bin) -> Printed | None:
    """a + b*c in one operation; float16 rounds in between."""
    if dt.element(e.dtype) == "float16":
        return None
    for other, m in ((e.a, e.b), (e.b, e.a)):
        if isinstance(m, Bin) and m.op == "*" and (p.shared is None or p.shared.number(m) is None):
            factors = f"{p.loose(m.a)}, {p.loose(m.b)}"
            return f"{p.helper('fma')}({factors}, {p.loose(other)})", ATOM
    return None


def _float_division(p: NumbaPrinter, e: Bin) -> Printed:
    if e.op in ("%", "truncmod"):
        name = (
            p.make("vec_modulo", "lanewise2", "modulo") if e.op == "%" else p.make("vec_fmod", "lanewise2", "np.fmod")
        )
        return p.rounded(f"{name}({p.loose(e.a)}, {p.loose(e.b)})", e.dtype), ATOM
    p.operator()
    name = (
        p.make("vec_floor", "elementwise", '"floor"') if e.op == "//" else p.make("vec_trunc", "elementwise", '"trunc"')
    )
    return f"{name}({p.rounded(f'{p.loose(e.a, 10)} / {p.loose(e.b, 11)}', e.dtype)})", ATOM


def _binary(p: NumbaPrinter, e: Bin) -> Printed:
    if dt.is_bool(e.dtype) and pure_lanes(e.a) and pure_lanes(e.b):
        return _tail(p, e) or vector_binary(p, e, p.wide)
    text, own = vector_binary(p, e, p.loose)
    return (p.rounded(text, e.dtype), ATOM) if dt.element(e.dtype) == "float16" else (text, own)


def pure_lanes(e: Expr) -> bool:
    """Index arithmetic over lanes."""
    if isinstance(e, Ramp):
        return pure_index(e.base) and pure_index(e.stride)
    if isinstance(e, Broadcast):
        return pure_index(e.value)
    return isinstance(e, Bin) and dt.is_int(e.dtype) and pure_lanes(e.a) and pure_lanes(e.b)


def _tail(p: NumbaPrinter, e: Bin) -> Printed | None:
    """`ramp(base, 1, n) < limit`: the first `limit - base` lanes."""
    if not (e.op == "<" and isinstance(e.a, Ramp) and constant(e.a.stride) == 1 and isinstance(e.b, Broadcast)):
        return None
    name = p.make(f"first{e.a.count}", "first_lanes", str(e.a.count))
    return f"{name}({p.index(e.b.value, 9)} - {p.index(e.a.base, 10)})", ATOM


def _cast(p: NumbaPrinter, e: Cast) -> Printed:
    source, target = dt.element(e.value.dtype), dt.element(e.dtype)
    text = p.loose(e.value)
    if target == "float16":
        if source == "float16":
            return text, 0
        if source != "float32":
            text = f"{p.helper('to_odd') if source == 'float64' else p.caster('float32')}({text})"
        return p.rounded(text, e.dtype), ATOM
    if source == "float16" and target == "float32":
        return text, 0
    return f"{p.caster(target)}({text})", ATOM


def _select(p: NumbaPrinter, cond: Expr, then: Expr, other: Expr) -> Printed:
    if dt.lanes(cond.dtype) == 1:
        return f"{p.lazily(then, 1)} if {p.condition(cond, 1)} else {p.lazily(other)}", 0
    return f"{p.helper('select')}({p.loose(cond)}, {p.loose(then)}, {p.loose(other)})", ATOM


def _call(p: NumbaPrinter, e: Call) -> Printed:
    if e.name == "if_then_else" and e.kind != "extern":
        return _select(p, *e.args)
    if e.name == "likely":
        return p.loose(e.args[0]), 0
    if e.name == "reinterpret":
        return p.reinterpret(e), ATOM
    if e.name == "dot4":
        p.operator()
        return f"{p.helper('dot4')}({', '.join(p.loose(a) for a in e.args)})", ATOM
    if e.kind == "packed":
        return EXPR[Call](p, e)  # which refuses it
    name = libm_name(p, e) if e.kind == "extern" else e.name
    if name in COMPOSED:
        return p.loose(COMPOSED[name](*e.args), ATOM), ATOM
    if name == "bitwise_not":
        p.operator()
        return f"~{p.loose(e.args[0], UNARY)}", UNARY
    if name in ("popcount", "clz"):
        text = f"{p.helper(HELPERS[name])}({p.loose(e.args[0])})"
        return (text if e.dtype == e.args[0].dtype else f"{p.caster(dt.element(e.dtype))}({text})"), ATOM
    return p.rounded(f"{_vector_function(p, e, name)}({', '.join(p.loose(a) for a in e.args)})", e.dtype), ATOM


def _vector_function(p: NumbaPrinter, e: Call, name: str) -> str:
    if name in LLVM_HAS and dt.is_float(e.dtype):
        return p.make(f"vec_{name}", "elementwise", f'"{LLVM_HAS[name]}"')
    if name in ("abs", "fabs"):
        p.operator()
        return p.helper("absolute")
    if name in POLYNOMIALS:
        return p.helper(POLYNOMIALS[name])
    if name in MATH:
        function = MATH[name].split("(")[0]
        return p.make(f"vec_{name}", "lanewise2" if len(e.args) == 2 else "lanewise", function)
    raise p.refuse(e, "unknown-function", f"has no function `{name}`", legal=sorted({*MATH, *HELPERS, *COMPOSED}))


def _ramp(p: NumbaPrinter, e: Ramp) -> Printed:
    text = p.wide(e)
    return (text if dt.element(e.dtype) == "int64" else f"{p.caster(dt.element(e.dtype))}({text})"), ATOM


def _broadcast(p: NumbaPrinter, e: Broadcast) -> Printed:
    return f"{p.make(f'splat{e.count}', 'splatter', str(e.count))}({p.typed(e.value)})", ATOM


def _not(p: NumbaPrinter, e: Not) -> Printed:
    p.operator()
    return f"~{p.loose(e.a, UNARY)}", UNARY


def _load(p: NumbaPrinter, e: Load) -> Printed:
    held = p.register(e.buffer, e.indices[0])
    if held is not None:
        return held, ATOM
    text = p.vector_load(e)
    return (f"{p.helper('from_half')}({text})" if e.buffer.dtype == "float16" else text), ATOM


VECTOR: dict[type, Callable[[Any, Any], Printed]] = {
    Var: lambda p, e: (p.names(e), ATOM),
    Bin: _binary,
    Not: _not,
    Cast: _cast,
    Select: lambda p, e: _select(p, e.cond, e.then, e.other),
    Call: _call,
    Load: _load,
    Ramp: _ramp,
    Broadcast: _broadcast,
    Let: EXPR[Let],
}
