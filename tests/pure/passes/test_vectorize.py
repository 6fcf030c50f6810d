"""Vectorized loops become vectors, masks, or serial loops where there is no vector form."""

import math

import pytest

from tests.pure.passes.ir import buffer, ints, load, loop, nodes, program, run, same_result, store, var, when
from tvmlab.core import build
from tvmlab.core import dtype as dt
from tvmlab.core.error import LabError
from tvmlab.core.node import Alloc, Attr, Call, Const, Evaluate, For, If, Let, LetStmt, Load, Ramp, Select, Store, While
from tvmlab.core.text import show
from tvmlab.core.walk import seq
from tvmlab.lowering.config import Config
from tvmlab.lowering.passes import get

vectorize = get("vectorize")


def check(before, sizes=None):
    """Vectorize, compare what it computes, and see that no vectorized loop is left."""
    after = vectorize(before)
    same_result(before, after, sizes)
    assert not [f for f in nodes(after, For) if f.kind == "vectorized"]
    return after


def test_matmul_tile(golden):
    a, b, c = buffer("A", 6, 5), buffer("B", 5, 32), buffer("C", 6, 32)
    i, jo, ji, k, j2 = ints("i jo ji k j2")
    j = jo * 16 + ji
    zero = loop(j2, 16, store(c, (i, jo * 16 + j2), 0.0), kind="vectorized")
    update = loop(ji, 16, store(c, (i, j), load(c, i, j) + load(a, i, k) * load(b, k, j)), kind="vectorized")
    before = program((a, b, c), loop(i, 6, loop(jo, 2, zero, loop(k, 5, update))))
    golden(before, "before")
    golden(check(before), "after")


def test_without_vectorized_loops_nothing_changes():
    a = buffer("A", 8)
    (i,) = ints("i")
    before = program((a,), loop(i, 8, store(a, i, 1.0)))
    assert vectorize(before) is before


def test_tail_becomes_a_mask(golden):
    n = var("n", nonneg=True)
    a, b = buffer("A", n), buffer("B", n)
    io, ii = ints("io ii")
    x = io * 8 + ii
    body = loop(ii, 8, when(x < n, store(b, x, load(a, x) + 1.0)), kind="vectorized")
    before = program((a, b), loop(io, (n + 7) // 8, body), sizes=(n,))
    after = check(before, {n: 13})
    golden(after)
    assert all(x.mask is not None for x in nodes(after, Load, Store))


def test_padding_becomes_a_select_of_masked_loads(golden):
    a, b = buffer("A", 14), buffer("B", 16)
    (i,) = ints("i")
    inside = build.all_(i >= 1, i < 15)
    padded = build.if_then_else(inside, load(a, i - 1), 0.0)
    before = program((a, b), loop(i, 16, store(b, i, padded), kind="vectorized"))
    golden(check(before))


def test_condition_of_all_lanes_stays_lazy():
    """A row outside the image: no lane may read it, and no mask is needed."""
    a, b = buffer("A", 3, 8), buffer("B", 4, 8)
    i, j = ints("i j")
    value = build.if_then_else(i >= 1, load(a, i - 1, j), 0.0)
    before = program((a, b), loop(i, 4, loop(j, 8, store(b, (i, j), value), kind="vectorized")))
    after = check(before)
    assert show(nodes(after, Store)[0]) == "B[i, 0:8] = A[i - 1, 0:8] if i >= 1 else 0.0"


def test_shared_and_lane_conditions_part(golden):
    """`i < n` stays a condition, `j < m` makes the mask; the other side runs for the other lanes."""
    n, m = var("n", nonneg=True), var("m", nonneg=True)
    a = buffer("A", 8, 8)
    i, j = ints("i j")
    body = If(build.all_(i < n, j < m), store(a, (i, j), 1.0), store(a, (i, j), 2.0))
    before = program((a,), loop(i, 8, loop(j, 8, body, kind="vectorized")), sizes=(n, m))
    golden(check(before, {n: 5, m: 3}))


def test_a_mask_that_reads_memory_is_read_once(golden):
    """The first store changes what the condition reads."""
    a, b = buffer("A", 8), buffer("B", 8)
    (i,) = ints("i")
    body = If(load(a, i) > 0.0, seq(store(a, i, -1.0), store(b, i, 1.0)))
    golden(check(program((a, b), loop(i, 8, body, kind="vectorized"))))


def test_allocation_inside_gets_lanes(golden):
    a, b, t = buffer("A", 8, 4), buffer("B", 8), buffer("T", 4, scope="local")
    i, k, k2, k3 = ints("i k k2 k3")
    fill = loop(k, 4, store(t, k, load(a, i, k) * 2.0))
    total = loop(k2, 4, store(b, i, load(b, i) + load(t, k2)))
    before = program((a, b), loop(i, 8, Alloc(t, seq(fill, store(b, i, 0.0), total)), kind="vectorized"))
    after = check(before)
    golden(after)
    assert nodes(after, Alloc)[0].buffer.ndim == 2


def test_serial_statement_inside_an_allocation():
    """The call takes its own lane's element of the widened buffer."""
    a, t = buffer("A", 8, dtype="int32"), buffer("T", 1, dtype="int32", scope="local")
    (i,) = ints("i")
    call = Evaluate(Call("bump", (load(t, 0),), "int32", "packed"))
    before = program((a,), loop(i, 8, Alloc(t, seq(store(t, 0, load(a, i) + i), call)), kind="vectorized"))
    after = vectorize(before)
    seen = [], []
    for p, calls in zip((before, after), seen):
        run(p, packed={"bump": lambda x, calls=calls: calls.append(int(x)) or 0})
    assert seen[0] == seen[1] and len(set(seen[0])) > 4
    assert [f.kind for f in nodes(after, For)] == ["serial"]


def test_only_the_call_runs_serially(golden):
    a, b = buffer("A", 8), buffer("B", 8)
    (i,) = ints("i")
    call = Evaluate(Call("bump", (i,), "int32", "extern"))
    before = program((a, b), loop(i, 8, store(a, i, 1.0), call, store(b, i, load(a, i)), kind="vectorized"))
    golden(vectorize(before))


def test_inner_loop_with_lane_extent_runs_serially(golden):
    a = buffer("A", 8, 8)
    i, j = ints("i j")
    before = program((a,), loop(i, 8, loop(j, i + 1, store(a, (i, j), 1.0)), kind="vectorized"))
    golden(check(before))


@pytest.mark.parametrize("what", ["sum", "last"])
def test_stores_of_all_lanes_to_one_place(what):
    a, b = buffer("A", 8), buffer("B", 1)
    (i,) = ints("i")
    value = load(b, 0) + load(a, i) if what == "sum" else load(a, i)
    after = check(program((a, b), loop(i, 8, store(b, 0, value), kind="vectorized")))
    assert nodes(after, For)[0].kind == "serial"


def test_lane_independent_store_happens_once():
    a, b = buffer("A", 8), buffer("B", 8)
    (i,) = ints("i")
    after = check(program((a, b), loop(i, 8, store(b, 0, load(a, 0)), kind="vectorized")))
    assert show(after.body) == "B[0] = A[0]"


def test_nested_the_inner_becomes_vectors():
    a = buffer("A", 4, 8)
    i, j = ints("i j")
    inner = loop(j, 8, store(a, (i, j), 1.0), kind="vectorized")
    after = check(program((a,), loop(i, 4, inner, kind="vectorized")))
    assert [f.kind for f in nodes(after, For)] == ["serial"]
    assert nodes(after, Store)[0].value.dtype == "float32x8"


def test_extent_must_be_known():
    n = var("n", nonneg=True)
    a = buffer("A", n)
    (j,) = ints("j")
    with pytest.raises(LabError) as e:
        vectorize(program((a,), loop(j, n, store(a, j, 1.0), kind="vectorized"), sizes=(n,)))
    assert str(e.value) == (
        "cannot vectorize `j`: its extent `n` is not a constant\n"
        "    for j in vectorized(n):   <- the number of lanes must be known\n"
        "  legal here:  split it by a constant factor and vectorize the inner loop"
    )


def test_off_means_serial():
    a = buffer("A", 8)
    (i,) = ints("i")
    before = program((a,), loop(i, 8, store(a, i, 1.0), kind="vectorized"))
    after = vectorize(before, Config(vectorize=False))
    assert nodes(after, For)[0].kind == "serial"
    same_result(before, after)


def test_the_axis_as_a_value():
    a, b = buffer("A", 8), buffer("B", 8, dtype="int64")
    (i,) = ints("i")
    body = [store(a, i, build.cast(i * 2, "float32")), store(b, i, build.cast(i, "int64") + 3)]
    after = check(program((a, b), loop(i, 8, *body, kind="vectorized")))
    assert show(after.body).splitlines() == [
        "A[0:8] = float32x8([0::2[:8]])",
        "B[0:8] = [3:11]",
    ]
    assert nodes(after, Ramp)[-1].dtype == "int64x8"


@pytest.mark.parametrize("n, widths", [(128, {64}), (96, {48}), (67, {64, 3}), (134, {64, 6}), (640, {64}), (7, {7})])
def test_long_loops_are_cut(n, widths):
    a, b = buffer("A", n), buffer("B", n)
    (i,) = ints("i")
    after = check(program((a, b), loop(i, n, store(b, i, load(a, i) * 2.0), kind="vectorized")))
    assert {dt.lanes(s.value.dtype) for s in nodes(after, Store)} == widths


def test_strided_reversed_and_gathered_reads(golden):
    a, x, b = buffer("A", 40), buffer("X", 8, dtype="int32"), buffer("B", 8)
    (i,) = ints("i")
    value = load(a, i * 3) + load(a, 7 - i) + load(a, load(x, i) % 8) + load(a, i // 2)
    golden(check(program((a, x, b), loop(i, 8, store(b, i, value), kind="vectorized"))))


def test_quotients_that_do_not_cross_a_multiple_stay_scalar():
    a, b = buffer("A", 4, 16), buffer("B", 64)
    f, j = ints("f j")
    x = f * 8 + j
    before = program((a, b), loop(f, 8, loop(j, 8, store(b, x, load(a, x // 16 + 0 * f, x % 8)), kind="vectorized")))
    after = check(before)
    assert show(after.body).endswith("B[f*8:f*8 + 8] = A[[f*8:f*8 + 8]//16, 0:8]")


def test_lets_become_vectors(golden):
    a, b = buffer("A", 8), buffer("B", 8)
    i, v = ints("i v")
    w = var("w", "float32")
    value = Let(w, load(a, v) * 2.0, w + w)
    golden(check(program((a, b), loop(i, 8, LetStmt(v, 7 - i, store(b, i, value)), kind="vectorized"))))


def test_a_let_over_a_serial_statement_goes_along():
    """The serial loop computes the let itself: no lane of a vector can be taken out."""
    a = buffer("A", 8)
    i, v = ints("i v")
    call = Evaluate(Call("bump", (v,), "int32", "extern"))
    after = vectorize(program((a,), loop(i, 8, LetStmt(v, 7 - i, seq(store(a, v, 1.0), call)), kind="vectorized")))
    assert show(after.body).splitlines()[:2] == ["for i in range(8):", "    v = 7 - i"]


def test_division_under_a_mask_is_safe():
    """Lanes that are off must not divide by zero."""
    a, b = buffer("A", 16, dtype="int32"), buffer("B", 16, dtype="int32")
    (i,) = ints("i")
    d = load(a, i)
    value = build.if_then_else(build.binary("!=", d, 0), 100 // d, 0)
    before = program((a, b), loop(i, 16, store(b, i, value), kind="vectorized"))
    after = check(before)
    assert any(isinstance(x, Select) and show(x).startswith("select(A[0:16] != ") for x in nodes(after, Select))


def test_shared_read_that_may_be_outside_is_masked():
    """`A[k]` is the same for all lanes, but exists only where some lane runs."""
    n = var("n", nonneg=True)
    a, b = buffer("A", n), buffer("B", 4, 8)
    k, i = ints("k i")
    body = If(k * 8 + i < n, store(b, (k, i), load(a, k * 8)))
    before = program((a, b), loop(k, 4, loop(i, 8, body, kind="vectorized")), sizes=(n,))
    after = check(before, {n: 11})
    assert nodes(after, Load)[0].mask is not None


def test_conditions_in_order():
    """The second condition reads memory that exists only where the first holds."""
    a, b = buffer("A", 5), buffer("B", 8)
    (i,) = ints("i")
    body = If(i < 5, If(load(a, i) > 0.0, store(b, i, 1.0)))
    check(program((a, b), loop(i, 8, body, kind="vectorized")))


def test_while_and_notes(golden):
    a, b = buffer("A", 8, dtype="int32"), buffer("B", 8)
    (i,) = ints("i")
    until = While(load(a, i) > 0, store(a, i, load(a, i) - 1))
    body = Attr("note", a, Const(1), seq(store(b, i, 1.0), until))
    golden(check(program((a, b), loop(i, 8, body, kind="vectorized"))))


def test_origin_is_kept():
    a = buffer("A", 8)
    (i,) = ints("i")
    after = vectorize(program((a,), loop(i, 8, store(a, i, 1.0, origin="here"), kind="vectorized")))
    assert nodes(after, Store)[0].origin == "here"


def test_several_lane_dependent_indices():
    a, b = buffer("A", 8, 8), buffer("B", 8)
    (i,) = ints("i")
    check(program((a, b), loop(i, 8, store(b, i, load(a, i, 7 - i)), kind="vectorized")))


@pytest.mark.parametrize("op", ["<", "<=", ">", ">="])
@pytest.mark.parametrize("scale, limit", [(4, 20), (4, 18), (8, 24), (6, 12), (2, 7)])
def test_a_vector_is_inside_or_outside_as_a_whole_where_that_is_sure(op, scale, limit):
    """for i in 8: for j in vectorized(4): if i*scale + j op limit: a[i, j] = 1"""
    a = buffer("A", 8, 4)
    i, j = ints("i j")
    x = i * scale + j
    for left, right in ((x, build.const(limit)), (build.const(limit), x)):
        guard = build.binary(op, left, right)
        before = program((a,), loop(i, 8, loop(j, 4, when(guard, store(a, (i, j), 1.0)), kind="vectorized")))
        after = vectorize(before)
        same_result(before, after)
        whole = math.gcd(scale, limit) >= 4
        exact = (op in ("<", ">=")) == (left is x)
        assert ("# where" not in str(after)) == (whole and exact), str(after)
