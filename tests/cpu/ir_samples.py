"""Hand-built flat loop programs, as the lowering would make them, and a runner: the targets' tests share them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tvmlab.core import dtype as dt
from tvmlab.core.build import binary, const, to_expr
from tvmlab.core.node import (
    Alloc,
    Broadcast,
    Buffer,
    Call,
    Expr,
    For,
    If,
    Let,
    LetStmt,
    Load,
    Ramp,
    Select,
    Seq,
    Stmt,
    Store,
    Var,
    While,
)  # fmt: skip
from tvmlab.core.program import Function, Program
from tvmlab.target import Target, get

INTS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
FLOATS = ("float16", "float32", "float64")
rng = np.random.default_rng(1)


def sample(dtype: str, n: int = 53) -> np.ndarray:
    """Numbers of the whole range, and the awkward ones."""
    if dtype == "bool":
        return rng.integers(0, 2, n).astype(bool)
    if dtype.startswith("float"):
        x = rng.normal(0, 3, n).astype(dtype)
        x[:8] = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.5, 100.0]
        return x
    info = np.iinfo(dtype)
    x = rng.integers(info.min, info.max, n, dtype=dtype, endpoint=True)
    x[:6] = [info.min, info.max, 0, 1, info.max, 3]
    return x


def buf(name: str, size: Any, dtype: str = "float32", **more: Any) -> Buffer:
    """A flat buffer."""
    return Buffer(name, (to_expr(size),), dtype, **more)


def loop(name: str, extent: Any, body: Callable[[Var], Stmt], kind: str = "serial", lo: Any = 0) -> For:
    v = Var(name)
    return For(v, to_expr(lo), to_expr(extent), kind, body(v))


def load(b: Buffer, index: Any, mask: Any = None) -> Load:
    index = to_expr(index)
    return Load(b, (index,), dt.vector(b.dtype, dt.lanes(index.dtype)), mask)


def store(b: Buffer, index: Any, value: Any, mask: Any = None) -> Store:
    index = to_expr(index)
    dtype = dt.vector(b.dtype, dt.lanes(index.dtype))
    value = to_expr(value) if not isinstance(value, (int, float)) else splat(const(value, b.dtype), dt.lanes(dtype))
    return Store(b, (index,), value, mask)


def splat(e: Any, n: int) -> Expr:
    return to_expr(e) if n == 1 else Broadcast(to_expr(e), n)


def ramp(base: Any, n: int, stride: Any = 1) -> Ramp:
    return Ramp(to_expr(base), to_expr(stride), n)


def pure(name: str, *args: Any, dtype: str | None = None) -> Call:
    args = tuple(to_expr(a) for a in args)
    return Call(name, args, dtype or args[0].dtype)


def program(name: str, params: tuple[Any, ...], *body: Stmt, sizes: tuple[Var, ...] = (), **attrs: Any) -> Program:
    return Program((Function(name, params, body[0] if len(body) == 1 else Seq(body), sizes, tuple(attrs.items())),))


def build(p: Program, target: str | Target = "llvm") -> Any:
    target = Target(target) if isinstance(target, str) else target
    return get(target.name).compile(p, target)


def run(p: Program, *arrays: Any, scalars: tuple[Any, ...] = (), target: str | Target = "llvm") -> None:
    build(p, target).call(arrays, scalars)


Cases = dict[str, tuple[Callable[..., Any], str]]  # name -> (function of expressions, dtype of its result)


def elementwise(cases: Cases, inputs: tuple[str, ...], n: int, lanes: int = 1) -> Program:
    """out_k[i] = f_k(in0[i], in1[i], ...) for each case, in vectors of `lanes` with a masked tail."""
    xs = tuple(buf(f"X{k}", n, d) for k, d in enumerate(inputs))
    outs = tuple(buf(f"Out{k}", n, d) for k, (_, d) in enumerate(cases.values()))

    def one(f: Callable[..., Any], out: Buffer) -> Stmt:
        if lanes == 1:
            return loop("i", n, lambda i: store(out, i, f(*[load(x, i) for x in xs])))

        def body(i: Var) -> Stmt:
            at = ramp(i * lanes, lanes)
            mask = binary("<", at, splat(n, lanes))
            return store(out, at, f(*[load(x, at, mask) for x in xs]), mask)

        return loop("i", -(-n // lanes), body)

    return program("elementwise", (*xs, *outs), *[one(f, out) for (f, _), out in zip(cases.values(), outs)])


def apply_many(cases: Cases, *arrays: Any, lanes: int = 1, target: str | Target = "llvm") -> dict[str, Any]:
    """Each case's function over the arrays by the target, all in one program."""
    outs = {name: np.zeros(len(arrays[0]), d) for name, (_, d) in cases.items()}
    p = elementwise(cases, tuple(str(a.dtype) for a in arrays), len(arrays[0]), lanes)
    run(p, *arrays, *outs.values(), target=target)
    return outs


def apply(f: Callable[..., Any], *arrays: Any, output: str, lanes: int = 1, target: str | Target = "llvm") -> Any:
    """`f` over arrays by the target."""
    return apply_many({"f": (f, output)}, *arrays, lanes=lanes, target=target)["f"]


def packed_matmul(n: int, mr: int = 8, nv: int = 2, vl: int = 16, dtype: str = "float32") -> Program:
    """C = A @ B, n*n: B packed into panels, a register tile of mr x nv vectors, k unrolled by 4."""
    nr = nv * vl
    assert n % mr == 0 and n % nr == 0
    a, b, c = buf("A", n * n, dtype), buf("B", n * n, dtype), buf("C", n * n, dtype)
    panel, acc = buf("panel", n * nr, dtype, scope="local"), buf("acc", mr * nr, dtype, scope="local")

    def pack(j: Var) -> Stmt:
        return loop("kp", n, lambda k: loop("vp", nv, lambda v: store(
            panel, ramp(k * nr + v * vl, vl), load(b, ramp(k * n + j * nr + v * vl, vl))), "unrolled"))  # fmt: skip

    def tile(j: Var, i: Var) -> Stmt:
        def each(f: Callable[[Var, Var], Stmt], tag: str) -> Stmt:
            return loop("m" + tag, mr, lambda m: loop("v" + tag, nv, lambda v: f(m, v), "unrolled"), "unrolled")

        def at(m: Var, v: Var) -> Ramp:
            return ramp(m * nr + v * vl, vl)

        def multiply(k: Expr) -> Callable[[Var, Var], Stmt]:
            return lambda m, v: store(acc, at(m, v), load(acc, at(m, v)) + splat(load(a, (i * mr + m) * n + k), vl)
                                      * load(panel, ramp(k * nr + v * vl, vl)))  # fmt: skip

        zero = each(lambda m, v: store(acc, at(m, v), 0.0), "z")
        update = loop("ko", n // 4, lambda ko: loop("ki", 4, lambda ki: each(multiply(ko * 4 + ki), "u"), "unrolled"))
        write = each(lambda m, v: store(c, ramp((i * mr + m) * n + j * nr + v * vl, vl), load(acc, at(m, v))), "w")
        return Alloc(acc, Seq((zero, update, write)))

    nest = loop("j", n // nr, lambda j: Seq((pack(j), loop("i", n // mr, lambda i: tile(j, i)))))
    return program("matmul", (a, b, c), Alloc(panel, nest))


__all__ = [
    "Alloc", "Buffer", "Call", "Function", "If", "Let", "LetStmt", "Load", "Program", "Ramp", "Select", "Seq", "Store",
    "Target", "Var", "While", "apply", "apply_many", "binary", "buf", "build", "const", "elementwise", "load", "loop",
    "packed_matmul", "program", "pure", "ramp", "run", "splat", "store", "to_expr",
]  # fmt: skip
