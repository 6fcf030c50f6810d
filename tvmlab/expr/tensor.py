"""Tensors and the operations that make them: placeholder and compute.

An operation is immutable once made. The dataflow graph is not stored: it is the loads inside the bodies.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ..core import dtype as dt
from ..core.affine import lin, loads
from ..core.build import text, to_expr
from ..core.error import ExpressionError, MissingName, TVMError
from ..core.hooks import Shown
from ..core.node import DATA, REDUCE, Expr, IterVar, Load, Operand, Range, Reduce, Var
from ..core.text import show
from ..core.walk import replace, size, substitute_buffers, walk
from .attrs import Attrs


class Operation:
    """A node of the dataflow graph. `inputs`: the tensors it reads, each once, in order of reading."""

    kind = "operation"
    init: tuple[Any, ...] = ()  # what only a scan has; asked of every operation, and often
    updates: tuple[Any, ...] = ()
    state_placeholder: tuple[Any, ...] = ()

    def __getattr__(self, name: str) -> Any:
        raise missing_name(self, f"operation {vars(self).get('name', '')}", name, steps=True)

    def __init__(self, name: str, tag: str = "", attrs: dict[str, Any] | None = None) -> None:
        self.name, self.tag, self.attrs = text(name, "the name of a tensor"), tag, Attrs(attrs)
        self.outputs: tuple[Tensor, ...] = ()
        self.axis: tuple[IterVar, ...] = ()
        self.reduce_axis: tuple[IterVar, ...] = ()

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        return ()

    @property
    def input_tensors(self) -> list[Tensor]:
        return list(self.inputs)

    @property
    def num_outputs(self) -> int:
        return len(self.outputs)

    def output(self, index: int) -> Tensor:
        if not 0 <= index < len(self.outputs):
            raise TVMError(f"{self.name} has {len(self.outputs)} outputs; there is no output {index}")
        return self.outputs[index]

    def with_inputs(self, replaced: dict[Any, Any]) -> Operation:
        """This operation reading other tensors; `self` when it reads none of the replaced ones."""
        return self

    def __repr__(self) -> str:
        return f"{self.kind}({self.name})"


# arithmetic of whole tensors, operator -> function of two operands; filled by tvmlab.topi when that is imported
ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {}


# what belongs to the loops of a tensor in a schedule, and is looked for on the tensor itself
STEPS = frozenset(
    """bind cache_read cache_write compute_at compute_inline compute_root double_buffer env_threads fuse parallel pragma
    prefetch reorder rfactor rolling_buffer set_scope set_store_predicate split storage_align tensorize tile
    transform_layout unroll vectorize""".split()
)
OF_SCHEDULE = frozenset({"cache_read", "cache_write", "rfactor"})


def missing_name(thing: Any, what: str, name: str, steps: bool) -> AttributeError:
    """What is said about an attribute that a tensor or an operation does not have."""
    if name.startswith("_") or hasattr(type(thing), name) or name in getattr(type(thing), "__slots__", ()):
        return AttributeError(f"{type(thing).__name__!r} object has no attribute {name!r}")
    from difflib import get_close_matches

    message = f"{what} has no `{name}`"
    if steps and name in STEPS:
        call = f"s.{name}({what.split()[-1]}, ...)" if name in OF_SCHEDULE else f"s[{what.split()[-1]}].{name}(...)"
        hint = f"it is a step of a schedule: s = te.create_schedule(...), then {call}"
        return MissingName("unknown-name", message, hint=hint)
    close = get_close_matches(name, [n for n in dir(thing) if not n.startswith("_")], 3)
    return MissingName("unknown-name", message, hint=f"did you mean {' or '.join(close)}?" if close else "")


class Tensor(Shown, Operand):
    """Output `value_index` of an operation. Index it with all indices for an element, with fewer for a slice."""

    __slots__ = ("dtype", "op", "shape", "value_index")

    def __init__(self, shape: tuple[Expr, ...], dtype: str, op: Operation, value_index: int) -> None:
        self.shape, self.dtype, self.op, self.value_index = shape, dtype, op, value_index

    @property
    def name(self) -> str:
        return self.op.name if self.op.num_outputs <= 1 else f"{self.op.name}.v{self.value_index}"

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def axis(self) -> tuple[IterVar, ...]:
        return self.op.axis

    def __getattr__(self, name: str) -> Any:
        known = not name.startswith("_") and name not in Tensor.__slots__
        raise missing_name(self, f"tensor {self.name}" if known and name != "name" else "a tensor", name, steps=True)

    def __call__(self, *indices: Any) -> Load:
        if len(indices) == 1 and isinstance(indices[0], (tuple, list)):
            indices = tuple(indices[0])
        return read(self, indices)

    def __getitem__(self, indices: Any) -> Any:
        return TensorSlice(self, indices if isinstance(indices, tuple) else (indices,)).resolved()

    def as_expr(self) -> Expr:
        if self.ndim:
            names = [a.name for a in self.op.axis[: self.ndim]] or [f"i{k}" for k in range(self.ndim)]
            raise ExpressionError(
                "whole-tensor",
                f"tensor {self.name} has {self.ndim} dimensions: arithmetic works on its elements",
                legal=[f"{self.name}[{', '.join(names)}]"],
                hint="operators on whole tensors are in tvmlab.topi: once it is imported, A + B - C * D / E works too",
            )
        return read(self, ())

    @property
    def takes_arithmetic(self) -> bool:
        """Do operators work on the tensor as a whole (rather than on its only element, or not at all)?"""
        return bool(ARITHMETIC) and self.ndim > 0

    def __neg__(self) -> Any:
        return self * (-1.0 if dt.is_float(self.dtype) else -1)

    def astype(self, dtype: str) -> Any:
        return ARITHMETIC["astype"](self, dtype) if self.takes_arithmetic else Operand.astype(self, dtype)

    def __hash__(self) -> int:
        return object.__hash__(self)

    def __eq__(self, other: object) -> Any:
        if isinstance(other, Tensor) and self.ndim == 0 and other.ndim == 0 and self is not other:
            raise ValueError("== of two rank-0 tensors is ambiguous: compare T1() == T2(), or use `is`")
        return self is other

    def __ne__(self, other: object) -> Any:
        return not self.__eq__(other)

    def __bool__(self) -> bool:
        return True

    def __iter__(self) -> Iterator[Any]:
        raise TypeError(f"tensor {self.name} is symbolic: its elements cannot be iterated")

    def __repr__(self) -> str:
        return f"Tensor(shape=[{', '.join(show(s) for s in self.shape)}], op.name={self.op.name})"


def _operator(method: str, op: str, swapped: bool) -> Callable[[Tensor, Any], Any]:
    of_elements: Callable[[Tensor, Any], Any] = getattr(Operand, method)

    def apply(self: Tensor, other: Any) -> Any:
        if not self.takes_arithmetic and not getattr(other, "takes_arithmetic", False):
            return of_elements(self, other)
        return ARITHMETIC[op](other, self) if swapped else ARITHMETIC[op](self, other)

    return apply


for _name, _op in {"add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%"}.items():
    setattr(Tensor, f"__{_name}__", _operator(f"__{_name}__", _op, swapped=False))
    setattr(Tensor, f"__r{_name}__", _operator(f"__r{_name}__", _op, swapped=True))


class TensorSlice(Operand):
    """Some of a tensor's indices given: index further, or use as an element once complete."""

    __slots__ = ("indices", "tensor")

    def __init__(self, tensor: Tensor, indices: tuple[Any, ...]) -> None:
        self.tensor, self.indices = tensor, indices

    def resolved(self) -> Any:
        """The element when all indices are plain, else the slice itself."""
        if any(isinstance(i, slice) for i in self.indices) or len(self.indices) < self.tensor.ndim:
            return self
        return read(self.tensor, self.indices)

    def __getitem__(self, indices: Any) -> Any:
        more = indices if isinstance(indices, tuple) else (indices,)
        return TensorSlice(self.tensor, (*self.indices, *more)).resolved()

    @property
    def dtype(self) -> str:
        return self.tensor.dtype

    def as_expr(self) -> Expr:
        return read(self.tensor, self.indices)


def read(tensor: Tensor, indices: Sequence[Any]) -> Load:
    """One element of a tensor."""
    if len(indices) != tensor.ndim:
        raise ValueError(
            f"tensor {tensor.name} has {tensor.ndim} dimensions, it was read with {len(indices)} "
            f"{'index' if len(indices) == 1 else 'indices'}"
        )
    made = tuple(to_expr(i) for i in indices)
    for i in made:
        if not dt.is_int(i.dtype):
            kind = "a float" if dt.is_float(i.dtype) else "a bool" if dt.is_bool(i.dtype) else "no integer"
            message = f"an index of {tensor.name} is {kind}: {i!r}"
            raise ExpressionError("float-index", message, hint="cast it to int32")
    return Load(tensor, made, tensor.dtype)


class PlaceholderOp(Operation):
    """An input."""

    kind = "placeholder"

    def __init__(self, name: str, shape: tuple[Expr, ...], dtype: str) -> None:
        super().__init__(name)
        self.shape, self.dtype = shape, dtype
        self.outputs = (Tensor(shape, dtype, self, 0),)


class ComputeOp(Operation):
    """`T[axis...] = body`; several bodies make several outputs over the same axes."""

    kind = "compute"

    def __init__(
        self,
        name: str,
        axis: Sequence[IterVar],
        body: Sequence[Expr],
        tag: str = "",
        attrs: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(name, tag, attrs)
        self.axis, self.body = tuple(axis), tuple(body)
        _check_size(self)
        _check_bodies(self)
        first = self.body[0]
        self.reduce_axis = tuple(first.axes) if isinstance(first, Reduce) else ()
        shape = tuple(a.dom.extent for a in self.axis if a.dom is not None)
        self.outputs = tuple(Tensor(shape, b.dtype, self, i) for i, b in enumerate(self.body))

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        return tuple(dict.fromkeys(x.buffer for b in self.body for x in loads(b)))

    @property
    def is_reduction(self) -> bool:
        return isinstance(self.body[0], Reduce)

    def with_inputs(self, replaced: dict[Any, Any]) -> ComputeOp:
        bodies = substitute_many(self.body, lambda b: substitute_buffers(b, replaced))
        return self if bodies is self.body else self.with_body(bodies)

    def with_body(self, body: Sequence[Expr]) -> ComputeOp:
        return ComputeOp(self.name, self.axis, body, self.tag, self.attrs)


def substitute_many(bodies: tuple[Expr, ...], f: Callable[[Expr], Expr]) -> tuple[Expr, ...]:
    """Map bodies, keeping the parts that several Reduce bodies share (they differ only by output index)."""
    first = bodies[0]
    if isinstance(first, Reduce):
        made = f(first)
        if made is first:
            return bodies
        if not isinstance(made, Reduce):
            return (made,)
        return tuple(replace(made, index=i, dtype=b.dtype) for i, b in enumerate(bodies))
    mapped = tuple(f(b) for b in bodies)
    return bodies if all(a is b for a, b in zip(mapped, bodies, strict=True)) else mapped


SIZE_LIMIT = 100_000  # nodes of one operation's expressions, written out


def _check_size(op: ComputeOp) -> None:
    """`x = x*x` twenty times over is a small graph, but a million multiplications."""
    total = sum(map(size, op.body))
    if total > SIZE_LIMIT:
        raise ExpressionError(
            "expression-size",
            f"the expression of {op.name} is {shorter(total)} nodes long, the limit is {SIZE_LIMIT}",
            hint="a part that is used several times is computed each time: give it a te.compute of its own and read "
            "that",
        )


def shorter(n: int) -> str:
    """A number of nodes, the huge ones rounded."""
    return str(n) if n < 10**7 else f"about {float(min(n, 10**300)):.0e}"


def _check_bodies(op: ComputeOp) -> None:
    top: list[Reduce] = [b for b in op.body if isinstance(b, Reduce)]
    if top and len(top) != len(op.body):
        raise ExpressionError("mixed-reduction", f"{op.name}: either all outputs are reductions or none is")
    for r in top:
        a = top[0]
        if (r.combiner, r.axes, r.cond) != (a.combiner, a.axes, a.cond) or len(r.sources) != len(a.sources):
            raise ExpressionError("different-reductions", f"{op.name}: its outputs must share one reduction")
    for b in op.body:
        parts = b.sources if isinstance(b, Reduce) else (b,)
        if any(isinstance(x, Reduce) for p in parts for x in walk(p)):
            raise ExpressionError(
                "inner-reduction",
                f"{op.name}: a reduction must stand alone, it cannot be part of a larger expression",
                where=[repr(b)],
                hint="give the reduction a te.compute of its own and read that here",
            )
    for axis in top[0].axes if top else ():
        if axis.iter_type != REDUCE:
            raise ExpressionError("not-a-reduce-axis", f"{op.name}: `{axis.name}` is not a reduce_axis")


# ---------------------------------------------------------------- what a person calls


def placeholder(shape: Any, dtype: str | None = None, name: str = "placeholder") -> Tensor:
    """An input tensor. `shape`: a tuple, or one extent for a vector; dtype float32 unless given."""
    return PlaceholderOp(name, shape_of(shape), dt.canonical("float32" if dtype is None else dtype)).output(0)


def shape_of(shape: Any) -> tuple[Expr, ...]:
    """A shape as expressions; a negative constant extent is refused."""
    dims = shape if isinstance(shape, (tuple, list)) else (shape,)
    made = []
    for d in dims:
        if isinstance(d, float) and d.is_integer():
            d = int(d)
        e = to_expr(d)
        if not dt.is_int(e.dtype):
            raise TVMError(f"an extent must be an integer, not {e!r} ({e.dtype})")
        value = getattr(e, "value", None)
        if isinstance(value, int) and value < 0:
            raise TVMError(f"an extent must not be negative: {value}")
        if isinstance(e, Var) and not e.nonneg:
            object.__setattr__(e, "nonneg", True)  # learned, not changed: an extent is never negative
        made.append(e)
    return tuple(made)


def provably_equal(a: Expr, b: Expr) -> bool:
    """Are the two integer expressions the same number, whatever their variables are?"""
    difference = lin(a) - lin(b)
    return difference.is_const() and difference.const == 0


def same_shape(a: Sequence[Expr], b: Sequence[Expr]) -> bool:
    """Are the extents provably equal, dimension by dimension?"""
    return len(a) == len(b) and all(map(provably_equal, a, b))


def axis_of(extent: Expr, name: str, kind: int = DATA, lo: Any = 0) -> IterVar:
    """A fresh axis over [lo, lo + extent)."""
    dtype = extent.dtype if dt.is_int(extent.dtype) else "int32"
    return IterVar(Range(to_expr(lo, dtype), extent), Var(name, dtype), kind)


def axis_names(f: Callable[..., Any], ndim: int, varargs_names: Sequence[str] | None = None) -> list[str]:
    """The names a compute's lambda gives its axes; `*i` names the rest i0, i1, ..."""
    if not callable(f):
        raise TypeError(f"te.compute takes a function of the axes, such as `lambda i: A[i] + 1`, not {f!r}")
    parameters = list(inspect.signature(f).parameters.values())
    bad = [p.name for p in parameters if p.kind in (p.KEYWORD_ONLY, p.VAR_KEYWORD) or p.default is not p.empty]
    if bad:
        raise AssertionError(f"the function of te.compute takes plain arguments only; `{bad[0]}` is not one")
    names = [p.name for p in parameters if p.kind != p.VAR_POSITIONAL]
    star = next((p.name for p in parameters if p.kind == p.VAR_POSITIONAL), None)
    if star is None:
        return names
    rest = ndim - len(names)
    if varargs_names is not None:
        if len(varargs_names) != rest:
            raise RuntimeError(f"varargs_names has {len(varargs_names)} names for {rest} axes")
        return names + list(varargs_names)
    return names + [f"i{k}" for k in range(rest)]


def compute(
    shape: Any,
    fcompute: Callable[..., Any],
    name: str = "compute",
    tag: str = "",
    attrs: dict[str, Any] | None = None,
    varargs_names: Sequence[str] | None = None,
) -> Any:
    """A tensor of `shape` whose element at (i, j, ...) is `fcompute(i, j, ...)`.

    Several expressions make several outputs (a list). The lambda's argument names name the axes. Refused: fewer
    arguments than dimensions (unless the body is a tensor intrinsic), more, defaults, keyword arguments.
    """
    dims = shape_of(shape)
    names = axis_names(fcompute, len(dims), varargs_names)
    counts = f"te.compute {name}: the function takes {len(names)} arguments, the shape has {len(dims)} dimensions"
    if len(names) > len(dims):
        raise TypeError(counts)
    axis = [axis_of(d, n) for d, n in zip(dims, names, strict=False)]
    body = fcompute(*[a.var for a in axis])
    tag = current_tag(tag)
    if hasattr(body, "tensor_compute"):  # a tensor intrinsic's call takes whole trailing dimensions
        return body.tensor_compute(name, dims, axis, tag, attrs)
    if len(names) < len(dims):
        raise TypeError(counts)
    bodies = [_body(name, b) for b in (body if isinstance(body, (tuple, list)) and body else (body,))]
    kept = (str, int, float, bool, list, tuple, dict)
    plain = {k: v if isinstance(v, kept) else str(v) for k, v in (attrs or {}).items()}
    op = ComputeOp(name, axis, bodies, tag, plain)
    return op.outputs[0] if len(op.outputs) == 1 else list(op.outputs)


def _body(name: str, value: Any) -> Expr:
    """What the function of a compute gave, as an expression."""
    try:
        made = to_expr(value)
        if made.dtype != "handle":
            return made
        raise TypeError
    except TypeError:
        raise TypeError(
            f"te.compute {name}: the function must return an expression, several of them, or a tensor intrinsic's "
            f"call, not {value!r}"
        ) from None


_tags: list[str] = []  # of the tag_scope that is open
_used: list[str] = []  # one entry per operation that took it


def current_tag(tag: str) -> str:
    """The tag of an operation made now: its own, or that of the tag_scope around it."""
    if tag and _tags:
        raise ValueError("a tag inside a tag_scope: nested tags are not allowed")
    if not tag and _tags:
        _used.append(_tags[-1])
        return _tags[-1]
    return tag


@contextmanager
def tag_scope(tag: str) -> Iterator[None]:
    """The default tag of the operations made inside; scopes do not nest (ValueError). Warns when nothing took it."""
    if _tags:
        raise ValueError("a tag_scope inside a tag_scope: nested tags are not allowed")
    _tags.append(tag)
    _used.clear()
    try:
        yield
        if not _used:
            warnings.warn(f"tag_scope({tag!r}): no operation was made inside", stacklevel=3)
    finally:
        _tags.pop()


def among(tensor: Any, tensors: Iterable[Any]) -> bool:
    """Is it one of these? `in` would compare them, which those without dimensions refuse."""
    return any(x is tensor for x in tensors)


def post_order(outputs: Sequence[Operation]) -> list[Operation]:
    """Every operation reachable from the outputs, producers first."""
    order: dict[Operation, None] = {}
    stack: list[tuple[Operation, bool]] = [(op, False) for op in reversed(outputs)]
    while stack:
        op, done = stack.pop()
        if done:
            order[op] = None
        elif op not in order:
            stack.append((op, True))
            stack.extend((t.op, False) for t in reversed(op.inputs))
    return list(order)
