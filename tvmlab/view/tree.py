"""The schedule as a tree: the stages in order of computation, each with its loops, attached ones inside their loop.

    C  [64, 64] float32
      xo  16  par
        C.global  [32, 64] float32  at xo
          ...
        yo  16
    A  [64, 64] float32           inputs come last
"""

from __future__ import annotations

from typing import Literal

from ..core.deep import deep
from ..core.error import LabError
from ..core.node import ORDERED, REDUCE, IterVar
from ..core.text import identifier, show
from ..lowering.normalise import normalise
from ..schedule.guard import extent as often
from ..schedule.guard import name as called
from ..schedule.state import Marks, Split, Stage, State, is_compute, is_input
from ..schedule.trace import Trace
from .ids import id_of
from .makers import makers
from .payload import Row

SHORT = {"parallel": "par", "unrolled": "unroll"}


@deep
def rows(trace: Trace) -> list[Row]:
    """The rows in printing order. Every stage has exactly one, whatever state the schedule is in."""
    return _Tree(trace).rows()


class _Tree:
    def __init__(self, trace: Trace) -> None:
        self.state, self.steps = trace.state, makers(trace)
        self.places = Places(self.state)
        self.inside: dict[tuple[int, IterVar], list[Stage]] = {}
        self.made: list[Row] = []
        self.done: set[int] = set()

    def rows(self) -> list[Row]:
        roots = []
        for stage in self.state.in_order:
            at = self.places.at.get(stage.index)
            if at is None:
                roots.append(stage)
            else:
                self.inside.setdefault(at, []).append(stage)
        for stage in (s for s in roots if not is_input(s)):
            self.stage(stage, 0)
        for stage in (s for s in self.state.in_order if not is_input(s) and s.index not in self.done):
            self.stage(stage, 0)  # attached in a ring: no row of theirs is inside any other
        for stage in filter(is_input, roots):
            self.stage(stage, 0)
        return self.made

    def stage(self, stage: Stage, level: int) -> None:
        if stage.index in self.done:
            return
        self.done.add(stage.index)
        self.made.append(self.head(stage, level))
        if stage.index in self.places.inlined:
            return
        for k, a in enumerate(stage.leaves, level + 1):
            self.made.append(self.loop(stage, a, k))
            for producer in self.inside.get((stage.index, a), ()):
                self.stage(producer, k + 1)

    def stands_for(self, stage: Stage) -> list[str]:
        """The scans whose states this placeholder is."""
        scans = [s for s in self.state.in_order if s.op.kind == "scan"] if is_input(stage) else []
        return [s.called for s in scans if set(stage.op.outputs) & set(getattr(s.op, "state_placeholder", ()))]

    # ------------------------------------------------------------ one row

    def head(self, stage: Stage, level: int) -> Row:
        shape = ", ".join(show(n) for n in stage.op.outputs[0].shape)
        dtypes = ", ".join(dict.fromkeys(t.dtype for t in stage.op.outputs))
        step = self.steps.get((stage.index, None), 0)
        at = self.places.at.get(stage.index)
        where = "inlined" if stage.index in self.places.inlined else ""
        chips = stage_chips(stage, f"at {called(self.state, at[1])}" if at is not None else where)
        chips += [f"stands for {n}" for n in self.stands_for(stage)]
        kind: Literal["input", "stage"] = "input" if is_input(stage) else "stage"
        size = shape.replace(", ", " by ") or "one element"
        spoken = [f"{kind} {aloud(stage.called)}", f"shape {size}", dtypes, *chips]
        return {
            "id": id_of(self.state, stage), "kind": kind, "level": level, "stage": id_of(self.state, stage),
            "name": stage.called, "extent": f"[{shape}] {dtypes}", "n": None, "tail": "", "reduce": False, "mark": "",
            "chips": chips, "step": step, "spoken": said(spoken, step),
        }  # fmt: skip

    def loop(self, stage: Stage, a: IterVar, level: int) -> Row:
        name, count, mark = called(self.state, a), often(self.state, a) or "?", stage.mark(a)
        n = int(count) if count.isdigit() else None
        word = mark.thread.thread_tag if mark.thread is not None else mark.kind
        chips, tail = loop_chips(a, mark, n), tail_of(self.state, stage, a)
        step = self.steps.get((stage.index, a), 0)
        spoken = [f"loop {aloud(name)}", f"extent {count}", "reduction" if a.iter_type == REDUCE else "", word]
        spoken += [c for c in chips if c.startswith(("pragma", "prefetch", "in order"))]
        spoken += [f"does not divide: {tail}" if "=" in tail else tail]
        return {
            "id": id_of(self.state, stage, a), "kind": "loop", "level": level, "stage": id_of(self.state, stage),
            "name": name, "extent": count, "n": n, "tail": tail, "reduce": a.iter_type == REDUCE, "mark": word,
            "chips": chips, "step": step, "spoken": said(spoken, step),
        }  # fmt: skip


class Places:
    """Where each stage is computed: `at` the loop of another stage, else at the root; `inlined`: nowhere.

    A loop that was split or fused since is the one that lowering takes for it; one that is no more is none.
    """

    def __init__(self, state: State) -> None:
        try:
            kept = {s.index: s.attach for s in normalise(state).stages}
        except LabError:
            kept = {s.index: state.attach_of(s) for s in state.in_order if s.attach.kind != "inline"}
        self.inlined = frozenset(i for i in state.order if i not in kept)
        self.at: dict[int, tuple[int, IterVar]] = {}
        for i, attach in kept.items():
            parent = kept.get(attach.stage) and state.stages[attach.stage]
            if parent and attach.axis is not None and any(a is attach.axis for a in parent.leaves):
                self.at[i] = (attach.stage, attach.axis)


def stage_chips(stage: Stage, where: str) -> list[str]:
    """The words behind a stage's name: what it is, where it is kept, where it is computed, what else was asked."""
    made = [] if is_input(stage) or is_compute(stage) else [stage.op.kind]
    made += [stage.op.name] if identifier(stage.op.name) != identifier(stage.called) else []
    made += [f"in {stage.scope}"] if stage.scope else []
    made += [where] if where else []
    made += [n.replace("_", " ") for n in ("double_buffer", "rolling_buffer") if getattr(stage, n)]
    made += ["aligned"] if stage.align else []
    made += ["own layout"] if stage.layout is not None else []
    made += ["stores where"] if stage.predicate is not None else []
    return made + [f"launches {t.thread_tag}" for t in stage.env_threads]


def loop_chips(a: IterVar, mark: Marks, n: int | None) -> list[str]:
    """The words behind a loop's name: what runs it, then what else was said of it."""
    made = []
    if mark.thread is not None:
        made.append(mark.thread.thread_tag)
    elif mark.kind == "vectorized":
        made.append(f"vec {n}" if n is not None else "vec")
    elif mark.kind == "tensorized":
        made.append(" ".join(["tensorize", *filter(None, [getattr(mark.intrin, "name", "")])]))
    elif mark.kind:
        made.append(SHORT.get(mark.kind, mark.kind))
    made += ["in order"] if a.iter_type == ORDERED else []
    made += [f"pragma {key}" for key, _ in mark.pragmas]
    return made + [f"prefetch {t.name}" for t, _ in mark.prefetches]


def tail_of(state: State, stage: Stage, loop: IterVar) -> str:
    """ "33 = 2 x 16 + 1", where a split that does not divide ends at this loop; "" where all is even."""
    return "; ".join(filter(None, (_uneven(state, r) for r in stage.relations if _innermost(stage, r) is loop)))


def _innermost(stage: Stage, r: object) -> IterVar | None:
    """The loop in which a split's inner part goes on."""
    if not isinstance(r, Split):
        return None
    family = {r.inner}
    for other in stage.relations:
        if isinstance(other, Split) and other.parent in family:
            family |= {other.outer, other.inner}
    return next((a for a in stage.leaves if a in family), None)


def _uneven(state: State, r: object) -> str:
    if not isinstance(r, Split):
        return ""
    whole, part = often(state, r.parent), often(state, r.inner)
    if whole.isdigit() and part.isdigit() and int(part):
        n, f = int(whole), int(part)
        rows, rest = divmod(n, f)
        return f"{n} = {rows} x {f} + {rest}" if rest else ""
    return f"{whole} in parts of {part}" if whole and part and part != "1" else ""


# ---------------------------------------------------------------- for the ear


def aloud(name: str) -> str:
    """`i.outer` as it is read out."""
    return name.replace(".", " ").replace("_", " ").strip() or name


def said(parts: list[str], step: int) -> str:
    return ", ".join([*filter(None, parts), *([f"step {step}"] if step else [])])


def renumbered(row: Row, step: int) -> Row:
    """The row with its step under another number."""
    if not row["step"]:
        return row
    spoken = row["spoken"].removesuffix(f", step {row['step']}")
    return {**row, "step": step, "spoken": said([spoken], step)}
