"""The classic operators, over `tvmlab.kernels`: `topi.add(A, B)`, `topi.nn.relu(A)`, `topi.x86.schedule_dense(B)`.

Importing it makes operators work on whole tensors: `A + B`, `2.0 * A`, `A.astype("int32")`.
"""

from __future__ import annotations

from typing import Any

from ..expr.tensor import ARITHMETIC as _ARITHMETIC
from ..kernels import broadcast as _broadcast
from ..kernels import elementwise as _elementwise
from ..names import lazy

_KERNELS = {
    "elementwise": """identity negative exp erf tanh tan cos cosh sin sinh acos acosh asin asinh atan atanh floor ceil
        sign trunc abs isnan isfinite isinf round log log2 log10 sqrt rsqrt sigmoid clip cast reinterpret
        fixed_point_multiply fast_exp fast_tanh fast_erf ceil_log2 elemwise_sum logical_not bitwise_not""",
    "broadcast": """broadcast_to add subtract multiply divide floor_divide mod floor_mod maximum minimum power
        left_shift right_shift greater less equal not_equal greater_equal less_equal logical_and logical_or logical_xor
        bitwise_and bitwise_or bitwise_xor""",
    "reduction": "sum prod max min all any argmax argmin collapse_sum",
    "transform": """transpose reshape expand_dims expand_like squeeze flip repeat tile shape ndarray_size strided_slice
        strided_set split concatenate stack sliding_window trilu layout_transform""",
    "gather": """take gather gather_nd where one_hot sequence_mask reverse_sequence unravel_index adv_index
        matrix_set_diag meshgrid""",
    "fill": "full full_like zeros_like ones_like arange",
    "contract": "einsum tensordot",
    "scatter": "scatter_nd scatter_elements",
    "sort": "invert_permutation sort argsort topk searchsorted scanop cumsum cumprod",
}
_HERE = {name: f"tvmlab.kernels.{file}" for file, names in _KERNELS.items() for name in names.split()}
_HERE["matmul"] = "tvmlab.topi.nn:plain_matmul"
_MODULES = "nn image generic x86 cuda testing utils util tag".split()
# where the classic sources define the names
_SOURCES = {"math": "elementwise", "broadcast": "broadcast", "reduction": "reduction", "transform": "transform",
            "tensor": "fill"}  # fmt: skip
_NOT_YET = "it is not there yet: write it with te.compute, or with te.extern and tir.ir_builder"
_ABSENT = dict.fromkeys(
    """argwhere stft dft unique sparse_fill_empty_rows sparse_reshape sparse_to_dense
    fixed_point_multiply_per_axis vision sparse random cpp""".split(),
    _NOT_YET,
)
_DEVICES = "arm_cpu mali bifrost intel_graphics opengl rocm hls hexagon adreno vulkan".split()

_ARITHMETIC.update(
    {
        "+": _broadcast.add,
        "-": _broadcast.subtract,
        "*": _broadcast.multiply,
        "/": _broadcast.true_divide,
        "//": _broadcast.floor_divide,
        "%": _broadcast.floor_mod,
        "astype": _elementwise.cast,
    }  # fmt: skip
)

_get, __dir__ = lazy(
    __name__,
    _HERE
    | {name: f"={__name__}.{name}" for name in _MODULES}
    | dict.fromkeys(("gpu", "metal"), f"={__name__}.cuda")
    | {name: f"=tvmlab.kernels.{file}" for name, file in _SOURCES.items()},
    _ABSENT,
)


def __getattr__(name: str) -> Any:
    if name in _DEVICES:
        from .schedules import Elsewhere

        return Elsewhere(name)
    return _get(name)
