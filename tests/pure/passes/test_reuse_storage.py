"""Memory taken over from buffers that are not needed any more, and the cases in which it must not be."""

import pytest

from tests.pure.passes.ir import buffer, ints, load, loop, nodes, program, same_result, store
from tests.pure.passes.schedules import numbers, run
from tvmlab import te
from tvmlab.core.error import LabError
from tvmlab.core.node import Alloc, Barrier, Call, Evaluate, For, If, LetStmt, Ramp
from tvmlab.core.node import Const as C_
from tvmlab.core.walk import seq
from tvmlab.face.api import create_schedule, lower
from tvmlab.lowering.config import Config
from tvmlab.lowering.memory import peak_bytes
from tvmlab.lowering.passes import get
from tvmlab.lowering.pipeline import run as run_passes

reuse_storage, flatten_storage = get("reuse_storage"), get("flatten_storage")


def transposed(x):
    return lambda i, j: x[j, i] + 1.0


def doubled(x):
    return lambda i, j: x[i, j] * 2.0


def chain(m, length=5):
    A = x = te.placeholder((m, m), name="A")
    for t in range(length):
        x = te.compute((m, m), transposed(x) if t == 2 else doubled(x), name=f"T{t}")
    return create_schedule(x.op), [A, x]


@pytest.mark.parametrize("symbolic", [False, True])
def test_chain(golden, symbolic):
    s, args = chain(te.size_var("n") if symbolic else 6)
    before = run_passes(lower(s, args), ("flatten_storage",))
    after = reuse_storage(before)
    golden(before, "before")
    golden(after, "after")
    assert len(nodes(after, Alloc)) == 2 < len(nodes(before, Alloc)) == 4
    a = numbers(6, 6)
    for config in (Config(), Config(reuse_storage=False)):
        assert (run(s, args, [a, a], config=config) == (a.T * 4 + 1) * 4).all()


def test_peak_bytes():
    s, args = chain(6)
    before = run_passes(lower(s, args), ("flatten_storage",))
    assert (peak_bytes(before), peak_bytes(reuse_storage(before))) == (4 * 144, 2 * 144)
    s, args = chain(te.size_var("n"))
    p = lower(s, args)  # not flat: the same
    assert peak_bytes(p, {"n": 10}) == 1600
    with pytest.raises(LabError, match="depends on `n`, whose value is not given"):
        peak_bytes(p)


def test_peak_bytes_of_a_parallel_loop_is_per_thread():
    i, j = ints("i j")
    t = buffer("t", 10)
    body = Alloc(t, loop(j, 10, store(t, j, 0.0)))
    p = program((), loop(i, 4, body, kind="parallel"))
    assert [peak_bytes(p, threads=n) for n in (1, 2, 8)] == [40, 80, 160]


# ---------------------------------------------------------------- by hand: a, then b from c; may b live where a lived?


def hand(first, second, sizes=(100, 100), dtypes=("float32", "float32"), scopes=("global", "global"), around=None):
    """`first(a)` fills and uses a, `second(b)` fills and uses b; a is dead in between. Flat."""
    a, b = (buffer(n, s, dtype=d, scope=c) for n, s, d, c in zip("ab", sizes, dtypes, scopes))
    x, y = buffer("X", 200), buffer("Y", 200)
    body = Alloc(a, seq(*first(a, x, y), Alloc(b, seq(*second(b, x, y)))))
    return flatten_storage(program((x, y), around(body) if around else body))


def fill(b, x, y):
    i, j = ints("i j")
    n = b.shape[0]
    value = load(x, i) if b.dtype == "float32" else i.astype(b.dtype)
    out = load(b, j) if b.dtype == "float32" else load(b, j).astype("float32")
    return [loop(i, n, store(b, i, value)), loop(j, n, store(y, j, out + 1.0))]


def shares(p):
    before, after = len(nodes(p, Alloc)), len(nodes(reuse_storage(p), Alloc))
    assert before == 2
    return after == 1


@pytest.mark.parametrize(
    "shared, changes",
    [
        (True, {}),
        (True, {"sizes": (10, 160)}),
        (True, {"sizes": (160, 10)}),
        (False, {"sizes": (10, 161)}),
        (False, {"sizes": (161, 10)}),
        (False, {"dtypes": ("float32", "int32")}),
        (False, {"scopes": ("global", "shared")}),
        (False, {"scopes": ("local", "local")}),
        (False, {"scopes": ("warp", "warp")}),
        (True, {"scopes": ("local.acc_buffer", "local.acc_buffer")}),
        (False, {"sizes": (1, 1)}),
        (False, {"scopes": ("shared", "shared")}),  # no barrier in between
    ],
)
def test_what_fits(shared, changes):
    p = hand(fill, fill, **changes)
    assert shares(p) == shared
    same_result(p, reuse_storage(p))


def test_memory_grows_to_the_larger_size():
    after = reuse_storage(hand(fill, fill, sizes=(10, 160)))
    assert [a.buffer.shape[0].value for a in nodes(after, Alloc)] == [160]


def test_shared_memory_after_a_barrier():
    p = hand(fill, lambda b, x, y: [Barrier("shared"), *fill(b, x, y)], scopes=("shared", "shared"))
    assert shares(p)


def in_a_block(n, *between):
    """Each thread uses its own element of a, then another one of b; n times over."""
    (t, k), a, b = ints("t k"), buffer("a", 40, scope="shared"), buffer("b", 40, scope="shared")
    x, y = buffer("X", 40), buffer("Y", 40)
    first = [store(a, t, load(x, t)), store(y, t, load(a, t))]
    second = [store(b, 39 - t, load(y, t) + 1.0), store(y, t, load(b, 39 - t))]
    body = Alloc(a, seq(*first, Barrier("shared"), Alloc(b, seq(*second)), *between))
    body = body if n == 1 else For(k, C_(0), C_(n), "serial", body)
    return flatten_storage(program((x, y), For(t, C_(0), C_(40), "thread", body, "threadIdx.x")))


def test_a_loop_needs_a_barrier_on_the_way_back_too():
    assert shares(in_a_block(1))
    assert not shares(in_a_block(3))
    assert shares(in_a_block(3, Barrier("shared")))
    for p in (in_a_block(1), in_a_block(3), in_a_block(3, Barrier("shared"))):
        same_result(p, reuse_storage(p))


def test_inside_threads_global_memory_stays():
    (t,) = ints("t")
    assert not shares(hand(fill, fill, around=lambda s: For(t, C_(0), C_(4), "thread", s, "threadIdx.x")))
    assert shares(hand(fill, fill, around=lambda s: For(t, C_(0), C_(4), "parallel", s)))


def test_a_pointer_keeps_its_memory():
    def taken(b, x, y):
        pointer = Call("access_ptr", (b.data, C_(0), C_(4), C_(3)), "handle", "intrin")
        return [*fill(b, x, y), Evaluate(Call("f", (pointer,), "int32", "packed"))]

    assert not shares(hand(taken, fill))
    assert not shares(hand(fill, taken))


def test_a_buffer_that_is_still_needed():
    def late(b, x, y):
        return fill(b, x, y)

    a, b = buffer("a", 100), buffer("b", 100)
    x, y = buffer("X", 200), buffer("Y", 200)
    (k,) = ints("k")
    use = loop(k, 100, store(y, k + 100, load(a, k)))
    p = flatten_storage(program((x, y), Alloc(a, seq(*fill(a, x, y), Alloc(b, seq(*late(b, x, y), use))))))
    assert not shares(p)


# ---------------------------------------------------------------- in place


def copying(make, size=64):
    """a is filled; then `make(a, b)` reads a for the last time and writes b for the first."""
    a, b = buffer("a", size), buffer("b", size)
    x, y = buffer("X", size), buffer("Y", size)
    i, j = ints("p q")
    start = loop(i, size, store(a, i, load(x, i)))
    end = loop(j, size, store(y, j, load(b, j)))
    return flatten_storage(program((x, y), Alloc(a, seq(start, Alloc(b, seq(make(a, b), end))))))


def each(index, extents=(8, 8), value=None):
    def make(a, b):
        variables = ints("i j k")[: len(extents)]
        at = index(*variables)
        body = store(b, at, value(a, b, *variables) if value else load(a, at) * 2.0)
        for v, n in reversed(list(zip(variables, extents))):
            body = loop(v, n, body)
        return body

    return make


@pytest.mark.parametrize(
    "shared, make",
    [
        (True, each(lambda i, j: i * 8 + j)),
        (True, each(lambda i, j: j * 8 + i)),
        (False, each(lambda i, j: i * 8 + j, value=lambda a, b, i, j: load(a, j * 8 + i))),
        (False, each(lambda i, j: i * 8 + j, value=lambda a, b, i, j: load(a, i * 8 + j) + load(a, i))),
        (False, each(lambda i, j: i * 4 + j)),  # rows overlap: an element is written, then read again
        (False, each(lambda i, j: (i * 8 + j) % 32)),
        (False, each(lambda i, j, k: i * 8 + j, extents=(8, 8, 2))),
        (False, each(lambda i: i + i // 32, extents=(62,))),
    ],
)
def test_elementwise(shared, make):
    p = copying(make)
    assert shares(p) == shared


def test_results_of_in_place_writing():
    p = copying(each(lambda i, j: i * 8 + j))
    same_result(p, reuse_storage(p))


def test_vectors_in_place():
    def make(a, b):
        (i,) = ints("i")
        at = Ramp(i * 16, C_(1), 16)
        return loop(i, 4, store(b, at, load(a, at) + load(a, at)))

    p = copying(make)
    assert shares(p)
    same_result(p, reuse_storage(p))

    def gap(a, b):
        (i,) = ints("i")
        at = Ramp(i * 8, C_(1), 16)
        return loop(i, 7, store(b, at, load(a, at) + load(a, at)))

    assert not shares(copying(gap))


def test_a_condition_that_reads_the_old_buffer():
    def make(a, b):
        i, j = ints("i j")
        return loop(i, 64, If(load(a, 63 - i) > 0, store(b, i, load(a, i))))

    assert not shares(copying(make))


def test_an_index_behind_a_let():
    def make(a, b):
        i, x = ints("i x")
        return loop(i, 64, LetStmt(x, 0 - i, store(b, i + x, load(a, i + x))))

    assert not shares(copying(make))
