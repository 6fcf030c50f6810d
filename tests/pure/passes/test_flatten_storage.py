"""Buffers become flat; addresses stay what they were."""

from tests.pure.passes.ir import buffer, ints, load, loop, nodes, program, same_result, store, var
from tvmlab.core import build
from tvmlab.core.node import Alloc, Broadcast, Call, Const, Evaluate, Ramp, Store
from tvmlab.core.text import show
from tvmlab.core.walk import seq
from tvmlab.lowering.passes import get

flatten_storage = get("flatten_storage")


def matmul():
    a, b, c = buffer("A", 6, 5), buffer("B", 5, 32), buffer("C", 6, 32)
    i, j, k = ints("i j k")
    at = (i, Ramp(j * 16, Const(1), 16))
    value = load(c, *at) + build.cast(load(a, i, k), "float32x16") * load(b, k, Ramp(j * 16, Const(1), 16))
    zero = store(c, at, Broadcast(Const(0.0, "float32"), 16))
    return program((a, b, c), loop(i, 6, loop(j, 2, zero, loop(k, 5, store(c, at, value)))))


def test_matmul(golden):
    before = matmul()
    after = flatten_storage(before)
    golden(show(before.body), "before")
    golden(show(after.body), "after")
    same_result(before, after)
    assert all(len(s.indices) == 1 for s in nodes(after, Store))


def test_params_keep_handle_and_origin():
    before = matmul()
    for old, new in zip(before.entry.buffers, flatten_storage(before).entry.buffers):
        assert new.logical is old and new.data is old.data and new.ndim == 1
    assert [p.shape[0].value for p in flatten_storage(before).entry.buffers] == [30, 160, 192]


def test_a_flat_program_is_not_touched():
    flat = flatten_storage(matmul())
    assert flatten_storage(flat) is flat


def test_symbolic_shape(golden):
    n, m = var("n", nonneg=True), var("m", nonneg=True)
    a, b = buffer("A", n, m), buffer("B", m, n)
    i, j = ints("i j")
    before = program((a, b), loop(i, n, loop(j, m, store(b, (j, i), load(a, i, j)))), sizes=(n, m))
    after = flatten_storage(before)
    golden(after)
    same_result(before, after, {n: 3, m: 4})


def test_strides_and_offset(golden):
    s, o = var("s"), var("o")
    a = buffer("A", 4, 5, strides=(s, Const(2)), offset=o)
    b = buffer("B", 4, 5)
    i, j = ints("i j")
    before = program((a, b), loop(i, 4, loop(j, 5, store(b, (i, j), load(a, i, j)))), sizes=(s, o))
    after = flatten_storage(before)
    golden(after)
    same_result(before, after, {s: 16, o: 0})


def test_allocation_takes_its_strides(golden):
    """storage_align pads the rows: the size is the largest index plus one."""
    t = buffer("T", 4, 5, strides=(Const(8), Const(1)), scope="local")
    out = buffer("O", 4, 5)
    i, j, i2, j2 = ints("i j i2 j2")
    fill = loop(i, 4, loop(j, 5, store(t, (i, j), build.cast(i * j, "float32"))))
    copy = loop(i2, 4, loop(j2, 5, store(out, (i2, j2), load(t, i2, j2))))
    before = program((out,), Alloc(t, seq(fill, copy)))
    after = flatten_storage(before)
    golden(after)
    assert nodes(after, Alloc)[0].buffer.shape[0].value == 3 * 8 + 4 + 1
    same_result(before, after)


def test_rank_zero_and_empty():
    z, e = buffer("Z"), buffer("E", 0, 7)
    (i,) = ints("i")
    before = program((z, e), store(z, (), 2.0), loop(i, 0, store(e, (i, i), 1.0)))
    after = flatten_storage(before)
    assert [b.shape[0].value for b in after.entry.buffers] == [1, 0]
    same_result(before, program((z, e), store(z, (), 2.0)))
    assert show(after.body).startswith("Z[0] = 2.0")


def test_two_lane_dependent_indices_merge(golden):
    """The diagonal: rows and columns advance together, one ramp of stride 9."""
    a, d = buffer("A", 8, 8), buffer("D", 8)
    lanes = Ramp(Const(0), Const(1), 8)
    before = program((a, d), store(d, (lanes,), load(a, lanes, lanes)))
    after = flatten_storage(before)
    golden(after)
    same_result(before, after)


def test_gather_index():
    a, x, d = buffer("A", 8, 23), buffer("X", 8, dtype="int32"), buffer("D", 8)
    lanes = Ramp(Const(0), Const(1), 8)
    row = load(x, lanes) % Broadcast(Const(8), 8)
    before = program((a, x, d), store(d, (lanes,), load(a, row, Ramp(Const(2), Const(2), 8))))
    after = flatten_storage(before)
    assert show(after.body) == "D[0:8] = A[[2::2[:8]] + X[0:8]%8*23]"
    same_result(before, after)


def test_masks_stay():
    a, d = buffer("A", 2, 8), buffer("D", 2, 8)
    lanes = Ramp(Const(0), Const(1), 8)
    mask = lanes < Broadcast(Const(5), 8)
    value = load(a, 1, lanes)
    value = type(value)(value.buffer, value.indices, value.dtype, mask)
    before = program((a, d), store(d, (Const(1), lanes), value, mask=mask))
    after = flatten_storage(before)
    assert nodes(after, Store)[0].mask is mask
    same_result(before, after)


def test_pointers_keep_meaning():
    a = buffer("A", 4, 4)
    pointer = Call("access_ptr", (a.data, Const(4), Const(4), Const(1)), "handle", "intrin")
    before = program((a,), Evaluate(Call("f", (pointer,), "int32", "extern")), store(a, (0, 0), 1.0))
    after = flatten_storage(before)
    assert nodes(after, Call)[1].args[0] is after.entry.buffers[0].data


def test_int64_indices():
    a = buffer("A", 4, 4)
    i = var("i", "int64")
    before = program((a,), loop(i, Const(4, "int64"), store(a, (i, Const(0, "int64")), 1.0), lo=Const(0, "int64")))
    after = flatten_storage(before)
    assert nodes(after, Store)[0].indices[0].dtype == "int64"
    same_result(before, after)
