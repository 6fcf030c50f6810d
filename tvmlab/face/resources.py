"""What kernels use of a GPU, by its real compiler, on a machine that need not have one.

    tvmlab.resources(s, [A, B, C], "sm_90")

    kernel   registers  shared   spilled  blocks  warps  occupancy  limited by
    main_C   63         8192 B   0 B      4       32     50 %       registers
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from ..core.error import BuildError
from ..core.hooks import Shown
from ..core.program import Function
from ..core.threads import BLOCK
from ..core.units import size
from ..core.walk import constant
from ..lowering.config import DEFAULT
from ..target import Target
from ..target.clike import kernel_name
from ..target.cuda_c import check
from ..target.gpu import limits
from .api import for_target, leaving_out, readable


@dataclass(frozen=True)
class Resources:
    """Of one kernel. `registers`, `stack`: of a thread; `shared`, `threads`: of a block; `spilled`: bytes stored and
    loaded again for want of registers. `blocks`, `warps`: at once on a multiprocessor, of which `occupancy` is the part
    of its warps and `limit` what there are no more of.
    """

    kernel: str
    arch: str
    threads: int
    registers: int
    shared: int
    spilled: int
    stack: int
    blocks: int
    warps: int
    occupancy: float
    limit: str


class Report(list[Resources], Shown):
    """Resources, printed as a table."""

    def __repr__(self) -> str:
        head = ("kernel", "registers", "shared", "spilled", "blocks", "warps", "occupancy", "limited by")
        rows = [head, *map(_row, self)]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ["  ".join(f"{cell:{w}}" for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows]
        return "\n".join(lines)


def _row(r: Resources) -> tuple[str, ...]:
    shared, spilled = size(r.shared), size(r.spilled)
    return (r.kernel, str(r.registers), shared, spilled, str(r.blocks), str(r.warps), f"{r.occupancy:.0%}", r.limit)


def resources(schedule: Any, args: Sequence[Any], arch: str = "sm_90", name: str = "main") -> Report:
    """What the kernels of a schedule use on an NVIDIA architecture (`sm_80`, `sm_90`), as NVRTC compiles them.

    Needs no GPU, but what the extra `cuda` installs; where that is missing, the error says what pip installs. Refused:
    what does not build for the target `cuda_c`.
    """
    target = Target("cuda_c", arch=arch)
    model = limits.of(target)
    config = leaving_out(DEFAULT, target)
    program = for_target(readable(schedule, args, name, config), target, config)
    used = check.check(target.kind.source(program, target), model.name)
    return Report(_of(fn, used[kernel_name(fn)], model) for fn in program.functions[1:])


def _of(fn: Function, used: check.Usage, model: limits.Model) -> Resources:
    extents = limits.launch(fn) or {}
    sizes = [constant(n) for tag, n in extents.items() if tag in BLOCK]
    if None in sizes:
        raise BuildError("block-size", f"how many threads a block of {fn.name} has is known only when it is called")
    threads = prod(n for n in sizes if n is not None)
    shared = used.shared + limits.dynamic_bytes(fn, limits.get(model.name).shared)
    full = limits.occupancy(threads, used.registers, shared, model)
    return Resources(
        fn.name, model.name, threads, used.registers, shared, used.spill_stores + used.spill_loads, used.stack,
        full.blocks, full.warps, full.fraction, full.limit,
    )  # fmt: skip
