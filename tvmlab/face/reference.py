"""What an expression must give, by NumPy: from the tensors' own bodies, past schedules, lowering and generators.

    plan = Plan(operations, sizes)          sizes: variables of shapes -> numbers
    results = plan({A: a, B: b})            tensor -> array, for every tensor

Sums of products become `np.einsum` (`np.matmul` where it is one), other expressions arithmetic of whole arrays. That is
how a person would write most of them in NumPy: `natural` says so, and then the time of the plan is the library's time.
With `wide=True` sums are made in double precision, which is what a check compares with.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..core import dtype as dt
from ..core.affine import lin
from ..core.affine.form import Lin
from ..core.build import const
from ..core.error import LabError
from ..core.node import Bin, Call, Cast, Combiner, Const, Expr, Let, Load, Not, Reduce, Select, Var
from ..core.walk import constant, rewrite, substitute
from ..expr.tensor import ComputeOp, Operation, PlaceholderOp, Tensor

GRID = 1 << 25  # elements of a temporary: more, and the reduction is done a part at a time
PARTS = 8192  # parts of a reduction that are worth a loop in Python
Value = Any
Closure = Callable[["Run"], Value]


class Unsupported(LabError):
    """An expression that has no form in NumPy here."""


class Run:
    """One evaluation: the arrays made so far, and the values of variables that are no axis of the grid."""

    __slots__ = ("arrays", "values")

    def __init__(self, arrays: dict[Tensor, Value], values: dict[Var, Value]) -> None:
        self.arrays, self.values = arrays, values


class Plan:
    """`operations`: in order of computation, inputs included."""

    def __init__(self, operations: Sequence[Operation], sizes: Mapping[Var, int | float], wide: bool = False) -> None:
        self.wide, self.natural, self.words = wide, True, list[str]()
        self.sizes = {v: const(n, v.dtype) for v, n in sizes.items()}
        self.reducing = False
        self.steps = [(op, self._step(op)) for op in operations if not isinstance(op, PlaceholderOp)]

    @property
    def name(self) -> str:
        """What of NumPy it uses."""
        return f"NumPy ({', '.join(dict.fromkeys(self.words))})" if self.words else "NumPy"

    def __call__(self, given: Mapping[Tensor, Value]) -> dict[Tensor, Value]:
        run = Run(dict(given), {})
        with np.errstate(all="ignore"):
            for op, step in self.steps:
                for tensor, array in zip(op.outputs, step(run), strict=True):
                    run.arrays[tensor] = array
        return run.arrays

    def number(self, e: Expr) -> int:
        found = constant(substitute(e, self.sizes))
        if found is None:
            raise Unsupported("no-size", f"the size {e!r} is not known")
        return int(found)

    def _step(self, op: Operation) -> Callable[[Run], list[Value]]:
        if type(op) is not ComputeOp:
            raise Unsupported("no-numpy", f"{op.name} is no te.compute")
        grid = _Grid(self, [(a.var, self.number(a.dom.min), self.number(a.dom.extent)) for a in op.axis if a.dom])
        shape = tuple(n for _, _, n in grid.axes)
        kinds = [np.dtype(t.dtype) for t in op.outputs]
        bodies = [substitute(b, self.sizes) for b in op.body]
        first = bodies[0]
        self.reducing = isinstance(first, Reduce)
        if isinstance(first, Reduce):
            fold = _reduction(self, grid, first)
            order = [b.index for b in bodies if isinstance(b, Reduce)]
            return lambda run: [_finished(v, shape, k) for v, k in zip(_picked(fold(run), order), kinds, strict=True)]
        parts = [grid.value(b) for b in bodies]
        return lambda run: [_finished(f(run), shape, k) for f, k in zip(parts, kinds, strict=True)]


def _picked(values: Sequence[Value], order: Sequence[int]) -> list[Value]:
    return [values[i] for i in order]


def _finished(value: Value, shape: tuple[int, ...], kind: Any) -> Value:
    """The value as an array of the tensor's shape and dtype."""
    made = _as(np.asarray(value), kind)
    return made if made.shape == shape else np.ascontiguousarray(np.broadcast_to(made, shape))


def _as(x: Value, kind: Any) -> Value:
    """Conversion: floats become integers by truncation, what is no number becomes 0."""
    if x.dtype == kind:
        return x
    if x.dtype.kind == "f" and kind.kind in "iu":
        return np.where(np.isfinite(x), x, 0).astype(kind)
    return x != 0 if kind.kind == "b" else x.astype(kind)


# ---------------------------------------------------------------- expressions over a grid


class _Grid:
    """Expressions as functions that give arrays over the axes: (variable, first value, extent), one dimension each.

    `loose`: variables that a run gives one at a time, with their ranges.
    """

    def __init__(self, plan: Plan, axes: Sequence[tuple[Var, int, int]], loose: Sequence[tuple[Var, int, int]] = ()):
        self.plan, self.axes, self.loose = plan, list(axes), list(loose)
        self.place = {v: k for k, (v, _, _) in enumerate(self.axes)}
        self.range = {v: (lo, n) for v, lo, n in [*self.axes, *self.loose]}
        self.bound: set[Var] = set()

    def value(self, e: Expr) -> Closure:
        make = MAKERS.get(type(e))
        if make is None:
            raise Unsupported("no-numpy", f"{type(e).__name__} has no form in NumPy here")
        return make(self, e)

    # ------------------------------------------------------------ leaves

    def variable(self, e: Var) -> Closure:
        if e in self.place:
            lo, n = self.range[e]
            shape = [1] * len(self.axes)
            shape[self.place[e]] = n
            made = np.arange(lo, lo + n, dtype=np.int64).reshape(shape)
            return lambda run: made
        if e not in self.range and e not in self.bound:
            raise Unsupported("no-size", f"the variable {e.name} has no value")
        return lambda run: run.values[e]

    def load(self, e: Load) -> Closure:
        tensor = e.buffer
        if not isinstance(tensor, Tensor) or e.mask is not None:
            raise Unsupported("no-numpy", "a read of something that is no tensor")
        view = self.view(e)
        if view is not None:
            return view
        padding = not self.plan.reducing and all(v in self.range for i in e.indices for v in lin(i).terms)
        self.plan.natural = self.plan.natural and padding
        parts = [self.value(i) for i in e.indices]

        def gather(run: Run) -> Value:
            a = run.arrays[tensor]
            index = tuple(np.clip(np.asarray(f(run)), 0, max(n - 1, 0)) for f, n in zip(parts, a.shape, strict=True))
            return a[index]

        return gather

    def view(self, e: Load) -> Closure | None:
        """The elements as a view of the memory, for indices that are sums of multiples of axes, inside the shape."""
        tensor, rank = e.buffer, len(self.axes)
        forms = [lin(i) for i in e.indices]
        if not all(self.inside(f, self.plan.number(n)) for f, n in zip(forms, tensor.shape, strict=True)):
            return None
        uses = {v for f in forms for v in f.terms if v in self.place}
        shape = tuple(n if v in uses else 1 for v, _, n in self.axes)
        steps = [[f.terms.get(v, 0) for f in forms] for v, _, _ in self.axes]
        first = [f.const + sum(c * self.range[v][0] for v, c in f.terms.items() if v in self.place) for f in forms]
        moving = [[(v, c) for v, c in f.terms.items() if v not in self.place] for f in forms]

        def view(run: Run) -> Value:
            a = run.arrays[tensor]
            start = tuple(
                slice(k + sum(c * int(run.values[v]) for v, c in more), None)
                for k, more in zip(first, moving, strict=True)
            )
            strides = [sum(c * s for c, s in zip(step, a.strides, strict=True)) for step in steps]
            return np.lib.stride_tricks.as_strided(a[start] if start else a, shape, strides or [0] * rank)

        return view

    def inside(self, form: Lin, extent: int) -> bool:
        """Is the index a sum of multiples of known variables, and always inside the dimension?"""
        low = high = form.const
        for v, c in form.terms.items():
            if v not in self.range:
                return False
            lo, n = self.range[v]
            ends = (c * lo, c * (lo + n - 1))
            low, high = low + min(ends), high + max(ends)
        return low >= 0 and high < extent

    # ------------------------------------------------------------ operations

    def binary(self, e: Bin) -> Closure:
        f = BINARY.get(e.op)
        if e.op in ("min", "max") and self.plan.wide:  # of a NaN and a number, the second: as programs do
            f = (lambda a, b: np.where(a < b, a, b)) if e.op == "min" else (lambda a, b: np.where(a > b, a, b))
        if f is None:
            raise Unsupported("no-numpy", f"`{e.op}` has no form in NumPy here")
        a, b = self.value(e.a), self.value(e.b)
        return lambda run: f(a(run), b(run))

    def call(self, e: Call) -> Closure:
        parts, kind = [self.value(a) for a in e.args], np.dtype(e.dtype)
        if e.name == "likely":
            return parts[0]
        if e.name == "if_then_else":
            return lambda run: np.where(*(f(run) for f in parts))
        f = CALLS.get(e.name)
        if f is None or (e.name == "pow" and dt.is_int(e.dtype)):
            raise Unsupported("no-numpy", f"`{e.name}` has no form in NumPy here")
        return lambda run: np.asarray(f(*(p(run) for p in parts))).astype(kind, copy=False)

    def let(self, e: Let) -> Closure:
        value = self.value(e.value)
        self.bound.add(e.var)  # type: ignore[arg-type]
        body = self.value(e.body)

        def call(run: Run) -> Value:
            return body(Run(run.arrays, {**run.values, e.var: value(run)}))  # type: ignore[dict-item]

        return call

    def cast(self, e: Cast) -> Closure:
        value, kind = self.value(e.value), np.dtype(e.dtype)
        return lambda run: _as(np.asarray(value(run)), kind)

    def select(self, e: Select) -> Closure:
        parts = [self.value(x) for x in (e.cond, e.then, e.other)]
        return lambda run: np.where(*(f(run) for f in parts))

    def negation(self, e: Not) -> Closure:
        value = self.value(e.a)
        return lambda run: np.logical_not(value(run))

    def constant(self, e: Const) -> Closure:
        made = np.dtype(e.dtype).type(e.value)
        return lambda run: made


MAKERS: dict[type, Callable[[_Grid, Any], Closure]] = {
    Var: _Grid.variable, Const: _Grid.constant, Bin: _Grid.binary, Not: _Grid.negation, Cast: _Grid.cast,
    Select: _Grid.select, Call: _Grid.call, Load: _Grid.load, Let: _Grid.let,
}  # fmt: skip


def _round(x: Value) -> Value:
    """Half away from zero."""
    whole = np.trunc(x)
    return np.where(np.abs(x - whole) >= 0.5, whole + np.copysign(1, x), whole)


def _truncdiv(a: Value, b: Value) -> Value:
    return (a - np.fmod(a, b)) // b


BINARY: dict[str, Callable[[Value, Value], Value]] = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide, "//": np.floor_divide, "%": np.remainder,
    "truncdiv": _truncdiv, "truncmod": np.fmod, "min": np.minimum, "max": np.maximum, "<": np.less,
    "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal, "==": np.equal, "!=": np.not_equal,
    "and": np.logical_and, "or": np.logical_or, "&": np.bitwise_and, "|": np.bitwise_or, "^": np.bitwise_xor,
    "<<": np.left_shift, ">>": np.right_shift,
}  # fmt: skip
CALLS: dict[str, Callable[..., Value]] = {
    "exp": np.exp, "exp2": np.exp2, "log": np.log, "log2": np.log2, "log10": np.log10, "log1p": np.log1p,
    "sqrt": np.sqrt, "rsqrt": lambda x: 1 / np.sqrt(x), "sin": np.sin, "cos": np.cos, "tan": np.tan, "sinh": np.sinh,
    "cosh": np.cosh, "tanh": np.tanh, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "asinh": np.arcsinh,
    "acosh": np.arccosh, "atanh": np.arctanh, "sigmoid": lambda x: 1 / (1 + np.exp(-x)), "floor": np.floor,
    "ceil": np.ceil, "trunc": np.trunc, "round": _round, "nearbyint": np.rint, "fabs": np.abs, "abs": np.abs,
    "pow": np.power, "fmod": np.fmod, "atan2": np.arctan2, "hypot": np.hypot, "copysign": np.copysign,
    "erf": lambda x: np.frompyfunc(math.erf, 1, 1)(x), "isnan": np.isnan, "isfinite": np.isfinite, "isinf": np.isinf,
}  # fmt: skip


# ---------------------------------------------------------------- reductions

Fold = Callable[[Run], Sequence[Value]]
UFUNCS: dict[str, Any] = {"+": np.add, "*": np.multiply, "min": np.minimum, "max": np.maximum}
WORDS = {"+": "sum", "*": "prod", "min": "min", "max": "max"}


def _reduction(plan: Plan, grid: _Grid, r: Reduce) -> Fold:
    """A whole reduction: as a product of matrices, as one operation on a grid, or a part at a time."""
    inner = [(a.var, plan.number(a.dom.min), plan.number(a.dom.extent)) for a in r.axes]
    plain = constant(r.cond) == 1 and not r.init
    op = _operator(r.combiner)
    if op == "+" and plain:
        contraction = _contraction(plan, _Grid(plan, [*grid.axes, *inner]), len(grid.axes), r.sources[0])
        if contraction is not None:
            return contraction
    sizes = [n for _, _, n in [*grid.axes, *inner]]
    if op is not None and not r.init and math.prod(sizes) <= GRID:
        return _at_once(plan, _Grid(plan, [*grid.axes, *inner]), len(grid.axes), r, op)
    return _by_parts(plan, _Grid(plan, grid.axes, inner), inner, r)


def _operator(c: Combiner) -> str | None:
    """The operator, of a fold that is one."""
    if len(c.result) != 1 or not isinstance(c.result[0], Bin):
        return None
    e = c.result[0]
    sides = (e.a, e.b)
    known = e.op in UFUNCS and sides in ((c.lhs[0], c.rhs[0]), (c.rhs[0], c.lhs[0]))
    return e.op if known else None


def _at_once(plan: Plan, grid: _Grid, rank: int, r: Reduce, op: str) -> Fold:
    sizes = tuple(n for _, _, n in grid.axes)
    source, cond, identity = grid.value(r.sources[0]), grid.value(r.cond), grid.value(r.combiner.identity[0])
    everywhere = constant(r.cond) == 1
    ufunc, axes = UFUNCS[op], tuple(range(rank, len(sizes)))
    wide = _wide(plan, r.sources[0].dtype, op)
    reads = sum(math.prod(map(plan.number, x.buffer.shape)) for x in _loads(r.sources[0]))
    plan.natural = plan.natural and math.prod(sizes) <= 4 * (reads + math.prod(sizes[:rank]))
    plan.words.append(WORDS[op])

    def fold(run: Run) -> Sequence[Value]:
        value, start = source(run), identity(run)
        if not everywhere:
            value = np.where(cond(run), value, start)
        return [ufunc.reduce(np.broadcast_to(value, sizes), axis=axes, dtype=wide, initial=start)]

    return fold


def _wide(plan: Plan, dtype: str, op: str) -> Any:
    return np.dtype("float64") if plan.wide and dt.is_float(dtype) and op in "+*" else np.dtype(dtype)


def _by_parts(plan: Plan, grid: _Grid, inner: Sequence[tuple[Var, int, int]], r: Reduce) -> Fold:
    """One point of the reduction after the other, each for all elements: also folds of a person's own."""
    count = math.prod(n for _, _, n in inner)
    if count > PARTS:
        raise Unsupported("too-long", f"a reduction of {count} points is not done point by point")
    plan.natural = False
    c = r.combiner
    grid.bound |= {*c.lhs, *c.rhs}
    sources, cond = [grid.value(s) for s in r.sources], grid.value(r.cond)
    starts = [grid.value(e) for e in (r.init or c.identity)]
    results = [grid.value(e) for e in c.result]
    op = _operator(c)
    kinds = [_wide(plan, s.dtype, op or "") if op else np.dtype(s.dtype) for s in r.sources]

    def fold(run: Run) -> Sequence[Value]:
        values = [np.asarray(f(run)).astype(k) for f, k in zip(starts, kinds, strict=True)]
        for point in np.ndindex(*(n for _, _, n in inner)):
            here = dict(run.values)
            here.update({v: lo + p for (v, lo, _), p in zip(inner, point, strict=True)})
            inside = Run(run.arrays, here)
            new = [np.asarray(f(inside)).astype(k) for f, k in zip(sources, kinds, strict=True)]
            here.update(zip([*c.lhs, *c.rhs], [*values, *new], strict=True))
            on = cond(inside)
            made = [np.asarray(f(inside)) for f in results]
            values = [np.where(on, m, v).astype(k) for m, v, k in zip(made, values, kinds, strict=True)]
        return values

    return fold


def _loads(e: Expr) -> list[Load]:
    found: list[Load] = []
    rewrite(e, lambda n: found.append(n) if isinstance(n, Load) else None)
    return found


# ---------------------------------------------------------------- products of matrices


def _contraction(plan: Plan, grid: _Grid, rank: int, source: Expr) -> Fold | None:
    """A sum of products of elements, as einsum; None where it is something else."""
    factors = _factors(source)
    if factors is None or len(factors) < 2:
        return None
    views, axes = [], []
    for kind, load in factors:
        view = grid.view(load)
        if view is None:
            return None
        used = {v for i in load.indices for v in lin(i).terms}
        axes.append([k for k, (v, _, _) in enumerate(grid.axes) if v in used])
        views.append((view, kind))
    if {k for a in axes for k in a} != set(range(len(grid.axes))):
        return None
    if len({k for k, _ in factors}) > 1:
        return None
    out = list(range(rank))
    compute = "float64" if plan.wide and dt.is_float(factors[0][0]) else factors[0][0]
    as_matmul = rank == 2 and axes in ([[0, 2], [1, 2]], [[1, 2], [0, 2]])
    plan.words.append("matmul" if as_matmul else "einsum")

    def operands(run: Run) -> list[Value]:
        """The views without the axes that they do not have."""
        made = []
        for (view, _), own in zip(views, axes, strict=True):
            a = view(run)
            a = a.reshape([n for k, n in enumerate(a.shape) if k in own]) if a.ndim != len(own) else a
            made.append(a.astype(compute, copy=False))
        return made

    if as_matmul:
        flip = axes[0] == [1, 2]

        def product(run: Run) -> Sequence[Value]:
            a, b = operands(run)
            return [b @ a.T if flip else a @ b.T]

        return product

    def fold(run: Run) -> Sequence[Value]:
        pairs = [x for pair in zip(operands(run), axes, strict=True) for x in pair]
        return [np.einsum(*pairs, out, optimize=True)]

    return fold


def _factors(e: Expr) -> list[tuple[str, Load]] | None:
    """The elements that are multiplied, each with the dtype it is converted to."""
    if isinstance(e, Bin) and e.op == "*":
        a, b = _factors(e.a), _factors(e.b)
        return None if a is None or b is None else [*a, *b]
    inner = e.value if isinstance(e, Cast) else e
    if not isinstance(inner, Load) or not isinstance(inner.buffer, Tensor):
        return None
    wider = dt.bits(e.dtype) >= dt.bits(inner.dtype) and dt.is_float(e.dtype) >= dt.is_float(inner.dtype)
    return [(e.dtype, inner)] if e is inner or wider else None
