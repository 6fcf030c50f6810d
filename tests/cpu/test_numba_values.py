"""Arithmetic of every data type on the target numba, scalar and in vectors with a masked tail, against NumPy.

Compiling takes a fifth of a second, so each program computes many results, one output after the other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import special

from tvmlab.core import dtype as dt
from tvmlab.core.build import cast, const, select
from tvmlab.core.node import Bin, Call, Expr, Not, Stmt, Var

from .ir_samples import FLOATS, INTS, binary, buf, load, loop, program, pure, ramp, run, sample, splat, store

pytestmark = pytest.mark.slow  # half a second of compiling for each
rng = np.random.default_rng(1)
Fn = Callable[..., Expr]


def with_lanes(*dtypes: str) -> list[tuple[str, int]]:
    """Scalars and full vectors of every type, an odd vector of one."""
    return [(d, n) for d in dtypes for n in (1, 16)] + [(dtypes[1], 7)]


def apply_all(cases: dict[str, tuple[Fn, str]], *arrays: np.ndarray, lanes: int = 1) -> dict[str, np.ndarray]:
    """Each case's function (with the dtype of its result) over the arrays, all in one program."""
    n = len(arrays[0])
    xs = [buf(f"X{k}", n, str(a.dtype)) for k, a in enumerate(arrays)]
    outs = {name: buf(f"Out{k}", n, dtype) for k, (name, (_, dtype)) in enumerate(cases.items())}

    def body(f: Fn, out: Any) -> Callable[[Var], Stmt]:
        if lanes == 1:
            return lambda i: store(out, i, f(*[load(x, i) for x in xs]))

        def vectors(i: Var) -> Stmt:
            at = ramp(i * lanes, lanes)
            mask = binary("<", at, splat(n, lanes))
            return store(out, at, f(*[load(x, at, mask) for x in xs]), mask)

        return vectors

    loops = [loop("i", -(-n // lanes), body(f, outs[name])) for name, (f, _) in cases.items()]
    results = {name: np.zeros(n, dtype) for name, (_, dtype) in cases.items()}
    run(program("many", (*xs, *outs.values()), *loops), *arrays, *results.values(), target="numba")
    return results


def bins(ops: list[str], dtype: str, result: str = "") -> dict[str, tuple[Fn, str]]:
    def of(op: str) -> Fn:
        return lambda a, b: Bin(op, a, b, dt.vector(result or dtype, dt.lanes(a.dtype)))

    return {op: (of(op), result or dtype) for op in ops}


def check(got: dict[str, np.ndarray], want: dict[str, Any]) -> None:
    for name, w in want.items():
        np.testing.assert_array_equal(got[name], w, err_msg=name)


@pytest.mark.parametrize("dtype,lanes", with_lanes(*INTS))
def test_integers_wrap_divide_and_shift(dtype: str, lanes: int) -> None:
    x, y = sample(dtype), np.resize(np.array([1, 2, 3, 7, 0, 5], dtype), 53)
    if dtype[0] == "i":
        y[7::5] = -3
        y[0] = y[1] = -1  # x[0] is the smallest number: the quotient wraps
    wraps = {"+": np.add, "-": np.subtract, "*": np.multiply, "&": np.bitwise_and, "|": np.bitwise_or,
             "^": np.bitwise_xor,
             "min": np.minimum, "max": np.maximum}  # fmt: skip
    want: dict[str, Any] = {op: f(x, y) for op, f in wraps.items()}
    with np.errstate(all="ignore"):
        want |= {"//": np.floor_divide(x, y), "%": np.remainder(x, y)}
        want["//"][y == 0] = 0
        exact = [
            abs(int(a)) // abs(int(b)) * (1 if (a < 0) == (b < 0) else -1) if b else 0
            for a, b in zip(x, y, strict=True)
        ]
        want["truncdiv"] = np.array([v % 2 ** dt.bits(dtype) for v in exact], f"uint{dt.bits(dtype)}").astype(dtype)
        want["truncmod"] = np.where(y == 0, 0, np.fmod(x, np.where(y == 0, 1, y))).astype(dtype)
    check(apply_all(bins(list(want), dtype), x, y, lanes=lanes), want)
    n, bits = (
        np.resize(np.array([0, 1, 3, dt.bits(dtype) - 1, dt.bits(dtype), dt.bits(dtype) + 1], dtype), 53),
        dt.bits(dtype),
    )
    inside = np.where(n < bits, n, 0).astype(dtype)
    left = np.where(n < bits, x << inside, 0).astype(dtype)
    right = np.where(n < bits, x >> inside, np.where(x < 0, -1, 0).astype(dtype)).astype(dtype)
    check(apply_all(bins(["<<", ">>"], dtype), x, n, lanes=lanes), {"<<": left, ">>": right})


@pytest.mark.parametrize("dtype,lanes", with_lanes("int32", "uint32", "int64", "uint64", "int8"))
def test_integer_results_are_wrapped_where_they_are_used_as_values(dtype: str, lanes: int) -> None:
    x, y = sample(dtype), sample(dtype)[::-1].copy()
    y[y == 0] = 3

    def kind(a: Expr, name: str) -> str:
        return dt.vector(name, dt.lanes(a.dtype))

    cases: dict[str, tuple[Fn, str]] = {
        "compare": (lambda a, b: Bin("<", a + b, a, kind(a, "bool")), "bool"),
        "divide": (lambda a, b: Bin("//", a * b, b, a.dtype), dtype),
        "widen": (lambda a, b: cast(a * b - a, kind(a, "int64")), "int64"),
        "float": (lambda a, b: cast(a + b, kind(a, "float64")), "float64"),
        "shift": (lambda a, b: Bin(">>", a * b, splat(const(3, dtype), dt.lanes(a.dtype)), a.dtype), dtype),
        "most": (lambda a, b: Bin("max", a + b, a - b, a.dtype), dtype),
        "not": (lambda a, b: Bin("//", Call("bitwise_not", (a,), a.dtype), b, a.dtype), dtype),
    }
    with np.errstate(all="ignore"):
        want = {
            "compare": x + y < x, "divide": x * y // y, "widen": (x * y - x).astype("int64"),
            "float": (x + y).astype("float64"),
            "shift": x * y >> 3, "most": np.maximum(x + y, x - y), "not": ~x // y,
        }  # fmt: skip
    check(apply_all(cases, x, y, lanes=lanes), want)


@pytest.mark.parametrize("dtype,lanes", with_lanes(*FLOATS))
def test_float_arithmetic_rounds_at_each_operation(dtype: str, lanes: int) -> None:
    x, y = sample(dtype), sample(dtype)[::-1].copy()
    y[y == 0] = 1
    want = {"+": x + y, "-": x - y, "*": x * y, "/": x / y, "//": np.floor(x / y), "%": np.remainder(x, y),
            "truncdiv": np.trunc(x / y), "truncmod": np.fmod(x, y)}  # fmt: skip
    check(apply_all(bins(list(want), dtype), x, y, lanes=lanes), want)
    x[5], y[6] = np.nan, np.nan
    check(
        apply_all(bins(["min", "max"], dtype), x, y, lanes=lanes),
        {"min": np.where(x < y, x, y), "max": np.where(x > y, x, y)},
    )


@pytest.mark.parametrize("dtype,lanes", with_lanes("float16", "float32", "int8", "uint16", "int64", "uint64"))
def test_comparisons(dtype: str, lanes: int) -> None:
    x, y = sample(dtype), sample(dtype)[::-1].copy()
    if dtype.startswith("float"):
        x[3] = y[5] = np.nan
    y[10] = x[10]
    want = {"<": x < y, "<=": x <= y, ">": x > y, ">=": x >= y, "==": x == y, "!=": x != y}
    check(apply_all(bins(list(want), dtype, "bool"), x, y, lanes=lanes), want)


@pytest.mark.parametrize("lanes", (1, 16))
@pytest.mark.parametrize("source", ("bool", *INTS, *FLOATS))
def test_casts(source: str, lanes: int) -> None:
    x = np.resize(np.array([0, 1, 2, 3, 100, 127, 5, 64], "int64"), 37).astype(source)
    if source.startswith("float"):
        x = x + np.asarray(0.75, source)
    others = [d for d in ("bool", *INTS, *FLOATS) if d != source]

    def to(d: str) -> Fn:
        return lambda v: cast(v, dt.vector(d, lanes))

    check(apply_all({d: (to(d), d) for d in others}, x, lanes=lanes), {d: x.astype(d) for d in others})


@pytest.mark.parametrize("lanes", (1, 16))
def test_every_float16_goes_to_float32_and_back(lanes: int) -> None:
    x = np.arange(65536, dtype="uint16").view("float16")
    kind = dt.vector("float32", lanes), dt.vector("float16", lanes)
    wide = apply_all({"to": (lambda v: cast(v, kind[0]), "float32")}, x, lanes=lanes)["to"]
    np.testing.assert_array_equal(wide, x.astype("float32"))
    back = apply_all({"to": (lambda v: cast(v, kind[1]), "float16")}, wide, lanes=lanes)["to"]
    number = ~np.isnan(x)
    np.testing.assert_array_equal(back[number].view("uint16"), x[number].view("uint16"))
    assert np.isnan(back[~number]).all()


@pytest.mark.parametrize("lanes", (1, 16))
@pytest.mark.parametrize("source", ("float32", "float64"))
def test_rounding_to_float16_is_to_nearest_even(source: str, lanes: int) -> None:
    exact = np.arange(1, 31000, 7, dtype="uint16").view("float16").astype("float64")
    above = np.arange(2, 31001, 7, dtype="uint16").view("float16").astype("float64")
    middle = (exact + above) / 2
    near = [
        middle,
        np.nextafter(middle, 1e9),
        np.nextafter(middle, -1),
        -middle,
        [65519.9, 65520.0, 1e6, 1e300, -1e300, 1e-9, 2.0**-25],
    ]
    with np.errstate(over="ignore"):
        x = np.concatenate(near).astype(source)
        want = x.astype("float16")
    check(apply_all({"to": (lambda v: cast(v, dt.vector("float16", lanes)), "float16")}, x, lanes=lanes), {"to": want})


@pytest.mark.parametrize("lanes", (1, 8))
def test_logic_selection_and_bool_arrays(lanes: int) -> None:
    x, y = sample("float32"), sample("float32")[::-1].copy()
    p, q = sample("bool"), sample("bool")
    b, zero = dt.vector("bool", lanes), splat(const(0.0), lanes)

    def choose(x: Expr, y: Expr, p: Expr, q: Expr) -> Expr:
        both = Bin("and", Bin(">", x, zero, b), Not(Bin("<", y, zero, b)), b)
        return select(Bin("or", both, Bin("==", x, y, b), b), x, y)

    got = apply_all(
        {"choose": (choose, "float32"), "andnot": (lambda x, y, p, q: Bin("and", p, Not(q), b), "bool")},
        x,
        y,
        p,
        q,
        lanes=lanes,
    )
    check(got, {"choose": np.where(((x > 0) & ~(y < 0)) | (x == y), x, y), "andnot": p & ~q})


UNARY = {
    "exp": np.exp, "exp2": np.exp2, "log": np.log, "log2": np.log2, "log10": np.log10, "log1p": np.log1p,
    "sqrt": np.sqrt,
    "sin": np.sin, "cos": np.cos, "tan": np.tan, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "asin": np.arcsin,
    "acos": np.arccos, "atan": np.arctan, "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh,
    "floor": np.floor,
    "ceil": np.ceil, "trunc": np.trunc, "nearbyint": np.rint, "fabs": np.abs, "erf": special.erf,
    "exp10": lambda x: 10.0**x,
    "rsqrt": lambda x: 1 / np.sqrt(x), "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "round": lambda x: np.trunc(x + np.copysign(0.5, x)),
}  # fmt: skip


@pytest.mark.parametrize("lanes", (1, 8))
@pytest.mark.parametrize("dtype", FLOATS)
def test_functions(dtype: str, lanes: int) -> None:
    x = np.linspace(-3, 3, 61).astype(dtype)

    def of(name: str) -> Fn:
        return lambda v: pure(name, v)

    got = apply_all({name: (of(name), dtype) for name in UNARY}, x, lanes=lanes)
    for name, f in UNARY.items():
        with np.errstate(all="ignore"):
            want = f(x.astype("float64")).astype(dtype)
        tolerance = {"float16": 1e-3, "float32": 1e-6, "float64": 4e-15}[dtype]
        np.testing.assert_allclose(got[name], want, rtol=tolerance, atol=1e-300, err_msg=name)


@pytest.mark.parametrize("lanes", (1, 16))
def test_functions_of_two_numbers(lanes: int) -> None:
    x, y = np.abs(sample("float32")) + np.float32(1), sample("float32")
    y[y == 0] = 1
    table = {"pow": np.power, "atan2": np.arctan2, "hypot": np.hypot, "fmod": np.fmod, "copysign": np.copysign,
             "nextafter": np.nextafter}  # fmt: skip

    def of(name: str) -> Fn:
        return lambda a, b: Call(name, (a, b), a.dtype)

    got = apply_all({name: (of(name), "float32") for name in table}, x, y, lanes=lanes)
    for name, f in table.items():
        np.testing.assert_allclose(got[name], f(x, y), rtol=1e-6, err_msg=name)
    n = np.resize(np.array([-3, 0, 5], "int32"), len(x))
    check(apply_all({"ldexp": (of("ldexp"), "float32")}, x, n, lanes=lanes), {"ldexp": np.ldexp(x, n)})


@pytest.mark.parametrize("lanes", (1, 8))
@pytest.mark.parametrize("dtype", ("uint32", "int64", "uint8", "int32"))
def test_bits(dtype: str, lanes: int) -> None:
    x, bits = sample(dtype), dt.bits(dtype)
    words = [format(int(v) % (1 << bits), f"0{bits}b") for v in x]
    kind = dt.vector(dtype, lanes)
    cases: dict[str, tuple[Fn, str]] = {
        "popcount": (lambda v: Call("popcount", (v,), kind), dtype),
        "clz": (lambda v: Call("clz", (v,), dt.vector("int32", lanes)), "int32"),
        "bitwise_not": (lambda v: Call("bitwise_not", (v,), kind), dtype),
    }
    want = {
        "popcount": [w.count("1") for w in words],
        "clz": [len(w) - len(w.lstrip("0")) for w in words],
        "bitwise_not": ~x,
    }
    check(apply_all(cases, x, lanes=lanes), want)


@pytest.mark.parametrize("lanes", (1, 8))
def test_classes_and_reinterpretation(lanes: int) -> None:
    b = dt.vector("bool", lanes)
    for dtype, bits in (("float16", "uint16"), ("float32", "int32"), ("float64", "int64")):
        x = sample(dtype)
        x[2], x[4], x[9] = np.nan, np.inf, -np.inf
        cases: dict[str, tuple[Fn, str]] = {
            "isnan": (lambda v: Call("isnan", (v,), b), "bool"),
            "isinf": (lambda v: Call("isinf", (v,), b), "bool"),
            "isfinite": (lambda v: Call("isfinite", (v,), b), "bool"),
            "bits": (lambda v, bits=bits: Call("reinterpret", (v,), dt.vector(bits, lanes)), bits),
        }
        want = {"isnan": np.isnan(x), "isinf": np.isinf(x), "isfinite": np.isfinite(x)}
        got = apply_all(cases, x, lanes=lanes)
        check(got, want)
        np.testing.assert_array_equal(got["bits"][~np.isnan(x)], x.view(bits)[~np.isnan(x)])


@pytest.mark.parametrize("lanes", (1, 8))
def test_fixed_point_product(lanes: int) -> None:
    x, y = sample("int32"), sample("int32")[::-1].copy()

    def product(shift: int) -> Fn:
        numbers = [splat(const(v, "int32"), lanes) for v in (31, shift)]
        return lambda a, b: Call("q_multiply_shift", (a, b, *numbers), a.dtype)

    for shift in (0, 2):
        exact = [(int(a) * int(b) + (1 << (30 + shift))) >> (31 + shift) for a, b in zip(x, y, strict=True)]
        want = np.array([v % 2**32 for v in exact], "uint32").astype("int32")
        check(apply_all({"q": (product(shift), "int32")}, x, y, lanes=lanes), {"q": want})


@pytest.mark.parametrize("dtype", ("float32", "float64"))
@pytest.mark.parametrize("name,bound", (("exp", 1.0), ("tanh", 2.0)))
def test_polynomials_keep_their_error_bound(name: str, bound: float, dtype: str) -> None:
    span = 80 if dtype == "float32" else 700
    x = np.concatenate([rng.normal(0, 1, 20000), rng.uniform(-span, span, 20000), 10.0 ** rng.uniform(-30, 1, 9000)])
    x = np.concatenate([x, [np.inf, -np.inf, np.nan, 0.0, 1e30, -1e30, -87.5, -103.0]]).astype(dtype)
    got = apply_all({name: (lambda v: pure(name, v), dtype)}, x, lanes=16 if dtype == "float32" else 8)[name]
    with np.errstate(over="ignore"):
        want = getattr(np, name)(x.astype(np.longdouble))
        nearest = want.astype(dtype)
    finite = np.isfinite(nearest)
    ulps = np.abs(got[finite] - want[finite]) / np.spacing(np.abs(nearest[finite]))
    assert ulps.max() <= bound
    np.testing.assert_array_equal(got[~finite], nearest[~finite])
