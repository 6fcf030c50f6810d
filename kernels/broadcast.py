"""Functions of two tensors (or a tensor and a number), shapes stretched as in NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvmlab import te, tir
from tvmlab.error import ShapeError

from . import _checks, _shared

SHAPES = {
    "bias of C2": {"op": "add", "left": (1, 64, 56, 56), "right": (64, 1, 1)},
    "residual of C12": {"op": "add", "left": (1, 512, 7, 7), "right": (1, 512, 7, 7)},
}
ANY = "add subtract multiply maximum minimum greater less equal not_equal greater_equal less_equal".split()
INTEGERS = "left_shift right_shift bitwise_and bitwise_or bitwise_xor floor_divide mod".split()
SMALL = [{"op": op, "left": (5, 1, 19), "right": (3, 1)} for op in (*ANY, "divide", "power")]
SMALL += [{"op": op, "left": (3, 19), "right": (3, 19), "dtype": "int32"} for op in (*ANY, *INTEGERS)]
SMALL += [{"op": f"logical_{op}", "left": (17,), "right": (2, 1), "dtype": "bool"} for op in ("and", "or", "xor")]
SMALL += [{"op": "floor_divide", "left": (4, 5), "right": (5,)}, {"op": "floor_mod", "left": (4, 5), "right": (5,)}]


def common_shape(a: Any, b: Any, operator: str = "") -> list[Any]:
    """The shape of both sides stretched: from the right, equal extents or a one. `operator`: whose they are."""
    a, b = list(a), list(b)
    n = max(len(a), len(b))
    a, b = [1] * (n - len(a)) + a, [1] * (n - len(b)) + b
    return [_stretched(x, y, a, b, operator) for x, y in zip(a, b)]


def _stretched(x: Any, y: Any, a: Any, b: Any, operator: str) -> Any:
    m, n = _shared.constant(x), _shared.constant(y)
    if n == 1 or m == n > 0 or x is y:
        return x
    if m == 1 or not m:  # a symbolic extent and a number: the number
        return y
    if not n:
        return x
    both = f"{operator}: " * bool(operator) + f"shapes {_checks.shown(a)} and {_checks.shown(b)}"
    raise ShapeError("operator-shapes", f"{both} do not go together: each pair must be equal or hold a one")


def stretched_read(x: Any, index: Any, shape: Any) -> Any:
    """The element of `x` at `index` of the stretched `shape`."""
    lead = len(shape) - len(x.shape)
    flat = [_shared.constant(n) == 1 and _shared.constant(m) != 1 for n, m in zip(x.shape, shape[lead:])]
    return x(*[0 if one else i for one, i in zip(flat, index[lead:])])


def elementwise(f: Callable[[Any, Any], Any], name: str, about: str = "") -> Callable[[Any, Any], Any]:
    """A function of two tensors from one of two elements; of two numbers it gives a number."""

    def apply(lhs: Any, rhs: Any) -> Any:
        sides = (lhs, rhs)
        tensors = [x for x in sides if isinstance(x, te.Tensor)]
        if not tensors:
            return f(lhs, rhs)
        numbers = [x if isinstance(x, te.Tensor) else _number(x, tensors[0].dtype) for x in sides]
        left, right = (x.shape if isinstance(x, te.Tensor) else () for x in sides)
        shape = common_shape(left, right, name)
        read = lambda x, i: stretched_read(x, i, shape) if isinstance(x, te.Tensor) else x
        element = lambda *i: f(*[read(x, i) for x in numbers])
        return te.compute(shape, element, name=f"T_{name}", tag="broadcast")

    apply.__name__ = apply.__qualname__ = name
    apply.__doc__ = about or f"{name} of every pair of elements."
    return apply


def _number(value: Any, dtype: str) -> Any:
    """A Python number takes the tensor's dtype, unless it is a float for a tensor of integers."""
    if isinstance(value, float) and not dtype.startswith("float"):
        return te.const(value, "float32")
    return te.const(value, dtype) if isinstance(value, (int, float)) else value


def _floor_divide(a: Any, b: Any) -> Any:
    return te.floor(a / b) if a.dtype.startswith("float") else a // b


def _floor_mod(a: Any, b: Any) -> Any:
    return a - te.floor(a / b) * b if a.dtype.startswith("float") else a % b


def _mod(a: Any, b: Any) -> Any:
    return te.fmod(a, b) if a.dtype.startswith("float") else te.truncmod(a, b)


def _divide(a: Any, b: Any) -> Any:
    return a / b if "float" in a.dtype + b.dtype else te.truncdiv(a, b)


add = elementwise(lambda a, b: a + b, "add", "a + b")
subtract = elementwise(lambda a, b: a - b, "subtract", "a - b")
multiply = elementwise(lambda a, b: a * b, "multiply", "a * b")
divide = elementwise(_divide, "divide", "a / b; of integers towards zero")
true_divide = elementwise(lambda a, b: a / b, "divide", "a / b, of floats")
floor_divide = elementwise(_floor_divide, "floor_divide", "floor(a / b)")
mod = elementwise(_mod, "mod", "The remainder, with the sign of a.")
floor_mod = elementwise(_floor_mod, "floor_mod", "The remainder, with the sign of b.")
maximum = elementwise(te.max, "maximum", "The larger of both.")
minimum = elementwise(te.min, "minimum", "The smaller of both.")
power = elementwise(te.power, "power", "a to the b")
left_shift = elementwise(lambda a, b: a << b, "left_shift", "a << b")
right_shift = elementwise(lambda a, b: a >> b, "right_shift", "a >> b")
greater = elementwise(lambda a, b: a > b, "greater", "a > b")
less = elementwise(lambda a, b: a < b, "less", "a < b")
equal = elementwise(lambda a, b: tir.EQ(a, b), "equal", "a == b")
not_equal = elementwise(lambda a, b: tir.NE(a, b), "not_equal", "a != b")
greater_equal = elementwise(lambda a, b: a >= b, "greater_equal", "a >= b")
less_equal = elementwise(lambda a, b: a <= b, "less_equal", "a <= b")
logical_and = elementwise(te.all, "logical_and", "Are both true?")
logical_or = elementwise(te.any, "logical_or", "Is one of them true?")
logical_xor = elementwise(lambda a, b: tir.NE(a.astype("bool"), b.astype("bool")), "logical_xor", "Is one true only?")
bitwise_and = elementwise(lambda a, b: a & b, "bitwise_and", "a & b")
bitwise_or = elementwise(lambda a, b: a | b, "bitwise_or", "a | b")
bitwise_xor = elementwise(lambda a, b: a ^ b, "bitwise_xor", "a ^ b")


def broadcast_to(data: Any, shape: Any) -> Any:
    """`data` stretched to a shape."""
    wide = common_shape(data.shape, shape)
    if len(wide) != len(shape) or any(_shared.constant(w) != _shared.constant(s) for w, s in zip(wide, shape)):
        raise ShapeError(
            "operator-shapes",
            f"broadcast_to: a tensor of shape {_checks.shown(data.shape)} does not stretch to {_checks.shown(shape)}",
        )
    element = lambda *i: stretched_read(data, i, wide)
    return te.compute(wide, element, name="T_broadcast_to", tag="broadcast")


def declare(op: str, left: Any, right: Any, dtype: str = "float32") -> list[Any]:
    a, b = te.placeholder(left, dtype, name="a"), te.placeholder(right, dtype, name="b")
    return [a, b, globals()[op](a, b)]


def reference(a: Any, b: Any, /, op: str, **shape: Any) -> Any:
    import numpy as np

    name = {"mod": "fmod", "floor_mod": "mod"}.get(op, op)
    with np.errstate(all="ignore"):
        if a.dtype.kind == "i" and op in ("mod", "floor_mod", "floor_divide"):  # by zero: as the targets do
            return np.where(b == 0, 0, getattr(np, name)(a, np.where(b == 0, 1, b))).astype(a.dtype)
        return getattr(np, name)(a, b)


def schedule_cpu(outs: Any) -> Any:
    """The outer loops in parallel, the last in vectors; what only elementwise functions read is computed in place."""
    return _shared.schedule(outs, lambda s, op: None, lambda op: False)
