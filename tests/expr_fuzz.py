"""Random scalar expressions over all data types, on ordinary and extreme data: every target must agree.

    python -m tests.expr_fuzz 0 2000 llvm           seeds 0 to 1999, the interpreter against llvm
    python -m tests.expr_fuzz 17 18 llvm numba -v   one seed, printed

Arithmetic agrees to the bit (a NaN is a NaN); what goes through a function such as `exp`, to a few units in the last
place, which is why such calls stand only at the top of an expression.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

import tvmlab
from tvmlab import te, tir
from tvmlab.core import dtype as dt
from tvmlab.core.error import LabError, TVMError
from tvmlab.face.api import create_schedule

INTS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float16", "float32", "float64")
DTYPES = (*INTS, *FLOATS, "bool")
N = 48
MATHS = ("exp", "exp2", "exp10", "log", "log2", "log10", "log1p", "rsqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh",
         "asin", "acos", "atan", "asinh", "acosh", "atanh", "erf", "sigmoid")  # fmt: skip
MATHS2 = ("pow", "atan2", "hypot")
EXACT = ("sqrt", "floor", "ceil", "trunc", "round", "nearbyint", "abs")
EXACT2 = ("fmod", "copysign", "nextafter")
# of the largest value: relative error allowed in units of the last place of the result's type
ULPS = 16


def data(dtype: str, rng: np.random.Generator) -> np.ndarray:
    """Small numbers, any bits, and the extremes, in an order of their own."""
    if dtype == "bool":
        return rng.integers(0, 2, N).astype(bool)
    if dtype in FLOATS:
        kind = np.finfo(dtype)
        edge = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, np.nan, np.inf, -np.inf, kind.max, kind.min, kind.tiny,
                kind.smallest_subnormal, kind.eps, 127.5, 128.0, -129.0, 65535.5]  # fmt: skip
        with np.errstate(over="ignore"):
            rest = (rng.standard_normal(N - len(edge)) * 10.0 ** rng.integers(-3, 4, N - len(edge))).astype(dtype)
            found = np.concatenate([np.array(edge, dtype), rest])
    else:
        info = np.iinfo(dtype)
        edge = [0, 1, 2, 3, 7, 8, 31, 63, info.max, info.max - 1, info.min, info.min + 1, info.max // 2]
        edge += [-1, -2, -7] if info.min < 0 else [100]
        wild = rng.integers(info.min, info.max, (N - len(edge)) // 2, dtype=dtype, endpoint=True)
        tame = rng.integers(0, 20, N - len(edge) - len(wild)).astype(dtype)
        found = np.concatenate([np.array(edge, dtype), wild, tame])
    return rng.permutation(found)


def converted(e: Any, dtype: str) -> Any:
    """A cast. What no integer of the type can be (NaN, 1e30) has no defined value, so it becomes 0 first."""
    if e.dtype == dtype:
        return e
    if e.dtype in FLOATS and dtype in INTS:
        low, high = dt.limits(dtype)
        wide = e.astype("float64")
        e = te.if_then_else(te.all(wide > low / 2, wide < high / 2), wide, tir.const(0.0, "float64"))
    return e.astype(dtype)


class Writer:
    """Makes expressions of a wanted dtype; those that the front end refuses are not made."""

    def __init__(self, rng: random.Random, inputs: dict[str, Any], i: Any) -> None:
        self.rng, self.inputs, self.i = rng, inputs, i

    def leaf(self, dtype: str) -> Any:
        kind = self.rng.random()
        if kind < 0.75:
            return self.inputs[dtype, self.rng.randrange(2)][self.i]
        if kind < 0.85 and dtype != "bool":
            return self.i.astype(dtype)
        if dtype == "bool":
            return tir.const(self.rng.random() < 0.5, "bool")
        if dtype in FLOATS:
            return tir.const(self.rng.choice((0.0, 1.0, -2.5, 0.1, 3.0, -0.0)), dtype)
        low, high = dt.limits(dtype)
        return tir.const(self.rng.choice([0, 1, 2, 3, 5, 8, 100, int(low), int(high)]), dtype)

    def make(self, dtype: str, depth: int) -> Any:
        if depth == 0 or self.rng.random() < 0.1:
            return self.leaf(dtype)
        for _ in range(20):
            try:
                made = self.rng.choice(self.kinds(dtype))(dtype, depth - 1)
            except (TVMError, LabError, TypeError, ValueError):
                continue
            return converted(made, dtype)
        return self.leaf(dtype)

    def kinds(self, dtype: str) -> Sequence[Any]:
        common = (self.cast, self.choice, self.choice)
        if dtype == "bool":
            return (self.compare, self.compare, self.logic, self.test, *common)
        if dtype in FLOATS:
            return (self.arithmetic, self.arithmetic, self.arithmetic, self.exact, *common)
        return (self.arithmetic, self.arithmetic, self.division, self.bits, self.count, *common)

    def cast(self, dtype: str, depth: int) -> Any:
        return converted(self.make(self.rng.choice(DTYPES), depth), dtype)

    def choice(self, dtype: str, depth: int) -> Any:
        build = self.rng.choice((tir.Select, te.if_then_else))
        return build(self.make("bool", depth), self.make(dtype, depth), self.make(dtype, depth))

    def arithmetic(self, dtype: str, depth: int) -> Any:
        a, b = self.make(dtype, depth), self.make(self.mixed(dtype), depth)
        op = self.rng.choice("+-*" if dtype in INTS else "+-*/")
        if self.rng.random() < 0.25:
            return self.rng.choice((te.min, te.max))(a, b)
        return {"+": lambda: a + b, "-": lambda: a - b, "*": lambda: a * b, "/": lambda: a / b}[op]()

    def mixed(self, dtype: str) -> str:
        return dtype if self.rng.random() < 0.8 else self.rng.choice(DTYPES)

    def division(self, dtype: str, depth: int) -> Any:
        a, b = self.make(dtype, depth), self.make(dtype, depth)
        return self.rng.choice((lambda: a // b, lambda: a % b, lambda: te.truncdiv(a, b), lambda: te.truncmod(a, b)))()

    def bits(self, dtype: str, depth: int) -> Any:
        a, b = self.make(dtype, depth), self.make(dtype, depth)
        by = tir.const(self.rng.randrange(dt.bits(dtype)), dtype) if self.rng.random() < 0.5 else b
        made = (lambda: a & b, lambda: a | b, lambda: a ^ b, lambda: ~a, lambda: a << by, lambda: a >> by)
        return self.rng.choice(made)()

    def count(self, dtype: str, depth: int) -> Any:
        return te.popcount(self.make(dtype, depth)) if self.rng.random() < 0.5 else te.abs(self.make(dtype, depth))

    def compare(self, dtype: str, depth: int) -> Any:
        t = self.rng.choice(DTYPES[:-1])
        a, b = self.make(t, depth), self.make(t, depth)
        return self.rng.choice((lambda: a < b, lambda: a <= b, lambda: a > b, lambda: a >= b, lambda: a.equal(b)))()

    def logic(self, dtype: str, depth: int) -> Any:
        a, b = self.make("bool", depth), self.make("bool", depth)
        return self.rng.choice((lambda: te.all(a, b), lambda: te.any(a, b), lambda: tir.Not(a)))()

    def test(self, dtype: str, depth: int) -> Any:
        return self.rng.choice((te.isnan, te.isinf, te.isfinite))(self.make(self.rng.choice(FLOATS), depth))

    def exact(self, dtype: str, depth: int) -> Any:
        if self.rng.random() < 0.7:
            return getattr(te, self.rng.choice(EXACT))(self.make(dtype, depth))
        return getattr(te, self.rng.choice(EXACT2), te.fmod)(self.make(dtype, depth), self.make(dtype, depth))

    def maths(self, dtype: str, depth: int) -> Any:
        if self.rng.random() < 0.8:
            return getattr(te, self.rng.choice(MATHS))(self.make(dtype, depth))
        return getattr(te, self.rng.choice(MATHS2), te.atan2)(self.make(dtype, depth), self.make(dtype, depth))


class Case:
    """One expression, as a schedule, and the data."""

    def __init__(self, seed: int, depth: int = 4) -> None:
        rng = random.Random(seed)
        numbers = np.random.default_rng(seed)
        inputs = {(t, k): te.placeholder((N,), t, name=f"{t}_{k}") for t in DTYPES for k in (0, 1)}
        self.dtype = rng.choice(DTYPES)
        self.close = self.dtype in FLOATS and rng.random() < 0.3

        def body(i: Any) -> Any:
            w = Writer(rng, inputs, i)
            self.made = w.maths(self.dtype, 1) if self.close else w.make(self.dtype, depth)
            self.made = converted(self.made, self.dtype)
            return self.made

        out = te.compute((N,), body, name="out")
        self.schedule = create_schedule(out.op)
        if rng.random() < 0.5:
            outer, inner = self.schedule[out].split(out.op.axis[0], rng.choice((3, 4, 8, 16)))
            self.schedule[out].vectorize(inner)
        used = [t for t in inputs.values() if t in out.op.inputs]
        self.args = [*used, out]
        self.arrays = [data(t.dtype, numbers) for t in used]

    def run(self, target: str) -> np.ndarray:
        program = tvmlab.lower(self.schedule, self.args)
        strict = replace(program.entry, attrs=(*program.entry.attrs, ("fp", "strict")))
        result = np.zeros(N, self.dtype)
        tvmlab.build(replace(program, functions=(strict,)), target=target)(*[a.copy() for a in self.arrays], result)
        return result

    def differs(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Where two results are not the same."""
        if self.dtype not in FLOATS:
            return np.nonzero(a != b)[0]
        same = (a == b) & (np.signbit(a) == np.signbit(b)) | (np.isnan(a) & np.isnan(b))
        if self.close:
            with np.errstate(all="ignore"):
                step = np.spacing(np.maximum(np.abs(a), np.abs(b)).astype(self.dtype)).astype("float64")
                same |= np.isfinite(a) & (np.abs(a.astype("float64") - b.astype("float64")) <= ULPS * step)
        return np.nonzero(~same)[0]


def disagreements(seed: int, targets: Sequence[str], depth: int = 4) -> list[str]:
    """What the targets make of one expression that the interpreter does not."""
    case = Case(seed, depth)
    wanted = case.run("interp")
    found = []
    for target in targets:
        try:
            got = case.run(target)
        except Exception as e:
            found.append(f"seed {seed} on {target}: {type(e).__name__}: {str(e)[:200]}\n    {case.made}")
            continue
        at = case.differs(wanted, got)
        if len(at):
            k = at[0]
            read = ", ".join(f"{t.name}={a[k]!r}" for t, a in zip(case.args, case.arrays, strict=False))
            results = f"{got[k]!r}, interp {wanted[k]!r}"
            found.append(f"seed {seed} on {target}: {results} at i={k} with {read}\n    {case.made}")
    return found


def main() -> None:
    verbose = "-v" in sys.argv
    first, last, *targets = [a for a in sys.argv[1:] if a != "-v"]
    wrong = 0
    for seed in range(int(first), int(last)):
        if verbose:
            print(seed, Case(seed).made)
        for line in disagreements(seed, targets):
            wrong += 1
            print(line, flush=True)
    print(f"{wrong} disagreements")


if __name__ == "__main__":
    main()
