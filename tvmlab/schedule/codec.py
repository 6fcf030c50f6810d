"""Traces as JSON, and replayed on other tensors.

A step's arguments refer to stages by number, to axes by identity (("stage", number, position) or ("step", number,
slot)), to tensors by stage and output. What else a step holds (thread axes, expressions, layouts, intrinsics by name)
is in one table of objects, so that what is one object stays one.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Sequence
from inspect import signature
from typing import Any

from ..core import serial
from ..core.error import ScheduleError
from ..core.node import IterVar
from ..expr.tensor import Operation, Tensor
from . import primitives
from .state import State
from .trace import Step, Trace

VERSION = 1


def to_json(trace: Trace) -> str:
    """The tensors and the steps, as text."""
    return json.dumps(_data(trace, serial.to_data))


def _data(trace: Trace, written: Callable[[Any], Any]) -> dict[str, Any]:
    objects: list[Any] = []
    steps = []
    for n, step in enumerate(trace):
        state = trace.prefix(n).state
        args = {k: _encode(v, state, objects) for k, v in step.args.items()}
        made: dict[str, Any] = {"primitive": step.primitive, "args": args}
        if step.names:
            made["names"] = list(step.names)
        if step.where:
            made["where"] = list(step.where)
        steps.append(made)
    table = written({"outputs": list(trace.outputs), "objects": objects})
    return {"version": VERSION, "table": table, "steps": steps}


def from_json(text: str, outputs: Sequence[Operation] | None = None) -> Trace:
    """A trace again; with `outputs`, its steps applied to these operations instead of the saved ones."""
    data = json.loads(text)
    if data.get("version") != VERSION:
        raise ScheduleError("trace-version", f"this trace is of version {data.get('version')}, readable is {VERSION}")
    table = serial.from_data(data["table"])
    trace = Trace(list(outputs) if outputs is not None else table["outputs"])
    for n, item in enumerate(data["steps"]):
        axes = {ref: a for a, ref in trace.state.refs.items()}
        args = {k: _decode(v, trace.state, axes, table["objects"], n) for k, v in item["args"].items()}
        where = tuple(item["where"]) if "where" in item else None
        trace = trace + Step(item["primitive"], args, where, tuple(item.get("names", ())))
        with warnings.catch_warnings():  # what there was to warn of, the person who took the step has read
            warnings.simplefilter("ignore")
            _ = trace.state  # a step that does not apply here is refused with its own error
    return trace


def replay(trace: Trace, outputs: Sequence[Operation]) -> Trace:
    """The same steps on other operations, of the same structure but perhaps other shapes."""
    return from_json(to_json(trace), outputs)


def same_steps(a: Trace, b: Trace) -> bool:
    """Equality up to renaming: the same steps with the same arguments on the same expressions, shared parts or not."""
    return bool(canonical(a) == canonical(b))


def canonical(trace: Trace) -> Any:
    """Plain data that is the same for traces that compute the same in the same steps."""
    data = json.loads(json.dumps(_data(trace, serial.canonical)))
    for step in data["steps"]:
        step.pop("names", None)
        step.pop("where", None)
        step["args"] = {k: v for k, v in step["args"].items() if v is not None or not _left_out(step["primitive"], k)}
    return data


def _left_out(primitive: str, parameter: str) -> bool:
    """Is None what the parameter is when nothing is given?"""
    found = signature(primitives.get(primitive)).parameters.get(parameter)
    return found is not None and found.default is None


def _encode(v: Any, state: State, objects: list[Any]) -> Any:
    if v is None or isinstance(v, (bool, int, float, str)):
        return v
    if isinstance(v, IterVar) and v in state.refs:
        return {"axis": list(state.refs[v])}
    if isinstance(v, Tensor):
        return {"tensor": [state.stage_of(v).index, v.value_index]}
    if isinstance(v, Operation):
        return {"operation": state.stage_of(v).index}
    if isinstance(v, (list, tuple)):
        return [_encode(x, state, objects) for x in v]
    at = next((k for k, x in enumerate(objects) if x is v), len(objects))
    if at == len(objects):
        objects.append(v)
    return {"object": at}


def _decode(v: Any, state: State, axes: dict[Any, IterVar], objects: list[Any], n: int) -> Any:
    if isinstance(v, list):
        return tuple(_decode(x, state, axes, objects, n) for x in v)
    if not isinstance(v, dict):
        return v
    if "object" in v:
        return objects[v["object"]]
    if "axis" in v:
        axis = axes.get(tuple(v["axis"]))
        if axis is None:
            raise ScheduleError(
                "no-such-axis",
                f"step {n} names an axis that is not there: {v['axis']}",
                hint="the operations differ in structure from those the trace was made for",
            )
        return axis
    index, output = v["tensor"] if "tensor" in v else (v["operation"], None)
    stage = state.stages.get(index)
    if stage is None or (output is not None and output >= stage.op.num_outputs):
        raise ScheduleError("no-such-stage", f"step {n} names stage {index}, which is not there")
    return stage.op if output is None else stage.op.outputs[output]
