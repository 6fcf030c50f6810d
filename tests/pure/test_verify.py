"""What a legal program is: proved, refuted, or unknown."""

import pytest

from tests.pure.passes.ir import buffer, ints, load, loop, program, store, var, when
from tvmlab.core import build
from tvmlab.core.error import VerifyError
from tvmlab.core.node import (
    Alloc,
    AllReduce,
    Broadcast,
    Call,
    Combiner,
    Const,
    Evaluate,
    If,
    LetStmt,
    Load,
    Ramp,
    Store,
    Var,
)
from tvmlab.core.verify import check, verify
from tvmlab.core.walk import seq, variables, walk


def verdicts(p):
    return [(f.rule, f.status) for f in verify(p)]


def ramp(base, n=8, step=1):
    return Ramp(build.to_expr(base), build.to_expr(step), n)


def test_a_legal_program_has_no_findings():
    a, b = buffer("A", 8, 8), buffer("B", 8)
    i, k = ints("i k")
    p = program((a, b), loop(i, 8, loop(k, 8, store(b, i, load(b, i) + load(a, i, k))), kind="parallel"))
    assert check(p) == []


# ---------------------------------------------------------------- indices


def inside_cases():
    n = var("n", nonneg=True)
    a, b = buffer("A", 8), buffer("B", n)
    i, j, v = ints("i j v")
    yield "too-far", (a,), loop(i, 9, store(a, i, 1.0)), "refuted"
    yield "negative", (a,), loop(i, 8, store(a, i - 1, 1.0)), "refuted"
    yield "always-outside", (a,), loop(i, 8, If(i > 5, store(a, i + 8, 1.0))), "refuted"
    yield "guarded", (a,), loop(i, 9, when(i < 8, store(a, i, 1.0))), None
    yield "guarded-else", (a,), loop(i, 9, If(i >= 8, store(a, 0, 1.0), store(a, i, 1.0))), None
    yield "lazy-choice", (a,), loop(i, 8, store(a, i, build.if_then_else(i >= 1, load(a, i - 1), 0.0))), None
    yield "eager-choice", (a,), loop(i, 8, store(a, i, build.select(i >= 1, load(a, i - 1), 0.0))), "refuted"
    yield "guard-too-weak", (a,), loop(i, 12, when(i < 10, store(a, i, 1.0))), "unknown"
    yield "let", (a,), loop(i, 4, LetStmt(v, i * 2, store(a, v + 1, 1.0))), None
    yield "gather", (a,), loop(i, 8, store(a, load(a, i).astype("int32"), 1.0)), "unknown"
    yield "symbolic", (b,), loop(i, n, store(b, i, 1.0)), None
    yield "symbolic-too-far", (b,), loop(i, n, store(b, i + 1, 1.0)), "unknown"
    yield "symbolic-always", (b,), loop(i, n, store(b, i + n, 1.0)), "refuted"
    yield "symbolic-tiles", (b,), loop(i, n // 8, loop(j, 8, store(b, i * 8 + j, 1.0))), None
    yield "triangle", (a,), loop(i, 8, loop(j, i + 1, store(a, i - j, 1.0))), None
    yield "vector", (a,), store(a, ramp(0), Broadcast(Const(1.0, "float32"), 8)), None
    yield "vector-too-far", (a,), store(a, ramp(1), Broadcast(Const(1.0, "float32"), 8)), "refuted"
    yield "vector-backwards", (a,), store(a, ramp(7, step=-1), Broadcast(Const(1.0, "float32"), 8)), None
    masked = store(a, ramp(4), Broadcast(Const(1.0, "float32"), 8), mask=ramp(4) < Broadcast(Const(8), 8))
    yield "masked", (a,), masked, None
    weak = store(a, ramp(4), Broadcast(Const(1.0, "float32"), 8), mask=ramp(4) < Broadcast(Const(9), 8))
    yield "mask-too-weak", (a,), weak, "unknown"
    on = Var("on", "boolx8")
    value = Load(a, (ramp(4),), "float32x8", on)
    yield "mask-in-a-let", (a,), LetStmt(on, ramp(4) < Broadcast(Const(8), 8), store(a, ramp(0), value)), None


@pytest.mark.parametrize("name, params, body, status", [pytest.param(*c, id=c[0]) for c in inside_cases()])
def test_indices(name, params, body, status):
    sizes = [s for p in params for s in p.shape if isinstance(s, Var)]
    assert verdicts(program(params, body, sizes=sizes)) == ([("out-of-bounds", status)] if status else [])


def test_each_dimension_counts():
    """The address is inside the memory, the column is not inside its row."""
    a = buffer("A", 4, 4)
    j = var("j")
    assert verdicts(program((a,), loop(j, 5, store(a, (0, j), 1.0)))) == [("out-of-bounds", "refuted")]


def test_the_message_shows_the_place():
    a = buffer("A", 8)
    i, j = ints("i j")
    p = program((a,), loop(i, 2, loop(j, 8, store(a, i + j, 1.0))))
    with pytest.raises(VerifyError) as e:
        check(p)
    assert str(e.value) == (
        "the program is not legal: 1 finding(s)\n"
        "    index 0 of `A` is `i + j`, 0 to 8: outside 0 to 7\n"
        "        for i in serial(2):\n"
        "        for j in serial(8):\n"
        "        A[i + j] = 1.0"
    )


def test_unknown_is_no_failure():
    a = buffer("A", 8)
    i = var("i")
    found = check(program((a,), loop(i, 12, when(i < 10, store(a, i, 1.0)))))
    assert [f.message for f in found] == ["index 0 of `A` is `i` (0 to 11); is it inside 0 to 7?"]


# ---------------------------------------------------------------- variables, buffers


def scope_cases():
    a, t = buffer("A", 8), buffer("T", 8)
    i, j = ints("i j")
    yield "variable-unbound", loop(i, 8, store(a, j, 1.0)), "out-of-bounds"
    yield "variable-scope", seq(loop(i, 8, store(a, i, 1.0)), store(a, i, 1.0)), "out-of-bounds"
    yield "variable-twice", seq(loop(i, 8, store(a, i, 1.0)), loop(i, 8, store(a, i, 1.0))), ""
    yield "buffer-scope", seq(Alloc(t, store(t, 0, 1.0)), store(a, 0, load(t, 0))), ""
    yield "buffer-scope", store(t, 0, 1.0), ""
    yield "variable-twice", seq(Alloc(t, store(t, 0, 1.0)), Alloc(t, store(t, 0, 1.0))), ""
    pointer = Call("access_ptr", (t.data, Const(0), Const(8), Const(1)), "handle", "intrin")
    yield "buffer-scope", Evaluate(Call("f", (pointer,), "int32", "extern")), ""
    yield "index-count", store(a, (0, 0), 1.0), ""
    yield "store-lanes", store(a, 0, Broadcast(Const(1.0, "float32"), 8)), ""


@pytest.mark.parametrize("rule, body, also", [pytest.param(*c, id=f"{k}-{c[0]}") for k, c in enumerate(scope_cases())])
def test_scopes(rule, body, also):
    param = next((x.buffer for x in walk(body) if isinstance(x, (Load, Store)) and x.buffer.name == "A"), None)
    found = verdicts(program([param] if param else [], body))
    assert (rule, "refuted") in found
    assert {r for r, _ in found} <= {rule, also}


def test_the_buffer_of_an_allocation_is_its_own_size():
    n = var("n")
    t = buffer("T", n)
    assert ("variable-unbound", "refuted") in verdicts(program((), Alloc(t, store(t, 0, 1.0))))


# ---------------------------------------------------------------- parallel loops


def race_cases():
    n, m = var("n", nonneg=True), var("m", nonneg=True)
    a, b, s = buffer("A", 64), buffer("B", 8, 8), buffer("S", n, m)
    f, t = buffer("F", 64), buffer("T", 8)
    i, j, k, u = ints("i j k u")
    yield "rows", (b,), loop(i, 8, loop(j, 8, store(b, (i, j), 1.0)), kind="parallel"), None
    yield "flat-rows", (a,), loop(i, 8, loop(j, 8, store(a, i * 8 + j, 1.0)), kind="parallel"), None
    yield "flat-columns", (a,), loop(i, 8, loop(j, 8, store(a, j * 8 + i, 1.0)), kind="parallel"), "unknown"
    yield "overlap", (a,), loop(i, 8, loop(j, 8, store(a, i * 7 + j, 1.0)), kind="parallel"), "unknown"
    yield "same-element", (a,), loop(i, 8, store(a, 0, 1.0), kind="parallel"), "refuted"
    yield "sum", (a,), loop(i, 8, loop(k, 8, store(a, k, load(a, k) + 1.0)), kind="parallel"), "refuted"
    yield "once", (a,), loop(i, 1, store(a, 0, 1.0), kind="parallel"), None
    yield "guarded-same", (a,), loop(i, 8, If(i < 1, store(a, 0, 1.0)), kind="parallel"), "unknown"
    yield "reads-neighbour", (a,), loop(i, 8, store(a, i, load(a, i + 1)), kind="parallel"), "unknown"
    yield "reads-itself", (a,), loop(i, 8, store(a, i, load(a, i) + 1.0), kind="parallel"), None
    yield "reads-another", (a, f), loop(i, 8, store(a, i, load(f, 0)), kind="parallel"), None
    yield "symbolic-rows", (s,), loop(i, n, loop(j, m, store(s, (i, j), 1.0)), kind="parallel"), None
    flat = buffer("S", n * m)
    yield "symbolic-flat", (flat,), loop(i, n, loop(j, m, store(flat, i * m + j, 1.0)), kind="parallel"), None
    own = Alloc(t, seq(store(t, 0, 1.0), store(a, i, load(t, 0))))
    yield "own-buffer", (a,), loop(i, 8, own, kind="parallel"), None
    tail = If(i < 7, loop(j, 8, store(a, i * 8 + j, 1.0)), loop(k, 4, store(a, 56 + k, 1.0)))
    yield "tail", (a,), loop(i, 8, tail, kind="parallel"), None
    clash = If(i < 7, loop(j, 8, store(a, i * 8 + j, 1.0)), loop(k, 4, store(a, 46 + k, 1.0)))
    yield "tail-clashes", (a,), loop(i, 8, clash, kind="parallel"), "unknown"
    yield "vectors", (a,), loop(i, 8, store(a, ramp(i * 8), _ones()), kind="parallel"), None
    yield "wide-vectors", (a,), loop(i, 8, store(a, ramp(i * 7), _ones()), kind="parallel"), "unknown"
    tile = loop(j, 2, loop(k, 2, store(b, (i // 4 * 2 + j, i % 4 * 2 + k), 1.0)))
    yield "fused", (b,), loop(i, 16, tile, kind="parallel"), None
    half = loop(j, 2, loop(k, 2, store(b, (i // 4 * 2 + j, i // 4 * 2 + k), 1.0)))
    yield "fused-one-digit", (b,), loop(i, 16, half, kind="parallel"), "unknown"
    outer = loop(u, 4, loop(i, 2, store(a, u * 2 + i, 1.0), kind="parallel"))
    yield "inner-parallel", (a,), outer, None


def _ones():
    return Broadcast(Const(1.0, "float32"), 8)


@pytest.mark.parametrize("name, params, body, status", [pytest.param(*c, id=c[0]) for c in race_cases()])
def test_races(name, params, body, status):
    names = [v for p in params for s in p.shape for v in variables(s)]
    found = [v for v in verdicts(program(params, body, sizes=names)) if v[0] == "parallel-race"]
    assert found == ([("parallel-race", status)] if status else [])


# ---------------------------------------------------------------- threads


def test_a_tag_has_one_extent_in_a_kernel():
    a = buffer("A", 64)
    b, t, u = ints("b t u")
    one = loop(t, 8, store(a, t, 1.0), kind="thread", thread="threadIdx.x")
    two = loop(u, 16, store(a, u, 1.0), kind="thread", thread="threadIdx.x")
    p = program((a,), loop(b, 1, one, two, kind="thread", thread="blockIdx.x"))
    assert verdicts(p) == [("thread-extent", "refuted")]
    assert verdicts(program((a,), one, two)) == []  # two kernels


def test_a_tag_is_not_bound_inside_itself():
    a = buffer("A", 64)
    t, u = ints("t u")
    inner = loop(u, 8, store(a, u, 1.0), kind="thread", thread="threadIdx.x")
    p = program((a,), loop(t, 8, inner, kind="thread", thread="threadIdx.x"))
    assert verdicts(p) == [("thread-nested", "refuted")]


def test_a_reduction_is_over_threads_around_it():
    a, r = buffer("A", 8), buffer("R", 1)
    i, t = ints("i t")
    x, y = var("x", "float32"), var("y", "float32")
    total = Combiner("sum", (x,), (y,), (x + y,), (build.const(0.0),))
    fold = AllReduce(total, (load(a, t),), Const(True, "bool"), (r,), (t,))
    good = program((a,), Alloc(r, loop(t, 8, fold, kind="thread", thread="threadIdx.x")))
    assert verdicts(good) == []
    bad = program((a,), Alloc(r, loop(i, 8, loop(t, 8, fold))))
    assert verdicts(bad) == [("thread-scope", "refuted")]
