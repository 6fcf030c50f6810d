"""Loop programs written by hand, and the interpreter as the judge of what a pass may change: nothing it computes."""

import numpy as np

from tvmlab.core import build
from tvmlab.core import dtype as dt
from tvmlab.core.node import Buffer, For, If, Load, Store, Var
from tvmlab.core.program import Function, Program
from tvmlab.core.walk import seq, substitute, walk
from tvmlab.target import interp


def buffer(name, *shape, dtype="float32", **kw):
    return Buffer(name, tuple(map(build.to_expr, shape)), dtype, **kw)


def load(b, *indices):
    indices = tuple(map(build.to_expr, indices))
    lanes = max([dt.lanes(i.dtype) for i in indices], default=1)
    return Load(b, indices, dt.vector(b.dtype, lanes))


def store(b, indices, value, **kw):
    indices = indices if isinstance(indices, tuple) else (indices,)
    value = value if hasattr(value, "dtype") else build.const(value, b.dtype)
    return Store(b, tuple(map(build.to_expr, indices)), value, **kw)


def loop(v, extent, *body, kind="serial", lo=0, **kw):
    return For(v, build.to_expr(lo), build.to_expr(extent), kind, seq(*body), **kw)


def var(name, dtype="int32", **kw):
    return Var(name, dtype, **kw)


def ints(names):
    return [Var(n) for n in names.split()]


def when(cond, *then, likely=True):
    return If(cond, seq(*then), None, likely)


def program(params, *body, sizes=(), name="f"):
    return Program((Function(name, tuple(params), seq(*body), tuple(sizes)),))


def nodes(p, *types):
    return [x for fn in p.functions for x in walk(fn.body) if isinstance(x, types)]


def run(p, sizes=None, packed=None):
    """What the program leaves in its parameters, by name, from the same made-up numbers each time."""
    sizes = {v: build.const(n, v.dtype) for v, n in (sizes or {}).items()}
    arrays = [_array(b.logical or b, sizes) for b in p.entry.buffers]
    interp.run(p, arrays, {v.name: n.value for v, n in sizes.items()}, packed=packed)
    return {b.name: a.copy() for b, a in zip(p.entry.buffers, arrays)}


def _array(b, sizes):
    def number(e):
        return evaluate(e, sizes)

    shape = [number(n) for n in b.shape]
    strides = None if b.strides is None else [number(s) for s in b.strides]
    count = 1 + sum((n - 1) * s for n, s in zip(shape, strides)) if strides else int(np.prod(shape))
    values = (np.arange(count) * 7 + 3) % 23 - 11
    if strides is None:
        return values.reshape(shape).astype(b.dtype)
    values = values.astype(b.dtype)
    return np.lib.stride_tricks.as_strided(values, shape, [s * values.itemsize for s in strides])


def evaluate(e, sizes):
    from tvmlab.core.affine import simplify

    return simplify(substitute(build.to_expr(e), sizes)).value


def same_result(before, after, sizes=None):
    want, got = run(before, sizes), run(after, sizes)
    assert want.keys() == got.keys()
    for name, a in want.items():
        np.testing.assert_array_equal(got[name], a, err_msg=name)
