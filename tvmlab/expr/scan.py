"""Recurrences: `te.scan`. State t is made of the states before it.

    state[t, ...] = init[t, ...]                 for t in 0 .. init.shape[0]
    state[t, ...] = update[t, ...]               for t in init.shape[0] .. state.shape[0], in order
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core.build import binary
from ..core.error import ExpressionError
from ..core.node import OPAQUE, ORDERED, Expr, IterVar, Range, Var
from ..core.text import show
from .tensor import Operation, PlaceholderOp, Tensor, axis_of, current_tag, provably_equal


class ScanOp(Operation):
    """One output per state. `axis`: the scan axis (ordered), then an opaque axis per further dimension of each state.

    `init`, `updates` (classic name: `update`), `state_placeholder`: a tensor per state.
    """

    kind = "scan"

    def __init__(
        self,
        name: str,
        axis: Sequence[IterVar],
        init: Sequence[Tensor],
        updates: Sequence[Tensor],
        states: Sequence[Tensor],
        scan_inputs: Sequence[Tensor] = (),
        tag: str = "",
        attrs: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(name, tag, attrs)
        self.axis = tuple(axis)
        self.init, self.updates, self.state_placeholder = tuple(init), tuple(updates), tuple(states)
        self.scan_inputs = tuple(scan_inputs)
        self.outputs = tuple(Tensor(s.shape, s.dtype, self, i) for i, s in enumerate(self.state_placeholder))

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        return tuple(dict.fromkeys((*self.init, *self.updates)))

    @property
    def update(self) -> tuple[Tensor, ...]:
        return self.updates

    @property
    def scan_axis(self) -> IterVar:
        return self.axis[0]

    @property
    def spatial_axis_(self) -> tuple[IterVar, ...]:
        return self.axis[1:]

    def with_inputs(self, replaced: dict[Any, Any]) -> ScanOp:
        init, updates = (tuple(replaced.get(t, t) for t in ts) for ts in (self.init, self.updates))
        if all(a is b for a, b in zip((*init, *updates), (*self.init, *self.updates), strict=True)):
            return self
        return ScanOp(
            self.name, self.axis, init, updates, self.state_placeholder, self.scan_inputs, self.tag, self.attrs
        )


def scan(
    init: Any,
    update: Any,
    state_placeholder: Any,
    inputs: Any = None,
    name: str = "scan",
    tag: str = "",
    attrs: dict[str, Any] | None = None,
) -> Any:
    """A recurrence along dimension 0. Each of the first three: a tensor, or one per state in a list.

    `init` (t0, ...): the first states; `state_placeholder` (T, ...): a placeholder that stands for all of them;
    `update` (T, ...): state t as an expression over the placeholder at t-1 and before, and other inputs.
    Returns the states, shape (T, ...): a tensor, or a list when there are several.
    """
    tag = current_tag(tag)
    first, updates, states = (
        tuple(x) if isinstance(x, (list, tuple)) else (x,) for x in (init, update, state_placeholder)
    )
    given = tuple(inputs) if isinstance(inputs, (list, tuple)) else () if inputs is None else (inputs,)
    if not len(first) == len(updates) == len(states):
        raise ValueError(
            f"init, update and state_placeholder must have the same length, not {len(first)}, {len(updates)} "
            f"and {len(states)}"
        )
    for t in (*first, *updates, *states, *given):
        if not isinstance(t, Tensor):
            raise ValueError(f"te.scan takes tensors, not {t!r}")
    for i, (a, b, s) in enumerate(zip(first, updates, states, strict=True)):
        _check_kind(name, i, a, b, s)
    lo = first[0].shape[0]
    extent = binary("-", updates[0].shape[0], lo)
    axis = [IterVar(Range(lo, extent), Var(f"{name}.idx", extent.dtype), ORDERED)]
    for i, (a, b, s) in enumerate(zip(first, updates, states, strict=True)):
        _check_shapes(name, i, a, b, s, lo, updates[0].shape[0])
        axis += [axis_of(s.shape[k], f"{name}.out{i}.i{k}", OPAQUE) for k in range(1, s.ndim)]
    op = ScanOp(name, axis, first, updates, states, given, tag, attrs)
    return op.outputs[0] if len(op.outputs) == 1 else list(op.outputs)


def _check_kind(name: str, i: int, init: Tensor, update: Tensor, state: Tensor) -> None:
    if not isinstance(state.op, PlaceholderOp):
        raise ExpressionError(
            "scan-state",
            f"te.scan {name}: state {i} is `{state.name}`, which is computed; a state is a te.placeholder",
            hint="the placeholder stands for the result, whose earlier rows the update reads",
        )
    if not init.dtype == update.dtype == state.dtype:
        raise ExpressionError(
            "scan-dtype",
            f"te.scan {name}: state {i} needs one dtype",
            where=[f"init {init.dtype}, update {update.dtype}, state_placeholder {state.dtype}"],
        )
    if not 1 <= init.ndim == update.ndim == state.ndim:
        raise ExpressionError(
            "scan-rank",
            f"te.scan {name}: init, update and state_placeholder of state {i} need the same number of dimensions, "
            "at least one",
            where=[f"init {init.ndim}, update {update.ndim}, state_placeholder {state.ndim}"],
        )


def _check_shapes(name: str, i: int, init: Tensor, update: Tensor, state: Tensor, lo: Expr, hi: Expr) -> None:
    """The scan axis runs from init.shape[0] to update.shape[0], for all states; the other dimensions agree."""
    pairs = [
        (init.shape[0], lo, f"init.shape[0] and the scan axis' begin, {show(lo)}"),
        (update.shape[0], hi, f"update.shape[0] and the scan axis' end, {show(hi)}"),
        (state.shape[0], hi, f"state_placeholder.shape[0] and the scan axis' end, {show(hi)}"),
    ]
    for k in range(1, state.ndim):
        pairs += [
            (init.shape[k], state.shape[k], f"init.shape[{k}] and state_placeholder.shape[{k}]"),
            (update.shape[k], state.shape[k], f"update.shape[{k}] and state_placeholder.shape[{k}]"),
        ]
    for a, b, what in pairs:
        if not provably_equal(a, b):
            raise ExpressionError(
                "scan-shape",
                f"te.scan {name}: {what} must be provably equal",
                where=[f"state {i}: init {_shape(init)}, update {_shape(update)}, state_placeholder {_shape(state)}"],
            )


def _shape(t: Tensor) -> str:
    return f"({', '.join(show(d) for d in t.shape)})"
