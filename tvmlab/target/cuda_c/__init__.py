"""CUDA C++: text that NVRTC and nvcc compile. Where there is a GPU, a call launches it (runtime/gpu/cuda_c.py).

Vectors are read and written through float4 and its like where the index is a multiple of their length (allocations of
CUDA begin at multiples of 256 bytes); elsewhere lane by lane. Copies of 4, 8 and 16 bytes go as words, whatever their
type.
"""

from __future__ import annotations

from ...core.program import Program
from ...core.threads import LAUNCH
from ..base import KERNELS, Compiled, Target, TargetKind
from ..clike import Dialect, launched, program_text
from ..gpu.limits import CUDA_STATIC

ONE = (
    "exp exp2 exp10 log log2 log10 log1p sqrt rsqrt sin cos tan sinh cosh tanh asin acos atan asinh acosh atanh erf "
    "floor ceil trunc round fabs"
).split()
TWO = "pow fmod atan2 hypot copysign nextafter ldexp".split()
TYPES = {
    "bool": "bool", "int8": "signed char", "int16": "short", "int32": "int", "int64": "long long",
    "uint8": "unsigned char", "uint16": "unsigned short", "uint32": "unsigned int", "uint64": "unsigned long long",
    "float16": "half", "float32": "float", "float64": "double",
}  # fmt: skip
INF32, INF64 = "__int_as_float(0x7f800000)", "__longlong_as_double(0x7ff0000000000000LL)"
NAN32, NAN64 = "__int_as_float(0x7fc00000)", "__longlong_as_double(0x7ff8000000000000LL)"
WORD = "*reinterpret_cast<const {}*>({{{}}})"

DIALECT = Dialect(
    name="cuda_c",
    title="CUDA C++",
    types=TYPES,
    half="native",
    int64_suffix="LL",
    index={tag: tag for tag in LAUNCH},
    barriers={"shared": "__syncthreads();", "warp": "__syncwarp();"},
    functions={
        **{f: f + "{f}({0})" for f in ONE},
        **{f: f + "{f}({0}, {1})" for f in TWO},
        "nearbyint": "rint{f}({0})",
        **{f: f + "({0})" for f in ("isnan", "isinf", "isfinite")},
        "popcount:uint32": "__popc({0})", "popcount:uint64": "__popcll({0})",
        "shuffle_xor": "__shfl_xor_sync(0xffffffff, {0}, {1}, {2})",  # lanes that a block does not have are not awaited
        "dot4:int8": f"__dp4a({WORD.format('int', 'a')}, {WORD.format('int', 'b')}, {{c}})",
        "dot4:uint8": f"(int)__dp4a({WORD.format('unsigned int', 'a')}, {WORD.format('unsigned int', 'b')}, "
        "(unsigned int)({c}))",
        "clz:uint32": "__clz((int){0})", "clz:uint64": "__clzll((long long){0})",
    },
    numbers={
        "nan:float32": NAN32, "inf:float32": INF32, "-inf:float32": f"-{INF32}",
        "nan:float64": NAN64, "inf:float64": INF64, "-inf:float64": f"-{INF64}",
        "nan:float16": f"half({NAN32})", "inf:float16": f"half({INF32})", "-inf:float16": f"half(-{INF32})",
        "float16": "half({0})",
    },
    widths={
        "int8": (2, 4), "uint8": (2, 4), "bool": (2, 4), "int16": (2, 4), "uint16": (2, 4), "int32": (2, 4),
        "uint32": (2, 4), "float32": (2, 4), "int64": (2,), "uint64": (2,), "float64": (2,), "float16": (2,),
    },
    vector_name="{type}{n}",
    make_vector="make_{vec}({values})",
    vector_load="*reinterpret_cast<const {vec}*>({p})",
    vector_store="*reinterpret_cast<{vec}*>({p}) = {v};",
    vector_arithmetic=False,
    vector_types={
        "int8": "char", "uint8": "uchar", "uint16": "ushort", "uint32": "uint", "int64": "longlong",
        "uint64": "ulonglong",
    },
    copies={2: "unsigned short", 4: "unsigned int", 8: "uint2", 16: "uint4"},
    aligned=True,
    bitcast={
        "float32:int32": "__float_as_int({v})", "float32:uint32": "__float_as_uint({v})",
        "int32:float32": "__int_as_float({v})", "uint32:float32": "__uint_as_float({v})",
        "float64:int64": "__double_as_longlong({v})", "int64:float64": "__longlong_as_double({v})",
        "float64:uint64": "(unsigned long long)__double_as_longlong({v})",
        "uint64:float64": "__longlong_as_double((long long){v})",
        "float16:int16": "__half_as_short({v})", "float16:uint16": "__half_as_ushort({v})",
        "int16:float16": "__short_as_half({v})", "uint16:float16": "__ushort_as_half({v})",
    },
    head="",
    function="static __device__ __forceinline__",
    kernel='extern "C" __global__ void {bounds} {name}({params})',
    bounds="__launch_bounds__({n})",
    pointer="{const}{type}* __restrict__ {name}",
    scalar="const {type} {name}",
    shared="__shared__ {align}{type} {name}[{size}];",
    align="__align__(16)",
    static_shared=CUDA_STATIC,
    dynamic_shared="extern __shared__ __align__(32) unsigned char {name}[];",
    dynamic_array="{type}* const {name} = reinterpret_cast<{type}*>({at});",
    fragments={
        "declare": "nvcuda::wmma::fragment<nvcuda::wmma::{role}, {m}, {n}, {k}, {type}{layout}> {name}[{count}];",
        "align": "__align__(32)",
        "layout": ", nvcuda::wmma::{layout}",
        "fill_fragment": "nvcuda::wmma::fill_fragment({f}, {value});",
        "load_matrix_sync": "nvcuda::wmma::load_matrix_sync({f}, {pointer}, {stride});",
        "load_accumulator": "nvcuda::wmma::load_matrix_sync({f}, {pointer}, {stride}, nvcuda::wmma::mem_{layout});",
        "store_matrix_sync": "nvcuda::wmma::store_matrix_sync({pointer}, {f}, {stride}, nvcuda::wmma::mem_{layout});",
        "mma_sync": "nvcuda::wmma::mma_sync({d}, {a}, {b}, {c});",
    },
    fragments_head="#include <mma.h>",
    half_head="#include <cuda_fp16.h>",
    inside="""\
{F} long long inside(int* faults, int site, long long i, long long n) {{
    if (0 <= i && i < n) return i;
    if (atomicCAS(faults, 0, site) == 0) {{
        faults[1] = (int)i; faults[2] = (int)(i >> 32);
        faults[3] = (int)n; faults[4] = (int)(n >> 32);
    }}
    return 0;
}}""",
    strict_head="// compile with -fmad=false: each operation is to round by itself",
    strict_options=("-fmad=false",),
    host="__CUDACC_RTC__",
)  # fmt: skip


def source(program: Program, target: Target) -> str:
    return program_text(program, DIALECT)


def compile(program: Program, target: Target) -> Compiled:
    return launched(program, DIALECT, target, "cuda-c", ".cu")


TARGET = TargetKind(
    name="cuda_c",
    about="CUDA C++: to read, to compile elsewhere, and to run where there is a GPU",
    source=source,
    compile=compile,
    passes=(
        "untag_shared", "infer_fragment", "warp_memory", "allreduce_shuffle", "allreduce_tree", "split_host_device",
    ),
    leaves_out=KERNELS,
    threads=True,
    model="sm_80",
    device="cuda",
    checks=True,
    asks=True,
    title="CUDA C++",
)
