"""Memory of a tagged scope `shared.x` becomes shared memory: which of it is static is for the target to say.

    S = alloc((4096,), scope="shared.dyn")        ->        S = alloc((4096,), scope="shared")
"""

from __future__ import annotations

from typing import Any

from ...core.node import Alloc, AllReduce, Attr, Buffer, Load, Stmt, Store
from ...core.program import Program
from ...core.walk import replace, rewrite, walk
from ..config import DEFAULT, Config


def untag_shared(program: Program, config: Config = DEFAULT) -> Program:
    return program.map_bodies(_body)


def _body(body: Stmt) -> Stmt:
    tagged = [x.buffer for x in walk(body) if type(x) is Alloc and x.buffer.scope.startswith("shared.")]
    made = {b: b.with_(scope="shared", data=b.data) for b in tagged}

    def rule(x: Any) -> Any:
        if type(x) in (Load, Store, Alloc) and x.buffer in made:
            return replace(x, buffer=made[x.buffer])
        if type(x) is Attr and isinstance(x.about, Buffer) and x.about in made:
            return replace(x, about=made[x.about])
        if type(x) is AllReduce and any(b in made for b in x.buffers):
            return replace(x, buffers=tuple(made.get(b, b) for b in x.buffers))
        return None

    return rewrite(body, rule) if made else body
