"""Operators on images, under their classic names."""

from __future__ import annotations

from typing import Any

from ..kernels import resize as _resize
from ..names import lazy

_METHODS = {"bilinear": "linear", "trilinear": "linear", "bicubic": "cubic"}
_NOT_YET = "it is not there yet: write it with te.compute"
_ABSENT = dict.fromkeys("crop_and_resize dilation2d_nchw dilation2d_nhwc affine_grid grid_sample".split(), _NOT_YET)


def resize(
    data: Any,
    size: Any,
    layout: str = "NCHW",
    method: str = "bilinear",
    coordinate_transformation_mode: str = "half_pixel",
    out_dtype: str | None = None,
    **more: Any,
) -> Any:
    """Release 0.7's resize of two dimensions; 0.6's `align_corners=True` works too."""
    mode = coordinate_transformation_mode
    if "align_corners" in more:
        mode = "align_corners" if more.pop("align_corners") else "asymmetric"
    return _resize.resize(data, size, layout, _METHODS.get(method, method), mode, out_dtype=out_dtype)


def _of_dimensions(n: int, layout: str) -> Any:
    def apply(
        data: Any,
        roi: Any,
        size: Any,
        layout: str = layout,
        method: str = "linear",
        coordinate_transformation_mode: str = "half_pixel",
        rounding_method: str = "",
        bicubic_alpha: float = -0.5,
        bicubic_exclude: int = 0,
        extrapolation_value: float = 0.0,
        out_dtype: str | None = None,
        output_shape: Any = None,
    ) -> Any:
        mode, kind = coordinate_transformation_mode, _METHODS.get(method, method)
        return _resize.resize(data, size, layout, kind, mode, rounding_method, bicubic_alpha, out_dtype)

    apply.__name__ = f"resize{n}d"
    apply.__doc__ = f"{n} spatial dimensions at a new size; `roi` is not used by these modes."
    return apply


resize1d, resize2d, resize3d = (_of_dimensions(n, layout) for n, layout in ((1, "NCW"), (2, "NCHW"), (3, "NCDHW")))
__getattr__, __dir__ = lazy(__name__, {}, _ABSENT)
