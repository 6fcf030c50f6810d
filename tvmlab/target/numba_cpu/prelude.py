# mypy: ignore-errors
"""Functions that generated Numba programs use; `text.py` copies those a program needs into its source.

So every definition here stands alone, says what it does in one line, and needs numba, its llvmlite and numpy only.
A `Vec` is a value in a vector register. Integer operations wrap, divisions by zero give zero.
"""

import math
import operator

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic, lower_builtin, models, register_model, type_callable


class Vec(types.Type):
    """A vector register: `lanes` numbers of one type."""

    def __init__(self, dtype, lanes):
        self.dtype, self.lanes = dtype, lanes
        super().__init__(f"{dtype}x{lanes}")


@register_model(Vec)
class VecModel(models.PrimitiveModel):
    def __init__(self, dmm, vec):
        super().__init__(dmm, vec, ir.VectorType(dmm[vec.dtype].get_value_type(), vec.lanes))


# ---------------------------------------------------------------- memory


def element_pointer(context, builder, array_type, array, index):
    """The address of array[index]; unlike a subscript, no test for a negative index."""
    data = context.make_array(array_type)(context, builder, array).data
    return builder.gep(data, [index], inbounds=True)


def memory_vector(context, vec):
    """How the lanes lie in memory: a bool takes a byte."""
    return ir.VectorType(context.get_data_type(vec.dtype), vec.lanes)


def from_memory(context, builder, value, vec):
    wanted = context.get_value_type(vec)
    return value if value.type == wanted else builder.icmp_unsigned("!=", value, value.type(None))


def to_memory(context, builder, value, vec):
    wanted = memory_vector(context, vec)
    return value if value.type == wanted else builder.zext(value, wanted)


def llvm_function(builder, name, result, arguments):
    """Call a function of LLVM by its full name."""
    kind = ir.FunctionType(result, [a.type for a in arguments])
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), arguments)


def shape_name(vector):
    """`v16f32`: how names of LLVM functions spell a type."""
    if not isinstance(vector, ir.VectorType):
        return f"i{vector.width}" if isinstance(vector, ir.IntType) else {"float": "f32", "double": "f64"}[str(vector)]
    return f"v{vector.count}{shape_name(vector.element)}"


def align_of(context, dtype):
    return context.get_abi_sizeof(context.get_data_type(dtype))


@intrinsic
def at(typingctx, array, index):
    """array[index]"""

    def build(context, builder, sig, args):
        value = builder.load(element_pointer(context, builder, sig.args[0], *args))
        return context.data_model_manager[sig.return_type].from_data(builder, value)

    return array.dtype(array, types.intp), build


@intrinsic
def put(typingctx, array, index, value):
    """array[index] = value"""

    def build(context, builder, sig, args):
        array, index, value = args
        kept = context.data_model_manager[sig.args[2]].as_data(builder, value)
        builder.store(kept, element_pointer(context, builder, sig.args[0], array, index))
        return context.get_dummy_value()

    return types.void(array, types.intp, array.dtype), build


def loader(lanes):
    @intrinsic
    def load(typingctx, array, index):
        """array[index : index + lanes]"""

        def build(context, builder, sig, args):
            vec = sig.return_type
            where = element_pointer(context, builder, sig.args[0], *args)
            where = builder.bitcast(where, memory_vector(context, vec).as_pointer())
            value = builder.load(where, align=align_of(context, vec.dtype))
            return from_memory(context, builder, value, vec)

        return Vec(array.dtype, lanes)(array, types.intp), build

    return load


@intrinsic
def store(typingctx, array, index, value):
    """array[index : index + lanes] = value"""

    def build(context, builder, sig, args):
        array, index, value = args
        where = element_pointer(context, builder, sig.args[0], array, index)
        value = to_memory(context, builder, value, sig.args[2])
        where = builder.bitcast(where, value.type.as_pointer())
        builder.store(value, where, align=align_of(context, sig.args[2].dtype))
        return context.get_dummy_value()

    return types.void(array, types.intp, value), build


@intrinsic
def load_masked(typingctx, array, index, mask):
    """array[index : index + lanes]; lanes that are off are not read and give zero"""

    def build(context, builder, sig, args):
        array, index, mask = args
        vec = sig.return_type
        lanes = memory_vector(context, vec)
        where = element_pointer(context, builder, sig.args[0], array, index)
        where = builder.bitcast(where, lanes.as_pointer())
        align = ir.IntType(32)(align_of(context, vec.dtype))
        name = f"llvm.masked.load.{shape_name(lanes)}.p0"
        value = llvm_function(builder, name, lanes, [where, align, mask, lanes(None)])
        return from_memory(context, builder, value, vec)

    return Vec(array.dtype, mask.lanes)(array, types.intp, mask), build


@intrinsic
def store_masked(typingctx, array, index, value, mask):
    """array[index : index + lanes] = value, for the lanes that are on"""

    def build(context, builder, sig, args):
        array, index, value, mask = args
        value = to_memory(context, builder, value, sig.args[2])
        where = element_pointer(context, builder, sig.args[0], array, index)
        where = builder.bitcast(where, value.type.as_pointer())
        align = ir.IntType(32)(align_of(context, sig.args[2].dtype))
        name = f"llvm.masked.store.{shape_name(value.type)}.p0"
        llvm_function(builder, name, ir.VoidType(), [value, where, align, mask])
        return context.get_dummy_value()

    return types.void(array, types.intp, value, mask), build


def each_lane(builder, mask, lanes, work):
    """Run work(lane number) for every lane, or for those whose mask is on."""
    for lane in range(lanes):
        place = ir.IntType(32)(lane)
        if mask is None:
            work(place)
        else:
            with builder.if_then(builder.extract_element(mask, place)):
                work(place)


def read_lanes(context, builder, array_type, vec, array, index, mask):
    lanes = memory_vector(context, vec)
    result = cgutils.alloca_once_value(builder, lanes(None))

    def read(lane):
        where = element_pointer(context, builder, array_type, array, builder.extract_element(index, lane))
        builder.store(builder.insert_element(builder.load(result), builder.load(where), lane), result)

    each_lane(builder, mask, vec.lanes, read)
    return from_memory(context, builder, builder.load(result), vec)


def write_lanes(context, builder, array_type, vec, array, index, value, mask):
    value = to_memory(context, builder, value, vec)

    def write(lane):
        where = element_pointer(context, builder, array_type, array, builder.extract_element(index, lane))
        builder.store(builder.extract_element(value, lane), where)

    each_lane(builder, mask, vec.lanes, write)
    return context.get_dummy_value()


@intrinsic
def gather(typingctx, array, index):
    """array[index[lane]] for every lane"""

    def build(context, builder, sig, args):
        return read_lanes(context, builder, sig.args[0], sig.return_type, *args, None)

    return Vec(array.dtype, index.lanes)(array, index), build


@intrinsic
def gather_masked(typingctx, array, index, mask):
    """array[index[lane]] for the lanes that are on; the others are not read and give zero"""

    def build(context, builder, sig, args):
        return read_lanes(context, builder, sig.args[0], sig.return_type, *args)

    return Vec(array.dtype, index.lanes)(array, index, mask), build


@intrinsic
def scatter(typingctx, array, index, value):
    """array[index[lane]] = value[lane] for every lane, in order"""

    def build(context, builder, sig, args):
        return write_lanes(context, builder, sig.args[0], sig.args[2], *args, None)

    return types.void(array, index, value), build


@intrinsic
def scatter_masked(typingctx, array, index, value, mask):
    """array[index[lane]] = value[lane] for the lanes that are on, in order"""

    def build(context, builder, sig, args):
        return write_lanes(context, builder, sig.args[0], sig.args[2], *args)

    return types.void(array, index, value, mask), build


@intrinsic
def prefetch(typingctx, array, index):
    """Bring the cache line of array[index] near."""

    def build(context, builder, sig, args):
        where = element_pointer(context, builder, sig.args[0], *args)
        where = builder.bitcast(where, ir.IntType(8).as_pointer())
        hints = [ir.IntType(32)(n) for n in (0, 3, 1)]
        llvm_function(builder, "llvm.prefetch.p0", ir.VoidType(), [where, *hints])
        return context.get_dummy_value()

    return types.void(array, types.intp), build


@njit
def empty_aligned(size, dtype):
    """np.empty(size, dtype) that starts at a cache line."""
    raw = np.empty(size + 64, dtype)
    start = -raw.ctypes.data % 64 // raw.itemsize
    return raw[start : start + size]


# ---------------------------------------------------------------- making vectors


def numbers(vector_type, values):
    """A constant vector."""
    return ir.Constant(vector_type, [vector_type.element(v) for v in values])


def spread(builder, value, lanes):
    """`lanes` copies of a number."""
    vector = ir.VectorType(value.type, lanes)
    first = builder.insert_element(vector(ir.Undefined), value, ir.IntType(32)(0))
    return builder.shuffle_vector(first, vector(ir.Undefined), ir.VectorType(ir.IntType(32), lanes)(None))


def splatter(lanes):
    @intrinsic
    def splat(typingctx, value):
        """`lanes` copies of a number"""

        def build(context, builder, sig, args):
            return spread(builder, args[0], lanes)

        return Vec(types.unliteral(value), lanes)(types.unliteral(value)), build

    return splat


def ramper(lanes):
    @intrinsic
    def ramp(typingctx, base, stride):
        """base, base + stride, base + 2*stride, ..."""

        def build(context, builder, sig, args):
            base, stride = (spread(builder, a, lanes) for a in args)
            return builder.add(base, builder.mul(stride, numbers(base.type, range(lanes))))

        return Vec(types.int64, lanes)(types.int64, types.int64), build

    return ramp


def first_lanes(lanes):
    @intrinsic
    def first(typingctx, count):
        """A mask whose first `count` lanes are on"""

        def build(context, builder, sig, args):
            count, most = args[0], args[0].type(lanes)
            count = builder.select(builder.icmp_signed("<", count, most), count, most)
            small = builder.trunc(count, ir.IntType(32))
            small = builder.select(builder.icmp_signed("<", count, count.type(0)), small.type(0), small)
            return builder.icmp_signed("<", numbers(ir.VectorType(small.type, lanes), range(lanes)), spread(builder, small, lanes))

        return Vec(types.boolean, lanes)(types.int64), build

    return first


# ---------------------------------------------------------------- arithmetic


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


# ---------------------------------------------------------------- conversions


def convert_lanes(builder, value, source, target):
    """Lanes of one number type as another's; floats become integers by truncation, bool asks for non-zero."""
    wanted = ir.VectorType(target, value.type.count)
    if value.type == wanted:
        return value
    if target == ir.IntType(1):
        zero = value.type(None)
        return builder.fcmp_unordered("!=", value, zero) if floating(source) else builder.icmp_unsigned("!=", value, zero)
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


def reinterpreter(dtype):
    @intrinsic
    def reinterpret(typingctx, value):
        """The same bits as another type, of a number or of the lanes of a vector"""
        kind = Vec(dtype, value.lanes) if isinstance(value, Vec) else dtype

        def build(context, builder, sig, args):
            return builder.bitcast(args[0], context.get_value_type(sig.return_type))

        return kind(types.unliteral(value)), build

    return reinterpret


def like(value, number):
    """A constant of the type of `value`, in every lane."""
    kind = value.type
    return numbers(kind, [number] * kind.count) if isinstance(kind, ir.VectorType) else kind(number)


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
        scaled = builder.bitcast(builder.fmul(builder.bitcast(size, floats), like(builder.bitcast(size, floats), 2.0**112)), wide.type)
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
