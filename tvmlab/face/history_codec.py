"""A step's arguments by identity, so that they mean the same after the steps before have changed.

Plain JSON: numbers and text as they are, {"axis": ref}, {"stage": ref}, {"tensor": [ref, output]}, {"operation": ref},
{"group": ref}, lists of these; anything else (thread axes, expressions, layouts, intrinsics) is {"object": number}, a
place in a table in which what is one object stays one. An expression over loops of the schedule says which:
{"object": 3, "loops": [[4, ref]]}, where object 4 is the loop's variable.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any, Protocol

from ..core import serial
from ..core.error import LabError, ScheduleError
from ..core.node import Expr, IterVar
from ..core.walk import substitute, variables
from ..expr.tensor import Operation, Tensor
from ..schedule import primitives
from .history import Point, Ref

GROUP = {"attach_group": "group", "detach_group": "group"}  # the argument that is a group's number


class Missing(Protocol):
    """The error that says what became of what an identity stands for."""

    def __call__(self, ref: Ref) -> LabError: ...


class Table:
    """Objects that steps hold, each once."""

    def __init__(self, objects: Sequence[Any] = ()) -> None:
        self.objects = list(objects)
        self._at = {id(x): n for n, x in enumerate(self.objects)}

    def number(self, thing: Any) -> int:
        if id(thing) not in self._at:
            self._at[id(thing)] = len(self.objects)
            self.objects.append(thing)  # which keeps it alive, and its id its own
        return self._at[id(thing)]


# ---------------------------------------------------------------- writing


def encode(primitive: str, args: Mapping[str, Any], point: Point, table: Table) -> dict[str, Any]:
    """The arguments of a step that is to be taken at `point`."""
    stages = {p for p, kind in primitives.kinds(primitive) if kind == "StageIndex"}
    made: dict[str, Any] = {}
    for parameter, value in args.items():
        if parameter in stages and value in point.stage_refs:
            made[parameter] = {"stage": point.stage_refs[value]}
        elif parameter == GROUP.get(primitive) and value in point.group_refs:
            made[parameter] = {"group": point.group_refs[value]}
        else:
            made[parameter] = _value(value, point, table)
    return made


def _value(v: Any, point: Point, table: Table) -> Any:
    if v is None or isinstance(v, (bool, int, float, str)):
        return v
    if isinstance(v, (list, tuple)):
        return [_value(x, point, table) for x in v]
    if isinstance(v, IterVar) and v in point.axis_refs:
        return {"axis": point.axis_refs[v]}
    if isinstance(v, Tensor) and v.op in point.trace.state.alias:
        return {"tensor": [point.stage_refs[point.trace.state.alias[v.op]], v.value_index]}
    if isinstance(v, Operation) and v in point.trace.state.alias:
        return {"operation": point.stage_refs[point.trace.state.alias[v]]}
    loops = _loops(v, point, table)
    return {"object": table.number(v), **({"loops": loops} if loops else {})}


def _loops(v: Any, point: Point, table: Table) -> list[list[Any]]:
    """The schedule's loops that an expression speaks of."""
    used = set(variables(v)) if isinstance(v, Expr) else set()
    return [[table.number(a.var), ref] for ref, a in point.axes.items() if a.var in used] if used else []


# ---------------------------------------------------------------- reading


def decode(args: Mapping[str, Any], point: Point, table: Table, missing: Missing) -> dict[str, Any]:
    """The arguments as they are at `point`; what is not there any more raises what `missing` says of it."""
    reader = _Reader(point, table, missing)
    return {parameter: reader.value(v) for parameter, v in args.items()}


class _Reader:
    def __init__(self, point: Point, table: Table, missing: Missing) -> None:
        self.point, self.table, self.missing = point, table, missing

    def value(self, v: Any) -> Any:
        if isinstance(v, list):
            return tuple(self.value(x) for x in v)
        if not isinstance(v, dict):
            return v
        if "object" in v:
            return self.object(v)
        kind, ref = next(iter(v.items()))  # type: str, Any
        if kind == "axis":
            return self.found(self.point.axes, ref)
        if kind == "stage":
            return self.found(self.point.stages, ref)
        if kind == "group":
            return self.found(self.point.groups, ref)
        if kind == "operation":
            return self.stage(ref).op
        if kind == "tensor":
            return self.tensor(*ref)
        raise ScheduleError("unknown-argument", f"this version of tvmlab does not know an argument like {v!r}")

    def found(self, where: Mapping[Ref, Any], ref: Ref) -> Any:
        if ref not in where:
            raise self.missing(ref)
        return where[ref]

    def stage(self, ref: Ref) -> Any:
        return self.point.trace.state.stages[self.found(self.point.stages, ref)]

    def tensor(self, ref: Ref, output: int) -> Tensor:
        op: Operation = self.stage(ref).op
        if not 0 <= output < op.num_outputs:
            raise ScheduleError("no-such-output", f"{op.name} has no output {output}")
        return op.outputs[output]

    def object(self, v: Mapping[str, Any]) -> Any:
        at = v["object"]
        if not isinstance(at, int) or not 0 <= at < len(self.table.objects):
            raise ScheduleError("damaged-step", f"object {at} of this step is not in the file")
        thing = self.table.objects[at]
        if isinstance(thing, Unread):
            raise ScheduleError("unknown-argument", f"this version of tvmlab does not know a `{thing.tag}`")
        if "loops" not in v:
            return thing
        now = {self.table.objects[n]: self.found(self.point.axes, ref).var for n, ref in v["loops"]}
        return substitute(thing, now)


# ---------------------------------------------------------------- objects of newer versions


class Unread:
    """An object of a class that this version does not have: kept, to be saved again as it came."""

    tag = ""

    def __init__(self, *parts: Any) -> None:
        self.parts = parts


@cache
def _kind(tag: str) -> type[Unread]:
    """Each unknown class is one of its own, saved under the name that it came with."""
    kind = type(tag, (Unread,), {"tag": tag})
    serial.also(kind, serial.Codec(tag, lambda x: x.parts, kind))
    return kind


def unread(tag: str, parts: list[Any], known: bool) -> Unread | None:
    """For `serial.from_data`: an object that cannot be made here, or that has such a one in it."""
    return None if known and not _any_unread(parts) else _kind(tag)(*parts)


def _any_unread(x: Any) -> bool:
    if isinstance(x, dict):
        return _any_unread(list(x.items()))
    return any(map(_any_unread, x)) if isinstance(x, (list, tuple)) else isinstance(x, Unread)


# ---------------------------------------------------------------- equality


def same(a: Any, b: Any, table: Table) -> bool:
    """Are these the same arguments, objects compared by what they are?"""
    return bool(written(a, table) == written(b, table))


def written(v: Any, table: Table, form: Callable[[Any, Sequence[Any]], Any] | None = None) -> Any:
    """Arguments with their objects as text; or in the form `form(object, variables of the loops it speaks of)`."""
    if isinstance(v, list):
        return [written(x, table, form) for x in v]
    if isinstance(v, Mapping) and "object" in v:
        thing, loops = table.objects[v["object"]], v.get("loops", ())
        made = _text(thing) if form is None else form(thing, [table.objects[n] for n, _ in loops])
        return [made, [ref for _, ref in loops]]
    return {k: written(x, table, form) for k, x in v.items()} if isinstance(v, Mapping) else v


@lru_cache(maxsize=256)
def _text(thing: Any) -> str:
    try:
        return serial.dumps(thing)
    except LabError:
        return repr(thing)  # what cannot be saved is only equal to itself
