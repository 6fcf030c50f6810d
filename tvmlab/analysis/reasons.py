"""Why one of two programs is faster: a fixed list of rules over what they do.

    found, explained, expected = reasons(a, b, machine, ratio=2.4, low=2.1, high=2.6)

Each rule asks how much less the slower program would take if one part of its modelled time were that of the faster one.
What that explains of the measured ratio orders the reasons. Nothing is said where the runs are the same within noise;
`explained` is false where the model does not account for the difference; `expected` is the ratio of the model.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from ..core.program import Function, Origin, Program
from . import sentences
from .cost import Cost, cost, total
from .facts import Facts, facts
from .machine import Machine, get

LEAST = 1.03  # a part that saves less is no reason
SHARE = 0.04  # of the measured ratio, on a logarithmic scale
ENOUGH = 0.3  # of it must be explained


@dataclass(frozen=True)
class Reason:
    """`text`: a sentence about the slower and the faster program. `number`: what the model says it is worth.

    `share`: of the measured ratio, 0 to 1. `show`: a loop to look at, or "", and `origin`: where that comes from in the
    schedule. `rule`: which rule found it.
    """

    text: str
    number: str
    show: str
    rule: str
    share: float
    factor: float
    origin: Origin | None = None
    how: str = "modelled"


@dataclass(frozen=True, eq=False)
class Pair:
    """The slower and the faster program on a machine."""

    slow: Facts
    fast: Facts
    machine: Machine
    auto: bool  # do compilers make vectors of simple loops by themselves

    @cached_property
    def slower(self) -> Cost:
        return cost(self.slow, self.machine, self.auto)

    @cached_property
    def whole(self) -> float:
        """What the model makes of the ratio."""
        return self.slower.seconds(self.machine) / cost(self.fast, self.machine, self.auto).seconds(self.machine)

    @cached_property
    def blocked(self) -> str:
        """What keeps the busiest loop of the slower one from being made vectors, where the faster one has them."""
        if not self.auto or self.faster.width <= self.slower.width:
            return ""
        busiest = max(self.slow.inner, key=lambda x: x.iterations, default=None)
        if busiest is None or busiest.kind == "vector":
            return ""
        short = not busiest.blocked and busiest.extent < self.machine.lanes(self.slow.metrics.bits)
        return "short" if short else busiest.blocked

    def unblocked(self, made: Cost, *why: str) -> Cost:
        """With the vectors of the faster one, if that is why the slower one lacks them."""
        return made.with_(width=self.faster.width) if self.blocked in why else made

    @cached_property
    def work(self) -> float:
        """The arithmetic of the slower one over that of the faster one, where it is more; else 1."""
        a, b = self.slow.metrics, self.fast.metrics
        ratio = a.flops / b.flops if a.flops and b.flops else max([1.0, *a.recomputed(b).values()])
        return ratio if ratio > LEAST else 1.0

    @cached_property
    def faster(self) -> Cost:
        """The faster one's cost, with as much work as the slower one has."""
        return cost(self.fast, self.machine, self.auto).scaled(self.work)

    @cached_property
    def wasted(self) -> bool:
        """More arithmetic only because lanes are masked off."""
        a, b = (any(x.masked for x in f.accesses) for f in (self.slow, self.fast))
        return a and not b and not self.slow.metrics.recomputed(self.fast.metrics)

    @cached_property
    def extra(self) -> list[str]:
        """Buffers that only the slower one has, where the faster one has nothing in their place."""
        mine, other = self.slow.allocated, self.fast.allocated
        found = [b for b in mine if b not in other]
        instead = [b for b in other if b not in mine]
        return found if _moved(self.slow, found) > 2 * _moved(self.fast, instead) else []

    @cached_property
    def summed(self) -> list[str]:
        """Buffers that the slower one adds to in memory, where the faster one adds up elsewhere."""
        mine, other = ({a.buffer for a in f.accesses if a.updates and not a.local} for f in (self.slow, self.fast))
        return sorted(mine - other)

    @cached_property
    def stages(self) -> list[str]:
        """Stages that only the slower one has."""
        return [s for s in self.slow.metrics.stages if s not in self.fast.metrics.stages]


def _moved(f: Facts, buffers: list[str]) -> float:
    return sum(a.bytes for a in f.accesses if a.buffer in buffers)


Program_ = Program | Function | Facts


class Found(NamedTuple):
    """`explained`: does the model account for the difference? `expected`: how many times faster it takes the faster one
    to be; 1.0 where it says nothing."""

    reasons: list[Reason]
    explained: bool
    expected: float = 1.0


def reasons(
    a: Program_, b: Program_, machine: Machine | str | None, ratio: float, low: float, high: float,
    names: tuple[str, str] | None = None,
) -> Found:  # fmt: skip
    """Why `b` takes 1/ratio of the time of `a` (ratio below 1: why `a` is faster), the weightiest first.

    `a`, `b`: lowered programs, or their facts. `ratio`: measured time of a over time of b, between `low` and `high`.
    `names`: what to call the two in the sentences; without, "the slower one" and "the faster one".
    """
    if not (ratio > 0 and math.isfinite(ratio)) or low <= 1 <= high:
        return Found([], True)
    slow, fast = (_facts(x) for x in ((a, b) if ratio > 1 else (b, a)))
    if slow.metrics.flops is None or fast.metrics.flops is None:
        return Found([], False)
    called = dict(zip(("slower", "faster"), names if ratio > 1 else names[::-1])) if names else {}
    # Compilers make vectors of simple loops by themselves, mostly: what the measurement agrees with holds.
    both = [_reasons(Pair(slow, fast, get(machine), auto), math.log(max(ratio, 1 / ratio))) for auto in (True, False)]
    found = next((x for x in both if x.explained), next((x for x in both if x.reasons), both[0]))
    return found._replace(reasons=[replace(r, text=_named(r.text, called)) for r in found.reasons])


def _named(text: str, called: dict[str, str]) -> str:
    """The names of the two in the place of "the slower one" and "the faster one"."""
    if not called:
        return text
    return re.sub(r"[Tt]he (slower|faster) one", lambda m: called[m[1]], text)


def _reasons(pair: Pair, measured: float) -> Found:
    found = [r for rule in RULES if (r := _reason(rule, pair, measured)) is not None]
    found.sort(key=lambda r: -r.factor)
    return Found(found, bool(found) and math.log(pair.whole) >= ENOUGH * measured, pair.whole)


def _facts(x: Program_) -> Facts:
    return x if isinstance(x, Facts) else facts(x)


def _reason(rule: Rule, pair: Pair, measured: float) -> Reason | None:
    """What the rule finds, if it is worth something."""
    swapped = rule.swap(pair)
    if swapped is None:
        return None
    factor = pair.slower.seconds(pair.machine) / swapped.seconds(pair.machine)
    share = math.log(factor) / measured
    if factor < LEAST or share < SHARE:
        return None
    said = rule.say(pair.slow, pair.fast, pair.machine)
    if said is None:
        return None
    text, show = said
    number = f"{factor:.1f}×" if factor >= 1.1 else f"{factor:.2f}×"
    return Reason(text, number, show, rule.name, min(1.0, share), factor, _origin(pair, show))


def _origin(pair: Pair, loop: str) -> Origin | None:
    """Of the loop with that name: of the slower program's, else of the faster one's."""
    levels = (*pair.slow.metrics.levels, *pair.fast.metrics.levels)
    return next((x.origin for x in levels if x.name == loop), None)


# ---------------------------------------------------------------- the rules: which part they swap


@dataclass(frozen=True)
class Rule:
    """`swap`: the slower one's cost with a part of the faster one's, None where there is no such difference."""

    name: str
    swap: Callable[[Pair], Cost | None]
    say: Callable[[Facts, Facts, Machine], tuple[str, str] | None]


def _parallel(p: Pair) -> Cost | None:
    if p.faster.spread <= p.slower.spread:
        return None
    return p.slower.with_(spread=p.faster.spread, cores=p.faster.cores)


def _serial(p: Pair) -> bool:
    return not any(r.tasks > 1 for r in p.slow.metrics.regions)


def _vectors(p: Pair) -> Cost | None:
    if p.faster.width <= p.slower.width or p.blocked not in ("", "call"):
        return None
    return p.slower.with_(width=p.faster.width)


def _waits(p: Pair) -> Cost | None:
    if p.faster.waits >= p.slower.waits:
        return None
    return p.unblocked(p.slower.with_(waits=p.faster.waits), "chain")


def _redundant(p: Pair) -> Cost | None:
    return p.slower.scaled(1 / p.work) if p.work > 1 and not p.wasted else None


def _copies(p: Pair) -> Cost | None:
    if not p.extra:
        return None
    s = p.slower
    return s.with_(
        **{name: _without(getattr(s, name), p.extra) for name in ("access", "hops", "jumps")},
        **{name: _without(getattr(s, name), p.stages) for name in ("turns", "starts")},
        moved={level: _without(parts, p.extra) for level, parts in s.moved.items()},
    )


def _without(parts: dict[str, float], names: list[str]) -> dict[str, float]:
    return {k: v for k, v in parts.items() if k not in names}


def _updates(p: Pair) -> Cost | None:
    a, b = p.slower, p.faster
    if b.updates >= a.updates:
        return None
    less = {name: {**getattr(a, name), **_only(getattr(b, name), p.summed)} for name in ("hops", "jumps")}
    return a.with_(updates=b.updates, **less)


def _only(parts: dict[str, float], names: list[str]) -> dict[str, float]:
    return {k: parts.get(k, 0.0) for k in names}


def _strides(p: Pair) -> Cost | None:
    a, b = p.slower, p.faster
    if total(a.hops) + a.gathers <= total(b.hops) + b.gathers:
        return None
    waste = {k: min(v, b.waste.get(k, v)) for k, v in a.waste.items()}
    return p.unblocked(a.with_(hops=b.hops, gathers=b.gathers, waste=waste), "stride")


def _rows(p: Pair) -> Cost | None:
    jumps = {**p.faster.jumps, **_only(p.slower.jumps, p.summed)}  # those are the business of `accumulate`
    return p.slower.with_(jumps=jumps) if total(jumps) < total(p.slower.jumps) else None


def _tiles(p: Pair) -> Cost | None:
    a, b = p.slower, p.faster
    less = {k: b.moved[k] for k in a.moved if total(b.moved[k]) < total(a.moved[k])}
    return a.with_(moved={**a.moved, **less}) if less and not p.extra else None


def _guards(p: Pair) -> Cost | None:
    if p.faster.guards >= p.slower.guards:
        return None
    made = p.unblocked(p.slower.with_(guards=p.faster.guards), "guard")
    return made.scaled(1 / p.work) if p.wasted else made


def _short_loops(p: Pair) -> Cost | None:
    a, b = p.slower, p.faster
    gone = p.stages if p.extra else []  # those are the business of `copies`
    own = _without(a.starts, gone), _without(a.turns, gone)
    if total(b.starts) + total(b.turns) >= sum(map(total, own)):
        return None
    rest = [{k: v for k, v in parts.items() if k in gone} for parts in (a.starts, a.turns)]
    return p.unblocked(a.with_(starts={**b.starts, **rest[0]}, turns={**b.turns, **rest[1]}), "short")


def _launches(p: Pair) -> Cost | None:
    return p.slower.with_(launches=p.faster.launches) if p.faster.launches < p.slower.launches else None


RULES = (
    Rule("parallel", lambda p: _parallel(p) if _serial(p) else None, sentences.parallel),
    Rule("tasks", lambda p: None if _serial(p) else _parallel(p), sentences.tasks),
    Rule("vector", _vectors, sentences.vectors),
    Rule("redundant", _redundant, sentences.redundant),
    Rule("copies", _copies, sentences.copies),
    Rule("accumulate", _updates, sentences.updates),
    Rule("chain", _waits, sentences.waits),
    Rule("stride", _strides, sentences.strides),
    Rule("layout", _rows, sentences.rows),
    Rule("tile", _tiles, sentences.tiles),
    Rule("guards", _guards, sentences.guards),
    Rule("loops", _short_loops, sentences.short_loops),
    Rule("launches", _launches, sentences.launches),
)
