"""Options of lowering, as `transform.PassContext` sets them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..core.program import Program


@dataclass(frozen=True)
class Config:
    """`partition_const_loop`: also cut tails off loops of constant extent. `auto_unroll_*`: as the classic UnrollLoop.

    `split_loop`: unroll factor of double buffering. `vectorize`: False runs vectorized loops serially. `check`: verify
    after every pass, not only at the end. `snapshots`: keep the program after each pass. `disabled`: passes left out.
    `bounds`: kernels check each index that no loop keeps inside its array, and a call names the first that is outside.
    `keep_unit_loops`: loops of extent one stay loops. `custom`: passes of a person's own as (phase, pass), see
    `pipeline.run`. `offset_factor`, `data_alignment`: of buffers that the 0.6 spelling of decl_buffer makes.
    """

    partition_const_loop: bool = True
    auto_unroll_max_step: int = 0
    auto_unroll_max_depth: int = 8
    auto_unroll_max_extent: int = 0
    split_loop: int = 1
    vectorize: bool = True
    check: bool = False
    bounds: bool = False
    snapshots: bool = False
    keep_unit_loops: bool = False
    reuse_storage: bool = True
    disabled: frozenset[str] = frozenset()
    custom: tuple[tuple[int, Callable[[Program], Program]], ...] = ()
    offset_factor: int = 0
    data_alignment: int = -1


DEFAULT = Config()
