"""Matrix multiplication: plain, with either side transposed, batched."""

from __future__ import annotations

from typing import Any

from tvmlab import te, tune

from . import _checks, _gpu, _shared, _space

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
    """(schedule, [A, B, C]): a register tile of rows by vectors over panels of B."""
    a, b, c = declare(m, n, k, batch, transpose_a, transpose_b, dtype)
    s = te.create_schedule(c.op)
    blocks(s, a, b, c, transpose_a, transpose_b, **by_hand(m, n, k, transpose_a, transpose_b, dtype))
    return s, [a, b, c]


@tune.template("kernels.matmul")
def tuned(
    m: int, n: int, k: int, batch: int = 0, transpose_a: bool = False, transpose_b: bool = False, dtype: str = "float32"
) -> tuple[Any, list[Any]]:
    """The search template: the choices of `blocks`. Point 0 is the hand schedule, `cpu`."""
    a, b, c = declare(m, n, k, batch, transpose_a, transpose_b, dtype)
    cfg = tune.get_config()
    cfg.add_flop(2 * m * n * k * max(1, batch))
    choices: dict[str, list[Any]] = {
        "tile": _space.tiles(m, -(-n // lanes_of(dtype))),
        "columns": [(0, "rows"), *[(x, i) for x in (256, 1024) if x < 2 * n for i in ("columns", "rows")]],
        "depth": _space.below((128, 256, 512), k),
        "height": _space.below((64, 256), m),
        "pack_a": [False, True] if m > 1 else [False],
        "pack_b": [True] if transpose_b else [True, False],
        "unroll": [x for x in (1, 2, 4) if x <= k],
        "parallel": _space.threads(m * n * k * max(1, batch)),
    }
    s = te.create_schedule(c.op)
    hand = by_hand(m, n, k, transpose_a, transpose_b, dtype)
    blocks(s, a, b, c, transpose_a, transpose_b, **_space.choose(cfg, choices, hand))
    return s, [a, b, c]


FEW = 16  # rows of A up to which a copy of B's panel does not pay
LARGE = 16 << 20  # bytes of A that do not stay in the third cache while it is read once per panel


def lanes_of(dtype: str) -> int:
    return _shared.LANES * 4 // (8 if dtype == "float64" else 4)


def by_hand(m: int, n: int, k: int, transpose_a: bool, transpose_b: bool, dtype: str) -> dict[str, Any]:
    """The choices of the hand schedule.

    While a panel (k x vectors) fits the second cache and A the third, C stays in registers for the whole of k;
    otherwise, and where a side is transposed, k is blocked. A is read as it is, unless its rows do not lie together:
    then it is packed too, and each block of it serves more columns.
    """
    plain = {"height": 0, "pack_a": False, "unroll": 1, "parallel": False}
    large = k > 2048 or m * k * (8 if dtype == "float64" else 4) > LARGE
    if not (transpose_a or transpose_b or large):
        whole = [rows for rows in (6, 5, 4) if m % rows == 0]  # no remainder: less code, sooner compiled
        return {**plain, "tile": (whole[0] if whole else 6, 4), "columns": (0, "rows"), "depth": 0,
                "pack_b": m > FEW}  # fmt: skip
    blocked = {**plain, "tile": (8, 2), "columns": (256, "columns"), "depth": 512, "pack_b": True}
    return {**blocked, "columns": (1024, "rows"), "height": 256, "pack_a": m > 1} if transpose_a else blocked


def blocks(
    s: Any, a: Any, b: Any, c: Any, transpose_a: bool, transpose_b: bool, *, tile: Any, columns: Any, depth: int,
    height: int, pack_a: bool, pack_b: bool, unroll: int, parallel: bool,
) -> None:  # fmt: skip
    """jo, ko, [pack B], io, [pack A], jm and im, k, [rows x vectors]

    `tile`: rows and vectors of the tile of C that stays in registers. `columns`: how many of B's are packed at a
    time (0: the vectors of one tile), and which loop over tiles is inside. `depth`: the steps of k after which C is
    written, and added to in the next block; 0: all. `height`: rows of a block of A; 0: all. `unroll`: steps of k.

    B is packed in panels [j//width][k][j%width], A in [i//rows][k][i%rows].
    """
    (rows, vectors), (across, inside) = tile, columns
    lanes = lanes_of(c.dtype)
    width = vectors * lanes
    right = s.cache_read(b, "global", [c]) if pack_b else None
    left = s.cache_read(a, "global", [c]) if pack_a else None
    sums = c if depth else s.cache_write(c, "local")
    stage = s[c]
    *batch, i, j = stage.op.axis
    jo, j = cut(stage, j, across)
    jm, ji = stage.split(j, factor=width)
    jv, jl = stage.split(ji, factor=lanes)
    io, i = cut(stage, i, height)
    im, ii = stage.split(i, factor=rows)
    outer, loops = (jo, [jm, im] if inside == "rows" else [im, jm]) if across else ([jm], [im])
    ko: list[Any] = []
    steps: list[Any] = []
    if depth:
        ko, ki = cut(stage, stage.op.reduce_axis[0], depth)
        steps = in_steps(stage, ki, unroll)
    stage.reorder(*batch, *outer, *ko, *io, *loops, *steps, ii, jv, jl)
    registers(stage, ii, jv, jl)
    if parallel:
        stage.parallel([*batch, *outer][0])
    if not depth:
        keep_sums(s, sums, stage, loops[-1], lanes, unroll)
    if right is not None:
        s[right].compute_at(stage, [*outer, *ko][-1])
        if across or transpose_b:
            pack(s, right, width, lanes, columns=not transpose_b)
        else:
            copy_vectors(s[right], lanes)
    if left is not None:
        if io or ko:
            s[left].compute_at(stage, [*ko, *io][-1])
        pack(s, left, rows, min(rows, lanes), columns=transpose_a)


def cut(stage: Any, axis: Any, size: int) -> tuple[list[Any], Any]:
    """(the loop over blocks of that size, the loop within one); no loop over blocks where the size is 0."""
    if not size:
        return [], axis
    outer, inner = stage.split(axis, factor=size)
    return [outer], inner


def in_steps(stage: Any, k: Any, unroll: int) -> list[Any]:
    if unroll == 1:
        return [k]
    ko, step = stage.split(k, factor=unroll)
    stage.unroll(step)
    return [ko, step]


def keep_sums(s: Any, sums: Any, parent: Any, at: Any, lanes: int, unroll: int) -> None:
    """The tile's sums stay in registers for the whole of k."""
    stage = s[sums]
    stage.compute_at(parent, at)
    *one, i, j = stage.op.axis
    jv, jl = stage.split(j, factor=lanes)
    stage.reorder(*one, *in_steps(stage, stage.op.reduce_axis[0], unroll), i, jv, jl)
    registers(stage, i, jv, jl)


def registers(stage: Any, rows: Any, vectors: Any, lanes: Any) -> None:
    stage.unroll(rows)
    stage.unroll(vectors)
    stage.vectorize(lanes)


def copy_vectors(stage: Any, lanes: int) -> None:
    _, inner = stage.split(stage.op.axis[-1], factor=lanes)
    stage.vectorize(inner)


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
