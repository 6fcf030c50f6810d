"""Statements written as Python: `tir.ir_builder`, for the bodies of extern operations and tensor intrinsics.

    ib = tir.ir_builder.create()
    a, c = ib.buffer_ptr(A), ib.buffer_ptr(C)
    with ib.for_range(0, n, "i") as i:
        with ib.if_scope(ib.likely(i < 3)):
            c[i] = a[i] + 1.0
    body = ib.get()
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ..core import dtype as dt
from ..core import intrin
from ..core.build import as_bool, binary, cast, to_expr
from ..core.calls import as_stmt
from ..core.error import ExpressionError
from ..core.node import (
    NOP,
    Alloc,
    Attr,
    Buffer,
    Call,
    Const,
    Expr,
    For,
    If,
    IterVar,
    LetStmt,
    Load,
    Stmt,
    Store,
    Var,
    While,
)  # fmt: skip
from ..core.walk import seq
from .buffer import decl_buffer
from .tensor import same_shape

Wrap = Callable[[Stmt], Stmt]
KINDS = {
    "serial": "serial", "parallel": "parallel", "vectorize": "vectorized", "vectorized": "vectorized",
    "unroll": "unrolled", "unrolled": "unrolled",
}  # fmt: skip
THREADS = {"thread_extent": "thread", "virtual_thread": "vthread"}


def create() -> IRBuilder:
    """A new builder."""
    return IRBuilder()


class BufferVar:
    """A buffer to read and write by index. One index into a buffer of several dimensions counts in row-major order.

    `shape`: read the memory as if it had this shape.
    """

    __slots__ = ("_builder", "buffer", "shape")

    def __init__(self, builder: IRBuilder, buffer: Buffer, shape: Sequence[Expr] | None = None) -> None:
        self._builder, self.buffer = builder, buffer
        self.shape = tuple(buffer.shape if shape is None else map(to_expr, shape))

    @property
    def dtype(self) -> str:
        return self.buffer.dtype

    def asobject(self) -> Var:
        """The handle, for calls."""
        return self.buffer.data

    as_expr = asobject

    def __getitem__(self, index: Any) -> Load:
        indices = self._indices(index)
        return Load(self.buffer, indices, _access_dtype(self.buffer, indices))

    def __setitem__(self, index: Any, value: Any) -> None:
        indices = self._indices(index)
        wanted = _access_dtype(self.buffer, indices)
        v = cast(value, wanted) if isinstance(value, (bool, int, float)) else to_expr(value)
        if dt.element(v.dtype) != dt.element(wanted):
            raise ValueError(f"{self.buffer.name} holds {self.buffer.dtype}, it cannot take a {v.dtype}: {v!r}")
        self._builder.emit(Store(self.buffer, indices, cast(v, wanted)))

    def _indices(self, index: Any) -> tuple[Expr, ...]:
        given = tuple(to_expr(i) for i in (index if isinstance(index, (tuple, list)) else (index,)))
        if same_shape(self.shape, self.buffer.shape) and len(given) == len(self.shape):
            return given
        if len(given) == len(self.shape):
            return unravel(_linear(given, self.shape), self.buffer.shape)
        if len(given) == 1:
            return unravel(given[0], self.buffer.shape)
        raise ExpressionError(
            "buffer-rank",
            f"buffer {self.buffer.name} has {len(self.shape)} dimensions, it was indexed with {len(given)}",
            legal=[f"{len(self.shape)} indices", "1 (row-major)"],
        )


def _access_dtype(b: Buffer, indices: Sequence[Expr]) -> str:
    lanes = max([dt.lanes(b.dtype), *(dt.lanes(i.dtype) for i in indices)])
    return dt.vector(b.dtype, lanes)


def _linear(indices: Sequence[Expr], shape: Sequence[Expr]) -> Expr:
    total = indices[0]
    for i, n in zip(indices[1:], shape[1:], strict=True):
        total = binary("+", binary("*", total, n), i)
    return total


def unravel(index: Expr, shape: Sequence[Expr]) -> tuple[Expr, ...]:
    """The indices, one per dimension, of element `index` in row-major order."""
    found: list[Expr] = []
    for n in reversed(shape[1:]):
        found.append(binary("%", index, n))
        index = binary("//", index, n)
    return tuple(reversed([*found, index])) if shape else ()


class IRBuilder:
    """Collects statements. Blocks nest as `with` statements do; `get()` gives everything built."""

    def __init__(self) -> None:
        self._frames: list[list[Stmt | Wrap]] = [[]]

    # ------------------------------------------------------------ statements

    def emit(self, stmt: Any) -> None:
        """Add a statement, a call, or a function that wraps all that follows in the block."""
        made = stmt if callable(stmt) else as_stmt(stmt)
        if made is None:
            raise TypeError(f"emit takes a statement or a call, not {stmt!r}")
        self._frames[-1].append(made)

    def get(self) -> Stmt:
        """The finished statement."""
        if len(self._frames) != 1:
            raise RuntimeError("ir_builder: get() inside an open scope; call it after the `with` blocks")
        body = self._pop()
        self._frames.append([])
        return body

    def _pop(self) -> Stmt:
        rest: Stmt = NOP
        for item in reversed(self._frames.pop()):
            rest = seq(item, rest) if isinstance(item, Stmt) else item(rest)
        return rest

    @contextmanager
    def _block(self, close: Wrap, value: Any = None) -> Iterator[Any]:
        self._frames.append([])
        yield value
        self.emit(close(self._pop()))

    # ------------------------------------------------------------ control

    def for_range(
        self, begin: Any, end: Any, name: str = "i", dtype: str | None = None, kind: str = "serial", for_type: str = ""
    ) -> Any:
        """`with ib.for_range(0, n, "i") as i:`. Kinds: serial, parallel, vectorize, unroll."""
        chosen = for_type or kind
        if chosen not in KINDS:
            raise ExpressionError("loop-kind", f'for_range: there is no kind "{chosen}"', legal=list(KINDS))
        lo, hi = to_expr(begin), to_expr(end)
        extent = binary("-", hi, lo)
        v = Var(name, dtype or extent.dtype)
        return self._block(lambda body: For(v, cast(lo, v.dtype), cast(extent, v.dtype), KINDS[chosen], body), v)

    def while_loop(self, condition: Any) -> Any:
        """`with ib.while_loop(a[0] < 3):`"""
        return self._block(lambda body: While(as_bool(condition), body))

    def if_scope(self, cond: Any) -> Any:
        """`with ib.if_scope(i < n):`, after which `with ib.else_scope():` may follow."""
        c = as_bool(cond)
        sure = isinstance(c, Call) and c.name == "likely"
        test = c.args[0] if isinstance(c, Call) and sure else c
        return self._block(lambda body: If(test, body, None, sure))

    def else_scope(self) -> Any:
        """The other side of the `if_scope` just before."""
        frame = self._frames[-1]
        before = frame[-1] if frame else None
        if not isinstance(before, If) or before.other is not None:
            raise RuntimeError("ir_builder: else_scope can only follow an if_scope")
        frame.pop()
        return self._block(lambda body: If(before.cond, before.then, body, before.likely))

    def new_scope(self) -> Any:
        """A block of its own: allocations and attributes made inside end with it."""
        return self._block(lambda body: body)

    def scope_attr(self, node: Any, attr_key: str, value: Any) -> None:
        """A note on the rest of the block. "thread_extent" of a thread axis runs the rest on so many threads."""
        if attr_key in THREADS and isinstance(node, IterVar):
            extent, kind = to_expr(value), THREADS[attr_key]
            lo = Const(0, node.var.dtype)
            self.emit(lambda body: For(node.var, lo, cast(extent, node.var.dtype), kind, body, node.thread_tag))
            return
        v = Const(value, "handle") if isinstance(value, str) else to_expr(value)
        self.emit(lambda body: Attr(attr_key, node, v, body))

    # ------------------------------------------------------------ names

    def let(self, var_name: str, value: Any) -> Var:
        """A name for a value, in the rest of the block."""
        e = to_expr(value)
        v = Var(var_name, e.dtype)
        self.emit(lambda body: LetStmt(v, e, body))
        return v

    def allocate(
        self, dtype: str, shape: Any, name: str = "buf", axis_separators: Sequence[int] | None = None, scope: str = ""
    ) -> BufferVar:
        """Memory for the rest of the block."""
        buffer = decl_buffer(shape, dtype, name, scope=scope or "", axis_separators=axis_separators)
        self.emit(lambda body: Alloc(buffer, body))
        return BufferVar(self, buffer)

    def pointer(self, content_type: str, name: str = "ptr", scope: str = "") -> BufferVar:
        """Memory from elsewhere, of unknown size."""
        return BufferVar(self, decl_buffer(Var(f"{name}_size", "int32", True), content_type, name, scope=scope))

    def buffer_ptr(self, buffer: Buffer, shape: Any = None) -> BufferVar:
        """A buffer to read and write by index."""
        if isinstance(buffer, BufferVar):
            buffer = buffer.buffer
        if not isinstance(buffer, Buffer):
            raise TypeError(f"buffer_ptr takes a buffer (one of ins or outs), not {buffer!r}")
        return BufferVar(self, buffer, shape)

    def likely(self, expr: Any) -> Expr:
        """The condition, said to be almost always true."""
        return intrin.likely(expr)
