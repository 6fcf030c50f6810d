"""NumPy references of operators, under their classic names: what each result must be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..kernels import _numpy
from ..kernels import batch_norm as _batch_norm
from ..kernels import conv2d as _conv2d
from ..kernels import depthwise_conv2d as _depthwise
from ..kernels import dilate as _dilate
from ..kernels import pooling as _pooling
from ..kernels import resize as _resize
from ..kernels import softmax as _softmax
from ..names import lazy

# ---------------------------------------------------------------- convolutions


def conv2d_nchw_python(a_np: Any, w_np: Any, stride: Any, padding: Any, groups: int = 1) -> Any:
    return _conv2d.reference(a_np, w_np, stride, padding, groups=groups)


def conv2d_nhwc_python(a_np: Any, w_np: Any, stride: Any, padding: Any, groups: int = 1) -> Any:
    return _numpy.conv(a_np, w_np, stride, padding, groups=groups, data_layout="NHWC")


def conv2d_hwcn_python(a_np: Any, w_np: Any, stride: Any, padding: Any) -> Any:
    return _numpy.conv(a_np, w_np, stride, padding, data_layout="HWCN")


def conv1d_ncw_python(a_np: Any, w_np: Any, stride: Any, padding: Any, dilation: Any) -> Any:
    return _numpy.conv(a_np, w_np, stride, padding, dilation, data_layout="NCW")


def conv3d_ncdhw_python(a_np: Any, w_np: Any, stride: Any, padding: Any, groups: int = 1) -> Any:
    return _numpy.conv(a_np, w_np, stride, padding, groups=groups, data_layout="NCDHW")


def conv3d_ndhwc_python(a_np: Any, w_np: Any, stride: Any, padding: Any, groups: int = 1) -> Any:
    return _numpy.conv(a_np, w_np, stride, padding, groups=groups, data_layout="NDHWC")


def conv2d_transpose_nchw_python(
    a_np: Any, w_np: Any, stride: Any, padding: Any, output_padding: Any = 0, groups: int = 1
) -> Any:
    return _numpy.conv_transpose(a_np, w_np, stride, padding, output_padding, groups)


conv1d_transpose_ncw_python = conv3d_transpose_ncdhw_python = conv2d_transpose_nchw_python


def depthwise_conv2d_python_nchw(input_np: Any, filter_np: Any, stride: Any, padding: Any) -> Any:
    return _depthwise.reference(input_np, filter_np, stride=stride, padding=padding)


def depthwise_conv2d_python_nhwc(input_np: Any, filter_np: Any, stride: Any, padding: Any) -> Any:
    return _depthwise.reference(input_np, filter_np, layout="NHWC", stride=stride, padding=padding)


def dilate_python(input_np: Any, strides: Any, dilation_value: float = 0.0, out_dtype: Any = None) -> Any:
    made = _dilate.reference(input_np, strides, dilation_value)
    return made.astype(out_dtype) if out_dtype else made


# ---------------------------------------------------------------- products


def batch_matmul(x: Any, y: Any, out_dtype: Any = None, trans_x: bool = False, trans_y: bool = True) -> Any:
    x = x.swapaxes(1, 2) if trans_x else x
    y = y.swapaxes(1, 2) if trans_y else y
    return (x @ y).astype(out_dtype or x.dtype)


def dense(
    x: Any, y: Any, bias: Any = None, use_bias: bool = False, use_relu: bool = False, out_dtype: Any = None
) -> Any:
    made = x @ y.T + (bias if use_bias else 0)
    made = made.clip(min=0) if use_relu else made
    return made.astype(out_dtype or x.dtype)


# ---------------------------------------------------------------- windows, rows, channels


def poolnd_python(
    np_data: Any,
    kernel: Any,
    strides: Any,
    dilation: Any,
    padding_before: Any,
    padding_after: Any,
    pool_type: str,
    count_include_pad: bool = True,
    ceil_mode: bool = False,
    dtype: str = "float32",
    layout: str = "",
) -> Any:
    n = np_data.ndim - 2
    layout = layout or {1: "NCW", 2: "NCHW", 3: "NCDHW"}[n]
    steps = {dilation} if isinstance(dilation, int) else set(dilation)
    if len(steps) != 1:
        raise ValueError(f"one dilation for all dimensions, not {dilation}")
    how: dict[str, Any] = {"stride": strides, "padding": (*padding_before, *padding_after), "dilation": steps.pop()}
    how |= {"ceil_mode": ceil_mode, "count_include_pad": count_include_pad, "layout": layout}
    return _pooling.reference(np_data, np_data.shape, pool_type, kernel, **how).astype(dtype)


def pool1d_ncw_python(
    np_data: Any, kernel: Any, strides: Any, padding: Any, out_shape: Any, pool_type: str,
    count_include_pad: bool = True, ceil_mode: bool = False, dtype: str = "float32",
) -> Any:  # fmt: skip
    before, after = padding if isinstance(padding, (tuple, list)) else (padding, padding)
    return poolnd_python(
        np_data, kernel, strides, 1, (before,), (after,), pool_type, count_include_pad, ceil_mode, dtype
    )


def pool3d_ncdhw_python(
    np_data: Any, kernel: Any, strides: Any, padding: Any, out_shape: Any, pool_type: str,
    count_include_pad: bool = True, ceil_mode: bool = False, dtype: str = "float32",
) -> Any:  # fmt: skip
    before, after = padding[:3], padding[3:]
    return poolnd_python(np_data, kernel, strides, 1, before, after, pool_type, count_include_pad, ceil_mode, dtype)


def adaptive_pool(np_data: Any, out_size: Any, pool_type: str, layout: str = "NCHW") -> Any:
    return _pooling.reference(np_data, np_data.shape, pool_type, output_size=out_size, layout=layout)


def softmax_python(a_np: Any, axis: int = 1) -> Any:
    return _softmax.reference(a_np, axis)


def log_softmax_python(a_np: Any, axis: int = 1) -> Any:
    return _softmax.reference(a_np, axis, log=True)


def batch_norm(
    x: Any, gamma: Any, beta: Any, moving_mean: Any, moving_var: Any, axis: int = 1, epsilon: float = 1e-5,
    center: bool = True, scale: bool = True, training: bool = False, momentum: float = 0.1,
) -> Any:  # fmt: skip
    gamma, beta = (gamma if scale else gamma * 0 + 1), (beta if center else beta * 0)
    made = _batch_norm.reference(x, gamma, beta, moving_mean, moving_var, axis, epsilon, training, momentum)
    return made if training else [made, moving_mean, moving_var]


def lrn_python(a_np: Any, size: int, axis: int, bias: float, alpha: float, beta: float) -> Any:
    return _numpy.lrn(a_np, size, axis, alpha, beta, bias)


def layer_norm_python(data: Any, gamma: Any, beta: Any, axis: Any, epsilon: float = 1e-5) -> Any:
    return _numpy.layer_norm(data, gamma, beta, tuple(axis) if isinstance(axis, list) else axis, epsilon)


def instance_norm_python(data: Any, gamma: Any, beta: Any, axis: Any, epsilon: float = 1e-5) -> Any:
    return _numpy.instance_norm(data, gamma, beta, tuple(axis), epsilon)


def group_norm_python(
    data: Any, gamma: Any, beta: Any, num_groups: int, channel_axis: int, axes: Any, epsilon: float = 1e-5
) -> Any:
    return _numpy.group_norm(data, gamma, beta, num_groups, channel_axis, axes, epsilon)


def l2_normalize_python(a_np: Any, eps: float, axis: Any = None) -> Any:
    return _numpy.l2_normalize(a_np, eps, tuple(axis) if isinstance(axis, list) else axis)


def scale_shift_nchw_python(x: Any, scale: Any, shift: Any) -> Any:
    return x * scale[:, None, None] + shift[:, None, None]


def scale_shift_nhwc_python(x: Any, scale: Any, shift: Any) -> Any:
    return x * scale + shift


# ---------------------------------------------------------------- images and rearrangements


def resize2d_python(
    data: Any, scale: Any, layout: str = "NCHW", method: str = "nearest_neighbor", align_corners: bool = False
) -> Any:
    """`scale`: factors of height and width."""
    from ..kernels.pooling import spatial

    size = [round(data.shape[d] * s) for d, s in zip(spatial(layout), scale)]
    kind = {"bilinear": "linear", "bicubic": "cubic"}.get(method, method)
    mode = "align_corners" if align_corners else "asymmetric"
    return _resize.reference(data, size, kind, mode, layout).astype(data.dtype)


upsampling_python = resize2d_python


def strided_slice_python(
    data: Any, begin: Any, end: Any, strides: Any = None, slice_mode: str = "end", axes: Any = None
) -> Any:
    if slice_mode == "size":
        end = [None if e == -1 else b + e for b, e in zip(begin, end)]
    return _numpy.strided_slice(data, begin, end, list(strides or []) + [1] * (len(begin) - len(strides or [])), axes)


def strided_set_python(data: Any, v: Any, begin: Any, end: Any, strides: Any = None) -> Any:
    made = data.copy()
    made[tuple(slice(b, e, s) for b, e, s in zip(begin, end, strides or [1] * len(begin)))] = v
    return made


def gather_python(data: Any, axis: int, indices: Any) -> Any:
    return _numpy.gather(data, indices, axis)


def gather_nd_python(a_np: Any, indices_np: Any, batch_dims: int = 0) -> Any:
    return _numpy.gather_nd(a_np, indices_np)


def one_hot(indices: Any, on_value: Any, off_value: Any, depth: int, axis: int, dtype: str) -> Any:
    return _numpy.one_hot(indices, on_value, off_value, depth, axis).astype(dtype)


def sequence_mask(data: Any, valid_length: Any, mask_value: float, axis: int) -> Any:
    return _numpy.sequence_mask(data, valid_length, mask_value, axis)


def depth_to_space_python(data: Any, block_size: int, mode: str = "DCR") -> Any:
    return _numpy.depth_to_space(data, block_size, mode)


def space_to_depth_python(data: Any, block_size: int) -> Any:
    return _numpy.space_to_depth(data, block_size)


def space_to_batch_nd_python(data: Any, block_shape: Any, pad_before: Any, pad_after: Any, pad_value: Any = 0) -> Any:
    return _numpy.space_to_batch_nd(data, block_shape, pad_before, pad_after)


def batch_to_space_nd_python(data: Any, block_shape: Any, crop_begin_list: Any, crop_end_list: Any) -> Any:
    return _numpy.batch_to_space_nd(data, block_shape, crop_begin_list, crop_end_list)


def searchsorted_ref(sorted_sequence: Any, values: Any, right: bool, out_dtype: str) -> Any:
    return _numpy.searchsorted(sorted_sequence, values, right).astype(out_dtype)


# ---------------------------------------------------------------- schedules by target


def dispatch(target: Any, dispatch_map: dict[str, Any]) -> Any:
    """What the map has for the target, or for "generic"."""
    name = str(getattr(target, "name", target)).split()[0]
    for key in (name, "cpu" if name in ("llvm", "numba", "interp") else name, "generic"):
        if key in dispatch_map:
            return dispatch_map[key]
    raise KeyError(f"nothing for the target {name!r}, nor for 'generic'; there is {', '.join(dispatch_map)}")


def get_injective_schedule(target: Any) -> Callable[..., Any]:
    return _schedule("schedule_injective")


get_elemwise_schedule = get_broadcast_schedule = get_injective_schedule


def get_reduce_schedule(target: Any) -> Callable[..., Any]:
    return _schedule("schedule_reduce")


def _pair(operator: str) -> Callable[[Any], tuple[Callable[..., Any], Callable[..., Any]]]:
    """A classic `get_..._implement`: for a target, the operator and its schedule function."""

    def implement(target: Any) -> tuple[Callable[..., Any], Callable[..., Any]]:
        from . import nn

        found: Callable[..., Any] = getattr(nn, operator)
        return found, _schedule(f"schedule_{operator}")

    return implement


get_conv2d_nchw_implement, get_conv2d_nhwc_implement = _pair("conv2d_nchw"), _pair("conv2d_nhwc")
get_conv2d_hwcn_implement, get_conv1d_ncw_implement = _pair("conv2d_hwcn"), _pair("conv1d_ncw")
get_depthwise_conv2d_nchw_implement = _pair("depthwise_conv2d_nchw")


def _schedule(name: str) -> Callable[..., Any]:
    from . import x86

    found: Callable[..., Any] = getattr(x86, name)
    return found


__getattr__, __dir__ = lazy(__name__, {})
