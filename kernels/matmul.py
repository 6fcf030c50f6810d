"""Matrix multiplication: plain, with either side transposed, batched."""

from __future__ import annotations

from typing import Any

from tvmlab import te

from . import _checks, _gpu, _shared

SHAPES = {
    **{f"square {n}": {"m": n, "n": n, "k": n} for n in (256, 512, 1024, 2048)},
    "A transposed": {"m": 1024, "n": 1024, "k": 1024, "transpose_a": True},
    "batched": {"m": 256, "n": 256, "k": 256, "batch": 16},
    "float64": {"m": 1024, "n": 1024, "k": 1024, "dtype": "float64"},
}
ENOUGH = 256  # blocks: two for each multiprocessor of a large GPU of today
SMALL = [
    {"m": 17, "n": 33, "k": 5},
    {"m": 1, "n": 1, "k": 1},
    {"m": 7, "n": 19, "k": 11, "transpose_a": True, "dtype": "float64"},
    {"m": 6, "n": 20, "k": 9, "transpose_b": True},
    {"m": 5, "n": 18, "k": 7, "batch": 3},
    {"m": 5, "n": 18, "k": 7, "batch": 3, "transpose_a": True, "transpose_b": True},
]


def _need_k(operator: str, a: Any, b: Any, transpose_a: bool, transpose_b: bool) -> None:
    """Both sides are as long along the dimension that is summed."""
    last = len(a.shape) - 1
    i, j = last - transpose_a, last - 1 + transpose_b
    _checks.need_equal(
        operator, f"a's k (dimension {i})", a.shape[i], f"b's k (dimension {j}, transpose_b={transpose_b})", b.shape[j]
    )


def matmul(a: Any, b: Any, transpose_a: bool = False, transpose_b: bool = False, out_dtype: str = "") -> Any:
    """(m, k) x (k, n) -> (m, n); `transpose_a`: a is (k, m); `transpose_b`: b is (n, k)."""
    _checks.need_dims("matmul", "a", a, "k m" if transpose_a else "m k")
    _checks.need_dims("matmul", "b", b, "n k" if transpose_b else "k n")
    _need_k("matmul", a, b, transpose_a, transpose_b)
    (k, m) = a.shape if transpose_a else reversed(a.shape)
    n = b.shape[0 if transpose_b else 1]
    dtype = out_dtype or a.dtype
    r = te.reduce_axis((0, k), name="k")

    def product(i: Any, j: Any) -> Any:
        left = a[r, i] if transpose_a else a[i, r]
        right = b[j, r] if transpose_b else b[r, j]
        return te.sum(left.astype(dtype) * right.astype(dtype), axis=r)

    return te.compute((m, n), product, name="C", tag="matmul")


def batch_matmul(a: Any, b: Any, transpose_a: bool = False, transpose_b: bool = False, out_dtype: str = "") -> Any:
    """(batch, m, k) x (batch, k, n) -> (batch, m, n); a batch of one on either side goes with every other."""
    _checks.need_dims("batch_matmul", "a", a, "batch k m" if transpose_a else "batch m k")
    _checks.need_dims("batch_matmul", "b", b, "batch n k" if transpose_b else "batch k n")
    _need_k("batch_matmul", a, b, transpose_a, transpose_b)
    if 1 not in (_shared.constant(a.shape[0]), _shared.constant(b.shape[0])):
        _checks.need_equal("batch_matmul", "a's batch (dimension 0)", a.shape[0], "b's (dimension 0)", b.shape[0])
    (k, m) = a.shape[1:] if transpose_a else (a.shape[2], a.shape[1])
    n = b.shape[1 if transpose_b else 2]
    batch = b.shape[0] if _shared.constant(a.shape[0]) == 1 else a.shape[0]
    one_a, one_b = (_shared.constant(x.shape[0]) == 1 for x in (a, b))
    dtype = out_dtype or a.dtype
    r = te.reduce_axis((0, k), name="k")

    def product(q: Any, i: Any, j: Any) -> Any:
        qa, qb = (0 if one_a else q), (0 if one_b else q)
        left = a[qa, r, i] if transpose_a else a[qa, i, r]
        right = b[qb, j, r] if transpose_b else b[qb, r, j]
        return te.sum(left.astype(dtype) * right.astype(dtype), axis=r)

    return te.compute((batch, m, n), product, name="C", tag="batch_matmul")


def declare(
    m: int, n: int, k: int, batch: int = 0, transpose_a: bool = False, transpose_b: bool = False, dtype: str = "float32"
) -> list[Any]:
    lead = (batch,) if batch else ()
    a = te.placeholder((*lead, *((k, m) if transpose_a else (m, k))), dtype, name="A")
    b = te.placeholder((*lead, *((n, k) if transpose_b else (k, n))), dtype, name="B")
    product = batch_matmul if batch else matmul
    return [a, b, product(a, b, transpose_a, transpose_b)]


def reference(a: Any, b: Any, /, transpose_a: bool = False, transpose_b: bool = False, **shape: Any) -> Any:
    a = a.swapaxes(-1, -2) if transpose_a else a
    b = b.swapaxes(-1, -2) if transpose_b else b
    return a @ b


def schedule_matmul(s: Any, op: Any) -> None:
    """i, j -> io, jo, k, ii, ji: a tile of rows by vectors stays in registers while k runs."""
    stage = s[op]
    *batch, i, j = stage.op.axis
    (k,) = stage.op.reduce_axis
    io, ii = stage.split(i, factor=4)
    jo, ji = stage.split(j, factor=_shared.LANES)
    stage.reorder(*batch, io, jo, k, ii, ji)
    stage.unroll(ii)
    stage.vectorize(ji)
    _shared.in_parallel(stage, [*batch, io])


def schedule_cpu(outs: Any) -> Any:
    return _shared.schedule(outs, schedule_matmul, lambda op: op.tag in ("matmul", "batch_matmul"))


# ---------------------------------------------------------------- fast on CPUs


def cpu(
    m: int, n: int, k: int, batch: int = 0, transpose_a: bool = False, transpose_b: bool = False, dtype: str = "float32"
) -> tuple[Any, list[Any]]:
    """(schedule, [A, B, C]): a register tile of rows by vectors over panels of B.

    While a panel (k x vectors) fits the second cache and A the third, C stays in registers for the whole of k;
    otherwise, and where a side is transposed, k is blocked.
    """
    a, b, c = declare(m, n, k, batch, transpose_a, transpose_b, dtype)
    s = te.create_schedule(c.op)
    large = k > 2048 or m * k * (8 if dtype == "float64" else 4) > LARGE
    if transpose_a or transpose_b or large:
        blocked(s, a, b, c, dtype, transpose_a, transpose_b)
    else:
        whole = [rows for rows in (6, 5, 4) if m % rows == 0]  # no remainder: less code, sooner compiled
        panels(s, b, c, dtype, rows=whole[0] if whole else 6, packed=m > FEW)
    return s, [a, b, c]


FEW = 16  # rows of A up to which a copy of B's panel does not pay
LARGE = 16 << 20  # bytes of A that do not stay in the third cache while it is read once per panel


def lanes_of(dtype: str) -> int:
    return _shared.LANES * 4 // (8 if dtype == "float64" else 4)


def panels(s: Any, b: Any, c: Any, dtype: str, rows: int, packed: bool, vectors: int = 4) -> None:
    """jo, [pack B's panel], io, k, [rows x vectors]: C's tile stays in registers for the whole of k."""
    lanes = lanes_of(dtype)
    panel = s.cache_read(b, "global", [c]) if packed else None
    tile = s.cache_write(c, "local")
    *batch, i, j = s[c].op.axis
    jo, ji = s[c].split(j, factor=vectors * lanes)
    io, ii = s[c].split(i, factor=rows)
    jv, jl = s[c].split(ji, factor=lanes)
    s[c].reorder(*batch, jo, io, ii, jv, jl)
    registers(s[c], ii, jv, jl)
    s[tile].compute_at(s[c], io)
    *one, i, j = s[tile].op.axis
    jv, jl = s[tile].split(j, factor=lanes)
    s[tile].reorder(*one, *s[tile].op.reduce_axis, i, jv, jl)
    registers(s[tile], i, jv, jl)
    if panel is not None:
        s[panel].compute_at(s[c], jo)
        copy_vectors(s[panel], lanes)


def registers(stage: Any, rows: Any, vectors: Any, lanes: Any) -> None:
    stage.unroll(rows)
    stage.unroll(vectors)
    stage.vectorize(lanes)


def copy_vectors(stage: Any, lanes: int) -> None:
    _, inner = stage.split(stage.op.axis[-1], factor=lanes)
    stage.vectorize(inner)


def blocked(
    s: Any, a: Any, b: Any, c: Any, dtype: str, transpose_a: bool, transpose_b: bool, rows: int = 8, vectors: int = 2
) -> None:
    """jo, ko, [pack B], io, [pack A], jm, im, k, [rows x vectors]; C is added to once per block of k.

    B in panels [j//width][k][j%width]. A is read as it is, unless its rows do not lie together: then it is packed too,
    [i//rows][k][i%rows], and each block of it serves more columns.
    """
    lanes = lanes_of(dtype)
    width = vectors * lanes
    right = s.cache_read(b, "global", [c])
    left = s.cache_read(a, "global", [c]) if transpose_a else None
    *batch, i, j = s[c].op.axis
    (k,) = s[c].op.reduce_axis
    jo, jr = s[c].split(j, factor=1024 if transpose_a else 256)
    jm, ji = s[c].split(jr, factor=width)
    jv, jl = s[c].split(ji, factor=lanes)
    ko, ki = s[c].split(k, factor=512)
    if left is None:
        im, ii = s[c].split(i, factor=rows)
        s[c].reorder(*batch, jo, ko, im, jm, ki, ii, jv, jl)
    else:
        io, ir = s[c].split(i, factor=256)
        im, ii = s[c].split(ir, factor=rows)
        s[c].reorder(*batch, jo, ko, io, jm, im, ki, ii, jv, jl)
        s[left].compute_at(s[c], io)
        pack(s, left, rows, min(rows, lanes), columns=True)
    registers(s[c], ii, jv, jl)
    s[right].compute_at(s[c], ko)
    pack(s, right, width, lanes, columns=not transpose_b)


def pack(s: Any, tensor: Any, size: int, lanes: int, columns: bool) -> None:
    """Panels of `size` rows (or columns), in which k varies slower than the place in the panel."""
    if columns:
        layout = lambda *x: [*x[:-2], x[-1] // size, x[-2], x[-1] % size]
    else:
        layout = lambda *x: [*x[:-2], x[-2] // size, x[-1], x[-2] % size]
    *_, place = s[tensor].transform_layout(layout)
    if columns:
        _, inner = s[tensor].split(place, factor=lanes)
        s[tensor].vectorize(inner)
    else:
        s[tensor].unroll(place)


# ---------------------------------------------------------------- GPUs


def schedule_gpu(outs: Any) -> Any:
    return _gpu.schedule(outs, tiled, lambda op: op.tag in ("matmul", "batch_matmul"))


def gpu(
    m: int, n: int, k: int, batch: int = 0, transpose_a: bool = False, transpose_b: bool = False,
    dtype: str = "float32", **tile: int,
) -> tuple[Any, list[Any]]:  # fmt: skip
    """(schedule, [A, B, C]): `tiled` with other tiles, such as rows=128, columns=128, each=4, virtual=2."""
    a, b, c = declare(m, n, k, batch, transpose_a, transpose_b, dtype)
    s = te.create_schedule(c.op)
    tiled(s, c.op, **tile)
    return s, [a, b, c]


def tiled(
    s: Any, op: Any, rows: int = 0, columns: int = 0, depth: int = 16, each: int = 4, virtual: int = 0
) -> None:
    """Three levels: rows x columns of C to a block, each x each to a thread, `depth` of k at a time in shared memory.

    The threads of a block fetch the tiles of both sides together; each thread keeps its part of C, and for one step of
    k the elements that it needs of either side, in registers. With `virtual` threads, 2 say, it has 2 x 2 such parts,
    which lie apart: so threads beside each other go on reading neighbours in shared memory. What is not said is 64 x 64
    to a block without virtual threads, and 128 x 128 with two where that leaves enough blocks for a large GPU.
    """
    c, sides = op.output(0), list(dict.fromkeys(op.input_tensors))
    large = _shared.constant(c.shape[-2]) // 128 * (_shared.constant(c.shape[-1]) // 128) >= ENOUGH
    virtual = virtual or (2 if large and not rows and not columns else 1)
    rows, columns = rows or 64 * virtual, columns or 64 * virtual
    y, x = rows // each // virtual, columns // each // virtual
    sums = s.cache_write(c, "local")
    tiles = [s.cache_read(t, "shared", [sums]) for t in sides]
    registers_ = [s.cache_read(t, "local", [sums]) for t in tiles]
    *batch, i, j = s[c].op.axis
    wide = _gpu.lanes(c.shape[-1])
    by, i = s[c].split(i, factor=rows)
    bx, j = s[c].split(j, factor=columns)
    apart: list[Any] = []
    if virtual > 1:
        vy, i = s[c].split(i, factor=y * each)
        vx, j = s[c].split(j, factor=x * each)
        apart = [vy, vx]
    ty, yi = s[c].split(i, factor=each)
    tx, xi = s[c].split(j, factor=each)
    s[c].reorder(*batch, by, bx, *apart, ty, tx, yi, xi)
    for axis, tag in ((by, "blockIdx.y"), (bx, "blockIdx.x"), (ty, "threadIdx.y"), (tx, "threadIdx.x")):
        _gpu.bind(s[c], axis, tag)
    for axis in apart:
        _gpu.bind(s[c], axis, "vthread")
    if batch:
        _gpu.bind(s[c], s[c].fuse(*batch), "blockIdx.z")
    _unrolled(s[c], yi, xi, wide)
    s[sums].compute_at(s[c], tx)
    *_, yi, xi = s[sums].op.axis
    ko, ki = s[sums].split(s[sums].op.reduce_axis[0], factor=depth)
    s[sums].reorder(ko, ki, *s[sums].op.axis)
    _unrolled(s[sums], yi, xi, wide)
    for tile, part in zip(tiles, registers_):
        s[part].compute_at(s[sums], ki)
        for axis in s[part].op.axis[:-1]:
            s[part].unroll(axis)
        _unrolled(s[part], None, s[part].op.axis[-1], wide)  # along k it is one element, and stays one
        _gpu.fetch(s, tile, sums, ko, x, y, _gpu.lanes(tile.shape[-1], depth, rows, columns))


def _unrolled(stage: Any, rows: Any, columns: Any, wide: int) -> None:
    if rows is not None:
        stage.unroll(rows)
    if wide > 1:
        columns, lane = stage.split(columns, factor=wide)
        stage.unroll(columns)
        stage.vectorize(lane)
    else:
        stage.unroll(columns)
