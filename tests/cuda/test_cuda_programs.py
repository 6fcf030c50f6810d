"""Programs for the target cuda, in Numba's simulator where there is no GPU, against NumPy and the interpreter."""

import pickle
import runpy
import threading

import numpy as np
import pytest

import tvmlab
from tests.cuda.samples import bound, module, tiled
from tests.expr_fuzz import Case
from tests.loops import alloc, buffer, load, loop, store
from tests.refusal import refused
from tvmlab import te
from tvmlab.core.build import const
from tvmlab.core.error import BuildError, CallError, LabError
from tvmlab.core.node import Barrier, Broadcast, If, Let, Load, Ramp, Store, Var, While
from tvmlab.core.walk import seq
from tvmlab.runtime import array
from tvmlab.runtime.device import DeviceError, cuda
from tvmlab.runtime.gpu import LaunchError, set_timeout
from tvmlab.runtime.gpu.runner import TIMEOUT

t, i, v = Var("t"), Var("i"), Var("v")
rng = np.random.default_rng(0)


def threads(*body, extent=32, var=t, tag="threadIdx.x"):
    return loop(var, extent, *body, thread=tag)


@pytest.fixture(scope="module")
def matmul():
    s, args = tiled()
    return tvmlab.build(s, args, "cuda")


# ---------------------------------------------------------------- right results


def test_a_tiled_matmul(matmul, golden):
    assert matmul.source == golden
    a, b = rng.random((20, 13), "float32"), rng.random((13, 18), "float32")
    c = np.zeros((20, 18), "float32")
    matmul(a, b, c)
    np.testing.assert_allclose(c, a @ b, rtol=1e-5)


def test_inputs_that_are_read_only(matmul):
    a, b = rng.random((20, 13), "float32"), rng.random((13, 18), "float32")
    a.flags.writeable = b.flags.writeable = False
    c = np.zeros((20, 18), "float32")
    matmul(a, b, c)
    np.testing.assert_allclose(c, a @ b, rtol=1e-5)


@pytest.mark.parametrize("dtype", ["int64", "uint64"])
def test_large_floats_become_integers(dtype):
    a = np.array([9.21e18, 9223371487098961920.0, -9223372036854775808.0, -3.7, 2.5, 0.0], "float64")
    if dtype == "uint64":
        a = np.array([9.3e18, 1e19, 18446744073709549568.0, 9223372036854775808.0, 2.5, 0.0], "float64")
    A = te.placeholder(a.shape, name="A", dtype="float64")
    B = te.compute(a.shape, lambda i: A[i].astype(dtype), name="B")
    s, got = te.create_schedule(B.op).default("cuda"), {}
    for target in ("interp", "cuda"):
        got[target] = np.zeros(a.shape, dtype)
        tvmlab.build(s, [A, B], target)(a, got[target])
    np.testing.assert_array_equal(got["interp"], a.astype(dtype))
    np.testing.assert_array_equal(got["cuda"], got["interp"])


@pytest.mark.parametrize("scope", ["shared", "local"])
def test_halves_in_memory_of_a_kernel(scope):
    A = te.placeholder((64,), name="A", dtype="float16")
    B = te.compute((64,), lambda i: A[i] + A[i], name="B")
    s = te.create_schedule(B.op)
    AA = s.cache_read(A, scope, [B])
    bx, tx = s[B].split(B.op.axis[0], factor=16)
    s[B].bind(bx, te.thread_axis("blockIdx.x"))
    s[B].bind(tx, te.thread_axis("threadIdx.x"))
    s[AA].compute_at(s[B], bx if scope == "shared" else tx)
    if scope == "shared":
        s[AA].bind(AA.op.axis[0], te.thread_axis("threadIdx.x"))
    module = tvmlab.build(s, [A, B], "cuda")
    assert "numba.types.float16" in module.source
    a, b = np.arange(64, dtype="float16"), np.zeros(64, "float16")
    module(a, b)
    np.testing.assert_array_equal(b, a + a)


def test_it_is_the_same_after_pickling_and_export(matmul, tmp_path):
    again = pickle.loads(pickle.dumps(matmul))
    assert again.source == matmul.source
    a, b, c = np.ones((20, 13), "float32"), np.ones((13, 18), "float32"), np.zeros((20, 18), "float32")
    again(a, b, c)
    assert (c == 13).all()
    matmul.export(tmp_path / "m.py")
    assert (tmp_path / "m.py").read_text() == matmul.source
    assert "main_C" in runpy.run_path(str(tmp_path / "m.py"))  # it needs nothing of ours
    assert "writes .py files" in refused(BuildError, lambda: matmul.export(tmp_path / "m.so"))


def test_sizes_are_known_at_the_call():
    s, args = bound(te.size_var("n"), lambda a, i: a * 2.0 + i.astype("float32"))
    made = tvmlab.build(s, args, "cuda")
    for n in (0, 1, 31, 32, 100):
        a, b = rng.random(n, "float32"), np.zeros(n, "float32")
        made(a, b)
        np.testing.assert_array_equal(b, a * np.float32(2) + np.arange(n, dtype="float32"))


SEEDS = range(60)


@pytest.mark.parametrize("seed", SEEDS)
def test_random_expressions_are_what_the_interpreter_says(seed):
    case = Case(seed)
    stage = case.schedule[case.args[-1]]
    stage.bind(stage.leaf_iter_vars[0], te.thread_axis("threadIdx.x"))
    try:
        got = case.run("cuda")
    except BuildError as e:
        assert e.rule == "unknown-function" and ("nextafter" in e.message or "reinterpret" in e.message)
        return
    wanted = case.run("interp")
    at = case.differs(wanted, got)
    assert not len(at), (got[at[:1]], wanted[at[:1]], case.made)


@pytest.mark.parametrize("name", ["floor", "ceil", "trunc", "round", "nearbyint", "exp", "sigmoid", "erf", "log"])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_functions(name, dtype):
    x = np.array([-2.5, -1.5, -0.5, -0.0, 0.5, 1.5, 2.5, 3.49, 1e4, np.inf, -np.inf, np.nan], dtype)
    f = lambda a, i: getattr(te, name)(a)
    s, args = bound(len(x), f, dtype)
    results = []
    for target in ("cuda", "interp"):
        out = np.zeros(len(x), dtype)
        tvmlab.build(s, args, target)(x, out)
        results.append(out)
    np.testing.assert_allclose(*results, rtol=1e-6 if dtype != "float16" else 1e-3)


@pytest.mark.parametrize("dtype", ["int8", "int32", "uint16", "uint64"])
def test_leading_zeros(dtype):
    x = np.array([0, 1, 2, 100, np.iinfo(dtype).max], dtype)
    s, args = bound(len(x), lambda a, i: tvmlab.tir.clz(a), dtype)
    got, wanted = np.zeros(len(x), args[-1].dtype), np.zeros(len(x), args[-1].dtype)
    tvmlab.build(s, args, "cuda")(x, got)
    tvmlab.build(s, args, "interp")(x, wanted)
    np.testing.assert_array_equal(got, wanted)


def test_shared_memory_and_the_barrier_between_its_writers_and_readers():
    a, b = buffer("A", (32,)), buffer("B", (32,))
    s, s2 = buffer("S", (32,), scope="shared"), buffer("S2", (32,), scope="shared")
    body = alloc(s, alloc(s2, store(s, t, load(a, t)), store(s2, t, 1.0), Barrier("shared"),
                          store(b, t, load(s, 31 - t) + load(s2, 31 - t))))  # fmt: skip
    x, y = np.arange(32, dtype="float32"), np.zeros(32, "float32")
    module([a, b], threads(body))(x, y)
    np.testing.assert_array_equal(y, x[::-1] + 1)


def test_threads_beyond_an_inner_loops_extent_stay_out():
    a, b, u = buffer("A", (64,)), buffer("B", (64,)), Var("u")
    body = seq(threads(store(b, t, 1.0)), threads(store(b, u + 40, 2.0), extent=7, var=u))
    y = np.zeros(64, "float32")
    module([a, b], threads(body, var=Var("w")))(np.zeros(64, "float32"), y)
    assert y.tolist() == [1.0] * 32 + [0.0] * 8 + [2.0] * 7 + [0.0] * 17


def test_vectors_are_taken_lane_by_lane():
    a, b = buffer("A", (12,), "int32"), buffer("B", (12,), "int32")
    vec = lambda base: Ramp(base, const(1), 4)
    mask = Ramp(const(0), const(1), 4) < Broadcast(const(3), 4)
    moved = Store(b, (vec(const(1)),), Load(b, (vec(const(0)),), "int32x4"))
    body = [
        Store(b, (vec(t * 4),), Load(a, (vec(t * 4),), "int32x4") + Broadcast(t, 4)),
        If(t.equal(2), seq(moved, Store(b, (vec(const(8)),), Broadcast(const(9), 4), mask))),
    ]
    x = np.arange(12, dtype="int32") * 10
    y = np.zeros(12, "int32")
    module([a, b], threads(*body, extent=3), block=(3, 1, 1))(x, y)
    wanted = x + np.repeat(np.arange(3), 4)
    wanted[1:5] = wanted[0:4].copy()
    wanted[8:11] = 9
    np.testing.assert_array_equal(y, wanted)


def test_indices_read_from_memory_do_not_wrap():
    a, b = buffer("A", (300,), "uint8"), buffer("B", (600,), "int32")
    index = load(a, t).astype("int32") * 2 + 1
    y = np.full(600, -1, "int32")
    module([a, b], threads(store(b, index, t), extent=1), block=(1, 1, 1))(np.full(300, 250, "uint8"), y)
    assert y[501] == 0 and (np.delete(y, 501) == -1).all()


def test_a_division_by_zero_in_an_index_gives_zero():
    a, b, n = buffer("A", (32,)), buffer("B", (64,)), Var("n")
    y = np.zeros(64, "float32")
    body = store(b, (t + 5) // n + t % n, 1.0)
    module([a, b, n], threads(body, extent=1), block=(1, 1, 1))(np.zeros(32, "float32"), y, 0)
    assert y.tolist() == [1.0] + [0.0] * 63


def test_memory_of_two_kernels():
    A = te.placeholder((50,), name="A")
    B = te.compute((50,), lambda i: A[i] + 1.0, name="B")
    C = te.compute((50,), lambda i: B[49 - i] * 2.0, name="C")
    s = te.create_schedule(C.op)
    for x in (B, C):
        outer, inner = s[x].split(x.op.axis[0], factor=16)
        s[x].bind(outer, te.thread_axis("blockIdx.x"))
        s[x].bind(inner, te.thread_axis("threadIdx.x"))
    made = tvmlab.build(s, [A, C], "cuda")
    x, y = rng.random(50, "float32"), np.zeros(50, "float32")
    made(x, y)
    np.testing.assert_array_equal(y, (x[::-1] + np.float32(1)) * np.float32(2))
    assert [k.name for k in made.compiled.extra["device"].kernels] == ["main_B", "main_C"]


def test_warps_meet(simulator):
    a, b = buffer("A", (64,)), buffer("B", (64,))
    s = buffer("S", (64,), scope="shared")
    body = alloc(s, If(t < 32, seq(store(s, t, 1.0), Barrier("warp"), store(b, t, load(s, 31 - t)))))
    y = np.zeros(64, "float32")
    module([a, b], threads(body, extent=64), block=(64, 1, 1))(np.zeros(64, "float32"), y)
    assert y.tolist() == [1.0] * 32 + [0.0] * 32


# ---------------------------------------------------------------- arguments


def test_arguments_are_checked_as_on_a_cpu(matmul):
    a, b, c = np.ones((20, 13), "float32"), np.ones((13, 18), "float32"), np.zeros((20, 36), "float32")
    matmul(np.asfortranarray(a), array(b, cuda(0)), c[:, ::2])
    assert (c[:, ::2] == 13).all() and (c[:, 1::2] == 0).all()
    assert refused(CallError, lambda: matmul(a.astype("float64"), b, c)).startswith("argument 0 (A) is float64")
    on_cpu = array(b)
    said = refused(CallError, lambda: matmul(a, on_cpu, c[:, ::2]))
    assert said.splitlines()[0] == "argument 1 (B) is on cpu(0), the module runs on cuda"


def test_the_simulator_is_not_timed(matmul, simulator):
    a, b, c = np.ones((20, 13), "float32"), np.ones((13, 18), "float32"), np.zeros((20, 18), "float32")
    said = refused(DeviceError, lambda: matmul.time_evaluator("main", cuda(0))(a, b, c))
    assert said.startswith("the CUDA simulator emulates, it does not measure")


# ---------------------------------------------------------------- what goes wrong


A, B = buffer("A", (32,)), buffer("B", (32,))
X = np.zeros(32, "float32")


def wrong(*body, **options):
    made = module([A, B], threads(*body, extent=options.get("block", (32,))[0]), **options)
    return refused(LaunchError, lambda: made(X.copy(), X.copy()))


def test_an_index_outside_an_array(simulator):
    said = wrong(store(B, t + 1, load(A, t)))
    assert said.startswith("kernel `k` failed in the simulator: an index outside an array: tid=[31, 0, 0] ")
    assert ":  B[t + 1] = A[t]" in said
    assert "index -1 is below zero" in wrong(store(B, t, load(A, t - 1)))


def test_a_divergent_barrier(simulator):
    said = wrong(If(t < 7, Barrier("shared")), store(B, t, 1.0))
    assert said.startswith("kernel `k`: divergent barrier: the threads of a block do not all reach it")
    assert "threadIdx = (0, 0, 0) waits at line" in said and "threadIdx = (7, 0, 0) has ended" in said
    two = wrong(If(t < 7, seq(Barrier("shared"), store(A, 0, 1.0)), Barrier("shared")))
    assert "divergent barrier" in two


def test_an_endless_kernel(simulator):
    set_timeout(2, "simulator")
    try:
        said = wrong(While(load(A, 0) < 1.0, store(B, t, 1.0)))
    finally:
        set_timeout(TIMEOUT, "simulator")
    assert said.startswith("kernel `k` did not come to its end on the CUDA simulator: it was still running after 2 s")
    test_shared_memory_and_the_barrier_between_its_writers_and_readers()


def test_arrays_on_the_device():
    """Where memory does not stay between calls, they are copied."""
    made = tvmlab.build(*bound(100, lambda a, i: a * 2.0), "cuda")
    a, b = (tvmlab.nd.array(np.arange(100, dtype="float32"), tvmlab.cuda(0)) for _ in range(2))
    made(a, b)
    made(b, a)
    np.testing.assert_array_equal(a.numpy(), np.arange(100) * 4)


def test_limits_of_real_devices(simulator):
    assert "2048 x 1 x 1 = 2048 threads in a block; a CUDA device takes 1024" in wrong(
        store(B, 0, 1.0), block=(2048, 1, 1)
    )
    assert "at most 1024 x 1024 x 64" in wrong(store(B, 0, 1.0), block=(1, 1, 128))
    said = wrong(store(B, 0, 1.0), grid=(1, 70000, 1))
    assert "has 70000 blocks along blockIdx.y; a CUDA device takes 65535 there" in said
    s = buffer("S", (20_000,), scope="shared")
    assert "takes 80000 bytes of shared memory" in wrong(alloc(s, store(s, t, 1.0)))


def test_this_process_keeps_its_own_numba(simulator):
    from numba import config

    module([A, B], threads(store(B, t, 1.0)))(X.copy(), X.copy())
    assert not config.ENABLE_CUDASIM


def test_calls_from_several_threads_take_turns(matmul):
    a, b, wrong = np.ones((20, 13), "float32"), np.ones((13, 18), "float32"), []

    def work():
        c = np.zeros((20, 18), "float32")
        matmul(a, b, c)
        wrong.extend([1] * int((c != 13).any()))

    workers = [threading.Thread(target=work) for _ in range(3)]
    [w.start() for w in workers]
    [w.join() for w in workers]
    assert not wrong


# ---------------------------------------------------------------- what is refused


def test_a_schedule_without_threads():
    s, args = bound(8, lambda a, i: a)
    C = te.compute((8,), lambda i: args[0][i], name="C")
    plain = te.create_schedule(C.op)
    assert "no loop of it is bound" in refused(BuildError, lambda: tvmlab.build(plain, [args[0], C], "cuda"))


REFUSED = {
    "a scope": (alloc(buffer("W", (4,), scope="warp"), store(B, t, 1.0)), "no memory of scope warp in a kernel: `W`"),
    "a size": (alloc(buffer("L", (Var("n"),), scope="local"), store(B, t, 1.0)), "the size of `L` (local) as a number"),
    "blocks": (Barrier("global"), "cannot let blocks wait for each other"),
    "a function": (store(B, t, te.nextafter(load(A, t), load(A, t))), "has no function `nextafter`"),
    "vectors": (Store(buffer("V", (4,), "float32x4"), (const(0),), Broadcast(const(1.0, "float32"), 4)),
                "no arrays of vectors: `V` holds float32x4"),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_what_cannot_be_printed_is_refused(what):
    body, words = REFUSED[what]
    said = refused(LabError, lambda: module([A, B], threads(body)))
    assert said.startswith("the target `cuda` ") and words in said


def test_a_let_inside_a_part_that_may_not_be_evaluated():
    x = Var("x", "float32")
    e = te.if_then_else(t < 16, Let(x, load(A, t) + 1.0, x * x), const(0.0, "float32"))
    y = X.copy()
    module([A, B], threads(store(B, t, e)))(np.arange(32, dtype="float32"), y)
    np.testing.assert_array_equal(y[:16], (np.arange(16) + 1.0) ** 2)
    assert (y[16:] == 0).all()
