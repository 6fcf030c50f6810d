from __future__ import annotations

from collections.abc import Sequence

from ...core.node import DATA, REDUCE, IterVar
from ...schedule.state import Stage, State
from . import Steps, Value, data_loops, mark, need_plain, reductions, reorder, split

LABEL = "register block"
VALUES = (Value("rows", "rows", 4), Value("columns", "columns", 16))


def steps(state: State, stage: Stage, rows: int, columns: int) -> Steps:
    """A small block of the result is computed at a time, in registers: rows written out, columns as vectors.

        for i:                          for io, jo:
            for j:               ->         for k:
                for k: S(i, j, k)               for ii in unrolled(rows):
                                                    for ji in vectorized(columns): block[...] += ...
                                            C[block] = block

    A sum whose loops are still whole is collected in a local copy; else the loops are blocked where they are.
    """
    i, j = data_loops(state, stage, 2, LABEL)[-2:]
    need_plain(state, stage, (i, j), LABEL)
    sums = reductions(state, stage)
    if sums and not stage.relations and len(stage.op.outputs) == 1:
        yield from _collected(stage, rows, columns)
        return
    (io, ii), _ = yield split(stage, i, rows)
    (jo, ji), _ = yield split(stage, j, columns)
    yield reorder(stage, io, jo, *sums, ii, ji)
    yield from _inside(stage, (ii, ji))


def _collected(stage: Stage, rows: int, columns: int) -> Steps:
    """The sum goes to a local block, which is copied out when it is whole."""
    block, state = yield "cache_write", {"tensor": stage.op.outputs[0], "scope": "local"}
    i, j = state.stages[stage.index].leaves[-2:]
    (io, ii), _ = yield split(stage, i, rows)
    (jo, ji), _ = yield split(stage, j, columns)
    yield reorder(stage, io, jo, ii, ji)
    yield mark("vectorize", stage, ji)
    inner = state.stage_of(block)
    yield "compute_at", {"stage": inner.index, "parent": stage.index, "scope": jo}
    data = [a for a in inner.leaves if a.iter_type == DATA][-2:]
    yield reorder(inner, *(a for a in inner.leaves if a.iter_type == REDUCE), *data)
    yield from _inside(inner, data)


def _inside(stage: Stage, block: Sequence[IterVar]) -> Steps:
    yield mark("unroll", stage, block[0])
    yield mark("vectorize", stage, block[1])
