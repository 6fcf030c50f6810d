"""Convolutions written for vectors: padded rows laid end to end, so that one vector may span several rows.

    P[n, c, py, px, r]   the padded input, its rows split by the stride's phases, one after the other (r)
    R[n, o, q]           sums at the positions q = y*width + x of those rows; a few positions lie between two rows
    Y[n, o, y, x] = R[n, o, y*width + x]

Output channel by position is then a matrix product whose right side needs no packing: at a fixed tap the positions q
are read from consecutive addresses of P when its columns are split by phases too, else from addresses a stride apart.
The input is padded once; the weights are read as they are.
"""

from __future__ import annotations

from typing import Any

from tvmlab import te

from . import _shared


class Geometry:
    """Numbers of a convolution over rows: `width` positions in a row, `span` of them in all; P has `rows` of `line`.

    `split`: the columns by phases, too; a position is then one element after the one before, else `step`.
    """

    def __init__(self, data: Any, window: Any, stride: Any, padding: Any, dilation: Any, split: bool = True) -> None:
        self.size = data.shape[2], data.shape[3]
        self.kernel = tuple(window)
        self.stride, self.dilation = _shared.as_tuple(stride, 2), _shared.as_tuple(dilation, 2)
        (sh, sw), (dh, dw), (kh, kw) = self.stride, self.dilation, self.kernel
        reach = [_shared.dilated(kh, dh), _shared.dilated(kw, dw)]
        self.before, after = _shared.pads(padding, reach)
        self.out = tuple(
            _shared.out_extent(*side) for side in zip(self.size, self.before, after, reach, self.stride)
        )
        self.width = (self.size[1] + self.before[1] + after[1] + sw - 1) // sw
        self.span = self.out[0] * self.width
        self.step = 1 if split else sw
        self.line = self.width * self.step
        self.phases = sh, sw // self.step

    def widen(self, multiple: int) -> None:
        """More positions, for whole tiles; nobody looks at the sums that belong to no element."""
        self.span = -(-self.span // multiple) * multiple

    @property
    def rows(self) -> int:
        (ph, pw), (dh, dw), (kh, kw) = self.phases, self.dilation, self.kernel
        last = (self.span - 1) * self.step + (kh - 1) * dh // ph * self.line + (kw - 1) * dw // pw
        return int(last // self.line + 1)

    def tap(self, q: Any, ky: Any, kx: Any) -> tuple[Any, Any, Any, Any]:
        """(phase y, phase x, row, column) of what position q reads at a tap."""
        (ph, pw), (dh, dw) = self.phases, self.dilation
        r = q * self.step + (ky * dh) // ph * self.line + (kx * dw) // pw
        return ky * dh % ph, kx * dw % pw, r // self.line, r % self.line


def padded_phases(data: Any, g: Geometry) -> Any:
    """(n, c, h, w) -> (n, c, phase y, phase x, row, column), zero outside. `likely` sets rows outside apart."""
    (ph, pw), (top, left), (h, w) = g.phases, g.before, g.size
    zero = te.const(0, data.dtype)

    def element(n: Any, c: Any, py: Any, px: Any, row: Any, column: Any) -> Any:
        y, x = row * ph + py - top, column * pw + px - left
        inner = te.if_then_else(te.all(x >= 0, x < w), data[n, c, y, x], zero)
        return te.if_then_else(te.likely(te.all(y >= 0, y < h)), inner, zero)

    return te.compute((data.shape[0], data.shape[1], ph, pw, g.rows, g.line), element, name="P", tag="rows,pad")


def from_rows(sums: Any, g: Geometry) -> Any:
    """(n, o, span) -> (n, o, oh, ow)"""
    n, o, _ = sums.shape
    return te.compute((n, o, *g.out), lambda n, o, y, x: sums[n, o, y * g.width + x], name="Y", tag="rows,out")


def lay_rows(s: Any, padded: Any, g: Geometry) -> None:
    """The rows of P one after the other in memory, each filled by vectors."""
    *_, flat = s[padded].transform_layout(lambda n, c, py, px, y, x: [n, c, py, px, y * g.line + x])
    _, column = s[padded].split(flat, factor=g.line)
    _, lanes = s[padded].split(column, factor=_shared.LANES)
    s[padded].vectorize(lanes)


def copy_out(s: Any, out: Any) -> None:
    x = s[out].op.axis[-1]
    _, lanes = s[out].split(x, factor=_shared.LANES)
    s[out].vectorize(lanes)
