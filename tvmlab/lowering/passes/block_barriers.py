"""Barriers of a warp become barriers of the block, for languages that do not say which threads are a warp.

    W[tx] = A[tx]                                    W[tx] = A[tx]
    barrier("warp")                       ->         barrier("shared")
    C[tx] = W[31 - tx]                               C[tx] = W[31 - tx]

Memory of scope warp is shared memory by then (`warp_memory`). A barrier that not all threads of the block reach is
refused when all passes are done (target/gpu/divergence.py).
"""

from __future__ import annotations

from typing import Any

from ...core.node import Barrier
from ...core.program import Program
from ...core.walk import replace, rewrite
from ..config import DEFAULT, Config


def block_barriers(program: Program, config: Config = DEFAULT) -> Program:
    return program.map_bodies(lambda body: rewrite(body, _widened))


def _widened(x: Any) -> Any:
    return replace(x, scope="shared") if type(x) is Barrier and x.scope.startswith("warp") else None
