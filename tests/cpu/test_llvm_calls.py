"""Calls out of compiled code: C functions, registered Python functions, pointers."""

from __future__ import annotations

import ctypes
import threading
from typing import Any

import llvmlite.binding as llvm
import numpy as np
import pytest

from tvmlab.core import packed
from tvmlab.core.build import cast, const
from tvmlab.core.error import BuildError
from tvmlab.core.node import Alloc, Buffer, Call, Const, Evaluate, Seq, Var
from tvmlab.target import Target

from .ir_samples import buf, build, load, loop, program, ramp, run, splat, store

INT = "int32"


def call_packed(name: str, *args: Any, dtype: str = INT) -> Call:
    return Call(name, args, dtype, "packed")


def extern(name: str, *args: Any, dtype: str = INT) -> Call:
    return Call(name, args, dtype, "extern")


def pointer(b: Buffer, offset: Any = 0, extent: Any = 0, mask: int = 3) -> Call:
    return Call(
        "access_ptr",
        (b.data, const(offset) if isinstance(offset, int) else offset, const(extent), const(mask)),
        "handle",
        "intrin",
    )


@pytest.fixture
def registered():  # type: ignore[no-untyped-def]
    """register(name, f) for the length of a test."""
    names: list[str] = []

    def register(name: str, f: Any) -> None:
        names.append(name)
        packed.register(name, f, override=True)

    yield register
    for name in names:
        packed.remove(name)


def test_a_c_function_of_scalars_and_of_lanes() -> None:
    a, b = buf("A", 16, "float64"), buf("B", 16, "float64")
    x, out = np.linspace(0.1, 5, 16), np.zeros(16)
    run(
        program("gamma", (a, b), loop("i", 16, lambda i: store(b, i, extern("lgamma", load(a, i), dtype="float64")))),
        x,
        out,
    )
    from scipy.special import gammaln

    np.testing.assert_allclose(out, gammaln(x), rtol=1e-13, atol=1e-15)
    run(
        program("gammas", (a, b), store(b, ramp(0, 16), extern("lgamma", load(a, ramp(0, 16)), dtype="float64x16"))),
        x,
        out,
    )
    np.testing.assert_allclose(out, gammaln(x), rtol=1e-13, atol=1e-15)


def test_narrow_integers_are_extended_for_c() -> None:
    seen = []
    kind = ctypes.CFUNCTYPE(ctypes.c_int16, ctypes.c_int8, ctypes.c_uint8, ctypes.c_int16, ctypes.c_bool)
    f = kind(lambda *args: seen.append(args) or -5)
    llvm.add_symbol("tvmlab_test_narrow", ctypes.cast(f, ctypes.c_void_p).value)
    a, out = buf("A", 1, "int16"), np.zeros(1, "int16")
    args = (const(-3, "int8"), const(250, "uint8"), const(-300, "int16"), const(True))
    run(program("narrow", (a,), store(a, 0, extern("tvmlab_test_narrow", *args, dtype="int16"))), out)
    assert seen == [(-3, 250, -300, True)] and out[0] == -5


def test_c_functions_get_pointers_into_buffers() -> None:
    a, b = buf("A", 10), buf("B", 10)
    x, out = np.arange(10, dtype="float32"), np.zeros(10, "float32")
    copy = extern("memcpy", pointer(b, 2, 5), pointer(a, 4, 5, 1), const(20, "int64"), dtype="handle")
    run(program("copy", (a, b), Seq((Evaluate(copy), store(b, 0, load(b, 2))))), x, out)
    np.testing.assert_array_equal(out, [4, 0, 4, 5, 6, 7, 8, 0, 0, 0])
    whole = extern("memcpy", b.data, a.data, const(40, "int64"), dtype="handle")
    run(program("copy2", (a, b), Evaluate(whole)), x, out)
    np.testing.assert_array_equal(out, x)
    element = extern(
        "memcpy", b.data, Call("address_of", (load(a, 7),), "handle", "intrin"), const(4, "int64"), dtype="handle"
    )
    run(program("copy3", (a, b), Evaluate(element)), x, out)
    assert out[0] == 7


def test_an_unknown_c_function_is_refused_before_anything_runs() -> None:
    a = buf("A", 1)
    with pytest.raises(BuildError) as e:
        build(program("lost", (a,), store(a, 0, extern("no_such_function_zz", load(a, 0), dtype="float32"))))
    assert str(e.value) == (
        "`lost` calls the C function `no_such_function_zz`, which no library of this process defines\n"
        "    extern('no_such_function_zz', A[0])\n"
        "  load the library that has it first:  llvmlite.binding.load_library_permanently(path)\n"
        '  or bring its code along:  s[stage].pragma(axis, "import_llvm", text)'
    )


def test_prefetch_and_llvm_intrinsics() -> None:
    a, b = buf("A", 16), buf("B", 16)
    x, out = np.arange(16, dtype="float32"), np.zeros(16, "float32")
    fetch = Evaluate(Call("prefetch", (pointer(a, 3, 1, 1), const(0), const(3), const(1)), INT, "intrin"))
    f = Call("llvm.fma", (load(a, ramp(0, 16)), splat(const(2.0), 16), splat(const(1.0), 16)), "float32x16", "intrin")
    c = build(program("fetch", (a, b), Seq((fetch, store(b, ramp(0, 16), f)))))
    c.call((x, out), ())
    np.testing.assert_array_equal(out, 2 * x + 1)
    assert "prefetch" in c.asm()


def test_packed_functions_get_arrays_and_numbers(registered: Any) -> None:
    got: list[Any] = []

    def f(*args: Any) -> float:
        got.extend(a.copy() if isinstance(a, np.ndarray) else a for a in args)
        args[1][...] = args[0].T
        return 2.5

    registered("test.f", f)
    logical = [Buffer(n, (const(r), const(c))) for n, r, c in (("A", 2, 3), ("B", 3, 2))]
    a, b = (Buffer(x.name, (const(6),), logical=x) for x in logical)
    s = Var("s", "float64")
    call = call_packed("test.f", a.data, b.data, pointer(a, 1, 4, 1), s, const(-7), const(True),
                       Const("text", "handle"),
                       Call("address_of", (load(a, 4),), "handle", "intrin"), dtype="float32")  # fmt: skip
    out = Buffer("O", (const(1),))
    x, y, z = np.arange(6, dtype="float32").reshape(2, 3), np.zeros((3, 2), "float32"), np.zeros(1, "float32")
    run(program("send", (a, b, out, s), store(out, 0, call + load(b, 1))), x, y, z, scalars=(0.25,))
    np.testing.assert_array_equal(y, x.T)
    np.testing.assert_array_equal(got[0], x)
    assert got[0].shape == (2, 3) and got[1].shape == (3, 2)
    np.testing.assert_array_equal(got[2], [1, 2, 3, 4])
    assert got[3:7] == [0.25, -7, True, "text"] and isinstance(got[5], bool)
    np.testing.assert_array_equal(got[7], [4, 5])
    assert z[0] == 2.5 + y.ravel()[1]


def test_packed_functions_see_temporaries_and_symbolic_shapes(registered: Any) -> None:
    shapes = []
    registered("test.fill", lambda t, k: (shapes.append(t.shape), t.fill(k)))
    n = Var("n", nonneg=True)
    logical = Buffer("T", (n, const(2)), "int64")
    t, a = Buffer("T", (n * 2,), "int64", logical=logical), buf("A", n * 2, "int64")
    body = Alloc(
        t, Seq((Evaluate(call_packed("test.fill", t.data, n)), loop("i", n * 2, lambda i: store(a, i, load(t, i)))))
    )
    c = build(program("fill", (a,), body, sizes=(n,)))
    for size in (3, 1, 0):
        out = np.zeros(size * 2, "int64")
        c.call((out,), (size,))
        assert (out == size).all()
    assert shapes == [(3, 2), (1, 2), (0, 2)]


def test_what_a_packed_function_raises_is_raised_by_the_call(registered: Any) -> None:
    def f(t: Any) -> None:
        raise KeyError("from inside")

    registered("test.raise", f)
    a, t = buf("A", 2), buf("T", 50_000)
    body = Alloc(t, Seq((store(a, 0, 1.0), Evaluate(call_packed("test.raise", t.data)), store(a, 1, 1.0))))
    c = build(program("fails", (a,), body))
    for _ in range(3):
        out = np.zeros(2, "float32")
        with pytest.raises(KeyError, match="from inside"):
            c.call((out,), ())
        np.testing.assert_array_equal(out, [1, 0])  # it stopped there


def test_a_missing_packed_function_says_so_when_it_is_called() -> None:
    a = buf("A", 1)
    c = build(program("missing", (a,), Evaluate(call_packed("test.none", a.data))))
    with pytest.raises(packed.MissingPacked, match="test.none"):
        c.call((np.zeros(1, "float32"),), ())


def test_errors_of_threads_do_not_mix(registered: Any) -> None:
    gate = threading.Barrier(2)

    def f(x: Any) -> None:
        gate.wait(10)
        raise ValueError(str(int(x[0])))

    registered("test.who", f)
    a = buf("A", 1)
    c, seen = build(program("who", (a,), Evaluate(call_packed("test.who", a.data)))), {}

    def go(k: int) -> None:
        try:
            c.call((np.full(1, k, "float32"),), ())
        except ValueError as e:
            seen[k] = str(e)

    threads = [threading.Thread(target=go, args=(k,)) for k in (1, 2)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert seen == {1: "1", 2: "2"}


def test_a_packed_call_in_a_parallel_loop_is_refused() -> None:
    a = buf("A", 4)
    nest = loop("i", 4, lambda i: Evaluate(call_packed("test.f", a.data, cast(i, "int64"))), "parallel")
    with pytest.raises(BuildError) as e:
        build(program("bad", (a,), nest))
    assert str(e.value) == (
        "the Python function `test.f` is called inside a parallel loop, where Python cannot run\n"
        "    for i in parallel\n"
        "    packed('test.f', A, int64(i))\n"
        "  legal here:  make the loop serial, call a C function (call_extern)"
    )


def test_printf(capfd: Any) -> None:
    a = buf("A", 1)
    show = extern("printf", Const("%d %.2f %s\n", "handle"), const(3), load(a, 0), Const("ok", "handle"))
    flush = extern("fflush", Call("reinterpret", (const(0, "int64"),), "handle"), dtype=INT)
    run(program("shows", (a,), Seq((Evaluate(show), Evaluate(flush)))), np.array([1.5], "float32"))
    assert capfd.readouterr().out == "3 1.50 ok\n"


def test_a_program_for_another_cpu_does_not_ask_for_symbols() -> None:
    a = buf("A", 1)
    c = build(
        program("far", (a,), store(a, 0, extern("no_such_function_zz", dtype="float32"))),
        Target("llvm", triple="aarch64-linux-gnu"),
    )
    assert "bl\tno_such_function_zz" in c.asm()
