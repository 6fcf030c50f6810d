"""Do the loops inside a tensorized one compute what the intrinsic declares? Which parts of which tensors do they touch?

    declared  c[i]    = sum(a[i, k]*b[k], axis=[k])                        i (16), k (64)
    found     C[m, n] = sum(A[m, kk]*B[kk, n], axis=[kk])      inside: m is mo*16 + (16), n (1), kk (64)

The axes inside must form a block. Each declared axis is one of the block's, counted from the last; the rest have
extent 1. With `m = mo*16 + i` and `kk = k` in the found expression, and every read counted from the first element of
its region, the two expressions must be the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..core import dtype as dt
from ..core.affine import Facts, Lin, lin, loads, nonneg, number, product, relax, simplify, var
from ..core.affine import to_expr as form_expr
from ..core.error import ScheduleError
from ..core.node import Bin, Combiner, Const, Expr, IterVar, Load, Node, Reduce, Var
from ..core.text import Names, show
from ..core.walk import map_children, replace, same, walk
from ..expr.tensor import ComputeOp, Tensor, substitute_many
from ..schedule import relations as rel
from ..schedule.state import Stage
from .binding import fit, span_text, zero
from .bounds import Domain

COMMUTATIVE = frozenset({"+", "*", "min", "max", "&", "|", "^", "and", "or", "==", "!="})


@dataclass(frozen=True, eq=False)
class Site:
    """A use of an intrinsic: in which stage, the leaves that it replaces, how refusals begin."""

    who: str
    stage: Stage
    d: Domain
    intrin: Any
    inside: tuple[IterVar, ...]
    labels: Mapping[IterVar, str]

    def label(self, axis: IterVar) -> str:
        """The name that a person gave the axis, or its own."""
        return self.labels.get(axis, axis.name)

    def refuse(self, rule: str, why: str, where: Sequence[str] = (), hint: str = "") -> ScheduleError:
        return ScheduleError(rule, f"{self.who}: {why}", where=where, hint=hint)


@dataclass(frozen=True, eq=False)
class Part:
    """A region of a found tensor that stands for a declared one."""

    declared: Tensor
    found: Tensor
    low: tuple[Lin, ...]
    extents: tuple[Lin, ...]

    def __str__(self) -> str:
        return f"{self.found.name}[{', '.join(map(span_text, self.low, self.extents))}]"


@dataclass(frozen=True, eq=False)
class Matched:
    """`inputs`: the parts read, in the order of the intrinsic's inputs. `extents`: of the root axes, inside."""

    inputs: tuple[Part, ...]
    extents: dict[IterVar, Lin]


def match(site: Site, bodies: Sequence[Expr]) -> Matched:
    """The regions, once it is certain that the loops inside are the intrinsic's computation (`a*b` is also `b*a`)."""
    refused = None
    for turned in commuted(tuple(bodies)):
        try:
            return _match(site, turned)
        except ScheduleError as e:
            refused = refused or e  # the one about the expression as it was written
    assert refused is not None
    raise refused


def commuted(bodies: tuple[Expr, ...]) -> Iterator[tuple[Expr, ...]]:
    """The bodies, and then with the sides of commutative operators exchanged where both sides read something."""
    parts = [n for e in _parts(bodies) for n in walk(e) if isinstance(n, Bin) and n.op in COMMUTATIVE]
    open_ = [n for n in parts if all(any(True for _ in loads(side)) for side in (n.a, n.b))][:4]
    for chosen in range(1 << len(open_)):
        turned = {id(n) for k, n in enumerate(open_) if chosen >> k & 1}

        def visit(e: Any, turned: set[int] = turned) -> Any:
            made = map_children(e, visit)
            return replace(made, a=made.b, b=made.a) if id(e) in turned else made

        yield substitute_many(bodies, visit) if turned else bodies


def _match(site: Site, bodies: Sequence[Expr]) -> Matched:
    declared = site.intrin.op
    if not isinstance(declared, ComputeOp):
        raise site.refuse(
            "intrin-declared", f"it is declared by a {declared.kind}, loops can only be compared with a te.compute"
        )
    _check_kinds(site, declared, bodies)
    extents = block(site)
    env, facts = _axes(site, declared, extents)
    pairs = _pairs(site, declared, bodies)
    inputs = tuple(_region(site, t, [f for f, e in pairs if e.buffer is t], env, facts) for t in declared.inputs)
    for part in inputs:
        _check_part(site, part)
    _compare(site, declared, bodies, [next(p for p in inputs if p.declared is e.buffer) for _, e in pairs], env, facts)
    return Matched(inputs, extents)


# ---------------------------------------------------------------- the axes


def block(site: Site) -> dict[IterVar, Lin]:
    """The extent of every root axis inside; refused when the iterations inside do not fill such a block."""
    stage, d = site.stage, site.d
    over = [v for a in site.inside for v in d.loop[a].terms if isinstance(v, Var)]
    extents: dict[IterVar, Lin] = {}
    volume = count = number(1)
    for a in site.inside:
        count = product(count, d.sizes[a])
    for a in stage.root_axes:
        lo, hi = relax(d.values[a], d.facts, over, -1), relax(d.values[a], d.facts, over, 1)
        if lo is None or hi is None or _uses(hi - lo, over):
            raise _no_block(site)
        extents[a] = hi - lo + 1
        volume = product(volume, extents[a])
    if not zero(volume - count):
        raise _no_block(site)
    return extents


def _no_block(site: Site) -> ScheduleError:
    names, d = Names(), site.d
    inside = {id(v) for a in site.inside for v in d.loop[a].terms}
    lines = [
        f"{a.name} = {show(form_expr(d.values[a]), names)}"
        for a in site.stage.root_axes
        if any(id(x) in inside for x in walk(form_expr(d.values[a])))
    ]
    loops = ", ".join(show(form_expr(d.loop[a]), names) for a in site.inside if d.loop[a].terms)
    return site.refuse(
        "intrin-block",
        "the iterations inside the loop are no block of neighbours",
        [*lines, f"inside: {loops}"],
        "tensorize the inner part of a split; the outer parts of its axes stand outside",
    )


def _axes(site: Site, declared: ComputeOp, extents: dict[IterVar, Lin]) -> tuple[dict[Any, Lin], Facts]:
    """Values of the stage's axes in terms of the declared ones, and what is known of those."""
    env: dict[Any, Lin] = {}
    facts = site.d.facts
    first = first_values(site)
    for mine, theirs, what in (
        (site.stage.op.axis, declared.axis, "data"),
        (site.stage.op.reduce_axis, declared.reduce_axis, "reduction"),
    ):
        wanted = [None if isinstance(a.extent, Var) else lin(a.extent) for a in theirs]  # type: ignore[arg-type]
        kept = fit(wanted, [extents[a] for a in mine])
        if kept is None:
            raise _wrong_axes(site, declared, extents, what)
        for a in mine:
            env[a.var] = site.d.low[a] + first[a]
        for k, a in zip(kept, theirs, strict=True):
            facts = facts.with_range(a.var, number(0), extents[mine[k]] - 1)
            env[mine[k].var] = env[mine[k].var] + var(a.var)
    return env, facts


def first_values(site: Site) -> dict[IterVar, Lin]:
    """The (relative) value of every axis in the first iteration inside."""
    stage, d = site.stage, site.d
    loop = {a: number(0) if a in site.inside else d.loop[a] for a in stage.leaves}
    return rel.values_up(stage, loop, d.sizes, d.facts)


def _wrong_axes(site: Site, declared: ComputeOp, extents: dict[IterVar, Lin], what: str) -> ScheduleError:
    mine, theirs = (
        (site.stage.op.axis, declared.axis) if what == "data" else (site.stage.op.reduce_axis, declared.reduce_axis)
    )
    want = [(a.name, show(a.extent)) for a in theirs]
    have = [(a.name, show(form_expr(extents[a]))) for a in mine]
    return site.refuse(
        "intrin-axes",
        f"the {what} loops inside do not have the extents that it declares",
        [f"declared  {_listed(want)}", f"found     {_listed(have)}", *_first_apart(want, have)],
        "split so that the parts inside have these extents, and reorder them into this order",
    )


def _listed(axes: Sequence[tuple[str, str]]) -> str:
    return ", ".join(f"{name} ({extent})" for name, extent in axes) or "none"


def _first_apart(want: list[tuple[str, str]], have: list[tuple[str, str]]) -> list[str]:
    """Counted from the last: the first axis that differs."""
    have = have[:]
    for name, extent in reversed(want):
        while have and len(have) > 1 and have[-1][1] == "1" != extent:
            have.pop()
        if not have:
            return [f"differs   no loop is left for {name} ({extent})"]
        found = have.pop()
        if found[1] != extent:
            return [f"differs   {found[0]} has extent {found[1]}, {name} is declared with {extent}"]
    rest = [x for x in have if x[1] != "1"]
    return [f"differs   {rest[-1][0]} has extent {rest[-1][1]}, and no declared axis is left for it"] if rest else []


# ---------------------------------------------------------------- the expressions


def _check_kinds(site: Site, declared: ComputeOp, bodies: Sequence[Expr]) -> None:
    """Outputs, their types, and what folds them."""
    if len(declared.outputs) != len(bodies) or isinstance(declared.body[0], Reduce) != isinstance(bodies[0], Reduce):
        raise _different(site, declared, bodies)
    for a, b in zip(declared.outputs, site.stage.op.outputs, strict=True):
        if a.dtype != b.dtype:
            raise site.refuse("intrin-dtype", f"output {a.name} is declared as {a.dtype}, {b.name} is {b.dtype}")
    r, q = declared.body[0], bodies[0]
    if not isinstance(r, Reduce) or not isinstance(q, Reduce):
        return
    if not same(_fold(r.combiner), _fold(q.combiner)):
        raise _different(site, declared, bodies, f"{r.combiner.name}  |  {q.combiner.name}")
    if len(r.sources) != len(q.sources) or len(r.init) != len(q.init):
        raise _different(site, declared, bodies)


def _fold(c: Combiner) -> tuple[Any, ...]:
    return (c.lhs, c.rhs, c.result, c.identity)


def _parts(bodies: Sequence[Expr]) -> list[Expr]:
    """What is compared: the expressions that are stored, or that are folded and the condition."""
    first = bodies[0]
    return [*first.sources, first.cond, *first.init] if isinstance(first, Reduce) else list(bodies)


def _pairs(site: Site, declared: ComputeOp, bodies: Sequence[Expr]) -> list[tuple[Load, Load]]:
    """The reads of both, (found, declared), in reading order."""
    want = [x for e in _parts(declared.body) for x in loads(e)]
    have = [x for e in _parts(bodies) for x in loads(e)]
    if len(want) != len(have):
        raise _different(site, declared, bodies, f"{len(want)} reads  |  {len(have)} reads")
    partner: dict[Any, Any] = {}
    for f, e in zip(have, want, strict=True):
        other = partner.setdefault(e.buffer, f.buffer)
        if other is not f.buffer:
            raise site.refuse(
                "intrin-inputs",
                f"its input {e.buffer.name} stands for both {other.name} and {f.buffer.name}",
                _sides(site, declared, bodies),
            )
        if e.dtype != f.dtype:
            raise site.refuse(
                "intrin-dtype", f"input {e.buffer.name} is declared as {e.dtype}, {f.buffer.name} is {f.dtype}"
            )
    return list(zip(have, want, strict=True))


def _region(site: Site, t: Tensor, reads: Sequence[Load], env: dict[Any, Lin], facts: Facts) -> Part:
    """What the reads touch, per dimension."""
    over = [a.var for a in (*site.intrin.op.axis, *site.intrin.op.reduce_axis)]
    low: list[Lin] = []
    high: list[Lin] = []
    for n, f in enumerate(reads):
        for k, i in enumerate(f.indices):
            x = lin(i, facts, env)
            lo, hi = relax(x, facts, over, -1), relax(x, facts, over, 1)
            if lo is None or hi is None or _uses(lo, over) or _uses(hi, over):
                raise site.refuse(
                    "intrin-region", f"the region of {f.buffer.name} that is read cannot be told from {show(f)}"
                )
            if n == 0:
                low.append(lo)
                high.append(hi)
            else:
                low[k], high[k] = (_least(site, f, low[k], lo, facts), -_least(site, f, -high[k], -hi, facts))
    extents = tuple(hi - lo + 1 for lo, hi in zip(low, high, strict=True))
    return Part(t, reads[0].buffer, tuple(low), extents)


def _least(site: Site, f: Load, a: Lin, b: Lin, facts: Facts) -> Lin:
    if nonneg(b - a, facts):
        return a
    if nonneg(a - b, facts):
        return b
    raise site.refuse("intrin-region", f"the regions of {f.buffer.name} that are read have no common first element")


def _check_part(site: Site, part: Part) -> None:
    shape = part.declared.shape
    wanted = [None if isinstance(n, Var) else lin(n) for n in shape]
    if fit(wanted, part.extents) is not None:
        return
    have = [(f"dimension {k} of {part.found.name}", show(form_expr(n))) for k, n in enumerate(part.extents)]
    want = [(f"dimension {k} of {part.declared.name}", show(n)) for k, n in enumerate(shape)]
    raise site.refuse(
        "intrin-region",
        f"it reads another region of {part.found.name} than it declares",
        [
            f"declared  {part.declared.name}[{', '.join(map(show, shape))}]",
            f"found     {part}",
            *_first_apart(want, have),
        ],
        "split or reorder so that the loops inside touch a region of the declared shape",
    )


def _compare(
    site: Site, declared: ComputeOp, bodies: Sequence[Expr], parts: Sequence[Part], env: dict[Any, Lin], facts: Facts
) -> None:
    turn = iter(parts)  # one for each read, in reading order

    def local(e: Any) -> Any:
        """The found expression in the declared axes and inputs."""
        if isinstance(e, Load):
            part = next(turn)
            t = part.declared
            kept = fit([None if isinstance(n, Var) else lin(n) for n in t.shape], part.extents) or []
            position = [lin(e.indices[k], facts, env) - part.low[k] for k in kept]
            return Load(t, tuple(form_expr(x) for x in position), e.dtype)
        if isinstance(e, Var):
            return form_expr(env[e], e.dtype) if e in env else e
        return map_children(e, local)

    for want, have in zip(_parts(declared.body), _parts(bodies), strict=True):
        have = local(have)
        apart = first_apart(simplify(want, facts), simplify(have, facts), facts)
        if apart is not None:
            names = Names()
            raise _different(site, declared, bodies, f"{show(apart[0], names)}  |  {show(apart[1], names)}")


def first_apart(a: Any, b: Any, facts: Facts) -> tuple[Any, Any] | None:
    """The smallest parts, in the same place, in which two expressions differ; None when they are the same."""
    if a is b:
        return None
    if (
        isinstance(a, Expr)
        and isinstance(b, Expr)
        and a.dtype == b.dtype
        and dt.is_int(a.dtype)
        and dt.lanes(a.dtype) == 1
    ):
        if zero(lin(a, facts) - lin(b, facts)):
            return None
    if type(a) is not type(b) or isinstance(a, Var):
        return a, b
    if isinstance(a, Const):
        return None if a.value == b.value and a.dtype == b.dtype else (a, b)
    if not isinstance(a, Node):
        return None if a == b else (a, b)
    inner: list[tuple[Any, Any]] = []
    for f in a.FIELDS:
        x, y = getattr(a, f), getattr(b, f)
        if f not in a.CHILDREN:
            if x is not y and x != y:
                return a, b
            continue
        xs, ys = (x, y) if isinstance(x, tuple) else ((x,), (y,))
        if len(xs) != len(ys):
            return a, b
        inner += [found for p, q in zip(xs, ys, strict=True) if (found := first_apart(p, q, facts)) is not None]
    return (a, b) if len(inner) > 1 else inner[0] if inner else None


def _sides(site: Site, declared: ComputeOp, bodies: Sequence[Expr]) -> list[str]:
    lines = []
    for word, op, exprs in (("declared", declared, declared.body), ("found", site.stage.op, bodies)):
        names = Names()
        for t, e in zip(op.outputs, exprs, strict=False):
            axes = ", ".join(names(a.var) for a in op.axis)
            lines.append(f"{word:<8}  {t.name}[{axes}] = {show(e, names)}")
    return lines


def _different(site: Site, declared: ComputeOp, bodies: Sequence[Expr], apart: str = "") -> ScheduleError:
    lines = _sides(site, declared, bodies)
    if apart:
        lines.append(f"differs   {apart}")
    return site.refuse("intrin-body", "the loops inside compute something else than it declares", lines)


def _uses(x: Lin, variables: Sequence[Var]) -> bool:
    wanted = set(map(id, variables))
    return any(id(v) in wanted for v in walk(form_expr(x)))
