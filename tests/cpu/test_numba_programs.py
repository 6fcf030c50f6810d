"""The shapes of programs on the target numba: their text, their results, what is refused."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tvmlab.core.build import binary, cast, const
from tvmlab.core.error import BuildError, LabError
from tvmlab.core.node import Barrier, Buffer, Call, Evaluate, For, Var

from .ir_samples import (
    Alloc,
    If,
    Let,
    LetStmt,
    Program,
    Select,
    Seq,
    Target,
    While,
    buf,
    build,
    load,
    loop,
    packed_matmul,
    program,
    pure,
    ramp,
    run,
    splat,
    store,
)  # fmt: skip

NUMBA = Target("numba")
rng = np.random.default_rng(3)


def source(p: Program) -> str:
    return NUMBA.kind.source(p, NUMBA)


def kernel(p: Program) -> str:
    """The kernel's lines alone."""
    text = source(p)
    return text[text.index("@njit(error_model") :].split("\n\n\n")[0]


def nd(name: str, shape: tuple[Any, ...], dtype: str = "float32") -> Buffer:
    """A flat buffer of a logical shape."""
    logical = Buffer(name, tuple(const(s) if isinstance(s, int) else s for s in shape), dtype)
    size = const(1)
    for s in logical.shape:
        size = size * s  # type: ignore[assignment]
    return Buffer(name, (size,), dtype, logical=logical)


def relu(kind: str = "serial") -> Program:
    a, c = nd("A", (32, 40)), nd("C", (32, 40))
    body = loop(
        "i",
        32,
        lambda i: loop("j", 40, lambda j: store(c, i * 40 + j, binary("max", load(a, i * 40 + j) * 2.0, 0.0))),
        kind,
    )
    return program("relu", (a, c), body)


# ---------------------------------------------------------------- text


def test_a_scalar_program_is_plain_python(golden: Any) -> None:
    assert source(relu()) == golden


def test_a_vector_program_brings_the_vocabulary_it_uses(golden: Any) -> None:
    assert source(packed_matmul(64, mr=2, nv=2)) == golden


def test_names_do_not_hide_what_the_text_uses() -> None:
    a, b = buf("np", 8), buf("max", 8)
    i = Var("range")
    p = program("njit", (a, b), For(i, const(0), const(8), "serial", store(b, i, binary("max", load(a, i), 0.0))))
    assert "for range_1 in range(8):" in source(p)
    x, out = rng.normal(size=8).astype("f4"), np.zeros(8, "f4")
    run(p, x, out, target="numba")
    np.testing.assert_array_equal(out, np.maximum(x, 0))
    assert build(p, "numba").extra["symbol"] == "njit_1"


def test_an_exported_file_needs_numpy_and_numba_only(tmp_path: Path) -> None:
    build(relu(), "numba").extra["export"](str(tmp_path / "relu.py"))
    build(packed_matmul(32, mr=2, nv=2), "numba").extra["export"](str(tmp_path / "product.py"))
    script = """
import sys; sys.path.insert(0, ".")
import numpy as np, relu, product
a = np.arange(-640, 640, dtype="f4").reshape(32, 40); c = np.empty_like(a)
relu.relu(a, c); assert (c == np.maximum(a * 2, 0)).all()
x, y = np.random.rand(2, 1024).astype("f4"); z = np.empty(1024, "f4")
product.matmul(x, y, z); assert np.allclose(z.reshape(32, 32), x.reshape(32, 32) @ y.reshape(32, 32), atol=1e-4)
for wrong in (a.astype("f8"), a[:3], a.T):
    try: relu.relu(wrong, c)
    except AssertionError as e: print(e)
assert not any(m.startswith("tvmlab") for m in sys.modules)
"""
    done = subprocess.run(
        [sys.executable, "-I", "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "A must be float32[32, 40]",
        "A must have the shape (32, 40), not (3, 40)",
        "A must have the shape (32, 40), not (40, 32)",
    ]


# ---------------------------------------------------------------- loops


@pytest.mark.parametrize("threads", (0, 1, 2))
def test_parallel_loops(threads: int) -> None:
    a = rng.normal(size=(32, 40)).astype("f4")
    c = np.zeros_like(a)
    p = relu("parallel")
    assert "for i in prange(32):" in source(p) and "parallel=True" in source(p)
    run(p, a, c, target=Target("numba", threads=threads))
    np.testing.assert_array_equal(c, np.maximum(a * 2, 0))


def test_a_parallel_body_has_its_own_temporaries_and_registers() -> None:
    n = 64
    a, c = buf("A", n * 16), buf("C", n)

    def body(i: Var) -> Any:
        acc, tmp = buf("acc", 1, scope="local"), buf("tmp", 16, scope="local")
        fill = loop("k", 16, lambda k: store(tmp, k, load(a, i * 16 + k) * 2.0))
        total = loop("r", 16, lambda r: store(acc, 0, load(acc, 0) + load(tmp, r)))
        return Alloc(tmp, Alloc(acc, Seq((store(acc, 0, 0.0), fill, total, store(c, i, load(acc, 0))))))

    x, out = rng.normal(size=n * 16).astype("f4"), np.zeros(n, "f4")
    run(program("rows", (a, c), loop("i", n, body, "parallel")), x, out, target="numba")
    np.testing.assert_allclose(out, 2 * x.reshape(n, 16).sum(1), rtol=1e-4, atol=1e-5)


def test_parallel_vectors() -> None:
    a, c = buf("A", 640), buf("C", 640)

    def body(i: Var) -> Any:
        acc = buf("acc", 32, scope="local")
        at = lambda v: ramp(v * 16, 16)  # noqa: E731
        fill = loop("v", 2, lambda v: store(acc, at(v), load(a, ramp(i * 32 + v * 16, 16))), "unrolled")
        add = loop(
            "k",
            3,
            lambda k: loop("w", 2, lambda w: store(acc, at(w), load(acc, at(w)) * splat(const(2.0), 16)), "unrolled"),
        )
        out = loop("u", 2, lambda u: store(c, ramp(i * 32 + u * 16, 16), load(acc, at(u))), "unrolled")
        return Alloc(acc, Seq((fill, add, out)))

    x, out = rng.normal(size=640).astype("f4"), np.zeros(640, "f4")
    run(program("eight", (a, c), loop("i", 20, body, "parallel")), x, out, target="numba")
    np.testing.assert_array_equal(out, x * 8)


def test_calls_from_several_python_threads() -> None:
    module = build(relu("parallel"), "numba")
    a = rng.normal(size=(32, 40)).astype("f4")
    outs = [np.zeros_like(a) for _ in range(4)]

    def work(c: np.ndarray) -> None:
        for _ in range(50):
            module.call([a, c], [])

    threads = [threading.Thread(target=work, args=(c,)) for c in outs]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for c in outs:
        np.testing.assert_array_equal(c, np.maximum(a * 2, 0))


@pytest.mark.parametrize("layer", ("workqueue", "omp"))
def test_calls_of_both_targets_from_several_python_threads(layer: str) -> None:
    """The workqueue layer would abort the process if two regions ran at once."""
    script = """
from tests.cpu.test_numba_programs import *
from tests.cpu.test_numba_programs import relu
modules = [build(relu("parallel"), t) for t in ("numba", "llvm", "numba", "llvm")]
a = rng.normal(size=(32, 40)).astype("f4")
outs = [np.zeros_like(a) for _ in modules]
def work(m, c):
    for _ in range(300): m.call([a, c], [])
threads = [threading.Thread(target=work, args=x) for x in zip(modules, outs)]
for t in threads: t.start()
for t in threads: t.join()
assert all((c == np.maximum(a * 2, 0)).all() for c in outs)
import numba; print(numba.threading_layer())
"""
    env, root = {**os.environ, "NUMBA_THREADING_LAYER": layer}, Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", script], env=env, cwd=root, capture_output=True, text=True, timeout=120
    )
    if "No threading layer could be loaded" in done.stderr:
        pytest.skip(f"Numba has no threading layer {layer} here")
    assert (done.returncode, done.stdout.strip()) == (0, layer), done.stderr


def test_the_number_of_threads_is_checked() -> None:
    import numba

    most = numba.config.NUMBA_NUM_THREADS
    module = build(relu("parallel"), "numba")
    module.extra["set_num_threads"](1)
    with pytest.raises(LabError, match=f"the number of threads must be from 1 to {most}, not {most + 1}"):
        module.extra["set_num_threads"](most + 1)


@pytest.mark.parametrize("shape", ((0, 5), (3, 0), (1, 1), (7, 11)))
def test_symbolic_sizes_and_zero_extents(shape: tuple[int, int]) -> None:
    n, m = Var("n", nonneg=True), Var("m", nonneg=True)
    a, c = nd("A", (n, m)), nd("C", (m, n))
    alpha = Var("alpha", "float32")
    f = lambda i: loop("j", m, lambda j: store(c, j * n + i, load(a, i * m + j) * alpha))  # noqa: E731
    p = program("transpose", (a, c, alpha), loop("i", n, f), sizes=(n, m))
    x = rng.normal(size=shape).astype("f4")
    out = np.zeros(shape[::-1], "f4")
    run(p, x, out, scalars=(0.1, *shape), target="numba")
    np.testing.assert_array_equal(out, x.T * np.float32(0.1))
    space: dict[str, Any] = {}
    exec(source(p), space)
    again = np.zeros(shape[::-1], "f4")
    space["transpose"](x, again, 0.1)
    np.testing.assert_array_equal(again, out)


def test_while_let_if_and_lazy_selection() -> None:
    a, out = buf("A", 20, "int32"), buf("Out", 20, "int32")
    x, s = Var("x"), buf("state", 1, "int32", scope="local")

    def body(i: Var) -> Any:
        guarded = Call("if_then_else", (i > 0, load(a, i - 1), const(0)), "int32")  # type: ignore[operator]
        count = While(load(s, 0) < load(a, i), store(s, 0, load(s, 0) + 3))  # type: ignore[arg-type]
        y = Var("y")
        write = If(x > 10, store(out, i, Let(y, load(s, 0) + x, y * y)), store(out, i, x))  # type: ignore[arg-type]
        return Alloc(s, Seq((store(s, 0, i), count, LetStmt(x, guarded + load(s, 0), write))))

    data = rng.integers(0, 40, 20).astype("i4")
    got = np.zeros(20, "i4")
    run(program("walk", (a, out), loop("i", 20, body)), data, got, target="numba")
    want = []
    for i in range(20):
        state = i
        while state < data[i]:
            state += 3
        x_ = (data[i - 1] if i else 0) + state
        want.append((state + x_) ** 2 if x_ > 10 else x_)
    np.testing.assert_array_equal(got, want)


def test_reduction_with_a_tuple_of_registers() -> None:
    a, where, best = buf("A", 5 * 30), buf("Where", 5, "int32"), buf("Best", 5)
    v, k0 = buf("v", 1, scope="local"), buf("k0", 1, "int32", scope="local")

    def body(i: Var) -> Any:
        def step(k: Var) -> Any:
            more = load(a, i * 30 + k) > load(v, 0)
            return Seq(
                (store(k0, 0, Select(more, k, load(k0, 0))), store(v, 0, Select(more, load(a, i * 30 + k), load(v, 0))))
            )

        first = Seq((store(v, 0, const(float("-inf"))), store(k0, 0, const(-1))))
        return Alloc(
            v, Alloc(k0, Seq((first, loop("k", 30, step), store(where, i, load(k0, 0)), store(best, i, load(v, 0)))))
        )

    x = rng.normal(size=(5, 30)).astype("f4")
    w, b = np.zeros(5, "i4"), np.zeros(5, "f4")
    run(program("argmax", (a, where, best), loop("i", 5, body)), x, w, b, target="numba")
    np.testing.assert_array_equal(w, x.argmax(1))
    np.testing.assert_array_equal(b, x.max(1))


# ---------------------------------------------------------------- memory


def test_masked_strided_and_gathered_accesses() -> None:
    a, idx, out = buf("A", 100), buf("Idx", 40, "int32"), buf("Out", 200)
    far = pure("likely", binary("<", ramp(32, 16), splat(const(40), 16)), dtype="boolx16")

    def block(i: Var) -> Any:
        lanes = ramp(i * 16, 16)
        tail = binary("<", lanes, splat(const(40), 16))
        picked = load(a, load(idx, lanes, tail), tail)
        return Seq(
            (
                store(out, ramp(i * 16, 16), picked, tail),
                store(out, ramp(i * 32 + 101, 16, 2), load(a, ramp(i * 2, 16, 3)), tail),
            )
        )

    x, where = rng.normal(size=100).astype("f4"), rng.integers(0, 100, 40).astype("i4")
    got = np.full(200, 7, "f4")
    p = program("pick", (a, idx, out), loop("i", 3, block), store(out, ramp(60, 16), load(a, ramp(32, 16), far)))
    run(p, x, where, got, target="numba")
    want = np.full(200, 7, "f4")
    want[:40] = x[where]
    for i in range(3):
        for lane in range(16):
            if i * 16 + lane < 40:
                want[i * 32 + 101 + 2 * lane] = x[i * 2 + 3 * lane]
    want[60:76] = np.where(np.arange(32, 48) < 40, x[32:48], 0)
    np.testing.assert_array_equal(got, want)


def test_vectors_of_odd_lengths_lets_and_a_number_stored_to_many() -> None:
    a, b, v, w = buf("A", 26, "int32"), buf("B", 26, "int32"), Var("v", "int32x13"), Var("w", "int32x13")

    def body(i: Var) -> Any:
        twice = Let(w, v + v, w * w)
        return LetStmt(
            v,
            load(a, ramp(i * 13, 13)) * splat(i, 13),
            Seq((store(b, ramp(i * 13, 13), 5), store(a, ramp(i * 13, 13), twice))),
        )

    x, out = rng.integers(-9, 9, 26).astype("i4"), np.zeros(26, "i4")
    want = (2 * x * np.repeat([0, 1], 13)) ** 2
    run(program("odd", (a, b), loop("i", 2, body)), x, out, target="numba")
    np.testing.assert_array_equal(out, np.full(26, 5))
    np.testing.assert_array_equal(x, want)


def test_a_store_between_ends_the_sharing_of_a_read() -> None:
    a, c = buf("A", 64), buf("C", 64)
    stmts = []
    for n in range(4):
        stmts.append(store(c, ramp(n * 16, 16), load(a, ramp(0, 16)) + load(a, ramp(0, 16))))
        stmts.append(store(a, ramp(0, 16), load(a, ramp(0, 16)) * splat(const(3.0), 16)))
    x, out = rng.normal(size=64).astype("f4"), np.zeros(64, "f4")
    kept = x[:16].copy()
    run(program("again", (a, c), *stmts), x, out, target="numba")
    for n in range(4):
        np.testing.assert_array_equal(out[n * 16 : n * 16 + 16], kept * 2)
        kept = kept * np.float32(3)


def test_half_precision_arrays() -> None:
    a, b, out = nd("A", (6, 7), "float16"), nd("B", (6, 7), "float16"), nd("Out", (6, 7), "float16")
    tmp = buf("tmp", 42, "float16")
    fill = loop("i", 42, lambda i: store(tmp, i, load(a, i) * load(b, i)))
    add = loop("j", 42, lambda j: store(out, j, load(tmp, j) + load(a, j)))
    p = program("halves", (a, b, out), Alloc(tmp, Seq((fill, add))))
    x, y = (rng.normal(size=(6, 7)).astype("f2") for _ in "ab")
    got = np.zeros((6, 7), "f2")
    run(p, x, y, got, target="numba")
    np.testing.assert_array_equal(got, x * y + x)
    space: dict[str, Any] = {}
    exec(source(p), space)
    again = np.zeros((6, 7), "f2")
    space["halves"](x, y, again)
    np.testing.assert_array_equal(again, got)


@pytest.mark.parametrize("dtype,vl", (("float32", 16), ("float64", 8), ("float32", 4), ("float16", 16)))
def test_matmul_with_a_register_tile(dtype: str, vl: int) -> None:
    n = 64
    p = packed_matmul(n, mr=4, nv=2, vl=vl, dtype=dtype)
    text = kernel(p)
    assert "acc_7" in text and text.count("empty_aligned") == 1  # the tile is in variables, the panel in memory
    a, b = (rng.uniform(-1, 1, size=(n, n)).astype(dtype) for _ in "ab")
    c = np.zeros((n, n), dtype)
    run(p, a, b, c, target="numba")
    np.testing.assert_allclose(c, a.astype("f8") @ b.astype("f8"), atol={"float16": 0.1}.get(dtype, 1e-4))


def test_a_tile_that_is_indexed_by_a_loop_is_written_out() -> None:
    a, c, acc = buf("A", 64), buf("C", 64), buf("acc", 64, scope="local")
    fill = loop("i", 4, lambda i: store(acc, ramp(i * 16, 16), load(a, ramp(i * 16, 16))))
    out = loop("j", 4, lambda j: store(c, ramp(j * 16, 16), load(acc, ramp(48 - j * 16, 16))))
    p = program("turn", (a, c), Alloc(acc, Seq((fill, out))))
    assert "acc_3 = load16(A, 48)" in source(p)
    x, got = rng.normal(size=64).astype("f4"), np.zeros(64, "f4")
    run(p, x, got, target="numba")
    np.testing.assert_array_equal(got, x.reshape(4, 16)[::-1].ravel())


def test_a_tile_whose_pieces_overlap_stays_in_memory() -> None:
    a, c, acc = buf("A", 32), buf("C", 32), buf("acc", 32, scope="local")
    body = Seq((store(acc, ramp(0, 16), load(a, ramp(0, 16))), store(acc, ramp(16, 16), load(a, ramp(16, 16))),
                store(c, ramp(0, 16), load(acc, ramp(8, 16)))))  # fmt: skip
    x, got = rng.normal(size=32).astype("f4"), np.zeros(32, "f4")
    run(program("shift", (a, c), Alloc(acc, body)), x, got, target="numba")
    np.testing.assert_array_equal(got[:16], x[8:24])


def test_long_unrolled_loops_stay_loops() -> None:
    a, c = buf("A", 4000), buf("C", 4000)
    p = program(
        "long",
        (a, c),
        loop(
            "i",
            100,
            lambda i: loop("j", 40, lambda j: store(c, i * 40 + j, load(a, i * 40 + j)), "unrolled"),
            "unrolled",
        ),
    )
    text = kernel(p)
    assert "for i in range(100):" in text and text.count("C[") == 40


def test_prefetch_changes_nothing() -> None:
    a, c = buf("A", 64), buf("C", 64)
    hint = Evaluate(
        Call(
            "prefetch",
            (Call("address_of", (load(a, 16),), "handle", "intrin"), const(0), const(3), const(1)),
            "int32",
            "intrin",
        )
    )
    x, got = rng.normal(size=64).astype("f4"), np.zeros(64, "f4")
    p = program("ahead", (a, c), hint, loop("i", 64, lambda i: store(c, i, load(a, i))))
    assert "    prefetch(A, 16)" in source(p)
    run(p, x, got, target="numba")
    np.testing.assert_array_equal(got, x)


# ---------------------------------------------------------------- CPUs and modes


@pytest.mark.parametrize("cpu,never", (("x86-64-v3", "%zmm"), ("x86-64", "%ymm")))
@pytest.mark.parametrize("kind", ("serial", "parallel"))
def test_narrow_cpus(cpu: str, never: str, kind: str) -> None:
    p = packed_matmul(64, mr=4, nv=1)
    p = p.map_bodies(lambda b: Alloc(b.buffer, For(b.body.var, b.body.lo, b.body.extent, "serial", b.body.body)))  # type: ignore[attr-defined]
    if kind == "parallel":
        p = relu("parallel")
    module = build(p, Target("numba", cpu=cpu))
    assert never not in module.asm()
    if kind == "serial":
        a, b = (rng.uniform(-1, 1, size=(64, 64)).astype("f4") for _ in "ab")
        c = np.zeros((64, 64), "f4")
        module.call([a, b, c], [])
        np.testing.assert_allclose(c, a @ b, atol=1e-4)


@pytest.mark.parametrize("mode", ("strict", "contract"))
def test_products_and_sums_are_fused_unless_the_program_says_strict(mode: str) -> None:
    x = (1 + rng.random(64) * 1e-3).astype("f4")
    a, b, out = buf("A", 64), buf("B", 64), np.zeros(64, "f4")

    def square(i: Var) -> Any:
        v = load(a, ramp(i * 16, 16))
        return store(b, ramp(i * 16, 16), v * v - v)

    p = program("square", (a, b), loop("i", 4, square), fp=mode)
    run(p, x, out, target="numba")
    assert np.array_equal(out, x * x - x) or mode == "contract"
    assert ("fastmath" in source(p)) == (mode == "contract")


# ---------------------------------------------------------------- refusals


def refusal(p: Program, target: Target = NUMBA) -> str:
    with pytest.raises(BuildError) as e:
        build(p, target)
    return str(e.value)


def test_refusals_name_the_thing_and_the_place() -> None:
    a, c = buf("A", 8), buf("C", 8)

    def calling(name: str, kind: str) -> Program:
        return program("f", (a, c), loop("i", 8, lambda i: store(c, i, Call(name, (load(a, i),), "float32", kind))))

    assert refusal(calling("my_function", "extern")) == (
        "the target `numba` cannot call the C function `my_function`\n"
        "    for i in range(8):\n"
        "        extern('my_function', A[i])\n"
        "  legal here:  target llvm, target interp, the functions of libm"
    )
    assert refusal(calling("my.packed", "packed")) == (
        "the target `numba` cannot call the Python function `my.packed` from compiled code\n"
        "    for i in range(8):\n"
        "        packed('my.packed', A[i])\n"
        "  legal here:  target llvm, target interp"
    )
    assert "has no threads of its own: axis `tx` is bound to threadIdx.x" in refusal(
        program("f", (c,), For(Var("tx"), const(0), const(8), "thread", store(c, 0, 1.0), "threadIdx.x"))
    )
    assert "has no threads that could meet here" in refusal(program("f", (c,), Barrier("shared")))
    assert refusal(relu(), Target("numba", triple="aarch64-linux-gnu")).startswith(
        "the target `numba` compiles for the machine it runs on, not for `aarch64-linux-gnu`"
    )


def test_a_buffer_outside_its_allocation_is_refused() -> None:
    a, t = buf("A", 4), buf("T", 4)
    assert refusal(program("lost", (a,), store(a, 0, load(t, 0)))) == "the buffer `T` is used where it does not exist"


def test_functions_of_libm_are_welcome() -> None:
    a, c = buf("A", 8), buf("C", 8)
    x, out = rng.random(8).astype("f4"), np.zeros(8, "f4")
    p = program("f", (a, c), loop("i", 8, lambda i: store(c, i, Call("expf", (load(a, i),), "float32", "extern"))))
    run(p, x, out, target="numba")
    np.testing.assert_allclose(out, np.exp(x), rtol=1e-6)


@pytest.mark.parametrize("dtype", ("int8", "uint8", "uint16", "int64", "uint64", "bool"))
def test_integer_arrays_of_every_kind(dtype: str) -> None:
    a, c = buf("A", 50, dtype), buf("C", 50, "int32")
    x, out = rng.integers(0, 2 if dtype == "bool" else 100, 50).astype(dtype), np.zeros(50, "i4")
    p = program("count", (a, c), loop("i", 50, lambda i: store(c, i, cast(load(a, i), "int32") * 3 + i)))
    run(p, x, out, target="numba")
    np.testing.assert_array_equal(out, x.astype("i4") * 3 + np.arange(50))


# ---------------------------------------------------------------- the cache on disk


@pytest.mark.parametrize("kind", ("serial", "parallel"))
def test_compiled_code_is_kept_and_a_damaged_file_is_rebuilt(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tvmlab.target import numba_cpu

    monkeypatch.setenv("TVMLAB_CACHE_DIR", str(tmp_path))
    a = rng.normal(size=(32, 40)).astype("f4")

    def stored() -> bool:
        monkeypatch.setattr(numba_cpu, "_compiled", {})
        module = build(relu(kind), "numba")
        c = np.zeros_like(a)
        module.call([a, c], [])
        np.testing.assert_array_equal(c, np.maximum(a * 2, 0))
        assert "define" in module.ir() and "relu" in module.asm()
        return bool(module.extra["stored"])

    assert [stored(), stored()] == [False, True]
    (file,) = tmp_path.rglob("*.pickle")
    file.write_bytes(file.read_bytes()[:-9])
    assert [stored(), stored()] == [False, True]


def test_another_process_finds_the_compiled_code(tmp_path: Path) -> None:
    script = "from tests.cpu.test_numba_programs import build, relu; print(build(relu(), 'numba').extra['stored'])"
    env, root = {**os.environ, "TVMLAB_CACHE_DIR": str(tmp_path)}, Path(__file__).parents[2]
    command = [sys.executable, "-c", script]
    done = [subprocess.run(command, env=env, cwd=root, capture_output=True, text=True, timeout=120) for _ in range(2)]
    assert [d.stdout.strip() for d in done] == ["False", "True"], done[0].stderr
