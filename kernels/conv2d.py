"""Convolution over two spatial dimensions: a padding stage, then the sums. Layouts NCHW and NHWC."""

from __future__ import annotations

from typing import Any

from tvmlab import te, tune

from . import _checks, _gpu, _rows, _shared, _space
from .matmul import registers


def _layer(size: int, in_channel: int, out_channel: int, kernel: int, stride: int) -> dict[str, Any]:
    """A layer of the paper: half of the kernel as padding."""
    return {
        "height": size, "width": size, "in_channel": in_channel, "out_channel": out_channel, "kernel": kernel,
        "stride": stride, "padding": kernel // 2,
    }  # fmt: skip


# the convolutions of ResNet-18 at 224 x 224, table 2 of the TVM paper
SHAPES = {
    "C1": _layer(224, 3, 64, 7, 2),
    "C2": _layer(56, 64, 64, 3, 1),
    "C3": _layer(56, 64, 64, 1, 1),
    "C4": _layer(56, 64, 128, 3, 2),
    "C5": _layer(56, 64, 128, 1, 2),
    "C6": _layer(28, 128, 128, 3, 1),
    "C7": _layer(28, 128, 256, 3, 2),
    "C8": _layer(28, 128, 256, 1, 2),
    "C9": _layer(14, 256, 256, 3, 1),
    "C10": _layer(14, 256, 512, 3, 2),
    "C11": _layer(14, 256, 512, 1, 2),
    "C12": _layer(7, 512, 512, 3, 1),
}
SMALL = [
    {"height": 9, "width": 19, "in_channel": 3, "out_channel": 5, "kernel": 3, "stride": 1, "padding": 1},
    {"height": 10, "width": 37, "in_channel": 2, "out_channel": 3, "kernel": 3, "stride": 2, "padding": 1, "batch": 2},
    {"height": 7, "width": 7, "in_channel": 4, "out_channel": 3, "kernel": 1, "stride": 2, "padding": 0},
    {"height": 11, "width": 13, "in_channel": 2, "out_channel": 2, "kernel": 3, "padding": (2, 1, 0, 3), "dilation": 2},
    {"height": 9, "width": 11, "in_channel": 3, "out_channel": 18, "kernel": 3, "padding": "SAME", "layout": "NHWC"},
    {"height": 8, "width": 9, "in_channel": 3, "out_channel": 5, "kernel": (2, 3), "stride": (1, 2), "dilation": (2, 1),
     "padding": (1, 2), "layout": "NHWC", "batch": 2},
]  # fmt: skip


def padded(data: Any, before: list[Any], after: list[Any], name: str = "pad_temp") -> Any:
    """`data` with zeros around it; the tensor itself where there is nothing to add."""
    if all(_shared.constant(x, 1) == 0 for x in (*before, *after)):
        return data
    shape = [n + b + a for n, b, a in zip(data.shape, before, after)]
    element = lambda *i: _shared.pad_element(data, i, before, 0, after)
    return te.compute(shape, element, name=name, tag="injective,pad")


def conv2d_nchw(
    data: Any, kernel: Any, stride: Any = 1, padding: Any = 0, dilation: Any = 1, out_dtype: str = "", groups: int = 1
) -> Any:
    """data (n, c, h, w), kernel (o, c // groups, kh, kw) -> (n, o, oh, ow)."""
    (sh, sw), (dh, dw) = _shared.as_tuple(stride, 2), _shared.as_tuple(dilation, 2)
    _checks.need_dims("conv2d_nchw", "data", data, "n c h w")
    _checks.need_dims("conv2d_nchw", "kernel", kernel, "o i kh kw")
    n, channels, h, w = data.shape
    o, c, kh, kw = kernel.shape
    _checks.need_groups("conv2d_nchw", channels, c, o, groups, (1, 1, 0))
    window = [_shared.dilated(kh, dh), _shared.dilated(kw, dw)]
    before, after = _shared.pads(padding, window)
    _checks.need_window("conv2d_nchw", "HW", (h, w), before, after, window)
    source = padded(data, [0, 0, *before], [0, 0, *after])
    oh = _shared.out_extent(h, before[0], after[0], window[0], sh)
    ow = _shared.out_extent(w, before[1], after[1], window[1], sw)
    rc, ry, rx = (te.reduce_axis((0, x), name=r) for x, r in zip((c, kh, kw), ("rc", "ry", "rx")))
    dtype = out_dtype or data.dtype
    per_group = o // groups

    def element(b: Any, f: Any, y: Any, x: Any) -> Any:
        channel = rc if groups == 1 else f // per_group * c + rc
        value = source[b, channel, y * sh + ry * dh, x * sw + rx * dw]
        return te.sum(value.astype(dtype) * kernel[f, rc, ry, rx].astype(dtype), axis=[rc, ry, rx])

    tag = "conv2d_nchw" if groups == 1 else "group_conv2d_nchw"
    return te.compute((n, o, oh, ow), element, name="conv", tag=tag)


def conv2d_nhwc(
    data: Any, kernel: Any, stride: Any = 1, padding: Any = 0, dilation: Any = 1, out_dtype: str = "", groups: int = 1
) -> Any:
    """data (n, h, w, c), kernel (kh, kw, c // groups, o) -> (n, oh, ow, o)."""
    (sh, sw), (dh, dw) = _shared.as_tuple(stride, 2), _shared.as_tuple(dilation, 2)
    _checks.need_dims("conv2d_nhwc", "data", data, "n h w c")
    _checks.need_dims("conv2d_nhwc", "kernel", kernel, "kh kw i o")
    n, h, w, channels = data.shape
    kh, kw, c, o = kernel.shape
    _checks.need_groups("conv2d_nhwc", channels, c, o, groups, (3, 2, 3))
    window = [_shared.dilated(kh, dh), _shared.dilated(kw, dw)]
    before, after = _shared.pads(padding, window)
    _checks.need_window("conv2d_nhwc", "HW", (h, w), before, after, window)
    source = padded(data, [0, *before, 0], [0, *after, 0])
    oh = _shared.out_extent(h, before[0], after[0], window[0], sh)
    ow = _shared.out_extent(w, before[1], after[1], window[1], sw)
    ry, rx, rc = (te.reduce_axis((0, x), name=r) for x, r in zip((kh, kw, c), ("ry", "rx", "rc")))
    dtype = out_dtype or data.dtype
    per_group = o // groups

    def element(b: Any, y: Any, x: Any, f: Any) -> Any:
        channel = rc if groups == 1 else f // per_group * c + rc
        value = source[b, y * sh + ry * dh, x * sw + rx * dw, channel]
        return te.sum(value.astype(dtype) * kernel[ry, rx, rc, f].astype(dtype), axis=[ry, rx, rc])

    tag = "conv2d_nhwc" if groups == 1 else "group_conv2d_nhwc"
    return te.compute((n, oh, ow, o), element, name="conv", tag=tag)


def declare(
    height: int,
    width: int,
    in_channel: int,
    out_channel: int,
    kernel: Any,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    batch: int = 1,
    layout: str = "NCHW",
    dtype: str = "float32",
) -> list[Any]:
    kh, kw = _shared.as_tuple(kernel, 2)
    if layout == "NCHW":
        data = te.placeholder((batch, in_channel, height, width), dtype, name="data")
        weight = te.placeholder((out_channel, in_channel, kh, kw), dtype, name="kernel")
        return [data, weight, conv2d_nchw(data, weight, stride, padding, dilation)]
    data = te.placeholder((batch, height, width, in_channel), dtype, name="data")
    weight = te.placeholder((kh, kw, in_channel, out_channel), dtype, name="kernel")
    return [data, weight, conv2d_nhwc(data, weight, stride, padding, dilation)]


def reference(
    data: Any, weight: Any, /, stride: Any = 1, padding: Any = 0, dilation: Any = 1, layout: str = "NCHW", **shape: Any
) -> Any:
    """Every window as a view, then one product of them with the weights."""
    import numpy as np

    if layout == "NHWC":
        swapped = data.transpose(0, 3, 1, 2), weight.transpose(3, 2, 0, 1)
        return reference(*swapped, stride, padding, dilation, **shape).transpose(0, 2, 3, 1)
    (sh, sw), (dh, dw) = _shared.as_tuple(stride, 2), _shared.as_tuple(dilation, 2)
    kh, kw = weight.shape[2:]
    window = ((kh - 1) * dh + 1, (kw - 1) * dw + 1)
    before, after = _shared.pads(padding, window)
    wide = np.pad(data, ((0, 0), (0, 0), *zip(before, after)))
    views = np.lib.stride_tricks.sliding_window_view(wide, window, axis=(2, 3))[:, :, ::sh, ::sw, ::dh, ::dw]
    groups = shape.get("groups", 1)
    parts = zip(np.split(views, groups, axis=1), np.split(weight, groups, axis=0))
    return np.concatenate([np.einsum("bcyxij,fcij->bfyx", v, k) for v, k in parts], axis=1)


def schedule_conv2d_nchw(s: Any, op: Any) -> None:
    """b, f, y, xo, rc, ry, rx, xi: a vector of one output row stays in a register while the window runs."""
    stage = s[op]
    b, f, y, x = stage.op.axis
    xo, xi = stage.split(x, factor=_shared.LANES)
    stage.reorder(b, f, y, xo, *stage.op.reduce_axis, xi)
    stage.vectorize(xi)
    _shared.in_parallel(stage, [b, f, y])


def schedule_conv2d_nhwc(s: Any, op: Any) -> None:
    """b, y, x, fo, ry, rx, rc, fi: a vector of output channels stays in a register."""
    stage = s[op]
    b, y, x, f = stage.op.axis
    fo, fi = stage.split(f, factor=_shared.LANES)
    stage.reorder(b, y, x, fo, *stage.op.reduce_axis, fi)
    stage.vectorize(fi)
    _shared.in_parallel(stage, [b, y, x])


def schedule_cpu(outs: Any) -> Any:
    plan = lambda s, op: (schedule_conv2d_nhwc if op.tag.endswith("nhwc") else schedule_conv2d_nchw)(s, op)
    return _shared.schedule(outs, plan, lambda op: op.tag.removeprefix("group_") in ("conv2d_nchw", "conv2d_nhwc"))


# ---------------------------------------------------------------- fast on CPUs


def cpu(
    height: int,
    width: int,
    in_channel: int,
    out_channel: int,
    kernel: Any,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    batch: int = 1,
    dtype: str = "float32",
    groups: int = 1,
) -> tuple[Any, list[Any]]:
    """(schedule, [data, kernel, out]) of an NCHW convolution as `_rows` writes it: a tile of channels by positions in
    registers, the taps outside it."""
    data, weight = inputs(height, width, in_channel, out_channel, kernel, batch, dtype, groups)
    g = _rows.Geometry(data, weight.shape[2:], stride, padding, dilation)
    return in_rows(data, weight, g, groups, **by_hand(g, out_channel // groups, groups))


@tune.template("kernels.conv2d")
def tuned(
    height: int,
    width: int,
    in_channel: int,
    out_channel: int,
    kernel: Any,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    batch: int = 1,
    dtype: str = "float32",
    groups: int = 1,
) -> tuple[Any, list[Any]]:
    """The search template of NCHW: the choices of `in_rows`. Point 0 is the hand schedule, `cpu`."""
    data, weight = inputs(height, width, in_channel, out_channel, kernel, batch, dtype, groups)
    g = _rows.Geometry(data, weight.shape[2:], stride, padding, dilation)
    cfg = tune.get_config()
    taps = (in_channel // groups) * g.kernel[0] * g.kernel[1]
    work = batch * out_channel * g.out[0] * g.out[1] * taps
    cfg.add_flop(2 * work)
    each, deep = out_channel // groups, in_channel // groups
    whole = [r for r in _space.ROWS if groups == 1 or each % r == 0]  # a tile does not reach into the next group
    choices: dict[str, list[Any]] = {
        "tile": _space.tiles(each, -(-g.span // _shared.LANES), whole),
        "order": ["channels inside", "positions inside"],
        "taps": ["rc ry rx", "ry rx rc"] if taps > deep > 1 else ["rc ry rx"],
        "unroll": [False, True] if taps > 1 else [False],
        "widen": [True] if g.span <= ONE_TILE else [False, True],
        "pack": [False, True] if each > 1 else [False],
        "parallel": _space.threads(work),
    }
    return in_rows(data, weight, g, groups, **_space.choose(cfg, choices, by_hand(g, each, groups)))


def inputs(
    height: int, width: int, in_channel: int, out_channel: int, kernel: Any, batch: int, dtype: str, groups: int
) -> tuple[Any, Any]:
    """data (n, c, h, w), kernel (o, c // groups, kh, kw)"""
    data = te.placeholder((batch, in_channel, height, width), dtype, name="data")
    weight = te.placeholder((out_channel, in_channel // groups, *_shared.as_tuple(kernel, 2)), dtype, name="kernel")
    _checks.need_groups("conv2d_nchw", in_channel, weight.shape[1], out_channel, groups, (1, 1, 0))
    return data, weight


ONE_TILE = 4 * _shared.LANES  # positions


def by_hand(g: Any, each: int, groups: int) -> dict[str, Any]:
    """The choices of the hand schedule. `each`: output channels of a group."""
    plain = {"order": "channels inside", "taps": "rc ry rx", "unroll": False, "pack": False, "parallel": False}
    if g.span <= ONE_TILE:  # all positions in one tile: the many weights of such layers are read once
        rows, vectors, widen = 4, 4, True
    else:
        rows, vectors, widen = (8 if each % 8 == 0 else 6), 3, False
    if groups > 1:
        rows = max(r for r in _space.ROWS if r <= rows and each % r == 0)
    return {**plain, "tile": (rows, vectors), "widen": widen}


def in_rows(
    data: Any, weight: Any, g: Any, groups: int, *, tile: Any, widen: bool, parallel: bool, **loops: Any
) -> tuple[Any, list[Any]]:
    """A convolution as `_rows` writes it.

    `tile`: rows of output channels, and vectors of positions, whose sums stay in registers. `widen`: positions for
    whole tiles, of which nobody looks at the last. `loops`: see `tile_rows`.
    """
    if widen:
        g.widen(tile[1] * _shared.LANES)
    padded = _rows.padded_phases(data, g)
    outputs, deep = weight.shape[:2]
    rc, ry, rx = (te.reduce_axis((0, x), name=r) for x, r in zip(weight.shape[1:], ("rc", "ry", "rx")))

    def element(n: Any, o: Any, q: Any) -> Any:
        py, px, row, column = g.tap(q, ry, rx)
        channel = rc if groups == 1 else o // (outputs // groups) * deep + rc
        return te.sum(padded[n, channel, py, px, row, column] * weight[o, rc, ry, rx], axis=[rc, ry, rx])

    sums = te.compute((data.shape[0], outputs, g.span), element, name="R")
    out = _rows.from_rows(sums, g)
    s = te.create_schedule(out.op)
    _rows.lay_rows(s, padded, g)
    outer = tile_rows(s, sums, weight, *tile, **loops)
    _rows.copy_out(s, out)
    if parallel:
        s[sums].parallel(outer)
        for copy in (padded, out):
            s[copy].parallel(s[copy].leaf_iter_vars[1])  # by channel
    return s, [data, weight, out]


def tile_rows(
    s: Any, sums: Any, weight: Any, rows: int, vectors: int, *, order: str, taps: str, unroll: bool, pack: bool
) -> Any:
    """n, qo, oo, rc, ry, rx, [rows x vectors]: the tile's sums stay in registers while the taps run. Gives qo.

    `order`: which loop over tiles is inside. `taps`: the order of the sum. `unroll`: the taps of a row, or four
    channels. `pack`: the weights of a tile's channels are copied side by side.
    """
    packed = s.cache_read(weight, "global", [sums]) if pack else None
    tile = s.cache_write(sums, "local")
    stage, lanes = s[sums], _shared.LANES
    n, o, q = stage.op.axis
    qo, qi = stage.split(q, factor=vectors * lanes)
    oo, oi = stage.split(o, factor=rows)
    outer, inner = (qo, oo) if order == "channels inside" else (oo, qo)
    qv, ql = stage.split(qi, factor=lanes)
    stage.reorder(n, outer, inner, oi, qv, ql)
    registers(stage, oi, qv, ql)
    s[tile].compute_at(stage, inner)
    n, o, q = s[tile].op.axis
    qv, ql = s[tile].split(q, factor=lanes)
    s[tile].reorder(n, *in_order(s[tile], s[tile].op.reduce_axis, taps, unroll), o, qv, ql)
    registers(s[tile], o, qv, ql)
    if packed is not None:
        inside = (lambda c, y, x: [c, y, x]) if taps == "rc ry rx" else (lambda c, y, x: [y, x, c])
        *_, place = s[packed].transform_layout(lambda o, *at: [o // rows, *inside(*at), o % rows])
        s[packed].unroll(place)
    return outer


def in_order(stage: Any, axes: Any, taps: str, unroll: bool) -> list[Any]:
    """The loops of the sum, the innermost one unrolled if that is asked for."""
    rc, ry, rx = axes
    if not unroll:
        return [rc, ry, rx] if taps == "rc ry rx" else [ry, rx, rc]
    if taps == "rc ry rx" and _shared.constant(rx.dom.extent) > 1:
        stage.unroll(rx)
        return [rc, ry, rx]
    ro, ri = stage.split(rc, factor=4)
    stage.unroll(ri)
    return [ry, rx, ro, ri]


# ---------------------------------------------------------------- GPUs


def schedule_gpu(outs: Any) -> Any:
    return _gpu.schedule(outs, on_blocks, lambda op: op.tag.removeprefix("group_") in ("conv2d_nchw", "conv2d_nhwc"))


def on_blocks(s: Any, op: Any, channels: int = 4, rows: int = 4, depth: int = 8) -> None:
    """A block for a tile of channels, rows and columns: its threads fetch the tile's inputs and weights together,
    `depth` input channels at a time, and each keeps channels x rows outputs in registers.

    NCHW: neighbours in x are neighbouring threads; NHWC: neighbours in the channel.
    """
    nhwc = op.tag.endswith("nhwc")
    out, (data, weight) = op.output(0), op.input_tensors
    sums = s.cache_write(out, "local")
    tiles = [s.cache_read(t, "shared", [sums]) for t in (data, weight)]
    _gpu.inline_padding(s, data)
    stage = s[out]
    b, *rest = stage.op.axis
    (y, x, f) = rest if nhwc else (rest[1], rest[2], rest[0])
    across, beside = (f, x) if nhwc else (x, f)
    tx = _threads(across, 32 if nhwc else 16)
    ty = max(1, min(_gpu.BLOCK // tx, _shared.constant(beside.dom.extent, 16) // (1 if nhwc else channels) or 1, 16))
    parts = {
        f: [tx if nhwc else ty, 1 if nhwc else channels],
        x: [ty if nhwc else tx, channels if nhwc else 1],
        y: [1, rows],
    }
    blocks, threads, inside = {}, {}, {}
    for a, (count, each) in parts.items():
        blocks[a], within = stage.split(a, factor=count * each)
        threads[a], inside[a] = stage.split(within, factor=each)
    stage.reorder(b, blocks[y], blocks[beside], blocks[across], threads[y], threads[beside], threads[across],
                  inside[y], inside[x], inside[f])  # fmt: skip
    _gpu.bind(stage, stage.fuse(b, blocks[y]), "blockIdx.z")
    for a, tag in ((blocks[beside], "blockIdx.y"), (blocks[across], "blockIdx.x"), (threads[y], "threadIdx.z"),
                   (threads[beside], "threadIdx.y"), (threads[across], "threadIdx.x")):  # fmt: skip
        _gpu.bind(stage, a, tag)
    s[sums].compute_at(stage, threads[across])
    rc = next(a for a in s[sums].op.reduce_axis if a.var.name == "rc")
    taps = [a for a in s[sums].op.reduce_axis if a is not rc]
    ro, ri = s[sums].split(rc, factor=depth)
    s[sums].reorder(ro, ri, *taps, *s[sums].op.axis)
    for a in s[sums].op.axis:
        s[sums].unroll(a)
    for tile in tiles:
        _gpu.fetch(s, tile, sums, ro, tx, ty)


def _threads(axis: Any, most: int) -> int:
    """How many threads go along an axis: its largest divisor up to `most`, unless that wastes more than it saves."""
    extent = _shared.constant(axis.dom.extent, most)
    best = max(d for d in range(1, most + 1) if extent % d == 0)
    return best if 2 * best > min(most, extent) else min(most, extent)
