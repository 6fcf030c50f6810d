"""The Metal Shading Language: text for Apple's compiler; nothing here runs it.

Metal has no float64. By default its compiler rewrites floating-point arithmetic (fast math): compile with
`-fno-fast-math` where NaN, infinities and the order of operations matter. How many threads a simdgroup has is the
device's choice: reductions over threads go through memory, and barriers of a warp are those of the block.
"""

from __future__ import annotations

from ...core.program import Program
from ...core.threads import LAUNCH
from ..base import KERNELS, Compiled, Target, TargetKind
from ..clike import Dialect, only_text, program_text

ONE = (
    "exp exp2 exp10 log log2 log10 sqrt rsqrt sin cos tan sinh cosh tanh asin acos atan asinh acosh atanh "
    "floor ceil trunc round fabs isnan isinf isfinite"
).split()
TWO = "pow fmod atan2 copysign ldexp".split()
TYPES = {
    "bool": "bool", "int8": "char", "int16": "short", "int32": "int", "int64": "long", "uint8": "uchar",
    "uint16": "ushort", "uint32": "uint", "uint64": "ulong", "float16": "half", "float32": "float",
}  # fmt: skip

DIALECT = Dialect(
    name="metal",
    title="Metal",
    types=TYPES,
    half="native",
    int64_suffix="L",
    index={tag: tag for tag in LAUNCH},
    barriers={
        "shared": "threadgroup_barrier(mem_flags::mem_threadgroup);",
        "both": "threadgroup_barrier(mem_flags::mem_threadgroup | mem_flags::mem_device);",
    },
    functions={
        **{f: f + "({0})" for f in ONE},
        **{f: f + "({0}, {1})" for f in TWO},
        "nearbyint": "rint({0})",
        **{f"{f}:{t}": f + "({0})" for f in ("popcount", "clz") for t in ("uint32", "uint64")},
    },
    numbers={
        "nan:float32": "NAN", "inf:float32": "INFINITY", "-inf:float32": "-INFINITY", "nan:float16": "half(NAN)",
        "inf:float16": "half(INFINITY)", "-inf:float16": "half(-INFINITY)", "float16": "half({0})",
    },
    widths=dict.fromkeys(TYPES, (2, 4)),
    vector_name="{type}{n}",
    make_vector="{vec}({values})",
    vector_load="*({space}const {vec}*)({p})",
    vector_store="*({space}{vec}*)({p}) = {v};",
    packed="packed_{type}{n}",
    bitcast={"": "as_type<{type}>({v})"},
    head="#include <metal_stdlib>\nusing namespace metal;",
    function="static inline",
    kernel="{bounds} kernel void {name}({params})",
    bounds="[[max_total_threads_per_threadgroup({n})]]",
    pointer="device {const}{type}* {name} [[buffer({i})]]",
    scalar="constant {type}& {name} [[buffer({i})]]",
    builtin_params=("uint3 blockIdx [[threadgroup_position_in_grid]]",
                    "uint3 threadIdx [[thread_position_in_threadgroup]]"),
    shared="threadgroup {type} {name}[{size}];",
    spaces={"global": "device ", "shared": "threadgroup ", "local": "thread "},
    strict_head="// compile with -fno-fast-math and -ffp-contract=off: each operation is to round by itself",
)  # fmt: skip


def source(program: Program, target: Target) -> str:
    return program_text(program, DIALECT)


def compile(program: Program, target: Target) -> Compiled:
    text = source(program, target)
    return only_text("metal", program, text, "compile it with Xcode's metal, or look at it", ".metal")


TARGET = TargetKind(
    name="metal",
    about="Metal kernels to read, and to compile on a Mac",
    source=source,
    compile=compile,
    passes=("emulate_fragments", "warp_memory", "block_barriers", "allreduce_tree", "split_host_device"),
    leaves_out=KERNELS,
    threads=True,
    model="apple",
    device="metal",
    title="Metal",
    runs=False,
)
