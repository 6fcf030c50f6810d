"""Images made larger or smaller: nearest element, linear and cubic interpolation, in one to three dimensions."""

from __future__ import annotations

from typing import Any

from tvmlab import te, tir

from . import _shared
from .pooling import spatial

SHAPES = {"twice as large": {"shape": (1, 64, 56, 56), "size": (112, 112), "method": "linear"}}
SMALL = [
    {"shape": (1, 2, 5, 9), "size": (10, 18), "method": "nearest_neighbor", "mode": "asymmetric"},
    {"shape": (1, 2, 9, 20), "size": (4, 7), "method": "nearest_neighbor"},
    {"shape": (1, 2, 5, 9), "size": (7, 19), "method": "linear"},
    {"shape": (1, 2, 5, 9), "size": (7, 19), "method": "linear", "mode": "align_corners"},
    {"shape": (1, 5, 9, 3), "size": (10, 4), "method": "linear", "mode": "asymmetric", "layout": "NHWC"},
    {"shape": (1, 2, 8, 9), "size": (12, 6), "method": "cubic"},
    {"shape": (2, 3, 7), "size": (17,), "method": "linear", "layout": "NCW"},
    {"shape": (1, 2, 3, 4, 5), "size": (4, 6, 3), "method": "linear", "layout": "NCDHW"},
]
MODES = ("half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel")


def position(x: Any, size: Any, new: Any, mode: str) -> Any:
    """Where element x of the new axis lies on the old one, as a float."""
    if mode not in MODES:
        raise ValueError(f"coordinate_transformation_mode is one of {', '.join(MODES)}, not {mode!r}")
    at = x.astype("float32")
    old, wide = (
        te.const(_shared.constant(n), "float32") if _shared.constant(n) else n.astype("float32") for n in (size, new)
    )
    if mode == "align_corners":
        return at * te.const(0.0) if _shared.constant(new) == 1 else at * ((old - 1.0) / (wide - 1.0))
    if mode == "asymmetric":
        return at * (old / wide)
    if mode == "pytorch_half_pixel" and _shared.constant(new) == 1:
        return te.const(0.0)
    return (at + 0.5) * (old / wide) - 0.5


def taps(at: Any, method: str, rounding: str, alpha: float) -> list[tuple[Any, Any]]:
    """(index, weight) of the old elements that make up a new one."""
    if method == "nearest_neighbor":
        nearest = {
            "round": te.round,
            "round_prefer_floor": lambda x: te.ceil(x - 0.5),
            "round_prefer_ceil": lambda x: te.floor(x + 0.5),
            "floor": lambda x: te.floor(x + 1e-5),  # the product of two inexact numbers may lie just below
            "ceil": lambda x: te.ceil(x - 1e-5),
        }
        return [(nearest[rounding](at).astype("int32"), te.const(1.0))]
    low = te.floor(at)
    part, first = at - low, low.astype("int32")
    if method == "linear":
        return [(first, 1.0 - part), (first + 1, part)]
    if method != "cubic":
        raise ValueError(f"the method is nearest_neighbor, linear or cubic, not {method!r}")
    a, t = te.const(alpha), part
    near = lambda d: ((a + 2.0) * d - (a + 3.0)) * d * d + 1.0
    far = lambda d: ((a * d - 5.0 * a) * d + 8.0 * a) * d - 4.0 * a
    weights = [far(t + 1.0), near(t), near(1.0 - t), far(2.0 - t)]
    return [(first + k, w) for k, w in zip((-1, 0, 1, 2), weights)]


def resize(
    data: Any,
    size: Any,
    layout: str = "NCHW",
    method: str = "linear",
    coordinate_transformation_mode: str = "half_pixel",
    rounding_method: str = "",
    alpha: float = -0.5,
    out_dtype: str | None = None,
) -> Any:
    """The spatial dimensions at a new size; outside, the nearest element counts."""
    where = spatial(layout)
    mode = coordinate_transformation_mode
    rounding = rounding_method or ("round" if mode == "align_corners" else "floor")
    shape = list(data.shape)
    for d, n in zip(where, _shared.as_tuple(size, len(where))):
        shape[d] = n if isinstance(n, tir.PrimExpr) else te.const(n)
    dtype = out_dtype or data.dtype

    def element(*i: Any) -> Any:
        chosen = [taps(position(i[d], data.shape[d], shape[d], mode), method, rounding, alpha) for d in where]
        return _interpolated(data, list(i), where, chosen).astype(dtype)

    return te.compute(shape, element, name="resize", tag="injective")


def _interpolated(data: Any, index: list[Any], where: list[int], chosen: list[Any]) -> Any:
    if not where:
        return data(*index)
    (d, *others), (mine, *rest) = where, chosen
    total: Any = None
    for at, weight in mine:
        at = te.max(te.min(at, data.shape[d] - 1), 0)
        value = _interpolated(data, [at if k == d else x for k, x in enumerate(index)], others, rest)
        if len(mine) == 1:
            return value
        value = (
            value.astype("float32") * weight
            if not data.dtype.startswith("float")
            else value * weight.astype(data.dtype)
        )
        total = value if total is None else total + value
    return total


def upsampling(
    data: Any,
    scale_h: Any,
    scale_w: Any,
    layout: str = "NCHW",
    method: str = "nearest_neighbor",
    align_corners: bool = False,
    output_shape: Any = None,
) -> Any:
    """Height and width times a factor; method nearest_neighbor, bilinear or bicubic."""
    return _scaled(
        data, (scale_h, scale_w), layout, method, "align_corners" if align_corners else "asymmetric", output_shape
    )


def upsampling3d(
    data: Any,
    scale_d: Any,
    scale_h: Any,
    scale_w: Any,
    layout: str = "NCDHW",
    method: str = "nearest_neighbor",
    coordinate_transformation_mode: str = "half_pixel",
    output_shape: Any = None,
) -> Any:
    """Depth, height and width times a factor."""
    return _scaled(data, (scale_d, scale_h, scale_w), layout, method, coordinate_transformation_mode, output_shape)


def _scaled(data: Any, scales: Any, layout: str, method: str, mode: str, output_shape: Any) -> Any:
    method = {"bilinear": "linear", "trilinear": "linear", "bicubic": "cubic"}.get(method, method)
    size = [round(_shared.constant(data.shape[d]) * s) for d, s in zip(spatial(layout), scales)]
    return resize(data, [output_shape[d] for d in spatial(layout)] if output_shape else size, layout, method, mode)


def declare(
    shape: Any, size: Any, method: str, mode: str = "half_pixel", layout: str = "NCHW", dtype: str = "float32"
) -> list[Any]:
    x = te.placeholder(shape, dtype, name="image")
    return [x, resize(x, size, layout, method, mode)]


def reference(x: Any, /, size: Any, method: str, mode: str = "half_pixel", layout: str = "NCHW", **shape: Any) -> Any:
    """Dimension by dimension, each as a matrix of weights."""
    import numpy as np

    for d, n in zip(spatial(layout), size):
        x = np.moveaxis(np.tensordot(x, _weights(np, x.shape[d], n, method, mode), (d, 1)), -1, d)
    return x


def _weights(np: Any, old: int, new: int, method: str, mode: str) -> Any:
    k = np.arange(new)
    at = {
        "half_pixel": (k + 0.5) * old / new - 0.5,
        "align_corners": k * (old - 1) / max(new - 1, 1),
        "asymmetric": k * old / new,
    }[mode]
    low = np.floor(at).astype(int)
    t = at - low
    cubic = lambda d: np.where(d <= 1, 1.5 * d**3 - 2.5 * d**2 + 1, -0.5 * d**3 + 2.5 * d**2 - 4 * d + 2)
    table = {
        "nearest_neighbor": [(np.floor(at + 1e-5).astype(int), np.ones(new))],
        "linear": [(low, 1 - t), (low + 1, t)],
        "cubic": [(low + q, cubic(np.abs(t - q))) for q in (-1, 0, 1, 2)],
    }[method]
    made = np.zeros((new, old), "float32")
    for index, weight in table:
        np.add.at(made, (k, np.clip(index, 0, old - 1)), weight)
    return made


def schedule_cpu(outs: Any) -> Any:
    return _shared.schedule(outs, lambda s, op: None, lambda op: False)
