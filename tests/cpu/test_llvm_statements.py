"""Loops, branches, temporaries and memory accesses on the target llvm, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tvmlab.core.build import binary, cast, const, if_then_else
from tvmlab.core.error import BuildError
from tvmlab.core.node import Alloc, Attr, Barrier, Bin, Broadcast, For, If, Let, LetStmt, Load, Seq, Var, While
from tvmlab.target import Target

from .ir_samples import buf, build, load, loop, packed_matmul, program, ramp, run, splat, store

TARGETS = ("llvm", Target("llvm", cpu="x86-64-v3"), Target("llvm", cpu="x86-64"))
rng = np.random.default_rng(2)


def floats(n: int, dtype: str = "float32") -> Any:
    return rng.normal(size=n).astype(dtype)


@pytest.mark.parametrize("target", TARGETS, ids=str)
@pytest.mark.parametrize("dtype", ("float32", "float64"))
def test_packed_matmul_with_a_register_tile(dtype: str, target: Any) -> None:
    n = 128
    a, b, c = floats(n * n, dtype).reshape(n, n), floats(n * n, dtype).reshape(n, n), np.zeros((n, n), dtype)
    run(packed_matmul(n, dtype=dtype), a, b, c, target=target)
    np.testing.assert_allclose(
        c, a @ b, rtol=1e-4 if dtype == "float32" else 1e-11, atol=1e-3 if dtype == "float32" else 1e-11
    )


def test_the_register_tile_stays_in_registers() -> None:
    text = build(packed_matmul(128), Target("llvm", cpu="x86-64-v4")).extra["optimised"]()
    assert "alloca [256 x float]" not in text
    assert "phi <16 x float>" in text


def test_unrolled_addresses_are_a_base_and_a_constant() -> None:
    source = build(packed_matmul(128)).source
    assert source.count("mul nsw") < 10
    assert source.count("load float,") == 32  # 8 rows times 4 steps of k, each element of A read once


def test_zero_and_negative_extents_do_nothing() -> None:
    a, n = buf("A", 4), Var("n")
    for extent in (0, -3):
        out = np.zeros(4, "float32")
        run(program("none", (a,), loop("i", extent, lambda i: store(a, i, 1.0))), out)
        run(program("none2", (a, n), loop("i", n, lambda i: store(a, i, 1.0))), out, scalars=(extent,))
        assert not out.any()


def test_loops_start_where_they_say() -> None:
    a, out = buf("A", 12), np.zeros(12, "float32")
    for kind in ("serial", "unrolled", "vectorized"):
        out[:] = 0
        run(program("from3", (a,), loop("i", 5, lambda i: store(a, i, cast(i * i, "float32")), kind, lo=3)), out)
        np.testing.assert_array_equal(out, [0, 0, 0, 9, 16, 25, 36, 49, 0, 0, 0, 0])


def test_symbolic_sizes() -> None:
    n, m = Var("n", nonneg=True), Var("m", nonneg=True)
    a, b = buf("A", n * m), buf("B", n * m)
    body = loop("i", n, lambda i: loop("j", m, lambda j: store(b, j * n + i, load(a, i * m + j))))
    c = build(program("transpose", (a, b), body, sizes=(n, m)))
    for shape in ((3, 5), (0, 5), (1, 1), (64, 33)):
        x = floats(shape[0] * shape[1]).reshape(shape)
        out = np.zeros(shape[::-1], "float32")
        c.call((x, out), shape)
        np.testing.assert_array_equal(out, x.T)


def test_a_nest_too_large_to_unroll_stays_a_loop() -> None:
    a = buf("A", 10000)
    c = build(program("big", (a,), loop("i", 10000, lambda i: store(a, i, cast(i, "float32")), "unrolled")))
    assert c.source.count("store") == 1
    out = np.zeros(10000, "float32")
    c.call((out,), ())
    np.testing.assert_array_equal(out, np.arange(10000))


@pytest.mark.parametrize("stride", (1, 2, 3, 4, 5, -1, -2, -7))
@pytest.mark.parametrize("n", (4, 16, 5))
@pytest.mark.parametrize("dtype", ("float32", "uint8", "bool", "float16"))
def test_strided_vectors(stride: int, n: int, dtype: str) -> None:
    size = (n - 1) * abs(stride) + 1
    x = rng.integers(0, 2, size).astype(dtype) if dtype == "bool" else rng.integers(0, 200, size).astype(dtype)
    start = 0 if stride > 0 else size - 1
    a, b, c = buf("A", size, dtype), buf("B", n, dtype), buf("C", size, dtype)
    out, back = np.zeros(n, dtype), np.zeros(size, dtype)
    run(program("gather", (a, b, c), store(b, ramp(0, n), load(a, ramp(start, n, stride))),
                store(c, ramp(start, n, stride), load(b, ramp(0, n)))), x, out, back)  # fmt: skip
    np.testing.assert_array_equal(out, x[::stride] if stride > 0 else x[::-1][::-stride])
    want = np.zeros(size, dtype)
    want[np.arange(n) * stride + start] = out
    np.testing.assert_array_equal(back, want)


def test_a_strided_load_reads_nothing_beyond_its_last_element() -> None:
    """The array ends with the last element, at the end of a page that nobody may read past."""
    import ctypes
    import mmap

    page = mmap.mmap(-1, 2 * mmap.PAGESIZE)
    base = ctypes.addressof(ctypes.c_char.from_buffer(page))
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.mprotect(ctypes.c_void_p(base + mmap.PAGESIZE), ctypes.c_size_t(mmap.PAGESIZE), 0) == 0
    for stride in (2, 3, 4, -2):
        size = 15 * abs(stride) + 1
        x = np.frombuffer(page, "float32", size, mmap.PAGESIZE - 4 * size)
        x[:] = np.arange(size)
        a, b, out = buf("A", size), buf("B", 16), np.zeros(16, "float32")
        start = 0 if stride > 0 else size - 1
        run(program("edge", (a, b), store(b, ramp(0, 16), load(a, ramp(start, 16, stride)))), x, out)
        np.testing.assert_array_equal(out, np.arange(16) * stride + start)
        mask = binary("<", ramp(0, 16), splat(3, 16))  # a masked load of which three lanes are inside
        end = size - 3
        run(program("tail", (a, b), store(b, ramp(0, 16), load(a, ramp(end, 16), mask))), x, out)
        np.testing.assert_array_equal(out, [*x[end:], *[0] * 13])
    libc.mprotect(ctypes.c_void_p(base + mmap.PAGESIZE), ctypes.c_size_t(mmap.PAGESIZE), 3)


@pytest.mark.parametrize("target", TARGETS, ids=str)
@pytest.mark.parametrize("dtype", ("float32", "int8", "float64", "bool", "float16"))
@pytest.mark.parametrize("kind", ("int32", "int64", "uint8"))
def test_gather_and_scatter(dtype: str, kind: str, target: Any) -> None:
    n = 8
    where = rng.permutation(20)[:n].astype(kind)
    x = rng.integers(0, 2, 20).astype(dtype)
    a, p, b, c = buf("A", 20, dtype), buf("P", n, kind), buf("B", n, dtype), buf("C", 20, dtype)
    on = np.array([1, 1, 0, 1, 0, 1, 1, 1], bool)
    m = buf("M", n, "bool")
    mask = load(m, ramp(0, n))
    at = load(p, ramp(0, n))
    out, back = np.zeros(n, dtype), np.zeros(20, dtype)
    ones = splat(const(1, dtype), n)
    run(program("pick", (a, p, m, b, c), store(b, ramp(0, n), load(a, at, mask)), store(c, at, ones, mask)),
        x, where, on, out, back, target=target)  # fmt: skip
    np.testing.assert_array_equal(out, np.where(on, x[where.astype(int)], 0).astype(dtype))
    want = np.zeros(20, dtype)
    want[where[on].astype(int)] = 1
    np.testing.assert_array_equal(back, want)


@pytest.mark.parametrize("target", TARGETS, ids=str)
def test_masked_tail(target: Any) -> None:
    a, b = buf("A", 37), buf("B", 48)
    x, out = floats(37), np.full(48, 7, "float32")

    def body(i: Var) -> Any:
        mask = binary("<", ramp(i * 16, 16), splat(37, 16))
        return store(b, ramp(i * 16, 16), load(a, ramp(i * 16, 16), mask) + splat(const(1.0), 16), mask)

    run(program("tail", (a, b), loop("i", 3, body)), x, out, target=target)
    np.testing.assert_array_equal(out, [*(x + np.float32(1)), *[7] * 11])


def test_index_arithmetic() -> None:
    """Every operator in an index, with negative intermediate values, against the same in Python."""
    n = 40
    i = Var("i")
    forms = [
        (i * 7 - 60) // 8 + 8, (i * 7 - 60) % 8, (i - 20) // 5 + 4, (i - 20) % 5, (i * 6 + 3) // 6, (i * 6 + 3) % 6,
        (i * 12 + 8) // 4, (i * 12 - 7) % 4, binary("min", i, 5), binary("max", i - 3, 0), (i // 4) * 4 + i % 4,
        binary("truncdiv", i - 20, 3) + 7, binary("truncmod", i - 20, 3) + 3, binary("-", const(39), i),
        binary("truncdiv", i * 8 - 36, 4) + 9, binary("min", i, i + 1), i // (i % 3 + 1), (i - 20) % (i % 3 + 1),
        (i * 5) % binary("max", i, 1),
    ]  # fmt: skip

    def value(e: Any, k: int) -> int:
        from tvmlab.core.build import FOLD

        if isinstance(e, Bin):
            return int(FOLD[e.op](value(e.a, k), value(e.b, k)))
        return k if isinstance(e, Var) else e.value

    for form in forms:
        out = np.zeros(n, "int32")
        b, a = buf("B", n, "int32"), buf("A", 400, "int32")
        x = rng.integers(-1000, 1000, 400).astype("int32")
        for kind in ("serial", "unrolled"):
            run(program("index", (a, b), For(i, const(0), const(n), kind, store(b, i, load(a, form)))), x, out)
            np.testing.assert_array_equal(out, x[[value(form, k) for k in range(n)]], err_msg=f"{form} {kind}")
        values = np.zeros(n, "int64")
        c = buf("C", n, "int64")
        run(program("value", (c,), For(i, const(0), const(n), "serial", store(c, i, cast(form, "int64")))), values)
        np.testing.assert_array_equal(values, [value(form, k) for k in range(n)])


def test_values_wrap_where_indices_do_not() -> None:
    a, b, i = buf("A", 8, "int32"), buf("B", 8, "int32"), Var("i")
    x = np.array([2**31 - 1, -(2**31), 5, 2**30, -1, 0, 7, 2**31 - 2], "int32")
    out = np.zeros(8, "int32")
    v = Var("v")
    body = LetStmt(v, load(a, i), store(b, i, (v * 3 + 1) // 2))
    run(program("wrap", (a, b), For(i, const(0), const(8), "serial", body)), x, out)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(out, (x * np.int32(3) + np.int32(1)) // np.int32(2))


def test_if_else_and_nested_conditions() -> None:
    a, b = buf("A", 30), buf("B", 30)
    x, out = floats(30), np.zeros(30, "float32")

    def body(i: Var) -> Any:
        deep = If(binary(">", load(a, i), const(0.0)), store(b, i, 2.0), store(b, i, 3.0))
        return If(binary("<", i % 7, 3), deep, If(binary("==", i, 29), store(b, i, 9.0)), likely=True)

    run(program("branches", (a, b), loop("i", 30, body)), x, out)
    k = np.arange(30)
    np.testing.assert_array_equal(out, np.where(k % 7 < 3, np.where(x > 0, 2, 3), np.where(k == 29, 9, 0)))


def test_if_then_else_guards_a_read() -> None:
    a, b = buf("A", 4), buf("B", 8)
    x, out = floats(4), np.zeros(8, "float32")
    inside = lambda i: binary("and", binary(">=", i, 2), binary("<", i, 6))
    body = loop("i", 8, lambda i: store(b, i, if_then_else(inside(i), load(a, i - 2), const(-1.0))))
    run(program("pad", (a, b), body), x, out)
    np.testing.assert_array_equal(out, [-1, -1, *x, -1, -1])


def test_and_guards_a_read_on_its_right() -> None:
    a, b = buf("A", 2**20 + 1, "int32"), buf("B", 4, "int32")
    huge = 2**60
    x, out = np.array([1, 2, 3, 4], "int32"), np.zeros(4, "int32")

    def body(i: Var) -> Any:
        far = Load(a, (cast(i, "int64") * const(huge, "int64"),), "int32")
        return If(
            Bin("and", binary("==", i, 0), binary(">", far, 0), "bool"), store(b, i, const(1)), store(b, i, const(2))
        )

    run(program("guard", (a, b), loop("i", 4, body)), x, out)
    np.testing.assert_array_equal(out, [1, 2, 2, 2])


def test_while() -> None:
    a, n = buf("A", 1, "int32"), buf("N", 1, "int32")
    x, steps = np.array([27], "int32"), np.zeros(1, "int32")
    v = load(a, 0)
    body = Seq((
        If(binary("==", v % 2, 0), store(a, 0, v // 2), store(a, 0, v * 3 + 1)), store(n, 0, load(n, 0) + 1),
    ))  # fmt: skip
    run(program("collatz", (a, n), While(binary("!=", v, 1), body)), x, steps)
    assert (x[0], steps[0]) == (1, 111)


def test_lets() -> None:
    a, b, v, w = buf("A", 6), buf("B", 6), Var("v", "float32"), Var("w")
    x, out = floats(6), np.zeros(6, "float32")
    body = loop("i", 6, lambda i: LetStmt(w, binary("-", const(5), i), LetStmt(v, load(a, w), Seq((
        store(a, w, 0.0), store(b, i, Let(Var("u", "float32"), v, v + v)))))))  # fmt: skip
    before = x.copy()
    run(program("lets", (a, b), body), x, out)
    np.testing.assert_array_equal(out, 2 * before[::-1])
    assert not x.any()


def test_a_let_keeps_the_value_a_load_had() -> None:
    a, v = buf("A", 1), Var("v", "float32")
    x = np.array([3], "float32")
    body = LetStmt(v, load(a, 0), Seq((store(a, 0, 5.0), store(a, 0, load(a, 0) + v))))
    run(program("swap", (a,), body), x)
    assert x[0] == 8


@pytest.mark.parametrize("size", (8, 4096, 100_000))
def test_temporaries(size: int) -> None:
    """On the stack, on the heap; inside a loop, and holding what the previous stage made."""
    a, b, t = buf("A", size), buf("B", size), buf("T", size)
    x, out = floats(size), np.zeros(size, "float32")
    body = Alloc(t, Seq((
        loop("i", size, lambda i: store(t, i, load(a, i) + const(1.0))),
        loop("j", size, lambda j: store(b, j, load(t, binary("-", const(size - 1), j)))),
    )))  # fmt: skip
    run(program("stages", (a, b), loop("r", 2, lambda r: body)), x, out)
    np.testing.assert_array_equal(out, (x + np.float32(1))[::-1])
    run(program("stages2", (a, b), body), x, out)
    np.testing.assert_array_equal(out, (x + np.float32(1))[::-1])


def test_temporaries_of_symbolic_size() -> None:
    n = Var("n", nonneg=True)
    a, b, t = buf("A", n), buf("B", n), buf("T", n + 1)
    body = Alloc(
        t,
        Seq((loop("i", n, lambda i: store(t, i + 1, load(a, i))), loop("j", n, lambda j: store(b, j, load(t, j + 1))))),
    )
    c = build(program("shift", (a, b), loop("r", 2, lambda r: body), sizes=(n,)))
    for size in (0, 1, 5, 50_000):
        x, out = floats(size), np.zeros(size, "float32")
        c.call((x, out), (size,))
        np.testing.assert_array_equal(out, x)


def test_a_temporary_that_does_not_fit_is_a_memory_error() -> None:
    n = Var("n", "int64", True)
    a, t, k = buf("A", 1), buf("T", n), Var("k", "int64")
    c = build(program("huge", (a, k), Alloc(t, Seq((store(t, n - 1, 1.0), store(a, 0, load(t, k))))), sizes=(n,)))
    with pytest.raises(MemoryError, match="`huge`: the system gave no memory"):
        c.call((np.zeros(1, "float32"),), (0, 2**55))


def test_scalar_parameters_of_every_type() -> None:
    for dtype in (
        "bool",
        "int8",
        "uint8",
        "int16",
        "uint16",
        "int32",
        "uint32",
        "int64",
        "uint64",
        "float16",
        "float32",
        "float64",
    ):
        for target in TARGETS:
            s, b = Var("s", dtype), buf("B", 1, dtype)
            out = np.zeros(1, dtype)
            value = True if dtype == "bool" else 1.5 if dtype.startswith("float") else (-7 if dtype[0] == "i" else 200)
            run(program("scalar", (b, s), store(b, 0, s)), out, scalars=(value,), target=target)
            assert out[0] == value, dtype


def test_arrays_beyond_two_to_the_31_elements_are_addressed() -> None:
    """No such array is made: the pointer is moved back, so that the element lands in a small one."""
    far = 3 * 2**30
    a, n = buf("A", Var("size", "int64"), "int8"), Var("n")
    c = build(program("far", (a, n), loop("i", n, lambda i: store(a, i * 1024 * 1024, cast(i, "int8")), lo=3072)))
    memory = np.zeros(16, "int8")
    c.extra["raw"](memory.ctypes.data - far, 1)
    assert memory[0] == np.int8(3072 % 256)


def test_vectors_of_odd_lengths_and_scalar_broadcast_stores() -> None:
    a = buf("A", 9)
    out = np.zeros(9, "float32")
    run(program("fill", (a,), store(a, ramp(1, 7), const(3.0))), out)
    np.testing.assert_array_equal(out, [0, 3, 3, 3, 3, 3, 3, 3, 0])


def test_a_remembered_load_is_forgotten_where_memory_changes() -> None:
    a, out = buf("A", 4), np.arange(4, dtype="float32")
    two = Seq((
        store(a, 0, load(a, 1)), store(a, ramp(0, 2), Broadcast(const(9.0), 2)), store(a, 3, load(a, 0) + load(a, 1)),
    ))  # fmt: skip
    run(program("forget", (a,), two), out)
    np.testing.assert_array_equal(out, [9, 9, 2, 18])


def test_attributes_are_ignored() -> None:
    a, out = buf("A", 1), np.zeros(1, "float32")
    run(program("noted", (a,), Attr("pragma_note", a, const(1), store(a, 0, 1.0))), out)
    assert out[0] == 1


def test_thread_loops_are_refused_by_name() -> None:
    a, v = buf("A", 4), Var("tx")
    nest = For(v, const(0), const(4), "thread", store(a, v, 1.0), "threadIdx.x")
    with pytest.raises(BuildError) as e:
        build(program("bound", (a,), nest))
    assert str(e.value) == (
        "the loop `tx` is bound to threadIdx.x: the target llvm has no threads of a block\n"
        '    for tx in thread("threadIdx.x", 4):\n'
        "  legal here:  parallel, serial, the target interp"
    )
    with pytest.raises(BuildError, match="the target llvm has no Barrier"):
        build(program("barrier", (a,), Barrier("shared")))


def test_a_buffer_outside_its_allocation_is_refused() -> None:
    a, t = buf("A", 4), buf("T", 4)
    with pytest.raises(BuildError, match="the buffer `T` is used where it does not exist"):
        build(program("lost", (a,), store(a, 0, load(t, 0))))


def test_a_vector_condition_of_a_branch_is_refused() -> None:
    a = buf("A", 4)
    with pytest.raises(BuildError, match="a branch cannot depend on a vector: its statements need masks"):
        build(program("lanes", (a,), If(binary("<", ramp(0, 4), splat(2, 4)), store(a, 0, 1.0))))


def test_large_temporaries_are_freed_before_the_next_ones_are_made() -> None:
    """Of three stages with 64 MB each, never more than one is held."""
    n = 2**24
    a = buf("A", 3)

    def stage(k: int) -> Any:
        t = buf(f"T{k}", n)
        fill = loop("i", n // 1024, lambda i: store(t, i * 1024, cast(i, "float32")))
        return loop("r", 2, lambda r: Alloc(t, Seq((fill, store(a, k, load(t, n - 1024))))))

    c = build(program("peak", (a,), stage(0), stage(1), stage(2)))
    body = c.source
    calls = [
        line.split("@")[1].split("(")[0]
        for line in body.splitlines()
        if "call" in line and ("@malloc" in line or "@free" in line)
    ]
    assert calls == ["malloc", "free"] * 3
    out = np.zeros(3, "float32")
    c.call((out,), ())
    assert (out == n // 1024 - 1).all()


def test_an_expanded_loop_uses_one_slot_for_its_temporary() -> None:
    a, t = buf("A", 8), buf("T", 64)
    body = loop("i", 8, lambda i: Alloc(t, Seq((store(t, i, cast(i, "float32")), store(a, i, load(t, i))))), "unrolled")
    c = build(program("slots", (a,), body))
    assert c.source.count("alloca") == 1
    out = np.zeros(8, "float32")
    c.call((out,), ())
    np.testing.assert_array_equal(out, np.arange(8))


def test_overlapping_stores_of_any_length_are_seen_by_later_loads() -> None:
    """Random straight-line code of vector and scalar accesses to one array, against NumPy."""
    for seed in range(20):
        r = np.random.default_rng(seed)
        size = 40
        a, b, memory, steps, out = buf("A", size), buf("B", 600), np.arange(size, dtype="float32"), [], []
        x = memory.copy()
        for _ in range(40):
            n, stride = int(r.choice([1, 2, 3, 8, 13])), int(r.choice([1, 1, 1, 2]))
            at = int(r.integers(0, size - n * stride + 1))
            index = ramp(at, n, stride) if n > 1 else const(at)
            where = slice(at, at + (n - 1) * stride + 1, stride)
            if r.random() < 0.5:
                value = float(r.integers(0, 100))
                steps.append(store(a, index, value))
                memory[where] = value
            else:
                steps.append(store(b, ramp(len(out), n) if n > 1 else const(len(out)), load(a, index)))
                out += list(memory[where])
        got = np.zeros(600, "float32")
        run(program("line", (a, b), Seq(tuple(steps))), x, got)
        np.testing.assert_array_equal(got[: len(out)], out)
        np.testing.assert_array_equal(x, memory)


def test_masks_of_indices_are_made_once_and_known_ones_not_at_all() -> None:
    a, b, out = buf("A", 40), buf("B", 40), np.zeros(40, "float32")
    x = floats(40)

    def part(i: Any) -> Any:
        at = ramp(i * 16, 16)
        mask = binary("<", at, splat(40, 16))
        return store(b, at, load(a, at, mask) * splat(const(2.0), 16), mask)

    c = build(program("known", (a, b), loop("i", 3, part, "unrolled")))
    assert c.source.count("@llvm.masked.store") == 2 and "icmp" not in c.source  # one declaration, one call
    c.call((x, out), ())
    np.testing.assert_array_equal(out, 2 * x)
    c = build(program("unknown", (a, b), loop("i", 3, part)))
    assert c.source.count("icmp slt <16 x i32>") == 1
    out[:] = 0
    c.call((x, out), ())
    np.testing.assert_array_equal(out, 2 * x)


@pytest.mark.parametrize("op", ("<", "<=", ">", ">=", "==", "!="))
def test_masks_of_every_comparison(op: str) -> None:
    n = Var("n")
    b, out = buf("B", 24), np.zeros(24, "float32")
    mask = lambda i: Bin(op, ramp(i * 8 - 3, 8, 3), ramp(n + i, 8), "boolx8")
    body = loop("i", 3, lambda i: store(b, ramp(i * 8, 8), 1.0, mask(i)))
    flat = loop("i", 3, lambda i: store(b, ramp(i * 8, 8), 1.0, mask(i)), "unrolled")
    want = {
        "<": np.less,
        "<=": np.less_equal,
        ">": np.greater,
        ">=": np.greater_equal,
        "==": np.equal,
        "!=": np.not_equal,
    }
    i, lane = np.repeat(np.arange(3), 8), np.tile(np.arange(8), 3)
    for s in (body, flat):
        c = build(program("mask", (b, n), s))
        for size in (-9, -1, 0, 4, 11, 30):
            out[:] = 0
            c.call((out,), (size,))
            np.testing.assert_array_equal(out, want[op](i * 8 - 3 + 3 * lane, size + i + lane))


def test_a_masked_accumulator_is_a_register() -> None:
    a, b, t = buf("A", 160), buf("B", 16), buf("T", 16)
    at = ramp(0, 16)
    mask = binary("<", at, splat(11, 16))
    body = Alloc(t, Seq((
        store(t, at, 0.0, mask),
        loop("k", 10, lambda k: store(t, at, load(t, at, mask) + load(a, ramp(k * 16, 16), mask), mask)),
        store(b, at, load(t, at, mask), mask),
    )))  # fmt: skip
    c = build(program("tail", (a, b), body))
    assert "alloca" not in c.extra["optimised"]()
    x, out = floats(160), np.full(16, 7, "float32")
    c.call((x, out), ())
    want = np.zeros(16, "float32")
    for row in x.reshape(10, 16):
        want += row
    np.testing.assert_array_equal(out, np.where(np.arange(16) < 11, want, 7))


def test_two_ways_to_name_one_element() -> None:
    a, b, n = buf("A", 4), buf("B", 4), Var("n")
    x, out = np.arange(4, dtype="float32"), np.zeros(4, "float32")
    steps = Seq((
        store(b, 0, load(a, 2)), store(a, n, 7.0), store(b, 1, load(a, 2)), store(b, 2, load(a, n)),
        store(a, 2, 8.0), store(b, 3, load(a, n)),
    ))  # fmt: skip
    run(program("alias", (a, b, n), steps), x, out, scalars=(2,))
    assert out.tolist() == [2, 7, 7, 8]
