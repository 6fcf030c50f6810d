"""The default GPU schedule: loops, results in the interpreter against NumPy, and what is refused."""

import random
import warnings

import numpy as np
import pytest

from tests.cpu.test_kernels_operators import arrays_for
from tests.refusal import refused
from tests.traces import MORE, random_steps
from tvmlab import kernels, te, tir
from tvmlab.core.error import BuildError, LabError, ScheduleError
from tvmlab.core.node import For
from tvmlab.core.walk import loops
from tvmlab.face.api import build, create_schedule, lower
from tvmlab.face.defaults import threads_for
from tvmlab.lowering.pipeline import FLAT
from tvmlab.lowering.pipeline import run as run_passes
from tvmlab.schedule.trace import Trace
from tvmlab.target import base, interp
from tvmlab.target.base import Target

LOWERED = FLAT, (*FLAT, "allreduce_tree"), (*FLAT, "allreduce_shuffle", "allreduce_tree")


def equal(s, args, inputs, expected, close=False):
    """Run it, as it is and with its reductions lowered, from outputs that are no result."""
    program = lower(s, args)
    assert not s.check()
    compare = np.testing.assert_allclose if close else np.testing.assert_array_equal
    more = {"rtol": 2e-5, "atol": 2e-5} if close else {}
    for passes in LOWERED if "allreduce" in str(program) else LOWERED[:1]:
        outs = [np.full(w.shape, 77, w.dtype) for w in expected]
        interp.run(run_passes(program, passes), [*inputs, *outs])
        for have, want in zip(outs, expected, strict=True):
            compare(have, want, **more)
    return program


def on_host(program):
    """Stores that no thread loop is around."""
    from tvmlab.core.node import Store
    from tvmlab.core.walk import children

    def visit(n):
        if isinstance(n, For) and n.kind == "thread":
            return []
        return [n] * isinstance(n, Store) + [x for c in children(n) for x in visit(c)]

    return visit(program.body)


@pytest.mark.parametrize("make", MORE, ids=lambda f: f.__name__)
def test_programs(make):
    for seed in range(8):
        case = make(random.Random(seed))
        case.schedule.default("cuda")
        program = equal(case.schedule, case.args, case.inputs, case.expected)
        assert not on_host(program)


@pytest.mark.parametrize("make", MORE[:4] + MORE[-1:], ids=lambda f: f.__name__)
def test_pictures(golden, make):
    case = make(random.Random(0))
    case.schedule.default("cuda")
    golden(lower(case.schedule, case.args), "loops")
    golden(case.schedule.to_code(), "steps")


GALLERY = [(name, shape) for name in kernels.names() for shape in kernels.get(name).SMALL[:3]]


@pytest.mark.parametrize("name, shape", GALLERY, ids=[f"{n}-{i}" for i, (n, _) in enumerate(GALLERY)])
def test_gallery(name, shape):
    kernel = kernels.get(name)
    args = kernel.declare(**shape)
    ins = [a for a in args if isinstance(a.op, te.PlaceholderOp)]
    outs = args[len(ins) :]
    s = create_schedule([t.op for t in outs])
    if any(type(h.op).__name__ == "ExternOp" for h in s.stages):
        assert "is a statement of its own (extern)" in refused(ScheduleError, lambda: s.default("cuda"))
        return
    s.default("cuda")
    arrays = arrays_for(args)
    expected = kernel.reference(*[a.copy() for a in arrays[: len(ins)]], **shape)
    expected = expected if isinstance(expected, (tuple, list)) else [expected]
    assert not on_host(equal(s, args, arrays[: len(ins)], expected, close=True))


@pytest.mark.parametrize("seed", range(80))
def test_after_other_steps(seed):
    """Whatever was said of the loops before: it is refused, something is still owed, or the result is right."""
    rng = random.Random(seed)
    case = random_steps(rng, 6)
    s, before = case.schedule, len(case.schedule.trace)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            s.default("cuda")
        except LabError as e:
            assert e.rule in ("default-bound",) and len(s.trace) == before
            return
        if s.check():
            return
        equal(s, case.args, case.inputs, case.expected)


# ---------------------------------------------------------------- one result


def total(n, fold=te.sum, shape=None, **more):
    shape = shape or (n,)
    A = te.placeholder(shape, name="A")
    axes = [te.reduce_axis((0, d), name=f"k{i}") for i, d in enumerate(shape)]
    B = te.compute((), lambda: fold(A[tuple(axes)], axis=axes, **more), name="B")
    return create_schedule(B.op), [A, B]


def tags(program):
    return {x.thread: x.extent.value for x in loops(program.body) if x.kind == "thread"}


@pytest.mark.parametrize("n, lanes", [(1, 1), (2, 2), (37, 64), (256, 256), (1000, 256)])
def test_one_result_is_made_by_threads_together(n, lanes):
    s, args = total(n)
    a = np.random.default_rng(0).integers(-8, 9, n).astype("float32")
    program = equal(s.default(), args, [a], [a.sum().reshape(())])
    assert tags(program) == {"threadIdx.x": lanes} and "allreduce_sum" in str(program)


def test_one_result_of_several_axes():
    s, args = total(0, te.max, (5, 9, 3))
    a = np.random.default_rng(0).integers(-8, 9, (5, 9, 3)).astype("float32")
    assert tags(equal(s.default(), args, [a], [a.max().reshape(())])) == {"threadIdx.x": 256}


def test_one_result_of_an_unknown_number():
    n = te.size_var("n")
    s, args = total(n)
    s.default()
    f = build(s, args, "interp")
    for length in (0, 1, 300, 513):
        a, b = np.ones(length, "float32"), np.full((), 7, "float32")
        f(a, b)
        assert b == length


def test_one_result_with_a_start_is_made_by_one_thread():
    """Threads cannot begin with it: each of them would."""
    s, args = total(5, init=3.0)
    a = np.arange(5, dtype="float32")
    assert tags(equal(s.default(), args, [a], [np.array(13, "float32")])) == {"threadIdx.x": 1}


def test_a_number():
    A = te.placeholder((), name="A")
    B = te.compute((), lambda: A() * 2.0, name="B")
    s = create_schedule(B.op).default()
    assert tags(equal(s, [A, B], [np.array(4, "float32")], [np.array(8, "float32")])) == {"threadIdx.x": 1}


# ---------------------------------------------------------------- what is inlined


def inlined(s):
    return {h.op.name for h in s.stages if h.attach_type == 2}


def chain(*functions, shape=(20, 30)):
    tensors = [te.placeholder(shape, name="A")]
    for number, f in enumerate(functions):
        tensors.append(te.compute(shape, f(tensors), name=f"T{number}"))
    return create_schedule(tensors[-1].op).default()


def test_a_chain_of_elements_becomes_one_kernel():
    s = chain(*[lambda t: lambda i, j: te.exp(t[-1][i, j])] * 5)
    assert inlined(s) == {"T0", "T1", "T2", "T3"}


def test_what_is_read_twice_is_inlined_where_it_costs_little():
    twice = lambda t: lambda i, j: t[-1][i, j] + t[-1][j % 20, i]
    assert inlined(chain(lambda t: lambda i, j: t[-1][i, j] + 1.0, twice)) == {"T0"}
    assert inlined(chain(lambda t: lambda i, j: te.exp(t[-1][i, j]), twice)) == set()


def test_copies_do_not_grow_without_end():
    """Each stage reads the one before three times."""
    s = chain(*[lambda t: lambda i, j: t[-1][i, j] + t[-1][j % 20, i] + t[-1][0, j]] * 12)
    assert 0 < len(inlined(s)) < 11
    assert len(str(lower(s, [*_ends(s)]))) < 200_000


def _ends(s):
    from tvmlab.lowering.pipeline import default_arguments

    return default_arguments(s.state)


def test_a_producer_of_two_readers_is_not_inlined():
    s = chain(lambda t: lambda i, j: t[-1][i, j] + 1.0, lambda t: lambda i, j: t[-1][i, j] * 2.0,
              lambda t: lambda i, j: t[1][i, j] + t[2][i, j])  # fmt: skip
    assert inlined(s) == {"T1"}


def test_what_is_computed_for_fewer_elements_than_it_is_read_for_is_not_inlined_if_it_costs_much():
    A = te.placeholder((8,), name="A")
    E = te.compute((8,), lambda i: te.exp(A[i]), name="E")
    B = te.compute((8, 50), lambda i, j: E[i] + j, name="B")
    assert inlined(create_schedule(B.op).default()) == set()


@pytest.mark.parametrize("scope", ["global", "shared"])
def test_what_somebody_placed_stays_in_its_thread(scope):
    A = te.placeholder((40, 30), name="A")
    B = te.compute((40, 30), lambda i, j: A[i, j] + 1.0, name="B")
    k = te.reduce_axis((0, 30), name="k")
    C = te.compute((40,), lambda i: te.sum(B[i, k], axis=k), name="C")
    s = create_schedule(C.op)
    s[B].compute_at(s[C], C.op.axis[0])
    s[B].set_scope(scope)
    a = np.random.default_rng(0).integers(-8, 9, (40, 30)).astype("float32")
    program = equal(s.default(), [A, C], [a], [(a + 1).sum(1)])
    assert inlined(s) == set() and 'B = alloc((1, 30), "float32", scope="local")' in str(program)


# ---------------------------------------------------------------- the steps


def test_steps_are_ordinary_ones():
    s, args = total(100)
    assert s.default("cuda") is s
    assert [step.primitive for step in s.trace] == ["split", "bind"]
    assert all(step.where[0] == __file__ and step.names == () for step in s.trace)
    again = create_schedule(Trace.from_json(s.trace.to_json()))
    assert str(lower(again, _ends(again))) == str(lower(s, args))
    assert s.undo(2).trace.length == 0


def test_steps_are_in_the_history():
    s, _ = total(100)
    history = s.history
    s.default("cuda")
    assert len(history.point.trace) == 2


def test_how_many_threads():
    assert [threads_for(n) for n in (0, 1, 2, 3, 37, 256, 257, None)] == [1, 1, 2, 4, 64, 256, 256, 256]


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize("tag", ["blockIdx.x", "threadIdx.x"])
def test_a_kernel_that_is_bound_stays_as_it_is(tag):
    A = te.placeholder((30,), name="A")
    B = te.compute((30,), lambda i: te.exp(A[i]), name="B")
    C = te.compute((30,), lambda i: B[i] + B[29 - i], name="C")
    s = create_schedule(C.op)
    s[B].bind(B.op.axis[0], te.thread_axis(tag))
    s.default("cuda")
    assert [step.primitive for step in s.trace] == ["bind", "split", "bind", "bind"]
    a = np.random.default_rng(0).standard_normal(30).astype("float32")
    e = np.exp(a)
    program = equal(s, [A, C], [a], [e + e[::-1]], close=True)
    assert not on_host(program) and f'thread("{tag}", 30)' in str(program)
    steps = len(s.trace)
    assert len(s.default("cuda").trace) == steps  # there is nothing left to bind


def test_what_is_placed_in_a_bound_kernel_stays_as_it_is():
    A = te.placeholder((64,), name="A")
    B = te.compute((64,), lambda i: A[63 - i] + 1.0, name="B")
    s = create_schedule(B.op)
    AA = s.cache_read(A, "shared", [B])
    bx, tx = s[B].split(B.op.axis[0], factor=16)
    s[B].bind(bx, te.thread_axis("blockIdx.x"))
    s[B].bind(tx, te.thread_axis("threadIdx.x"))
    s[AA].compute_at(s[B], bx)
    s[AA].bind(AA.op.axis[0], te.thread_axis("threadIdx.x"))
    steps = len(s.trace)
    assert len(s.default("cuda").trace) == steps
    assert 'scope="shared"' in str(lower(s, [A, B]))


def test_threads_inside_loops_that_are_not_bound():
    case = MORE[0](random.Random(0))
    s = case.schedule
    D = s.outputs[0]
    C = D.input_tensors[0]
    s[C].compute_at(s[D], D.axis[0])
    s[C].bind(C.op.axis[-1], te.thread_axis("threadIdx.x"))
    assert refused(ScheduleError, lambda: s.default("cuda")) == (
        f"C runs on threadIdx.x already, inside {D.name}, of which no loop is bound: the default schedule cannot share "
        "out the loops around it\n"
        "  undo the bind, or bind the loops around it by hand"
    )
    assert len(s.trace) == 2


@pytest.mark.parametrize("which", ["scan", "update"])
def test_threads_bound_in_a_scan(which):
    s, args, *_ = running_sums("its own")
    scan = args[-1]
    tx = te.thread_axis((0, 5), "threadIdx.x")
    if which == "scan":
        s[scan].env_threads([tx])
    else:
        update = scan.op.update[0]
        s[update].bind(update.op.axis[1], tx)
    said = refused(ScheduleError, lambda: s.default("cuda"))
    assert said.startswith(f"{which} runs on threadIdx.x already, inside a scan:")


def test_a_statement_of_its_own():
    A = te.placeholder((4,), name="A")
    B = te.extern((4,), [A], lambda ins, outs: tir.call_packed("f", ins[0], outs[0]), name="B", dtype="float32")
    assert refused(ScheduleError, lambda: create_schedule(B.op).default()) == (
        "B is a statement of its own (extern), which cannot be shared out to threads from here\n"
        "  write its thread loops in the statement itself, or run this stage on a CPU"
    )


def test_a_target_says_itself_that_it_has_threads(monkeypatch):
    s, args = total(4)
    mine = base.TargetKind("mine", "", lambda *_: "", lambda *_: None, threads=True)
    monkeypatch.setattr(base, "get", lambda name: mine)
    assert "thread(" in str(lower(s.default("mine"), args))


def test_a_cpu():
    s, _ = total(4)
    assert refused(ScheduleError, lambda: s.default("llvm")) == (
        "the default schedule shares work out to threads, which `llvm` does not have\n"
        "  legal here:  cuda, cuda_c, interp, metal, opencl\n"
        "  a CPU runs a schedule without steps as it is"
    )
    assert refused(BuildError, lambda: s.default("foo")).startswith("there is no target `foo`")
    with Target("llvm"):
        assert refused(ScheduleError, lambda: s.default())
    s.default(Target("cuda"))


# ---------------------------------------------------------------- scans


def running_sums(init, m=6, n=5, extra=None):
    X, first = te.placeholder((m, n), name="X"), te.placeholder((1, n), name="first")
    state = te.placeholder((m, n), name="state")
    start = first if init == "an input" else te.compute((1, n), lambda _, i: first[0, i] * 2.0, name="init")
    update = te.compute((m, n), lambda t, i: state[t - 1, i] + X[t, i], name="update")
    scan = te.scan(start, update, state, inputs=[X], name="scan")
    outs = [scan]
    if init == "an output":
        outs.append(start)
    if init == "read by another":
        outs.append(te.compute((1, n), lambda _, i: start[0, i] + 1.0, name="other"))
    x = np.random.default_rng(0).integers(-8, 9, (m, n)).astype("float32")
    f = np.arange(n, dtype="float32").reshape(1, n)
    begin = f if init == "an input" else f * 2
    whole = np.concatenate([begin, x[1:]]).cumsum(0)
    return (
        create_schedule([t.op for t in outs]),
        [X, first, *outs],
        [x, f],
        [whole, begin + (len(outs) == 2 and init == "read by another")][: len(outs)],
    )


@pytest.mark.parametrize("init", ["its own", "an input", "an output", "read by another"])
def test_a_scan_begins_in_a_kernel(init):
    s, args, inputs, expected = running_sums(init)
    assert not on_host(equal(s.default(), args, inputs, expected))


def test_a_scan_with_a_reduction_in_its_loop():
    m, n = 5, 4
    X, state = te.placeholder((m, n), "int32", name="X"), te.placeholder((m, n), "int32", name="state")
    init = te.compute((1, n), lambda _, i: X[0, i], name="init")
    H = te.compute((m, n), lambda t, i: state[t - 1, i] * 2, name="H")
    k = te.reduce_axis((0, n), name="k")
    G = te.compute((m,), lambda t: te.sum(H[t, k], axis=k), name="G")
    update = te.compute((m, n), lambda t, i: G[t] + H[t, i] - X[t, i], name="update")
    scan = te.scan(init, update, state, inputs=[X], name="scan")
    x = np.random.default_rng(0).integers(-8, 9, (m, n)).astype("int32")
    want = x.copy()
    for t in range(1, m):
        want[t] = 2 * want[t - 1].sum() + 2 * want[t - 1] - x[t]
    assert not on_host(equal(create_schedule(scan.op).default(), [X, scan], [x], [want]))


def test_a_scan_inside_another_stage_is_refused():
    case = MORE[-1](random.Random(0))
    s, Y = case.schedule, case.args[-1]
    scan = Y.op.input_tensors[0]
    s[scan].compute_at(s[Y], Y.op.axis[0])
    assert refused(ScheduleError, lambda: s.default()) == (
        "scan is a scan inside another stage, whose kernel would have to begin others\n  s[scan].compute_root()"
    )


def test_what_is_between_kernels_is_in_global_memory():
    case = MORE[-1](random.Random(0))
    s, Y = case.schedule, case.args[-1]
    scan = Y.op.input_tensors[0]
    for op in (scan.op, scan.op.update[0].op):
        s[op].set_scope("local")
    assert not on_host(equal(s.default(), case.args, case.inputs, case.expected))


def test_what_is_fetched_ahead_keeps_its_memory():
    A = te.placeholder((20, 30), name="A")
    B = te.compute((20, 30), lambda i, j: A[i, j] + 1.0, name="B")
    C = te.compute((20, 30), lambda i, j: B[i, j] * 2.0, name="C")
    s = create_schedule(C.op)
    s[C].prefetch(B, C.op.axis[1], 1)
    assert inlined(s.default()) == set()
