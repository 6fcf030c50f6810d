"""What a module checks before it runs anything, and how it passes what it accepts."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import fakes
from tests.fakes import adder, buffer, f32, module
from tvmlab.core.error import BuildError, CallError, TVMError
from tvmlab.core.node import Select, Var
from tvmlab.runtime import array, device, empty
from tvmlab.runtime.array import NDArray
from tvmlab.runtime.signature import Signature


@pytest.fixture(autouse=True)
def fake_target(monkeypatch):
    fakes.install(monkeypatch)


def refusal(mod, *args) -> str:
    """The whole message; nothing has run."""
    with pytest.raises(CallError) as e:
        mod(*args)
    assert isinstance(e.value, ValueError) and isinstance(e.value, TVMError)
    return str(e.value)


def never(*args):
    raise AssertionError("ran")


def silent(*args):
    pass


# ---------------------------------------------------------------- what is refused


def test_count():
    mod = adder(call=never)
    text = "\n    add(A: float32[n], B: float32[n], C: float32[n])"
    assert refusal(mod, f32(1), f32(1)) == "add takes 3 arguments, got 2" + text
    assert refusal(mod) == "add takes 3 arguments, got 0" + text
    a = buffer("A", 1)
    one = module((a,), (a,), never)
    assert refusal(one, f32(1), f32(2)) == "f takes 1 argument, got 2\n    f(A: float32[1])"


def test_names_are_refused_with_the_parameters():
    """Python's own error is a TypeError that knows none of them."""
    mod = adder(call=never)
    ways = [
        lambda **named: mod(f32(1), **named), lambda **named: mod["add"](f32(1), **named),
        lambda **named: mod.entry_func(**named), lambda **named: mod.runner(f32(1), **named),
        lambda **named: mod.time_evaluator("add")(f32(1), **named),
        lambda **named: mod.clocked(f32(1), **named).__enter__(),
    ]  # fmt: skip
    for way in ways:
        with pytest.raises(CallError) as caught:
            way(B=f32(1), x=2)
        assert isinstance(caught.value, TypeError) and isinstance(caught.value, ValueError)
        assert str(caught.value) == (
            "add takes its arguments by position, got `B`, `x` by name\n"
            "    add(A: float32[n], B: float32[n], C: float32[n])\n"
            "  give `A`, `B`, `C`, in this order and without names"
        )


def test_shape_from_another_argument():
    mod = adder(call=never)
    expected = "argument 1 (B): shape[0] is 5, expected 7 (n = 7 from A.shape[0])"
    assert refusal(mod, *(np.zeros(k, "float32") for k in (7, 5, 7))) == expected


def test_constant_shape():
    a = buffer("A", 4, 3)
    assert refusal(module((a,), (), never), np.zeros((4, 2), "float32")) == (
        "argument 0 (A): shape[1] is 2, expected 3\n"
        '  this program is for 3 only: with te.size_var("n") in its place build makes one for any size'
    )


def test_shape_expressions_are_checked_after_binding():
    n, m = Var("n"), Var("m")
    a, b = buffer("A", n * 2, m), buffer("B", n, Select(n > 3, m + 1, m))
    seen = []
    mod = module((a, b), (b,), lambda x, y, *sizes: seen.append(sizes), (n, m))
    mod(np.zeros((8, 2), "float32"), np.zeros((4, 3), "float32"))
    mod(np.zeros((4, 2), "float32"), np.zeros((2, 2), "float32"))
    assert seen == [(4, 2), (2, 2)]
    wrong = np.zeros((7, 2), "float32"), np.zeros((4, 3), "float32")
    assert refusal(mod, *wrong) == "argument 0 (A): shape[0] is 7, expected 8 (n*2, n = 4 from B.shape[0])"
    wrong = np.zeros((8, 2), "float32"), np.zeros((4, 2), "float32")
    expected = "argument 1 (B): shape[1] is 2, expected 3 (select(n > 3, m + 1, m), m = 2 from A.shape[1], "
    assert refusal(mod, *wrong) == expected + "n = 4 from B.shape[0])"


def test_scalar_argument_that_is_a_shape():
    n = Var("n")
    a, b = buffer("A", n), buffer("B", n + 1)
    seen = []
    mod = module((a, n, b), (b,), lambda x, y, size: seen.append(size))
    mod(f32(1, 2), 2, f32(0, 0, 0))
    mod(f32(1, 2), np.int64(2), f32(0, 0, 0))
    assert seen == [2, 2]
    expected = "argument 0 (A): shape[0] is 2, expected 3 (n = 3 from the argument)"
    assert refusal(mod, f32(1, 2), 3, f32(0, 0, 0)) == expected


def test_dtype():
    mod = adder(call=never)
    wrong = f32(1), np.zeros(1), f32(1)
    assert refusal(mod, *wrong) == "argument 1 (B) is float64, expected float32\n  B.astype('float32') converts"
    wrong = f32(1), f32(1), np.zeros(1, ">f4")
    assert refusal(mod, *wrong).splitlines()[0] == "argument 2 (C) is >f4, expected float32"


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int64", "float16", "float32", "float64"])
def test_every_dtype_passes_as_itself_only(dtype):
    a = buffer("A", 2, dtype=dtype)
    mod = module((a,), (a,), lambda x: x.fill(1))
    x = np.zeros(2, dtype)
    mod(x)
    assert x.all()
    other = "int8" if dtype != "int8" else "bool"
    assert refusal(mod, x.astype(other)).startswith(f"argument 0 (A) is {other}, expected {dtype}\n")


def test_number_of_dimensions():
    mod = adder(call=never)
    expected = "argument 1 (B) has 2 dimensions (1, 1), expected 1: (n,)"
    assert refusal(mod, f32(1), np.zeros((1, 1), "float32"), f32(1)) == expected
    expected = "argument 0 (A) has 0 dimensions (), expected 1: (n,)"
    assert refusal(mod, np.zeros((), "float32"), f32(1), f32(1)) == expected


def test_kind():
    mod = adder(call=never)
    hint = "\n  NumPy arrays and nd.array are taken; np.asarray(x) makes one"
    assert refusal(mod, f32(1), [1.0], f32(1)) == "argument 1 (B): expected an array, got list" + hint
    assert refusal(mod, 3, f32(1), f32(1)) == "argument 0 (A): expected an array, got int 3" + hint
    n, x = Var("n", "int32"), Var("x", "float32")
    scalars = module((n, x), (), never)
    assert refusal(scalars, f32(1), 1.0) == "argument 0 (n): expected an int32 number, got an array of shape (1,)"
    assert refusal(scalars, 1.0, 1.0) == "argument 0 (n): expected an int32 number, got float 1.0"
    assert refusal(scalars, 1, "1") == "argument 1 (x): expected a float32 number, got str '1'"
    assert refusal(scalars, 1, None) == "argument 1 (x): expected a float32 number, got NoneType"


def test_range_of_scalars():
    n, u, b, x = Var("n", "int8"), Var("u", "uint16"), Var("b", "bool"), Var("x", "float32")
    mod = module((n, u, b, x), (), never)
    assert refusal(mod, 128, 0, True, 0) == "argument 0 (n): 128 does not fit int8 (-128 to 127)"
    assert refusal(mod, 0, -1, True, 0) == "argument 1 (u): -1 does not fit uint16 (0 to 65535)"
    assert refusal(mod, 0, 0, 2, 0) == "argument 2 (b): 2 does not fit bool (0 to 1)"
    assert refusal(mod, 0, 0, 0, 10**400).startswith("argument 3 (x): 1000")


def test_read_only_arrays_are_refused_only_where_they_are_written():
    mod = adder()
    a = f32(1, 2)
    a.flags.writeable = False
    out = f32(0, 0)
    mod(a, a, out)
    assert out.tolist() == [2, 4]
    assert refusal(mod, out, out, a) == "argument 2 (C) is read-only, and the program writes it"


def test_device():
    mod = adder(call=never)
    elsewhere = NDArray(f32(1), device("opencl", 1))
    expected = "argument 1 (B) is on opencl(1), the module runs on cpu\n  pass B.numpy(), or nd.array(B, cpu(0))"
    assert refusal(mod, f32(1), elsewhere, f32(1)) == expected
    assert refusal(mod, f32(1), f32(1), elsewhere).splitlines()[1] == (
        "  pass out = nd.array(C, cpu(0)); what the program writes is in out then, C.copyfrom(out) takes it over"
    )


def test_a_shape_that_is_nearly_right():
    a = buffer("A", 4, 3)
    mod = module((a,), (), never)
    assert refusal(mod, np.zeros((3, 4), "float32")).splitlines()[1] == "  A.T has that shape"
    assert refusal(mod, np.zeros(12, "float32")).splitlines()[1] == "  A.reshape((4, 3)) has them"
    assert "reshape" not in refusal(mod, np.zeros(13, "float32"))


def test_two_outputs_that_overlap_are_refused():
    a, b, c = (buffer(x, 2) for x in "ABC")
    mod = module((a, b, c), (a, c), never)
    memory = f32(1, 2, 3)
    expected = "argument 2 (C) shares memory with argument 0 (A), and the program writes both"
    assert refusal(mod, memory[:2], f32(0, 0), memory[1:]) == expected


def test_a_size_too_large_for_its_type():
    n = Var("n", "int32")
    a = buffer("A", n, dtype="int8")
    huge = np.broadcast_to(np.zeros(1, "int8"), (2**31,))
    expected = "argument 0 (A): shape[0] is 2147483648, which does not fit n (int32)"
    assert refusal(module((a,), (), never, (n,)), huge) == expected


def test_a_size_that_no_argument_gives_is_refused_when_the_module_is_made():
    n, m = Var("n"), Var("m")
    a = buffer("A", n * 2)
    for sizes in ((n,), (), (m, n)):
        with pytest.raises(BuildError) as e:
            module((a,), (), never, sizes)
        name = "m" if m in sizes else "n"
        assert str(e.value) == (
            f"the size `{name}` of `f` cannot be found from its arguments\n"
            f"  pass an array that has `{name}` itself as a dimension, or `{name}` as an argument"
        )


# ---------------------------------------------------------------- what works


def test_nd_arrays_and_numpy_arrays_mix():
    out = empty((2,))
    adder()(array(f32(1, 2)), f32(3, 4), out)
    assert out.numpy().tolist() == [4, 6]


@pytest.mark.parametrize("n", [0, 1, 2])
def test_small_sizes(n):
    out = np.full(n, 9, "float32")
    adder()(np.ones(n, "float32"), np.ones(n, "float32"), out)
    assert out.tolist() == [2] * n


def test_rank_zero():
    a, b = buffer("A"), buffer("B")
    mod = module((a, b), (b,), lambda x, y: y.__setitem__((), x * 2))
    out = np.zeros((), "float32")
    mod(np.array(3, "float32"), out)
    mod(np.float32(4), out)
    assert out == 8
    assert refusal(mod, out, np.float32(4)).startswith("argument 1 (B): expected an array, got float32\n")


def test_scalars_arrive_as_their_type_holds_them():
    kinds = ["float16", "float32", "float64", "int8", "bool"]
    seen = []
    mod = module(tuple(Var(f"x{i}", t) for i, t in enumerate(kinds)), (), lambda *v: seen.append(v))
    for _ in range(2):  # the second call takes the short way
        mod(0.1, 0.1, 0.1, -3, True)
    mod(1, np.float64(0.1), np.array(0.1), np.int64(-3), np.bool_(True))
    rounded = (float(np.float16(0.1)), float(np.float32(0.1)), 0.1, -3, True)
    assert seen == [rounded, rounded, (1.0, *rounded[1:])]
    assert all(type(v) in (float, int, bool) for row in seen for v in row)
    mod(1e9, float("nan"), 1e300, 0, 0)
    assert seen[-1][0] == float("inf") and np.isnan(seen[-1][1])


def test_vector_dtype():
    a = buffer("A", 3, dtype="float32x4")
    mod = module((a,), (a,), lambda x: x.fill(1))
    x = np.zeros((3, 4), "float32")
    mod(x)
    assert x.all()
    mod(empty((3,), "float32x4"))
    expected = "argument 0 (A): the last dimension holds the 4 lanes of float32x4, it is 2"
    assert refusal(mod, np.zeros((3, 2), "float32")) == expected
    assert refusal(mod, np.zeros(3, "float32")) == "argument 0 (A) has 1 dimension (3,), expected 2: (3, 4)"


def test_arrays_that_are_not_compact_are_copied_in_and_back():
    seen = []

    def call(arrays, scalars):
        seen.extend(a.flags.c_contiguous and a.flags.aligned for a in arrays)
        fakes.add_arrays(arrays, scalars)

    mod = adder(call=call)
    memory = np.zeros((3, 8), "float32")
    out = memory[1, ::2]
    mod(np.arange(8, dtype="float32")[::-2], f32(1, 1, 1, 1), out)
    assert memory[1].tolist() == [8, 0, 6, 0, 4, 0, 2, 0] and not memory[[0, 2]].any()
    raw = np.zeros(9, np.uint8)[1:].view("float32")
    mod(raw, raw, np.zeros(2, "float32"))
    assert not raw.flags.aligned and all(seen)


def test_strided_buffers_bind_their_strides():
    s, n, o = Var("s"), Var("n"), Var("o")
    a = buffer("A", n, 2, strides=(s, Var("t")), offset=o)
    seen = []
    mod = module((a,), (a,), lambda x, *numbers: seen.append((x.strides, *numbers)), (n, s, a.strides[1], o))
    memory = np.zeros((3, 8), "float32")
    mod(memory[:, 1:5:3])
    mod(memory[:, 1:5:3])
    mod(memory[::-1, :2])  # a negative stride: a compact copy
    mod(memory[:1, 2:4])
    assert seen == [((32, 12), 3, 8, 3, 0)] * 2 + [((8, 4), 3, 2, 1, 0), ((32, 4), 1, 8, 1, 0)]


def test_constant_strides_and_offsets_are_checked():
    from tvmlab.core.build import const

    a = buffer("A", 2, 3, strides=(const(4), const(1)))
    mod = module((a,), (), silent)
    mod(np.zeros((2, 4), "float32")[:, :3])
    assert refusal(mod, np.zeros((2, 3), "float32")) == "argument 0 (A): strides[0] is 3, expected 4"
    shifted = buffer("A", 2, offset=const(8))
    expected = "argument 0 (A): offset is 0, expected 8"
    assert refusal(module((shifted,), (), silent), np.zeros(2, "float32")) == expected


def test_flat_programs_get_the_span_of_a_strided_array():
    s = Var("s")
    seen_as = buffer("A", 2, 2, strides=(s, Var("t")))
    flat = buffer("A", Var("size"), logical=seen_as)
    got = []
    mod = module((flat,), (flat,), lambda x, *numbers: got.append((x, numbers)), (s, seen_as.strides[1]))
    memory = np.arange(12, dtype="float32").reshape(3, 4)
    for _ in range(2):
        mod(memory[1:, 1::2])
        x, (row, column) = got[-1]
        assert x.tolist() == [5, 6, 7, 8, 9, 10, 11] and (row, column) == (4, 2)
        assert np.shares_memory(x, memory)


def test_broadcasting_buffers_have_stride_zero_where_the_size_is_one():
    n, m = Var("n"), Var("m")
    a = buffer("A", n, m, strides=(Var("s"), Var("t")), kind="auto_broadcast")
    seen = []
    mod = module((a,), (), lambda x, *numbers: seen.append(numbers), a.strides)
    for shape in ((2, 3), (1, 3), (2, 1), (1, 1)):
        mod(np.zeros(shape, "float32"))
    assert seen == [(3, 1), (0, 1), (1, 0), (0, 0)]


def test_input_that_is_the_output_gives_the_result_of_separate_arrays():
    a = f32(1, 2, 3, 4)
    adder()(a, a, a)
    assert a.tolist() == [2, 4, 6, 8]
    adder()(a[:3], a[1:], a[1:])
    assert a.tolist() == [2, 6, 10, 14]


@st.composite
def layouts(draw, memory):
    """A view of four elements of 12: any start and step, forwards or backwards."""
    step = draw(st.sampled_from([1, 2, 3, -1, -2, -3]))
    low = draw(st.integers(0, len(memory) - 1 - 3 * abs(step)))
    span = memory[low : low + 3 * abs(step) + 1]
    return span[::step]


@given(st.data())
def test_any_overlap_and_layout_gives_the_result_of_separate_arrays(data):
    memories = [np.arange(12, dtype="float32") + 100 * i for i in range(2)]
    views = [data.draw(layouts(memories[data.draw(st.integers(0, 1))])) for _ in range(3)]
    expected = views[0] + views[1]
    before = [m.copy() for m in memories]
    adder()(*views)
    np.testing.assert_array_equal(views[2], expected)
    for memory, old in zip(memories, before):
        memory_after = memory.copy()
        memory[...] = old
        views[2][...] = expected
        np.testing.assert_array_equal(memory, memory_after)  # nothing but the output changed


def test_strided_views_are_copied_with_their_strides_and_only_if_they_share_an_element():
    seen = []
    memory = np.arange(8, dtype="float32")
    n, s = Var("n"), Var("s")
    a, c = buffer("A", n, strides=(s,)), buffer("C", n, strides=(s,))
    note = lambda x, *_: seen.append((x.tolist(), x.strides, np.shares_memory(x, memory)))
    mod = module((a, c), (c,), note, (n, s))
    mod(memory[::2], memory[1::2])
    mod(memory[:6:2], memory[2::2])
    assert seen == [([0, 2, 4, 6], (8,), True), ([0, 2, 4], (8,), False)]


# ---------------------------------------------------------------- which buffers are written


def test_pointers_with_write_access_and_pointers_given_away_are_writes():
    from tvmlab.core.build import const
    from tvmlab.core.node import Call, Evaluate, Load
    from tvmlab.core.program import Function
    from tvmlab.core.walk import seq
    from tvmlab.runtime.signature import writes

    r, w, given_away, taken, fetched, unknown = buffers = [buffer(x, 4) for x in "RWGTFU"]
    zero, one = const(0), const(1)

    def pointer(b, mask):
        return Call("access_ptr", (b.data, zero, one, mask), "handle", "intrin")

    def address_of(b):
        return Call("address_of", (Load(b, (zero,), "float32"),), "handle", "intrin")

    body = seq(
        Evaluate(Call("gemm", (pointer(r, const(1)), pointer(w, const(2))), "int32", "extern")),
        Evaluate(Call("hand", (given_away.data, address_of(taken)), "int32", "packed")),
        Evaluate(Call("prefetch", (address_of(fetched),), "int32", "intrin")),
        Evaluate(pointer(unknown, Var("mask"))),
    )
    fn = Function("f", tuple(buffers), body)
    assert writes(fn) == {w, given_away, taken, unknown}
    assert writes(replace(fn, attrs=(("inputs", (1, 2, 3)),))) == {w, unknown}


def test_signature_as_data():
    n = Var("n")
    a, b = buffer("A", n, n * 2, strides=(n * 4, Var("s"))), buffer("B", 3, dtype="int8")
    signature = module((a, Var("x", "float32"), b), (b,), silent, (n, a.strides[1])).signature
    assert str(signature) == "f(A: float32[n, n*2], x: float32, B: int8[3])"
    assert Signature.from_json(signature.to_json()) == signature
    assert [p.written for p in signature.buffers] == [False, True]
