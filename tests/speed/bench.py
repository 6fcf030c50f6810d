"""What a row is given: peers, the clock, and where to put its results."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from tvmlab.runtime.array import aligned

from .peers import Missing, Peer
from .rounds import Spread, Timer, Times, interleaved


@dataclass(frozen=True)
class Check:
    """A line of the summary. `met` is None where there was nobody to compare with."""

    what: str
    must: str
    measured: str
    met: bool | None


@dataclass
class Row:
    """The results of one row: `checks` against what issue and README promise, `lines` of details under `heads`."""

    name: str
    title: str = ""
    heads: tuple[str, ...] = ()
    lines: list[tuple[str, ...]] = field(default_factory=list)
    checks: list[Check] = field(default_factory=list)
    raw: dict[str, Times] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    others: float | None = None  # the share of the machine that others used meanwhile
    date: str = ""

    def check(self, what: str, must: str, measured: str, met: bool | None) -> None:
        self.checks.append(Check(what, must, measured, met))

    def line(self, *cells: Any) -> None:
        self.lines.append(tuple(map(str, cells)))

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_json(saved: dict[str, Any]) -> Row:
        return Row(**{**saved, "checks": [Check(**c) for c in saved["checks"]]})


class Bench:
    """Peers are started when a row first asks, and stay for the next. `seconds`: of each tuning."""

    def __init__(
        self, machine: Mapping[str, Any], rounds: int, say: Callable[[str], None], seconds: float = 60.0
    ) -> None:
        self.machine, self.rounds, self.say, self.seconds = machine, rounds, say, seconds
        self.peers: dict[str, Peer] = {}
        self.missing: dict[str, str] = {}

    def peer(self, name: str) -> Peer | None:
        if name in self.missing:
            return None
        try:
            if name not in self.peers:
                self.peers[name] = Peer(name)
        except Missing as why:
            self.lost(name, why)
        return self.peers.get(name)

    def lost(self, name: str, why: Missing) -> None:
        """A peer that is not there is reported, once; the rest goes on."""
        self.missing[name] = str(why)
        self.say(f"without {name}: {why}")

    def prepared(self, peer: str, key: str, inputs: Sequence[Any], expected: Any, **request: Any) -> dict[str, Timer]:
        """{peer: timer} once its result agrees with the expected one; {} without the peer."""
        found = self.peer(peer)
        if found is None:
            return {}
        try:
            result = found.prepare(key, inputs, **request)
        except Missing as why:
            self.lost(peer, why)
            return {}
        if expected is not None:
            agree(f"{peer}'s {key}", result, expected)
        return {peer: found.timer(key)}

    def measure(self, row: Row, key: str, contestants: Mapping[str, Timer], **options: Any) -> Times:
        times = interleaved(contestants, **{"rounds": self.rounds, **options})
        row.raw[key] = times
        self.say(f"  {key}: " + ", ".join(f"{n} {1e3 * float(np.median(t)):.4g} ms" for n, t in times.items()))
        return times

    def peak(self, dtype: str) -> float:
        return float(self.machine[f"peak, one core, {dtype} GFLOP/s"])

    def speed(self, flops: int, seconds: Sequence[float], dtype: str = "float32") -> tuple[str, str]:
        """(GFLOP/s, the share of the peak)"""
        rate = flops / float(np.median(seconds)) / 1e9
        return f"{rate:.1f}", f"{100 * rate / self.peak(dtype):.0f} %"

    def close(self) -> None:
        for peer in self.peers.values():
            peer.close()


def agree(what: str, result: Any, expected: Any) -> float:
    """The largest error in units of the largest expected value; a wrong result stops the benchmark."""
    error = float(np.abs(result.astype("float64") - expected).max() / max(np.abs(expected).max(), 1e-30))
    if not error < (1e-4 if result.dtype == np.float32 else 1e-10):
        raise AssertionError(f"{what} is wrong: relative error {error:.2g}")
    return error


def random_arrays(args: Sequence[Any], seed: int = 0) -> list[Any]:
    """Arrays for the arguments of a schedule with constant shapes, aligned to 64 bytes as the peers' are."""
    draw = np.random.default_rng(seed)
    made = [aligned(tuple(int(d.value) for d in a.shape), np.dtype(a.dtype)) for a in args]
    for array in made:
        array[...] = draw.random(array.shape)
    return made


def built(make: Callable[[], Any], target: str) -> tuple[Any, Any, float]:
    """(module, arguments, milliseconds from the expression to the module)"""
    from tvmlab import build

    start = time.perf_counter()
    s, args = make()
    module = build(s, args, target)
    return module, args, (time.perf_counter() - start) * 1e3


def median_ms(seconds: Sequence[float]) -> str:
    s = Spread.of(seconds)
    return f"{1e3 * s.median:.3g} [{1e3 * s.low:.3g}, {1e3 * s.high:.3g}]"
