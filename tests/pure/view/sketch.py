"""Frames as text, for golden files; and the schedules that several tests look at."""

from __future__ import annotations

from typing import Any

from tvmlab import te
from tvmlab.kernels import conv2d
from tvmlab.view.frame import frame


def sketch(trace: Any) -> str:
    """Tree and loops of a frame: each row with its id and step, each line with the id and step it has."""
    f = frame(trace)
    out = []
    for r in f["tree"]:
        words = [r["name"], r["extent"], *r["chips"], *(["reduce"] if r["reduce"] else []), r["tail"]]
        out.append(f"{'  ' * r['level'] + ' '.join(filter(None, words)):<52} {r['id']} s{r['step']}")
    out += ["", *[f"{r['spoken']}" for r in f["tree"]], ""]
    for line in f["loops"]:
        text = "    " * line["d"] + line["t"]
        out.append(f"{text:<84} {line.get('id', '')} {'s' + str(line['s']) if 's' in line else ''}".rstrip())
    if "error" in f:
        out.append(f"error: {f['error']['text']}")
    return "\n".join(line.rstrip() for line in out)


def matmul(n: int = 64, m: int = 64, p: int = 64) -> tuple[Any, Any, Any, Any]:
    A, B = te.placeholder((n, p), name="A"), te.placeholder((p, m), name="B")
    k = te.reduce_axis((0, p), name="k")
    C = te.compute((n, m), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    return te.create_schedule(C.op), A, B, C


def tiled(n: int = 64) -> Any:
    """Tiled, reordered, vectorized, parallel."""
    s, _, _, C = matmul(n, n, n)
    xo, yo, xi, yi = s[C].tile(C.op.axis[0], C.op.axis[1], 16, 16)
    k = C.op.reduce_axis[0]
    ko, ki = s[C].split(k, factor=4)
    s[C].reorder(xo, yo, ko, xi, ki, yi)
    s[C].unroll(ki)
    s[C].vectorize(yi)
    s[C].parallel(xo)
    return s


def twelve(n: int = 512) -> Any:
    """Twelve steps: tiles, a write cache in the tile, a packed read cache, all marks."""
    s, _, B, C = matmul(n, n, n)
    CL = s.cache_write(C, "global")
    xo, yo, xi, yi = s[C].tile(C.op.axis[0], C.op.axis[1], 32, 32)
    s[CL].compute_at(s[C], yo)
    xc, yc = s[CL].op.axis
    ko, ki = s[CL].split(s[CL].op.reduce_axis[0], factor=4)
    s[CL].reorder(ko, xc, ki, yc)
    s[CL].unroll(ki)
    s[CL].vectorize(yc)
    s[C].vectorize(yi)
    s[C].parallel(xo)
    BL = s.cache_read(B, "global", [CL])
    s[BL].compute_at(s[C], yo)
    s[BL].vectorize(s[BL].op.axis[1])
    return s


def conv() -> Any:
    """A padded conv2d: the padding inlined, output channels blocked, vectorized, rows parallel."""
    data, weight = te.placeholder((1, 3, 14, 14), name="data"), te.placeholder((16, 3, 3, 3), name="weight")
    out = conv2d.conv2d_nchw(data, weight, 1, 1, 1)
    s = te.create_schedule(out.op)
    pad = next(h for h in s.stages if h.op.name == "pad_temp")
    pad.compute_inline()
    n, f, y, x = s[out].op.axis
    fo, fi = s[out].split(f, factor=8)
    ic, kh, kw = s[out].op.reduce_axis
    s[out].reorder(n, fo, y, x, ic, kh, kw, fi)
    s[out].vectorize(fi)
    fused = s[out].fuse(fo, y)
    s[out].parallel(fused)
    return s

