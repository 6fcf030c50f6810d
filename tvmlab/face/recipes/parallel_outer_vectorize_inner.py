from __future__ import annotations

from ...core.error import LabError
from ...schedule.state import Stage, State
from . import Steps, Value, data_loops, mark, marked, need_plain, reorder, split

LABEL = "parallel outer + vectorize inner"
VALUES = (Value("lanes", "lanes", 8),)


def steps(state: State, stage: Stage, lanes: int) -> Steps:
    """The outermost data loop runs on all cores; the innermost one in vectors.

        for i:                          for i in parallel:
            for j: S(i, j)       ->         for jo:
                                                for ji in vectorized(lanes): S(...)

    What is so already stays as it is.
    """
    data = data_loops(state, stage, 1, LABEL)
    said = {marked(stage, a) for a in stage.leaves}
    first = data[0]
    if {"parallel", "vectorized"} <= said:
        raise LabError("recipe-marked", f"{stage.name} is parallel and vectorized already")
    if "vectorized" not in said:
        need_plain(state, stage, data[-1:], LABEL)
        (outer, inner), after = yield split(stage, data[-1], lanes)
        first = outer if len(data) == 1 else first
        leaves = after.stages[stage.index].leaves
        if leaves[-1] is not inner:
            yield reorder(stage, *leaves[leaves.index(inner) + 1 :], inner)
        yield mark("vectorize", stage, inner)
    if "parallel" not in said:
        need_plain(state, stage, [first] if first in stage.leaves else [], LABEL)
        yield mark("parallel", stage, first)
