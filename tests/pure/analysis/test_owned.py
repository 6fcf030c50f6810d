"""Which elements a block computes, against every thread and iteration one after the other, in plain Python."""

from itertools import product

import numpy as np
import pytest

from tests.pure.passes.ir import buffer, ints, load, loop, store, var, when
from tvmlab import kernels, te
from tvmlab.analysis import owned, warps
from tvmlab.core.build import FOLD
from tvmlab.core.node import Alloc, Bin, Call, Cast, Const, Evaluate, For, If, LetStmt, Not, Select, Seq, Store, Var
from tvmlab.core.threads import BLOCK, GRID
from tvmlab.view import frame


def number(e, at):
    """An index or a condition, for one thread in one iteration."""
    if isinstance(e, (Const, Var)):
        return e.value if isinstance(e, Const) else at[e]
    if isinstance(e, Bin) and e.op in ("and", "or"):
        a, b = bool(number(e.a, at)), bool(number(e.b, at))
        return (a and b) if e.op == "and" else (a or b)
    if isinstance(e, Bin):
        a, b = number(e.a, at), number(e.b, at)
        return min(a, b) if e.op == "min" else max(a, b) if e.op == "max" else FOLD[e.op](a, b)
    if isinstance(e, (Not, Cast)):
        return not number(e.value, at) if isinstance(e, Not) else number(e.value, at)
    if isinstance(e, Select):
        return number(e.then if number(e.cond, at) else e.other, at)
    return number(e.args[0], at)  # likely


def written(s, at, tags):
    """(buffer, element) of every write to global memory."""
    if isinstance(s, For):
        own = [tags.get(s.thread, 0)] if s.kind == "thread" else range(number(s.extent, at))
        for i in own:
            if i < number(s.extent, at):
                yield from written(s.body, {**at, s.var: i + number(s.lo, at)}, tags)
    elif isinstance(s, If):
        taken = s.then if number(s.cond, at) else s.other
        yield from written(taken, at, tags) if taken is not None else ()
    elif isinstance(s, LetStmt):
        yield from written(s.body, {**at, s.var: number(s.value, at)}, tags)
    elif isinstance(s, Seq):
        for x in s.stmts:
            yield from written(x, at, tags)
    elif isinstance(s, Store):
        if s.buffer.scope == "global":
            yield s.buffer.name, tuple(number(i, at) for i in s.indices)
    elif hasattr(s, "body"):
        yield from written(s.body, at, tags)


def by_hand(kernel):
    """Buffer -> element -> the (block, thread)s that write it, each counted with x fastest."""
    extents = warps.launch(kernel)
    found = {}
    blocks, threads = ([t for t in tags if t in extents] for tags in (GRID, BLOCK))

    def places(tags):
        return [dict(zip(tags, reversed(at), strict=True)) for at in product(*(range(extents[t]) for t in tags[::-1]))]

    for b, block in enumerate(places(blocks)):
        for t, thread in enumerate(places(threads)):
            for name, at in written(kernel, {}, {**block, **thread}):
                found.setdefault(name, {}).setdefault(at, set()).add((b, t))
    return found


CASES = {
    "matmul": {"m": 34, "n": 30, "k": 5},
    "conv2d": {"height": 6, "width": 5, "in_channel": 3, "out_channel": 4, "kernel": 3, "padding": 1},
    "depthwise_conv2d": {"height": 5, "width": 6, "channel": 2, "kernel": 3, "padding": 1},
    "reduction": {"op": "sum", "shape": (6, 50), "axis": 1},
    "softmax": {"shape": (5, 33)},
    "transform": {"op": "transpose", "shape": (33, 17), "how": {}},
}


@pytest.mark.parametrize("name", CASES)
def test_kernels_of_the_gallery(name):
    kernel = kernels.get(name)
    args = kernel.declare(**CASES[name])
    s = kernel.schedule_gpu([a for a in args if not isinstance(a.op, te.PlaceholderOp)])
    for body in warps.kernels(frame.program(s.trace).body):
        expected = by_hand(body)
        extents = warps.launch(body)
        grid = {o.buffer.name: o for o in owned.of_grid(body)}
        assert set(grid) == set(expected) and not any(o.why or o.most for o in grid.values())
        for o in grid.values():
            got = dict(zip(map(tuple, o.index.tolist()), o.who.tolist(), strict=True))
            assert got == {at: min(b for b, _ in who) for at, who in expected[o.buffer.name].items()}
        tags = [t for t in extents if t.startswith("blockIdx")]
        last = {t: extents[t] - 1 for t in tags}
        number_of_last = int(np.prod([extents[t] for t in tags])) - 1
        for o in owned.of_block(body, last):
            mine = {at: {t for b, t in who if b == number_of_last} for at, who in expected[o.buffer.name].items()}
            mine = {at: who for at, who in mine.items() if who}
            got = dict(zip(map(tuple, o.index.tolist()), o.who.tolist(), strict=True))
            assert got == {at: min(who) for at, who in mine.items()}
            assert o.shared == any(len(who) > 1 for who in mine.values())


def test_every_element_once():
    """Of a matmul of 200 x 130 by blocks of 64 x 64: NumPy counts them."""
    from tvmlab.kernels import matmul

    s, _ = matmul.gpu(m=200, n=130, k=8)
    (body,) = warps.kernels(frame.program(s.trace).body)
    (all_of_it,) = owned.of_grid(body)
    counts = np.zeros((200, 130), int)
    np.add.at(counts, tuple(all_of_it.index.T), 1)
    assert (counts == 1).all() and all_of_it.shape == (200, 130)
    rows, columns = np.indices((200, 130))
    assert (all_of_it.who == (rows // 64 * 3 + columns // 64).reshape(-1)).all()


def kernel(body, t, threads=4):
    return loop(t, threads, body, kind="thread", thread="threadIdx.x")


def test_a_loop_whose_length_differs():
    (t, i) = ints("t i")
    c = buffer("C", 4, 4)
    (found,) = owned.of_block(kernel(loop(i, t + 1, store(c, (t, i), 0.0)), t), {})
    assert sorted(map(tuple, found.index.tolist())) == [(a, b) for a in range(4) for b in range(a + 1)]
    assert found.who.tolist() == [0, 1, 1, 2, 2, 2, 3, 3, 3, 3]


def test_several_threads_write_one_element():
    (t,) = ints("t")
    (found,) = owned.of_block(kernel(store(buffer("C", 2), t // 2, 0.0), t), {})
    assert found.shared and found.who.tolist() == [0, 2]


def test_of_several_statements_the_first_thread_is_shown():
    (t,) = ints("t")
    c = buffer("C", 4)
    (found,) = owned.of_block(kernel(Seq((store(c, t, 0.0), store(c, (t + 1) % 4, 0.0))), t), {})
    assert found.shared and found.who.tolist() == [0, 0, 1, 2]


def test_a_mask_that_a_loop_decides():
    (t, i) = ints("t i")
    (found,) = owned.of_block(kernel(loop(i, 4, store(buffer("C", 4), t, 0.0, mask=t < i)), t), {})
    assert found.index[:, 0].tolist() == [0, 1, 2] and not found.why


def test_what_memory_decides():
    (t,) = ints("t")
    places, c = buffer("P", 4, dtype="int32"), buffer("C", 4)
    (found,) = owned.of_block(kernel(store(c, load(places, t), 0.0), t), {})
    assert found.why == "it depends on P, which only a run knows" and len(found.index) == 0
    (found,) = owned.of_block(kernel(when(load(places, t) > 0, store(c, t, 0.0)), t), {})
    assert found.most and len(found.index) == 4


def test_too_many_and_sizes_of_a_call():
    (t, i) = ints("t i")
    c = buffer("C", 4, 1 << 20)
    (found,) = owned.of_block(kernel(loop(i, 1 << 20, store(c, (t, i), 0.0)), t), {})
    assert found.why == "more than 1048576 writes, too many to look at"
    n = var("n", nonneg=True)
    body = loop(t, n, store(buffer("D", n), t, 0.0), kind="thread", thread="threadIdx.x")
    with pytest.raises(warps.Unknown):
        owned.of_block(body, {})
    assert len(owned.of_block(body, {}, sizes={n: 3})[0].index) == 3


def test_what_an_intrinsic_writes_by_a_pointer():
    """Which elements is not looked into; that it writes there is not left out. What it only reads is no output."""
    (t,) = ints("t")
    c, a, s = buffer("C", 4), buffer("A", 4), buffer("S", 4, scope="shared")
    pointers = [Call("access_ptr", (b.data, t, Const(4), Const(mask)), "handle", "intrin")
                for b, mask in ((c, 2), (a, 1), (s, 3))]  # fmt: skip
    body = kernel(Alloc(s, Evaluate(Call("mine", tuple(pointers), "int32", "extern"))), t)
    (found,) = owned.of_block(body, {}, buffers=(a, c))
    assert found.buffer is c and found.why == "an intrinsic writes there" and len(found.index) == 0
    (found,) = owned.of_block(kernel(Seq((store(c, t, 0.0), body.body)), t), {}, buffers=(a, c))
    assert found.why == "an intrinsic writes there"


def test_memory_of_the_block_is_no_output():
    (t,) = ints("t")
    s, c = buffer("S", 4, scope="shared"), buffer("C", 4)
    body = Alloc(s, Seq((store(s, t, 0.0), store(c, t, load(s, t)))))
    assert [o.buffer.name for o in owned.of_block(kernel(body, t), {})] == ["C"]
