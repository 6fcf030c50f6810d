# mypy: ignore-errors
"""Vector values: their type, loads and stores, vectors made of numbers.

Part of the vocabulary of generated Numba programs (see the folder's `__init__`).
"""

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic, models, register_model


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
        array, index = args
        data = context.make_array(sig.args[0])(context, builder, array).data
        where = builder.gep(data, [index])  # which may lie beyond the array
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
            return builder.icmp_signed(
                "<", numbers(ir.VectorType(small.type, lanes), range(lanes)), spread(builder, small, lanes)
            )

        return Vec(types.boolean, lanes)(types.int64), build

    return first


def like(value, number):
    """A constant of the type of `value`, in every lane."""
    kind = value.type
    return numbers(kind, [number] * kind.count) if isinstance(kind, ir.VectorType) else kind(number)
