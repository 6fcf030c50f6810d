"""Programs built by hand, and modules whose "machine code" is a Python function, for tests of the runtime alone."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tvmlab.core.build import const
from tvmlab.core.node import Buffer, Evaluate, For, Load, Stmt, Store, Var
from tvmlab.core.program import Function
from tvmlab.core.walk import seq
from tvmlab.runtime import Module
from tvmlab.target import base
from tvmlab.target.base import Compiled, Target, TargetKind


def buffer(name: str, *shape: Any, dtype: str = "float32", **options: Any) -> Buffer:
    return Buffer(name, tuple(const(d) if isinstance(d, int) else d for d in shape), dtype, **options)


def touching(reads: tuple[Buffer, ...] = (), writes: tuple[Buffer, ...] = ()) -> Stmt:
    """A body that only says which buffers are read and which are written."""
    zero = lambda b: tuple(const(0) for _ in b.shape)
    stores = [Store(b, zero(b), const(0, b.dtype)) for b in writes]
    return seq(*[Evaluate(Load(b, zero(b), b.dtype)) for b in reads], *stores)


def module(params: tuple[Any, ...], writes: tuple[Buffer, ...], call: Callable[..., Any], sizes: Any = ()) -> Module:
    """A module of a function `f` with these parameters; a call runs `call(*arrays, *scalars, *sizes)`."""
    reads = tuple(p for p in params if isinstance(p, Buffer) and p not in writes)
    fn = Function("f", params, touching(reads, writes), sizes)
    return Module(fn, Target("fake"), Compiled(lambda arrays, scalars: call(*arrays, *scalars), "source of f"))


def adder(name: str = "add", call: Callable[..., None] | None = None, **extra: Any) -> Module:
    """C[n] = A[n] + B[n], float32."""
    n, i = Var("n"), Var("i")
    a, b, c = (buffer(x, n) for x in "ABC")
    body = For(i, const(0), n, "serial", Store(c, (i,), Load(a, (i,), "float32") + Load(b, (i,), "float32")))
    compiled = Compiled(call or add_arrays, "C = A + B", lambda: "ir", lambda: "asm", extra)
    return Module(Function(name, (a, b, c), body, (n,)), Target("fake"), compiled)


def add_arrays(arrays: Any, scalars: Any) -> None:
    """Element by element, in order: memory that overlaps shows."""
    a, b, c = arrays
    assert scalars[-1] == len(a) == len(c)
    for i in range(len(a)):
        c[i] = a[i] + b[i]


def fake_get(name: str) -> TargetKind:
    """Every target is a CPU; compiling for it gives `add_arrays`."""
    return TargetKind(name, "a fake", lambda *_: "", lambda *_: Compiled(add_arrays, "rebuilt"))


def install(monkeypatch: Any) -> None:
    """`Target("fake")` exists while the test runs."""
    monkeypatch.setattr(base, "get", fake_get)


def f32(*values: float) -> np.ndarray:
    return np.array(values, np.float32)
