"""Tensor intrinsics of tensor cores that are there under their names: tiles of 16 x 16 x 16, float16 summed in float32.

    wmma_load_a    a fragment of scope wmma.matrix_a from shared memory     y[i, k] = x[i, k]
    wmma_load_b    the same of wmma.matrix_b                                y[k, j] = x[k, j]
    wmma_mma       c[i, j] += float32(a[i, k])*float32(b[k, j])             of fragments; its init fills with zeros
    wmma_store     an accumulator to global memory                          y[i, j] = x[i, j]
    wmma_store_shared    the same to shared memory

    wmma_load_b_t, wmma_mma_t    for a right side that is kept as [j, k]

`declare` makes those of other shapes, types and scopes. A fragment lies in tiles: of one of 32 x 32 elements there are
four, counted along the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core.build import binary, cast, const
from ..core.calls import as_stmt, call_intrin
from ..core.fragments import SHAPES, SUMS, tile
from ..core.node import Buffer, Expr, Stmt, Var
from ..core.walk import seq
from .buffer import decl_buffer
from .intrin import TensorIntrin, decl_tensor_intrin, register_intrin
from .reduce import reduce_axis, sum
from .tensor import compute, placeholder

Shape = tuple[int, int, int]


def _numbered(b: Buffer) -> Expr:
    """The number of the tile that begins at the buffer's offset, counted along the rows."""
    rows, columns = b.shape
    width: Any = b.strides[0]  # type: ignore[index]
    row = binary("//", b.offset, binary("*", width, rows))
    column = binary("//", binary("%", b.offset, width), columns)
    made: Expr = binary("+", binary("*", row, binary("//", width, columns)), column)
    return made


def _side(t: Any, name: str, scope: str, factor: int = 1) -> Buffer:
    """A region with rows apart by any stride; of a fragment it begins where a tile does."""
    return decl_buffer(
        t.shape, t.dtype, name, scope=scope, strides=[Var(f"{name}_rows"), 1], elem_offset=Var(f"{name}_first"),
        data_alignment=32, offset_factor=factor,
    )  # fmt: skip


def _moved(
    name: str, what: str, tile: tuple[int, int], shape: Shape, dtype: str, scopes: tuple[str, str], layout: str
) -> TensorIntrin:
    """A copy of a tile between memory and a fragment."""
    rows, columns = tile
    x = placeholder((rows, columns), dtype, name="x")
    y = compute((rows, columns), lambda i, j: x[i, j], name="y")
    source, target = _side(x, "x", scopes[0]), _side(y, "y", scopes[1])

    def fcompute(ins: Sequence[Buffer], outs: Sequence[Buffer]) -> Stmt:
        a, b = ins[0], outs[0]
        fragment, memory, mode = (b, a, "r") if what == "load_matrix_sync" else (a, b, "w")
        where = memory.access_ptr(mode)  # type: ignore[attr-defined]
        number = _numbered(fragment)
        return _call(what, fragment.data, *shape, number, where, memory.strides[0], layout)  # type: ignore[index]

    return decl_tensor_intrin(y.op, fcompute, name=name, binds={x: source, y: target})


def _call(name: str, *args: Any) -> Stmt:
    made = as_stmt(call_intrin("handle", name, *args))
    assert made is not None
    return made


def load(
    name: str, role: str, shape: Shape = SHAPES[0], dtype: str = "float16", scope: str = "shared",
    transposed: bool = False,
) -> TensorIntrin:  # fmt: skip
    """y = x, into a fragment. `role`: matrix_a or matrix_b. `transposed`: a right side [j, k], or a left one [k, i]."""
    rows, columns = tile(role, shape)
    layout = "col_major" if transposed else "row_major"
    if transposed:
        rows, columns = columns, rows
    return _moved(name, "load_matrix_sync", (rows, columns), shape, dtype, (scope, f"wmma.{role}"), layout)


def store(name: str, shape: Shape = SHAPES[0], dtype: str = "float32", scope: str = "global") -> TensorIntrin:
    """y = x, an accumulator to memory."""
    scopes = ("wmma.accumulator", scope)
    return _moved(name, "store_matrix_sync", tile("accumulator", shape), shape, dtype, scopes, "row_major")


def mma(
    name: str, shape: Shape = SHAPES[0], dtype: str = "float16", total: str = "", transposed: bool = False
) -> TensorIntrin:
    """c[i, j] += a[i, k]*b[k, j] of fragments, b[j, k] where it is `transposed`. `total`: the dtype of the sums."""
    m, n, depth = shape
    sums = total or SUMS[dtype][0]
    a = placeholder((m, depth), dtype, name="a")
    b = placeholder((n, depth) if transposed else (depth, n), dtype, name="b")
    k = reduce_axis((0, depth), name="k")

    def product(i: Any, j: Any) -> Any:
        right = b[j, k] if transposed else b[k, j]
        return sum(cast(a[i, k], sums) * cast(right, sums), axis=k)

    c = compute((m, n), product, name="c")
    sides = {t: _side(t, t.name, f"wmma.{role}") for t, role in ((a, "matrix_a"), (b, "matrix_b"), (c, "accumulator"))}

    def fcompute(ins: Sequence[Buffer], outs: Sequence[Buffer]) -> tuple[Stmt, Stmt, Stmt]:
        left, right, out = *ins, *outs
        numbers = [_numbered(x) for x in (left, right, out)]
        zero = _call("fill_fragment", out.data, *shape, numbers[2], const(0, sums))
        tiles = (out.data, numbers[2], left.data, numbers[0], right.data, numbers[1], out.data, numbers[2])
        step = _call("mma_sync", *tiles)
        return seq(zero, step), zero, step

    return decl_tensor_intrin(c.op, fcompute, name=name, binds=sides)


GIVEN: tuple[TensorIntrin, ...] = (
    load("wmma_load_a", "matrix_a"), load("wmma_load_b", "matrix_b"),
    load("wmma_load_b_t", "matrix_b", transposed=True), mma("wmma_mma"), mma("wmma_mma_t", transposed=True),
    store("wmma_store"), store("wmma_store_shared", scope="shared"),
)  # fmt: skip
for _made in GIVEN:
    register_intrin(_made)
