"""Which iterations write an element: solved from the loops, and the same as trying all of them."""

import itertools

import pytest

from tvmlab import te, tir
from tvmlab.core.node import For
from tvmlab.face.api import lower
from tvmlab.face.writers import Around, interval, stores, writers


def add(n, m):
    a = te.placeholder((n, m), name="A")
    b = te.compute((n, m), lambda i, j: a[i, j] + 1, name="B")
    return te.create_schedule(b.op), a, b


def matmul(n):
    a, b = te.placeholder((n, n), name="A"), te.placeholder((n, n), name="B")
    k = te.reduce_axis((0, n), name="k")
    c = te.compute((n, n), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    return te.create_schedule(c.op), [a, b, c], c, k


def test_in_the_persons_names():
    s, args, c, k = matmul(64)
    io, jo, ii, ji = s[c].tile(*c.op.axis, 16, 32)
    ko, ki = s[c].split(k, 4)
    s[c].reorder(io, jo, ko, ii, ki, ji)
    found, note = writers(lower(s, args, simple_mode=True).entry, 2, (17, 63), {})
    assert found == [
        "C: io = 1, jo = 1, ii_init = 1, ji_init = 31 (the start value)",
        "C: io = 1, jo = 1, ko = 0..15, ii = 1, ki = 0..3, ji = 31",
    ]
    assert note == ""


def tried(fn, position, index):
    """All iterations, one by one."""
    found = []
    for store, around in stores(fn.body, Around(), fn.params[position]):
        loops = [x for x in around.loops if isinstance(x, For)]
        for point in itertools.product(*(range(x.lo.value, x.lo.value + x.extent.value) for x in loops)):
            env = {x.var: (v, v) for x, v in zip(loops, point)}
            if all(interval(c, env)[0] == want for c, want in around.guards):
                if all(interval(e, env)[0] == i for e, i in zip(store.indices, index)):
                    found.append(", ".join(f"{x.var.name} = {v}" for x, v in zip(loops, point)))
    return found


def fused(s, b):
    f = s[b].fuse(*b.op.axis)
    s[b].split(f, 8)


def split(s, b):
    s[b].split(b.op.axis[0], 4)
    s[b].split(b.op.axis[1], nparts=3)


@pytest.mark.parametrize("steps", [fused, split])
@pytest.mark.parametrize("index", [(0, 0), (6, 10), (4, 7), (3, 3)])
def test_the_same_as_trying_all(steps, index):
    s, a, b = add(7, 11)
    steps(s, b)
    fn = lower(s, [a, b], simple_mode=True).entry
    found, note = writers(fn, 1, index, {})
    expected = tried(fn, 1, index)
    assert [x.removeprefix("B: ") for x in found] == expected and len(expected) == 1 and note == ""


def test_a_large_fused_loop_is_solved_not_walked():
    s, a, b = add(4096, 4096)
    s[b].fuse(*b.op.axis)
    found, note = writers(lower(s, [a, b], simple_mode=True).entry, 1, (4000, 1234), {})
    assert found == [f"B: i_j_fused = {4000 * 4096 + 1234}"] and note == ""


def test_sizes_that_are_variables():
    n = te.var("n")
    a = te.placeholder((n,), name="A")
    b = te.compute((n,), lambda i: a[i] + 1, name="B")
    s = te.create_schedule(b.op)
    s[b].split(b.op.axis[0], 16)
    fn = lower(s, [a, b], simple_mode=True).entry
    found, _ = writers(fn, 1, (37,), {"n": 50})
    assert found == ["B: i_outer = 2, i_inner = 5"]


def test_an_element_that_nothing_writes():
    a = te.placeholder((8,), name="A")

    def half(ins, outs):
        ib = tir.ir_builder.create()
        x, y = ib.buffer_ptr(ins[0]), ib.buffer_ptr(outs[0])
        with ib.for_range(0, 4, "q") as q:
            y[q] = x[q]
        return ib.get()

    b = te.extern((8,), [a], half, name="B", dtype="float32")
    s = te.create_schedule(b.op)
    fn = lower(s, [a, b], simple_mode=True).entry
    assert writers(fn, 1, (2,), {})[0] == ["B: q = 2"]
    assert writers(fn, 1, (6,), {}) == ([], "no iteration writes this element")


def test_what_a_packed_function_writes_is_said():
    a = te.placeholder((8,), name="A")
    b = te.extern((8,), [a], lambda i, o: tir.call_packed("test.jobs.double_badly", i[0], o[0]), name="B")
    s = te.create_schedule(b.op)
    found, note = writers(lower(s, [a, b], simple_mode=True).entry, 1, (2,), {})
    assert found == [] and "a call" in note
