"""What is done with each trial of a tuner: `callback(tuner, inputs, results)`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from . import record

Callback = Callable[[Any, Any, Any], None]


def log_to_file(file_out: Any, protocol: str = "json") -> Callback:
    """Add each trial to a log: its path, or an open file."""

    def callback(tuner: Any, inputs: Any, results: Any) -> None:
        text = "".join(f"{record.encode(i, r, protocol)}\n" for i, r in zip(inputs, results, strict=True))
        if hasattr(file_out, "write"):
            file_out.write(text)
            return
        with open(file_out, "a", encoding="utf-8") as file:
            file.write(text)

    return callback


class Monitor:
    """Remembers: `trial_scores` (flop per second, 0 of failures) and `trial_timestamps`."""

    def __init__(self) -> None:
        self.scores: list[float] = []
        self.timestamps: list[float] = []

    def __call__(self, tuner: Any, inputs: Any, results: Any) -> None:
        for inp, res in zip(inputs, results, strict=True):
            self.scores.append(inp.task.flop / record.mean(res) if res.error_no == 0 else 0.0)
            self.timestamps.append(res.timestamp)

    def reset(self) -> None:
        self.scores, self.timestamps = [], []

    def trial_scores(self) -> list[float]:
        return list(self.scores)

    def trial_timestamps(self) -> list[float]:
        return list(self.timestamps)


def progress_bar(total: int, prefix: str = "", si_prefix: str = "G") -> Callback:
    """A line that says how far it is, and how fast the current and the best are."""
    scale = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}[si_prefix]
    best, done = 0.0, 0

    def callback(tuner: Any, inputs: Any, results: Any) -> None:
        nonlocal best, done
        for inp, res in zip(inputs, results, strict=True):
            done += 1
            now = inp.task.flop / record.mean(res) / scale if res.error_no == 0 else 0.0
            best = max(best, now)
            end = "\n" if done >= total else ""
            text = f"\r{prefix} Current/Best: {now:7.2f}/{best:7.2f} {si_prefix}FLOPS | Progress: ({done}/{total})"
            sys.stdout.write(text + end)
        sys.stdout.flush()

    return callback
