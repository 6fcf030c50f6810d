"""Twelve pairs of schedules with a known cause: it comes first; where there is none, none is given. No timing here."""

import pytest

from tvmlab import lower, te
from tvmlab.analysis.facts import facts
from tvmlab.analysis.machine import get
from tvmlab.analysis.reasons import reasons

MACHINE = get("laptop-x86")


def matmul(n=1024):
    A, B = te.placeholder((n, n), name="A"), te.placeholder((n, n), name="B")
    k = te.reduce_axis((0, n), name="k")
    C = te.compute((n, n), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    return te.create_schedule(C.op), A, B, C


def tiled(n=1024, f=32, kf=4, order="inner", vector=True, parallel=None, unroll=False):
    """C in tiles of f x f; the sum over k in steps of kf."""
    s, A, B, C = matmul(n)
    xo, yo, xi, yi = s[C].tile(*C.op.axis, f, f)
    ko, ki = s[C].split(C.op.reduce_axis[0], kf)
    s[C].reorder(xo, yo, ko, xi, ki, yi)
    if vector:
        s[C].vectorize(yi)
    if unroll:
        s[C].unroll(ki)
    if parallel == "xo":
        s[C].parallel(xo)
    return readable(s, [A, B, C])


def readable(s, args):
    return lower(s, args, simple_mode=True)


def order(names, n=1024):
    s, A, B, C = matmul(n)
    i, j = C.op.axis
    (k,) = C.op.reduce_axis
    axes = {"i": i, "j": j, "k": k}
    s[C].reorder(*[axes[x] for x in names])
    return readable(s, [A, B, C])


def panel(n, f, outside):
    """Vectors along j, in panels of f columns of B: the loop over panels innermost, or outermost."""
    s, A, B, C = matmul(n)
    i, j = C.op.axis
    (k,) = C.op.reduce_axis
    jo, ji = s[C].split(j, f)
    s[C].reorder(*([jo, i, k, ji] if outside else [i, k, jo, ji]))
    s[C].vectorize(ji)
    return readable(s, [A, B, C])


def short(unroll, n=512):
    s, A, B, C = matmul(n)
    _, ki = s[C].split(C.op.reduce_axis[0], 4)
    if unroll:
        s[C].unroll(ki)
    return readable(s, [A, B, C])


def blur(how, n=2048):
    A = te.placeholder((n + 2, n + 2), name="A")
    X = te.compute((n + 2, n), lambda i, j: A[i, j] + A[i, j + 1] + A[i, j + 2], name="X")
    Y = te.compute((n, n), lambda i, j: X[i, j] + X[i + 1, j] + X[i + 2, j], name="Y")
    s = te.create_schedule(Y.op)
    if how == "inline":
        s[X].compute_inline()
    elif how != "root":
        io, ii = s[Y].split(Y.op.axis[0], how)
        s[X].compute_at(s[Y], io)
    return readable(s, [A, Y])


def chain(inline, n=4096):
    A = te.placeholder((n, n), name="A")
    X = te.compute((n, n), lambda i, j: A[i, j] * 2.0, name="X")
    Y = te.compute((n, n), lambda i, j: X[i, j] + 1.0, name="Y")
    s = te.create_schedule(Y.op)
    if inline:
        s[X].compute_inline()
    return readable(s, [A, Y])


def local(cached, n=1024):
    """The sum over k in memory, or in a local tile that is written once."""
    s, A, B, C = matmul(n)
    target = s.cache_write(C, "local") if cached else C
    xo, yo, xi, yi = s[C].tile(*C.op.axis, 16, 16)
    if cached:
        s[target].compute_at(s[C], yo)
        s[C].vectorize(yi)
        xi, yi = s[target].op.axis
    (k,) = s[target].op.reduce_axis
    if cached:
        s[target].reorder(k, xi, yi)
    else:
        s[C].reorder(xo, yo, k, xi, yi)
    s[target].vectorize(yi)
    return readable(s, [A, B, C])


def packed(pack, n=1024, f=16):
    A, B = te.placeholder((n, n), name="A"), te.placeholder((n, n), name="B")
    k = te.reduce_axis((0, n), name="k")
    if pack:
        P = te.compute((n // f, n, f), lambda jo, q, ji: B[q, jo * f + ji], name="P")
        C = te.compute((n, n), lambda i, j: te.sum(A[i, k] * P[j // f, k, j % f], axis=k), name="C")
    else:
        C = te.compute((n, n), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    s = te.create_schedule(C.op)
    i, j = C.op.axis
    jo, ji = s[C].split(j, f)
    s[C].reorder(jo, i, k, ji)
    s[C].vectorize(ji)
    return readable(s, [A, B, C])


def guarded(f, n=1000):
    """Rows of A scaled, in pieces of f: a guard where f does not divide."""
    A = te.placeholder((n, n), name="A")
    B = te.compute((n, n), lambda i, j: A[i, j] * 2.0 + 1.0, name="B")
    s = te.create_schedule(B.op)
    jo, ji = s[B].split(B.op.axis[1], f)
    return readable(s, [A, B])


def rows(axis, n=2048, m=2048, few=None):
    """A heavy function of every element, in parallel over rows, or over a few blocks of rows."""
    A = te.placeholder((n, m), name="A")
    B = te.compute((n, m), lambda i, j: te.exp(A[i, j]) * te.sqrt(A[i, j]), name="B")
    s = te.create_schedule(B.op)
    if axis is not None:
        io, ii = s[B].split(B.op.axis[0], nparts=axis)
        s[B].parallel(io)
    return readable(s, [A, B])


# name: (slower, faster, measured ratio, rule, words of the sentence)
PAIRS = {
    "vectorised": (tiled(vector=False), tiled(), 4.1, "vector", "8 elements at a time in stage C, the slower one 1"),
    "loop order": (order("jki"), order("ikj"), 9.0, "stride", "`i` moves by 1,024 elements (4 KiB) in"),
    "a tile that fits L1": (panel(160, 32, False), panel(160, 32, True), 1.3, "tile", "into L1"),
    "a tile that fits L2": (panel(512, 32, False), panel(512, 32, True), 1.9, "tile", "one iteration of `i`"),
    "parallel": (tiled(), tiled(parallel="xo"), 3.7, "parallel", "`xo` in parallel, 32 tasks on 4 cores"),
    "too few tasks": (rows(2), rows(64), 1.9, "tasks", "`io` has only 2 tasks for 4 cores"),
    "computed again": (blur(2), blur(64), 1.5, "redundant", "elements of X"),
    "inlined": (chain(False), chain(True), 1.7, "copies", "X (64 MiB)"),
    "a guard": (guarded(48), guarded(50), 1.5, "guards", "`jo*48 + ji < 1000`"),
    "short loops": (short(False), short(True), 1.6, "loops", "`ki` has 4 iterations"),
    "a local sum": (local(False), local(True), 1.4, "accumulate", "C_local"),
    "packing": (packed(False), packed(True), 1.5, "layout", "P"),
}


@pytest.mark.parametrize("name", PAIRS)
def test_the_true_cause_comes_first(name):
    slow, fast, ratio, rule, words = PAIRS[name]
    found, explained, _ = reasons(slow, fast, MACHINE, ratio, ratio * 0.95, ratio * 1.05)
    assert found[0].rule == rule, [r.text for r in found]
    assert words in found[0].text
    assert explained
    assert [r.factor for r in found] == sorted((r.factor for r in found), reverse=True)
    assert all(0 < r.share <= 1 and r.how == "modelled" for r in found)


@pytest.mark.parametrize("name", PAIRS)
def test_the_order_of_the_two_does_not_matter(name):
    slow, fast, ratio, _, _ = PAIRS[name]
    forth = reasons(slow, fast, MACHINE, ratio, ratio * 0.95, ratio * 1.05)
    back = reasons(facts(fast), facts(slow), MACHINE, 1 / ratio, 0.95 / ratio, 1.05 / ratio)
    assert [(r.rule, r.text) for r in forth[0]] == [(r.rule, r.text) for r in back[0]]
    assert forth[1] == back[1]


@pytest.mark.parametrize("name", PAIRS)
def test_a_cause_is_not_given_where_it_is_absent(name):
    """The same schedules, but the one that lacks the advantage is measured as the faster one."""
    slow, fast, ratio, rule, _ = PAIRS[name]
    found, explained, _ = reasons(fast, slow, MACHINE, ratio, ratio * 0.95, ratio * 1.05)
    assert rule not in [r.rule for r in found]
    assert not explained


@pytest.mark.parametrize("name", PAIRS)
def test_no_reason_within_noise(name):
    slow, fast, *_ = PAIRS[name]
    assert reasons(slow, fast, MACHINE, 1.02, 0.97, 1.08)[:2] == ([], True)


@pytest.mark.parametrize("ratio", [1.3, 0.5])
def test_identical_schedules_have_no_reason(ratio):
    found, explained, _ = reasons(tiled(), tiled(), MACHINE, ratio, ratio * 0.95, ratio * 1.05)
    assert (found, explained) == ([], False)


def test_names_for_the_two():
    slow, fast, *_ = PAIRS["parallel"]
    (r, *_), *_ = reasons(slow, fast, MACHINE, 3.7, 3.5, 3.9, names=("run 3", "the slower one, tuned"))
    assert r.text == "the slower one, tuned runs `xo` in parallel, 32 tasks on 4 cores; run 3 uses 1."
    assert (r.show, r.origin.stage, r.origin.axis.name) == ("xo", "C", "i.outer")
    (r, *_), *_ = reasons(fast, slow, MACHINE, 0.27, 0.25, 0.29, names=("run 4", "run 3"))
    assert r.text.startswith("run 4 runs `xo`")


def test_a_sum_that_waits():
    found, explained, _ = reasons(order("ijk", 100), order("ikj", 100), MACHINE, 6.0, 5.5, 6.5)
    assert explained
    (r,) = (r for r in found if r.rule == "chain")
    assert "`k` adds to one element of C, and each addition waits" in r.text


def test_a_small_advantage_does_not_explain_a_large_one():
    found, explained, expected = reasons(chain(False), chain(True), MACHINE, 40.0, 38.0, 42.0)
    assert [r.rule for r in found] == ["copies"]
    assert not explained and 1.0 < expected < 4.0


def test_a_producer_that_stays_in_the_cache():
    found, *_ = reasons(blur("root"), blur(16), MACHINE, 1.6, 1.5, 1.7)
    assert found[0].rule == "tile"
    assert "into L2" in found[0].text or "into L3" in found[0].text


def test_masked_vectors():
    slow, fast = tiled(1000, 48), tiled(1000, 40)
    found, *_ = reasons(slow, fast, MACHINE, 1.4, 1.3, 1.5)
    assert found[0].rule == "guards"
    assert "masked vectors of 48" in found[0].text


def test_inlining_that_computes_again():
    def program(inline):
        A = te.placeholder((2050, 2048), name="A")
        X = te.compute((2050, 2048), lambda i, j: te.exp(A[i, j]), name="X")
        Y = te.compute((2048, 2048), lambda i, j: X[i, j] + X[i + 1, j] + X[i + 2, j], name="Y")
        s = te.create_schedule(Y.op)
        if inline:
            s[X].compute_inline()
        return readable(s, [A, Y])

    found, explained, _ = reasons(program(True), program(False), MACHINE, 2.2, 2.0, 2.4)
    assert (found[0].rule, explained) == ("redundant", True)
    assert "computes X again wherever it is read: 1.7 times" in found[0].text


def test_many_small_parallel_loops():
    def program(outer):
        A = te.placeholder((4096, 256), name="A")
        B = te.compute((4096, 256), lambda i, j: A[i, j] * 2.0, name="B")
        s = te.create_schedule(B.op)
        i, j = B.op.axis
        s[B].parallel(i if outer else j)
        return readable(s, [A, B])

    found, explained, _ = reasons(program(False), program(True), MACHINE, 20.0, 18.0, 22.0)
    assert (found[0].rule, explained) == ("launches", True)
    assert "starts the parallel loop `j` 4,096 times" in found[0].text


def test_sizes_that_are_not_known():
    n = te.size_var("n")
    A = te.placeholder((n,), name="A")
    B = te.compute((n,), lambda i: A[i] + 1.0, name="B")
    p = readable(te.create_schedule(B.op), [A, B])
    assert reasons(p, p, MACHINE, 2.0, 1.9, 2.1)[:2] == ([], False)
    known = facts(p, {"n": 1000})
    assert reasons(known, known, MACHINE, 2.0, 1.9, 2.1)[:2] == ([], False)


@pytest.mark.parametrize("ratio", [0.0, -1.0, float("nan"), float("inf")])
def test_a_ratio_that_is_none(ratio):
    assert reasons(tiled(), tiled(), MACHINE, ratio, ratio, ratio)[:2] == ([], True)


def test_names_that_look_like_markup():
    A = te.placeholder((64, 64), name="A")
    X = te.compute((64, 64), lambda i, j: A[i, j] * 2.0, name="__proto__")
    Y = te.compute((64, 64), lambda i, j: X[i, j] + 1.0, name="constructor")
    s = te.create_schedule(Y.op)
    slow = readable(s, [A, Y])
    s[X].compute_inline()
    found, *_ = reasons(slow, readable(s, [A, Y]), MACHINE, 1.7, 1.6, 1.8)
    assert "__proto__" in found[0].text
