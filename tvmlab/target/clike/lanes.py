"""Vector statements: whole where the language has the access, else one scalar statement per lane.

    C[i*4:i*4 + 4] = A[i*4:i*4 + 4] * 2.0     ->   vstore4(vload4(0, A + i*4) * 2.0f, 0, C + i*4);
    C[i*8::2[:3]] = ...   # where mask        ->   if (mask of lane 0) C[i*8] = ...; and so on

All lanes are read before any is written: where a statement reads what it writes, values wait in an array.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ...core import affine
from ...core import dtype as dt
from ...core.build import binary
from ...core.node import (
    Bin,
    Broadcast,
    Buffer,
    Call,
    Const,
    Expr,
    Let,
    LetStmt,
    Load,
    Ramp,
    Store,
    Var,
)
from ...core.walk import children, identical, map_children, replace, substitute, walk
from ..gpu import dot
from . import exprs

if TYPE_CHECKING:
    from .printer import CPrinter

MOST_STATEMENTS = 8  # lanes that are written out; more are a loop
NATIVE = ("float32", "float64")  # of which vectors have + - * /


def lanes_of(s: Store) -> int:
    return max(dt.lanes(x.dtype) for x in (*s.indices, s.value, *(() if s.mask is None else (s.mask,))))


def store(p: CPrinter, s: Store) -> None:
    """A store of several lanes, or under a mask."""
    count = lanes_of(s)
    if not dot.has_dot(s.value) and (_copied(p, s, count) or _whole(p, s, count) or _in_parts(p, s, count)):
        return None
    if count == 1:
        return _lane_statement(p, s, Const(0))
    if _reads_itself(s):
        return _in_two_steps(p, s, count)
    return each_lane(p, count, lambda k: _lane_statement(p, s, k))


def each_lane(p: CPrinter, count: int, statement: Any) -> None:
    """`statement(k)` for every lane: one after the other, or in a loop."""
    if count <= MOST_STATEMENTS:
        for k in range(count):
            statement(Const(k))
        return
    v = Var("lane")
    p.ranges.bind(v, (0, count - 1))
    name = p.names(v)
    p.emit(p.d.unroll)
    p.emit(f"for (int {name} = 0; {name} < {count}; ++{name}) {{")
    p.depth += 1
    statement(v)
    p.depth -= 1
    p.emit("}")
    p.names.release(v)


def _lane_statement(p: CPrinter, s: Store, k: Expr) -> None:
    value = scalar(p, _unmasked(s), k)
    _guarded(p, s, k, lambda: p.store(s.buffer, scalar(p, s.indices[0], k), p.stored(s.buffer, value)))


def _guarded(p: CPrinter, s: Store, k: Expr, write: Any) -> None:
    """`if (mask) ...`"""
    if s.mask is None:
        return write()
    p.emit(f"if ({p.value(scalar(p, s.mask, k))}) {{")
    p.depth += 1
    p.lazy += 1
    write()
    p.lazy -= 1
    p.depth -= 1
    p.emit("}")
    return None


def _unmasked(s: Store) -> Expr:
    """The value without the masks of loads that are the store's own."""
    if s.mask is None:
        return s.value

    def bare(e: Any) -> Any:
        if type(e) is Load and e.mask is not None and identical(e.mask, s.mask):
            return replace(e, mask=None)
        return map_children(e, bare) if isinstance(e, Expr) else e

    return bare(s.value)  # type: ignore[no-any-return]


def _reads_itself(s: Store) -> bool:
    """Does a lane read what another may write? Lane by lane its own element is no harm."""
    own = isinstance(s.indices[0], Ramp)
    for part in (s.value, s.mask, s.indices[0]):
        for x in walk(part) if part is not None else ():
            if type(x) is Load and x.buffer.data is s.buffer.data:
                if not (own and part is not s.indices[0] and identical(x.indices, s.indices)):
                    return True
    return False


def _in_two_steps(p: CPrinter, s: Store, count: int) -> None:
    """Values, places and masks of all lanes first."""
    value, at, on = Var("value", s.value.dtype), Var("at", s.indices[0].dtype), Var("on", f"boolx{count}")
    p.emit("{")
    p.depth += 1
    define(p, value, s.value if s.mask is None else _choice(s.mask, _unmasked(s)))
    define(p, at, s.indices[0])
    if s.mask is not None:
        define(p, on, s.mask)
    waiting = Store(s.buffer, (at,), value, None if s.mask is None else on)
    each_lane(p, count, lambda k: _lane_statement(p, waiting, k))
    p.depth -= 1
    p.emit("}")
    for v in (value, at, on):
        p.vectors.pop(v, None)


def _choice(mask: Expr, value: Expr) -> Expr:
    """The value where the mask is on; elsewhere it is not computed."""
    kind = dt.element(value.dtype)
    zero = Broadcast(Const(0.0 if dt.is_float(kind) else 0, kind), dt.lanes(value.dtype))
    return Call("if_then_else", (mask, value, zero), value.dtype)


def define(p: CPrinter, v: Any, value: Expr) -> None:
    """A vector variable is an array of its lanes."""
    count, kind = dt.lanes(value.dtype), dt.element(value.dtype)
    b = Buffer(v.name, (Const(count),), kind, scope="local")
    p.emit(f"{p.memory_type(b)} {p.declare(b)}[{count}];")
    each_lane(p, count, lambda k: p.store(b, k, p.stored(b, scalar(p, value, k))))
    p.vectors[v] = b


def let(p: CPrinter, s: LetStmt) -> None:
    define(p, s.var, s.value)
    p.stmt(s.body)


# ---------------------------------------------------------------- one lane of an expression


def scalar(p: CPrinter, e: Any, k: Expr) -> Any:
    """What a vector expression is in lane `k`."""
    return Lane(p, k).of(e)


class Lane:
    """`k`: the lane."""

    def __init__(self, p: CPrinter, k: Expr) -> None:
        self.p, self.k = p, k
        self.inner: dict[Any, Var] = {}  # vector variables of lets -> of this lane
        self.done: dict[Any, Any] = {}

    def of(self, e: Any) -> Any:
        if e not in self.done:
            self.done[e] = self._of(e)
        return self.done[e]

    def at(self, e: Expr, k: Expr) -> Any:
        """Another lane, of a vector with lanes of its own."""
        return self.of(e) if k is self.k else scalar(self.p, e, k)

    def _of(self, e: Any) -> Any:
        t = type(e)
        if t is Var and e in self.p.vectors:
            b = self.p.vectors[e]
            return Load(b, (self.k,), b.dtype)
        if t is Var:
            return self.inner.get(e, e)
        if t is Ramp:
            return affine.simplify(binary("+", self.of(e.base), binary("*", self.of(e.stride), self.k)))
        if t is Broadcast:
            return self.of(e.value)
        if dot.is_dot(e):
            return dot.of_lane(e, self.k, self.at)
        if t is Let and dt.lanes(e.var.dtype) > 1 and dot.has_dot(e.body):
            return self.of(substitute(e.body, {e.var: e.value}))  # its lanes are not those of the body
        if t is Let:
            value = self.of(e.value)
            if dt.lanes(e.var.dtype) > 1:
                self.inner[e.var] = Var(e.var.name, dt.element(e.var.dtype))
            return Let(self.inner.get(e.var, e.var), value, self.of(e.body))
        if t is Call and e.name == "reinterpret" and dt.lanes(e.dtype) != dt.lanes(e.args[0].dtype):
            raise self.p.refuse(e, "reinterpret-lanes", f"cannot take {e.args[0].dtype} apart as {e.dtype}")
        made = map_children(e, self.of)
        if "dtype" in made.FIELDS and dt.lanes(made.dtype) > 1:
            return replace(made, dtype=dt.element(made.dtype))
        return made


# ---------------------------------------------------------------- whole vectors


def _copied(p: CPrinter, s: Store, count: int) -> bool:
    """A copy of as many bytes as a type of the language has, whatever they mean."""
    v = s.value
    bits = p.d.copies.get(count * dt.nbytes(s.buffer.dtype)) if count > 1 else None
    if bits is None or type(v) is not Load or not (_adjacent(s) and _adjacent(v)):
        return False
    if not (aligned(s.indices[0].base, count) and aligned(v.indices[0].base, count)):  # type: ignore[attr-defined]
        return False
    text = p.d.vector_load.format(**{**_access(p, v, count), "vec": bits})
    p.emit(p.d.vector_store.format(v=text, **{**_access(p, s, count), "vec": bits}))
    return True


def _in_parts(p: CPrinter, s: Store, count: int) -> bool:
    """A vector that is longer than those of the language as several of them."""
    width = max([w for w in p.d.widths.get(s.buffer.dtype, ()) if w < count and count % w == 0], default=0)
    if not width or s.mask is not None or not _adjacent(s) or _reads_itself(s) or _has_variables(p, s.value):
        return False
    first = _part(s, 0, width)
    if not _direct(p, first, width) or next(_vector_loads(p, first.value, width), None) is None:
        return False
    for start in range(0, count, width):
        store(p, _part(s, start, width))
    return True


def _has_variables(p: CPrinter, e: Expr) -> bool:
    return any(type(x) is Let or (type(x) is Var and x in p.vectors) for x in walk(e))


def _part(e: Any, start: int, width: int) -> Any:
    """`width` lanes of a vector, from `start` on."""
    if type(e) is Ramp:
        base = affine.simplify(binary("+", e.base, binary("*", e.stride, start)))
        return Ramp(base, e.stride, width)
    if type(e) is Broadcast:
        return Broadcast(e.value, width)
    made = map_children(e, lambda c: _part(c, start, width) if isinstance(c, Expr) else c)
    if "dtype" in made.FIELDS and dt.lanes(made.dtype) > 1:
        return replace(made, dtype=dt.vector(made.dtype, width))
    return made


def _whole(p: CPrinter, s: Store, count: int) -> bool:
    """Print the store as one of a vector, if the language can; False where it cannot."""
    if s.mask is not None or not _direct(p, s, count):
        return False
    loads = list(dict.fromkeys(_vector_loads(p, s.value, count)))
    if not loads and not isinstance(s.value, Broadcast):
        return False
    text = _native(p, s.value) if p.d.vector_arithmetic else None
    if text is None and type(s.value) is Load and loads:
        text = load_text(p, s.value)
    p.emit(store_text(p, s, _assembled(p, s, count, loads) if text is None else text))
    return True


def _direct(p: CPrinter, access: Any, count: int) -> bool:
    """Is it of neighbouring elements, as many as a vector type has, and (where that matters) aligned?"""
    if not _adjacent(access) or count not in p.d.widths.get(access.buffer.dtype, ()):
        return False
    return not p.d.aligned or aligned(access.indices[0].base, count)


def _adjacent(access: Any) -> bool:
    at = access.indices[0]
    one = isinstance(at, Ramp) and isinstance(at.stride, Const) and at.stride.value == 1
    return one and access.mask is None


def aligned(base: Expr, count: int) -> bool:
    """Is the index a multiple of `count`, whatever its variables are? Memory itself begins at a multiple."""
    form = affine.lin(base)
    return form.const % count == 0 and all(c % count == 0 for c in form.terms.values())


def _vector_loads(p: CPrinter, e: Expr, count: int, lazy: bool = False) -> Iterator[Load]:
    """Loads that are always done, and can be done whole."""
    if type(e) is Load:
        if not lazy and dt.lanes(e.dtype) == count and _direct(p, e, count):
            yield e
        return
    skipped = isinstance(e, Call) and e.name == "if_then_else"
    for i, c in enumerate(children(e)):
        yield from _vector_loads(p, c, count, lazy or (skipped and i > 0))  # type: ignore[arg-type]


def _access(p: CPrinter, x: Any, count: int) -> dict[str, str]:
    b = x.buffer
    element = stem(p, b.dtype)
    vec = p.d.vector_name.format(type=element, n=count)
    packed = bool(p.d.packed) and not aligned(x.indices[0].base, count)
    return {
        "vec": p.d.packed.format(type=element, n=count) if packed else vec,
        "n": str(count),
        "p": p.pointer(b, x.indices[0].base, type(x) is Store, count),
        "space": p.d.spaces.get(b.scope, ""),
        "half": "_half" if p.holds_halves(b) else "",
    }


def load_text(p: CPrinter, x: Load) -> str:
    return p.d.vector_load.format(**_access(p, x, dt.lanes(x.dtype)))


def store_text(p: CPrinter, s: Store, text: str) -> str:
    return p.d.vector_store.format(v=text, **_access(p, s, dt.lanes(s.value.dtype)))


def value_type(p: CPrinter, dtype: str, count: int) -> str:
    return p.d.vector_name.format(type=stem(p, dt.element(dtype)), n=count)


def stem(p: CPrinter, dtype: str) -> str:
    """What a vector type is called after; vectors of bools are of bytes."""
    kind = "uint8" if dtype == "bool" else p.register(dtype)
    name = p.type_of(kind)
    return p.d.vector_types.get(kind, name)


def _native(p: CPrinter, e: Expr, level: int = 0) -> str | None:
    """Arithmetic on whole vectors, of types that round as their lanes do; None where it is not that."""
    if dt.element(e.dtype) not in NATIVE:
        return None
    if type(e) is Load:
        return load_text(p, e) if _direct(p, e, dt.lanes(e.dtype)) else None
    if type(e) is Broadcast:
        return f"({value_type(p, e.dtype, e.count)})({p.value(e.value)})" if dt.lanes(e.value.dtype) == 1 else None
    if type(e) is not Bin or e.op not in ("+", "-", "*", "/"):
        return None
    own = exprs.LEVEL[e.op]
    a, b = _native(p, e.a, own), _native(p, e.b, own + 1)
    if a is None or b is None:
        return None
    text = exprs.operator(e.op, a, b)[0]
    return f"({text})" if own < level else text


def _assembled(p: CPrinter, s: Store, count: int, loads: list[Load]) -> str:
    """Vectors are read whole, their components computed one by one, and put together."""
    read: dict[Any, tuple[Any, ...]] = {}
    for x in loads:
        again = next((parts for other, parts in read.items() if identical(x, other)), None)
        read[x] = _named(p, x, count) if again is None else again
    values = [scalar(p, _with_components(s.value, read, k), Const(k)) for k in range(count)]
    texts = ", ".join([p.stored(s.buffer, v) for v in values])
    return p.d.make_vector.format(vec=value_type(p, s.buffer.dtype, count), values=texts)


def _named(p: CPrinter, x: Load, count: int) -> tuple[Any, ...]:
    """`const float4 A_v = ...;`, and `A_v.x` to `A_v.w`."""
    kind = dt.element(x.dtype)
    whole = Var(f"{x.buffer.name}_v")
    name = p.names(whole)
    p.emit(f"const {value_type(p, kind, count)} {name} = {load_text(p, x)};")
    parts = "xyzw" if count <= 4 else [f"s{k:x}" for k in range(count)]
    return tuple([Call(f"{name}.{parts[k]}", (), kind, "component") for k in range(count)])


def _with_components(e: Any, read: dict[Any, tuple[Any, ...]], k: int) -> Any:
    """The value with lane `k` of each vector that was read in its place."""
    if type(e) is Load and e in read:
        return Broadcast(read[e][k], dt.lanes(e.dtype))
    return map_children(e, lambda c: _with_components(c, read, k))
