"""What a trial is held against: the results an expression must give, its arithmetic, and the time of a library.

The reference is independent of the schedule, and where it can be of this compiler: NumPy on the tensors' bodies; the
gallery's own NumPy; the unscheduled program on the interpreter; for large ones the unscheduled program of the other
target. Which one it was is always said.
"""

from __future__ import annotations

import math
import warnings
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from ..core import dtype as dt
from ..core.build import const
from ..core.error import LabError
from ..core.node import COMPARE, Bin, Call, Expr, Reduce
from ..core.walk import constant, substitute, walk
from ..expr.tensor import ComputeOp, Operation, Tensor
from ..schedule.trace import Trace
from . import inputs
from .api import build
from .handle import Schedule
from .inputs import Sized
from .options import Options
from .reference import Plan, Unsupported

GALLERY = "tvmlab.kernels"  # looked up by name, and only where a run says that its expression is from there
SMALL = 200_000  # points of all loops: so many the interpreter does in about a second
KEPT, KEPT_BYTES = 8, 1 << 30
Arrays = Mapping[Tensor, Any]


def operations(trace: Trace) -> list[Operation]:
    """The operations of the expression, in order of computation."""
    return [s.op for s in trace.prefix(0).state.in_order]


def points(ops: Sequence[Operation], numbers: Mapping[Any, Any]) -> int:
    """How often bodies are computed in all, without a schedule."""
    return sum(_points(op, numbers) for op in ops)


def _points(op: Operation, numbers: Mapping[Any, Any]) -> int:
    if not op.axis and not op.reduce_axis and not op.outputs:
        return 0
    values = {v: const(n, v.dtype) for v, n in numbers.items()}
    extents = [a.dom.extent for a in (*op.axis, *op.reduce_axis) if a.dom is not None]
    if not extents and op.outputs and not isinstance(op, ComputeOp):
        extents = list(op.outputs[0].shape)
    return math.prod(constant(substitute(e, values)) or 1 for e in extents)


def flops(ops: Sequence[Operation], numbers: Mapping[Any, Any]) -> int:
    """Operations on floats that the expression itself asks for."""
    return sum(_points(op, numbers) * sum(map(_flops, op.body[:1] if op.reduce_axis else op.body))
               for op in ops if isinstance(op, ComputeOp))  # fmt: skip


def _flops(e: Expr) -> int:
    found = 0
    for n in walk(e):
        operator = isinstance(n, Bin) and n.op not in COMPARE
        function = isinstance(n, Call) and n.name not in ("if_then_else", "likely")
        found += (operator or function) and dt.is_float(n.dtype)  # type: ignore[attr-defined]
    return found + (sum(map(_flops, e.combiner.result)) if isinstance(e, Reduce) else 0)


# ---------------------------------------------------------------- what must come out


_expected: OrderedDict[Any, tuple[dict[Tensor, Any] | None, str, list[Any]]] = OrderedDict()


def expected(
    asked: Mapping[str, Any], trace: Trace, args: Sized, chosen: Options, arrays: Arrays
) -> tuple[dict[Tensor, Any] | None, str]:
    """The outputs that the expression must give, and who says so; None and why not, where nobody can."""
    key = (asked["start"], chosen.seed, args.text, chosen.target)
    found = _expected.get(key) if asked["given"] is None else None
    if found is None:
        made, who = _reference(trace, args, chosen, arrays)
        listed = [] if made is None else [made[t] for t in args.outputs]
        found = (made, who, listed)
        if asked["given"] is None and sum(a.nbytes for a in listed) < KEPT_BYTES // KEPT:
            _expected[key] = found
        while len(_expected) > KEPT:
            _expected.popitem(last=False)
    made, who, listed = found
    return (None if made is None else dict(zip(args.outputs, listed, strict=True))), who


def _reference(trace: Trace, args: Sized, chosen: Options, arrays: Arrays) -> tuple[dict[Tensor, Any] | None, str]:
    ways: list[Callable[[Trace, Sized, Options, Arrays], tuple[dict[Tensor, Any], str]]] = [_numpy, _gallery]
    ways.append(_interpreted if points(operations(trace), args.numbers) <= SMALL else _other_target)
    why = ""
    for way in ways:
        try:
            return way(trace, args, chosen, arrays)
        except LabError as e:
            why = e.message
        except (ValueError, TypeError) as e:  # a reference of other arguments
            why = str(e)
        except MemoryError:
            why = "the reference needs more memory than a run may have"
    return None, why


def _numpy(trace: Trace, args: Sized, chosen: Options, arrays: Arrays) -> tuple[dict[Tensor, Any], str]:
    return Plan(operations(trace), args.numbers, wide=True)(arrays), "NumPy"


def _gallery(trace: Trace, args: Sized, chosen: Options, arrays: Arrays) -> tuple[dict[Tensor, Any], str]:
    found = gallery(chosen)
    if found is None:
        raise Unsupported("no-numpy", "there is no NumPy reference")
    reference, name = found
    made = reference(*(arrays[t].copy() for t in args.inputs))  # one that works in place may
    listed = made if isinstance(made, (list, tuple)) else [made]
    if [tuple(np.shape(x)) for x in listed] != [args.shapes[t] for t in args.outputs]:
        raise Unsupported("no-numpy", f"the reference of {name} is of other shapes")
    arrays = {t: np.asarray(x, dt.element(t.dtype)) for t, x in zip(args.outputs, listed, strict=True)}
    return arrays, f"NumPy of {name}"


def gallery(chosen: Options) -> tuple[Callable[..., Any], str] | None:
    """The NumPy reference of the gallery's operator that the expression is."""
    if not chosen.kernel:
        return None
    name, shape = str(chosen.kernel.get("name")), dict(chosen.kernel.get("shape") or {})
    try:
        reference = import_module(f"{GALLERY}.{name}").reference if name.isidentifier() else None
    except (ImportError, AttributeError):
        reference = None  # of another version's gallery
    if reference is None:
        return None
    return (lambda *given: reference(*given, **shape)), f"kernels/{name}"


def _interpreted(trace: Trace, args: Sized, chosen: Options, arrays: Arrays) -> tuple[dict[Tensor, Any], str]:
    return _unscheduled(trace, args, arrays, "interp"), "the unscheduled program on the interpreter"


def _other_target(trace: Trace, args: Sized, chosen: Options, arrays: Arrays) -> tuple[dict[Tensor, Any], str]:
    other = "numba" if chosen.target.split()[0] == "llvm" else "llvm"
    return _unscheduled(trace, args, arrays, other), f"the unscheduled program by {other}"


def _unscheduled(trace: Trace, args: Sized, arrays: Arrays, target: str) -> dict[Tensor, Any]:
    start = trace.prefix(0)
    values: dict[Any, Any] = {**args.numbers, **arrays}
    values |= {t: inputs.fresh(t, args.shapes[t]) for t in args.outputs}
    order = list(args.order)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        build(Schedule(start), order, target)(*(values[x] for x in order))
    return {t: values[t] for t in args.outputs}


# ---------------------------------------------------------------- a library's time


def baseline(trace: Trace, args: Sized, chosen: Options, arrays: Arrays) -> tuple[Callable[[], Any], str] | None:
    """A call that does the same by NumPy, and what to call it; None where NumPy has no natural way to say it."""
    try:
        plan = Plan(operations(trace), args.numbers)
    except Unsupported:
        plan = None
    if plan is not None and plan.natural:
        return _limited(lambda: plan(arrays), chosen, plan.name)
    found = gallery(chosen)
    if found is None:
        return None
    reference, name = found
    given = [arrays[t] for t in args.inputs]
    return _limited(lambda: reference(*given), chosen, f"NumPy ({name})")


def _limited(call: Callable[[], Any], chosen: Options, name: str) -> tuple[Callable[[], Any], str]:
    """With as many threads as the run has, where NumPy's library can be told."""
    if not chosen.threads:
        return call, name
    pools = _pools()
    if pools is None:
        return call, f"{name}, all threads"

    def limited() -> Any:
        with pools.limit(limits=chosen.threads):
            return call()

    return limited, name


@cache
def _pools() -> Any:
    try:
        from threadpoolctl import ThreadpoolController
    except ImportError:
        return None
    return ThreadpoolController()
