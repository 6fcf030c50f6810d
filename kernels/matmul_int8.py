"""Products of quantised matrices: unsigned bytes times signed bytes, summed in int32."""

from __future__ import annotations

from typing import Any

from tvmlab import te

from . import _checks, _shared, matmul

SHAPES = {f"square {n}": {"m": n, "n": n, "k": n} for n in (256, 512, 1024, 2048)}
SMALL = [
    {"m": 1, "n": 1, "k": 1},
    {"m": 17, "n": 33, "k": 5},
    {"m": 6, "n": 64, "k": 8},
    {"m": 13, "n": 80, "k": 12},
    {"m": 5, "n": 15, "k": 3},
]
LANES, DEPTH = 16, 4  # of the instruction in AVX-512: sums side by side, products in each


def matmul_int8(a: Any, b: Any) -> Any:
    """uint8 (m, k) x int8 (k, n) -> int32 (m, n)."""
    _checks.need_dims("matmul_int8", "a", a, "m k")
    _checks.need_dims("matmul_int8", "b", b, "k n")
    for name, x, dtype in (("a", a, "uint8"), ("b", b, "int8")):
        if x.dtype != dtype:
            raise ValueError(f"matmul_int8: {name} must be {dtype}, not {x.dtype}")
    return matmul.matmul(a, b, out_dtype="int32")


def _sides(m: int, n: int, k: int) -> list[Any]:
    return [te.placeholder((m, k), "uint8", name="A"), te.placeholder((k, n), "int8", name="B")]


def declare(m: int, n: int, k: int) -> list[Any]:
    a, b = _sides(m, n, k)
    return [a, b, matmul_int8(a, b)]


def reference(a: Any, b: Any, /, **shape: Any) -> Any:
    whole = a.astype("float64") @ b.astype("float64")  # exact, and many times faster than NumPy's integers
    return whole.astype("int64").astype("int32")


def schedule_cpu(outs: Any) -> Any:
    return matmul.schedule_cpu(outs)


# ---------------------------------------------------------------- with the instruction


def cpu(m: int, n: int, k: int, rows: int = 0, vectors: int = 4, lanes: int = LANES) -> tuple[Any, list[Any]]:
    """(schedule, [A, B, C]): jo, [pack B's panel], io, ko, [rows x vectors]: C's tile stays in registers.

    B is packed as [n/16][k/4][16][4]: what one instruction takes lies together. Where 4 does not divide k or 16 does
    not divide n, the sides are copied with zeros behind them first. Fewer columns than 16 go without the instruction.
    `lanes`: 8 instead of 16, for CPUs with vectors of 256 bits, whose registers hold 6 rows by 2 vectors.
    """
    if n < lanes:
        args = declare(m, n, k)
        return schedule_cpu(args[-1]), args
    a, b = _sides(m, n, k)
    left, right, packed, product, c = packed_product(a, b, m, n, k, lanes)
    s = te.create_schedule(c.op)
    whole = [x for x in (6, 5, 4) if m % x == 0]  # no remainder: less code, sooner compiled
    i, j = s[c].op.axis
    jo, ji = s[c].split(j, factor=vectors * lanes)
    io, ii = s[c].split(i, factor=rows or (whole[0] if whole else 6))
    jv, jl = s[c].split(ji, factor=lanes)
    s[c].reorder(jo, io, ii, jv, jl)
    matmul.registers(s[c], ii, jv, jl)
    s[product].compute_at(s[c], io)
    i, jv, jl = s[product].op.axis
    ko, ki = s[product].split(s[product].op.reduce_axis[0], factor=DEPTH)
    s[product].reorder(ko, i, jv, jl, ki)
    s[product].unroll(i)
    s[product].unroll(jv)
    s[product].tensorize(jl, te.get_intrin(f"dot_{lanes}x{DEPTH}_u8s8"))
    s[packed].compute_at(s[c], jo)
    s[packed].tensorize(s[packed].op.axis[2], te.get_intrin(f"interleave_{DEPTH}x{lanes}"))
    if left is not a:
        _shared.rows(s, left.op)
    if right is not b:
        s[right].compute_at(s[c], jo)
        matmul.copy_vectors(s[right], lanes)
    return s, [a, b, c]


def packed_product(a: Any, b: Any, m: int, n: int, k: int, lanes: int = LANES) -> tuple[Any, ...]:
    """(A and B with zeros behind them, B packed, the product in blocks of columns, C)."""
    blocks, words = -(-n // lanes), -(-k // DEPTH)
    left = _shared.padded(a, (m, words * DEPTH), "A_padded")
    right = _shared.padded(b, (words * DEPTH, blocks * lanes), "B_padded")
    taken = lambda jo, ko, j, x: right[ko * DEPTH + x, jo * lanes + j]
    packed = te.compute((blocks, words, lanes, DEPTH), taken, name="B_packed")
    r = te.reduce_axis((0, words * DEPTH), name="k")

    def total(i: Any, jo: Any, j: Any) -> Any:
        x, w = left[i, r], packed[jo, r // DEPTH, j, r % DEPTH]
        return te.sum(x.astype("int32") * w.astype("int32"), axis=r)

    product = te.compute((m, blocks, lanes), total, name="C_blocks")
    c = te.compute((m, n), lambda i, j: product[i, j // lanes, j % lanes], name="C", tag="matmul_int8")
    return left, right, packed, product, c
