"""Which part of each stage is needed where: the domain of every root axis, consumers first.

For a producer attached at a loop, the loops of a consumer outside that loop are fixed (they stay symbols in the
bounds), those inside are relaxed over their whole range. A thread axis is relaxed by rank instead: wherever it is,
iff the producer's storage is shared by those threads. The regions that all reads need are united; an extent that
still depends on an outer loop is replaced by its upper bound, so that every extent is the same in all iterations.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..core.affine import (
    Atom,
    Facts,
    Lin,
    lin,
    loads,
    mentions,
    nonneg,
    number,
    opaque,
    reads_memory,
    relax,
    to_expr,
    upper,
    var,
)
from ..core.build import binary, const
from ..core.hooks import put
from ..core.node import OPAQUE, Expr, IterVar, Range, Reduce, Var
from ..core.text import identifier
from ..core.walk import substitute
from ..expr.intrin import TensorComputeOp
from ..schedule import relations as rel
from ..schedule.scopes import default_scope, is_virtual, rank, thread_key, thread_rank
from ..schedule.state import Stage, State, is_input
from . import kept
from .normalise import Ready, normalise


@dataclass(eq=False)
class Domain:
    """One stage's part: `low` (absolute) and `extent` of each root axis, extents and loop variables of all axes."""

    stage: Stage
    low: dict[IterVar, Lin]
    sizes: dict[IterVar, Lin]
    loop: dict[IterVar, Lin] = field(default_factory=dict)
    values: dict[IterVar, Lin] = field(default_factory=dict)
    env: dict[Any, Lin] = field(default_factory=dict)
    facts: Facts = field(default_factory=Facts)
    scope: str = "global"
    path: list[tuple[Stage, IterVar]] = field(default_factory=list)
    threads: dict[str, Var] = field(default_factory=dict)  # those that a scan launches around itself, by tag


@put("ranges", State)
def ranges(state: State) -> dict[IterVar, Range]:
    """The range of every axis that gets a loop, or that a loop is derived from."""
    bounds = Bounds(normalise(state))
    found: dict[IterVar, Range] = {}
    own = {v: a.var for d in bounds.of.values() for a, x in d.loop.items() for v in x.terms if isinstance(v, Var)}
    for d in bounds.of.values():
        for a, n in d.sizes.items():
            lo, dtype = d.low.get(a), a.var.dtype
            low = const(0, dtype) if lo is None else to_expr(lo, dtype)
            found[a] = Range(substitute(low, own), substitute(to_expr(n, dtype), own))
    return found


class Bounds:
    """Domains of all stages of a normalised state, and the consumers met outside their producer's loop.

    `old`: those of a state that differs little, some of which may hold here too.
    """

    def __init__(self, ready: Ready, old: Bounds | None = None) -> None:
        self.ready = ready
        self.old = old
        self.of: dict[int, Domain] = {}
        self.outside: list[tuple[Stage, Stage]] = []  # producers attached where these consumers are not
        self.private: dict[tuple[int, IterVar], tuple[Stage, Stage, IterVar]] = {}  # of threads they are outside of
        self.table = {s.index: s for s in ready.stages}
        self.reads: dict[int, list[tuple[Domain, Any]]] = {}  # of each producer: (consumer, indices), see `_reads`
        self.reads_of: dict[int, Sequence[tuple[Any, Any]]] = {}  # of each consumer: (tensor, indices)
        self.scan_inits = {t for s in ready.stages for t in getattr(s.op, "init", ())}
        self.facts = Facts()
        for stage in reversed(ready.stages):
            if not is_input(stage):
                self.of[stage.index] = made = self._domain(stage)
                self._learn(made)
                unchanged = old is not None and kept.same_forms(made, old.of.get(stage.index))
                reads = old.reads_of[stage.index] if old is not None and unchanged else tuple(self._reads(stage))
                self.reads_of[stage.index] = reads
                for tensor, indices in reads:
                    self.reads.setdefault(ready.home[tensor], []).append((made, indices))
        self.old = None

    def _learn(self, d: Domain) -> None:
        for v, (lo, hi) in d.facts.ranges.items():
            if v not in self.facts.ranges:
                self.facts = self.facts.with_range(v, lo, hi)

    # ------------------------------------------------------------ one stage

    def _domain(self, stage: Stage) -> Domain:
        outer = self.path_to(stage)
        low, extent = self._roots(stage, outer)
        before = kept.domain(self.old, self, stage, outer, low, extent)
        if before is not None:
            return before
        facts = self._outer_facts(outer)
        sizes = rel.extents(stage, extent, facts)
        made = Domain(stage, low, sizes, scope=self._scope(stage, outer))
        self._loops(made, facts, outer)
        return made

    def path_to(self, stage: Stage) -> list[tuple[Stage, IterVar]]:
        """The loops around the stage's own nest, outermost first."""
        at = stage.attach
        if at.kind not in ("at", "scan") or at.stage not in self.of or at.axis is None:
            return []
        parent = self.of[at.stage]
        leaves = parent.stage.leaves
        if at.axis not in leaves:
            return []
        around = parent.path[: len(parent.path) - len(leaves)]
        return [*around, *((parent.stage, a) for a in leaves[: leaves.index(at.axis) + 1])]

    def _outer_facts(self, outer: list[tuple[Stage, IterVar]]) -> Facts:
        if not outer:
            return Facts()
        last = self.of[outer[-1][0].index]
        return last.facts

    def _scope(self, stage: Stage, outer: list[tuple[Stage, IterVar]]) -> str:
        if stage.scope:
            return stage.scope
        tags = [t.thread_tag for s, a in outer if (t := s.mark(a).thread) is not None]
        return default_scope(tags)

    def _roots(self, stage: Stage, outer: list[tuple[Stage, IterVar]]) -> tuple[dict[IterVar, Lin], dict[IterVar, Lin]]:
        low, extent = {}, {}
        for a in stage.root_axes:
            if a.dom is not None:
                low[a], extent[a] = lin(a.dom.min), lin(a.dom.extent)
        if stage.attach.kind == "scan":  # one step of the scan's loop
            scan = self.of[stage.attach.stage]
            low[stage.op.axis[0]], extent[stage.op.axis[0]] = scan.env[scan.stage.op.axis[0].var], number(1)
            return low, extent
        if stage.is_output or not stage.op.axis or stage.op.kind == "scan" or self._is_scan_init(stage):
            for consumer, _ in self.reads.get(stage.index, ()):
                self._under(stage, consumer)
            return low, extent
        region = self._needed(stage, outer)
        if region is not None:
            for a, (lo, n) in zip(stage.op.axis, region, strict=True):
                if a.iter_type != OPAQUE:  # an intrinsic makes all of its dimensions
                    low[a], extent[a] = lo, n
        return low, extent

    def _is_scan_init(self, stage: Stage) -> bool:
        return any(t in self.scan_inits for t in stage.op.outputs)

    def _loops(self, d: Domain, facts: Facts, outer: list[tuple[Stage, IterVar]]) -> None:
        """Loop variables of the leaves, with their ranges; values of all axes; the tensor expression's variables."""
        stage = d.stage
        labels = self.ready.state.labels
        d.threads = {a.thread_tag: Var(a.name, a.dtype) for a in stage.env_threads}
        open_threads: dict[Any, Lin] = {tag: var(v) for s, _ in outer for tag, v in self.of[s.index].threads.items()}
        open_threads.update(
            {thread_key(t): self.of[s.index].loop[a] for s, a in outer if (t := s.mark(a).thread) is not None}
        )
        for leaf in stage.leaves:
            thread = stage.mark(leaf).thread
            extent = d.sizes[leaf]
            if thread is not None and thread_key(thread) in open_threads:
                d.loop[leaf] = open_threads[thread_key(thread)]
                for v in d.loop[leaf].terms:
                    if v not in facts.ranges:  # launched around a scan, as many as its stages bind
                        facts = facts.with_range(v, number(0), extent - 1)
                continue
            name = thread.name if thread is not None else labels.get(leaf) or identifier(leaf.name)
            v = Var(name, leaf.dtype)
            if thread is None and not extent.terms and extent.const == 1:
                d.loop[leaf] = number(0)
                continue
            d.loop[leaf] = var(v)
            facts = facts.with_range(v, number(0), extent - 1)
        d.facts = facts
        d.values = rel.values_up(stage, d.loop, d.sizes, facts)
        for a in stage.root_axes:
            if a in d.values:
                d.env[a.var] = d.low[a] + d.values[a]
        d.path = [*outer, *((stage, a) for a in stage.leaves)]

    # ------------------------------------------------------------ what consumers need

    def _needed(self, stage: Stage, outer: list[tuple[Stage, IterVar]]) -> list[tuple[Lin, Lin]] | None:
        """The region of the producer, per dimension; None: all of it."""
        total: list[tuple[Lin, Lin]] | None = None
        layers = self._scope(stage, outer)
        for consumer, read in self.reads.get(stage.index, ()):
            if not self._under(stage, consumer):
                return None
            region = self._region(read, consumer, stage, outer, layers)
            if region is None:
                return None
            if total is not None:
                region = [self._union(a, b, consumer) for a, b in zip(total, region, strict=True)]
            total = region
        if total is None:
            return None
        return [self._sized(t, d, stage, k) for k, (t, d) in enumerate(zip(total, self._declared(stage), strict=True))]

    def _reads(self, consumer: Stage) -> Iterable[tuple[Any, Any]]:
        """The tensors a consumer reads, each time with the indices (or ranges); None where it reads all of a tensor."""
        bodies = self.ready.bodies.get(consumer.index)
        if isinstance(consumer.op, TensorComputeOp):
            yield from zip(consumer.op.call.tensors, consumer.op.input_regions, strict=True)
        elif bodies is None:
            yield from ((t, None) for t in consumer.op.inputs)
        else:
            for b in bodies[:1] if isinstance(bodies[0], Reduce) else bodies:
                yield from ((x.buffer, x.indices) for x in loads(b) if x.buffer in self.ready.home)

    def _region(
        self, indices: Any, consumer: Domain, stage: Stage, outer: list[tuple[Stage, IterVar]], scope: str
    ) -> list[tuple[Lin, Lin]] | None:
        if indices is None:
            return None
        relaxed = self._relaxed(consumer, stage, outer, scope)
        region = []
        for e, declared in zip(indices, self._declared(stage), strict=True):
            first = lin(e.min if isinstance(e, Range) else e, consumer.facts, consumer.env)
            last = first + lin(e.extent, consumer.facts, consumer.env) - 1 if isinstance(e, Range) else first
            lo, hi = relax(first, consumer.facts, relaxed, -1), relax(last, consumer.facts, relaxed, 1)
            if lo is None or hi is None or not (_known(lo, relaxed) and _known(hi, relaxed)):
                lo, hi = declared[0], declared[0] + declared[1] - 1
            region.append((lo, hi))
        return region

    def _relaxed(self, consumer: Domain, stage: Stage, outer: list[tuple[Stage, IterVar]], scope: str) -> list[Var]:
        """The loop variables of the consumer that the producer's region must cover."""
        inside = {a for _, a in outer}
        fixed = {_single(self.of[s.index].loop[a]) for s, a in outer}
        fixed.update(v for s, _ in outer for v in self.of[s.index].threads.values())
        storage = rank(scope) or 0
        found: list[Var] = []
        for s, a in consumer.path:
            thread = s.mark(a).thread
            variable = _single(self._loop_value(s, a, consumer))
            if variable is None:
                continue
            level = None if thread is None else thread_rank(thread.thread_tag)
            over = a not in inside if level is None else storage <= level
            if thread is not None and is_virtual(thread.thread_tag):  # a loop of its own: it does not exist outside
                over = over or a not in inside
            if over or (thread is not None and thread.thread_tag == "threadIdx.x" and scope.startswith("warp")):
                found.append(variable)
            elif level is not None and variable not in fixed:
                self.private.setdefault((stage.index, a), (stage, s, a))
        return found

    def _loop_value(self, s: Stage, a: IterVar, consumer: Domain) -> Lin:
        return (consumer if s.index == consumer.stage.index else self.of[s.index]).loop[a]

    def _under(self, stage: Stage, consumer: Domain) -> bool:
        """Is the consumer's read inside the loop that the producer is attached to? If not, remember it."""
        at = stage.attach
        if at.kind != "at":
            return True
        path = consumer.path
        if consumer.stage.op.kind == "scan":  # it reads the initial values before its own loop
            path = path[: len(path) - len(consumer.stage.leaves)]
        if any(a is at.axis for _, a in path):
            return True
        if (stage, consumer.stage) not in self.outside:
            self.outside.append((stage, consumer.stage))
        return False

    def _declared(self, stage: Stage) -> list[tuple[Lin, Lin]]:
        return [(lin(a.dom.min), lin(a.dom.extent)) for a in stage.op.axis if a.dom is not None]

    def _union(self, a: tuple[Lin, Lin], b: tuple[Lin, Lin], consumer: Domain) -> tuple[Lin, Lin]:
        facts = consumer.facts
        return _pick("min", a[0], b[0], facts), _pick("max", a[1], b[1], facts)

    def _sized(self, region: tuple[Lin, Lin], declared: tuple[Lin, Lin], stage: Stage, k: int) -> tuple[Lin, Lin]:
        """(low, extent): clipped to the declared shape where that is certain, the extent free of outer loops."""
        lo, hi = region
        facts = self.facts
        first, last = declared[0], declared[0] + declared[1] - 1
        if nonneg(first - lo, facts) and nonneg(hi - last, facts):
            return declared
        if not lo.terms and nonneg(first - lo):
            lo = first
        if not _ranged(hi, facts) and nonneg(hi - last, facts):
            hi = last
        extent = hi - lo + 1
        if _ranged(extent, facts):
            bound = _quotient_gap(extent) or upper(extent, facts)
            if bound is None or _ranged(bound, facts):
                return declared
            extent = bound
            if not lo.terms and nonneg(extent - declared[1]):
                return declared
        return lo, extent


def _pick(op: str, a: Lin, b: Lin, facts: Facts) -> Lin:
    d = b - a
    if nonneg(d, facts):
        return a if op == "min" else b
    if nonneg(-d, facts):
        return b if op == "min" else a
    x, y = to_expr(a), to_expr(b)
    made: Expr = binary(op, x, y)
    return opaque(made)


def _single(x: Lin) -> Var | None:
    return next((a for a in x.terms if isinstance(a, Var)), None)


def _known(x: Lin, relaxed: list[Var]) -> bool:
    """A bound that no relaxed loop and nothing in memory decides."""
    return not _mentions_any(x, dict.fromkeys(relaxed, 0)) and not (x.terms and reads_memory(to_expr(x)))


def _ranged(x: Lin, facts: Facts) -> bool:
    """Does the form still depend on a loop?"""
    return _mentions_any(x, facts.order)


def _mentions_any(x: Lin, variables: Mapping[Any, int]) -> bool:
    return any(mentions(atom, variables) for atom in x.terms)


def _quotient_gap(x: Lin) -> Lin | None:
    """(a + c)//d - a//d <= (c + d - 1)//d: a window of c + 1 fused iterations touches that many rows and one."""
    quotients = [(a, c) for a, c in x.terms.items() if type(a) is Atom and a.op == "//"]
    if len(x.terms) != 2 or len(quotients) != 2:
        return None
    (p, cp), (q, cq) = quotients
    if cp < 0:
        (p, cp), (q, cq) = (q, cq), (p, cp)
    gap = p.args[0] - q.args[0]
    same = p.args[1].key == q.args[1].key and not p.args[1].terms
    if (cp, cq) != (1, -1) or gap.terms or not same or gap.const < 0:
        return None
    d = p.args[1].const
    return number((gap.const + d - 1) // d + x.const)
