"""What handles are asked: verdicts with legal moves instead, and all moves of a loop or a stage.

    s.verdict("vectorize", C, k)     -> x illegal, because ...; instead: s[C].vectorize(j), ...
    s.moves(C, k)                    -> what may be done to the loop, one line each
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from ..core.error import ScheduleTypeError
from ..core.node import REDUCE, IterVar
from ..schedule.relations import derived_from
from ..schedule.state import Stage, State
from ..schedule.trace import Trace
from .moves import (
    OF_LOOPS,
    OF_STAGES,
    ORDER,
    Chosen,
    bind_move,
    factors,
    offers,
    on,
    places,
    rfactor_move,
    split_move,
    tile_move,
    together,
)  # fmt: skip
from .verdict import LEGAL, OWES, UNKNOWN, Move, Moves, Verdict, judge

if TYPE_CHECKING:
    from .handle import Schedule


# ---------------------------------------------------------------- alternatives


def alternatives(trace: Trace, primitive: str, args: dict[str, Any], most: int = 6) -> list[Move]:
    """Legal moves near the refused one: the same primitive elsewhere, or the step that makes it possible."""
    state = trace.state
    stage = state.stages.get(args.get("stage", -1))
    if stage is None:
        return []
    near = (m for m in _candidates(state, stage, primitive, args) if not _same(m, primitive, args))
    tried = islice(near, most + 1)  # each costs a lowering: a far one is not worth it
    return list(islice((m for m in tried if judge(trace, m.primitive, m.args).kind in (LEGAL, OWES)), most))


def _same(m: Move, primitive: str, args: dict[str, Any]) -> bool:
    return m.primitive == primitive and all(m.args.get(k) is v for k, v in args.items())


def _candidates(state: State, stage: Stage, primitive: str, args: dict[str, Any]) -> Iterator[Move]:
    axis = next((args[k] for k in ("var", "ivar", "parent") if isinstance(args.get(k), IterVar)), None)
    reduction = axis is not None and axis.iter_type == REDUCE and axis in stage.leaves
    if primitive in ("vectorize", "parallel", "unroll"):
        ordered = tuple(reversed(stage.leaves)) if primitive != "parallel" else stage.leaves
        yield from (on(state, stage, primitive, a) for a in ordered)
        if reduction and axis is not None:
            yield rfactor_move(state, stage, axis)
    elif primitive == "bind" and axis is not None:
        if reduction:
            yield bind_move(state, stage, axis, "threadIdx.x")
        tag = getattr(args.get("thread_ivar"), "thread_tag", "") or "blockIdx.x"
        others = [a for a in stage.leaves if a is not axis and a.iter_type != REDUCE]
        yield from (bind_move(state, stage, a, tag) for a in (others[:1] if reduction else others))
    elif primitive == "split" and axis is not None:
        homes = [axis] if axis in stage.leaves else [a for a in stage.leaves if a in _made_of(stage, axis)]
        yield from (split_move(state, stage, a, f) for a in homes for f in factors(state, a)[: 6 // len(homes)])
    elif primitive in ("compute_at", "compute_inline", "double_buffer", "rolling_buffer"):
        yield from places(state, stage)
    elif primitive in ("fuse", "tile"):
        pairs = zip(stage.leaves, stage.leaves[1:], strict=False)
        make = tile_move if primitive == "tile" else lambda s, t, a, b: together(s, t, "fuse", (a, b))
        yield from (make(state, stage, a, b) for a, b in pairs)


def _made_of(stage: Stage, axis: IterVar) -> set[IterVar]:
    return set(derived_from(stage, (axis,)))


# ---------------------------------------------------------------- the public face


def verdict(trace: Trace, primitive: str, args: dict[str, Any]) -> Verdict:
    """The verdict on one step, with legal moves instead where it is refused."""
    found = judge(trace, primitive, args)
    if found.ok or found.kind == UNKNOWN:
        return found
    return replace(found, alternatives=tuple(alternatives(trace, primitive, args)))


def moves(schedule: Schedule, stage: Stage, axis: IterVar | None) -> Moves:
    """What may be done to a loop (or a stage), in a fixed order, each with its verdict; nothing is left out."""
    if axis is not None and not isinstance(axis, IterVar):
        raise ScheduleTypeError("argument-kind", f"moves: `axis` must be an axis, not {axis!r}")
    chosen = Chosen(schedule.state, stage, () if axis is None else (axis,))
    offered = offers(chosen, [p for p in ORDER if p in (OF_STAGES if axis is None else OF_LOOPS)])
    listed = [m for offer in offered for m in offer.moves[: offer.listed]]
    return Moves((m, verdict(schedule.trace, m.primitive, m.args)) for m in listed)


def ask(schedule: Schedule, primitive: str, args: Sequence[Any], kwargs: dict[str, Any]) -> Verdict:
    """`s.verdict("vectorize", C, k)`: the stage comes first, as a tensor, an operation or a stage."""
    from .handle import StageHandle, takes_stage

    values = list(args)
    if takes_stage(primitive) and values and not isinstance(values[0], StageHandle):
        values[0] = schedule[values[0]]
    return verdict(schedule.trace, primitive, dict(schedule.arguments(primitive, values, kwargs)))
