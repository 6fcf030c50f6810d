"""Tensor intrinsics: a computation with a name and a statement that does it at once, for `tensorize` and `te.compute`.

    intrin = te.decl_tensor_intrin(C.op, fcompute)       C: the computation, over placeholders
    s[D].tensorize(axis, intrin)                          loops of D that compute the same become the statement
    te.compute(shape, lambda i: intrin(A[i, 0:16]))       or: a tensor made of such calls
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from ..core.build import binary, const, to_expr
from ..core.calls import as_stmt
from ..core.error import ExpressionError
from ..core.fragments import role
from ..core.node import OPAQUE, REDUCE, Buffer, Expr, IterVar, Load, Range, Stmt, Var
from ..core.walk import substitute
from .buffer import decl_buffer
from .extern import over_buffers
from .tensor import Operation, PlaceholderOp, Tensor, TensorSlice, axis_of


class TensorIntrin:
    """`op`: what is computed. `buffers`: one per input of `op`, then one per output. `scalar_params`: variables.

    `body` does all of it; `reduce_init` and `reduce_update` do a reduction in parts (any of the three may be None).
    """

    __slots__ = ("body", "buffers", "name", "op", "reduce_init", "reduce_update", "scalar_params")

    def __init__(
        self,
        name: str,
        op: Operation,
        buffers: Sequence[Buffer],
        scalar_params: Sequence[Var],
        body: Stmt | None,
        reduce_init: Stmt | None = None,
        reduce_update: Stmt | None = None,
    ) -> None:
        self.name, self.op = name, op
        self.buffers, self.scalar_params = tuple(buffers), tuple(scalar_params)
        self.body, self.reduce_init, self.reduce_update = body, reduce_init, reduce_update

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        return self.op.inputs

    @property
    def in_buffers(self) -> tuple[Buffer, ...]:
        return self.buffers[: len(self.inputs)]

    @property
    def out_buffers(self) -> tuple[Buffer, ...]:
        return self.buffers[len(self.inputs) :]

    def __call__(self, *args: Any, reduce_axis: Any = ()) -> TensorIntrinCall:
        """Apply it to regions: `intrin(A[i, 0:n], B[0:n], 3, reduce_axis=k)`; tensors first or mixed with scalars."""
        slices = [a for a in args if _is_region(a)]
        scalars = [a for a in args if not _is_region(a)]
        axes = tuple(reduce_axis) if isinstance(reduce_axis, (list, tuple)) else (reduce_axis,)
        self._check_arguments(len(slices), len(scalars), axes)
        tensors, regions = zip(*(region_of(s) for s in slices), strict=True) if slices else ((), ())
        return TensorIntrinCall(self, tensors, regions, axes, [to_expr(x) for x in scalars])

    def _check_arguments(self, slices: int, scalars: int, axes: Sequence[Any]) -> None:
        for have, want, what in ((slices, len(self.inputs), "tensor"), (scalars, len(self.scalar_params), "scalar")):
            if have != want:
                raise ExpressionError(
                    "intrin-arguments",
                    f"tensor intrinsic {self.name} takes {want} {what} argument{'s' * (want != 1)}, not {have}",
                    legal=[f"{t.name}[...]" for t in self.inputs]
                    if what == "tensor"
                    else [p.name for p in self.scalar_params],
                )
        for a in axes:
            if not isinstance(a, IterVar) or a.iter_type != REDUCE:
                raise ExpressionError(
                    "not-a-reduce-axis",
                    f"tensor intrinsic {self.name}: reduce_axis must be a te.reduce_axis, not {a!r}",
                )

    def __repr__(self) -> str:
        return f"TensorIntrin(name={self.name})"


def decl_tensor_intrin(
    op: Operation,
    fcompute: Callable[..., Any],
    name: str = "tensor_intrin",
    binds: Mapping[Tensor, Buffer] | None = None,
    scalar_params: Any = None,
    default_buffer_params: Mapping[str, Any] | None = None,
) -> TensorIntrin:
    """Declare that a statement does what `op` computes.

    `fcompute(ins, outs)`, or with scalar_params `fcompute(ins, outs, scalars)`, gives one statement (or call), or
    (body, reduce_init, reduce_update), None for parts that do not exist. Each tensor has a compact buffer made with
    `default_buffer_params`, unless `binds` names one of your own (strides, offset_factor, scope ...).
    """
    if not isinstance(op, Operation):
        raise TypeError(f"decl_tensor_intrin takes an operation (C.op), not {op!r}")
    for t in op.inputs:
        if not isinstance(t.op, PlaceholderOp):
            raise ValueError(
                f"decl_tensor_intrin {name}: input {t.name} is computed; an intrinsic is one operation on placeholders"
            )
    bound, options = dict(binds or {}), dict(default_buffer_params or {})
    tensors = (*op.inputs, *op.outputs)
    buffers = [bound.get(t) or decl_buffer(t.shape, t.dtype, t.name, **options) for t in tensors]
    for t, b in zip(tensors, buffers, strict=True):
        _check_bind(name, t, b)
    given = () if scalar_params is None else scalar_params
    params = tuple(given) if isinstance(given, (list, tuple)) else (given,)
    n = len(op.inputs)
    made = fcompute(buffers[:n], buffers[n:], params) if params else fcompute(buffers[:n], buffers[n:])
    parts = _parts(name, made, op.inputs, buffers[:n])
    return TensorIntrin(name, op, buffers, params, *parts)


def _check_bind(name: str, t: Tensor, b: Buffer) -> None:
    if b.dtype != t.dtype or b.ndim != t.ndim:
        raise ExpressionError(
            "intrin-buffer",
            f"decl_tensor_intrin {name}: the buffer of {t.name} must be {t.dtype} of {t.ndim} dimensions, "
            f"not {b.dtype} of {b.ndim}",
        )


def _parts(name: str, made: Any, inputs: Sequence[Tensor], ins: Sequence[Buffer]) -> list[Stmt | None]:
    """(body, reduce_init, reduce_update) from what fcompute gave."""
    given = list(made) if isinstance(made, (list, tuple)) else [made]
    parts = [None if x is None else as_stmt(x) for x in given]
    bad = [x for x, part in zip(given, parts, strict=True) if part is None and x is not None]
    if bad or not 1 <= len(parts) <= 3 or all(p is None for p in parts):
        raise ValueError(
            f"decl_tensor_intrin {name}: the function must return a statement, or up to three of them (body, "
            f"reduce_init, reduce_update), not {made!r}"
        )
    stmts = [None if p is None else over_buffers(name, p, inputs, ins) for p in parts]
    return stmts + [None] * (3 - len(stmts))


# ---------------------------------------------------------------- use in te.compute


def _is_region(x: Any) -> bool:
    return isinstance(x, (TensorSlice, Tensor)) or (isinstance(x, Load) and isinstance(x.buffer, Tensor))


def region_of(x: Any) -> tuple[Tensor, tuple[Range, ...]]:
    """`A[i, 0:n]` -> (A, ranges): an index is a range of one, missing indices are whole dimensions."""
    if isinstance(x, Tensor):
        x = TensorSlice(x, ())
    tensor, indices = (x.buffer, x.indices) if isinstance(x, Load) else (x.tensor, x.indices)
    if len(indices) > tensor.ndim:
        raise ValueError(f"tensor {tensor.name} has {tensor.ndim} dimensions, its slice has {len(indices)} indices")
    rest = [slice(None)] * (tensor.ndim - len(indices))
    return tensor, tuple(_range(tensor, i, d) for i, d in zip((*indices, *rest), tensor.shape, strict=True))


def _range(tensor: Tensor, index: Any, extent: Expr) -> Range:
    if not isinstance(index, slice):
        return Range(to_expr(index), const(1))
    if index.step is not None and index.step != 1:
        raise ExpressionError(
            "slice-step", f"a slice of {tensor.name} has step {index.step!r}; regions are without steps"
        )
    lo = to_expr(0 if index.start is None else index.start)
    hi = extent if index.stop is None else to_expr(index.stop)
    return Range(lo, binary("-", hi, lo))


class TensorIntrinCall:
    """An intrinsic applied to regions: what the function given to te.compute may return."""

    __slots__ = ("intrin", "reduce_axis", "regions", "scalar_inputs", "tensors")

    def __init__(
        self,
        intrin: TensorIntrin,
        tensors: Sequence[Tensor],
        regions: Sequence[tuple[Range, ...]],
        reduce_axis: Sequence[IterVar],
        scalar_inputs: Sequence[Expr],
    ) -> None:
        self.intrin, self.tensors, self.regions = intrin, tuple(tensors), tuple(regions)
        self.reduce_axis, self.scalar_inputs = tuple(reduce_axis), tuple(scalar_inputs)

    def tensor_compute(
        self, name: str, dims: Sequence[Expr], axis: Sequence[IterVar], tag: str, attrs: dict[str, Any] | None
    ) -> Any:
        """The operation; dimensions that the function did not name are made by the intrinsic (opaque axes ax0, ...)."""
        outer = len(axis)
        inner = [axis_of(d, f"ax{k}", OPAQUE) for k, d in enumerate(dims[outer:])]
        op = TensorComputeOp(name, [*axis, *inner], outer, self, tag, attrs)
        return op.outputs[0] if len(op.outputs) == 1 else list(op.outputs)


class TensorComputeOp(Operation):
    """`T[axis...] = intrin(regions of the sources)`. The first `schedulable_ndim` axes are loops."""

    kind = "tensor_compute"

    def __init__(
        self,
        name: str,
        axis: Sequence[IterVar],
        schedulable_ndim: int,
        call: TensorIntrinCall,
        tag: str = "",
        attrs: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(name, tag, attrs)
        self.axis, self.reduce_axis, self.schedulable_ndim = tuple(axis), call.reduce_axis, schedulable_ndim
        self.call = call
        shape = tuple(a.dom.extent for a in self.axis if a.dom is not None)
        self.outputs = tuple(Tensor(shape, b.dtype, self, i) for i, b in enumerate(call.intrin.out_buffers))

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        return tuple(dict.fromkeys(self.call.tensors))

    @property
    def intrin(self) -> TensorIntrin:
        return self.call.intrin

    @property
    def input_regions(self) -> tuple[tuple[Range, ...], ...]:
        return self.call.regions

    @property
    def scalar_inputs(self) -> tuple[Expr, ...]:
        return self.call.scalar_inputs

    def with_inputs(self, replaced: dict[Any, Any]) -> TensorComputeOp:
        call = self.call
        tensors = tuple(replaced.get(t, t) for t in call.tensors)
        if all(a is b for a, b in zip(tensors, call.tensors, strict=True)):
            return self
        made = TensorIntrinCall(call.intrin, tensors, call.regions, call.reduce_axis, call.scalar_inputs)
        return TensorComputeOp(self.name, self.axis, self.schedulable_ndim, made, self.tag, self.attrs)

    def with_scalars(self, stmt: Stmt) -> Stmt:
        """A part of the intrinsic with this call's scalars in place of its parameters."""
        return substitute(stmt, dict(zip(self.intrin.scalar_params, self.scalar_inputs, strict=True)))

    def over(self, name: str, axis: Sequence[IterVar]) -> TensorComputeOp:
        """The same call over other axes."""
        values = {a.var: b.var for a, b in zip(self.axis, axis, strict=True)}
        regions = [
            tuple(Range(substitute(r.min, values), substitute(r.extent, values)) for r in ranges)
            for ranges in self.input_regions
        ]
        scalars = [substitute(e, values) for e in self.scalar_inputs]
        call = TensorIntrinCall(self.intrin, self.call.tensors, regions, self.reduce_axis, scalars)
        return TensorComputeOp(name, axis, self.schedulable_ndim, call, self.tag, self.attrs)


# ---------------------------------------------------------------- by name

_REGISTRY: dict[str, TensorIntrin] = {}


def register_intrin(intrin: TensorIntrin, name: str = "") -> TensorIntrin:
    """Give an intrinsic a name of its own, under which saved schedules find it. The last one registered counts."""
    _REGISTRY[name or intrin.name] = intrin
    return intrin


def _known() -> dict[str, TensorIntrin]:
    """The registry, with those that are there from the start (dot.py, wmma.py)."""
    from . import dot, wmma  # noqa: F401 - they register them

    return _REGISTRY


def registered(dtypes: Sequence[str] | None = None, scopes: Iterable[str] | None = None) -> list[TensorIntrin]:
    """The intrinsics that have names of their own, by name.

    `dtypes`: only those whose outputs have these types. `scopes`, of a stage and of what it reads: only those on the
    same fragments of tensor cores, mostly none.
    """
    known = _known()
    made = [known[name] for name in sorted(known)]
    if scopes is not None:
        held = set(filter(role, scopes))
        made = [x for x in made if {b.scope for b in (*x.in_buffers, *x.out_buffers) if role(b.scope)} == held]
    return [x for x in made if dtypes is None or [t.dtype for t in x.op.outputs] == list(dtypes)]


def registered_name(intrin: TensorIntrin) -> str | None:
    return next((name for name, found in _REGISTRY.items() if found is intrin), None)


def as_given(intrin: Any) -> str:
    """The code that gets an intrinsic which is there from the start; "" for one of a person's own."""
    from . import dot, wmma

    given = any(x is intrin for x in (*dot.GIVEN, *wmma.GIVEN))
    return f'te.get_intrin("{intrin.name}")' if given else ""


def get_intrin(name: str) -> TensorIntrin:
    """The registered intrinsic of that name; an unknown one answers with those that exist."""
    if name not in _known():
        known = sorted(_REGISTRY)
        raise ExpressionError(
            "unknown-intrin",
            f"no tensor intrinsic is registered as `{name}`",
            legal=get_close_matches(name, known) or known,
            hint="te.register_intrin(intrin, name) registers one",
        )
    return _REGISTRY[name]
