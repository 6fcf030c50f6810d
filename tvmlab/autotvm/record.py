"""Logs in the classic format: one JSON object a line.

python -m tvmlab.autotvm.record --mode pick --i all.log --o best.log
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Iterable, Iterator
from typing import Any

from .. import __version__
from ..core.error import LabError
from ..target.base import Target
from ..tune.space import Config
from ..tune.task import Task
from ..tune.workload import plain
from .measure import MeasureInput, MeasureResult

FAILED = 1e9  # what stands for the time of a trial that failed
AUTOTVM_LOG_VERSION = 0.2


def measure_str_key(inp: MeasureInput, include_config: bool = True) -> str:
    """The same for the same configuration of the same task."""
    config = str(inp.config) if include_config else ""
    return "".join([str(inp.target), inp.task.name, str(inp.task.args), "{}", config])


def encode(inp: MeasureInput, result: MeasureResult, protocol: str = "json") -> str:
    """A trial as one line."""
    if protocol != "json":
        raise LabError("protocol", f"Invalid log protocol: {protocol!r}", legal=["json"])
    costs = list(result.costs) if result.error_no == 0 else [FAILED]
    return json.dumps(
        {
            "input": [str(inp.target), inp.task.name, [plain(a) for a in inp.task.args], {}],
            "config": inp.config.to_json_dict(),
            "result": [costs, int(result.error_no), result.all_cost, result.timestamp],
            "version": AUTOTVM_LOG_VERSION,
            "tvm_version": __version__,
        }
    )


def decode(row: str, protocol: str = "json") -> tuple[MeasureInput, MeasureResult] | None:
    """A line as a trial; of format 0.1 too. None: a line that is none."""
    if protocol != "json":
        raise LabError("protocol", f"Invalid log protocol: {protocol!r}", legal=["json"])
    data = json.loads(row)
    if "v" in data:  # release 0.6
        target, name, args, _, _, config = data["i"]
        config = {"index": config["i"], "code_hash": config.get("c"), "entity": config.get("e", [])}
        result = data["r"]
    elif "input" in data:
        (target, name, args, *_), config, result = data["input"], data["config"], data["result"]
    else:
        return None
    task = Task(name, args, _target(target))
    costs, error, all_cost, at = result
    return MeasureInput(task.target, task, Config.from_json_dict(config)), MeasureResult(costs, error, all_cost, at)


def _target(text: str) -> Any:
    """The target of a log; of one with options that mean nothing here, its name."""
    try:
        return Target(text)
    except LabError:
        return Target(text.split()[0])


def load_from_buffer(file: Iterable[str]) -> Iterator[tuple[MeasureInput, MeasureResult]]:
    """The trials of an open log."""
    for row in file:
        if row.strip() and not row.startswith("#"):
            found = decode(row)
            if found is not None:
                yield found


def load_from_file(filepath: str | os.PathLike[str]) -> Iterator[tuple[MeasureInput, MeasureResult]]:
    """The trials of a log."""
    with open(filepath, encoding="utf-8") as file:
        yield from load_from_buffer(file)


def pick_best(in_file: Any, out_file: Any) -> None:
    """The fastest trial of each target and workload, as a new log."""
    rows = load_from_buffer(in_file) if hasattr(in_file, "read") else load_from_file(in_file)
    best: dict[Any, tuple[MeasureInput, MeasureResult]] = {}
    for inp, result in rows:
        key = (str(inp.target), inp.task.workload)
        if result.error_no == 0 and (key not in best or mean(result) < mean(best[key][1])):
            best[key] = inp, result
    text = "".join(f"{encode(inp, result)}\n" for inp, result in best.values())
    if hasattr(out_file, "write"):
        out_file.write(text)
        return
    with open(out_file, "w", encoding="utf-8") as file:
        file.write(text)


def split_workload(in_file: str) -> None:
    """A log into one for each workload: name.log.000, name.log.001, ..."""
    found: dict[Any, list[str]] = {}
    for inp, result in load_from_file(in_file):
        found.setdefault(inp.task.workload, []).append(encode(inp, result))
    for k, rows in enumerate(found.values()):
        with open(f"{in_file}.{k:03d}", "w", encoding="utf-8") as file:
            file.writelines(f"{row}\n" for row in rows)


def mean(result: MeasureResult) -> float:
    return sum(map(float, result.costs)) / len(result.costs)


def main() -> None:
    parser = argparse.ArgumentParser(description="Logs of tuning: read, pick the best, split by workload.")
    parser.add_argument("--mode", choices=["read", "pick", "split"], default="read")
    parser.add_argument("--i", required=True, help="the log")
    parser.add_argument("--o", help="where to write")
    parser.add_argument("--begin", type=int, default=0)
    parser.add_argument("--end", type=int, default=5)
    asked = parser.parse_args()
    if asked.mode == "pick":
        pick_best(asked.i, asked.o or f"{asked.i}.best")
    elif asked.mode == "split":
        split_workload(asked.i)
    else:
        for k, (inp, result) in enumerate(load_from_file(asked.i)):
            if asked.begin <= k < asked.end:
                print(inp.target, inp.task, inp.config, result, sep="\n")


if __name__ == "__main__":
    main()
