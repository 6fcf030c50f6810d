"""Tensor intrinsics of bytes that are there under their names, for `tensorize` by hand and in the lab.

    dot_16x4_u8s8    y[i] += sum over k in 0..4 of x[k]*w[i, k]     x: uint8, w: int8[16, 4], y: int32[16]
    dot_8x4_u8s8     the same of 8 lanes, for vectors of 256 bits
    interleave_4x16  y[i, k] = x[k, i]                              x: int8[4, 16], y: int8[16, 4]
    interleave_4x8   the same of 8 columns

Their statements are made of `dot4` and of plain vector arithmetic, so they mean the same on every target.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..core.build import binary, cast
from ..core.intrin import dot4, reinterpret
from ..core.node import Buffer, Expr, Stmt
from .buffer import vload, vstore
from .intrin import TensorIntrin, decl_tensor_intrin, register_intrin
from .reduce import reduce_axis, sum
from .tensor import compute, placeholder

DEPTH = 4  # bytes that meet in one lane
LANES = (16, 8)


def dot(lanes: int) -> TensorIntrin:
    """y[i] = sum(x[k]*w[i, k]) of `lanes` sums of four products: uint8 times int8 in int32."""
    x, w = placeholder((DEPTH,), "uint8", name="x"), placeholder((lanes, DEPTH), "int8", name="w")
    k = reduce_axis((0, DEPTH), name="k")
    y = compute((lanes,), lambda i: sum(cast(x[k], "int32") * cast(w[i, k], "int32"), axis=k), name="y")

    def fcompute(ins: Sequence[Buffer], outs: Sequence[Buffer]) -> tuple[Stmt, Stmt, Stmt]:
        bytes_, rows = vload(ins[0], [0], f"uint8x{DEPTH}"), vload(ins[1], [0, 0], f"int8x{lanes * DEPTH}")
        zero = cast(0, f"int32x{lanes}")
        added = dot4(vload(outs[0], [0], f"int32x{lanes}"), bytes_, rows)
        body = vstore(outs[0], [0], dot4(zero, bytes_, rows))
        return body, vstore(outs[0], [0], zero), vstore(outs[0], [0], added)

    return decl_tensor_intrin(y.op, fcompute, name=f"dot_{lanes}x{DEPTH}_u8s8")


def interleave(lanes: int) -> TensorIntrin:
    """y[i, k] = x[k, i]: four rows become one in which their elements take turns, as `dot` reads them."""
    x = placeholder((DEPTH, lanes), "int8", name="x")
    y = compute((lanes, DEPTH), lambda i, k: x[k, i], name="y")

    def fcompute(ins: Sequence[Buffer], outs: Sequence[Buffer]) -> Stmt:
        words = [_word(vload(ins[0], [k, 0], f"int8x{lanes}"), k) for k in range(DEPTH)]
        both = [binary("|", words[k], words[k + 1]) for k in (0, 2)]
        return vstore(outs[0], [0, 0], reinterpret(f"int8x{lanes * DEPTH}", binary("|", *both)))

    return decl_tensor_intrin(y.op, fcompute, name=f"interleave_{DEPTH}x{lanes}")


def _word(row: Expr, k: int) -> Expr:
    """Each byte of a row as byte `k` of a word (the first is the least, as all machines here keep them)."""
    bytes_ = reinterpret(row.dtype.replace("int8", "uint8"), row)
    wide = cast(bytes_, row.dtype.replace("int8", "uint32"))
    return binary("<<", wide, cast(8 * k, wide.dtype)) if k else wide


GIVEN = (*map(dot, LANES), *map(interleave, LANES))
for _made in GIVEN:
    register_intrin(_made)
