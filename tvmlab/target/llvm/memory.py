"""Loads and stores: addresses, alignment, vectors that are contiguous, strided, gathered or masked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...core import dtype as dt
from ...core.error import BuildError
from ...core.node import Const, Expr, Load, Store, Var
from . import half
from .index import Indexing, Lin

CLOSE = 4  # strides up to this are loaded as whole vectors and shuffled


@dataclass(frozen=True)
class Place:
    """Where a buffer lives: the operand of its address, its dtype, the bytes the address is a multiple of.

    `size`: elements, of a stack slot of this function (else 0).
    """

    pointer: str
    dtype: str
    align: int
    buffer: Any
    size: int = 0


class Memory(Indexing):
    """Adds memory. `places` maps buffers (and their `data` variables) to where they are."""

    places: dict[Any, Place]
    roots: dict[str, str]  # an address -> the pointer it came from

    def place(self, buffer: Any) -> Place:
        found = self.places.get(buffer)
        if found is None:
            raise BuildError(
                "buffer-outside", f"the buffer `{buffer.name}` is used where it does not exist", where=[repr(buffer)]
            )
        return found

    def settle(self, buffer: Any, pointer: str, align: int, size: int = 0) -> None:
        """From here on `buffer` is at `pointer`."""
        made = Place(pointer, buffer.dtype, align, buffer, size)
        self.places[buffer] = made
        self.places[buffer.data] = made
        if buffer.logical is not None:
            self.places.setdefault(buffer.logical.data, made)

    def bind(self, var: Var, value: Expr) -> None:
        """Give a let's variable its value: index arithmetic stays symbolic."""
        if var.dtype in ("int32", "int64") and self.is_index(value):
            self.env[var] = self.lin(value)
        else:
            self.env[var] = self.value(value)

    # ------------------------------------------------------------ addresses

    def index_of(self, indices: tuple[Expr, ...], buffer: Any) -> Expr:
        if len(indices) == 1:
            return indices[0]
        if not indices:
            return Const(0)
        raise BuildError(
            "not-flat",
            f"`{buffer.name}` is accessed with {len(indices)} indices: the program has to be flattened first",
        )

    def address(self, place: Place, at: Lin, inside: bool = True) -> str:
        """The pointer to element `at`. The constant part is added last, so that neighbours share the rest."""
        t = self.m.stored(place.dtype)
        safe = "inbounds " if inside and self.is_nonneg(at) else ""
        p = place.pointer
        if at.terms:
            rest = self.i64(Lin(0, at.terms))
            p = self.once(("ptr", p, t, rest, safe), f"getelementptr {safe}{t}, ptr {p}, i64 {rest}")
        if at.const:
            p = self.once(("ptr", p, t, at.const, safe), f"getelementptr {safe}{t}, ptr {p}, i64 {at.const}")
        self.roots[p] = place.pointer
        return p

    def alignment(self, place: Place, at: Lin) -> int:
        size = dt.nbytes(place.dtype)
        return max(size, min(place.align, at.divisor * size))

    # ------------------------------------------------------------ loads

    def load(self, e: Load) -> str:
        place, index = self.place(e.buffer), self.index_of(e.indices, e.buffer)
        n = dt.lanes(e.dtype)
        if n == 1:
            return self._load_scalar(place, self.lin(index), e)
        mask = None if e.mask is None else self.value(e.mask)
        straight = self.ramp(index)
        if straight is None:
            return self.loaded(self._gather(place, self.index_vector(index), mask, n), e.dtype)
        base, stride = straight
        if stride == 0 and mask is None:
            t = self.m.type(dt.element(e.dtype))
            return self.splat(t, self._load_scalar(place, base, e), n)
        if stride == 1:
            return self._load_contiguous(place, base, mask, e.dtype)
        if mask is None and (1 < stride <= CLOSE or -CLOSE <= stride < 0):
            return self.loaded(self._load_strided(place, base, stride, n), e.dtype)
        return self.loaded(self._gather(place, self.index_vector(index), mask, n), e.dtype)

    def loaded(self, raw: str, dtype: str) -> str:
        """A value as it is in memory -> as it is in a register."""
        element = dt.element(dtype)
        if element == "bool":
            stored = self.m.stored(dtype)
            return self.op(f"icmp ne {stored} {raw}, zeroinitializer")
        return half.unpack(self, raw, dtype) if element == "float16" else raw

    def to_store(self, value: str, dtype: str) -> str:
        element = dt.element(dtype)
        if element == "bool":
            return self.op(f"zext {self.m.type(dtype)} {value} to {self.m.stored(dtype)}")
        return half.pack(self, value, dtype) if element == "float16" else value

    def _load_scalar(self, place: Place, at: Lin, e: Load) -> str:
        if e.mask is not None:
            mask, t = self.value(e.mask), self.m.type(place.dtype)
            zero = self.constant(0, place.dtype)
            return self.lazily(mask, lambda: self._read(place, at), lambda: zero, t)  # type: ignore[attr-defined]
        return self._read(place, at)

    def _read(self, place: Place, at: Lin) -> str:
        found = self.loads.get(place.pointer, at, 1)
        if found is None:
            t = self.m.stored(place.dtype)
            p = self.address(place, at)
            raw = self.op(f"load {t}, ptr {p}, align {self.alignment(place, at)}")
            found = self.loaded(raw, place.dtype)
            self.loads.put(place.pointer, at, 1, found)
        return found

    def _load_contiguous(self, place: Place, at: Lin, mask: str | None, dtype: str) -> str:
        n, stored, align = dt.lanes(dtype), self.m.stored(dtype), self.alignment(place, at)
        self.m.type(dtype)
        if mask is None or mask == self.all_on(n):
            found = self.loads.get(place.pointer, at, n)
            if found is None:
                p = self.address(place, at)
                found = self.loaded(self.op(f"load {stored}, ptr {p}, align {align}"), dtype)
                self.loads.put(place.pointer, at, n, found)
            return found
        if self.is_private(place, at, n):
            whole = self._load_contiguous(place, at, None, dtype)
            t = self.m.type(dtype)
            return self.op(f"select <{n} x i1> {mask}, {t} {whole}, {t} zeroinitializer")
        p = self.address(place, at, inside=False)
        return self.loaded(self.masked("load", place.dtype, p, align, mask, n), dtype)

    def is_private(self, place: Place, at: Lin, n: int) -> bool:
        """Are all lanes in a stack slot, masked or not? Then a selection will do, and the slot can be a register."""
        return not at.terms and 0 <= at.const <= place.size - n

    def all_on(self, n: int) -> str:
        return self.splat("i1", "true", n)

    def masked(self, how: str, dtype: str, at: str, align: int, mask: str, n: int, raw: str = "") -> str:
        """A masked `load` or `gather` of n elements, or a `store` or `scatter` of `raw`. `at`: a pointer, or n of them.

        Lanes that are off give zero. Before LLVM 22 the alignment was an argument of its own.
        """
        several = how in ("gather", "scatter")
        pointer, bools = f"<{n} x ptr>" if several else "ptr", f"<{n} x i1>"
        stored = f"<{n} x {self.m.stored(dtype)}>"
        args = [(pointer, f"align {align} {at}"), (bools, mask)]
        if self.m.machine.major < 22:
            args = [(pointer, at), ("i32", str(align)), (bools, mask)]
        args = [(stored, raw), *args] if raw else [*args, (stored, "zeroinitializer")]
        name = f"llvm.masked.{how}.{mangled(stored)}.{f'v{n}' if several else ''}p0"
        result = "void" if raw else stored
        f = self.m.declare(name, result, [t for t, _ in args])
        call = f"call {result} {f}({', '.join(f'{t} {x}' for t, x in args)})"
        if not raw:
            return self.op(call)
        self.emit(call)
        return ""

    def _load_strided(self, place: Place, base: Lin, stride: int, n: int) -> str:
        """Whole vectors that cover base, base + stride, ..., and shuffles; nothing beyond the last element is read."""
        step = abs(stride)
        first = base if stride > 0 else base.plus(Lin(stride * (n - 1)))
        size, t = (n - 1) * step + 1, self.m.stored(place.dtype)
        pieces, made, have = -(-size // n), "", 0
        starts = [min(k * n, size - n) for k in range(pieces)]
        order = range(n) if stride > 0 else range(n - 1, -1, -1)
        for start in starts:
            at = first.plus(Lin(start))
            part = self.op(f"load <{n} x {t}>, ptr {self.address(place, at)}, align {self.alignment(place, at)}")
            picks = []
            for lane, i in enumerate(order):
                where = i * step
                picks.append(n + where - start if have <= where < start + n else lane)
            made = self.shuffle(t, made or part, part, picks, n)
            have = start + n
        return made

    def _pointers(self, place: Place, index: str, n: int) -> str:
        return self.op(f"getelementptr {self.m.stored(place.dtype)}, ptr {place.pointer}, <{n} x i64> {index}")

    def _gather(self, place: Place, index: str, mask: str | None, n: int) -> str:
        pointers, size = self._pointers(place, index, n), dt.nbytes(place.dtype)
        return self.masked("gather", place.dtype, pointers, size, mask or self.all_on(n), n)

    # ------------------------------------------------------------ stores

    def store(self, s: Store) -> None:
        place, index = self.place(s.buffer), self.index_of(s.indices, s.buffer)
        n, dtype = dt.lanes(s.value.dtype), s.value.dtype
        value = self.value(s.value)
        mask = None if s.mask is None else self.value(s.mask)
        lanes = max(n, dt.lanes(index.dtype))
        if lanes == 1:
            self._store_scalar(place, self.lin(index), value, mask, dtype)
        else:
            if n == 1:
                dtype = dt.vector(dtype, lanes)
                value = self.splat(self.m.type(s.value.dtype), value, lanes)
            self._store_vector(place, index, value, mask, dtype)

    def _store_scalar(self, place: Place, at: Lin, value: str, mask: str | None, dtype: str) -> None:
        if mask is None:
            self._write(place, at, value, dtype)
            return
        yes, end = self.label("on"), self.label("off")
        self.branch(mask, yes, end)
        self.start(yes)
        self.scopes.append({})
        self._write(place, at, value, dtype)
        self.scopes.pop()
        self.jump(end)
        self.start(end)

    def _write(self, place: Place, at: Lin, value: str, dtype: str) -> None:
        """A plain store; loads of the same place that follow reuse the value."""
        raw = self.to_store(value, dtype)
        p = self.address(place, at)
        self.emit(f"store {self.m.stored(dtype)} {raw}, ptr {p}, align {self.alignment(place, at)}")
        n = dt.lanes(dtype)
        self.loads.forget(place.pointer, at, n)
        self.loads.put(place.pointer, at, n, value)

    def forget(self, place: Place) -> None:
        """The memory of `place` may have changed."""
        self.loads.drop(place.pointer)

    def _store_vector(self, place: Place, index: Expr, value: str, mask: str | None, dtype: str) -> None:
        n = dt.lanes(dtype)
        straight = self.ramp(index)
        everywhere = mask is None or mask == self.all_on(n)
        if straight is not None and straight[1] == 1:
            if everywhere:
                self._write(place, straight[0], value, dtype)
                return
            if self.is_private(place, straight[0], n):
                t, old = self.m.type(dtype), self._load_contiguous(place, straight[0], None, dtype)
                both = self.op(f"select <{n} x i1> {mask}, {t} {value}, {t} {old}")
                self._write(place, straight[0], both, dtype)
                return
            raw, align = self.to_store(value, dtype), self.alignment(place, straight[0])
            p = self.address(place, straight[0], inside=False)
            self.masked("store", place.dtype, p, align, mask or "", n, raw)
        elif straight is not None and everywhere:
            base, stride = straight
            raw, t = self.to_store(value, dtype), self.m.stored(place.dtype)
            for lane in range(n):
                x = self.op(f"extractelement <{n} x {t}> {raw}, i64 {lane}")
                at = base.plus(Lin(lane * stride))
                self.emit(f"store {t} {x}, ptr {self.address(place, at)}, align {self.alignment(place, at)}")
        else:
            self._scatter(place, self.index_vector(index), self.to_store(value, dtype), mask, n)
        self.forget(place)

    def _scatter(self, place: Place, index: str, raw: str, mask: str | None, n: int) -> None:
        pointers, size = self._pointers(place, index, n), dt.nbytes(place.dtype)
        self.masked("scatter", place.dtype, pointers, size, mask or self.all_on(n), n, raw)


def mangled(type: str) -> str:
    """`<16 x float>` -> `v16f32`, as in the names of LLVM's overloaded intrinsics."""
    if type[0] == "<":
        count, element = type[1:-1].split(" x ")
        return f"v{count}{mangled(element)}"
    return {"half": "f16", "float": "f32", "double": "f64", "ptr": "p0"}.get(type, type)
