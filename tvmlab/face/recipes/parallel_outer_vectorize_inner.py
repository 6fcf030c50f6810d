from __future__ import annotations

from ...schedule.state import Stage, State
from . import Steps, Value, data_loops, mark, reorder, split

LABEL = "parallel outer + vectorize inner"
VALUES = (Value("lanes", "lanes", 8),)


def steps(state: State, stage: Stage, lanes: int) -> Steps:
    """The outermost data loop runs on all cores; the innermost one in vectors.

        for i:                          for i in parallel:
            for j: S(i, j)       ->         for jo:
                                                for ji in vectorized(lanes): S(...)
    """
    data = data_loops(state, stage, 1, LABEL)
    (outer, inner), after = yield split(stage, data[-1], lanes)
    leaves = after.stages[stage.index].leaves
    if leaves[-1] is not inner:
        at = leaves.index(inner)
        yield reorder(stage, *leaves[at + 1 :], inner)
    yield mark("parallel", stage, data[0] if len(data) > 1 else outer)
    yield mark("vectorize", stage, inner)
