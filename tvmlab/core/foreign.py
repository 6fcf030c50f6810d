"""Python's and NumPy's own functions applied to expressions: `abs` works, the others say what to write instead.

Without the methods here `np.exp(A[i])` would say that a Load has no method exp, `sum(A[i])` that it is not iterable.
"""

from __future__ import annotations

import sys
from typing import Any

from .error import ExpressionTypeError
from .node import Const, Operand

# NumPy's name -> the operator that does the same
OPERATORS = {
    "add": "add", "subtract": "sub", "multiply": "mul", "divide": "truediv", "true_divide": "truediv",
    "floor_divide": "floordiv", "remainder": "mod", "bitwise_and": "and", "bitwise_or": "or", "bitwise_xor": "xor",
    "left_shift": "lshift", "right_shift": "rshift", "less": "lt", "less_equal": "le", "greater": "gt",
    "greater_equal": "ge", "equal": "eq", "not_equal": "ne",
}  # fmt: skip
MIRRORED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq", "ne": "ne"}
# NumPy's name -> ours, where they differ; what is not here has one name
NAMES = {
    "absolute": "abs", "fabs": "abs", "rint": "nearbyint", "arcsin": "asin", "arccos": "acos", "arctan": "atan",
    "arcsinh": "asinh", "arccosh": "acosh", "arctanh": "atanh", "arctan2": "atan2", "float_power": "power",
    "maximum": "max", "minimum": "min", "fmax": "max", "fmin": "min", "logical_and": "all", "logical_or": "any",
}  # fmt: skip
FOLDS = {"add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min", "logical_and": "all",
         "logical_or": "any"}  # fmt: skip


def absolute(self: Any) -> Any:
    from .intrin import abs as of

    return of(self)


def no_number(self: Any) -> float:
    """`float(e)`, and all of `math`."""
    raise ExpressionTypeError(
        "expression-number",
        f"{self!r} has no value yet: float(...) and the functions of math cannot work on an expression",
        legal=["te.exp(x)", "te.sqrt(x)", "te.log(x)", "te.power(x, y)", 'x.astype("float32")'],
        hint="te has the functions of math, under the same names",
    )


def no_sequence(self: Any) -> Any:
    """`sum(e)`, `max(e)`, `for x in e`, `a, b = e`."""
    raise ExpressionTypeError(
        "expression-sequence",
        f"{self!r} is one expression, with nothing in it to go through: Python's sum, max, min and `for` "
        "cannot work on it",
        legal=["te.sum(x, axis=k)", "te.max(x, axis=k)", "te.min(x, axis=k)"],
        hint="k is a te.reduce_axis",
    )


def of_numpy(self: Any, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
    """NumPy's numbers take part in arithmetic, its arrays element by element; its functions are refused."""
    name = str(ufunc.__name__)
    if method == "__call__" and name in OPERATORS and len(inputs) == 2 and not options:
        if any(getattr(x, "ndim", 0) and not isinstance(x, Operand) for x in inputs):
            return ufunc(*[_boxed(x) for x in inputs])
        a, b = inputs
        op = OPERATORS[name]
        if isinstance(a, Operand):
            return getattr(type(a), f"__{op}__")(a, b)
        return getattr(type(b), f"__{MIRRORED.get(op) or 'r' + op}__")(b, a)
    raise _refused(name, method, next(x for x in inputs if isinstance(x, Operand)))


def _boxed(x: Any) -> Any:
    """An expression as an array that holds it."""
    if not isinstance(x, Operand):
        return x
    box = sys.modules["numpy"].empty((), object)  # it is loaded: one of its functions called us
    box[()] = x
    return box


def _refused(name: str, method: str, operand: Any) -> ExpressionTypeError:
    from .intrin import PURE

    if method == "reduce" and name in FOLDS:
        ours, call = FOLDS[name], f"te.{FOLDS[name]}({operand!r}, axis=k)"
        shown, hint = f"np.{ours}", "k is a te.reduce_axis"
    else:
        ours = NAMES.get(name, name)
        there = ours in PURE or name in NAMES or ours == "power"
        two = ours in ("max", "min", "all", "any", "atan2", "power", "hypot", "fmod", "copysign", "nextafter", "ldexp")
        call = f"te.{ours}({operand!r}{', ...' if two else ''})" if there else ""
        shown, hint = f"np.{name}", "" if call else "te.compute works with the functions and operators of te"
    return ExpressionTypeError(
        "numpy-function",
        f"{shown} works on numbers and arrays, not on the expression {operand!r}",
        legal=[call] if call else [],
        hint=hint,
    )


def install() -> None:
    """Give `node.Operand` these methods; a constant has a number."""
    methods = {"__abs__": absolute, "__float__": no_number, "__iter__": no_sequence, "__array_ufunc__": of_numpy}
    for name, method in methods.items():
        setattr(Operand, name, method)


assert "__float__" in vars(Const)
install()
