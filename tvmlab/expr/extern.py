"""Opaque statements as operations: `te.extern`, for library calls and hand-written loops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..core import dtype as dt
from ..core.calls import as_stmt
from ..core.error import ExpressionError
from ..core.node import Buffer, Load, Stmt
from ..core.text import show
from ..core.walk import substitute_buffers, walk
from .tensor import Operation, Tensor, current_tag, same_shape, shape_of


class ExternOp(Operation):
    """`body` runs once, over the buffers that stand for the inputs and the outputs.

    `sources[i]` is read through `in_buffers[i]`; output i is written through `out_buffers[i]`.
    """

    kind = "extern"

    def __init__(
        self,
        name: str,
        sources: Sequence[Tensor],
        in_buffers: Sequence[Buffer],
        out_buffers: Sequence[Buffer],
        body: Stmt,
        tag: str = "",
        attrs: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(name, tag, attrs)
        self.sources, self.body = tuple(sources), body
        self.in_buffers, self.out_buffers = tuple(in_buffers), tuple(out_buffers)
        self.outputs = tuple(Tensor(b.shape, b.dtype, self, i) for i, b in enumerate(self.out_buffers))

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        return tuple(dict.fromkeys(self.sources))

    def with_inputs(self, replaced: dict[Any, Any]) -> ExternOp:
        sources = tuple(replaced.get(t, t) for t in self.sources)
        if all(a is b for a, b in zip(sources, self.sources, strict=True)):
            return self
        return ExternOp(self.name, sources, self.in_buffers, self.out_buffers, self.body, self.tag, self.attrs)


def extern(
    shape: Any,
    inputs: Any,
    fcompute: Callable[[list[Buffer], list[Buffer]], Any],
    name: str = "extern",
    dtype: Any = None,
    in_buffers: Any = None,
    out_buffers: Any = None,
    tag: str = "",
    attrs: dict[str, Any] | None = None,
) -> Any:
    """Tensors made by a statement of one's own: `fcompute(ins, outs)` gives it, over buffers.

    `shape`: one shape, or a list of shapes for several outputs (then a list of tensors comes back). `dtype`: of the
    outputs, one for all or a list; without it, the one dtype that all inputs have. `in_buffers`, `out_buffers`: buffers
    of one's own, to impose a layout or an alignment.
    """
    tag = current_tag(tag)
    sources = tuple(inputs) if isinstance(inputs, (list, tuple)) else (inputs,)
    for t in sources:
        if not isinstance(t, Tensor):
            raise ValueError(f"te.extern {name}: an input must be a tensor, not {t!r}")
    shapes = _shapes(shape)
    ins = _given(name, "input", in_buffers, len(sources)) or [_buffer(t.shape, t.dtype, t.name) for t in sources]
    outs = _given(name, "output", out_buffers, len(shapes))
    if outs is None:
        names = [name] if len(shapes) == 1 else [f"{name}.v{i}" for i in range(len(shapes))]
        outs = [_buffer(*a) for a in zip(shapes, _dtypes(name, dtype, sources, len(shapes)), names, strict=True)]
    else:
        _check_outputs(name, outs, shapes, dtype)
    for t, b in zip(sources, ins, strict=True):
        _check_input(name, t, b)
    body = as_stmt(fcompute(list(ins), list(outs)))
    if body is None:
        raise ValueError(f"te.extern {name}: the function must return an expression or a statement")
    op = ExternOp(name, sources, ins, outs, over_buffers(name, body, sources, ins), tag, attrs)
    return op.outputs[0] if len(op.outputs) == 1 else list(op.outputs)


def _shapes(shape: Any) -> list[Any]:
    """One shape or a list of them -> the list."""
    dims = shape if isinstance(shape, (list, tuple)) else (shape,)
    many = len(dims) > 0 and isinstance(dims[0], (list, tuple))
    return [shape_of(s) for s in dims] if many else [shape_of(dims)]


def _buffer(shape: Any, dtype: str, name: str) -> Buffer:
    return Buffer(name, tuple(shape), dtype)


def _given(name: str, what: str, buffers: Any, count: int) -> list[Buffer] | None:
    if buffers is None:
        return None
    made = list(buffers) if isinstance(buffers, (list, tuple)) else [buffers]
    if len(made) != count:
        raise RuntimeError(f"te.extern {name}: {count} {what}s, but {len(made)} {what} buffers")
    return made


def _dtypes(name: str, dtype: Any, sources: Sequence[Tensor], count: int) -> list[str]:
    if dtype is None:
        found = sorted({t.dtype for t in sources})
        if len(found) != 1:
            have = f"the inputs have {' and '.join(found)}" if found else "there are no inputs"
            raise ValueError(f"te.extern {name}: cannot infer the output's dtype, {have}; give dtype=")
        return found * count
    made = [dt.canonical(d) for d in dtype] if isinstance(dtype, (list, tuple)) else [dt.canonical(dtype)] * count
    if len(made) != count:
        raise RuntimeError(f"te.extern {name}: {count} outputs, but {len(made)} dtypes")
    return made


def _check_outputs(name: str, buffers: Sequence[Buffer], shapes: Sequence[Any], dtype: Any) -> None:
    wanted = [b.dtype for b in buffers] if dtype is None else _dtypes(name, dtype, (), len(shapes))
    for b, shape, want in zip(buffers, shapes, wanted, strict=True):
        if b.dtype != want or not same_shape(b.shape, shape):
            raise _mismatch(name, "output", b, want, shape)


def _check_input(name: str, t: Tensor, b: Buffer) -> None:
    if b.dtype != t.dtype or not same_shape(b.shape, t.shape):
        raise _mismatch(name, f"input {t.name}", b, t.dtype, t.shape)
    if b.strides is not None:
        raise ExpressionError(
            "extern-strides",
            f"te.extern {name}: the buffer of input {t.name} has strides; an input buffer must be compact",
        )


def _mismatch(name: str, what: str, b: Buffer, dtype: str, shape: Sequence[Any]) -> ExpressionError:
    return ExpressionError(
        "extern-buffer",
        f"te.extern {name}: the buffer of {what} must be {dtype}[{', '.join(show(d) for d in shape)}], "
        f"not {b.dtype}[{', '.join(show(d) for d in b.shape)}]",
    )


def over_buffers(name: str, body: Stmt, sources: Sequence[Tensor], ins: Sequence[Buffer]) -> Stmt:
    """The body with elements of tensors that it reads directly turned into accesses of their buffers."""
    found = {x.buffer for x in walk(body) if isinstance(x, Load) and isinstance(x.buffer, Tensor)}
    for t in found - set(sources):
        raise ExpressionError(
            "extern-input",
            f"{name}: the body reads tensor {t.name}, which is not among the inputs",
            legal=[s.name for s in sources],
        )
    return substitute_buffers(body, dict(zip(sources, ins, strict=True))) if found else body
