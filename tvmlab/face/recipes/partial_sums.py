from __future__ import annotations

from typing import Any

from ...core.error import LabError
from ...core.node import DATA, REDUCE, IterVar
from ...schedule.guard import name as called
from ...schedule.state import Stage, State
from . import Steps, Value, mark, reductions, reorder

LABEL = "partial sums"
VALUES = (
    Value("axis", "reduction", None, "axis"),
    Value("parts", "parts", 8),
    Value("then", "then", "vectorize", "choice", ("vectorize", "parallel", "nothing")),
)


def steps(state: State, stage: Stage, axis: IterVar | None, parts: int, then: str) -> Steps:
    """The reduction is done in parts that do not depend on each other, and these are folded at the end.

        for k: S += A[k]         ->     for ko:
                                            for ki in vectorized(parts): P[ki] += A[ko*parts + ki]
                                        for ki: S += P[ki]

    The order of additions changes: a float result may differ in rounding.
    """
    sums = reductions(state, stage)
    chosen = axis if axis is not None else next(iter(sums), None)
    if chosen is None:
        raise LabError("recipe-loops", f"{stage.name} has no reduction that could be done in parts")
    if chosen not in stage.leaves or chosen.iter_type != REDUCE:
        legal = [called(state, a) for a in sums]
        raise LabError("recipe-loops", f"{called(state, chosen)} is no reduction loop of {stage.name}", legal=legal)
    size: Any = {"nparts": parts} if then == "parallel" else {"factor": parts}
    (outer, inner), _ = yield "split", {"stage": stage.index, "parent": chosen, **size}
    part = outer if then == "parallel" else inner
    position = 0 if then == "parallel" else -1
    made, after = yield "rfactor", {"tensor": stage.op.outputs[0], "axis": part, "factor_axis": position}
    first = made if not isinstance(made, list) else made[0]
    partial = after.stage_of(first)
    shared = partial.op.axis[position]
    rest = [a for a in partial.leaves if a.iter_type == REDUCE]
    if then == "parallel":
        yield mark("parallel", partial, shared)
        return
    if rest:
        yield reorder(partial, *rest, shared)
    folds = [a for a in after.stages[stage.index].leaves if a.iter_type == DATA]
    if folds:
        yield "compute_at", {"stage": partial.index, "parent": stage.index, "scope": folds[-1]}
    if then == "vectorize":
        yield mark("vectorize", partial, shared)
