"""How a trial is run, checked when it is asked for: a bad value is refused with what is legal."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from ..core.error import LabError
from ..target.base import get, names

MOST_REPEATS, MOST_SECONDS, MOST_ROUNDS = 1000, 24 * 3600.0, 1000


class OptionError(LabError, ValueError):
    """An option of a run that cannot be."""


@dataclass(frozen=True)
class Options:
    """`target`: a target with its options, as text. `threads`: 0 means all. `repeats`: times that are taken, and
    `enough`: seconds after which three will do.

    `min_ms`: a repeat is as many runs as last so long. `limit`: seconds for the whole trial. `seed`: of random inputs.
    `rtol`, `atol`: 0 means by the type and the number of additions. `inputs`: `random`, or `given` (a person's arrays).
    `rounds`: of a comparison. `sizes`: dimensions that are variables, by name. `check`: against the reference.
    `baseline`: time the library and the unscheduled program too. `kernel`: {"name", "shape"} of the gallery's operator
    that the expression is, whose NumPy reference is then at hand.
    """

    target: str = "llvm"
    threads: int = 0
    repeats: int = 20
    limit: float = 60.0
    seed: int = 0
    rtol: float = 0.0
    inputs: str = "random"
    min_ms: float = 2.0
    atol: float = 0.0
    enough: float = 2.0
    rounds: int = 30
    sizes: Mapping[str, int] = field(default_factory=dict)
    check: bool = True
    baseline: bool = True
    kernel: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        _whole("threads", self.threads, 0, cores(), "0 means all of them")
        _whole("repeats", self.repeats, 1, MOST_REPEATS)
        _whole("rounds", self.rounds, 3, MOST_ROUNDS)
        _whole("seed", self.seed, 0, 2**32 - 1)
        _real("limit", self.limit, 0.1, MOST_SECONDS, "seconds")
        _real("enough", self.enough, 0.0, MOST_SECONDS, "seconds")
        _real("min_ms", self.min_ms, 0.0, 10_000.0, "milliseconds")
        _real("rtol", self.rtol, 0.0, 1.0, "0 means by the type and the number of additions")
        _real("atol", self.atol, 0.0, 1e30, "0 means by the type and the number of additions")
        if self.inputs not in ("random", "given"):
            raise OptionError("option", f"inputs cannot be {self.inputs!r}", legal=["random", "given"])
        if self.kernel is not None and not isinstance(self.kernel, Mapping):
            raise OptionError(
                "option", f"kernel cannot be {self.kernel!r}", legal=['{"name": "matmul", "shape": {...}}']
            )
        if not isinstance(self.sizes, Mapping):
            raise OptionError("option", f"sizes cannot be {self.sizes!r}", legal=['{"n": 1024}'])
        if not isinstance(self.target, str):
            raise OptionError("option", f"the target must be text, not {self.target!r}", legal=names())
        _known_target(self.target)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def options(values: Mapping[str, Any] | Options | None = None) -> Options:
    """Options from plain values; unknown names are refused, missing ones are as usual."""
    if isinstance(values, Options):
        return values
    known = [f.name for f in fields(Options)]
    for name in values or {}:
        if name not in known:
            raise OptionError("option", f"a run has no option `{name}`", legal=known)
    return Options(**(values or {}))


def cores() -> int:
    """How many threads a run may have."""
    there = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    asked = os.environ.get("NUMBA_NUM_THREADS", "")
    return int(asked) if asked.isdigit() and int(asked) > 0 else there


def _known_target(text: str) -> None:
    from .api import as_target

    as_target(text)
    get(text.split()[0])


def _whole(name: str, value: Any, low: int, high: int, about: str = "") -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        said = f" ({about})" if about else ""
        raise OptionError("option", f"{name} cannot be {value!r}", legal=[f"a whole number from {low} to {high}{said}"])


def _real(name: str, value: Any, low: float, high: float, about: str = "") -> None:
    good = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    if not good or not low <= value <= high:
        said = f" ({about})" if about else ""
        raise OptionError("option", f"{name} cannot be {value!r}", legal=[f"a number from {low:g} to {high:g}{said}"])
