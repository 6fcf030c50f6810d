"""Reductions: reduce axes, the built-in reducers, and reducers of one's own."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any
from weakref import WeakSet

from ..core import dtype as dt
from ..core.build import as_bool, binary, const, text, to_expr
from ..core.error import ExpressionError, ExpressionTypeError, TVMError
from ..core.intrin import max_value, min_value
from ..core.node import REDUCE, Combiner, Const, Expr, IterVar, Load, Range, Reduce, Var
from ..core.walk import substitute

# the variables of reduce axes: one that nothing reduces over is a forgotten te.sum
REDUCE_VARS: WeakSet[Var] = WeakSet()


def as_range(dom: Any) -> Range:
    """(begin, end), a Range, or an extent."""
    if isinstance(dom, Range):
        return dom
    pair = dom if isinstance(dom, (tuple, list)) else (0, dom)
    try:
        begin, end = map(to_expr, pair)
    except (TypeError, ValueError):
        raise TypeError(f"a domain is (begin, end) or an extent, not {dom!r}") from None
    for e in (begin, end):
        if not dt.is_int(e.dtype):
            raise TVMError(f"a domain's begin and end are integers, not {e!r} ({e.dtype})")
    extent = binary("-", end, begin)
    if isinstance(extent, Const) and extent.value < 0:
        raise TVMError(f"a domain's end must not lie before its begin: {dom!r}")
    return Range(begin, extent)


def reduce_axis(dom: Any, name: str = "rv", thread_tag: str = "") -> IterVar:
    """An axis to fold over, from `dom[0]` to `dom[1]` (exclusive)."""
    domain = as_range(dom)
    var = Var(text(name, "the name of a reduce axis"), domain.extent.dtype)
    REDUCE_VARS.add(var)
    return IterVar(domain, var, REDUCE, thread_tag)


def comm_reducer(
    fcombine: Callable[..., Any], fidentity: Callable[..., Any], name: str = "reduce", about: str = ""
) -> Reducer:
    """A reducer `r(expr, axis, where=None, init=None)` from a commutative, associative fold.

    `fcombine(x, y)` takes two values (tuples for a tuple reduction), `fidentity(dtype, ...)` gives the identity.
    `about`: its docstring.
    """
    return Reducer(fcombine, fidentity, name, about)


ABOUT = """Fold an expression over reduce axes: `{name}(A[i, k], axis=k)`.

`axis`: a te.reduce_axis, or a list of them. `where`: a condition; elements for which it does not hold are left out.
`init`: what the fold starts from (a constant or a tensor's element); without it, the identity.
With several values and no axis, the values are folded element by element: `{name}(a, b, c)`."""


class Reducer:
    def __init__(
        self, fcombine: Callable[..., Any], fidentity: Callable[..., Any], name: str, about: str = ""
    ) -> None:
        self.fcombine, self.fidentity, self.name = fcombine, fidentity, name
        self.__name__ = name
        self.__doc__ = about or ABOUT.format(name=name)
        self.__signature__ = SIGNATURE

    def __call__(self, expr: Any, *values: Any, **named: Any) -> Any:
        if not named and not (values and (values[0] is None or _is_axes(values[0]))):
            return self.fold([v for v in (expr, *values) if v is not None])
        given = SIGNATURE.bind_partial(expr, *values, **named).arguments
        axis, where, init = given.get("axis"), given.get("where"), given.get("init")
        if axis is None and "axis" not in named:  # r(a, None, b), r(a, where=...)
            raise self.no_axis(expr)
        if not _is_axes(axis):
            raise self.bad_axis(axis)
        axes = tuple(axis) if isinstance(axis, (list, tuple)) else (axis,)
        for a in axes:
            if a.iter_type != REDUCE:
                raise ExpressionError(
                    "not-a-reduce-axis",
                    f"{self.name}: `{a.name}` is not a reduce axis",
                    hint=f"make it with te.reduce_axis((0, n), name={a.name!r})",
                )
        many = isinstance(expr, (tuple, list))
        sources = tuple(to_expr(e) for e in (expr if many else (expr,)))
        made = self.reduce(sources, axes, where, init)
        return made if many else made[0]

    def fold(self, values: list[Any]) -> Any:
        """The combiner applied to values right away: r(a, b, c)."""
        if len(values) < 2:
            raise self.no_axis(values[0] if values else None)
        for v in values[1:]:
            if isinstance(v, (list, tuple, str)) and not isinstance(values[0], (list, tuple)):
                raise self.bad_axis(v)
        total = values[0]
        for v in values[1:]:
            total = self.fcombine(total, v)
        return total

    def bad_axis(self, axis: Any) -> ExpressionTypeError:
        what = " (a number counts dimensions in NumPy and topi)" if isinstance(axis, int) else ""
        return ExpressionTypeError(
            "axis-is-no-axis",
            f"{self.name}: the axis is a te.reduce_axis, or a list of them, not {axis!r}{what}",
            hint=f'k = te.reduce_axis((0, n), name="k"); te.compute(..., lambda i: {self.name}(A[i, k], axis=k))',
        )

    def no_axis(self, expr: Any) -> ExpressionTypeError:
        return ExpressionTypeError(
            "no-axis",
            f"{self.name}: no axis to fold {expr!r} over was given",
            hint=f'k = te.reduce_axis((0, n), name="k"), then {self.name}(..., axis=k); or fold values: '
            f"{self.name}(a, b)",
        )

    def reduce(self, sources: tuple[Expr, ...], axes: tuple[IterVar, ...], where: Any, init: Any) -> tuple[Expr, ...]:
        combiner = self.combiner(tuple(s.dtype for s in sources))
        cond = const(True, "bool") if where is None else as_bool(where)
        given = () if init is None else init if isinstance(init, (tuple, list)) else (init,)
        starts = tuple(to_expr(i) for i in given)
        if starts and len(starts) != len(sources):
            raise ExpressionError("init-count", f"{self.name}: {len(starts)} init values for {len(sources)} sources")
        if any(not isinstance(i, (Const, Load)) for i in starts):
            raise ExpressionError("init-form", f"{self.name}: init must be a tensor's element or a constant")
        return tuple(Reduce(combiner, sources, axes, cond, i, starts, s.dtype) for i, s in enumerate(sources))

    def combiner(self, dtypes: tuple[str, ...]) -> Combiner:
        x = tuple(Var(f"x{i}" if len(dtypes) > 1 else "x", d) for i, d in enumerate(dtypes))
        y = tuple(Var(f"y{i}" if len(dtypes) > 1 else "y", d) for i, d in enumerate(dtypes))
        many = len(dtypes) > 1
        result = self.fcombine(x, y) if many else self.fcombine(x[0], y[0])
        identity = self.fidentity(*dtypes)
        results = tuple(to_expr(r) for r in (result if many else (result,)))
        identities = tuple(to_expr(i) for i in (identity if many else (identity,)))
        if len(results) != len(dtypes) or len(identities) != len(dtypes):
            raise ExpressionError("combiner-count", f"{self.name}: the combiner must give {len(dtypes)} values")
        for r, dtype in zip(results, dtypes, strict=True):
            if r.dtype != dtype:
                raise ExpressionError(
                    "combiner-dtype", f"{self.name} of {dtype} gives {r.dtype}: a reduction keeps its type",
                    hint=f"cast what is reduced: x.astype({r.dtype!r})",
                )  # fmt: skip
        return Combiner(self.name, x, y, results, identities)


def _signature(expr: Any, axis: Any, where: Any = None, init: Any = None) -> None: ...


SIGNATURE = inspect.signature(_signature).replace(return_annotation=inspect.Signature.empty)


def _is_axes(axis: Any) -> bool:
    if isinstance(axis, (list, tuple)):
        return len(axis) > 0 and all(isinstance(a, IterVar) for a in axis)
    return isinstance(axis, IterVar)


def combine(c: Combiner, left: tuple[Expr, ...], right: tuple[Expr, ...]) -> tuple[Expr, ...]:
    """The combiner's results for these two values."""
    values: dict[Any, Any] = dict(zip((*c.lhs, *c.rhs), (*left, *right), strict=True))
    return tuple(substitute(r, values) for r in c.result)


sum = comm_reducer(lambda x, y: binary("+", x, y), lambda t: const(0, t), "sum")  # noqa: A001
min = comm_reducer(lambda x, y: binary("min", x, y), max_value, "min")  # noqa: A001
max = comm_reducer(lambda x, y: binary("max", x, y), min_value, "max")  # noqa: A001
prod = comm_reducer(lambda x, y: binary("*", x, y), lambda t: const(1, t), "prod")
