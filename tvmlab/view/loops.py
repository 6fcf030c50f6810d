"""The lines of a loop program, each with the loop or stage it is of, and the step that made it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..core.deep import deep
from ..core.node import Attr, Barrier, For, If, IterVar, LetStmt, Stmt
from ..core.program import Origin, Program
from ..core.text import program_lines
from ..lowering.passes.sync_threads import Conflict
from ..schedule.state import Fuse, Stage, State
from ..schedule.trace import Trace
from . import tokens
from .ids import Place, id_of
from .makers import makers
from .payload import Line


@deep
def lines(program: Program, trace: Trace) -> list[Line]:
    """What is printed of the program, which `trace` was lowered to; what the schedule owes stands there as comments.

    A loop's line names the loop and the step that made or last marked it, a store's the stage and the step that last
    changed how it is computed; a guard's the stage that it guards.
    """
    steps, made = makers(trace), [(d, t, node) for d, t, node in program_lines(program)]
    found: list[Line] = []
    for (depth, text, node), place in zip(made, owners(trace.state, made), strict=True):
        why = node.origin if isinstance(node, Barrier) and isinstance(node.origin, Conflict) else None
        line = plain(depth, text)
        if why is not None:
            line["why"] = str(why)
        if place is not None:
            line["id"] = id_of(trace.state, *place)
            step = 0 if isinstance(node, (If, LetStmt)) else steps.get(place, 0)
            if step:
                line["s"] = step
        found.append(line)
    return found


def owners(state: State, printed: Iterable[tuple[int, str, Any]]) -> list[Place | None]:
    """The loop or stage of each line; None for what belongs to the whole program."""
    home = {a: (s.index, loop) for s in state.in_order for a, loop in _loops(s).items()}
    found: list[Place | None] = []
    around: list[tuple[int, Place]] = []  # the loops that are open, with their depths
    for depth, _, node in printed:
        while around and around[-1][0] >= depth:
            around.pop()
        place = _own(home, state, node)
        if isinstance(node, Attr) and place is None and node.key.startswith(("pragma_", "prefetch_")) and around:
            place = around[-1][1]
        if isinstance(node, For) and place is not None:
            around.append((depth, place))
        found.append(place)
    return _guards(list(printed), found)


def _loops(stage: Stage) -> dict[IterVar, IterVar]:
    """Each axis -> the loop that it is, or became part of by fusing (the start of a sum still has the parts)."""
    found = {a: a for a in stage.leaves}
    for r in reversed(stage.relations):
        if isinstance(r, Fuse) and r.fused in found:
            found.setdefault(r.outer, found[r.fused])
            found.setdefault(r.inner, found[r.fused])
    return found


def _own(home: dict[IterVar, tuple[int, IterVar]], state: State, node: Any) -> Place | None:
    origin = getattr(node, "origin", None)
    if not isinstance(origin, Origin):
        return None
    if origin.axis in home:
        return home[origin.axis]
    return (origin.index, None) if origin.index in state.stages else None


def _guards(printed: list[tuple[int, str, Any]], found: list[Place | None]) -> list[Place | None]:
    """A line that has no place of its own (a condition, a let) is of the stage of the line below it."""
    below: Place | None = None
    for k in reversed(range(len(found))):
        node = printed[k][2]
        if found[k] is not None:
            below = found[k]
        elif isinstance(node, (If, LetStmt)) and below is not None:
            found[k] = (below[0], None)
        elif not isinstance(node, Stmt):
            below = None
    return found


def plain(depth: int, text: str, finder: tokens.Finder = tokens.python) -> Line:
    """A line of text alone, its words marked."""
    spans = tokens.in_browser(text, finder(text))
    return {"d": depth, "t": text, "k": spans} if spans else {"d": depth, "t": text}
