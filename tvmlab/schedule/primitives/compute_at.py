from __future__ import annotations

from dataclasses import replace

from ...core.error import ScheduleError
from ...core.node import IterVar
from ..guard import loops, need_leaf, need_movable
from ..state import Attach, Stage, State
from . import StageIndex


def compute_at(state: State, stage: StageIndex, parent: StageIndex, scope: IterVar) -> tuple[State, None]:
    """The stage is computed inside the loop `scope` of the stage `parent`, only the part that one iteration needs.

        for i in range(n):                  for i in range(n):
            B[i] = f(i)                         B[0] = f(i)
        for i in range(n):           ->         C[i] = g(B[0])
            C[i] = g(B[i])

    Every consumer must end up under that loop: until then it is an open obligation. Refused: an output, an input, a
    scan's update, the stage itself, a parent that does not depend on it, a cycle of attachments, an axis that is no
    loop of the parent, for a member of a group a parent outside it.
    """
    s, p = state.stages[stage], state.stages[parent]
    need_movable(state, s, "attach")
    if s.is_output:
        raise ScheduleError(
            "attach-output",
            f"cannot compute {s.name} inside {p.name}: it is an output, it is computed whole",
            hint=f"to stage its values use a cache:  s.cache_write({s.called}, 'local')",
        )
    if s is p:
        raise ScheduleError("attach-self", f"cannot compute {s.name} inside itself", legal=_consumers(state, s))
    need_leaf(state, p, scope, f"compute {s.name} at")
    _stay_in_group(state, s, p)
    chain = attached_to(state, p)
    if s.index in chain:
        path = " -> ".join(state.stages[i].name for i in chain)
        raise ScheduleError(
            "attach-cycle",
            f"cannot compute {s.name} inside {p.name}: {p.name} is itself computed inside {s.name}",
            where=[path],
            legal=_consumers(state, s),
        )
    if p.index not in readers(state, s):
        raise ScheduleError(
            "attach-unrelated",
            f"cannot compute {s.name} inside {p.name}: {p.name} does not read it, nor what is made of it",
            legal=_consumers(state, s),
            hint=f"a stage is computed where it is used: inside a loop of a stage that reads {s.name}",
        )
    return state.with_stage(replace(s, attach=Attach("at", p.index, scope))), None


def _stay_in_group(state: State, s: Stage, p: Stage) -> None:
    """A member of a group moves with it, so its own place is inside."""
    if s.group is None or s.group in state.groups_of(p.group):
        return
    members = [m for m in state.members(s.group) if m is not s]
    raise ScheduleError(
        "attach-group",
        f"cannot compute {s.name} inside {p.name}: {s.name} belongs to a group that {p.name} is not in",
        legal=[f"{m.name}: {', '.join(loops(state, m))}" for m in members],
        hint="to move the whole group, use compute_at of the group that create_group returned",
    )


def attached_to(state: State, stage: Stage) -> list[int]:
    """The stage and those it is nested in, innermost first."""
    chain = [stage.index]
    while (at := state.attach_of(state.stages[chain[-1]])).kind in ("at", "scan") and at.stage not in chain:
        chain.append(at.stage)
    return chain


def readers(state: State, stage: Stage) -> set[int]:
    """The stages that read what the stage makes, directly or through others."""
    found: set[int] = set()
    made = set(stage.op.outputs)
    for s in state.in_order:
        if s is not stage and made & set(s.op.inputs):
            found.add(s.index)
            made |= set(s.op.outputs)
    return found


def _consumers(state: State, s: Stage) -> list[str]:
    found = [c for c in state.consumers(s.op) if c is not s]
    return [f"{c.name}: {', '.join(loops(state, c))}" for c in found]
