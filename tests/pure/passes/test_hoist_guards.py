"""Guards move out of the loops that do not change them."""

from tests.pure.passes.ir import buffer, ints, load, loop, nodes, program, same_result, store, var, when
from tvmlab.core import build
from tvmlab.core.node import Attr, Const, For, If, LetStmt
from tvmlab.core.text import show
from tvmlab.lowering.passes import get

hoist_guards = get("hoist_guards")


def test_conditions_part(golden):
    n = var("n", nonneg=True)
    a, b = buffer("A", 30, n), buffer("B", 30)
    io, ii, k, i1 = ints("io ii k i1")
    x = io * 8 + ii
    update = loop(k, 64, when(build.all_(x < 30, k < n), store(b, x, load(b, x) + load(a, x, k))))
    before = program((a, b), loop(io, 4, loop(ii, 8, when(x < 30, store(b, x, 0.0)), update)), sizes=(n,))
    after = hoist_guards(before)
    golden(before, "before")
    golden(after, "after")
    same_result(before, after, {n: 5})
    assert i1.name == "i1"


def test_a_guard_leaves_all_loops():
    n = var("n", nonneg=True)
    a = buffer("A", 4, 4)
    i, j = ints("i j")
    body = Attr("note", a, Const(1), loop(j, 4, when(n > 3, store(a, (i, j), 1.0)), kind="vectorized"))
    before = program((a,), loop(i, 4, body, kind="parallel"), sizes=(n,))
    after = hoist_guards(before)
    assert show(after.body).startswith("if n > 3:\n    for i in parallel(4):")
    same_result(before, after, {n: 5})


def test_thread_loops_keep_their_guards():
    n = var("n", nonneg=True)
    a = buffer("A", 4)
    (t,) = ints("t")
    before = program((a,), loop(t, 4, when(n > 3, store(a, t, 1.0)), kind="thread", thread="threadIdx.x"), sizes=(n,))
    assert hoist_guards(before) is before


def test_guards_that_read_memory_stay():
    a = buffer("A", 4)
    (i,) = ints("i")
    before = program((a,), loop(i, 4, when(load(a, 0) > 0.0, store(a, i, -1.0))))
    assert hoist_guards(before) is before


def test_the_scope_of_a_let_is_not_left():
    a = buffer("A", 4)
    i, v = ints("i v")
    before = program((a,), loop(i, 4, LetStmt(v, i * 2, when(v < 5, store(a, i, 1.0)))))
    assert hoist_guards(before) is before


def test_guards_with_another_side_stay():
    n = var("n")
    a = buffer("A", 4)
    (i,) = ints("i")
    before = program((a,), loop(i, 4, If(n > 3, store(a, i, 1.0), store(a, i, 2.0))), sizes=(n,))
    assert hoist_guards(before) is before


def test_neighbours_share_what_they_have_in_common():
    n, m = var("n"), var("m")
    a, b = buffer("A", 4), buffer("B", 4)
    (i,) = ints("i")
    one = when(build.all_(n > 3, i < m), store(a, i, 1.0))
    two = when(n > 3, store(b, i, 2.0))
    before = program((a, b), loop(i, 4, one, two), sizes=(n, m))
    after = hoist_guards(before)
    assert [show(x.cond) for x in nodes(after, If)] == ["n > 3", "i < m"]
    assert isinstance(after.body, If)
    for k in (3, 4):
        same_result(before, after, {n: k, m: 2})


def test_likely_and_other_conditions_do_not_mix():
    n, m = var("n"), var("m")
    a = buffer("A", 4)
    (i,) = ints("i")
    before = program((a,), loop(i, 4, when(n > 3, when(m > 3, store(a, i, 1.0), likely=False))), sizes=(n, m))
    after = hoist_guards(before)
    assert [x.likely for x in nodes(after, If)] == [True, False]
    assert len(nodes(after, For)) == 1
