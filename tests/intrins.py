"""Tensor intrinsics and runs that tests of tensorize share."""

from __future__ import annotations

from typing import Any

import numpy as np

from tvmlab import te, tir
from tvmlab.core import packed
from tvmlab.face.api import build, create_schedule, lower

UNWRITTEN = 77  # what outputs hold before a run


def gemv(m: int, n: int, parts: str = "biu", style: str = "loops", **options: Any) -> te.TensorIntrin:
    """y[i] = sum(w[i, k]*x[k]), as a body, a reduce_init and a reduce_update (those named by b, i, u).

    `style`: loops of ir_builder, or Python functions (`packed`).
    """
    w, x = te.placeholder((m, n), name="w"), te.placeholder((n,), name="x")
    k = te.reduce_axis((0, n), name="k")
    y = te.compute((m,), lambda i: te.sum(w[i, k] * x[k], axis=k), name="y")

    def part(ins: Any, outs: Any, start: bool, add: bool) -> Any:
        if style == "packed":
            names = {(True, True): "test.gemv", (True, False): "test.gemv_reset", (False, True): "test.gemv_add"}
            return tir.call_packed(names[start, add], *outs, *(ins if add else ()))
        ib = tir.ir_builder.create()
        a, b, c = (ib.buffer_ptr(t) for t in (*ins, *outs))
        with ib.for_range(0, m, "r") as r:
            if start:
                c[r] = 0.0
            if add:
                with ib.for_range(0, n, "q") as q:
                    c[r] = c[r] + a[r, q] * b[q]
        return ib.get()

    def fcompute(ins: Any, outs: Any) -> Any:
        made = {"b": (True, True), "i": (True, False), "u": (False, True)}
        return tuple(part(ins, outs, *made[p]) if p in parts else None for p in "biu")

    return te.decl_tensor_intrin(y.op, fcompute, name=f"gemv_{m}x{n}", **options)


def _reset(y: Any) -> None:
    y[...] = 0


def _add(y: Any, w: Any, x: Any) -> None:
    y[...] = np.asarray(y) + np.asarray(w) @ np.asarray(x)


def _gemv(y: Any, w: Any, x: Any) -> Any:
    y[...] = np.asarray(w) @ np.asarray(x)
    return y  # what a function returns does not matter where it is called as a statement


packed.register("test.gemv", _gemv, override=True)
packed.register("test.gemv_reset", _reset, override=True)
packed.register("test.gemv_add", _add, override=True)


def rows(n: int = 6, m: int = 8, k: int = 8) -> tuple[Any, Any, Any]:
    """C[i, j] = sum(B[j, k]*A[i, k]): the rows of B times each row of A."""
    A, B = te.placeholder((n, k), name="A"), te.placeholder((m, k), name="B")
    r = te.reduce_axis((0, k), name="k")
    C = te.compute((n, m), lambda i, j: te.sum(B[j, r] * A[i, r], axis=r), name="C")
    return A, B, C


def blocked(C: Any, j_part: int, k_part: int) -> tuple[Any, dict[str, Any]]:
    """A schedule of `rows` with i, j.outer, k.outer, j.inner, k.inner, and its loops by name."""
    s = create_schedule(C.op)
    i, j = s[C].op.axis
    (k,) = s[C].op.reduce_axis
    jo, ji = s[C].split(j, j_part)
    ko, ki = s[C].split(k, k_part)
    s[C].reorder(i, jo, ko, ji, ki)
    return s, {"i": i, "jo": jo, "ji": ji, "ko": ko, "ki": ki}


def arrays(args: Any, outputs: int = 1) -> list[np.ndarray]:
    """Small whole numbers for the inputs, UNWRITTEN for the outputs."""
    rng = np.random.default_rng(7)
    made = [rng.integers(-4, 5, [int(d) for d in t.shape]).astype(t.dtype) for t in args]
    for a in made[len(made) - outputs :]:
        a[...] = UNWRITTEN
    return made


def ran(s: Any, args: Any, target: str = "interp", outputs: int = 1) -> list[np.ndarray]:
    """The arrays after a run."""
    made = arrays(args, outputs)
    build(s, args, target)(*made)
    return made


def text(s: Any, args: Any) -> str:
    return str(lower(s, args, simple_mode=True))


def c_gemv(m: int, l: int) -> te.TensorIntrin:  # noqa: E741
    """The intrinsic of the classic tensorize tutorial."""
    a, b = te.placeholder((l,), name="a"), te.placeholder((m, l), name="b")
    k = te.reduce_axis((0, l), name="k")
    c = te.compute((m,), lambda i: te.sum(a[k] * b[i, k], axis=k), name="c")
    Ab = tir.decl_buffer(a.shape, a.dtype, name="A", offset_factor=1, strides=[1])
    Bb = tir.decl_buffer(b.shape, b.dtype, name="B", offset_factor=1, strides=[te.var("s1"), 1])
    Cb = tir.decl_buffer(c.shape, c.dtype, name="C", offset_factor=1, strides=[1])

    def intrin_func(ins: Any, outs: Any) -> Any:
        aa, bb = ins
        cc = outs[0]

        def _body() -> Any:
            ib = tir.ir_builder.create()
            pointers = cc.access_ptr("w"), aa.access_ptr("r"), bb.access_ptr("r")
            ib.emit(tir.call_extern("int32", "gemv_update", *pointers, m, l, bb.strides[0]))
            return ib.get()

        def _reduce_reset() -> Any:
            ib = tir.ir_builder.create()
            ib.emit(tir.call_extern("int32", "gemv_reset", cc.access_ptr("w"), m))
            return ib.get()

        def _reduce_update() -> Any:
            return _body()

        return _body(), _reduce_reset(), _reduce_update()

    return te.decl_tensor_intrin(c.op, intrin_func, name="gemv", binds={a: Ab, b: Bb, c: Cb})


def tutorial(factor: int = 16) -> Any:
    """(schedule, arguments, the outermost axis)"""
    N, M, L = 32, 48, 64
    A, B = te.placeholder((N, L), name="A"), te.placeholder((M, L), name="B")
    k = te.reduce_axis((0, L), name="k")
    C = te.compute((N, M), lambda i, j: te.sum(A[i, k] * B[j, k], axis=k), name="C")
    s = create_schedule(C.op)
    x, y = C.op.axis
    z = C.op.reduce_axis[0]
    yo, yi = s[C].split(y, factor=factor)
    zo, zi = s[C].split(z, factor=factor)
    s[C].reorder(x, yo, zo, yi, zi)
    s[C].tensorize(yi, c_gemv(factor, factor))
    return s, [A, B, C], x
