"""The configuration of a template that nobody has tuned: the first candidates, or what the template says instead."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod
from typing import Any

from ..core.error import LabError
from .entities import SplitEntity
from .knobs import KnobAxis, SplitKnob, factors_of
from .space import Make, Space


class FallbackError(LabError):
    """Limits that no candidate keeps."""


class FallbackConfigEntity(Space):
    """It collects choices as a space does; what was set by hand before a choice is defined stays."""

    is_fallback = True

    def _define(self, name: str, axes: Sequence[Any], outputs: int, make: Make) -> list[KnobAxis]:
        before = self._chosen.get(name)
        found = super()._define(name, axes, outputs, make)
        if before is not None:
            self._chosen[name] = before
        return found

    def __setitem__(self, name: str, entity: Any) -> None:
        self._chosen[name] = entity

    def fallback_split(self, name: str, constraints: Sequence[int]) -> None:
        """The largest divisors within limits (-1: none), the innermost loop first: [-1, 8, 4] of 128 is [4, 8, 4]."""
        knob = self.space_map.get(name)
        if not isinstance(knob, SplitKnob):
            splits = [n for n, k in self.space_map.items() if isinstance(k, SplitKnob)]
            raise FallbackError("no-split", f"the template has defined no split {name!r}", legal=splits)
        assert len(constraints) == knob.num_output, f"{name} has {knob.num_output} loops, not {len(constraints)}"
        left, size = knob.product, []
        for limit in reversed(constraints):
            fitting = [f for f in factors_of(left) if limit == -1 or f <= limit]
            if not fitting:
                raise FallbackError("no-fallback", f"{name}: no length of {left} is within {limit}")
            size.append(fitting[-1])
            left //= fitting[-1]
        self._chosen[name] = SplitEntity(size[::-1])

    def fallback_with_reference_log(self, ref_log: Iterable[tuple[Any, Any]]) -> None:
        """Do as the record whose splits have most divisors in common with ours; without records nothing changes."""
        splits = {n: set(factors_of(k.product)) for n, k in self.space_map.items() if isinstance(k, SplitKnob)}

        def likeness(config: Any) -> float:
            shared = [len(own & set(factors_of(abs(prod(config[n].size))))) / len(own) for n, own in splits.items()]
            return sum(shared)

        configs = [inp.config for inp, _ in ref_log]
        best = max(configs, key=likeness, default=None)
        if best is None or not likeness(best):
            return
        for name, knob in self.space_map.items():
            if isinstance(knob, SplitKnob):
                self.fallback_split(name, [-1, *best[name].size[1:]])
            else:
                self._chosen[name] = best[name]
