"""Convolutions written for vectors: padded rows laid end to end, so that one vector may span several rows.

    P[n, c, py, px, r]   the padded input, split by the stride's phases, each phase's rows one after the other (r)
    R[n, o, q]           sums at the positions q = y*width + x of those rows; a few positions lie between two rows
    Y[n, o, y, x] = R[n, o, y*width + x]

Output channel by position is then a matrix product whose right side needs no packing: at a fixed tap the positions q
are read from consecutive addresses of P. The input is padded once; the weights are read as they are.
"""

from __future__ import annotations

from typing import Any

from tvmlab import te

from . import _shared


class Geometry:
    """Numbers of a convolution over rows: `width` of a padded row in one phase, `rows` of them, `span` positions."""

    def __init__(self, data: Any, window: Any, stride: Any, padding: Any, dilation: Any) -> None:
        self.size = data.shape[2], data.shape[3]
        self.kernel = tuple(window)
        self.stride, self.dilation = _shared.as_tuple(stride, 2), _shared.as_tuple(dilation, 2)
        (sh, sw), (dh, dw), (kh, kw) = self.stride, self.dilation, self.kernel
        reach = [_shared.dilated(kh, dh), _shared.dilated(kw, dw)]
        self.before, after = _shared.pads(padding, reach)
        self.out = tuple(
            _shared.out_extent(n, b, a, k, s)
            for n, b, a, k, s in zip(self.size, self.before, after, reach, self.stride)
        )
        self.width = (self.size[1] + self.before[1] + after[1] + sw - 1) // sw
        self.span = self.out[0] * self.width
        last = self.span - 1 + ((kh - 1) * dh // sh) * self.width + (kw - 1) * dw // sw
        self.rows = last // self.width + 1

    def tap(self, q: Any, ky: Any, kx: Any) -> tuple[Any, Any, Any, Any]:
        """(phase y, phase x, row, column) of what position q reads at a tap."""
        (sh, sw), (dh, dw) = self.stride, self.dilation
        r = q + (ky * dh) // sh * self.width + (kx * dw) // sw
        return ky * dh % sh, kx * dw % sw, r // self.width, r % self.width


def padded_phases(data: Any, g: Geometry) -> Any:
    """(n, c, h, w) -> (n, c, phase y, phase x, row, column), zero outside."""
    (sh, sw), (top, left), (h, w) = g.stride, g.before, g.size

    def element(n: Any, c: Any, py: Any, px: Any, row: Any, column: Any) -> Any:
        y, x = row * sh + py - top, column * sw + px - left
        inside = te.all(y >= 0, y < h, x >= 0, x < w)
        return te.if_then_else(inside, data[n, c, y, x], te.const(0, data.dtype))

    return te.compute((data.shape[0], data.shape[1], sh, sw, g.rows, g.width), element, name="P", tag="rows,pad")


def from_rows(sums: Any, g: Geometry) -> Any:
    """(n, o, span) -> (n, o, oh, ow)"""
    n, o, _ = sums.shape
    return te.compute((n, o, *g.out), lambda n, o, y, x: sums[n, o, y * g.width + x], name="Y", tag="rows,out")


def lay_rows(s: Any, padded: Any, g: Geometry) -> None:
    """The rows of P one after the other in memory, each filled by vectors."""
    *_, flat = s[padded].transform_layout(lambda n, c, py, px, y, x: [n, c, py, px, y * g.width + x])
    _, column = s[padded].split(flat, factor=g.width)
    _, lanes = s[padded].split(column, factor=_shared.LANES)
    s[padded].vectorize(lanes)


def copy_out(s: Any, out: Any) -> None:
    x = s[out].op.axis[-1]
    _, lanes = s[out].split(x, factor=_shared.LANES)
    s[out].vectorize(lanes)
