"""Buffers as a person declares and uses them: `decl_buffer`, and access to them in extern and intrinsic bodies.

    A[i, j]                      one element
    A.vload([i, 0], "float32x4") four neighbours along the last dimension;  A.vstore([i, 0], value) writes them
    A.access_ptr("r", offset=8)  an address for call_extern
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core import dtype as dt
from ..core.build import binary, cast, const, is_const, to_expr
from ..core.error import ExpressionError, TVMError
from ..core.node import Buffer, Call, Expr, IterVar, Load, Ramp, Store, Var
from .tensor import shape_of

READ, WRITE = 1, 2


def decl_buffer(
    shape: Any,
    dtype: str | None = None,
    name: str = "buffer",
    data: Var | None = None,
    strides: Any = None,
    elem_offset: Any = None,
    scope: str = "",
    data_alignment: int = -1,
    offset_factor: int = 0,
    buffer_type: str = "",
    axis_separators: Sequence[int] | None = None,
) -> Buffer:
    """A buffer of `shape`.

    `strides`: elements from one index to the next, per dimension (None: compact, row-major). `elem_offset`: where the
    first element is in the memory; `offset_factor`: it is a multiple of this (a variable is made when it is not given).
    `data_alignment`: bytes. `buffer_type` "auto_broadcast": a dimension of extent 1 has stride 0.
    """
    dims = shape_of(shape)
    if buffer_type not in ("", "default", "auto_broadcast"):
        raise ExpressionError(
            "buffer-type", f'there is no buffer_type "{buffer_type}"', legal=['"" (or "default")', '"auto_broadcast"']
        )
    if data is not None and not (isinstance(data, Var) and data.dtype == "handle"):
        raise TypeError(f"data= of a buffer is a handle variable, not {data!r}")
    if offset_factor and elem_offset is None:
        elem_offset = Var(f"{name}_elem_offset", dims[0].dtype if dims else "int32")
    kind = "auto_broadcast" if buffer_type == "auto_broadcast" else ""
    return Buffer(
        name,
        dims,
        dt.canonical(dtype or "float32"),
        strides=_strides(name, dims, strides, kind),
        offset=None if elem_offset is None or is_const(to_expr(elem_offset), 0) else to_expr(elem_offset),
        scope=scope or "global",
        align=data_alignment if data_alignment > 0 else 64,
        separators=tuple(int(s) for s in axis_separators or ()),
        kind=kind,
        data=Var(name, "handle") if data is None else data,
        factor=max(int(offset_factor), 1),
    )


def _strides(name: str, dims: Sequence[Expr], strides: Any, kind: str) -> tuple[Expr, ...] | None:
    if strides is None or (len(strides) == 0 and dims):
        return tuple(Var(f"{name}_stride{k}", d.dtype, True) for k, d in enumerate(dims)) if kind and dims else None
    if len(strides) != len(dims):
        raise ExpressionError("stride-count", f"buffer {name} has {len(dims)} dimensions but {len(strides)} strides")
    return tuple(to_expr(s) for s in strides)


def mask_bits(mask: Any) -> int:
    """`r`, `w`, `rw`, or the bits themselves (1 reads, 2 writes)."""
    if not isinstance(mask, str):
        return int(mask)
    bits = 0
    for letter in mask:
        if letter not in "rw":
            raise ValueError(f'the access mask is made of "r" and "w", not "{mask}"')
        bits |= READ if letter == "r" else WRITE
    return bits


def access_ptr(
    self: Buffer,
    access_mask: Any,
    ptr_type: str = "handle",
    content_lanes: int = 1,
    offset: Any = 0,
    extent: Any = None,
) -> Call:
    """The address of element `offset` (counted in memory order), for a C function or a built-in.

    `access_mask`: "r", "w" or "rw", what the callee does with it. `content_lanes`: it reads vectors of so many.
    `extent`: how many elements it may touch; without it, all from the offset on.
    """
    mask, shift = mask_bits(access_mask), to_expr(offset)
    if is_const(shift) and content_lanes > 1 and shift.value % content_lanes:  # type: ignore[attr-defined]
        n = content_lanes
        raise TVMError(f"the offset of a pointer to vectors of {n} must be a multiple of {n}, not {offset}")
    rest = binary("-", span(self), shift) if extent is None else to_expr(extent)
    start = shift if self.offset is None else binary("+", self.offset, shift)
    return Call("access_ptr", (self.data, start, rest, const(mask)), ptr_type, "intrin")


def span(b: Buffer) -> Expr:
    """How many elements of memory the buffer covers (without its offset), the gaps between its rows included."""
    total: Expr = const(1)
    if b.strides:
        for n, stride in zip(b.shape, b.strides, strict=True):
            total = binary("+", total, binary("*", binary("-", n, 1), stride))
        return total
    for d in b.shape:
        total = binary("*", total, d)
    return total


def _indices(b: Buffer, begin: Any) -> tuple[Expr, ...]:
    made = tuple(to_expr(i) for i in (begin if isinstance(begin, (list, tuple)) else (begin,)))
    if len(made) != b.ndim:
        raise ExpressionError(
            "buffer-rank",
            f"buffer {b.name} has {b.ndim} dimension{'s' * (b.ndim != 1)}, it was indexed with {len(made)}",
        )
    return made


def _vector_indices(b: Buffer, begin: Any, dtype: str) -> tuple[Expr, ...]:
    """The indices of `lanes` neighbours along the last dimension."""
    first = _indices(b, begin)
    lanes = dt.lanes(dtype)
    if dt.element(dtype) != dt.element(b.dtype):
        raise ExpressionError("vector-dtype", f"buffer {b.name} holds {b.dtype}, it cannot be accessed as {dtype}")
    if lanes == 1:
        return first
    if not first:
        raise ExpressionError("vector-rank", f"buffer {b.name} is a single element, there is no vector in it")
    return (*first[:-1], Ramp(first[-1], const(1, first[-1].dtype), lanes))


def vload(self: Buffer, begin: Any, dtype: str | None = None) -> Load:
    """The element at `begin`, or with a vector `dtype` (`float32x4`) so many along the last dimension."""
    wanted = dt.canonical(dtype or self.dtype)
    return Load(self, _vector_indices(self, begin, wanted), wanted)


def vstore(self: Buffer, begin: Any, value: Any) -> Store:
    """A statement that writes a value, or a vector along the last dimension, from `begin` on."""
    v = to_expr(value)
    if isinstance(value, (int, float)):
        v = cast(v, self.dtype)
    return Store(self, _vector_indices(self, begin, v.dtype), v)


def element(self: Buffer, indices: Any) -> Load:
    """`A[i, j]`"""
    given = indices if isinstance(indices, tuple) else (indices,)
    if any(isinstance(i, slice) for i in given):
        raise TypeError(f"buffer {self.name} gives single elements; for several:  {self.name}.vload([...], dtype)")
    plain = tuple(i.var if isinstance(i, IterVar) else i for i in given)
    return Load(self, _indices(self, plain), self.dtype)


def install() -> None:
    """Give `core.node.Buffer` its classic methods and names."""
    members: dict[str, Any] = {
        "access_ptr": access_ptr, "vload": vload, "vstore": vstore, "__getitem__": element,
        "__iter__": None,  # a buffer is no sequence: without this, `in` and `list` would read elements without end
        "elem_offset": property(lambda b: const(0) if b.offset is None else b.offset),
        "data_alignment": property(lambda b: b.align), "axis_separators": property(lambda b: b.separators),
        "offset_factor": property(lambda b: b.factor),
    }  # fmt: skip
    for name, member in members.items():
        setattr(Buffer, name, member)


install()
