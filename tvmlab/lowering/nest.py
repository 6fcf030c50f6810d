"""From domains to loops: each stage's nest, its producers inside the loops they are attached to.

Alloc P                      a producer attached at loop a
for a:
    <P's nest>
    <rest of the consumer>
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..core import dtype as dt
from ..core.affine import NEGATED, Facts, Lin, decide, lin, nonneg, number, reads_memory, simplify, var
from ..core.affine import to_expr as form_expr
from ..core.build import all_, binary, const, is_const
from ..core.error import ScheduleError
from ..core.node import (
    NOP,
    OPAQUE,
    Alloc,
    Attr,
    Barrier,
    Bin,
    Buffer,
    Call,
    Expr,
    For,
    If,
    IterVar,
    LetStmt,
    Load,
    Reduce,
    Stmt,
    Store,
    Var,
)  # fmt: skip
from ..core.program import Origin
from ..core.text import identifier
from ..core.walk import Holds, map_children, seq, substitute
from ..expr.reduce import combine
from ..expr.tensor import ComputeOp
from ..schedule import relations as rel
from ..schedule.guard import code
from ..schedule.scopes import is_virtual, rank, thread_key
from ..schedule.state import Fuse, Stage, Transform, is_input
from . import kept
from .bounds import Bounds, Domain
from .crossthread import cross_thread
from .normalise import Ready
from .opaque import SPECIAL, adopt_scan
from .passes.simplify import Simplifier
from .tensorize import position as tensorized_leaf
from .tensorize import tensorized


def to_expr(x: Lin) -> Expr:
    """The form in the width of its variables."""
    if not x.terms:
        return form_expr(x)
    wide = any(isinstance(a, Var) and a.dtype == "int64" for a in x.terms)
    return form_expr(x, "int64" if wide else "int32")


class Nest:
    """Builds the statement of a whole schedule. `params`: tensors that are arguments -> their buffers.

    `old`: of a schedule that differs little; what is the same is taken over from it.
    """

    def __init__(
        self,
        ready: Ready,
        bounds: Bounds,
        params: Mapping[Any, Buffer],
        keep_unit_loops: bool = False,
        old: Nest | None = None,
    ) -> None:
        self.ready, self.bounds, self.params, self.old = ready, bounds, params, old
        self.nests: dict[int, Stmt] = {}  # of each stage, with what is computed inside
        self.leaves: dict[int, Stmt] = {}  # of each stage, what its innermost loop does
        self.keep_unit_loops = keep_unit_loops
        self.buffers: dict[Any, Buffer] = dict(params)
        self.has_loads = Holds(lambda e: type(e) is Load)
        self.attached: dict[tuple[int, IterVar], list[Stage]] = {}
        self.roots: list[Stage] = []
        self.owned: set[int] = set()  # stages whose nests a scan places
        self.problems: list[ScheduleError] = []  # what could not be done as the schedule says: loops are plain there
        self.absolute: set[Any] = set(params)  # tensors whose buffer holds the whole declared shape
        for stage in ready.stages:
            if stage.op.kind == "scan":
                adopt_scan(self, stage)
        for stage in ready.stages:
            self._place(stage)
        for stage in ready.stages:
            self._storage(stage)

    def _place(self, stage: Stage) -> None:
        if is_input(stage) or stage.index in self.owned:
            return
        at = stage.attach
        if at.kind == "at" and at.axis is not None and self.bounds.path_to(stage):
            self.attached.setdefault((at.stage, at.axis), []).append(stage)
        else:
            self.roots.append(stage)

    def _storage(self, stage: Stage) -> None:
        d = self.bounds.of.get(stage.index)
        for t in stage.op.outputs:
            if t in self.buffers:
                continue
            if d is None:
                raise ScheduleError(
                    "no-argument",
                    f"`{stage.name}` is an input of this schedule, but not among the arguments",
                    hint=f"add {stage.name} to the list of arguments",
                )
            shape = [d.sizes[a] for a in stage.op.axis] or [lin(n) for n in t.shape]  # extern: no axes, all of it
            if stage.layout is not None:
                shape = stage.layout.extents(shape)
            extents = tuple(to_expr(x) for x in shape)
            strides = aligned(stage, extents)
            made = Buffer(identifier(t.name), extents, t.dtype, scope=d.scope, strides=strides)
            self.buffers[t] = kept.buffer(self.old.buffers.get(t) if self.old else None, made)

    # ------------------------------------------------------------ whole programs

    def build(self) -> Stmt:
        body: Stmt = NOP
        for stage in reversed(self.roots):
            body = self.realize(stage, body)
        self.old = None  # not a chain of all schedules there were
        return body

    def realize(self, stage: Stage, body: Stmt) -> Stmt:
        """The stage's nest, then what needs it, inside its allocation."""
        d = self.bounds.of[stage.index]
        nest = self.nest(stage, d)
        outside = d.path[: len(d.path) - len(stage.leaves)]
        threads = [t.thread_tag for s, a in outside if (t := s.mark(a).thread) is not None]
        shared = rank(d.scope) in (1, 2) and not all(map(is_virtual, threads))
        barrier = Barrier("shared", self.origin(stage)) if shared else None
        made = seq(barrier, nest, barrier, body)
        around = self.around(stage, d)
        if stage.double_buffer and around is not None:  # the value: the loop over whose iterations it alternates
            made = Attr("double_buffer", self.buffers[stage.op.outputs[0]], around, made)
        if stage.rolling_buffer:
            made = Attr("rolling_buffer", self.buffers[stage.op.outputs[0]], self.window(stage, d), made)
        for out in reversed(stage.op.outputs):
            if out not in self.params and stage.index not in self.owned:
                made = Alloc(self.buffers[out], made, self.origin(stage))
        return made

    def around(self, stage: Stage, d: Domain) -> Var | None:
        """The variable of the loop the stage is attached to (virtual threads left out), if it is a loop at all."""
        for s, a in reversed(d.path[: len(d.path) - len(stage.leaves)]):
            thread = s.mark(a).thread
            if thread is None or not is_virtual(thread.thread_tag):
                return next((x for x in self.bounds.of[s.index].loop[a].terms if isinstance(x, Var)), None)
        return None

    def window(self, stage: Stage, d: Domain) -> Expr:
        """Where the part that an iteration computes begins, one index per dimension."""
        if stage.layout is not None:
            raise ScheduleError(
                "rolling-layout", f"cannot roll {stage.name}: transform_layout gave its memory an order of its own"
            )
        return Call("window", tuple(to_expr(d.low[a]) for a in stage.op.axis), "int32", "intrin")

    def nest(self, stage: Stage, d: Domain) -> Stmt:
        if not kept.nest(self.old, self, stage):
            self.nests[stage.index] = self._nest(stage, d)
        return self.nests[stage.index]

    def _nest(self, stage: Stage, d: Domain) -> Stmt:
        if not isinstance(stage.op, ComputeOp):
            return SPECIAL[stage.op.kind](self, stage, d)
        bodies = self.ready.bodies[stage.index]
        try:
            return self.compute(stage, d, bodies)
        except ScheduleError as e:
            self.problems.append(e)
            return self.plain(stage, d, bodies)

    # ------------------------------------------------------------ compute stages

    def compute(self, stage: Stage, d: Domain, bodies: Sequence[Expr]) -> Stmt:
        if tensorized_leaf(stage) is not None:
            return tensorized(self, stage, d, bodies)
        if isinstance(bodies[0], Reduce):
            return self.reduction(stage, d, bodies[0])
        return self.wrap(stage, d, stage.leaves, self.leaf(stage, lambda: self.stores(stage, d, bodies)))

    def leaf(self, stage: Stage, make: Callable[[], Stmt]) -> Stmt:
        """What the innermost loop does, `make()` unless it is known."""
        made = kept.leaf(self.old, self, stage)
        self.leaves[stage.index] = made = make() if made is None else made
        return made

    def stores(self, stage: Stage, d: Domain, bodies: Sequence[Expr]) -> Stmt:
        guards = self.guards(stage, d, d.values, d.facts)
        facts = known(d.facts, guards)
        stores = [
            Store(self.buffers[t], self.target(t, d, d.values), self.value(b, d.env, facts), None, self.origin(stage))
            for t, b in zip(stage.op.outputs, bodies, strict=True)
        ]
        return guarded(guards, together(stores))

    def plain(self, stage: Stage, d: Domain, bodies: Sequence[Expr]) -> Stmt:
        """The nest without an intrinsic, and without threads that reduce together."""
        for a in stage.leaves:
            if stage.mark(a).kind == "tensorized":
                stage = stage.with_mark(a, kind="", intrin=None)
        if isinstance(bodies[0], Reduce):
            return self.reduction(stage, d, bodies[0], False)
        return self.compute(stage, d, bodies)

    def reduction(self, stage: Stage, d: Domain, r: Reduce, on_threads: bool = True) -> Stmt:
        reducing = rel.derived_from(stage, stage.op.reduce_axis)
        first = next((k for k, a in enumerate(stage.leaves) if a in reducing), len(stage.leaves))
        common, rest = stage.leaves[:first], stage.leaves[first:]
        if on_threads and any(stage.mark(a).thread is not None for a in rest if a in reducing):
            return cross_thread(self, stage, d, r)
        init = self.init(stage, d, common, self.data_loops(stage, common), self.identity(stage, d, r))
        main = self.wrap(stage, d, rest, self.leaf(stage, lambda: self.update(stage, d, r)))
        return self.wrap(stage, d, common, seq(init, main))

    def data_loops(self, stage: Stage, common: Sequence[IterVar]) -> list[IterVar]:
        """The loops of an init inside the common ones: the data leaves, and the data axes fused with a reduction."""
        reducing = rel.derived_from(stage, stage.op.reduce_axis)
        others = {*reducing, *common}
        found = [a for a in stage.leaves if a not in others]
        for r in stage.relations:
            if isinstance(r, Fuse) and r.fused in reducing:
                found += [a for a in (r.outer, r.inner) if a not in reducing]
        return found

    def update(self, stage: Stage, d: Domain, r: Reduce) -> Stmt:
        guards = self.guards(stage, d, d.values, d.facts)
        facts = known(d.facts, guards)
        loads = []
        for t in stage.op.outputs:
            loads.append(Load(self.buffers[t], self.target(t, d, d.values), t.dtype))
        sources = tuple(self.value(x, d.env, facts) for x in r.sources)
        results = combine(r.combiner, tuple(loads), sources)
        stores = [Store(x.buffer, x.indices, v, None, self.origin(stage)) for x, v in zip(loads, results, strict=True)]
        body = together(stores)
        if not is_const(r.cond):
            cond = simplify(self.value(r.cond, d.env, facts), facts)
            # an affine one, as rfactor makes for a tail, is worth a cut of its loop
            body = body if is_const(cond, True) else If(cond, body, likely=not reads_memory(cond))
        return guarded(guards, body)

    def init(
        self,
        stage: Stage,
        d: Domain,
        common: Sequence[IterVar],
        own: Sequence[IterVar],
        start: Callable[[dict[IterVar, Lin], Facts], Stmt],
        inside: Sequence[IterVar] = (),
    ) -> Stmt:
        """What comes before a reduction, in a nest of its own over the data loops inside the first reduction loop.

        `start(values, facts)`: what is done there. `inside`: leaves that it covers by itself.
        """
        facts, loop = d.facts, {a: d.loop[a] for a in common}
        for a in own:
            value = d.loop[a] if a in d.loop else var(Var(identifier(a.name), a.dtype))  # fused: no loop of its own
            if d.sizes[a].key == number(1).key:
                value = number(0)
            if value.terms and stage.mark(a).thread is None:
                v = Var(f"{_name(value)}_init", a.dtype)
                facts = facts.with_range(v, number(0), d.sizes[a] - 1)
                value = var(v)
            loop[a] = value
        values = rel.values_up(stage, {**loop, **{a: number(0) for a in inside}}, d.sizes, facts)
        if any(a not in values for a in stage.op.axis if a.iter_type != OPAQUE):
            raise ScheduleError(
                "mixed-fuse",
                f"cannot initialise {stage.name}: a data axis was fused with a reduction axis",
                hint="fuse data axes with data axes only, or use rfactor",
            )
        body = guarded(self.guards(stage, d, values, facts), start(values, facts))
        for a in reversed(own):
            body = self.loop(stage, d, a, body, loop[a])
        return body

    def identity(self, stage: Stage, d: Domain, r: Reduce) -> Callable[[dict[IterVar, Lin], Facts], Stmt]:
        """Stores of the combiner's identity (of the reduction's init, if it has one)."""

        def start(values: dict[IterVar, Lin], facts: Facts) -> Stmt:
            env = {a.var: d.low[a] + values[a] for a in stage.op.axis}
            stores: list[Stmt] = [
                Store(self.buffers[t], self.target(t, d, values), self.value(x, env, facts), None, self.origin(stage))
                for t, x in zip(stage.op.outputs, r.init or r.combiner.identity, strict=True)
            ]
            return seq(*stores)

        return start

    # ------------------------------------------------------------ pieces

    def origin(self, stage: Stage, axis: IterVar | None = None) -> Origin:
        if axis is None:
            return Origin(stage.name, None, None, stage.index, stage.called)
        state = self.ready.state
        ref = state.refs.get(axis)
        step = ref[1] if ref and ref[0] == "step" else None
        return Origin(stage.name, axis, step, stage.index, stage.called, code(state, stage, axis))

    def wrap(self, stage: Stage, d: Domain, leaves: Sequence[IterVar], body: Stmt) -> Stmt:
        """The loops around `body`, each with the producers attached to it."""
        for a in reversed(leaves):
            for producer in reversed(self.attached.get((stage.index, a), ())):
                body = self.realize(producer, body)
            body = self.loop(stage, d, a, body, d.loop[a])
        return body

    def loop(self, stage: Stage, d: Domain, a: IterVar, body: Stmt, value: Lin) -> Stmt:
        mark = stage.mark(a)
        v = next(iter(value.terms), None)
        for key, note in reversed(mark.pragmas):
            body = Attr(f"pragma_{key}", _note(note), const(1), body)
        for tensor, offset in reversed(mark.prefetches):
            ahead = binary("+", v, offset) if v is not None else offset
            body = Attr("prefetch_scope", self.prefetched(tensor), ahead, body)
        if v is None:
            return body
        if mark.thread is not None and self.is_open(stage, d, a):
            return body
        extent = to_expr(d.sizes[a])
        kind = mark.kind or "serial"
        tag = ""
        if mark.thread is not None:
            tag = mark.thread.thread_tag
            kind = "vthread" if tag.startswith(("vthread", "cthread")) else "thread"
        return For(v, const(0, v.dtype), extent, kind, body, tag, self.origin(stage, a))

    def is_open(self, stage: Stage, d: Domain, a: IterVar) -> bool:
        """Is this thread axis already a loop around the stage?"""
        outer = d.path[: len(d.path) - len(stage.leaves)]
        key = thread_key(stage.mark(a).thread)
        if any(key in self.bounds.of[s.index].threads for s, _ in outer):
            return True
        return any(thread_key(t) == key for s, b in outer if (t := s.mark(b).thread) is not None)

    def prefetched(self, tensor: Any) -> Any:
        stage = self.ready.state.stage_of(tensor)
        return self.buffers.get(stage.op.outputs[getattr(tensor, "value_index", 0)], tensor)

    def target(self, t: Any, d: Domain, values: Mapping[IterVar, Lin]) -> tuple[Expr, ...]:
        """Where the stage stores the element that the root axes' (relative) values name."""
        position = [d.low[a] + values[a] if t in self.absolute else values[a] for a in d.stage.op.axis]
        if d.stage.layout is not None:
            position = d.stage.layout.forward(position, d.facts)
        return tuple(to_expr(x) for x in position)

    def value(self, e: Expr, env: Mapping[Any, Lin], facts: Facts) -> Expr:
        """A tensor expression over loop variables and buffers, decided conditions gone."""
        made = self.located_value(e, env, facts)
        return made if made is e else Simplifier(False).expr(made, facts)

    def located_value(self, e: Expr, env: Mapping[Any, Lin], facts: Facts) -> Expr:
        t = type(e)
        if t is Load and e.buffer in self.ready.home:  # type: ignore[attr-defined]
            return self.element(e, env, facts)  # type: ignore[arg-type]
        if t is Var:
            found = env.get(e)
            return e if found is None else form_expr(found, e.dtype)
        if t is Bin and dt.is_int(e.dtype) and e.dtype in ("int32", "int64") and not self.has_loads(e):
            return form_expr(lin(e, facts, env), e.dtype)
        if t is Bin and e.op in NEGATED:  # type: ignore[attr-defined]
            made = map_children(e, lambda c: self.located_value(c, env, facts))
            settled = decide(made, facts)
            return made if settled is None else const(settled, "bool")
        return map_children(e, lambda c: self.located_value(c, env, facts))

    def element(self, e: Load, env: Mapping[Any, Lin], facts: Facts) -> Expr:
        position = [self.position(i, env, facts) for i in e.indices]
        return Load(self.buffers[e.buffer], tuple(to_expr(x) for x in self.located(e.buffer, position, facts)), e.dtype)

    def located(self, t: Any, position: Sequence[Lin], facts: Facts) -> list[Lin]:
        """The indices, in its buffer, of the element of a tensor at an (absolute) position."""
        stage = self.bounds.table[self.ready.home[t]]
        d = self.bounds.of.get(stage.index)
        found = list(position)
        if d is not None and stage.op.axis and t not in self.absolute:  # an extern statement has no axes
            found = [x - d.low[a] for x, a in zip(found, stage.op.axis, strict=True)]
        return stage.layout.forward(found, facts) if stage.layout is not None else found

    def position(self, i: Expr, env: Mapping[Any, Lin], facts: Facts) -> Lin:
        if self.has_loads(i):
            return lin(self.located_value(i, env, facts), facts)
        return lin(i, facts, env)

    def guards(self, stage: Stage, d: Domain, values: Mapping[IterVar, Lin], facts: Facts) -> list[tuple[Expr, Lin]]:
        """Conditions under which this iteration is one of the stage's, as (condition, form that is >= 0)."""
        found: list[tuple[Expr, Lin]] = []

        def ask(left: Lin, right: Lin) -> None:  # left < right
            nonlocal facts
            gap = right - left - 1
            if not nonneg(gap, facts):
                found.append((binary("<", to_expr(left), to_expr(right)), gap))
                facts = facts.with_guards([gap])

        for a in rel.padded(stage, d.sizes, facts):
            if a in values:
                ask(values[a], d.sizes[a])
        for a in stage.op.axis:
            if (
                a.dom is None
                or (d.low[a] - lin(a.dom.min)).is_const()
                and d.low[a].key == lin(a.dom.min).key
                and (d.sizes[a].key == lin(a.dom.extent).key)
            ):
                continue
            place, first = d.low[a] + values[a], lin(a.dom.min)
            if not nonneg(place - first, facts):
                found.append((binary(">=", to_expr(place), to_expr(first)), place - first))
                facts = facts.with_guards([place - first])
            ask(place, first + lin(a.dom.extent))
        found.extend(self.predicate(stage, d))
        return found

    def predicate(self, stage: Stage, d: Domain) -> list[tuple[Expr, Lin]]:
        """What set_store_predicate asks for, over the loops' thread variables."""
        if stage.predicate is None:
            return []
        threads = {
            t.var: d.loop[a] if s.index == stage.index else self.bounds.of[s.index].loop[a]
            for s, a in d.path
            if (t := s.mark(a).thread) is not None
        }
        return [(substitute(stage.predicate, {v: to_expr(x) for v, x in threads.items()}), number(0))]


def known(facts: Facts, guards: Sequence[tuple[Expr, Lin]]) -> Facts:
    return facts.with_guards([g for _, g in guards if g.terms]) if guards else facts


def guarded(guards: Sequence[tuple[Expr, Lin]], body: Stmt) -> Stmt:
    return If(all_(*[c for c, _ in guards]), body, likely=True) if guards else body


def together(stores: Sequence[Store]) -> Stmt:
    """Several results are all computed before the first is stored, since each may read the others' old value."""
    if len(stores) == 1:
        return stores[0]
    from ..core.walk import replace

    temporaries = [Var(f"v{k}", s.value.dtype) for k, s in enumerate(stores)]
    body = seq(*[replace(s, value=v) for s, v in zip(stores, temporaries, strict=True)])
    for v, s in reversed(list(zip(temporaries, stores, strict=True))):
        body = LetStmt(v, s.value, body)
    return body


def _name(value: Lin) -> str:
    return next((a.name for a in value.terms if isinstance(a, Var)), "i")


def _note(value: Any) -> Any:
    return value


def aligned(stage: Stage, shape: Sequence[Expr]) -> tuple[Expr, ...] | None:
    """Strides that storage_align asks for: the stride of that dimension is `offset` modulo `factor`."""
    if not stage.align:
        return None
    strides: list[Expr] = []
    step: Expr = const(1)
    dimensions = next((r.transformed for r in stage.relations if isinstance(r, Transform)), stage.op.axis)
    for k in reversed(range(len(shape))):
        axis = dimensions[k]
        if axis in stage.align:
            factor, offset = stage.align[axis]
            lack = simplify(binary("%", binary("-", binary("+", offset, factor), binary("%", step, factor)), factor))
            step = simplify(binary("+", step, lack))
        strides.insert(0, step)
        step = simplify(binary("*", step, shape[k]))
    return tuple(strides)
