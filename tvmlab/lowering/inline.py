"""Bodies of inlined stages put where they are read.

    B[i] = A[i] + 1                              C[i] = (A[i] + 1)*2
    C[i] = B[i]*2          B inlined:    ->

The expression is made once, from the reader down. A stage that is read twice is copied twice, and its producers then
four times: what would grow beyond the limit is refused before it is made.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from ..core.affine import loads
from ..core.error import ScheduleError
from ..core.node import Expr, Load, Var
from ..core.walk import map_children, walk
from ..expr.tensor import SIZE_LIMIT, ComputeOp, Tensor, shorter, substitute_many

Inlined = Mapping[Tensor, ComputeOp]


def inline(op: ComputeOp, inlined: Inlined) -> tuple[Expr, ...]:
    """The bodies of `op` with the inlined tensors' own in place of their reads. `inlined`: producers first."""
    refuse_explosion(op, inlined)

    def expand(e: Any, env: Mapping[Any, Expr]) -> Any:
        if type(e) is Var:
            return env.get(e, e)
        if type(e) is Load and e.buffer in inlined:
            producer = inlined[e.buffer]
            inside = {a.var: expand(i, env) for a, i in zip(producer.axis, e.indices, strict=True)}
            return expand(producer.body[0], inside)
        return map_children(e, lambda c: expand(c, env))

    return substitute_many(op.body, lambda b: expand(b, {}))


def refuse_explosion(op: ComputeOp, inlined: Inlined) -> None:
    """Count the copies, readers first, before any is made."""
    copies: Counter[Tensor] = Counter()
    size = sum(_count(b, 1, inlined, copies) for b in op.body)
    for tensor in reversed(list(inlined)):
        if copies[tensor]:
            size += copies[tensor] * _count(inlined[tensor].body[0], copies[tensor], inlined, copies)
    if size <= SIZE_LIMIT:
        return
    often = sorted((t for t in inlined if copies[t] > 1), key=lambda t: -copies[t])
    shown = often[:: max(1, len(often) // 5)]
    raise ScheduleError(
        "inline-explosion",
        f"inlining makes the expression of {op.name} {shorter(size)} nodes long (the limit is {SIZE_LIMIT})",
        where=[f"{t.op.name} is copied {shorter(copies[t])} times" for t in shown],
        legal=[f"s[{t.op.name}].compute_root()" for t in shown],
        hint="a stage that is read more than once is copied for each read: compute some of them once instead",
    )


def _count(body: Expr, times: int, inlined: Inlined, copies: Counter[Tensor]) -> int:
    """The nodes of one body; its reads of inlined tensors are `times` more copies of them."""
    for x in loads(body):
        if x.buffer in inlined:
            copies[x.buffer] += times
    return sum(1 for _ in walk(body))
