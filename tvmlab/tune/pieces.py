"""What a space for any expression schedules: the stages of a schedule that nobody has said anything of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod

from ..core.node import IterVar, Load
from ..core.walk import constant, walk
from ..expr.tensor import ComputeOp, Operation, Tensor
from ..schedule.state import PLAIN, Stage, State
from .packing import other_lanes, reread

OPTIONS = {"place", "order", "cache", "lanes", "parallel", "swap", "unroll", "vectorize", "threads", "each", "shared"}
CODE = 1024  # innermost iterations that are written out or kept in registers, at most


@dataclass(eq=False)
class Piece:
    """A stage nobody has scheduled. `levels` of tiles over the result; `inline`: may it be; `kept`: must it be whole?

    `always`: it is inlined whatever the configuration, since nothing is computed twice for that.
    """

    op: ComputeOp
    name: str
    kept: bool
    inline: bool
    levels: int
    readers: list[Operation]
    always: bool = False
    reread: dict[str, Tensor] = field(default_factory=dict)  # what its sum reads again and again, see packing.py
    lanes: dict[IterVar, list[Tensor]] = field(default_factory=dict)  # other than the last axis, see packing.py
    # what a configuration makes of it
    loops: dict[str, IterVar] = field(default_factory=dict)  # a place -> the loop
    home: Piece | None = None  # the stage whose loops run it
    place: str = "root"
    copies: list[Tensor] = field(default_factory=list)  # of what it reads

    def split(self, axis: IterVar) -> str:
        """The name of the choice of how an axis is cut."""
        return f"{self.name}.{axis.name}" + "_" * (axis.name in OPTIONS)

    @property
    def folds(self) -> bool:
        return bool(self.op.reduce_axis)


def plan(state: State, tensors: Sequence[Tensor]) -> list[Piece]:
    """The stages to schedule, producers first."""
    given = {state.stage_of(t).index for t in tensors if t.op in state.alias}
    free = {s.index: s for s in state.in_order if _free(s)}
    names: dict[str, int] = {}
    pieces = []
    for s in free.values():
        op = s.op
        assert isinstance(op, ComputeOp)
        count = names[op.name] = names.get(op.name, 0) + 1
        kept = s.is_output or s.index in given
        readers = state.consumers(op)
        known = not kept and all(r.index in free for r in readers)
        deep = bool(op.reduce_axis) or any(state.stage_of(t).index in free for t in op.inputs)
        inline = known and not op.reduce_axis and op.num_outputs == 1
        name = op.name if count == 1 else f"{op.name}#{count}"
        read_by = [r.op for r in readers]
        always = inline and _read_once(op, read_by)
        pieces.append(Piece(op, name, not known, inline, 3 if deep and not inline else 2, read_by, always))
    placed = {p.op for p in pieces if not p.kept}  # at a loop of their reader's by themselves, if so chosen
    for p in pieces:
        p.reread = {name: t for name, t in reread(p.op).items() if t.op not in placed}
        p.lanes = {a: used for a, used in other_lanes(p.op).items() if not placed & {t.op for t in used}}
    return pieces


def _read_once(op: ComputeOp, readers: Sequence[Operation]) -> bool:
    """Does one stage read it, as many elements as there are, each at one place of its expression?"""
    if len(readers) != 1 or not isinstance(readers[0], ComputeOp) or readers[0].reduce_axis:
        return False
    reader, out = readers[0], op.outputs[0]
    places = sum(isinstance(x, Load) and x.buffer is out for b in reader.body for x in walk(b))
    sizes = [[constant(n) or 0 for n in t.shape] for t in (out, reader.outputs[0])]
    return places == 1 and prod(sizes[0]) == prod(sizes[1]) > 0


def _free(s: Stage) -> bool:
    """Has nobody said anything of the stage's loops or its place?"""
    plain = not s.relations and s.attach.kind == "root" and s.group is None and not s.scope
    return plain and type(s.op) is ComputeOp and all(m is PLAIN for m in s.marks.values()) and s.leaves == s.root_axes
