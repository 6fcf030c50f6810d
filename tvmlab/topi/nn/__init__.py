"""Operators of neural networks, under their classic names and with their classic arguments."""

from __future__ import annotations

from typing import Any

from ...core.error import ShapeError
from ...kernels import _checks
from ...kernels import broadcast as _broadcast
from ...kernels import conv2d as _conv2d
from ...kernels import convolution as _convolution
from ...kernels import matmul as _matmul
from ...kernels.depthwise_conv2d import depthwise_conv2d_nchw, depthwise_conv2d_nhwc  # noqa: F401
from ...names import lazy

_KERNELS = {
    "elementwise": "relu leaky_relu prelu",
    "pad": "pad mirror_pad",
    "dense": "dense",
    "dilate": "dilate",
    "softmax": "softmax log_softmax fast_softmax",
    "pooling": "pool pool1d pool2d pool3d global_pool adaptive_pool adaptive_pool3d",
    "batch_norm": "batch_norm",
    "norm": "layer_norm instance_norm group_norm rms_norm lrn l2_normalize",
    "transform": "flatten layout_transform fifo_buffer",
    "blocks": "depth_to_space space_to_depth space_to_batch_nd batch_to_space_nd",
    "resize": "upsampling upsampling3d",
    "convolution": "conv",
}
_NOT_YET = "it is not there yet: write it with te.compute"
_ABSENT = dict.fromkeys(
    """bitserial_conv2d_nchw bitserial_conv2d_nhwc bitserial_dense bitpack binarize_pack binary_dense conv2d_legalize
    conv2d_NCHWc_int8 conv2d_winograd_nhwc conv2d_winograd_nchw conv2d_winograd_weight_transform
    winograd_transform_matrices correlation_nchw deformable_conv2d_nchw deformable_conv2d_nhwc nll_loss lstm
    pool_grad simulated_quantize simulated_dequantize sparse_dense sparse_conv2d sparse_add sparse_transpose
    depthwise_conv2d_backward_input_nhwc depthwise_conv2d_backward_weight_nhwc dense_pack""".split(),
    _NOT_YET,
)


# ---------------------------------------------------------------- convolutions


def conv2d(
    input: Any,  # noqa: A002
    filter: Any,  # noqa: A002
    strides: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    data_layout: str = "NCHW",
    kernel_layout: str = "",
    out_dtype: str | None = None,
    layout: str = "",
) -> Any:
    """A convolution in the layout NCHW, NHWC or HWCN (0.6 calls the layout `layout`)."""
    where = layout or data_layout
    if where == "NCHW" and kernel_layout in ("", "OIHW"):
        return conv2d_nchw(input, filter, strides, padding, dilation, out_dtype)
    if where == "NHWC" and kernel_layout in ("", "HWIO"):
        return conv2d_nhwc(input, filter, strides, padding, dilation, out_dtype)
    return _convolution.conv(input, filter, strides, padding, dilation, 1, where, kernel_layout, out_dtype)


def conv2d_nchw(
    Input: Any, Filter: Any, stride: Any = 1, padding: Any = 0, dilation: Any = 1, out_dtype: str | None = None
) -> Any:
    return _conv2d.conv2d_nchw(Input, Filter, stride, padding, dilation, out_dtype or "")


def conv2d_nhwc(
    Input: Any,
    Filter: Any,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    out_dtype: str | None = None,
    **hints: Any,
) -> Any:
    return _conv2d.conv2d_nhwc(Input, Filter, stride, padding, dilation, out_dtype or "")


def conv2d_hwcn(
    Input: Any, Filter: Any, stride: Any = 1, padding: Any = 0, dilation: Any = 1, out_dtype: str | None = None
) -> Any:
    return _convolution.conv(Input, Filter, stride, padding, dilation, 1, "HWCN", "HWIO", out_dtype)


conv2d_NCHWc = _convolution.conv2d_nchwc
depthwise_conv2d_NCHWc = _convolution.depthwise_conv2d_nchwc


def _in_groups(layout: str, about: str) -> Any:
    def apply(
        Input: Any,
        Filter: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        out_dtype: str | None = None,
        **hints: Any,
    ) -> Any:
        return _convolution.conv(Input, Filter, stride, padding, dilation, groups, layout, "", out_dtype)

    apply.__doc__ = about
    return apply


group_conv2d_nchw = _in_groups("NCHW", "A convolution of groups of channels; kernel (o, i // groups, kh, kw).")
group_conv2d_nhwc = _in_groups("NHWC", "A convolution of groups of channels; kernel (kh, kw, i // groups, o).")
conv3d_ncdhw = _in_groups("NCDHW", "A convolution over three dimensions; kernel (o, i, kd, kh, kw).")
conv3d_ndhwc = _in_groups("NDHWC", "A convolution over three dimensions; kernel (kd, kh, kw, i, o).")


def conv1d(
    data: Any,
    kernel: Any,
    strides: Any = 1,
    padding: Any = "VALID",
    dilation: Any = 1,
    data_layout: str = "NCW",
    kernel_layout: str = "",
    out_dtype: str | None = None,
) -> Any:
    return _convolution.conv(data, kernel, strides, padding, dilation, 1, data_layout, kernel_layout, out_dtype)


def conv1d_ncw(
    data: Any, kernel: Any, strides: Any = 1, padding: Any = "VALID", dilation: Any = 1, out_dtype: str | None = None
) -> Any:
    return _convolution.conv(data, kernel, strides, padding, dilation, 1, "NCW", "", out_dtype)


def conv1d_nwc(
    data: Any, kernel: Any, strides: Any = 1, padding: Any = "VALID", dilation: Any = 1, out_dtype: str | None = None
) -> Any:
    return _convolution.conv(data, kernel, strides, padding, dilation, 1, "NWC", "", out_dtype)


def group_conv1d_ncw(
    data: Any, kernel: Any, strides: Any = 1, padding: Any = "VALID", dilation: Any = 1, groups: int = 1,
    out_dtype: str | None = None,
) -> Any:  # fmt: skip
    return _convolution.conv(data, kernel, strides, padding, dilation, groups, "NCW", "", out_dtype)


def group_conv1d_nwc(
    data: Any, kernel: Any, strides: Any = 1, padding: Any = "VALID", dilation: Any = 1, groups: int = 1,
    out_dtype: str | None = None,
) -> Any:  # fmt: skip
    return _convolution.conv(data, kernel, strides, padding, dilation, groups, "NWC", "", out_dtype)


def conv2d_transpose_nchw(
    Input: Any, Filter: Any, strides: Any, padding: Any, out_dtype: str | None = None, output_padding: Any = 0
) -> Any:
    return _convolution.conv_transpose(Input, Filter, strides, padding, out_dtype, output_padding)


conv1d_transpose_ncw = conv3d_transpose_ncdhw = conv2d_transpose_nchw


def group_conv2d_transpose_nchw(
    data: Any, kernel: Any, stride: Any, padding: Any, out_dtype: str | None, output_padding: Any, groups: int
) -> Any:
    return _convolution.conv_transpose(data, kernel, stride, padding, out_dtype, output_padding, groups)


# ---------------------------------------------------------------- products


def plain_matmul(a: Any, b: Any, transp_a: bool = False, transp_b: bool = False) -> Any:
    """The product of matrices, or of batches of them."""
    product = _matmul.matmul if len(a.shape) == 2 else _matmul.batch_matmul
    return product(a, b, transp_a, transp_b)


def matmul(
    tensor_a: Any,
    tensor_b: Any,
    bias: Any = None,
    out_dtype: str | None = None,
    transpose_a: bool = False,
    transpose_b: bool = False,
    **hints: Any,
) -> Any:
    """The product of matrices, plus a bias per column."""
    made = _matmul.matmul(tensor_a, tensor_b, transpose_a, transpose_b, out_dtype or "")
    return made if bias is None else _broadcast.add(made, bias)


def batch_matmul(
    tensor_a: Any,
    tensor_b: Any,
    oshape: Any = None,
    out_dtype: str | None = None,
    transpose_a: bool = False,
    transpose_b: bool = True,
    **hints: Any,
) -> Any:
    """Products of batches of matrices; the right ones are (batch, n, k) unless `transpose_b=False`."""
    return _matmul.batch_matmul(tensor_a, tensor_b, transpose_a, transpose_b, out_dtype or "")


# ---------------------------------------------------------------- channels


def _channel(vector: Any, ndim: int, axis: int) -> Any:
    """A vector seen as a tensor that stretches along every dimension but `axis`."""
    from ...te import compute

    shape = [vector.shape[0] if d == axis % ndim else 1 for d in range(ndim)]
    return compute(shape, lambda *i: vector[i[axis % ndim]], name="T_channel", tag="injective")


def bias_add(data: Any, bias: Any, axis: int = 1) -> Any:
    """data + bias[c], with c the index along `axis`."""
    _checks.need_dims("bias_add", "bias", bias, "c")
    ndim = len(data.shape)
    if not -ndim <= axis < ndim:
        raise ShapeError("operator-axis", f"bias_add: axis {axis} is none of data's {ndim} dimensions")
    extent = data.shape[axis]
    if _checks.known(bias.shape[0]) != 1:
        what = f"data along axis {axis} (dimension {axis % ndim})"
        _checks.need_equal("bias_add", what, extent, "bias (dimension 0)", bias.shape[0])
    return _broadcast.add(data, _channel(bias, len(data.shape), axis))


def _scale_shift(axis: int) -> Any:
    def apply(Input: Any, Scale: Any, Shift: Any) -> Any:
        from ...te import compute

        element = lambda *i: Input(*i) * Scale[i[axis]] + Shift[i[axis]]
        return compute(Input.shape, element, name="ScaleShift", tag="broadcast")

    apply.__doc__ = f"Input * Scale[c] + Shift[c], with c the index along dimension {axis}."
    return apply


scale_shift_nchw, scale_shift_nhwc = _scale_shift(1), _scale_shift(3)


def scale_shift_nchwc(Input: Any, Scale: Any, Shift: Any) -> Any:
    """Input (n, C, h, w, c), Scale and Shift (C, c)."""
    from ...te import compute

    element = lambda n, o, y, x, i: Input[n, o, y, x, i] * Scale[o, i] + Shift[o, i]
    return compute(Input.shape, element, name="ScaleShift", tag="broadcast")


_HERE = {name: f"tvmlab.kernels.{file}" for file, names in _KERNELS.items() for name in names.split()}
__getattr__, __dir__ = lazy(__name__, _HERE | {m: f"={__name__}.{m}" for m in ("utils", "util")}, _ABSENT)
