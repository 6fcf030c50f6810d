"""Loop programs written by hand."""

import numpy as np

from tvmlab.core.build import cast, to_expr
from tvmlab.core.node import Alloc, Buffer, For, Load, Store
from tvmlab.core.program import Function
from tvmlab.core.walk import seq


def _exprs(indices):
    return tuple(to_expr(i) for i in (indices if isinstance(indices, tuple) else (indices,)))


def buffer(name, shape, dtype="float32", **options):
    return Buffer(name, _exprs(tuple(shape)), dtype, **options)


def load(b, *indices, dtype="", mask=None):
    return Load(b, _exprs(indices), dtype or b.dtype, mask)


def store(b, indices, value, mask=None, origin=None):
    e = to_expr(value)
    return Store(b, _exprs(indices), cast(e, b.dtype) if not hasattr(value, "dtype") else e, mask, origin)


def loop(v, extent, *body, kind="serial", lo=0, thread="", origin=None):
    return For(v, to_expr(lo), to_expr(extent), "thread" if thread else kind, seq(*body), thread, origin)


def alloc(b, *body, origin=None):
    return Alloc(b, seq(*body), origin)


def function(params, body, sizes=(), name="f"):
    return Function(name, tuple(params), body, tuple(sizes))


def floats(values):
    """A float32 array; of a number, that many zeros."""
    return np.zeros(values, "float32") if isinstance(values, int) else np.array(values, "float32")


def ints(count):
    return np.zeros(count, "int32")
