"""Depthwise convolution: every channel with filters of its own. Layouts NCHW and NHWC."""

from __future__ import annotations

from typing import Any

from tvmlab import te, tune

from . import _checks, _gpu, _rows, _shared, _space
from .conv2d import padded


def _layer(size: int, channel: int, stride: int) -> dict[str, Any]:
    return {"height": size, "width": size, "channel": channel, "kernel": 3, "stride": stride, "padding": 1}


# the depthwise convolutions of MobileNet at 224 x 224, table 2 of the TVM paper
SHAPES = {
    "D1": _layer(112, 32, 1),
    "D2": _layer(112, 64, 2),
    "D3": _layer(56, 128, 1),
    "D4": _layer(56, 128, 2),
    "D5": _layer(28, 256, 1),
    "D6": _layer(28, 256, 2),
    "D7": _layer(14, 512, 1),
    "D8": _layer(14, 512, 2),
    "D9": _layer(7, 1024, 1),
}
SMALL = [
    {"height": 9, "width": 19, "channel": 5, "kernel": 3, "stride": 1, "padding": 1},
    {"height": 10, "width": 35, "channel": 3, "kernel": 3, "stride": 2, "padding": 1, "batch": 2},
    {"height": 11, "width": 12, "channel": 2, "kernel": (3, 2), "multiplier": 3, "padding": (0, 1, 2, 1),
     "dilation": 2},
    {"height": 9, "width": 8, "channel": 18, "kernel": 3, "padding": "SAME", "layout": "NHWC"},
    {"height": 9, "width": 8, "channel": 3, "kernel": 3, "stride": 2, "multiplier": 2, "layout": "NHWC", "batch": 2},
]  # fmt: skip


def depthwise_conv2d_nchw(
    data: Any, kernel: Any, stride: Any = 1, padding: Any = 0, dilation: Any = 1, out_dtype: str = ""
) -> Any:
    """data (n, c, h, w), kernel (c, multiplier, kh, kw) -> (n, c * multiplier, oh, ow)."""
    (sh, sw), (dh, dw) = _shared.as_tuple(stride, 2), _shared.as_tuple(dilation, 2)
    name = "depthwise_conv2d_nchw"
    _checks.need_dims(name, "data", data, "n c h w")
    _checks.need_dims(name, "kernel", kernel, "c multiplier kh kw")
    n, c, h, w = data.shape
    filters, m, kh, kw = kernel.shape
    _checks.need_equal(name, "data's channels (dimension 1)", c, "kernel's channels (dimension 0)", filters)
    window = [_shared.dilated(kh, dh), _shared.dilated(kw, dw)]
    before, after = _shared.pads(padding, window)
    _checks.need_window(name, "HW", (h, w), before, after, window)
    source = padded(data, [0, 0, *before], [0, 0, *after], name="PaddedInput")
    oh = _shared.out_extent(h, before[0], after[0], window[0], sh)
    ow = _shared.out_extent(w, before[1], after[1], window[1], sw)
    ry, rx = te.reduce_axis((0, kh), name="ry"), te.reduce_axis((0, kw), name="rx")
    dtype = out_dtype or data.dtype

    def element(b: Any, f: Any, y: Any, x: Any) -> Any:
        value = source[b, f // m, y * sh + ry * dh, x * sw + rx * dw]
        return te.sum(value.astype(dtype) * kernel[f // m, f % m, ry, rx].astype(dtype), axis=[ry, rx])

    return te.compute((n, c * m, oh, ow), element, name="DepthwiseConv2d", tag="depthwise_conv2d_nchw")


def depthwise_conv2d_nhwc(
    data: Any, kernel: Any, stride: Any = 1, padding: Any = 0, dilation: Any = 1, out_dtype: str = ""
) -> Any:
    """data (n, h, w, c), kernel (kh, kw, c, multiplier) -> (n, oh, ow, c * multiplier)."""
    (sh, sw), (dh, dw) = _shared.as_tuple(stride, 2), _shared.as_tuple(dilation, 2)
    name = "depthwise_conv2d_nhwc"
    _checks.need_dims(name, "data", data, "n h w c")
    _checks.need_dims(name, "kernel", kernel, "kh kw c multiplier")
    n, h, w, c = data.shape
    kh, kw, filters, m = kernel.shape
    _checks.need_equal(name, "data's channels (dimension 3)", c, "kernel's channels (dimension 2)", filters)
    window = [_shared.dilated(kh, dh), _shared.dilated(kw, dw)]
    before, after = _shared.pads(padding, window)
    _checks.need_window(name, "HW", (h, w), before, after, window)
    source = padded(data, [0, *before, 0], [0, *after, 0], name="PaddedInput")
    oh = _shared.out_extent(h, before[0], after[0], window[0], sh)
    ow = _shared.out_extent(w, before[1], after[1], window[1], sw)
    ry, rx = te.reduce_axis((0, kh), name="ry"), te.reduce_axis((0, kw), name="rx")
    dtype = out_dtype or data.dtype

    def element(b: Any, y: Any, x: Any, f: Any) -> Any:
        value = source[b, y * sh + ry * dh, x * sw + rx * dw, f // m]
        return te.sum(value.astype(dtype) * kernel[ry, rx, f // m, f % m].astype(dtype), axis=[ry, rx])

    return te.compute((n, oh, ow, c * m), element, name="DepthwiseConv2d", tag="depthwise_conv2d_nhwc")


def declare(
    height: int,
    width: int,
    channel: int,
    kernel: Any,
    multiplier: int = 1,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    batch: int = 1,
    layout: str = "NCHW",
    dtype: str = "float32",
) -> list[Any]:
    kh, kw = _shared.as_tuple(kernel, 2)
    if layout == "NCHW":
        data = te.placeholder((batch, channel, height, width), dtype, name="data")
        weight = te.placeholder((channel, multiplier, kh, kw), dtype, name="kernel")
        return [data, weight, depthwise_conv2d_nchw(data, weight, stride, padding, dilation)]
    data = te.placeholder((batch, height, width, channel), dtype, name="data")
    weight = te.placeholder((kh, kw, channel, multiplier), dtype, name="kernel")
    return [data, weight, depthwise_conv2d_nhwc(data, weight, stride, padding, dilation)]


def reference(data: Any, weight: Any, /, layout: str = "NCHW", **shape: Any) -> Any:
    """A convolution in as many groups as there are channels."""
    from .conv2d import reference as conv

    how = {k: shape[k] for k in ("stride", "padding", "dilation") if k in shape}
    if layout == "NHWC":
        return reference(data.transpose(0, 3, 1, 2), weight.transpose(2, 3, 0, 1), **how).transpose(0, 2, 3, 1)
    c, m, kh, kw = weight.shape
    return conv(data, weight.reshape(c * m, 1, kh, kw), groups=c, **how)


def schedule_depthwise_nchw(s: Any, op: Any) -> None:
    """b, f, y, xo, ry, rx, xi: a vector of one output row stays in a register while the window runs."""
    stage = s[op]
    b, f, y, x = stage.op.axis
    xo, xi = stage.split(x, factor=_shared.LANES)
    stage.reorder(b, f, y, xo, *stage.op.reduce_axis, xi)
    stage.vectorize(xi)
    _shared.in_parallel(stage, [b, f])


def schedule_depthwise_nhwc(s: Any, op: Any) -> None:
    """b, y, x, fo, ry, rx, fi: a vector of channels stays in a register."""
    stage = s[op]
    b, y, x, f = stage.op.axis
    fo, fi = stage.split(f, factor=_shared.LANES)
    stage.reorder(b, y, x, fo, *stage.op.reduce_axis, fi)
    stage.vectorize(fi)
    _shared.in_parallel(stage, [b, y])


def schedule_cpu(outs: Any) -> Any:
    plan = lambda s, op: (schedule_depthwise_nhwc if op.tag.endswith("nhwc") else schedule_depthwise_nchw)(s, op)
    return _shared.schedule(outs, plan, lambda op: op.tag in ("depthwise_conv2d_nchw", "depthwise_conv2d_nhwc"))


# ---------------------------------------------------------------- fast on CPUs


def cpu(
    height: int,
    width: int,
    channel: int,
    kernel: Any,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    batch: int = 1,
    dtype: str = "float32",
) -> tuple[Any, list[Any]]:
    """(schedule, [data, kernel, out]) of an NCHW depthwise convolution as `_rows` writes it, channel by channel."""
    data, weight = inputs(height, width, channel, kernel, batch, dtype)
    how = stride, padding, dilation
    return in_rows(data, weight, how, **by_hand(_rows.Geometry(data, weight.shape[2:], *how, split=False)))


@tune.template("kernels.depthwise_conv2d")
def tuned(
    height: int,
    width: int,
    channel: int,
    kernel: Any,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    batch: int = 1,
    dtype: str = "float32",
) -> tuple[Any, list[Any]]:
    """The search template of NCHW with one filter a channel: the choices of `in_rows`. Point 0 is `cpu`."""
    kh, kw = _shared.as_tuple(kernel, 2)
    data, weight = inputs(height, width, channel, kernel, batch, dtype)
    how = stride, padding, dilation
    g = _rows.Geometry(data, (kh, kw), *how, split=False)
    most = -(-g.span // _shared.LANES)
    cfg = tune.get_config()
    work = batch * channel * g.out[0] * g.out[1] * kh * kw
    cfg.add_flop(2 * work)
    choices: dict[str, list[Any]] = {
        "vectors": [v for v in (1, 2, 3, 4, 5, 6, 8) if v <= most],
        "widen": [True, False],
        "phases": [False, True] if g.stride[1] > 1 else [False],
        "unroll": ["ry rx", "rx", ""] if kh > 1 else ["ry rx", ""],
        "pad": ["channel", "root"],
        "parallel": _space.threads(work),
    }
    return in_rows(data, weight, how, **_space.choose(cfg, choices, by_hand(g)))


def inputs(height: int, width: int, channel: int, kernel: Any, batch: int, dtype: str) -> tuple[Any, Any]:
    """data (n, c, h, w), kernel (c, 1, kh, kw)"""
    data = te.placeholder((batch, channel, height, width), dtype, name="data")
    return data, te.placeholder((channel, 1, *_shared.as_tuple(kernel, 2)), dtype, name="kernel")


def by_hand(g: Any) -> dict[str, Any]:
    """The choices of the hand schedule."""
    return {"vectors": fitting(g.span), "widen": True, "phases": False, "unroll": "ry rx", "pad": "channel",
            "parallel": False}  # fmt: skip


def fitting(span: int) -> int:
    """How many vectors make a tile that wastes least; the more the better."""
    waste = lambda vectors: -span % (vectors * _shared.LANES)
    return min(range(3, 5), key=lambda vectors: (waste(vectors), -vectors))


def in_rows(
    data: Any, weight: Any, how: tuple[Any, Any, Any], *, vectors: int, widen: bool, phases: bool, unroll: str,
    pad: str, parallel: bool,
) -> tuple[Any, list[Any]]:  # fmt: skip
    """A depthwise convolution as `_rows` writes it, one channel at a time.

    `how`: stride, padding, dilation. `vectors` of positions are summed at a time. `widen`: positions for whole tiles.
    `phases`: the columns are split by those of the stride. `unroll`: loops over taps. `pad`: where the input is padded.
    """
    g = _rows.Geometry(data, weight.shape[2:], *how, split=phases)
    if widen:
        g.widen(vectors * _shared.LANES)
    padded = _rows.padded_phases(data, g)
    ry, rx = (te.reduce_axis((0, n), name=r) for n, r in zip(weight.shape[2:], ("ry", "rx")))

    def element(n: Any, c: Any, q: Any) -> Any:
        py, px, row, column = g.tap(q, ry, rx)
        return te.sum(padded[n, c, py, px, row, column] * weight[c, 0, ry, rx], axis=[ry, rx])

    sums = te.compute((*data.shape[:2], g.span), element, name="R")
    out = _rows.from_rows(sums, g)
    s = te.create_schedule(out.op)
    _rows.lay_rows(s, padded, g)
    tile_positions(s, sums, vectors, unroll)
    channel = s[out].op.axis[1]
    s[sums].compute_at(s[out], channel)
    if pad == "channel":  # its padded rows and its sums stay in the nearest cache
        s[padded].compute_at(s[out], channel)
    _rows.copy_out(s, out)
    if parallel:
        s[out].parallel(channel)
        if pad == "root":
            s[padded].parallel(s[padded].leaf_iter_vars[1])
    return s, [data, weight, out]


def tile_positions(s: Any, sums: Any, vectors: int, unroll: str) -> None:
    """q, ry, rx, [vectors]: a tile's sums stay in registers while the taps run."""
    lanes = _shared.LANES
    tile = s.cache_write(sums, "local")
    q = s[sums].op.axis[-1]
    qo, qi = s[sums].split(q, factor=vectors * lanes)
    qv, ql = s[sums].split(qi, factor=lanes)
    s[sums].unroll(qv)
    s[sums].vectorize(ql)
    s[tile].compute_at(s[sums], qo)
    n, c, q = s[tile].op.axis
    ry, rx = s[tile].op.reduce_axis
    qv, ql = s[tile].split(q, factor=lanes)
    s[tile].reorder(n, c, ry, rx, qv, ql)
    for axis in (*[a for a in (ry, rx) if a.var.name in unroll.split()], qv):
        s[tile].unroll(axis)
    s[tile].vectorize(ql)


# ---------------------------------------------------------------- GPUs


def schedule_gpu(outs: Any) -> Any:
    """A thread for each output, its sum in a register: the few inputs of a window are in the cache."""
    return _gpu.schedule(outs, on_threads, lambda op: op.tag.startswith("depthwise_conv2d"))


def on_threads(s: Any, op: Any) -> None:
    out, (data, _) = op.output(0), op.input_tensors
    _gpu.inline_padding(s, data)
    sums = s.cache_write(out, "local")
    _gpu.flat(s[out])
    s[sums].compute_at(s[out], s[out].leaf_iter_vars[-1])
    for a in s[sums].op.reduce_axis:
        s[sums].unroll(a)
