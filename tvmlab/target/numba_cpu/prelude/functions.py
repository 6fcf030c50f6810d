# mypy: ignore-errors
"""Conversions between number types, and mathematics.

Part of the vocabulary of generated Numba programs (see the folder's `__init__`).
"""

import math

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

from .arithmetic import floating, maximum, signed
from .vectors import Vec, like, llvm_function, numbers, shape_name, spread

# ---------------------------------------------------------------- conversions


def convert_lanes(builder, value, source, target):
    """Lanes of one number type as another's; floats become integers by truncation, bool asks for non-zero."""
    wanted = ir.VectorType(target, value.type.count)
    if value.type == wanted:
        return value
    if target == ir.IntType(1):
        zero = value.type(None)
        return (
            builder.fcmp_unordered("!=", value, zero) if floating(source) else builder.icmp_unsigned("!=", value, zero)
        )
    is_float = not isinstance(target, ir.IntType)
    if floating(source):
        if is_float:
            return (builder.fpext if source.dtype is types.float32 else builder.fptrunc)(value, wanted)
        return None
    if is_float:
        return (builder.sitofp if signed(source) else builder.uitofp)(value, wanted)
    if target.width < value.type.element.width:
        return builder.trunc(value, wanted)
    return (builder.sext if signed(source) else builder.zext)(value, wanted)


def caster(dtype):
    @intrinsic
    def cast(typingctx, value):
        """The lanes as another number type"""

        def build(context, builder, sig, args):
            target = context.get_value_type(dtype)
            made = convert_lanes(builder, args[0], sig.args[0], target)
            if made is None:
                convert = builder.fptosi if dtype.signed else builder.fptoui
                made = convert(args[0], ir.VectorType(target, sig.args[0].lanes))
            return made

        return Vec(dtype, value.lanes)(value), build

    return cast


def reinterpreter(dtype, lanes=0):
    @intrinsic
    def reinterpret(typingctx, value):
        """The same bits as another type, of a number or of the lanes of a vector, or as another number of lanes"""
        count = lanes or getattr(value, "lanes", 1)
        kind = Vec(dtype, count) if count > 1 else dtype

        def build(context, builder, sig, args):
            return builder.bitcast(args[0], context.get_value_type(sig.return_type))

        return kind(types.unliteral(value)), build

    return reinterpret


def same_shape(kind, element):
    return ir.VectorType(element, kind.count) if isinstance(kind, ir.VectorType) else element


def half_kind(value, dtype):
    return Vec(dtype, value.lanes) if isinstance(value, Vec) else dtype


@intrinsic
def from_half(typingctx, bits):
    """The float32 that the 16 bits of a float16 stand for"""

    def build(context, builder, sig, args):
        wide = builder.zext(args[0], same_shape(args[0].type, ir.IntType(32)))
        floats = same_shape(wide.type, ir.FloatType())
        size = builder.shl(builder.and_(wide, like(wide, 0x7FFF)), like(wide, 13))
        scaled = builder.bitcast(
            builder.fmul(builder.bitcast(size, floats), like(builder.bitcast(size, floats), 2.0**112)), wide.type
        )
        special = builder.icmp_unsigned(">=", size, like(wide, 0x0F800000))
        scaled = builder.select(special, builder.or_(size, like(wide, 0x7F800000)), scaled)
        sign = builder.shl(builder.and_(wide, like(wide, 0x8000)), like(wide, 16))
        return builder.bitcast(builder.or_(scaled, sign), floats)

    return half_kind(bits, types.float32)(half_kind(bits, types.uint16)), build


@intrinsic
def to_half(typingctx, value):
    """The 16 bits of the float16 nearest to a float32, ties to even"""

    def build(context, builder, sig, args):
        floats = args[0].type
        bits = builder.bitcast(args[0], same_shape(floats, ir.IntType(32)))
        size = builder.and_(bits, like(bits, 0x7FFFFFFF))
        # normal: round to 10 bits of mantissa by adding half a unit, less one where that makes ties even
        odd = builder.and_(builder.lshr(size, like(bits, 13)), like(bits, 1))
        normal = builder.add(builder.add(size, like(bits, 0xFFF)), odd)
        normal = builder.lshr(builder.sub(normal, like(bits, 112 << 23)), like(bits, 13))
        # tiny: adding 0.5 puts the last place of a denormal float16 at the last place of the sum
        tiny = builder.fadd(builder.bitcast(size, floats), like(args[0], 0.5))
        tiny = builder.sub(builder.bitcast(tiny, bits.type), like(bits, 0x3F000000))
        made = builder.select(builder.icmp_unsigned("<", size, like(bits, 0x38800000)), tiny, normal)
        made = builder.select(builder.icmp_unsigned(">=", size, like(bits, 0x477FF000)), like(bits, 0x7C00), made)
        made = builder.select(builder.icmp_unsigned(">", size, like(bits, 0x7F800000)), like(bits, 0x7E00), made)
        sign = builder.lshr(builder.and_(bits, like(bits, 0x80000000)), like(bits, 16))
        return builder.trunc(builder.or_(made, sign), same_shape(floats, ir.IntType(16)))

    return half_kind(value, types.uint16)(half_kind(value, types.float32)), build


@intrinsic
def to_odd(typingctx, value):
    """A float64 as float32, with the last bit set where it does not fit: a second rounding then goes the right way"""

    def build(context, builder, sig, args):
        wide = args[0].type
        narrow = builder.fptrunc(args[0], same_shape(wide, ir.FloatType()))
        back = builder.fpext(narrow, wide)
        bits = builder.bitcast(narrow, same_shape(wide, ir.IntType(32)))
        size, true_size = (builder.bitcast(v, same_shape(wide, ir.IntType(64))) for v in (back, args[0]))
        above = builder.icmp_unsigned(">", builder.shl(size, like(size, 1)), builder.shl(true_size, like(size, 1)))
        cut = builder.select(above, builder.sub(bits, like(bits, 1)), bits)
        inexact = builder.fcmp_ordered("!=", back, args[0])
        return builder.bitcast(builder.select(inexact, builder.or_(cut, like(bits, 1)), bits), narrow.type)

    return half_kind(value, types.float32)(half_kind(value, types.float64)), build


@njit
def half(value):
    """A float32 rounded to the precision of float16"""
    return from_half(to_half(value))


# ---------------------------------------------------------------- mathematics


def elementwise(name):
    @intrinsic
    def function(typingctx, value):
        """A function that LLVM has for vectors"""

        def build(context, builder, sig, args):
            return llvm_function(builder, f"llvm.{name}.{shape_name(args[0].type)}", args[0].type, args)

        return value(value), build

    return function


# (magic: 1.5 * 2**mantissa, its bits), mantissa, bias, smallest and largest argument, ln 2 in two parts, polynomial
EXP_SINGLE = (
    (12582912.0, 0x4B400000), 23, 127, (-104.0, 89.0), (0.693359375, -2.12194440e-4),
    (1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1),
)  # fmt: skip
EXP_DOUBLE = (
    (6755399441055744.0, 0x4338000000000000), 52, 1023, (-746.0, 710.0), (6.93145751953125e-1, 1.42860682030941723e-6),
    tuple(1.0 / math.factorial(n) for n in range(13, 1, -1)),
)  # fmt: skip


def polynomial(builder, x, coefficients):
    """The highest power's coefficient comes first."""
    value = like(x, coefficients[0])
    for c in coefficients[1:]:
        value = builder.fadd(builder.fmul(value, x), like(x, c))
    return value


def exp_lanes(builder, x):
    """2**n * e**r with n = x / ln 2 rounded; scaled in two steps, so that tiny results round once."""
    table = EXP_SINGLE if x.type.element == ir.FloatType() else EXP_DOUBLE
    (magic, magic_bits), mantissa, bias, (least, most), (high, low), coefficients = table
    inside = builder.select(builder.fcmp_ordered("<", x, like(x, most)), x, like(x, most))
    inside = builder.select(builder.fcmp_ordered(">", inside, like(x, least)), inside, like(x, least))
    shifted = builder.fadd(builder.fmul(inside, like(x, 1.4426950408889634)), like(x, magic))
    n = builder.fsub(shifted, like(x, magic))
    r = builder.fsub(inside, builder.fmul(n, like(x, high)))
    r = builder.fsub(r, builder.fmul(n, like(x, low)))
    result = builder.fmul(polynomial(builder, r, coefficients), builder.fmul(r, r))
    result = builder.fadd(builder.fadd(result, r), like(x, 1.0))
    power = builder.bitcast(shifted, same_shape(x.type, ir.IntType(32 if mantissa == 23 else 64)))
    power = builder.sub(power, like(power, magic_bits))
    half_power = builder.ashr(power, like(power, 1))
    for part in (half_power, builder.sub(power, half_power)):
        scale = builder.shl(builder.add(part, like(part, bias)), like(part, mantissa))
        result = builder.fmul(result, builder.bitcast(scale, x.type))
    return builder.select(builder.fcmp_unordered("uno", x, x), x, result)


@intrinsic
def vec_exp(typingctx, x):
    """e to the power of every lane, to one unit in the last place"""

    def build(context, builder, sig, args):
        return exp_lanes(builder, args[0])

    return x(x), build


TANH_SINGLE = (-5.70498872745e-3, 2.06390887954e-2, -5.37397155531e-2, 1.33314422036e-1, -3.33332819422e-1)
TANH_ABOVE = (-9.64399179425052238628e-1, -9.92877231001918586564e1, -1.61468768441708447952e3)
TANH_BELOW = (1.0, 1.12811678491632931402e2, 2.23548839060100448583e3, 4.84406305325125486048e3)


@intrinsic
def vec_tanh(typingctx, x):
    """The hyperbolic tangent of every lane, to two units in the last place"""

    def build(context, builder, sig, args):
        x = args[0]
        square = builder.fmul(x, x)
        if x.type.element == ir.FloatType():
            ratio = polynomial(builder, square, TANH_SINGLE)
        else:
            ratio = builder.fdiv(polynomial(builder, square, TANH_ABOVE), polynomial(builder, square, TANH_BELOW))
        near = builder.fadd(builder.fmul(x, builder.fmul(square, ratio)), x)
        name = f"llvm.%s.{shape_name(x.type)}"
        size = llvm_function(builder, name % "fabs", x.type, [x])
        grown = builder.fadd(exp_lanes(builder, builder.fadd(size, size)), like(x, 1.0))
        far = builder.fsub(like(x, 1.0), builder.fdiv(like(x, 2.0), grown))
        far = llvm_function(builder, name % "copysign", x.type, [far, x])
        return builder.select(builder.fcmp_ordered(">", size, like(x, 0.625)), far, near)

    return x(x), build


def resolve(typingctx, function, arguments):
    """The type of a scalar function, and its signature for these arguments."""
    kind = typingctx.resolve_value_type(function)
    return kind, typingctx.resolve_function_type(kind, arguments, {})


def map_lanes(context, builder, sig, args, kind, scalar):
    """Call a scalar function once per lane."""
    result = context.get_value_type(sig.return_type)(ir.Undefined)
    call = context.get_function(kind, scalar)
    for lane in range(sig.return_type.lanes):
        place = ir.IntType(32)(lane)
        value = call(builder, [builder.extract_element(a, place) for a in args])
        result = builder.insert_element(result, value, place)
    return result


def lanewise(function):
    @intrinsic
    def apply(typingctx, a):
        """A function of one number, on every lane"""
        kind, scalar = resolve(typingctx, function, (a.dtype,))

        def build(context, builder, sig, args):
            return map_lanes(context, builder, sig, args, kind, scalar)

        return Vec(scalar.return_type, a.lanes)(a), build

    return apply


def lanewise2(function):
    @intrinsic
    def apply(typingctx, a, b):
        """A function of two numbers, on every lane"""
        kind, scalar = resolve(typingctx, function, (a.dtype, b.dtype))

        def build(context, builder, sig, args):
            return map_lanes(context, builder, sig, args, kind, scalar)

        return Vec(scalar.return_type, a.lanes)(a, b), build

    return apply


@njit
def absolute(x):
    """|x| of a vector of integers"""
    return maximum(x, x - x - x)


@njit
def round_away(x):
    """The nearest whole number, halves away from zero"""
    whole = np.trunc(x)
    return whole + math.copysign(type(x)(1), x) if abs(x - whole) >= type(x)(0.5) else whole


@njit
def modulo(a, b):
    """The rest of a floor division of floats: it has the sign of b"""
    return a % b


@intrinsic
def popcount(typingctx, value):
    """How many bits are set"""

    def build(context, builder, sig, args):
        return llvm_function(builder, f"llvm.ctpop.{shape_name(args[0].type)}", args[0].type, args)

    return value(value), build


@intrinsic
def leading_zeros(typingctx, value):
    """How many zero bits stand before the first one"""

    def build(context, builder, sig, args):
        name = f"llvm.ctlz.{shape_name(args[0].type)}"
        return llvm_function(builder, name, args[0].type, [args[0], ir.IntType(1)(0)])

    return value(value), build


# ---------------------------------------------------------------- bytes


def every(builder, value, first, step):
    """The lanes first, first + step, ... of a vector."""
    places = ir.VectorType(ir.IntType(32), value.type.count // step)
    return builder.shuffle_vector(value, value, numbers(places, range(first, value.type.count, step)))


@intrinsic
def dot4(typingctx, total, a, b):
    """total + the sum of each four products of bytes; four bytes alone meet every lane of total"""

    def build(context, builder, sig, args):
        halves, lanes = [], sig.return_type.lanes
        for value, kind in zip(args[1:], sig.args[1:]):
            if value.type.count < 4 * lanes:
                words = spread(builder, builder.bitcast(value, ir.IntType(32)), lanes)
                value = builder.bitcast(words, ir.VectorType(ir.IntType(8), 4 * lanes))
            short = ir.VectorType(ir.IntType(16), value.type.count)
            value = (builder.sext if signed(kind) else builder.zext)(value, short)
            halves.append([every(builder, value, k, 2) for k in range(2)])
        sums = ir.VectorType(ir.IntType(32), 2 * lanes)
        products = [builder.mul(builder.sext(x, sums), builder.sext(y, sums)) for x, y in zip(*halves)]
        pairs = builder.add(*products)
        return builder.add(args[0], builder.add(every(builder, pairs, 0, 2), every(builder, pairs, 1, 2)))

    return total(total, a, b), build
