"""The classic schedule functions: a name such as schedule_dense is the schedule of the kernel it means.

They take the output tensor (or a list) and give a schedule: for the target in force, without one for a CPU. Elementwise
consumers and producers come along. On GPUs a kernel without a schedule of its own gets the default one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.error import MissingName
from ..expr.tensor import ComputeOp, Tensor
from ..face.api import Schedule, create_schedule
from ..kernels import _gpu, _shared, get
from ..names import missing
from ..target import Target

_KERNEL = {
    "elementwise": "injective concatenate concatenate_cpu",
    "reduction": "reduce",
    "pooling": "pool adaptive_pool",
    "softmax": "softmax fast_softmax",
    "dense": "dense dense_nopack dense_pack",
    "matmul": "matmul batch_matmul",
    "batch_norm": "batch_norm",
    "norm": "lrn l2_normalize",
    "conv2d": "conv2d_nchw conv2d_nhwc",
    "depthwise_conv2d": "depthwise_conv2d_nchw depthwise_conv2d_nhwc",
    "convolution": """conv2d_hwcn conv2d_NCHWc conv1d_ncw conv1d_nwc conv3d_ncdhw conv3d_ndhwc group_conv1d_ncw
        group_conv1d_nwc group_conv2d_nchw group_conv2d_nhwc conv2d_transpose_nchw conv1d_transpose_ncw
        conv3d_transpose_ncdhw group_conv2d_transpose_nchw depthwise_conv2d_NCHWc""",
    "contract": "einsum",
    "sort": "sort argsort topk",
}
# operators that are not there, or have no schedule of their own: whatever the output is, it runs by rows
_OTHERS = """pool_grad argwhere unique scatter_nd roi_pool roi_align proposal nms get_valid_counts multibox_prior
    multibox_transform_loc multibox_detection reorg lstm correlation_nchw sparse_dense sparse_transpose binarize_pack
    bitpack binary_dense bitserial_conv2d_nchw bitserial_conv2d_nhwc bitserial_dense deformable_conv2d_nchw
    deformable_conv2d_nhwc dilation2d_nchw dilation2d_nhwc depthwise_conv2d_backward_input_nhwc
    depthwise_conv2d_backward_weight_nhwc conv2d_winograd_weight_transform conv2d_winograd_without_weight_transform
    scan"""
KERNEL = {
    f"schedule_{name}": file for file, names in [*_KERNEL.items(), ("elementwise", _OTHERS)] for name in names.split()
}


def find(module: str, name: str, target: str = "") -> Callable[..., Any]:
    """The schedule function `name` of topi.generic, topi.x86 or (with a GPU's `target`) topi.cuda; an unknown one
    answers with those that are near."""
    if name not in KERNEL:
        raise missing(module, name, [*KERNEL, *OWN], {})
    file = KERNEL[name]

    def schedule(*args: Any) -> Schedule:
        made: Schedule = _for(target or _gpu_in_force(), file, _outputs(args))
        return made

    schedule.__name__ = schedule.__qualname__ = name
    schedule.__doc__ = f"The schedule of kernels/{file}.py, for an output tensor or a list of them."
    return schedule


def _gpu_in_force() -> str:
    now = Target.current(allow_none=True)
    return now.name if now is not None and now.kind.model else ""


def _for(gpu: str, file: str, outs: Any) -> Schedule:
    kernel = get(file)
    if not gpu:
        made: Schedule = kernel.schedule_cpu(outs)
        return made
    if hasattr(kernel, "schedule_gpu"):
        made = kernel.schedule_gpu(outs)
        return made
    return create_schedule([t.op for t in _shared.as_outputs(outs)]).default(gpu)


def _outputs(args: tuple[Any, ...]) -> Any:
    """The outputs among the arguments: a few classic functions take more (layouts, configurations) around them."""
    found = [a for a in args if isinstance(a, Tensor) or (isinstance(a, (list, tuple)) and _tensors(a))]
    if not found:
        raise TypeError(f"a schedule function takes an output tensor or a list of them, not {args!r}")
    return found[-1]


def _tensors(things: Any) -> bool:
    return bool(things) and all(isinstance(x, Tensor) for x in things)


# ---------------------------------------------------------------- of no operator in particular


def default_schedule(outs: Any, auto_inline: bool = False) -> Schedule:
    """Nothing scheduled; with `auto_inline`, what is computed element by element goes into its readers."""
    tensors = _shared.as_outputs(outs)
    s = create_schedule([t.op for t in tensors])
    if auto_inline:
        _inline(s, {t.op for t in tensors})
    return s


def schedule_extern(outs: Any) -> Schedule:
    """Elementwise operations inlined; the rest as it is."""
    return default_schedule(outs, auto_inline=True)


def _inline(s: Schedule, outputs: set[Any]) -> None:
    for stage in s.stages:
        op = stage.op
        if isinstance(op, ComputeOp) and op not in outputs and _shared.is_elementwise(op):
            s[op].compute_inline()


def schedule_injective_from_existing(sch: Schedule, out: Tensor) -> Schedule:
    """One elementwise stage of a schedule: for a CPU the outer loops in parallel, the last in vectors; for a GPU target
    in force one thread for each element."""
    if _gpu_in_force():
        _gpu.flat(sch[out])
    else:
        _shared.rows(sch, out.op)
    return sch


OWN: dict[str, Callable[..., Any]] = {
    "default_schedule": default_schedule,
    "schedule_extern": schedule_extern,
    "schedule_injective_from_existing": schedule_injective_from_existing,
}


class Elsewhere:
    """topi.rocm and the like: nothing is there yet, and each function says so when it is called."""

    def __init__(self, name: str) -> None:
        self.__name__ = f"tvmlab.topi.{name}"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)

        def refuse(*args: Any, **more: Any) -> Any:
            raise MissingName(
                "not-in-tvmlab",
                f"{self.__name__.removeprefix('tvmlab.')}.{name}: there are operators and schedules for topi.x86 and "
                "topi.cuda",
                legal=[f"topi.{device}.{name}" if name in KERNEL else f"topi.{device}" for device in ("x86", "cuda")],
                hint="those of topi.cuda are for every GPU that there is a target for",
            )

        refuse.__name__ = name
        return refuse

    def __repr__(self) -> str:
        return f"<{self.__name__}: not there yet>"
