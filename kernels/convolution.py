"""Convolutions of any number of spatial dimensions, in any layout, in groups; and their transposes."""

from __future__ import annotations

from typing import Any

from tvmlab import te
from tvmlab.error import ShapeError

from . import _checks, _shared
from .conv2d import padded
from .dilate import dilate

SHAPES = {
    "DCGAN's second layer": {"data": (1, 512, 8, 8), "kernel": (512, 256, 4, 4), "how": {"stride": 2, "padding": 1},
                             "transposed": True},
    "DQN's second layer": {"data": (1, 32, 20, 20), "kernel": (64, 32, 4, 4), "how": {"stride": 2}},
}  # fmt: skip
SMALL = [
    {"data": (2, 3, 20), "kernel": (5, 3, 3), "how": {"stride": 2, "padding": 1, "data_layout": "NCW"}},
    {"data": (2, 20, 3), "kernel": (3, 3, 5), "how": {"dilation": 2, "padding": "SAME", "data_layout": "NWC"}},
    {"data": (1, 4, 7, 9), "kernel": (6, 2, 3, 3), "how": {"padding": 1, "groups": 2}},
    {"data": (1, 7, 9, 4), "kernel": (3, 3, 2, 6), "how": {"padding": 1, "groups": 2, "data_layout": "NHWC"}},
    {"data": (7, 9, 3, 2), "kernel": (3, 2, 3, 18), "how": {"stride": (1, 2), "data_layout": "HWCN"}},
    {"data": (1, 2, 4, 5, 6), "kernel": (3, 2, 2, 3, 2), "how": {"padding": 1, "data_layout": "NCDHW"}},
    {"data": (1, 4, 5, 6, 2), "kernel": (2, 3, 2, 2, 3), "how": {"stride": 2, "data_layout": "NDHWC"}},
    {"data": (1, 3, 5, 7), "kernel": (3, 4, 3, 3), "how": {"stride": 2, "padding": 1}, "transposed": True},
    {"data": (1, 4, 5, 4), "kernel": (4, 3, 2, 4), "how": {"stride": (1, 3), "groups": 2, "output_padding": (0, 2)},
     "transposed": True},
    {"data": (2, 3, 8), "kernel": (3, 2, 4), "how": {"stride": 2, "padding": (1, 2)}, "transposed": True},
]  # fmt: skip
KERNEL_LAYOUT = {"NCW": "OIW", "NWC": "WIO", "NCHW": "OIHW", "NHWC": "HWIO", "HWCN": "HWIO", "NCDHW": "OIDHW",
                 "NDHWC": "DHWIO"}  # fmt: skip


def conv(
    inp: Any,
    filt: Any,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    data_layout: str = "NCHW",
    kernel_layout: str = "",
    out_dtype: str | None = None,
    **hints: Any,
) -> Any:
    """The convolution of layouts such as NCW, NHWC, NCDHW; the kernel has 1/groups of the input channels."""
    weights = kernel_layout or KERNEL_LAYOUT.get(data_layout, "")
    if not weights:
        raise ShapeError(
            "operator-layout", f"conv: data layout {data_layout!r} needs a kernel_layout", legal=list(KERNEL_LAYOUT)
        )
    _need_layouts(data_layout, weights)
    letters = [c for c in data_layout if c in "DHW"]
    operator = f"conv{len(letters)}d ({data_layout})"
    _checks.need_dims(operator, "data", inp, " ".join(data_layout))
    _checks.need_dims(operator, "kernel", filt, " ".join(weights))
    n = len(letters)
    where, inside = [data_layout.index(c) for c in letters], [weights.index(c) for c in letters]
    strides, dilations = _shared.as_tuple(stride, n), _shared.as_tuple(dilation, n)
    window = [_shared.dilated(filt.shape[k], d) for k, d in zip(inside, dilations)]
    before, after = _shared.pads(padding, window)
    _checks.need_window(operator, "".join(letters), [inp.shape[d] for d in where], before, after, window)
    around = [[0] * len(data_layout) for _ in range(2)]
    for d, b, a in zip(where, before, after):
        around[0][d], around[1][d] = b, a
    source = padded(inp, around[0], around[1])
    batch, channel = data_layout.index("N"), data_layout.index("C")
    out_channels, in_channels = filt.shape[weights.index("O")], filt.shape[weights.index("I")]
    places = (channel, weights.index("I"), weights.index("O"))
    _checks.need_groups(operator, inp.shape[channel], in_channels, out_channels, groups, places)
    shape = list(inp.shape)
    shape[channel] = out_channels
    for d, b, a, w, s in zip(where, before, after, window, strides):
        shape[d] = _shared.out_extent(inp.shape[d], b, a, w, s)
    rc = te.reduce_axis((0, in_channels), name="rc")
    over = [te.reduce_axis((0, filt.shape[k]), name=f"r{c.lower()}") for k, c in zip(inside, letters)]
    dtype = out_dtype or inp.dtype

    def element(*i: Any) -> Any:
        o = i[channel]
        at: dict[int, Any] = {batch: i[batch], channel: rc.var}
        if groups > 1:
            at[channel] = o // (out_channels // groups) * in_channels + rc
        tap: dict[str, Any] = {"O": o, "I": rc.var}
        for d, c, r, s, step in zip(where, letters, over, strides, dilations):
            at[d] = i[d] * s + r.var * step
            tap[c] = r.var
        value = source(*[at[d] for d in range(len(data_layout))])
        return te.sum(value.astype(dtype) * filt(*[tap[c] for c in weights]).astype(dtype), axis=[rc, *over])

    name = f"{'group_' if groups > 1 else ''}conv{n}d_{data_layout.lower()}"
    return te.compute(shape, element, name="conv", tag=name)


def _need_layouts(data: str, weights: str) -> None:
    """N, C and the spatial letters; O, I and the same spatial letters."""
    space = [c for c in data if c in "DHW"]
    if sorted(data) != sorted(["N", "C", *space]) or not space or len(set(space)) < len(space):
        raise ShapeError(
            "operator-layout", f"conv: {data!r} is no data layout: N, C and some of D, H, W", legal=list(KERNEL_LAYOUT)
        )
    if sorted(weights) != sorted(["O", "I", *space]):
        raise ShapeError(
            "operator-layout",
            f"conv: the kernel layout {weights!r} does not go with the data layout {data!r}: it has O, I and "
            f"{', '.join(space)}",
            legal=[KERNEL_LAYOUT[data]] if data in KERNEL_LAYOUT else [],
        )


def conv_transpose(
    data: Any,
    kernel: Any,
    stride: Any = 1,
    padding: Any = 0,
    out_dtype: str | None = None,
    output_padding: Any = 0,
    groups: int = 1,
) -> Any:
    """The transpose: data (n, c, spatial...), kernel (c, o // groups, spatial...) -> (n, o, wider...)."""
    n = len(data.shape) - 2
    strides, more = _shared.as_tuple(stride, n), _shared.as_tuple(output_padding, n)
    window = list(kernel.shape[2:])
    before, after = _shared.pads(padding, window)
    spread = dilate(data, [1, 1, *strides], name="data_dilate")
    first = [0, 0, *[w - 1 - b for w, b in zip(window, before)]]
    last = [0, 0, *[w - 1 - a + m for w, a, m in zip(window, after, more)]]
    source = padded(spread, first, last, name="data_pad")
    per_in, per_out = data.shape[1] // groups, kernel.shape[1]
    shape = [data.shape[0], per_out * groups, *[x - w + 1 for x, w in zip(source.shape[2:], window)]]
    rc = te.reduce_axis((0, per_in), name="rc")
    over = [te.reduce_axis((0, w), name=f"r{q}") for w, q in zip(window, "dhw"[-n:])]
    dtype = out_dtype or data.dtype

    def element(b: Any, o: Any, *i: Any) -> Any:
        c = rc.var if groups == 1 else o // per_out * per_in + rc
        value = source(b, c, *[x + r.var for x, r in zip(i, over)])
        tap = kernel(c, o if groups == 1 else o % per_out, *[w - 1 - r.var for w, r in zip(window, over)])
        return te.sum(value.astype(dtype) * tap.astype(dtype), axis=[rc, *over])

    names = ["b", "c", *["z", "y", "x"][-n:]]
    return te.compute(shape, element, name="conv_transpose", tag=f"conv{n}d_transpose", varargs_names=names[2:])


def conv2d_nchwc(
    data: Any,
    kernel: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    layout: str = "NCHWc",
    out_layout: str = "NCHWc",
    out_dtype: str | None = None,
) -> Any:
    """data (n, C, h, w, c), kernel (O, C, kh, kw, c, o) -> (n, O, oh, ow, o): blocks of channels innermost."""
    (sh, sw), (dh, dw) = _shared.as_tuple(stride, 2), _shared.as_tuple(dilation, 2)
    n, chunks, h, w, block = data.shape
    outs, _, kh, kw, _, lanes = kernel.shape
    window = [_shared.dilated(kh, dh), _shared.dilated(kw, dw)]
    before, after = _shared.pads(padding, window)
    source = padded(data, [0, 0, *before, 0], [0, 0, *after, 0], name="data_pad")
    oh = _shared.out_extent(h, before[0], after[0], window[0], sh)
    ow = _shared.out_extent(w, before[1], after[1], window[1], sw)
    extents = (chunks, kh, kw, block)
    ro, ry, rx, ri = (te.reduce_axis((0, x), name=r) for x, r in zip(extents, ("ic_outer", "kh", "kw", "ic_inner")))
    dtype = out_dtype or data.dtype

    def element(b: Any, oc: Any, y: Any, x: Any, o: Any) -> Any:
        value = source[b, ro, y * sh + ry * dh, x * sw + rx * dw, ri]
        return te.sum(value.astype(dtype) * kernel[oc, ro, ry, rx, ri, o].astype(dtype), axis=[ro, ry, rx, ri])

    return te.compute((n, outs, oh, ow, lanes), element, name="conv2d_NCHWc", tag="conv2d_NCHWc")


def depthwise_conv2d_nchwc(
    data: Any,
    kernel: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    layout: str = "NCHWc",
    out_layout: str = "NCHWc",
    out_dtype: str | None = None,
) -> Any:
    """data (n, C, h, w, c), kernel (O, 1, kh, kw, 1, o) -> (n, O, oh, ow, o)."""
    (sh, sw), (dh, dw) = _shared.as_tuple(stride, 2), _shared.as_tuple(dilation, 2)
    n, chunks, h, w, block = data.shape
    outs, _, kh, kw, _, lanes = kernel.shape
    multiplier = outs * lanes // (chunks * block)
    window = [_shared.dilated(kh, dh), _shared.dilated(kw, dw)]
    before, after = _shared.pads(padding, window)
    source = padded(data, [0, 0, *before, 0], [0, 0, *after, 0], name="data_pad")
    oh = _shared.out_extent(h, before[0], after[0], window[0], sh)
    ow = _shared.out_extent(w, before[1], after[1], window[1], sw)
    ry, rx = te.reduce_axis((0, kh), name="kh"), te.reduce_axis((0, kw), name="kw")
    dtype = out_dtype or data.dtype

    def element(b: Any, oc: Any, y: Any, x: Any, o: Any) -> Any:
        c = (oc * lanes + o) // multiplier
        value = source[b, c // block, y * sh + ry * dh, x * sw + rx * dw, c % block]
        return te.sum(value.astype(dtype) * kernel[oc, 0, ry, rx, 0, o].astype(dtype), axis=[ry, rx])

    return te.compute((n, outs, oh, ow, lanes), element, name="DepthwiseConv2d", tag="depthwise_conv2d_NCHWc")


def declare(data: Any, kernel: Any, how: Any, transposed: bool = False, dtype: str = "float32") -> list[Any]:
    x, k = te.placeholder(data, dtype, name="data"), te.placeholder(kernel, dtype, name="kernel")
    return [x, k, (conv_transpose if transposed else conv)(x, k, **how)]


def reference(x: Any, k: Any, /, how: Any, transposed: bool = False, **shape: Any) -> Any:
    from . import _numpy

    return _numpy.conv_transpose(x, k, **how) if transposed else _numpy.conv(x, k, **how)


def schedule_conv(s: Any, op: Any) -> None:
    """Beside each other: four output channels where the last dimension is spatial, else four of its neighbours."""
    channel_last = op.tag.endswith(("c", "n"))  # nwc, nhwc, ndhwc, nchwc, hwcn
    _shared.rows(s, op, len(op.axis) - 2 if channel_last else 1)


def schedule_cpu(outs: Any) -> Any:
    """The sums run around a vector of the last dimension, of four channels (or neighbours) each time."""
    return _shared.schedule(outs, schedule_conv, lambda op: "conv" in op.tag)
