"""The arrays of a trial: random ones from a seed, or a person's own, checked against the schedule's arguments.

Nothing is compiled and nothing runs here; a session may check before it sends arrays to the process that runs them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..core import dtype as dt
from ..core.build import const
from ..core.error import CallError
from ..core.node import Bin, Cast, Const, Expr, Load, Var
from ..core.text import show
from ..core.units import size
from ..core.walk import constant, substitute, variables, walk
from ..expr.tensor import ComputeOp, Tensor
from ..runtime.array import aligned
from ..schedule.state import is_input
from ..schedule.trace import Trace
from .reference import BINARY
from .verdict import arguments

MOST_BYTES = 1 << 46  # of one array: more than any machine has
USUAL_SIZE = 256  # of a dimension that is a variable, when nobody says
UNWRITTEN = {"f": np.nan, "i": 77, "u": 77, "b": True}  # what outputs hold before a run
Array = Any


@dataclass(frozen=True)
class Sized:
    """A schedule's arguments, with every size a number. `order`: tensors and scalars, as the function takes them."""

    order: tuple[Any, ...]
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    shapes: Mapping[Tensor, tuple[int, ...]]
    numbers: Mapping[Var, int | float] = field(default_factory=dict)

    @property
    def sizes(self) -> dict[Var, int]:
        return {v: n for v, n in self.numbers.items() if isinstance(n, int)}

    @property
    def text(self) -> str:
        """`A[64, 64] B[64, 64] C[64, 64]`, or the sizes that were chosen: `n = 256`."""
        if self.numbers:
            return ", ".join(f"{v.name} = {n:g}" for v, n in self.numbers.items())
        return " ".join(f"{t.name}{list(self.shapes[t])}" for t in (*self.inputs, *self.outputs))

    @property
    def nbytes(self) -> int:
        return sum(math.prod(s) * dt.nbytes(t.dtype) for t, s in self.shapes.items())


def sized(
    trace: Trace,
    given: Mapping[str, Any] | None = None,
    sizes: Mapping[str, int] | None = None,
    order: Sequence[Any] = (),
) -> Sized:
    """The arguments with their sizes. `given`: a person's arrays (and numbers) by name; `sizes`: dimensions by name.

    `order`: the arguments; without it the inputs, the outputs and the scalars.
    """
    order = order or arguments(trace)
    tensors = [t for t in order if isinstance(t, Tensor)]
    first = trace.prefix(0).state
    inputs = tuple(t for t in tensors if is_input(first.stage_of(t)))
    outputs = tuple(t for t in tensors if t not in set(inputs))
    scalars = [v for v in order if isinstance(v, Var)]
    free = dict.fromkeys([*(v for t in tensors for e in t.shape for v in variables(e)), *scalars])
    if given is not None:
        numbers = _from_arrays(inputs, scalars, free, given)
    else:
        numbers = {v: _usual(v, any(v is x for x in scalars), sizes or {}) for v in free}
    values = {v: const(n, v.dtype) for v, n in numbers.items()}
    shapes = {t: tuple(_number(t, e, values) for e in t.shape) for t in tensors}
    return Sized(tuple(order), inputs, outputs, shapes, numbers)


def _usual(v: Var, scalar: bool, sizes: Mapping[str, int]) -> int | float:
    value: Any = sizes.get(v.name, 1.5 if dt.is_float(v.dtype) else 2 if scalar else USUAL_SIZE)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise CallError("bad-size", f"the size {v.name} must be a number, not {value!r}")
    if not dt.is_float(v.dtype) and (value != int(value) or value < 1):
        raise CallError("bad-size", f"the size {v.name} must be a whole number of at least 1, not {value!r}")
    return float(value) if dt.is_float(v.dtype) else int(value)


def _number(t: Tensor, e: Expr, values: Mapping[Var, Expr]) -> int:
    n = constant(substitute(e, values))
    if n is None:
        raise CallError("no-size", f"the dimension {show(e)} of {t.name} has no value")
    if n < 0:
        raise CallError("bad-size", f"the dimension {show(e)} of {t.name} would be {n}")
    return int(n)


# ---------------------------------------------------------------- the order of the arguments

Place = list[Any]


def places(trace: Trace, args: Sequence[Any] | None) -> list[Place] | None:
    """A person's order of arguments as plain data: stage and output of a tensor, the name of a scalar.

    None where there is none, or where it holds something else (a buffer with strides of its own).
    """
    if args is None:
        return None
    state = trace.prefix(0).state
    made: list[Place] = []
    for a in args:
        if isinstance(a, Tensor) and a.op in state.alias:
            made.append([state.stage_of(a).index, a.value_index])
        elif isinstance(a, Var):
            made.append([a.name])
        else:
            return None
    return made


def ordered(trace: Trace, listed: Sequence[Place] | None) -> list[Any]:
    """The arguments that `places` stands for."""
    usual = arguments(trace)
    if listed is None:
        return usual
    stages = trace.prefix(0).state.stages
    scalars = {x.name: x for x in usual if isinstance(x, Var)}
    named = [p for p in listed if len(p) == 2 or p[0] in scalars]
    made = [stages[p[0]].op.outputs[p[1]] if len(p) == 2 else scalars[p[0]] for p in named]
    return [*made, *(x for x in usual if not any(x is y for y in made))]


# ---------------------------------------------------------------- a person's arrays


def _from_arrays(
    inputs: Sequence[Tensor], scalars: Sequence[Var], free: Mapping[Var, None], given: Mapping[str, Any]
) -> dict[Var, int | float]:
    """The sizes that the arrays have; every array is checked."""
    names = [t.name for t in inputs] + [v.name for v in scalars]
    for name in given:
        if name not in names:
            raise CallError("unknown-input", f"this schedule has no input `{name}`", legal=names)
    if twice := [n for n in names if names.count(n) > 1]:
        raise CallError("same-name", f"two inputs are called {twice[0]}: arrays cannot be given by name", legal=names)
    missing = [n for n in names if n not in given]
    if missing:
        raise CallError("missing-input", f"no array is given for {', '.join(missing)}", legal=names)
    numbers: dict[Var, int | float] = {v: _scalar(v, given[v.name]) for v in scalars}
    source: dict[Var, str] = {}
    arrays = {t: array_of(t, given[t.name]) for t in inputs}
    for t, a in arrays.items():
        for d, (e, n) in enumerate(zip(t.shape, a.shape, strict=True)):
            if isinstance(e, Var) and e not in numbers:
                numbers[e], source[e] = int(n), f"{t.name}.shape[{d}]"
    values = {v: const(n, v.dtype) for v, n in numbers.items()}
    for t, a in arrays.items():
        for d, (e, n) in enumerate(zip(t.shape, a.shape, strict=True)):
            want = constant(substitute(e, values))
            if want is not None and want != n:
                because = f" ({show(e)} is {want}, from {source[e]})" if isinstance(e, Var) and e in source else ""
                raise CallError("input-shape", f"{t.name}.shape[{d}] is {n}, expected {want}{because}")
    lost = [v.name for v in free if v not in numbers]
    if lost:
        raise CallError("no-size", f"the arrays do not say how large {', '.join(lost)} is")
    return numbers


def _scalar(v: Var, value: Any) -> int | float:
    if isinstance(value, np.generic):
        value = value.item()
    wanted = (int, float) if dt.is_float(v.dtype) else int
    if isinstance(value, bool) or not isinstance(value, wanted):
        raise CallError("input-kind", f"{v.name} takes one number of {v.dtype}, not {value!r}")
    return float(value) if dt.is_float(v.dtype) else int(value)


def array_of(t: Tensor, given: Any) -> Array:
    """What was given for an input, as an array of its dtype and dimensions; anything else is refused."""
    a = given.seen() if hasattr(given, "seen") else given  # an nd.array
    if not isinstance(a, np.ndarray):
        hint = "np.asarray(x) makes one"
        raise CallError("input-kind", f"{t.name} takes an array, not {type(given).__name__}", hint=hint)
    if dt.lanes(t.dtype) > 1:
        raise CallError("input-dtype", f"{t.name} is of {t.dtype}: arrays of vectors cannot be given")
    if a.dtype.name != t.dtype:
        hint = f'{t.name}.astype("{t.dtype}") converts'
        raise CallError("input-dtype", f"{t.name} is {a.dtype.name}, expected {t.dtype}", hint=hint)
    if a.ndim != len(t.shape):
        shape = ", ".join(map(show, t.shape))
        raise CallError("input-shape", f"{t.name} has shape {a.shape}, expected ({shape})")
    return np.ascontiguousarray(a).view(np.ndarray) if a.ndim else np.array(a)


# ---------------------------------------------------------------- random arrays


def random(trace: Trace, args: Sized, seed: int) -> dict[Tensor, Array]:
    """An array per input: floats between -1 and 1, small whole numbers, and for indices numbers that are legal ones."""
    rng = np.random.default_rng(seed)
    limits = index_limits(trace, args)
    return {t: _random(rng, t, args.shapes[t], limits.get(t)) for t in args.inputs}


def _random(rng: Any, t: Tensor, shape: tuple[int, ...], most: int | None) -> Array:
    kind = dt.element(t.dtype)
    if dt.lanes(t.dtype) > 1:
        shape = (*shape, dt.lanes(t.dtype))
    if math.prod(shape) * np.dtype(kind).itemsize >= MOST_BYTES:  # NumPy has other words for it
        raise MemoryError(f"{t.name} alone would take {size(math.prod(shape) * np.dtype(kind).itemsize)}")
    if dt.is_float(kind):
        return _floats(rng, shape, np.dtype(kind))
    high = 2 if dt.is_bool(kind) else 9 if most is None else max(1, most)
    low = -9 if dt.is_signed(kind) and most is None else 0
    return settled(rng.integers(low, high, shape), kind)


def _floats(rng: Any, shape: tuple[int, ...], kind: Any) -> Array:
    """Between -1 and 1, drawn in place."""
    drawn = kind if kind.itemsize >= 4 else np.dtype("float32")
    made = aligned(shape, drawn)
    rng.random(out=made, dtype=drawn)
    made *= 2
    made -= 1
    return made if drawn == kind else settled(made, kind)


def index_limits(trace: Trace, args: Sized) -> dict[Tensor, int]:
    """For inputs whose elements are used as indices: the smallest dimension they index."""
    found: dict[Tensor, int] = {}
    values = {v: const(n, v.dtype) for v, n in args.sizes.items()}
    given = set(args.inputs)
    for stage in trace.prefix(0).state.in_order:
        if not isinstance(stage.op, ComputeOp):  # what an extern does with whole numbers, nobody knows
            least = min((n for t in stage.op.inputs for n in args.shapes.get(t, ())), default=1)
            found |= {t: least for t in stage.op.inputs if dt.is_int(t.dtype) and t in given}
            continue
        for body in stage.op.body:
            for outer in (n for n in walk(body) if isinstance(n, Load)):
                for index, extent in zip(outer.indices, outer.buffer.shape, strict=True):
                    n = constant(substitute(extent, values))
                    for inner in (x for x in walk(index) if isinstance(x, Load)):
                        if isinstance(n, int):
                            found[inner.buffer] = min(n, found.get(inner.buffer, n))
    return found


def settled(a: Array, kind: Any) -> Array:
    """A copy that starts at a cache line: where an array lies moves its times."""
    made = aligned(a.shape, np.dtype(kind))
    made[...] = a
    return made


def fresh(t: Tensor, shape: tuple[int, ...]) -> Array:
    """An output before a run, filled with what shows where nothing is written."""
    kind = np.dtype(dt.element(t.dtype))
    whole = (*shape, dt.lanes(t.dtype)) if dt.lanes(t.dtype) > 1 else shape
    return settled(np.broadcast_to(np.asarray(UNWRITTEN[kind.kind], kind), whole), kind)


# ---------------------------------------------------------------- layouts


def physical(trace: Trace, t: Tensor, shape: tuple[int, ...]) -> tuple[tuple[int, ...], Any] | None:
    """Where `transform_layout` moved a tensor: the shape in memory and the index arrays of its elements; else None."""
    layout = trace.state.stage_of(t).layout
    if layout is None:
        return None
    grid = np.ogrid[tuple(slice(n) for n in shape)]
    index = tuple(_along(e, dict(zip(layout.variables, grid, strict=True))) for e in layout.outputs)
    in_memory = tuple(int(constant(e)) for e in layout.shape(tuple(const(n, "int32") for n in shape)))  # type: ignore[arg-type]
    return in_memory, np.broadcast_arrays(*index)


def _along(e: Expr, values: Mapping[Any, Any]) -> Any:
    """An index expression for all elements at once."""
    if isinstance(e, Const):
        return np.int64(e.value)
    if isinstance(e, Var):
        return values[e]
    if isinstance(e, Cast):
        return _along(e.value, values)
    if isinstance(e, Bin) and e.op in BINARY:
        return BINARY[e.op](_along(e.a, values), _along(e.b, values))
    raise CallError("layout", f"the layout {show(e)} cannot be followed here")
