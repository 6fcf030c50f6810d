"""Tensors, operations and intrinsics as parts of saved programs (see core.serial)."""

from __future__ import annotations

from typing import Any

from ..core.serial import register
from .extern import ExternOp
from .intrin import TensorComputeOp, TensorIntrin, TensorIntrinCall, get_intrin, registered_name
from .scan import ScanOp
from .tensor import ComputeOp, PlaceholderOp, Tensor


def _intrin_parts(t: TensorIntrin) -> list[Any]:
    """A registered intrinsic is saved as its name, one that is not as what it is made of."""
    name = registered_name(t)
    if name is not None:
        return [name]
    return [t.name, t.op, t.buffers, t.scalar_params, t.body, t.reduce_init, t.reduce_update]


def _intrin(name: str, *parts: Any) -> TensorIntrin:
    return TensorIntrin(name, *parts) if parts else get_intrin(name)


register(Tensor, lambda t: [t.op, t.value_index], lambda op, index: op.outputs[index])
register(PlaceholderOp, lambda o: [o.name, o.shape, o.dtype])
register(ComputeOp, lambda o: [o.name, o.axis, o.body, o.tag, o.attrs], notes=2)
register(
    ScanOp, lambda o: [o.name, o.axis, o.init, o.updates, o.state_placeholder, o.scan_inputs, o.tag, o.attrs], notes=2
)
register(ExternOp, lambda o: [o.name, o.sources, o.in_buffers, o.out_buffers, o.body, o.tag, o.attrs], notes=2)
register(TensorComputeOp, lambda o: [o.name, o.axis, o.schedulable_ndim, o.call, o.tag, o.attrs], notes=2)
register(TensorIntrin, _intrin_parts, _intrin)
register(TensorIntrinCall, lambda c: [c.intrin, c.tensors, c.regions, c.reduce_axis, c.scalar_inputs])
