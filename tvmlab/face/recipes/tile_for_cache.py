from __future__ import annotations

from ...schedule.state import Stage, State
from . import Steps, Value, data_loops, need_plain, reductions, reorder, split

LABEL = "tile for cache"
VALUES = (Value("rows", "rows", 32), Value("columns", "columns", 32), Value("depth", "depth of the sum", 16))


def steps(state: State, stage: Stage, rows: int, columns: int, depth: int) -> Steps:
    """The two innermost data loops and the first reduction are cut into blocks that stay in the cache.

        for i:                          for io, jo, ko:
            for j:               ->         for ii in range(rows):
                for k: S(i, j, k)               for ki in range(depth):
                                                    for ji in range(columns): S(...)
    """
    i, j = data_loops(state, stage, 2, LABEL)[-2:]
    need_plain(state, stage, (i, j), LABEL)
    sums = reductions(state, stage)
    (io, ii), _ = yield split(stage, i, rows)
    (jo, ji), _ = yield split(stage, j, columns)
    if not sums:
        yield reorder(stage, io, jo, ii, ji)
        return
    (ko, ki), _ = yield split(stage, sums[0], depth)
    yield reorder(stage, io, jo, ko, *sums[1:], ii, ki, ji)
