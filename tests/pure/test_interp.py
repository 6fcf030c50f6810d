"""The interpreter: what programs mean."""

import math

import numpy as np
import pytest

from tests.loops import alloc, buffer, floats, function, ints, load, loop, store
from tvmlab.core import build
from tvmlab.core.build import const, if_then_else, select
from tvmlab.core.error import BuildError
from tvmlab.core.node import (
    Attr,
    Bin,
    Broadcast,
    Call,
    Cast,
    Const,
    Evaluate,
    If,
    Let,
    LetStmt,
    Not,
    Ramp,
    Select,
    Seq,
    Var,
    While,
)  # fmt: skip
from tvmlab.core.program import Program
from tvmlab.target import base
from tvmlab.target.interp import InterpError, run


def scalar(e, **inputs):
    """The value of an expression; a keyword names a one-element buffer that `e` (a function of loads) reads."""
    arrays = {k: np.array([v]) if not isinstance(v, np.ndarray) else v for k, v in inputs.items()}
    buffers = {k: buffer(k, a.shape, str(a.dtype)) for k, a in arrays.items()}
    e = e(*[load(b, 0) for b in buffers.values()])
    out = buffer("out", (1,), e.dtype)
    result = np.zeros(1, e.dtype)
    run(function([*buffers.values(), out], store(out, 0, e)), [*arrays.values(), result])
    return result[0]


def vector(e, count, dtype="float32", **inputs):
    buffers = {k: buffer(k, a.shape, str(a.dtype)) for k, a in inputs.items()}
    made = e(*buffers.values())
    out = buffer("out", (count,), dtype)
    result = np.zeros(count, dtype)
    run(
        function([*buffers.values(), out], store(out, Ramp(Const(0), Const(1), count), made)),
        [*inputs.values(), result],
    )
    return result


def vload(b, base, count, mask=None, stride=1):
    return load(b, Ramp(build.to_expr(base), Const(stride), count), dtype=f"{b.dtype}x{count}", mask=mask)


# ---------------------------------------------------------------- numbers


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"])
@pytest.mark.parametrize("op", ["+", "-", "*"])
def test_integers_wrap(dtype, op):
    top = np.iinfo(dtype).max
    with np.errstate(over="ignore"):
        a, b = np.array([top], dtype), np.array([3], dtype)
        want = {"+": a + b, "-": b - a - a, "*": a * b}[op][0]
        got = scalar(lambda x, y: {"+": x + y, "-": y - x - x, "*": x * y}[op], a=a, b=b)
    assert got == want


@pytest.mark.parametrize("a", [-7, 7])
@pytest.mark.parametrize("b", [-2, 2])
def test_divisions_round_down_or_towards_zero(a, b):
    def value(op):
        return scalar(lambda x, y: Bin(op, x, y, "int32"), a=np.int32(a), b=np.int32(b))

    assert value("//") == a // b and value("%") == a % b
    assert value("truncdiv") == math.trunc(a / b) and value("truncmod") == math.fmod(a, b)


def test_smallest_integer_divided_by_minus_one_wraps():
    low = np.int32(-(2**31))
    assert scalar(lambda x, y: x // y, a=low, b=np.int32(-1)) == low
    assert scalar(lambda x: Bin("truncdiv", x, Const(-1), "int32"), a=low) == low


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("op", ["+", "-", "*", "/", "//", "%"])
def test_floats_round_at_each_operation(dtype, op):
    rng = np.random.default_rng(0)
    f = {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide, "//": np.floor_divide, "%": np.mod}[op]
    for a, b in rng.normal(size=(20, 2)).astype(dtype):
        assert scalar(lambda x, y: Bin(op, Bin(op, x, y, dtype), y, dtype), a=a, b=b) == f(f(a, b), b)


def test_division_of_floats_by_zero_is_infinite():
    assert scalar(lambda x, y: x / y, a=np.float64(1), b=np.float64(0)) == np.inf
    assert scalar(lambda x, y: x / y, a=np.float32(-1), b=np.float32(0)) == -np.inf


def test_an_axis_as_a_value_wraps_but_as_an_index_does_not():
    out = buffer("out", (3,), "int32")
    i = Var("i")
    big = 1 << 30
    body = loop(i, 3, store(out, (i * big * 4 + i) // (big * 4 + 1), i * big))
    result = ints(3)
    run(function([out], body), [result])
    assert result.tolist() == [0, big, -(2**31)]


@pytest.mark.parametrize(
    ("value", "dtype", "want"),
    [
        (np.float32(-2.7), "int32", -2), (np.float32(300), "uint8", 44), (np.int32(-1), "uint8", 255),
        (np.int32(200), "int8", -56), (np.uint8(200), "int8", -56), (np.int8(-3), "float16", -3.0),
        (np.float64(1 + 2**-30), "float32", 1.0), (np.float32(0.5), "bool", True), (np.int32(0), "bool", False),
        (np.bool_(True), "float32", 1.0), (np.int64(2**60 + 2**36 + 1), "float32", 2.0**60 + 2.0**37),
    ],
)  # fmt: skip
def test_casts(value, dtype, want):
    assert scalar(lambda x: Cast(x, dtype), a=value) == want


@pytest.mark.parametrize("op", ["min", "max"])
def test_min_and_max_of_a_nan_give_the_second(op):
    nan, one = np.float32(np.nan), np.float32(1)
    assert scalar(lambda x, y: Bin(op, x, y, "float32"), a=nan, b=one) == 1
    assert np.isnan(scalar(lambda x, y: Bin(op, x, y, "float32"), a=one, b=nan))
    ones = Broadcast(const(1.0), 2)
    got = vector(lambda x: Bin(op, vload(x, 0, 2), ones, "float32x2"), 2, x=floats([np.nan, 5]))
    assert got.tolist() == [1.0, 1.0 if op == "min" else 5.0]


def test_bits():
    assert scalar(lambda x: x << const(3, "int8"), a=np.int8(100)) == 32
    assert scalar(lambda x: x >> const(1, "int8"), a=np.int8(-3)) == -2
    assert scalar(lambda x: x >> const(1, "uint8"), a=np.uint8(253)) == 126
    assert scalar(lambda x, y: (x & y) | (x ^ y), a=np.int32(12), b=np.int32(10)) == 14
    assert scalar(lambda x: ~x, a=np.uint8(1)) == 254
    assert scalar(lambda x: Not(x > 0), a=np.int32(1)) == False  # noqa: E712


MATHS = {
    "exp": np.exp, "exp2": np.exp2, "exp10": lambda x: 10.0**x, "log": np.log, "log2": np.log2, "log10": np.log10,
    "log1p": np.log1p, "sqrt": np.sqrt, "rsqrt": lambda x: 1 / np.sqrt(x), "sin": np.sin, "cos": np.cos, "tan": np.tan,
    "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan,
    "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh, "erf": lambda x: math.erf(x),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)), "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc,
    "nearbyint": np.rint, "fabs": np.abs, "abs": np.abs,
}  # fmt: skip


@pytest.mark.parametrize("name", MATHS)
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_functions_are_rounded_once(name, dtype):
    for x in np.array([0.3, 0.75, 1.25, -0.5], dtype):
        with np.errstate(all="ignore"):
            want = np.dtype(dtype).type(MATHS[name](np.float64(x)))
        for got in (
            scalar(lambda a: Call(name, (a,), dtype), a=x),
            vector(lambda a: Call(name, (vload(a, 0, 2),), f"{dtype}x2"), 2, dtype, a=np.array([x, x]))[1],
        ):
            # a double may differ in the last bit: NumPy computes scalars and vectors in two ways
            assert (
                got == want
                or (np.isnan(got) and np.isnan(want))
                or (dtype == "float64" and abs(got / want - 1) < 4e-16)
            )


@pytest.mark.parametrize(("x", "away", "even"), [(0.5, 1, 0), (-0.5, -1, 0), (1.5, 2, 2), (2.5, 3, 2), (-2.4, -2, -2)])
def test_round_and_nearbyint(x, away, even):
    assert scalar(lambda a: Call("round", (a,), "float32"), a=np.float32(x)) == away
    assert scalar(lambda a: Call("nearbyint", (a,), "float32"), a=np.float32(x)) == even


def test_functions_of_two_arguments():
    def value(name, a, b, dtype="float32"):
        return scalar(lambda x, y: Call(name, (x, y), dtype), a=a, b=b)

    three, two = np.float32(3), np.float32(-2)
    assert value("pow", three, two) == np.float32(1 / 9)
    assert value("fmod", np.float32(-7), three) == -1 and value("hypot", three, np.float32(4)) == 5
    assert value("atan2", three, two) == np.float32(math.atan2(3, -2)) and value("copysign", three, two) == -3
    assert value("nextafter", three, np.float32(9)) == np.nextafter(three, np.float32(9))
    assert value("ldexp", three, np.int32(4)) == 48
    assert value("pow", np.int32(3), np.int32(21), "int32") == (3**21 + 2**31) % 2**32 - 2**31


def test_functions_of_integers():
    def value(name, x, *more):
        return scalar(lambda a: Call(name, (a, *map(const, more)), str(x.dtype)), a=x)

    assert value("popcount", np.int32(-1)) == 32 and value("popcount", np.uint8(7)) == 3
    assert value("clz", np.int32(1)) == 31 and value("clz", np.int32(0)) == 32
    assert value("abs", np.int8(-128)) == -128 and value("bitwise_not", np.int16(5)) == -6
    assert value("q_multiply_shift", np.int32(1000), 1 << 30, 31, 1) == 250
    assert value("floor", np.int32(5)) == 5
    assert vector(
        lambda a: Call("popcount", (vload(a, 0, 3),), "int32x3"), 3, "int32", a=np.array([1, 3, -1], "int32")
    ).tolist() == [1, 2, 32]


@pytest.mark.parametrize("name", ["isnan", "isinf", "isfinite"])
def test_tests_of_floats(name):
    f = getattr(np, name)
    for x in (1.0, np.inf, np.nan):
        assert scalar(lambda a: Call(name, (a,), "bool"), a=np.float32(x)) == f(x)


def test_reinterpret():
    assert scalar(lambda a: Call("reinterpret", (a,), "int32"), a=np.float32(1.0)) == 0x3F800000
    assert scalar(lambda a: Call("reinterpret", (a,), "float32"), a=np.uint32(0xC0000000)) == -2.0
    bits = vector(lambda a: Call("reinterpret", (vload(a, 0, 2),), "uint32x2"), 2, "uint32", a=floats([1.0, 0.5]))
    assert bits.tolist() == [0x3F800000, 0x3F000000]


def test_an_unknown_function_is_refused():
    a, out = buffer("a", (1,)), buffer("out", (1,))
    with pytest.raises(BuildError, match="the interpreter has no function `gamma` on float32") as e:
        run(function([a, out], store(out, 0, Call("gamma", (load(a, 0),), "float32"))), [floats([1]), floats([0])])
    assert e.value.rule == "unknown-function" and "exp" in e.value.legal


# ---------------------------------------------------------------- choices


def test_if_then_else_is_lazy_and_select_is_not():
    a, out = buffer("a", (2,)), buffer("out", (4,))
    i = Var("i")
    lazy = loop(i, 4, store(out, i, if_then_else(i < 2, load(a, i), 9.0)))
    result = floats(4)
    run(function([a, out], lazy), [floats([1, 2]), result])
    assert result.tolist() == [1, 2, 9, 9]
    eager = loop(i, 4, store(out, i, select(i < 2, load(a, i), const(9.0))))
    with pytest.raises(InterpError, match=r"read outside a: index 2 "):
        run(function([a, out], eager), [floats([1, 2]), result])


def test_and_evaluates_both_sides():
    a, out = buffer("a", (2,)), buffer("out", (3,), "bool")
    i = Var("i")
    body = loop(i, 3, store(out, i, build.all_(i < 2, load(a, i) > 0.0)))
    with pytest.raises(InterpError, match=r"read outside a"):
        run(function([a, out], body), [floats([1, -1]), np.zeros(3, bool)])
    body = loop(i, 2, store(out, i, build.any_(i > 0, load(a, i) < 0.0)))
    result = np.zeros(3, bool)
    run(function([a, out], body), [floats([1, 1]), result])
    assert result.tolist() == [False, True, False]


def test_likely_is_its_argument():
    assert scalar(lambda a: select(Call("likely", (a > 0,), "bool"), const(1), const(2)), a=np.int32(1)) == 1


def test_let_and_let_statement():
    x, y = Var("x", "int8"), Var("y", "float32")
    assert scalar(lambda a: Let(x, a + a, x * x), a=np.int8(100)) == ((200 - 256) ** 2 + 128) % 256 - 128
    out = buffer("out", (1,))
    result = floats(1)
    run(function([out], LetStmt(y, const(1.5), store(out, 0, y * y))), [result])
    assert result[0] == 2.25


def test_deeply_nested_choices_and_loops():
    out = buffer("out", (1,), "int32")
    e = const(0)
    i = Var("i")
    for n in range(150):
        e = if_then_else(i.equal(n), n * n, e)
    result = ints(1)
    run(function([out], loop(i, 150, store(out, 0, e))), [result])
    assert result[0] == 149 * 149
    body = store(out, 0, load(out, 0) + 1)
    for n in range(40):
        body = loop(Var(f"i{n}"), 2 if n < 5 else 1, If(const(1).astype("bool") if n % 2 else load(out, 0) >= 0, body))
    run(function([out], body), [result])
    assert result[0] == 149 * 149 + 32


# ---------------------------------------------------------------- statements


def test_while():
    n = buffer("n", (2,), "int32")
    body = While(load(n, 0) > 0, Seq((store(n, 0, load(n, 0) - 1), store(n, 1, load(n, 1) + 2))))
    result = np.array([5, 0], "int32")
    run(function([n], body), [result])
    assert result.tolist() == [0, 10]


def test_if_else_attr_and_loops_from():
    out = buffer("out", (6,), "int32")
    i = Var("i")
    body = Attr("pragma", None, const(1), loop(i, 4, If(i % 2 < 1, store(out, i, 1), store(out, i, 2)), lo=2))
    result = ints(6)
    run(function([out], body), [result])
    assert result.tolist() == [0, 0, 1, 2, 1, 2]


@pytest.mark.parametrize("kind", ["serial", "parallel", "vectorized", "unrolled", "vthread"])
@pytest.mark.parametrize("n", [0, 1, 5])
def test_loop_kinds_and_empty_loops(kind, n):
    out = buffer("out", (5,))
    i = Var("i")
    result = floats(5)
    run(function([out], loop(i, n, store(out, i, 1.0), kind=kind)), [result])
    assert result.sum() == n


def test_a_loop_kind_that_does_not_exist_is_refused():
    out = buffer("out", (5,))
    with pytest.raises(BuildError, match="the interpreter has no loops of kind tensorized"):
        run(function([out], loop(Var("i"), 5, store(out, 0, 1.0), kind="tensorized")), [floats(5)])


def test_zero_rank_buffers():
    a, out = buffer("a", ()), buffer("out", ())
    result = np.zeros((), "float32")
    run(function([a, out], store(out, (), load(a) + 1.0)), [np.array(2.0, "float32"), result])
    assert result == 3


def test_sizes_are_read_off_the_arrays_or_given():
    n = Var("n", nonneg=True)
    a, out = buffer("a", (n, 2)), buffer("out", (n * 2,))
    i, j = Var("i"), Var("j")
    fn = function([a, out], loop(i, n, loop(j, 2, store(out, i * 2 + j, load(a, i, j)))), sizes=(n,))
    for count in (0, 1, 3):
        data, result = floats(np.arange(2 * count)).reshape(count, 2), floats(2 * count)
        run(fn, [data, result])
        assert (result == data.ravel()).all()
        run(fn, {"a": data, "out": result}, [count])
    with pytest.raises(InterpError, match=r"argument a has shape \(3, 2\), but the program needs \(2, 2\)"):
        run(fn, [floats(6).reshape(3, 2), floats(6)], [2])
    with pytest.raises(InterpError, match=r"argument out has shape \(5,\), but the program needs \(4,\)"):
        run(fn, [floats(4).reshape(2, 2), floats(5)])


def test_scalar_parameters():
    x = Var("x", "float32")
    out = buffer("out", (1,))
    result = floats(1)
    run(function([x, out], store(out, 0, x / 3.0)), [result], [1])
    assert result[0] == np.float32(1) / np.float32(3)
    run(function([x, out], store(out, 0, x)), [result], {"x": 2.5})
    assert result[0] == 2.5
    with pytest.raises(InterpError, match="no number is given for x"):
        run(function([x, out], store(out, 0, x)), [result])


def test_wrong_arguments():
    out = buffer("out", (1,))
    fn = function([out], store(out, 0, 1.0))
    for arrays, text in [
        ([], "f takes 1 arrays, not 0"), ({}, "no array is given for out"),
        ([ints(1)], "argument out must be a NumPy array of float32, not one of int32"),
        ([[1.0]], "argument out must be a NumPy array of float32, not list"),
    ]:  # fmt: skip
        with pytest.raises(InterpError) as e:
            run(fn, arrays)
        assert str(e.value) == text and e.value.rule == "arguments"


def test_strided_parameters_and_allocations():
    s = Var("s")
    a = buffer("a", (2, 3), strides=(s, Const(1)))
    out = buffer("out", (2, 3))
    pad = buffer("pad", (2, 3), strides=(Const(5), Const(1)), scope="local")
    i, j = Var("i"), Var("j")
    copy = lambda x, y: loop(i, 2, loop(j, 3, store(y, (i, j), load(x, i, j))))  # noqa: E731
    data, result = floats(np.arange(12)).reshape(2, 6)[:, :3], floats(6).reshape(2, 3)
    run(function([a, out], alloc(pad, copy(a, pad), copy(pad, out)), sizes=(s,)), [data, result])
    assert (result == data).all()


def test_flat_programs_of_strided_buffers():
    s = Var("s")
    a = buffer("a", (2, 3), strides=(s, Const(1)))
    flat = buffer("a", (s + 3,), logical=a)
    out = buffer("out", (6,))
    i, j = Var("i"), Var("j")
    data, result = floats(np.arange(12)).reshape(2, 6)[:, :3], floats(6)
    fn = function([flat, out], loop(i, 2, loop(j, 3, store(out, i * 3 + j, load(flat, i * s + j)))), sizes=(s,))
    run(fn, [data, result])
    assert (result == data.ravel()).all()


# ---------------------------------------------------------------- vectors


def test_vector_arithmetic_wraps_and_rounds():
    a = np.array([100, 127, -128, 5], "int8")
    assert (vector(lambda x: vload(x, 0, 4) + vload(x, 0, 4), 4, "int8", a=a) == a + a).all()
    f = np.array([1e-3, 0.1, 3.3, 7.7], "float16")
    assert (vector(lambda x: vload(x, 0, 4) * vload(x, 0, 4), 4, "float16", a=f) == f * f).all()
    assert vector(lambda x: Ramp(Const(250, "uint8"), Const(2, "uint8"), 4), 4, "uint8", x=a).tolist() == [
        250,
        252,
        254,
        0,
    ]


def test_vector_conditions():
    a = floats([1, -2, 3, -4])
    v = lambda x: vload(x, 0, 4)  # noqa: E731
    zero = Broadcast(const(0.0), 4)
    for e in (
        lambda x: Select(v(x) > zero, v(x), zero),
        lambda x: Call("if_then_else", (v(x) > zero, v(x), zero), "float32x4"),
    ):
        assert vector(e, 4, a=a).tolist() == [1, 0, 3, 0]
    both = lambda x: Select(build.all_(v(x) > zero, Not(v(x) > Broadcast(const(2.0), 4))), v(x), zero)  # noqa: E731
    assert vector(both, 4, a=a).tolist() == [1, 0, 0, 0]


def test_gather_scatter_strides_and_masks():
    a, p, out = buffer("a", (6,)), buffer("p", (3,), "int32"), buffer("out", (6,))
    gather = load(a, vload(p, 0, 3) + Broadcast(Const(1), 3), dtype="float32x3")
    mask = Ramp(Const(0), Const(1), 3) < Broadcast(Const(2), 3)
    body = store(out, Ramp(Const(0), Const(2), 3), gather, mask=mask)
    result = floats(6)
    run(function([a, p, out], body), [floats([0, 10, 20, 30, 40, 50]), np.array([4, 0, 2], "int32"), result])
    assert result.tolist() == [50, 0, 10, 0, 0, 0]
    scatter = store(out, vload(p, 0, 3), vload(a, 0, 3, stride=2))
    run(function([a, p, out], scatter), [floats([0, 10, 20, 30, 40, 50]), np.array([4, 0, 2], "int32"), result])
    assert result.tolist() == [20, 0, 40, 0, 0, 0]


def test_masked_off_lanes_are_not_touched_and_read_as_zero():
    a, out = buffer("a", (2, 3)), buffer("out", (4,))
    mask = Ramp(Const(0), Const(1), 4) < Broadcast(Const(3), 4)
    row = load(a, 1, Ramp(Const(0), Const(1), 4), dtype="float32x4", mask=mask)
    result = floats([9, 9, 9, 9])
    run(function([a, out], store(out, Ramp(Const(0), Const(1), 4), row)), [floats(np.arange(6)).reshape(2, 3), result])
    assert result.tolist() == [3, 4, 5, 0]


def test_vector_let_and_casts():
    v = Var("v", "int32x4")
    e = lambda x: Let(v, vload(x, 0, 4), Cast(v * v, "float32x4"))  # noqa: E731
    assert vector(e, 4, a=np.array([1, 2, 3, 4], "int32")).tolist() == [1, 4, 9, 16]
    index = lambda x: Let(v, vload(x, 0, 4), load(x, v, dtype="int32x4"))  # noqa: E731
    assert vector(index, 4, "int32", a=np.array([3, 2, 1, 0], "int32")).tolist() == [0, 1, 2, 3]


# ---------------------------------------------------------------- calls


def pointer(b, offset, extent, mask):
    return Call("access_ptr", (b.data, Const(offset), Const(extent), Const(mask)), "handle", "intrin")


def test_packed_functions_get_the_memory():
    a, out = buffer("a", (2, 3)), buffer("out", (6,))
    seen = []

    def double(x, y, factor, word):
        seen.append((x.shape, y.shape, factor, word))
        y[:] = x.ravel()[:3] * factor
        return 7

    call = Call("double", (a.data, pointer(out, 3, 3, 2), const(2.0), Const("word", "handle")), "int32", "packed")
    result = floats(6)
    run(function([a, out], Evaluate(call)), [floats(np.arange(6)).reshape(2, 3), result], packed={"double": double})
    assert result.tolist() == [0, 0, 0, 0, 2, 4] and seen == [((2, 3), (3,), 2.0, "word")]
    again = ints(1)
    n = buffer("n", (1,), "int32")
    run(function([n], store(n, 0, Call("seven", (), "int32", "packed"))), [again], packed={"seven": lambda: 7})
    assert again[0] == 7


def test_address_of_an_element():
    out = buffer("out", (2, 3))
    call = Call("fill", (Call("address_of", (load(out, 1, 1),), "handle", "intrin"),), "int32", "packed")
    result = floats(6).reshape(2, 3)
    run(function([out], Evaluate(call)), [result], packed={"fill": lambda x: x.fill(1)})
    assert result.tolist() == [[0, 0, 0], [0, 1, 1]]


def test_extern_calls():
    assert scalar(lambda a: Call("expf", (a,), "float32", "extern"), a=np.float32(1)) == np.float32(math.e)
    out = buffer("out", (1,))
    with pytest.raises(BuildError) as e:
        run(function([out], store(out, 0, Call("my_c_function", (), "float32", "extern"))), [floats(1)])
    assert str(e.value) == (
        "the interpreter cannot run the C function `my_c_function`\n"
        "    out[0] = extern('my_c_function')\n"
        "  legal here:  a packed function (call_packed), a function of libm, such as expf\n"
        "  to run this program, choose a target that links C"
    )


def test_prefetch_has_no_effect():
    a = buffer("a", (2,))
    run(function([a], Evaluate(Call("prefetch", (load(a, 9),), "int32", "intrin"))), [floats(2)])


# ---------------------------------------------------------------- counts, target


def test_counts():
    a, out = buffer("a", (4, 8)), buffer("out", (4,))
    i, j = Var("i"), Var("j")
    body = loop(
        i, 4, Seq((store(out, i, 0.0), loop(j, 8, If(j < 6, store(out, i, load(out, i) + load(a, i, j) * 2.0)))))
    )
    report = run(function([a, out], body), [floats(32).reshape(4, 8), floats(4)], count=True)
    assert report.loads == {"out": 24, "a": 24} and report.stores == {"out": 28}
    assert report.flops == 48 and report.iterations == {"i": 4, "j": 32} and report.faults == []
    assert run(function([a, out], body), [floats(32).reshape(4, 8), floats(4)]).loads == {}


def test_counts_of_vectors_and_lazy_parts():
    a, out = buffer("a", (8,)), buffer("out", (8,))
    i = Var("i")
    wide = Ramp(Const(0), Const(1), 8)
    body = Seq(
        (
            store(out, wide, Call("exp", (vload(a, 0, 8),), "float32x8")),
            loop(i, 4, store(out, i, if_then_else(i < 1, load(a, i), 0.0))),
        )
    )
    report = run(function([a, out], body), [floats(8), floats(8)], count=True)
    assert report.loads == {"a": 9} and report.stores == {"out": 12} and report.flops == 8
    n = buffer("n", (2,), "int32")
    body = store(out, Ramp(load(n, 1), Const(1), 4), vload(a, load(n, 0), 4))
    data, result = floats(np.arange(8)), floats(8)
    report = run(function([n, a, out], body), [np.array([3, 2], "int32"), data, result], count=True)
    assert report.loads == {"n": 2, "a": 4} and result.tolist() == [0, 0, 3, 4, 5, 6, 0, 0]


def test_the_target():
    out = buffer("out", (2,))
    i = Var("i")
    program = Program((function([out], loop(i, 2, store(out, i, 1.0))),))
    kind = base.get("interp")
    compiled = kind.compile(program, base.Target("interp"))
    result = floats(2)
    compiled.call([result], [])
    assert result.tolist() == [1, 1]
    assert compiled.source == kind.source(program, base.Target("interp")) == str(program)


def test_an_array_in_another_order_is_refused():
    a, b, i, j = buffer("A", (3, 4)), buffer("B", (3, 4)), Var("i"), Var("j")
    f = function([a, b], loop(i, 3, loop(j, 4, store(b, (i, j), load(a, i, j)))))
    with pytest.raises(InterpError, match="argument B must lie in memory row by row, without gaps"):
        run(f, [np.zeros((3, 4), "float32"), np.zeros((4, 3), "float32").T])
