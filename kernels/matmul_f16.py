"""Products of float16 matrices, summed in float32: what tensor cores do."""

from __future__ import annotations

from typing import Any

from tvmlab import te

from . import _checks, _gpu, _shared, matmul

SHAPES = {f"square {n}": {"m": n, "n": n, "k": n} for n in (1024, 2048, 4096)}
SMALL = [
    {"m": 1, "n": 1, "k": 1},
    {"m": 17, "n": 33, "k": 5},
    {"m": 16, "n": 48, "k": 32},
    {"m": 45, "n": 20, "k": 50},
]
SIDE = 16  # of a tile of tensor cores: 16 x 16 x 16
SKEW = 8  # elements between the rows of shared memory, so that they begin in different banks


def matmul_f16(a: Any, b: Any) -> Any:
    """float16 (m, k) x float16 (k, n) -> float32 (m, n)."""
    for name, x, dims in (("a", a, "m k"), ("b", b, "k n")):
        _checks.need_dims("matmul_f16", name, x, dims)
        if x.dtype != "float16":
            raise ValueError(f"matmul_f16: {name} must be float16, not {x.dtype}")
    return matmul.matmul(a, b, out_dtype="float32")


def _sides(m: int, n: int, k: int) -> list[Any]:
    return [te.placeholder((m, k), "float16", name="A"), te.placeholder((k, n), "float16", name="B")]


def declare(m: int, n: int, k: int) -> list[Any]:
    a, b = _sides(m, n, k)
    return [a, b, matmul_f16(a, b)]


def reference(a: Any, b: Any, /, **shape: Any) -> Any:
    return a.astype("float32") @ b.astype("float32")


def schedule_cpu(outs: Any) -> Any:
    return matmul.schedule_cpu(outs)


def schedule_gpu(outs: Any) -> Any:
    """Without tensor cores, at any size: `gpu` is with them."""
    return matmul.schedule_gpu(outs)


# ---------------------------------------------------------------- with tensor cores


def gpu(m: int, n: int, k: int, rows: int = 128, columns: int = 128, depth: int = 32) -> tuple[Any, list[Any]]:
    """(schedule, [A, B, C]): rows x columns of C to a block, up to 64 x 32 to a warp, `depth` of k at a time.

    Sides that are no multiples of the tiles get zeros behind them on the way to shared memory. Each warp keeps its part
    of C in fragments; where C is no multiple of the tiles they go through shared memory, in tiles of at most 64 x 64.
    """
    tiles = ((rows, m), (columns, n), (depth, k))
    odd = any(x % min(most, _power(x)) for most, x in tiles[:2])
    rows, columns, depth = (min(most, _power(x), 64 if odd else most) for most, x in tiles)
    a, b = _sides(m, n, k)
    up, along, deep = (-(-x // tile) * tile for x, tile in ((m, rows), (n, columns), (k, depth)))
    left, right = _shared.padded(a, (up, deep), "A_padded"), _shared.padded(b, (deep, along), "B_padded")
    product = matmul_f16(left, right)
    c = te.compute((m, n), lambda i, j: product[i, j], name="C_cut") if odd else product
    s = te.create_schedule(c.op)
    tensor_cores(s, product.op, c, rows, columns, depth)
    for x, padded in ((a, left), (b, right)):
        if padded is not x:
            s[padded].compute_inline()
    return s, [a, b, c]


def _power(x: int) -> int:
    """The least power of two that is at least x, and at least the side of a tile."""
    return max(SIDE, 1 << (x - 1).bit_length())


def tensor_cores(s: Any, op: Any, end: Any, rows: int, columns: int, depth: int) -> None:
    """A product whose sizes these tiles divide, on tensor cores. `end`: the product, or what cuts it to its size."""
    c, (left, right) = op.output(0), op.input_tensors
    down, along = min(rows, 64), min(columns, 32)  # of a warp
    warps = rows // down * (columns // along)
    sums = s.cache_write(c, "wmma.accumulator")
    tiles = [s.cache_read(t, "shared", [sums]) for t in (left, right)]
    sides = [s.cache_read(t, f"wmma.matrix_{x}", [sums]) for t, x in zip(tiles, "ab")]
    i, j = _blocks(s[end], rows, columns)
    if end is not c:
        _cut(s, c, end, (i, j), warps)
        i, j = s[c].op.axis
    warp = _warps(s[c], i, j, down, along, te.get_intrin("wmma_store" if end is c else "wmma_store_shared"))
    s[sums].compute_at(s[c], warp)
    ko, ki = _products(s[sums], depth)
    for t, name in zip(sides, ("wmma_load_a", "wmma_load_b")):
        s[t].compute_at(s[sums], ki)
        outer, inner = _tiled(s[t], *s[t].op.axis)
        s[t].reorder(*outer, *inner)
        _unrolled(s[t], *outer)
        s[t].tensorize(inner[0], te.get_intrin(name))
    for t, source in zip(tiles, (left, right)):
        plain = isinstance(source.op, te.PlaceholderOp) and _shared.constant(source.shape[1], 1) % 8 == 0
        _gpu.fetch(s, t, sums, ko, _gpu.WARP, warps, 8 if plain else 1)
        s[t].storage_align(s[t].op.axis[0], SIDE, SKEW)


def _blocks(stage: Any, rows: int, columns: int) -> tuple[Any, Any]:
    """The axes inside of a block."""
    i, j = stage.op.axis
    by, i = stage.split(i, factor=rows)
    bx, j = stage.split(j, factor=columns)
    stage.reorder(by, bx, i, j)
    _gpu.bind(stage, by, "blockIdx.y")
    _gpu.bind(stage, bx, "blockIdx.x")
    return i, j


def _cut(s: Any, c: Any, end: Any, inside: tuple[Any, Any], warps: int) -> None:
    """A block's tile of C lies in shared memory; its threads copy what there is of it."""
    s[c].set_scope("shared")
    s[c].compute_at(s[end], s[end].leaf_iter_vars[1])
    rest, tx = s[end].split(s[end].fuse(*inside), factor=_gpu.WARP)
    _, ty = s[end].split(rest, factor=warps)
    _gpu.bind(s[end], ty, "threadIdx.y")
    _gpu.bind(s[end], tx, "threadIdx.x")


def _warps(stage: Any, i: Any, j: Any, down: int, along: int, store: Any) -> Any:
    """down x along to a warp, stored by tiles."""
    wy, i = stage.split(i, factor=down)
    wx, j = stage.split(j, factor=along)
    i, yi = stage.split(i, factor=SIDE)
    j, xi = stage.split(j, factor=SIDE)
    stage.reorder(wy, wx, i, j, yi, xi)
    warp = stage.fuse(wy, wx)
    _gpu.bind(stage, warp, "threadIdx.y")
    _unrolled(stage, i, j)
    stage.tensorize(yi, store)
    return warp


def _products(stage: Any, depth: int) -> tuple[Any, Any]:
    """ko, ki, tiles of C, one product: the loops at which shared memory and fragments are loaded."""
    (r,) = stage.op.reduce_axis
    outer, inner = _tiled(stage, *stage.op.axis)
    ko, r = stage.split(r, factor=depth)
    ki, r = stage.split(r, factor=SIDE)
    stage.reorder(ko, ki, *outer, *inner, r)
    _unrolled(stage, ki, *outer)
    stage.tensorize(inner[0], te.get_intrin("wmma_mma"))
    return ko, ki


def _tiled(stage: Any, *axes: Any) -> tuple[list[Any], list[Any]]:
    pairs = [stage.split(a, factor=SIDE) for a in axes]
    return [o for o, _ in pairs], [i for _, i in pairs]


def _unrolled(stage: Any, *axes: Any) -> None:
    for a in axes:
        stage.unroll(a)
