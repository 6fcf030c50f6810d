"""Why one of two programs is faster: a fixed list of rules over what they do.

    found, explained = reasons(a, b, machine, ratio=2.4, low=2.1, high=2.6)

Each rule asks how much less the slower program would take if one part of its modelled time were that of the faster one.
What that explains of the measured ratio orders the reasons. Nothing is said where the runs are the same within noise;
`explained` is false where the model does not account for the difference.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from ..core.program import Function, Program
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

    `share`: of the measured ratio, 0 to 1. `show`: a loop to look at, or "". `rule`: which rule found it.
    """

    text: str
    number: str
    show: str
    rule: str
    share: float
    factor: float
    how: str = "modelled"


@dataclass(frozen=True, eq=False)
class Pair:
    """The slower and the faster program on a machine."""

    slow: Facts
    fast: Facts
    machine: Machine

    @cached_property
    def slower(self) -> Cost:
        return cost(self.slow, self.machine)

    @cached_property
    def work(self) -> float:
        """The arithmetic of the slower one over that of the faster one, where it is more; else 1."""
        a, b = self.slow.metrics, self.fast.metrics
        ratio = a.flops / b.flops if a.flops and b.flops else max([1.0, *a.recomputed(b).values()])
        return ratio if ratio > LEAST else 1.0

    @cached_property
    def faster(self) -> Cost:
        """The faster one's cost, with as much work as the slower one has."""
        return cost(self.fast, self.machine).scaled(self.work)

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
    def stages(self) -> list[str]:
        """Stages that only the slower one has."""
        return [s for s in self.slow.metrics.stages if s not in self.fast.metrics.stages]


def _moved(f: Facts, buffers: list[str]) -> float:
    return sum(a.bytes for a in f.accesses if a.buffer in buffers)


Program_ = Program | Function | Facts


def reasons(
    a: Program_, b: Program_, machine: Machine | str | None, ratio: float, low: float, high: float
) -> tuple[list[Reason], bool]:
    """Why `b` takes 1/ratio of the time of `a` (ratio below 1: why `a` is faster), the weightiest first.

    `a`, `b`: lowered programs, or their facts. `ratio`: measured time of a over time of b, between `low` and `high`.
    """
    if not (ratio > 0 and math.isfinite(ratio)) or low <= 1 <= high:
        return [], True
    slow, fast = (_facts(x) for x in ((a, b) if ratio > 1 else (b, a)))
    if slow.metrics.flops is None or fast.metrics.flops is None:
        return [], False
    pair = Pair(slow, fast, get(machine))
    measured = math.log(max(ratio, 1 / ratio))
    found = [r for rule in RULES if (r := _reason(rule, pair, measured)) is not None]
    found.sort(key=lambda r: -r.factor)
    whole = pair.slower.seconds(pair.machine) / cost(fast, pair.machine).seconds(pair.machine)
    return found, bool(found) and math.log(whole) >= ENOUGH * measured


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
    return Reason(
        text, f"{factor:.1f}x" if factor >= 1.1 else f"{factor:.2f}x", show, rule.name, min(1.0, share), factor
    )


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
    return p.slower.with_(width=p.faster.width) if p.faster.width > p.slower.width else None


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
    return p.slower.with_(updates=p.faster.updates) if p.faster.updates < p.slower.updates else None


def _strides(p: Pair) -> Cost | None:
    a, b = p.slower, p.faster
    if total(a.hops) + a.gathers <= total(b.hops) + b.gathers:
        return None
    return a.with_(hops=b.hops, gathers=b.gathers, waste={k: min(v, b.waste.get(k, v)) for k, v in a.waste.items()})


def _rows(p: Pair) -> Cost | None:
    return p.slower.with_(jumps=p.faster.jumps) if total(p.faster.jumps) < total(p.slower.jumps) else None


def _tiles(p: Pair) -> Cost | None:
    a, b = p.slower, p.faster
    less = {k: b.moved[k] for k in a.moved if total(b.moved[k]) < total(a.moved[k])}
    return a.with_(moved={**a.moved, **less}) if less and not p.extra else None


def _guards(p: Pair) -> Cost | None:
    if p.faster.guards >= p.slower.guards:
        return None
    made = p.slower.with_(guards=p.faster.guards / p.work if p.wasted else p.faster.guards)
    return made.scaled(1 / p.work) if p.wasted else made


def _short_loops(p: Pair) -> Cost | None:
    a, b = p.slower, p.faster
    gone = p.stages if p.extra else []  # those are the business of `copies`
    own = _without(a.starts, gone), _without(a.turns, gone)
    if total(b.starts) + total(b.turns) >= sum(map(total, own)):
        return None
    rest = [{k: v for k, v in parts.items() if k in gone} for parts in (a.starts, a.turns)]
    return a.with_(starts={**b.starts, **rest[0]}, turns={**b.turns, **rest[1]})


def _launches(p: Pair) -> Cost | None:
    return p.slower.with_(launches=p.faster.launches) if p.faster.launches < p.slower.launches else None


RULES = (
    Rule("parallel", lambda p: _parallel(p) if _serial(p) else None, sentences.parallel),
    Rule("tasks", lambda p: None if _serial(p) else _parallel(p), sentences.tasks),
    Rule("vector", _vectors, sentences.vectors),
    Rule("redundant", _redundant, sentences.redundant),
    Rule("copies", _copies, sentences.copies),
    Rule("accumulate", _updates, sentences.updates),
    Rule("stride", _strides, sentences.strides),
    Rule("layout", _rows, sentences.rows),
    Rule("tile", _tiles, sentences.tiles),
    Rule("guards", _guards, sentences.guards),
    Rule("loops", _short_loops, sentences.short_loops),
    Rule("launches", _launches, sentences.launches),
)
