"""A default GPU schedule: `s.default("cuda")`, for a schedule that says nothing of threads yet.

    for i in range(1000):                for blockIdx_x in thread("blockIdx.x", 235):
        for j in range(60):      ->          for threadIdx_x in thread("threadIdx.x", 256):
            C[i, j] = ...                        if blockIdx_x*256 + threadIdx_x < 60000:
                                                     C[...] = ...

Each stage at the root becomes a kernel of its own: its data loops are fused, and their iterations shared out to blocks
of up to 256 threads. A reduction stays a loop inside its thread; where there is only one result, threads share it out
and reduce together. A producer of a single reader that costs little to compute again is inlined. The stages of a scan
become kernels in its loop, which stays on the host. What is placed inside another stage stays there, in the memory of
its thread.

The steps are ordinary ones. A kernel that a person has bound, with all that is placed in it, stays as it is. Refused:
threads that are bound in a stage inside a kernel without threads, or in a scan; statements of one's own (`te.extern`,
tensor intrinsics), which only their author can share out; targets that have no threads.
"""

from __future__ import annotations

from math import prod
from typing import Any

from ..core.error import ScheduleError
from ..core.node import DATA, REDUCE, Call, IterVar, Load, Reduce
from ..core.text import show
from ..core.walk import walk
from ..expr.extern import ExternOp
from ..expr.scan import ScanOp
from ..expr.tensor import ComputeOp, Operation
from ..lowering.blocks import has_threads
from ..lowering.normalise import current
from ..schedule.guard import extent
from ..schedule.relations import derived_from
from ..schedule.scopes import rank
from ..schedule.state import Stage, State, is_compute, is_input
from ..schedule.trace import Step, Trace
from ..target.base import Target, get, names
from .moves import thread

THREADS = 256  # of a block; every device model of target.gpu.limits has that many
NODES, LONG = 48, 768  # of an expression that may be computed again for each read; of one that is read once
PRIVATE = 3  # the rank of memory that a thread has for itself
CHEAP = frozenset({"if_then_else", "likely", "floor", "ceil", "trunc", "round", "fabs", "reinterpret", "bitwise_not"})


def default(trace: Trace, target: Any = None, where: tuple[str, int] | None = None) -> Trace:
    """The trace with the steps of a default GPU schedule. `target`: a name or a Target; the one in force, or cuda."""
    _need_target(target)
    _need_plain(trace.state)
    return _Default(trace, where).whole()


def _need_target(target: Any) -> None:
    kind = Target(target or Target.current() or "cuda").kind
    if not kind.threads:
        raise ScheduleError(
            "default-target", f"the default schedule shares work out to threads, which `{kind.name}` does not have",
            legal=[name for name in names() if get(name).threads], hint="a CPU runs a schedule without steps as it is",
        )  # fmt: skip


def _need_plain(state: State) -> None:
    for s in state.in_order:
        around = kernel_of(state, s)
        threads = bound(s)
        if threads and (not bound(around) or scanned(state, around)):
            where = "a scan" if scanned(state, around) else f"{around.name}, of which no loop is bound"
            raise ScheduleError(
                "default-bound",
                f"{s.name} runs on {threads[0].thread_tag} already, inside {where}: the default schedule cannot share "
                "out the loops around it",
                hint="undo the bind, or bind the loops around it by hand",
            )
        if isinstance(s.op, ScanOp) and state.attach_of(s).kind != "root":
            raise ScheduleError(
                "default-scan-placed",
                f"{s.name} is a scan inside another stage, whose kernel would have to begin others",
                hint=f"s[{s.called}].compute_root()",
            )
        own = isinstance(s.op, ExternOp) and not has_threads(s.op.body)
        if own or not (is_input(s) or isinstance(s.op, (ComputeOp, ScanOp, ExternOp))):
            raise ScheduleError(
                "default-own-statement",
                f"{s.name} is a statement of its own ({s.op.kind}), which cannot be shared out to threads from here",
                hint="write its thread loops in the statement itself, or run this stage on a CPU",
            )


def bound(s: Stage) -> list[IterVar]:
    """The thread axes that a stage has by its own loops."""
    return [m.thread for m in s.marks.values() if m.thread is not None] + list(s.env_threads)


def kernel_of(state: State, s: Stage) -> Stage:
    """The outermost stage around: the one whose loops begin the kernel."""
    while (found := place(state, s)) is not None and not isinstance(found[0].op, ScanOp):
        s = found[0]
    return s


def place(state: State, s: Stage) -> tuple[Stage, IterVar] | None:
    """The stage and the loop it is attached to, if there still is such a loop."""
    at = state.attach_of(s)
    if at.kind not in ("at", "scan") or at.axis is None:
        return None
    parent = state.stages[at.stage]
    axis = current(parent, at.axis)
    return (parent, axis) if axis in parent.leaves else None


def scanned(state: State, s: Stage) -> bool:
    return isinstance(s.op, ScanOp) or state.attach_of(s).kind == "scan"


class _Default:
    """The steps, taken one after another. Stages go by number: steps make them anew."""

    def __init__(self, trace: Trace, where: tuple[str, int] | None) -> None:
        self.trace, self.where = trace, where
        self.cost: dict[int, int] = {}  # of an inlined stage: nodes with all that is inlined into it

    @property
    def state(self) -> State:
        return self.trace.state

    def take(self, primitive: str, **args: Any) -> Any:
        self.trace = self.trace + Step(primitive, args, self.where)
        return self.trace.results

    def whole(self) -> Trace:
        for i in self.state.order:
            if isinstance(self.state.stages[i].op, ScanOp):
                self.begin_apart(i)
        numbers = [i for i in self.state.order if is_compute(self.state.stages[i])]
        for i in numbers:
            nodes = self.nodes(self.state.stages[i])
            if self.may_inline(self.state.stages[i], nodes):
                self.take("compute_inline", stage=i)
                self.cost[i] = nodes
        for i in numbers:
            self.stage(self.state.stages[i])
        for s in self.state.in_order:
            if isinstance(s.op, ScanOp):
                self.meet(s)
        return self.trace

    def begin_apart(self, scan: int) -> None:
        """Initial values that others need too are copied into the scan's memory: by a stage, so that threads do it."""
        for position in range(len(self.state.stages[scan].op.outputs)):
            op: Any = self.state.stages[scan].op
            init = op.init[position]
            home = self.state.stage_of(init)
            apart = not is_compute(home) or home.is_output or home.layout is not None
            if apart or self.state.attach_of(home).kind != "root" or len(self.state.consumers(init.op)) > 1:
                self.take("cache_read", tensor=init, scope="global", readers=(op,))

    # ------------------------------------------------------------ what is inlined

    def may_inline(self, s: Stage, nodes: int) -> bool:
        """Is it an element by element producer of one reader, and does the reader not pay much for it?"""
        op, readers = s.op, self.state.consumers(s.op)
        if s.is_output or op.is_reduction or op.num_outputs > 1 or not self.untouched(s) or len(readers) != 1:
            return False
        (reader,) = readers
        if not is_compute(reader) or scanned(self.state, s) != scanned(self.state, reader):
            return False
        reads = sum(type(x) is Load and x.buffer is op.outputs[0] for b in reader.op.body for x in walk(b))
        once = reads == 1 and not reader.op.is_reduction and self.often(reader) == self.often(s) is not None
        return nodes <= LONG if once else nodes <= NODES and cheap(op)

    def untouched(self, s: Stage) -> bool:
        """Nothing is said of it, so nothing is lost."""
        said = s.relations or s.marks or s.scope or s.layout is not None or s.predicate is not None
        fetched = {t for x in self.state.in_order for m in x.marks.values() for t, _ in m.prefetches}
        named = self.attached(s) or not fetched.isdisjoint(s.op.outputs)
        return not said and not named and self.state.attach_of(s).kind == "root"

    def often(self, s: Stage) -> int | None:
        """How many elements it computes, where that is a number."""
        return product(self.state, s.op.axis)

    def nodes(self, s: Stage) -> int:
        """The size of its expression, with the stages that are inlined into it."""
        inlined = {self.state.stages[i].op.outputs[0]: n for i, n in self.cost.items()}
        return sum(inlined.get(x.buffer, 1) if type(x) is Load else 1 for b in s.op.body for x in walk(b))

    # ------------------------------------------------------------ what is shared out

    def stage(self, s: Stage) -> None:
        around = kernel_of(self.state, s)
        if bound(around):  # a person's own kernel
            return
        if s.attach.kind == "inline" and all(map(is_compute, self.state.consumers(s.op))):
            return
        if s.attach.kind == "inline":  # what reads it is no expression: it has loops of its own
            self.take("compute_root", stage=s.index)
        inside = around is not s
        if inside and s.scope and (rank(s.scope) or 0) < PRIVATE:  # each thread computes all that it reads
            self.take("set_scope", stage=s.index, scope="local")
        if not inside:
            self.meet(s)
            self.share_out(self.state.stages[s.index])

    def meet(self, s: Stage) -> None:
        """Kernels meet in global memory."""
        if s.scope and rank(s.scope) != 0:
            self.take("set_scope", stage=s.index, scope="global")

    def share_out(self, s: Stage) -> None:
        leading = self.leading(s)
        if self.one_result(s, leading):
            self.reduced_together(s)
            return
        if not leading:  # a loop of one iteration, for one thread
            self.bind(s.index, self.take("fuse", stage=s.index, axes=()), "threadIdx.x")
            return
        factor = threads_for(product(self.state, leading))
        fused = leading[0] if len(leading) == 1 else self.take("fuse", stage=s.index, axes=tuple(leading))
        outer, inner = self.take("split", stage=s.index, parent=fused, factor=factor)
        self.bind(s.index, outer, "blockIdx.x")
        self.bind(s.index, inner, "threadIdx.x")

    def leading(self, s: Stage) -> list[IterVar]:
        """The outermost data loops, down to the one that something is placed in; not those that are to be vectors."""
        found: list[IterVar] = []
        places = self.attached(s)
        for a in s.leaves:
            if a.iter_type != DATA or s.mark(a).kind not in ("", "parallel"):
                break
            found.append(a)
            if a in places:
                break
        return found

    def attached(self, s: Stage) -> set[IterVar]:
        """The axes of a stage inside which other stages are computed."""
        places = [place(self.state, x) for x in self.state.in_order]
        return {axis for parent, axis in filter(None, places) if parent is s}

    def one_result(self, s: Stage, leading: list[IterVar]) -> bool:
        """One element, and a reduction whose loops nothing is said of: threads can share it out."""
        rest = s.leaves[len(leading) :]
        if not rest or self.often(s) != 1 or self.attached(s):
            return False
        data = derived_from(s, s.op.axis)
        plain = all(a.iter_type == REDUCE and a not in s.marks and a not in data for a in rest)
        return plain and not any(r.init for r in s.op.body if isinstance(r, Reduce))

    def reduced_together(self, s: Stage) -> None:
        axes = tuple(a for a in s.leaves if a.iter_type == REDUCE)
        factor = threads_for(product(self.state, axes))
        fused = axes[0] if len(axes) == 1 else self.take("fuse", stage=s.index, axes=axes)
        _, inner = self.take("split", stage=s.index, parent=fused, factor=factor)
        self.bind(s.index, inner, "threadIdx.x")

    def bind(self, stage: int, axis: IterVar, tag: str) -> None:
        self.take("bind", stage=stage, ivar=axis, thread_ivar=thread(self.state, tag))


def cheap(op: Operation) -> bool:
    """Only arithmetic, reads and choices."""
    return all(type(x) is not Call or (x.kind == "pure" and x.name in CHEAP) for b in op.body for x in walk(b))


def product(state: State, axes: Any) -> int | None:
    """How many iterations these loops have together, where that is a number."""
    counts = [extent(state, a) or (show(a.extent) if a.extent is not None else "") for a in axes]
    return prod(map(int, counts)) if all(c.isdigit() for c in counts) else None


def threads_for(n: int | None) -> int:
    """As many as there are iterations, up to the size of a block: a power of two, so that they can be halved."""
    return THREADS if n is None else min(THREADS, 1 << max(0, n - 1).bit_length())
