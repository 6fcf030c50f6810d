# mypy: ignore-errors
"""Operators on vectors, and the integer operations that Python sees differently.

Part of the vocabulary of generated Numba programs (see the folder's `__init__`).
"""

import operator

from numba import njit, types
from numba.extending import intrinsic, lower_builtin, type_callable

from .vectors import Vec, like, spread


def floating(vec):
    return isinstance(vec.dtype, types.Float)


def signed(vec):
    return getattr(vec.dtype, "signed", False)


def arithmetic(op, name):
    """Let `op` work on two vectors: instruction `name`, or f`name` for floats."""

    @type_callable(op)
    def type_arithmetic(context):
        return lambda a, b: a if isinstance(a, Vec) and a == b else None

    @lower_builtin(op, Vec, Vec)
    def build(context, builder, sig, args):
        if floating(sig.return_type):
            return getattr(builder, "f" + name)(*args)
        if name == "shr":
            return (builder.ashr if signed(sig.return_type) else builder.lshr)(*args)
        return getattr(builder, name)(*args)


arithmetic(operator.add, "add")
arithmetic(operator.sub, "sub")
arithmetic(operator.mul, "mul")
arithmetic(operator.truediv, "div")
arithmetic(operator.and_, "and_")
arithmetic(operator.or_, "or_")
arithmetic(operator.xor, "xor")
arithmetic(operator.lshift, "shl")
arithmetic(operator.rshift, "shr")


def compare_vectors(builder, vec, sign, a, b):
    if floating(vec):
        return (builder.fcmp_unordered if sign == "!=" else builder.fcmp_ordered)(sign, a, b)
    return (builder.icmp_signed if signed(vec) else builder.icmp_unsigned)(sign, a, b)


def comparison(op, sign):
    """Let `op` compare two vectors, lane by lane."""

    @type_callable(op)
    def type_comparison(context):
        return lambda a, b: Vec(types.boolean, a.lanes) if isinstance(a, Vec) and a == b else None

    @lower_builtin(op, Vec, Vec)
    def build(context, builder, sig, args):
        return compare_vectors(builder, sig.args[0], sign, *args)


comparison(operator.lt, "<")
comparison(operator.le, "<=")
comparison(operator.gt, ">")
comparison(operator.ge, ">=")
comparison(operator.eq, "==")
comparison(operator.ne, "!=")


@type_callable(operator.invert)
def type_invert(context):
    return lambda a: a if isinstance(a, Vec) else None


@lower_builtin(operator.invert, Vec)
def invert(context, builder, sig, args):
    return builder.not_(args[0])


@intrinsic
def fma(typingctx, a, b, c):
    """a*b + c, with one rounding where the machine can"""

    def build(context, builder, sig, args):
        a, b, c = args
        return builder.fadd(builder.fmul(a, b), c)

    return a(a, b, c), build


@intrinsic
def select(typingctx, cond, a, b):
    """a where cond holds, else b"""

    def build(context, builder, sig, args):
        return builder.select(*args)

    return a(cond, a, b), build


def chooser(sign):
    @intrinsic
    def choose(typingctx, a, b):
        """a where it is less (or greater), else b: so b where one is not a number"""

        def build(context, builder, sig, args):
            a, b = args
            return builder.select(compare_vectors(builder, sig.return_type, sign, a, b), a, b)

        return a(a, b), build

    return choose


minimum = chooser("<")
maximum = chooser(">")


def safe_divide(builder, is_signed, a, b):
    """(a / b, a % b) towards zero; the quotient of a division by zero is zero, and the smallest / -1 wraps."""
    zero, one, minus = b.type(None), spread(builder, b.type.element(1), b.type.count), None
    bad = builder.icmp_unsigned("==", b, zero)
    negated = bad.type(None)
    if is_signed:
        minus = spread(builder, b.type.element(-1), b.type.count)
        negated = builder.icmp_unsigned("==", b, minus)
    safe = builder.select(builder.or_(bad, negated), one, b)
    quotient = (builder.sdiv if is_signed else builder.udiv)(a, safe)
    quotient = builder.select(negated, builder.sub(zero, a), builder.select(bad, zero, quotient))
    return quotient, builder.select(bad, zero, builder.sub(a, builder.mul(quotient, b)))


def divider(floor, remainder):
    @intrinsic
    def divide(typingctx, a, b):
        """An integer division of two vectors, lane by lane"""

        def build(context, builder, sig, args):
            a, b = args
            quotient, rest = safe_divide(builder, signed(sig.return_type), a, b)
            if floor and signed(sig.return_type):
                opposite = builder.icmp_signed("<", builder.xor(rest, b), b.type(None))
                low = builder.and_(builder.icmp_unsigned("!=", rest, b.type(None)), opposite)
                quotient = builder.add(quotient, builder.sext(low, b.type))
                rest = builder.select(low, builder.add(rest, b), rest)
            return rest if remainder else quotient

        return a(a, b), build

    return divide


floor_divide = divider(floor=True, remainder=False)
floor_modulo = divider(floor=True, remainder=True)
trunc_divide = divider(floor=False, remainder=False)
trunc_modulo = divider(floor=False, remainder=True)


@njit(error_model="numpy")
def floordiv(a, b):
    """a // b that wraps where the quotient does not fit"""
    return -a if b == -1 else a // b


@njit(error_model="numpy")
def truncdiv(a, b):
    """a / b towards zero"""
    if b == -1:
        return -a
    q = a // b
    return q + 1 if q < 0 and q * b != a else q


@njit(error_model="numpy")
def truncmod(a, b):
    """The rest of a division towards zero: it has the sign of a"""
    r = a % b
    return r - b if r != 0 and (a < 0) != (b < 0) else r


@njit
def shift_left(a, n):
    """a << n; all bits are gone when n is the width or more"""
    return a << n if n < 64 else a - a


@njit
def shift_right(a, n):
    """a >> n; only the sign is left when n is the width or more"""
    return a >> n if n < 64 else a >> type(n)(63) >> type(n)(1)


def shifter(method):
    @intrinsic
    def shift(typingctx, a, n):
        """A shift of every lane by its own number of bits, which may be more than there are"""

        def build(context, builder, sig, args):
            a, n = args
            width = a.type.element.width
            inside = builder.icmp_unsigned("<", n, like(n, width))
            if method == "ashr":
                return builder.ashr(a, builder.select(inside, n, like(n, width - 1)))
            safe = builder.select(inside, n, n.type(None))
            return builder.select(inside, getattr(builder, method)(a, safe), a.type(None))

        return a(a, n), build

    return shift
