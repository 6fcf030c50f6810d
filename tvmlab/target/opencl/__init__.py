"""OpenCL C 1.2: what every device with an OpenCL driver compiles, PoCL on a CPU too.

float16 is memory only (vload_half, vstore_half): arithmetic on it is that of float, rounded after each operation, so
cl_khr_fp16 is not needed. A float16 argument that is a number is passed as a float, a bool as a byte.
"""

from __future__ import annotations

from ...core.program import Program
from ...core.threads import BLOCK, GRID
from ..base import KERNELS, Compiled, Target, TargetKind
from ..clike import Dialect, launched, program_text

ONE = (
    "exp exp2 exp10 log log2 log10 log1p sqrt rsqrt sin cos tan sinh cosh tanh asin acos atan asinh acosh atanh erf "
    "floor ceil trunc round fabs isnan isinf isfinite"
).split()
TWO = "pow fmod atan2 hypot copysign nextafter ldexp".split()
WIDTHS = (2, 4, 8, 16)
TYPES = {
    "bool": "bool", "int8": "char", "int16": "short", "int32": "int", "int64": "long", "uint8": "uchar",
    "uint16": "ushort", "uint32": "uint", "uint64": "ulong", "float16": "half", "float32": "float",
    "float64": "double",
}  # fmt: skip

DIALECT = Dialect(
    name="opencl",
    title="OpenCL C",
    types=TYPES,
    half="float",
    int64_suffix="L",
    index={tag: f"get_{of}_id({i})" for of, tags in (("group", GRID), ("local", BLOCK)) for i, tag in enumerate(tags)},
    barriers={
        "shared": "barrier(CLK_LOCAL_MEM_FENCE);",
        "both": "barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);",
    },
    functions={
        **{f: f + "({0})" for f in ONE},
        **{f: f + "({0}, {1})" for f in TWO},
        "nearbyint": "rint({0})",
        **{f"{f}:{t}": f + "({0})" for f in ("popcount", "clz") for t in ("uint32", "uint64")},
    },
    numbers={
        "nan:float32": "NAN", "inf:float32": "INFINITY", "-inf:float32": "-INFINITY", "nan:float64": "(double)NAN",
        "inf:float64": "(double)INFINITY", "-inf:float64": "-(double)INFINITY",
    },
    widths=dict.fromkeys(TYPES, WIDTHS),
    vector_name="{type}{n}",
    make_vector="({vec})({values})",
    vector_load="vload{half}{n}(0, {p})",
    vector_store="vstore{half}{n}({v}, 0, {p});",
    bitcast={"": "as_{type}({v})"},
    head="",
    function="static inline",
    kernel="__kernel {bounds} void {name}({params})",
    bounds="__attribute__((reqd_work_group_size({x}, {y}, {z})))",
    pointer="__global {const}{type}* restrict {name}",
    scalar="const {type} {name}",
    shared="__local {type} {name}[{size}];",
    spaces={"global": "__global ", "shared": "__local "},
    float64_head="#pragma OPENCL EXTENSION cl_khr_fp64 : enable",
    inside="""\
{F} long inside(__global int* faults, int site, long i, long n) {{
    if (0 <= i && i < n) return i;
    if (atomic_cmpxchg((volatile __global int*)faults, 0, site) == 0) {{
        faults[1] = (int)i; faults[2] = (int)(i >> 32);
        faults[3] = (int)n; faults[4] = (int)(n >> 32);
    }}
    return 0;
}}""",
    strict_head="#pragma OPENCL FP_CONTRACT OFF",
)  # fmt: skip


def source(program: Program, target: Target) -> str:
    return program_text(program, DIALECT)


def compile(program: Program, target: Target) -> Compiled:
    return launched(program, DIALECT, target, "opencl", ".cl")


TARGET = TargetKind(
    name="opencl",
    about="OpenCL C kernels, on any device that has a driver: a GPU, or the CPU by way of PoCL",
    source=source,
    compile=compile,
    passes=(
        "emulate_fragments", "warp_memory", "block_barriers", "allreduce_tree", "split_host_device",
        "close_barrier_loops",
    ),
    leaves_out=KERNELS,
    threads=True,
    model="opencl",
    device="opencl",
    checks=True,
    title="OpenCL C",
)
