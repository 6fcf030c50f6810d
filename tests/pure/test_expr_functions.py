"""Mathematical functions, calls by name, the operators: promotion, folding, refusals."""

import math

import pytest

from tests.refusal import refused
from tvmlab import te, tir
from tvmlab.core import dtype as dt
from tvmlab.core.build import binary, const
from tvmlab.core.error import TVMError
from tvmlab.core.intrin import PURE
from tvmlab.core.node import Barrier, Bin, Call, Const, Evaluate, Var
from tvmlab.core.walk import same

n, m = te.var("n"), te.var("m")
x, y = Var("x", "float32"), Var("y", "float32")
d, u8, i8, flag = Var("d", "float64"), Var("u8", "uint8"), Var("i8", "int8"), Var("flag", "bool")

UNARY = [
    name for name, f in PURE.items() if f.arity == 1 and f.takes == "float" and f.gives == "same" and name != "fabs"
]


# ---------------------------------------------------------------- operators


@pytest.mark.parametrize(
    "a, b, common",
    [
        ("int32", "float32", "float32"),
        ("float16", "int64", "float16"),
        ("float16", "float64", "float64"),
        ("int8", "int32", "int32"),
        ("uint8", "uint16", "uint16"),
        ("int32", "uint32", "uint32"),
        ("int64", "uint8", "int64"),
        ("int8", "uint16", "uint16"),
        ("bool", "int8", "int8"),
        ("bool", "float32", "float32"),
        ("float32x4", "float32", "float32x4"),
        ("int32x4", "float64", "float64x4"),
    ],
)
def test_promotion(a, b, common):
    assert dt.promote(a, b) == dt.promote(b, a) == common
    assert (Var("a", a) + Var("b", b)).dtype == common
    assert (Var("a", a) < Var("b", b)).dtype == dt.vector("bool", dt.lanes(common))


def test_arithmetic_of_bools_counts():
    a, b = Var("a", "bool"), Var("b", "bool")
    assert [e.dtype for e in (a + b, a * b, -a, a & b, a.equal(b))] == ["int32", "int32", "int32", "bool", "bool"]


def test_numbers_become_int32_and_float32():
    assert (i8 + 1).dtype == "int32"
    assert (d + 1.5).dtype == "float64"
    assert (x * 2).dtype == "float32"
    assert te.const(2**40).dtype == "int64"
    assert te.const(True).dtype == "bool"


def test_vectors_of_different_length_do_not_combine():
    message = refused(TypeError, lambda: Var("a", "int8x4") + Var("b", "int8x8"))
    assert message == "cannot combine vectors of different length: int8x4 and int8x8"


@pytest.mark.parametrize(
    "made, value",
    [
        (te.const(7) // 2, 3),
        (te.const(-7) // 2, -4),
        (te.const(-7) % 2, 1),
        (te.truncdiv(-7, 2), -3),
        (te.truncmod(-7, 2), -1),
        (te.const(100, "int8") + te.const(100, "int8"), -56),
        (te.const(0, "uint8") - te.const(1, "uint8"), 255),
        (te.const(1.5) + 1, 2.5),
        (te.const(3) < 4, True),
        (~te.const(5), -6),
        (te.const(1) << 4, 16),
        (te.const(-8) >> 1, -4),
        (te.min(te.const(3), 5), 3),
        (te.max(te.const(3), 5), 5),
        (te.all(te.const(True), False), False),
        (te.any(te.const(True)), True),
        (te.ceildiv(te.const(7), 2), 4),
        (te.div(te.const(-7), 2), -3),
        (te.div(te.const(7.0), 2), 3.5),
        (tir.Not(te.const(True)), False),
        (te.popcount(255), 8),
        (te.popcount(-1), 32),
        (te.clz(1), 31),
        (te.clz(0), 32),
        (te.clz(te.const(0, "int8")), 8),
        (te.abs(te.const(-3)), 3),
        (te.abs(te.const(-3.5)), 3.5),
        (te.likely(te.const(True)), True),
        (-te.const(4), -4),
        (te.if_then_else(te.const(True), 1, 2), 1),
        (tir.Select(te.const(False), 1, 2), 2),
        (-te.const(4.5), -4.5),
    ],
)
def test_constants_are_folded(made, value):
    assert isinstance(made, Const)
    assert made.value == value
    assert type(made.value) is type(value)


@pytest.mark.parametrize(
    "made, same_as",
    [
        (n + 0, n),
        (0 + n, n),
        (n - 0, n),
        (n * 1, n),
        (1 * n, n),
        (n // 1, n),
        (te.truncdiv(n, 1), n),
        (te.all(n > 0, True), n > 0),
    ],
)
def test_neutral_elements_disappear(made, same_as):
    assert same(made, same_as)


def test_only_integers_lose_neutral_elements():
    assert isinstance(x + 0.0, Bin)  # -0.0 + 0.0 is 0.0
    assert isinstance(x * 0.0, Bin)  # of infinity it is not a number
    assert (n * 0).value == 0
    assert (n % 1).value == 0


@pytest.mark.parametrize(
    "call, message",
    [
        (
            lambda: n / m,
            "`/` of two integers is ambiguous in n/m (n and m are int32): use `//` (floor), te.truncdiv (towards "
            "zero), or cast one side to a float",
        ),
        (lambda: n // 0, "division by zero: n // 0"),
        (lambda: n % 0, "division by zero: n % 0"),
        (lambda: x & y, "`&` works on integers, not on float32"),
        (lambda: x << 1, "`<<` works on integers, not on float32"),
        (lambda: x % y, "`%` works on integers, not on float32; for floats there is te.fmod"),
        (lambda: x // y, "`//` works on integers, not on float32; for floats there is te.floor(a / b)"),
        (lambda: ~x, "`~` works on integers, not on float32"),
        (lambda: n << 32, "a shift of int32 must be by 0 to 31 bits, not by 32"),
        (lambda: n >> -1, "a shift of int32 must be by 0 to 31 bits, not by -1"),
        (lambda: te.if_then_else(x, 1, 2), "the condition of if_then_else must be a scalar bool, not float32"),
        (lambda: te.reinterpret("int64", x), "reinterpret needs equal bit widths: float32 has 32 bits, int64 has 64"),
        (
            lambda: te.infinity("int32"),
            "only floats have an infinity, int32 has none; te.max_value('int32') is the largest value",
        ),
    ],
)
def test_refused_operators(call, message):
    assert refused(TVMError, call) == message
    assert refused(RuntimeError, call) == message  # what classic code catches


def test_an_expression_has_no_truth_value():
    for call in (lambda: bool(n > 1), lambda: n > 1 and n < 3, lambda: not n, lambda: 0 if n < 3 else 1):
        message = refused(ValueError, call)
        assert message.splitlines()[0] == (
            "an expression has no truth value yet: `and`, `or`, `not` and `if` of Python cannot work on it"
        )
        assert message.splitlines()[-2] == (
            "  legal here:  te.all(a, b), te.any(a, b), tir.Not(a), te.if_then_else(cond, a, b)"
        )


def test_equality_is_an_expression_whose_truth_is_identity():
    assert isinstance(n == m, Bin)
    assert (n == n).value is True
    assert bool(n == m) is False
    assert bool(n != m) is True
    assert n in [m, n]
    assert x.equal(y).dtype == "bool"


def test_no_condition_is_refused():
    message = "any/all need at least one condition"
    assert refused(ValueError, te.all) == refused(ValueError, te.any) == message


def test_and_or_of_bools_are_logical():
    assert (flag & (n > 1)).op == "and"
    assert (flag | (n > 1)).op == "or"
    assert tir.bitwise_and(n, 3).op == "&"


# ---------------------------------------------------------------- functions


@pytest.mark.parametrize("name", UNARY)
def test_functions_of_a_float(name):
    f = getattr(te, name, None) or getattr(tir, name)
    made = f(x)
    assert same(made, Call(name, (x,), "float32"))
    assert f(d).dtype == "float64"
    assert f.__doc__


@pytest.mark.parametrize("name", sorted(set(UNARY) - {"floor", "ceil", "trunc", "round", "nearbyint"}))
def test_they_refuse_integers(name):
    f = getattr(te, name, None) or getattr(tir, name)
    message = f'{name} works on floats, not on int32: n\n  cast the argument: x.astype("float32")'
    assert refused(TypeError, lambda: f(n)) == refused(RuntimeError, lambda: f(n)) == message
    assert same(f(2), f(2.0))  # a Python number is no integer expression


@pytest.mark.parametrize("f", [te.floor, te.ceil, te.trunc, te.round, te.nearbyint])
def test_rounding_leaves_integers(f):
    assert f(n) is n
    assert f(flag) is flag


@pytest.mark.parametrize(
    "f, values",
    [
        (te.floor, [-2.0, -1.0, 0.0, 2.0, 2.0]),
        (te.ceil, [-1.0, -0.0, 1.0, 3.0, 3.0]),
        (te.trunc, [-1.0, -0.0, 0.0, 2.0, 2.0]),
        (te.round, [-2.0, -1.0, 1.0, 3.0, 3.0]),
        (te.nearbyint, [-2.0, -0.0, 0.0, 2.0, 3.0]),
    ],
)
def test_rounding_constants(f, values):
    made = [f(v) for v in (-1.5, -0.5, 0.5, 2.5, 2.7)]
    assert [e.value for e in made] == values
    assert [math.copysign(1, e.value) for e in made] == [math.copysign(1, v) for v in values]


def test_just_below_one_half_rounds_down():
    assert te.round(te.const(0.49999999999999994, "float64")).value == 0.0


def test_absolute_values():
    assert te.abs(u8) is u8
    assert te.abs(x).name == "fabs"
    assert repr(te.abs(n)) == "select(n >= 0, n, n*(-1))"


def test_questions_about_floats():
    assert te.isnan(x).dtype == "bool"
    assert te.isnan(n).value is False
    assert te.isfinite(n).value is True
    assert te.isinf(te.infinity("float32")).value is True
    assert te.isnan(te.const(math.nan)).value is True
    assert te.isinf(Var("v", "float32x4")).dtype == "boolx4"


def test_functions_of_two_floats():
    assert repr(te.power(x, 2)) == "pow(x, 2.0)"
    assert te.power(x, d).dtype == "float64"
    assert tir.pow is te.power
    assert te.fmod(x, 3).name == "fmod"
    assert te.ldexp(x, n).args[1].dtype == "int32"
    assert refused(TypeError, lambda: te.power(n, m)).splitlines()[0] == "power works on floats, not on int32: n"
    assert refused(TypeError, lambda: te.ldexp(x, y)) == "ldexp works on integers, not on float32: y"


def test_integer_functions_refuse_floats():
    assert refused(TypeError, lambda: te.popcount(x)) == "popcount works on integers, not on float32: x"
    assert refused(TypeError, lambda: te.ceildiv(x, y)) == "ceildiv works on integers, not on float32: x"
    assert refused(TypeError, lambda: te.floordiv(x, y)) == "floordiv works on integers, not on float32: x"


def test_divisions():
    assert [f(n, m).op for f in (te.floordiv, te.floormod, te.truncdiv, te.truncmod)] == [
        "//",
        "%",
        "truncdiv",
        "truncmod",
    ]
    assert te.indexdiv(n, m).op == "//"
    assert te.indexmod(n, m).op == "%"
    assert te.div(n, m).op == "truncdiv"
    assert te.div(x, m).op == "/"


def test_limits():
    assert te.min_value("int8").value == -128
    assert te.max_value("uint16").value == 65535
    assert te.max_value("float16").value == 65504.0
    assert te.infinity("float64").value == math.inf


@pytest.mark.parametrize("a, y31, shift", [(1000, 0.75, 0), (-7, 0.5, 0), (123456, 0.6, 3), (99, 0.9, -2)])
def test_fixed_point_multiplication(a, y31, shift):
    """round(x * y * 2**shift) with y a fraction of 31 bits; halves towards plus infinity."""
    made = tir.q_multiply_shift(const(a), const(round(y31 * 2**31)), 31, shift)
    exact = a * round(y31 * 2**31) * 2.0**shift / 2**31
    assert made.value == math.floor(exact + 0.5)
    assert tir.q_multiply_shift(n, m, 31, 1).dtype == "int32"


def test_reinterpret():
    made = te.reinterpret("int32", x)
    assert (made.name, made.dtype) == ("reinterpret", "int32")
    assert te.reinterpret("float32", x) is x


# ---------------------------------------------------------------- calls by name


def test_call_intrin_knows_the_functions():
    assert same(tir.call_intrin("float32", "tir.exp", x), te.exp(x))
    assert same(tir.call_pure_intrin("float32", "power", x, 2.0), te.power(x, 2))
    assert tir.call_intrin("int32", "shift_left", n, 2).op == "<<"
    pointer = tir.call_intrin("handle", "tir.tvm_access_ptr", 0, Var("data", "handle"), 0, 16, 1)
    assert (pointer.name, pointer.kind, len(pointer.args)) == ("access_ptr", "intrin", 4)


@pytest.mark.parametrize(
    "call, message",
    [
        (
            lambda: tir.call_intrin("float32", "expp", x),
            "there is no intrinsic `expp`\n  legal here:  exp, exp2, ldexp, exp10\n"
            "  a C function is called with call_extern, a registered Python function with call_packed",
        ),
        (lambda: tir.call_intrin("float32", "exp", x, y), "exp takes 1 argument, not 2"),
        (lambda: tir.call_intrin("handle", "access_ptr", n), "access_ptr takes 4 arguments, not 1"),
    ],
)
def test_unknown_calls(call, message):
    assert refused(TVMError, call) == message


def test_c_functions():
    made = tir.call_extern("int32", "gemv", x, 3)
    assert (made.kind, made.name, made.dtype) == ("extern", "gemv", "int32")
    assert same(tir.call_pure_extern("float32", "expf", x), te.exp(x))
    assert same(tir.call_pure_extern("float32", "__expf", x), te.exp(x))
    assert tir.call_pure_extern("float32", "my_expf", x).kind == "extern"


def test_packed_calls_take_buffers_and_strings():
    a = tir.decl_buffer((4,), name="A")
    made = tir.call_packed("my.f", a, "text", 3)
    assert made.kind == "packed"
    assert made.args[0] is a.data
    assert repr(made) == "packed('my.f', A, 'text', 3)"


def test_llvm_intrinsics_with_a_counterpart():
    assert same(tir.call_llvm_intrin("float32", "llvm.exp", te.const(1, "uint32"), x), te.exp(x))
    assert same(tir.call_llvm_pure_intrin("float32", "llvm.sqrt.f32", x), te.sqrt(x))
    assert repr(tir.call_llvm_intrin("float32", "llvm.fma", x, y, x)) == "x * y + x"
    assert repr(tir.call_llvm_intrin("int32", "llvm.ctlz.i32", te.const(1, "uint32"), n, True)) == "clz(n)"
    assert refused(TVMError, lambda: tir.call_llvm_intrin("int32", "llvm.x86.avx512.pmaddubs.w.512", n)).splitlines()[
        0
    ] == (
        "cannot call the LLVM intrinsic `llvm.x86.avx512.pmaddubs.w.512`: "
        "only those that every target has a counterpart of are "
        "known"
    )


def test_a_barrier_called_is_a_statement():
    from tvmlab.core.calls import as_stmt

    made = as_stmt(tir.call_intrin("int32", "tir.tvm_storage_sync", "shared"))
    assert isinstance(made, Barrier)
    assert made.scope == "shared"
    assert isinstance(as_stmt(te.exp(x)), Evaluate)
    assert as_stmt(3) is None


def test_every_function_of_the_table_says_what_it_is():
    assert all(f.about and f.arity and f.gives in ("same", "first", "bool", "int32", "asked") for f in PURE.values())
    assert binary("+", n, 1).op == "+"


def test_calls_by_name_give_the_asked_dtype():
    assert tir.call_intrin("float64", "floor", x).dtype == "float64"
    assert tir.call_intrin("float32", "floor", x).dtype == "float32"


def test_only_a_number_of_arguments_is_left_out():
    for extra in (x, n, te.const(1.0)):
        message = refused(TVMError, lambda e=extra: tir.call_llvm_intrin("float32", "llvm.exp", e, x))
        assert message == "llvm.exp takes 1 argument, not 2"


def test_a_fixed_point_multiplication_as_an_expression():
    assert repr(tir.q_multiply_shift(n, m, 31, 0)) == "int32(int64(n)*int64(m) + 1073741824 >> 31)"
    assert repr(tir.q_multiply_shift(n, m, 31, 2)) == "int32((int64(n) << 2)*int64(m) + 1073741824 >> 31)"
    assert repr(tir.q_multiply_shift(n, m, 31, -2)) == "int32(int64(n)*int64(m) + 4294967296 >> 33)"
    same_thing = tir.q_multiply_shift_per_axis(n, m, 2, 7, 31, True, False)
    assert same(same_thing, tir.q_multiply_shift(n, m, 31, 2))
