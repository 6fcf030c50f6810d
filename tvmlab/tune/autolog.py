"""AutoTVM's log lines, formats 0.1 (release 0.6) and 0.2, to and from the fields of a record."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

FAILED = 1e9  # what stands for the time of a trial that failed
# MeasureErrorNo -> (outcome, phase, reason)
ERRORS: dict[int, tuple[str, str, str]] = {
    0: ("ok", "", ""),
    1: ("instantiation", "", "the template refused it"),
    2: ("compile", "compile", "it did not compile for the host"),
    3: ("compile", "compile", "it did not compile for the device"),
    4: ("crash", "run", "it failed while it ran"),
    5: ("wrong", "run", "its results were wrong"),
    6: ("timeout", "compile", "compiling took too long"),
    7: ("timeout", "run", "running took too long"),
    8: ("lost", "", "an unknown error"),
}
NUMBERS = {"ok": 0, "instantiation": 1, "compile": 2, "crash": 4, "wrong": 5, "timeout": 7, "memory": 4, "lost": 8}


def decode(data: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a record; refused (ValueError) is what is no line of AutoTVM."""
    if data.get("v") == 0.1:
        target, name, args, _kwargs, _workload, config = data["i"]
        index, space, entity, result = config["i"], config.get("c"), config.get("e", []), data["r"]
    elif data.get("version") == 0.2:
        target, name, args = data["input"][:3]
        config = data["config"]
        index, space, entity = config["index"], config.get("code_hash"), config.get("entity", [])
        result = data["result"]
    else:
        raise ValueError(f"its format is not known: {data.get('version', data.get('v'))!r}")
    costs, error, _, at = result
    outcome, phase, reason = ERRORS.get(error, ERRORS[8])
    return {
        "task": name, "args": list(args), "target": target, "space": space or "", "index": index,
        "config": [list(e) for e in entity], "outcome": outcome, "phase": phase, "reason": reason,
        "times": [float(c) for c in costs] if error == 0 else [], "at": float(at), "machine": "",
        "versions": {"tvm": str(data["tvm_version"])} if "tvm_version" in data else {},
    }  # fmt: skip


def encode(fields: Mapping[str, Any], seconds: float | None, version: float = 0.2) -> str:
    """A line of AutoTVM. `fields`: of a record."""
    error = NUMBERS.get(fields["outcome"], 8)
    if error == 7 and fields["phase"] == "compile":
        error = 6
    costs = list(fields["times"]) if seconds is not None else [FAILED]
    result = [costs, error, sum(costs) if seconds is not None else 0.0, fields["at"]]
    index, space, entity = fields["index"], fields["space"] or None, fields["config"]
    target, name, args = fields["target"], fields["task"], fields["args"]
    if version == 0.1:
        config = {"i": index, "t": "direct", "c": space, "e": entity}
        return json.dumps({"i": [target, name, args, {}, [name, *args], config], "r": result, "v": 0.1})
    if version != 0.2:
        raise RuntimeError(f"AutoTVM has no log format {version!r}: there are 0.1 and 0.2")
    return json.dumps({
        "input": [target, name, args, {}], "config": {"index": index, "code_hash": space, "entity": entity},
        "result": result, "version": 0.2, "tvm_version": fields["versions"].get("tvm", "tvmlab"),
    })  # fmt: skip
