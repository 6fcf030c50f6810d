"""Arithmetic of every data type on the target llvm, scalar and in vectors with a masked tail, against NumPy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import special

from tvmlab.core import dtype as dt
from tvmlab.core.build import cast, const, select
from tvmlab.core.error import BuildError
from tvmlab.core.node import Bin, Call, Not
from tvmlab.target import Target

from .ir_samples import (
    FLOATS,
    INTS,
    apply,
    apply_many,
    buf,
    build,
    load,
    loop,
    program,
    pure,
    ramp,
    run,
    sample,
    splat,
    store,
)

LANES = (1, 16, 7)
TARGETS = ("llvm", Target("llvm", cpu="x86-64-v3"), Target("llvm", cpu="x86-64"))
rng = np.random.default_rng(1)


def same(a: np.ndarray, b: np.ndarray) -> None:
    np.testing.assert_array_equal(a, b)


def check(got: dict[str, np.ndarray], want: dict[str, np.ndarray]) -> None:
    for name, expected in want.items():
        np.testing.assert_array_equal(got[name], expected, err_msg=name)


def bins(ops: Any, output: str = "") -> Any:
    """Cases of binary operators; the result has the operands' dtype, or is bool."""

    def case(op: str) -> Any:
        kind = lambda a: dt.vector(output, dt.lanes(a.dtype)) if output else a.dtype
        return lambda a, b: Bin(op, a, b, kind(a))

    return {op: case(op) for op in ops}


def typed(cases: Any, dtype: str) -> Any:
    return {name: (f, dtype) for name, f in cases.items()}


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("dtype", INTS)
def test_integer_arithmetic_wraps(dtype: str, lanes: int) -> None:
    x, y = sample(dtype), sample(dtype)[::-1].copy()
    want = {
        "+": x + y, "-": x - y, "*": x * y, "&": x & y, "|": x | y, "^": x ^ y,
        "min": np.minimum(x, y), "max": np.maximum(x, y),
    }  # fmt: skip
    check(apply_many(typed(bins(want), dtype), x, y, lanes=lanes), want)


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("dtype", INTS)
def test_integer_division_floors_or_truncates_and_never_traps(dtype: str, lanes: int) -> None:
    x = sample(dtype)
    y = np.resize(np.array([1, 2, 3, 7, 0, 5], dtype), len(x))
    if dtype[0] == "i":
        y[7::5] = -3
        y[0] = -1  # x[0] is the smallest number: the quotient wraps
        y[1] = -1
    old = np.seterr(all="ignore")
    expect = {"//": np.floor_divide(x, y), "%": np.remainder(x, y)}
    t = np.where(y == 0, 0, (np.abs(x.astype(object)) // np.maximum(np.abs(y.astype(object)), 1)))
    sign = np.where((x < 0) == (y < 0), 1, -1)
    expect["truncdiv"] = np.array([int(q) * int(s) for q, s in zip(t, sign)], object)
    info = np.iinfo(dtype)
    expect["truncdiv"] = np.array([q - 2**info.bits if q > info.max else q for q in expect["truncdiv"]], object).astype(
        dtype
    )
    expect["truncmod"] = np.where(y == 0, 0, np.fmod(x, np.where(y == 0, 1, y))).astype(dtype)
    np.seterr(**old)
    expect["//"][y == 0] = 0
    check(apply_many(typed(bins(expect), dtype), x, y, lanes=lanes), expect)


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("dtype", INTS)
def test_shifts_beyond_the_width_are_defined(dtype: str, lanes: int) -> None:
    x, bits = sample(dtype), np.dtype(dtype).itemsize * 8
    n = np.resize(np.array([0, 1, bits - 1, bits, bits + 1], dtype), len(x))
    inside = n < bits
    left = np.where(inside, x << np.where(inside, n, 0).astype(dtype), 0).astype(dtype)
    right = np.where(inside, x >> np.where(inside, n, 0).astype(dtype), np.where(x < 0, -1, 0).astype(dtype)).astype(
        dtype
    )
    same(apply(lambda a, b: Bin("<<", a, b, a.dtype), x, n, output=dtype, lanes=lanes), left)
    same(apply(lambda a, b: Bin(">>", a, b, a.dtype), x, n, output=dtype, lanes=lanes), right)


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("dtype", (*INTS, *FLOATS))
def test_comparisons(dtype: str, lanes: int) -> None:
    x, y = sample(dtype), sample(dtype)[::-1].copy()
    if dtype.startswith("float"):
        x[3] = y[5] = np.nan
    y[10] = x[10]
    want = {"<": x < y, "<=": x <= y, ">": x > y, ">=": x >= y, "==": x == y, "!=": x != y}
    check(apply_many(typed(bins(want, "bool"), "bool"), x, y, lanes=lanes), want)


@pytest.mark.parametrize("target", TARGETS, ids=str)
@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("dtype", FLOATS)
def test_float_arithmetic_rounds_at_each_operation(dtype: str, lanes: int, target: object) -> None:
    x, y = sample(dtype), sample(dtype)[::-1].copy()
    y[y == 0] = 1
    want = {"+": x + y, "-": x - y, "*": x * y, "/": x / y}
    check(apply_many(typed(bins(want), dtype), x, y, lanes=lanes, target=target), want)


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("dtype", FLOATS)
def test_float_floor_division_and_remainder(dtype: str, lanes: int) -> None:
    x, y = sample(dtype), sample(dtype)[::-1].copy()
    y[y == 0] = 1
    want = {"//": np.floor(x / y), "%": np.remainder(x, y), "truncdiv": np.trunc(x / y), "truncmod": np.fmod(x, y)}
    check(apply_many(typed(bins(want), dtype), x, y, lanes=lanes), want)


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("dtype", FLOATS)
def test_min_and_max_give_the_second_where_one_is_nan(dtype: str, lanes: int) -> None:
    x, y = sample(dtype), sample(dtype)[::-1].copy()
    x[5], y[6] = np.nan, np.nan
    want = {"max": np.where(x > y, x, y), "min": np.where(x < y, x, y)}
    check(apply_many(typed(bins(want), dtype), x, y, lanes=lanes), want)


@pytest.mark.parametrize("lanes", (1, 16))
@pytest.mark.parametrize("target", TARGETS, ids=str)
def test_casts_between_all_types(lanes: int, target: object) -> None:
    small = np.resize(np.array([0, 1, 2, 3, 100, 127, 5, 64], "int64"), 37)
    for a in ("bool", *INTS, *FLOATS):
        x = small.astype(a)
        if a.startswith("float"):
            x = x + np.asarray(0.75, a)
        want = {b: x.astype(b) for b in ("bool", *INTS, *FLOATS) if a != b}
        cases = {b: (lambda v, b=b: cast(v, dt.vector(b, lanes)), b) for b in want}
        check(apply_many(cases, x, lanes=lanes, target=target), want)


@pytest.mark.parametrize("lanes", (1, 16))
def test_negative_floats_become_narrow_integers_as_in_numpy(lanes: int) -> None:
    x = np.resize(np.array([-1.75, -100.5, 99.9, -0.2], "float32"), 41)
    for b in ("int8", "int16", "int32", "int64"):
        same(apply(lambda v, b=b: cast(v, b if lanes == 1 else f"{b}x{lanes}"), x, output=b, lanes=lanes), x.astype(b))


@pytest.mark.parametrize("target", TARGETS, ids=str)
@pytest.mark.parametrize("lanes", (1, 16))
def test_every_float16_goes_to_float32_and_back(lanes: int, target: object) -> None:
    x = np.arange(65536, dtype="uint16").view("float16")
    wide = apply(
        lambda v: cast(v, "float32" if lanes == 1 else f"float32x{lanes}"),
        x,
        output="float32",
        lanes=lanes,
        target=target,
    )
    same(wide, x.astype("float32"))
    back = apply(
        lambda v: cast(v, "float16" if lanes == 1 else f"float16x{lanes}"),
        wide,
        output="float16",
        lanes=lanes,
        target=target,
    )
    same(back[~np.isnan(x)].view("uint16"), x[~np.isnan(x)].view("uint16"))
    assert np.isnan(back[np.isnan(x)]).all()


@pytest.mark.parametrize("target", TARGETS, ids=str)
@pytest.mark.parametrize("source", ("float32", "float64"))
def test_rounding_to_float16_is_to_nearest_even(source: str, target: object) -> None:
    exact = np.arange(1, 31000, 7, dtype="uint16").view("float16").astype("float64")
    above = np.arange(2, 31001, 7, dtype="uint16").view("float16").astype("float64")
    middle = (exact + above) / 2
    values = np.concatenate(
        [middle, np.nextafter(middle, 1e9), np.nextafter(middle, -1), -middle, [65519.9, 65520.0, 1e6, 1e-9, 2.0**-25]]
    )
    x = values.astype(source)
    with np.errstate(over="ignore"):
        want = x.astype("float16")
    same(apply(lambda v: cast(v, "float16"), x, output="float16", target=target), want)
    same(apply(lambda v: cast(v, "float16x16"), x, output="float16", lanes=16, target=target), want)


@pytest.mark.parametrize("lanes", (1, 8))
def test_logic_and_selection(lanes: int) -> None:
    x, y = sample("float32"), sample("float32")[::-1].copy()
    b = "bool" if lanes == 1 else f"boolx{lanes}"

    def f(p, q):  # type: ignore[no-untyped-def]
        zero = splat(const(0.0), lanes)
        both = Bin("and", Bin(">", p, zero, b), Not(Bin("<", q, zero, b)), b)
        return select(Bin("or", both, Bin("==", p, q, b), b), p, q)

    want = np.where(((x > 0) & ~(y < 0)) | (x == y), x, y)
    same(apply(f, x, y, output="float32", lanes=lanes), want)


def test_bool_arrays_are_bytes() -> None:
    x, y = sample("bool"), sample("bool")
    for lanes, b in ((1, "bool"), (16, "boolx16")):
        same(apply(lambda p, q, b=b: Bin("and", p, Not(q), b), x, y, output="bool", lanes=lanes), x & ~y)


UNARY = {
    "exp": np.exp, "exp2": np.exp2, "log": np.log, "log2": np.log2, "log10": np.log10, "log1p": np.log1p, "sqrt":
    np.sqrt, "sin": np.sin, "cos": np.cos, "tan": np.tan, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "asin":
    np.arcsin, "acos": np.arccos, "atan": np.arctan, "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh,
    "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "nearbyint": np.rint, "fabs": np.abs, "erf": special.erf,
    "exp10": lambda x: 10.0**x, "rsqrt": lambda x: 1 / np.sqrt(x), "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "round": lambda x: np.trunc(x + np.copysign(0.5, x)),
}  # fmt: skip


@pytest.mark.parametrize("target", TARGETS, ids=str)
@pytest.mark.parametrize("lanes", (1, 16))
@pytest.mark.parametrize("dtype", FLOATS)
def test_maths(dtype: str, lanes: int, target: Any) -> None:
    x = np.linspace(-3, 3, 61).astype(dtype)
    cases = {name: (lambda v, name=name: pure(name, v), dtype) for name in UNARY}
    for name, got in apply_many(cases, x, lanes=lanes, target=target).items():
        with np.errstate(all="ignore"):
            want = UNARY[name](x.astype("float64")).astype(dtype)
        rtol = {"float16": 1e-3, "float32": 5e-7, "float64": 2e-15}[dtype]
        np.testing.assert_allclose(got, want, rtol=rtol, atol=1e-300, err_msg=name)


@pytest.mark.parametrize("lanes", (1, 16))
def test_functions_of_two_numbers(lanes: int) -> None:
    x, y = np.abs(sample("float32")) + 1, np.minimum(sample("float32"), 9)
    for name, f in {"pow": np.power, "atan2": np.arctan2, "hypot": np.hypot, "fmod": np.fmod, "copysign": np.copysign,
                    "nextafter": np.nextafter}.items():  # fmt: skip
        y2 = np.where(y == 0, 1, y).astype("float32")
        got = apply(lambda a, b, name=name: Call(name, (a, b), a.dtype), x, y2, output="float32", lanes=lanes)
        np.testing.assert_allclose(got, f(x.astype("float32"), y2), rtol=1e-6, err_msg=name)
    n = np.resize(np.array([-3, 0, 5], "int32"), len(x))
    same(apply(lambda a, b: Call("ldexp", (a, b), a.dtype), x, n, output="float32", lanes=lanes), np.ldexp(x, n))


@pytest.mark.parametrize("lanes", (1, 8))
def test_bits_and_classes(lanes: int) -> None:
    b = "bool" if lanes == 1 else f"boolx{lanes}"
    for dtype in FLOATS:
        x = sample(dtype)
        x[2], x[4], x[9] = np.nan, np.inf, -np.inf
        for name, f in {"isnan": np.isnan, "isinf": np.isinf, "isfinite": np.isfinite}.items():
            same(apply(lambda v, name=name: Call(name, (v,), b), x, output="bool", lanes=lanes), f(x))
    for dtype in ("uint32", "int64", "uint8"):
        x, bits = sample(dtype), np.dtype(dtype).itemsize * 8
        kind = dtype if lanes == 1 else f"{dtype}x{lanes}"
        words = [format(int(v) % (1 << bits), f"0{bits}b") for v in x]
        same(
            apply(lambda v, kind=kind: Call("popcount", (v,), kind), x, output=dtype, lanes=lanes),
            [w.count("1") for w in words],
        )
        same(
            apply(lambda v, kind=kind: Call("clz", (v,), kind), x, output=dtype, lanes=lanes),
            [len(w) - len(w.lstrip("0")) for w in words],
        )
        same(apply(lambda v, kind=kind: Call("bitwise_not", (v,), kind), x, output=dtype, lanes=lanes), ~x)
    x = sample("float32")
    kind = "int32" if lanes == 1 else f"int32x{lanes}"
    same(apply(lambda v: Call("reinterpret", (v,), kind), x, output="int32", lanes=lanes), x.view("int32"))


def ulps(got: np.ndarray, want: np.ndarray) -> float:
    """Largest distance to the reference (in more precision), in units in the last place of the result."""
    with np.errstate(all="ignore"):
        spacing = np.spacing(np.abs(want.astype(got.dtype))).astype(want.dtype)
        d = np.abs(got.astype(want.dtype) - want) / spacing
        return float(np.nanmax(np.where(np.isfinite(want.astype(got.dtype)), d, 0)))


LONG = np.longdouble
REFERENCE = {
    "exp": np.exp, "log": np.log, "tanh": np.tanh, "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "sqrt": np.sqrt, "rsqrt": lambda x: 1 / np.sqrt(x),
}  # fmt: skip
BOUND = {"exp": 1.0, "log": 1.0, "tanh": 1.5, "sigmoid": 2.5, "erf": 1.5, "sqrt": 0.51, "rsqrt": 1.5}


@pytest.mark.parametrize("target", TARGETS, ids=str)
@pytest.mark.parametrize("dtype", ("float32", "float64"))
@pytest.mark.parametrize("name", BOUND)
def test_vector_maths_keeps_its_error_bound(name: str, dtype: str, target: object) -> None:
    near, wide = rng.normal(0, 1, 40000), rng.uniform(-1, 1, 40000)
    x = np.concatenate([near, wide * (80 if dtype == "float32" else 700), 10.0 ** rng.uniform(-30, 30, 20000)]).astype(
        dtype
    )
    if name in ("log", "sqrt", "rsqrt"):
        x = np.abs(x)
        x[::97] = np.nextafter(np.asarray(0, dtype), np.asarray(1, dtype)) * rng.integers(1, 1000, len(x[::97]))
        x = x[x > 0] if name != "rsqrt" else x[x > 1e-30]
    f = REFERENCE.get(name)
    with np.errstate(all="ignore"):
        want = np.array([math.erf(v) for v in x]).astype(LONG) if f is None else f(x.astype(LONG))
    got = apply(lambda v: pure(name, v), x, output=dtype, lanes=16 if dtype == "float32" else 8, target=target)
    assert ulps(got, want) <= BOUND[name]


def test_vector_maths_at_the_edges() -> None:
    x = np.array([np.inf, -np.inf, np.nan, 0.0, -0.0, 88.8, -104.5, 1e-40, -1.0, 1e38, -87.5, -100.0], "float32")
    with np.errstate(all="ignore"):
        for name, f in {"exp": np.exp, "log": np.log, "tanh": np.tanh, "erf": special.erf, "sqrt": np.sqrt}.items():
            got = apply(lambda v, name=name: pure(name, v), x, output="float32", lanes=8)
            np.testing.assert_allclose(
                got, f(x.astype("float64")).astype("float32"), rtol=3e-7, atol=2e-45, err_msg=name
            )
            d = x.astype("float64") * 8
            got = apply(lambda v, name=name: pure(name, v), d, output="float64", lanes=8)
            np.testing.assert_allclose(got, f(d), rtol=2e-15, atol=1e-320, err_msg=name)


def test_a_vector_of_thirteen_lanes() -> None:
    a, b = buf("A", 26), buf("B", 26)
    x, out = rng.normal(size=26).astype("float32"), np.zeros(26, "float32")
    run(
        program(
            "odd",
            (a, b),
            loop("i", 2, lambda i: store(b, ramp(i * 13, 13), load(a, ramp(i * 13, 13)) + splat(const(1.0), 13))),
        ),
        x,
        out,
    )
    same(out, x + np.float32(1))


def test_fused_multiplication_and_addition_can_be_switched_off() -> None:
    x = (1 + rng.random(64) * 1e-3).astype("float32")
    asm = {}
    for mode in ("strict", "contract"):
        a, b = buf("A", 64), buf("B", 64)
        body = loop("i", 64, lambda i, a=a, b=b: store(b, i, load(a, i) * load(a, i) - load(a, i)))
        c = build(program("square", (a, b), body, fp=mode), Target("llvm", cpu="x86-64-v3"))
        out = np.zeros(64, "float32")
        c.call((x, out), ())
        asm[mode] = c.asm()
        if mode == "strict":
            same(out, x * x - x)
    assert "vfm" in asm["contract"] and "vfm" not in asm["strict"]
    with pytest.raises(BuildError, match="the attribute fp of `square` is `loose`"):
        build(program("square", (), store(buf("A", 1), 0, 0.0), fp="loose"))


def test_the_fast_mode_leaves_the_maths_functions_right() -> None:
    a, b, x, out = buf("A", 16), buf("B", 16), np.linspace(-5, 5, 16).astype("float32"), np.zeros(16, "float32")
    at = ramp(0, 16)
    for name in ("exp", "tanh", "erf"):
        run(program(name, (a, b), store(b, at, pure(name, load(a, at)) + splat(const(0.0), 16)), fp="fast"), x, out)
        np.testing.assert_allclose(out, UNARY[name](x.astype("float64")), rtol=1e-6)
