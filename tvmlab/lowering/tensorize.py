"""Nests with a tensor intrinsic inside: of a tensorized stage, and of a te.compute whose body is an intrinsic's call.

    for io in range(64):
        gemv_16(C[io*16], A[io*16, 0], x)

With all of the reduction inside, `body` does it (or reduce_init, then reduce_update). With a part of it inside:

    for io in range(64):
        reset_16(C[io*16])                                    reduce_init
        for ko in range(4):
            gemv_update_16(C[io*16], A[io*16, ko*16], x[ko*16])      reduce_update

Without a reduce_init, `body` takes the place of reduce_update in the first iteration of the loops outside.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ..core.affine import Facts, Lin, number
from ..core.build import all_, binary, const
from ..core.node import Attr, Expr, If, IterVar, Stmt
from ..core.text import Names, show
from ..core.walk import seq, walk
from ..schedule import relations as rel
from ..schedule.state import Stage
from .binding import Binder, Region
from .matching import Matched, Site, first_values, match

if TYPE_CHECKING:
    from .bounds import Domain
    from .nest import Nest

Values = dict[IterVar, Lin]
Bind = Callable[[Binder, Values], None]


def position(stage: Stage) -> int | None:
    """Where the tensorized leaf is."""
    return next((k for k, a in enumerate(stage.leaves) if stage.mark(a).kind == "tensorized"), None)


def tensorized(nest: Nest, stage: Stage, d: Domain, bodies: Sequence[Expr]) -> Stmt:
    """The nest of a stage with a tensorized leaf."""
    at = position(stage)
    assert at is not None
    axis = stage.leaves[at]
    intrin = stage.mark(axis).intrin
    labels = nest.ready.state.labels
    who = f"cannot tensorize `{labels.get(axis, axis.name)}` in stage {stage.name} with {intrin.name}"
    site = Site(who, stage, d, intrin, stage.leaves[at:], labels)
    _check_loops(nest, site)
    _check_guards(nest, site)
    found = match(site, bodies)

    def bind(binder: Binder, values: Values) -> None:
        _bind_outputs(nest, site, binder, values, found)

    def bind_inputs(binder: Binder) -> None:
        for part, buffer in zip(found.inputs, intrin.in_buffers, strict=True):
            binder.bind(buffer, _region(nest, site, part.found, part.low, part.extents), 1)

    parts = Parts(nest, site, bind, bind_inputs)
    notes = stage.mark(axis).pragmas

    def finish(body: Stmt) -> Stmt:
        for key, note in reversed(notes):
            body = Attr(f"pragma_{key}", note, const(1), body)
        return body

    return finish(parts.whole(at)) if at == 0 else parts.whole(at, finish)


def tensor_nest(nest: Nest, stage: Stage, d: Domain) -> Stmt:
    """The nest of `te.compute(shape, lambda i: intrin(A[i, 0:n], ...))`."""
    op: Any = stage.op
    site = Site(f"cannot compute {stage.name} with {op.intrin.name}", stage, d, op.intrin, (), {})
    if position(stage) is not None:
        raise site.refuse("intrin-twice", "it is made by a tensor intrinsic already, and was tensorized as well")
    _check_threads(site)
    outer = op.schedulable_ndim

    def bind(binder: Binder, values: Values) -> None:
        low = [d.low[a] + values[a] if k < outer else d.low[a] for k, a in enumerate(op.axis)]
        extents = [number(1) if k < outer else d.sizes[a] for k, a in enumerate(op.axis)]
        for t, buffer in zip(op.outputs, op.intrin.out_buffers, strict=True):
            binder.bind(buffer, _region(nest, site, t, low, extents), 2)
        binder.values.update({a.var: d.low[a] + values[a] for a in op.axis[:outer]})  # for the scalars

    def bind_inputs(binder: Binder) -> None:
        for t, ranges, buffer in zip(op.call.tensors, op.input_regions, op.intrin.in_buffers, strict=True):
            low = [nest.position(r.min, d.env, d.facts) for r in ranges]
            extents = [nest.position(r.extent, d.env, d.facts) for r in ranges]
            binder.bind(buffer, _region(nest, site, t, low, extents), 1)

    return Parts(nest, site, bind, bind_inputs, op.with_scalars).whole(len(stage.leaves))


# ---------------------------------------------------------------- init, update, body


class Parts:
    """The intrinsic's statements in the loops outside.

    `bind`: the outputs, at the given values of the axes; `bind_inputs`: the inputs; `prepare`: done to a part first.
    """

    def __init__(
        self,
        nest: Nest,
        site: Site,
        bind: Bind,
        bind_inputs: Callable[[Binder], None],
        prepare: Callable[[Stmt], Stmt] = lambda s: s,
    ) -> None:
        self.nest, self.site, self.bind, self.bind_inputs, self.prepare = nest, site, bind, bind_inputs, prepare

    def whole(self, at: int, finish: Callable[[Stmt], Stmt] = lambda s: s) -> Stmt:
        nest, stage, d = self.nest, self.site.stage, self.site.d
        reducing = rel.derived_from(stage, stage.op.reduce_axis)
        # a loop of one iteration is none
        turns = [k for k, a in enumerate(stage.leaves) if a in reducing and d.loop[a].terms]
        first = turns[0] if turns else len(stage.leaves)
        if at <= first:
            return nest.wrap(stage, d, stage.leaves[:at], self.guarded(finish(self.all_inside())))
        common, rest = stage.leaves[:first], stage.leaves[first:at]
        update = self.need("reduce_update", "a part of the reduction is outside")
        over = [a for a in rest if a in reducing and d.loop[a].terms]
        if self.site.intrin.reduce_init is not None:
            init = nest.init(stage, d, common, [a for a in rest if a not in reducing], self.start, self.site.inside)
            main = nest.wrap(stage, d, rest, self.guarded(finish(self.stmt(update, True))))
            return nest.wrap(stage, d, common, seq(init, main))
        body = self.need("body", "a part of the reduction is outside and there is no reduce_init")
        starts = all_(*[binary("==", _expr(d.loop[a]), 0) for a in over])
        both = If(starts, self.stmt(body), self.stmt(update, True))
        return nest.wrap(stage, d, common, nest.wrap(stage, d, rest, self.guarded(finish(both))))

    def all_inside(self) -> Stmt:
        intrin = self.site.intrin
        if intrin.body is not None:
            return self.stmt(intrin.body)
        if not self.site.stage.op.reduce_axis:
            return self.stmt(self.need("body", "there is no reduction"))
        why = "all of the reduction is inside and there is no body"
        return seq(self.stmt(self.need("reduce_init", why)), self.stmt(self.need("reduce_update", why), True))

    def need(self, part: str, because: str) -> Stmt:
        made: Stmt | None = getattr(self.site.intrin, part)
        if made is not None:
            return made
        there = [p for p in ("body", "reduce_init", "reduce_update") if getattr(self.site.intrin, p) is not None]
        raise self.site.refuse(
            "intrin-part",
            f"{because}: that takes a {part}, which it does not have",
            [f"it has    {', '.join(there)}"],
            "let the function given to decl_tensor_intrin return (body, reduce_init, reduce_update)",
        )

    def stmt(self, part: Stmt, updates: bool = False) -> Stmt:
        """A part over the buffers of this iteration."""
        binder = Binder(self.site.who, self.site.d.facts, updates)
        self.bind_inputs(binder)
        self.bind(binder, first_values(self.site))
        return binder.apply(self.prepare(part), self.nest.origin(self.site.stage))

    def start(self, values: Values, facts: Facts) -> Stmt:
        """reduce_init, in the loops of the initialisation."""
        intrin = self.site.intrin
        binder = Binder(self.site.who, facts)
        self.bind(binder, values)
        strangers = {x: b for b in intrin.in_buffers for x in (b, b.data) if x not in binder.by_data}
        for x in walk(intrin.reduce_init):
            if (b := strangers.get(getattr(x, "buffer", x))) is not None:
                raise self.site.refuse(
                    "intrin-init", f"its reduce_init reads input {b.name}, which has no region there"
                )
        return binder.apply(self.prepare(intrin.reduce_init), self.nest.origin(self.site.stage))

    def guarded(self, body: Stmt) -> Stmt:
        from .nest import guarded

        site = self.site
        return guarded(self.nest.guards(site.stage, site.d, site.d.values, site.d.facts), body)


def _bind_outputs(nest: Nest, site: Site, binder: Binder, values: Values, found: Matched) -> None:
    stage, d = site.stage, site.d
    low = [d.low[a] + values[a] for a in stage.op.axis]
    for t, buffer in zip(stage.op.outputs, site.intrin.out_buffers, strict=True):
        binder.bind(buffer, _region(nest, site, t, low, [found.extents[a] for a in stage.op.axis]), 2)


def _region(nest: Nest, site: Site, t: Any, low: Sequence[Lin], extents: Sequence[Lin]) -> Region:
    home = nest.bounds.table[nest.ready.home[t]]
    return Region(
        t.name,
        nest.buffers[t],
        tuple(low),
        tuple(extents),
        lambda p: nest.located(t, p, site.d.facts),
        home.layout is not None,
    )


def _expr(x: Lin) -> Expr:
    from .nest import to_expr

    return to_expr(x)


# ---------------------------------------------------------------- what the loops must be


def _check_loops(nest: Nest, site: Site) -> None:
    stage = site.stage
    axis, inner = site.inside[0], site.inside[1:]
    twice = [a for a in inner if stage.mark(a).kind == "tensorized"]
    if twice:
        raise site.refuse(
            "intrin-twice",
            f"`{site.label(twice[0])}`, inside it, is tensorized as well",
            hint="tensorize one loop of a stage",
        )
    _check_threads(site)
    held = [(p, a) for a in site.inside for p in nest.attached.get((stage.index, a), ())]
    if held:
        producer, where = held[0]
        raise site.refuse(
            "intrin-attached",
            f"{producer.name} is computed at `{site.label(where)}`, which the intrinsic replaces",
            hint=f"attach {producer.name} to a loop outside `{site.label(axis)}`",
        )


def _check_threads(site: Site) -> None:
    stage = site.stage
    for a in site.inside:
        if (t := stage.mark(a).thread) is not None:
            raise site.refuse("intrin-thread", f"`{site.label(a)}`, which it replaces, is bound to {t.thread_tag}")
    reducing = rel.derived_from(stage, stage.op.reduce_axis)
    for a in stage.leaves:
        if a in reducing and (t := stage.mark(a).thread) is not None:
            raise site.refuse(
                "intrin-cross-thread",
                f"the reduction loop `{site.label(a)}` is bound to {t.thread_tag}, and a cross-thread reduction has no "
                "place for an intrinsic",
            )


def _check_guards(nest: Nest, site: Site) -> None:
    d = site.d
    inside = {id(v): v for a in site.inside for v in d.loop[a].terms}
    names = Names()
    for condition, _ in nest.guards(site.stage, d, d.values, d.facts):
        guilty = [x for x in walk(condition) if id(x) in inside]
        if guilty:
            raise site.refuse(
                "intrin-guard",
                "not every iteration inside is one of the stage's, and an intrinsic does all of them",
                [f"guard     {show(condition, names)}", f"uses      `{names(guilty[0])}`, which is inside"],
                "split by a factor that divides the extent, or pad the computation",
            )
