"""Steps as plain JSON, and back: what the browser sends, what a person writes with names instead of objects.

    {"primitive": "split", "args": {"stage": {"stage": "C"}, "parent": {"axis": "C.i"}, "factor": 16}}

    decode(act, state)   -> ("split", {"stage": 2, "parent": i, "factor": 16})      as a step records it
    encode("split", args, state) -> the act
    plain("split", ("C.i",), {"factor": 16}, state) -> the same arguments, from what a person wrote

Stages and axes go by the ids of `view/ids.py`; a person may also use the name given to an axis (`xo`) where there is
only one. A name that is not there is answered with those that are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..core.error import LabError, ScheduleTypeError, ScheduleValueError
from ..core.node import THREAD, Expr, IterVar
from ..core.text import show
from ..expr.intrin import get_intrin, registered_name
from ..expr.tensor import Operation, Tensor
from ..face import recipes
from ..face.handle import StageHandle, bind, signature, takes_stage
from ..face.moves import THREADS, thread
from ..schedule import primitives
from ..schedule.layout import Layout
from ..schedule.state import Stage, State
from .ids import axis_id, id_of, ids
from .layouts import layout_of, layout_text
from .payload import Act

Args = dict[str, Any]
AXES = "IterVar"
STAGES = "StageIndex"
BY_NAME = {  # what the annotation of a parameter does not say
    "thread_ivar": "thread", "threads": "thread", "readers": "reader", "layout": "layout", "tensor_intrin": "intrin",
    "tensor": "tensor", "outputs": "tensor", "inputs": "tensor",
}  # fmt: skip


def kind_of(primitive: str, parameter: str) -> str:
    """stage, axis, tensor, thread, reader, layout, intrin, or "" for a plain value."""
    if parameter in BY_NAME:
        return BY_NAME[parameter]
    said = str(signature(primitive).parameters[parameter].annotation)
    return {AXES: "axis", STAGES: "stage", "Tensor": "tensor"}.get(said, "")


# ---------------------------------------------------------------- from an act


def decode(act: Mapping[str, Any], state: State) -> tuple[str, Args]:
    """The primitive and its arguments, as `Trace + Step` takes them. What does not fit raises a LabError."""
    primitive, given = _parts(act)
    if primitive.startswith(recipes.PREFIX):
        return primitive, _recipe(primitive, given, state)
    return primitive, _complete(primitive, decode_some(primitive, given, state), state)


def decode_some(primitive: str, given: Mapping[str, Any], state: State) -> Args:
    """Some arguments of a step, as an editor of it gives them: each by itself, nothing filled in."""
    if primitive.startswith(recipes.PREFIX):
        return {k: _tagged(v, "", state) if isinstance(v, Mapping) else v for k, v in given.items()}
    known = primitives.parameters(primitive)
    unknown = next((k for k in given if k not in known), None)
    if unknown is not None:
        raise ScheduleTypeError("act-argument", f"{primitive} takes no `{unknown}`", legal=known)
    return {k: _value(primitive, k, v, state) for k, v in given.items()}


def _parts(act: Any) -> tuple[str, dict[str, Any]]:
    whole = isinstance(act, Mapping) and isinstance(act.get("primitive"), str) and isinstance(act.get("args"), Mapping)
    if not whole:
        raise ScheduleTypeError("act-shape", f"an act has a primitive and arguments, this has not: {str(act)[:80]}")
    return act["primitive"], dict(act["args"])


def _complete(primitive: str, args: Args, state: State) -> Args:
    """What one argument says of another (a loop belongs to a stage), then in the primitive's own order."""
    if primitive == "compute_at" and "parent" not in args and isinstance(args.get("scope"), IterVar):
        args["parent"] = _owner(state, args["scope"]).index
    if takes_stage(primitive) and "stage" not in args:
        axis = next((a for v in args.values() for a in _listed(v) if isinstance(a, IterVar)), None)
        if axis is not None and axis.iter_type != THREAD:
            args["stage"] = _owner(state, axis).index
    names = primitives.parameters(primitive)
    wanted = [k for k in names if k in args]
    missing = [n for n in _needed(primitive) if n not in args]
    if missing:
        raise ScheduleTypeError("act-argument", f"{primitive} needs `{missing[0]}`", legal=names)
    made = dict(primitives.prepare(primitive, state, {k: args[k] for k in wanted}))
    if isinstance(made.get("layout"), Layout):
        _same_rank(state.stages[made["stage"]], made["layout"])
    return made


def _needed(primitive: str) -> list[str]:
    """What must be given; any number of things may be none."""
    form = signature(primitive).parameters.values()
    return [p.name for p in form if p.default is p.empty and p.kind != p.VAR_POSITIONAL]


def _same_rank(stage: Stage, layout: Layout) -> None:
    have, rank = len(layout.variables), len(stage.op.axis)
    if have != rank:
        indices = "1 index" if have == 1 else f"{have} indices"
        message = f"the layout `{layout_text(layout)}` names {indices}, {stage.name} has {rank}"
        raise ScheduleValueError("layout-text", message, legal=[", ".join(a.name for a in stage.op.axis) + " -> [...]"])


def _listed(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, (list, tuple)) else (value,)


def _value(primitive: str, parameter: str, value: Any, state: State) -> Any:
    if isinstance(value, (list, tuple)):
        return tuple(_value(primitive, parameter, x, state) for x in value)
    kind = kind_of(primitive, parameter)
    if isinstance(value, Mapping):
        return _tagged(value, kind, state)
    if kind and isinstance(value, str):
        return NAMED[kind](state, value)
    return value


def _tagged(value: Mapping[str, Any], kind: str, state: State) -> Any:
    tag, name = next(iter(value.items()), ("", ""))
    if len(value) != 1 or tag not in NAMED or not isinstance(name, str):
        raise ScheduleTypeError(
            "act-value",
            f"{str(dict(value))[:80]} is no argument of a step",
            legal=['{"axis": "C.i"}', '{"stage": "C"}', '{"tensor": "C"}', "a number", "text"],
        )
    if kind == "reader" and tag in ("stage", "tensor"):
        return reader_named(state, name)
    return NAMED[tag](state, name)


# ---------------------------------------------------------------- by name


def axis_named(state: State, name: str) -> IterVar:
    """The axis of that id, or the only one that a person gave that name."""
    found = ids(state).get(name)
    if found is not None and found[1] is not None:
        return found[1]
    if found is not None:
        leaves = [id_of(state, found[0], a) for a in state.stages[found[0]].leaves]
        raise ScheduleValueError("no-such-axis", f"`{name}` is a stage, not a loop", legal=leaves)
    alike = [a for a, label in state.labels.items() if label == name and axis_id(state, a)]
    alike += [a for s in state.in_order for a in s.leaves if a.name == name and a not in alike]
    if len(alike) == 1:
        return alike[0]
    loops = [axis_id(state, a) for a in alike] or [id_of(state, s, a) for s in state.in_order for a in s.leaves]
    why = f"there are {len(alike)} loops called `{name}`" if alike else f"there is no loop `{name}`"
    raise ScheduleValueError("no-such-axis", why, legal=loops[:24])


def stage_named(state: State, name: str) -> Stage:
    """The stage of that id, or the only one whose tensor a person gave that name."""
    found = ids(state).get(name)
    if found is not None and found[1] is None:
        return state.stages[found[0]]
    labelled = [s for s in state.in_order if s.label == name]
    if found is None and len(labelled) == 1:
        return labelled[0]
    why = f"`{name}` is a loop, not a stage" if found is not None else f"there is no stage `{name}`"
    raise ScheduleValueError("no-such-stage", why, legal=[id_of(state, s) for s in state.in_order][:24])


def tensor_named(state: State, name: str) -> Tensor:
    """The tensor of a stage: `C`; of one with several outputs `C[1]`."""
    base, _, rest = name.rpartition("[")
    if base and rest.endswith("]") and rest[:-1].isdigit() and base in ids(state):
        outputs = stage_named(state, base).op.outputs
        if int(rest[:-1]) < len(outputs):
            return outputs[int(rest[:-1])]
    return stage_named(state, name).op.outputs[0]


def reader_named(state: State, name: str) -> Operation:
    return stage_named(state, name).op


def _thread_named(state: State, tag: str) -> IterVar:
    if not tag:
        raise ScheduleValueError("unknown-thread-tag", "threads are named by their tag, this has none", legal=THREADS)
    return thread(state, tag)


def _intrin_named(state: State, name: str) -> Any:
    """A registered intrinsic, or one that the schedule uses."""
    used = (m.intrin for s in state.in_order for m in s.marks.values() if m.intrin is not None)
    return next((x for x in used if x.name == name), None) or get_intrin(name)


def _owner(state: State, axis: IterVar) -> Stage:
    found = state.owner(axis)
    if found is None:
        raise ScheduleValueError("no-such-axis", f"`{axis.name}` is no axis of this schedule")
    return found


def _no_object(state: State, text: str) -> Any:
    message = f"`{text}` cannot be given from here: it is no plain value"
    raise LabError("act-object", message, hint="write this step as code")


NAMED: dict[str, Any] = {
    "axis": axis_named,
    "stage": lambda state, name: stage_named(state, name).index,
    "tensor": tensor_named,
    "reader": reader_named,
    "thread": _thread_named,
    "intrin": _intrin_named,
    "layout": lambda state, text: layout_of(text),
    "object": _no_object,
}


# ---------------------------------------------------------------- to an act


def encode(primitive: str, args: Mapping[str, Any], state: State) -> Act:
    """The step as an act. What is no plain value (a symbolic factor) is named, and `decode` says so."""
    if primitive.startswith(recipes.PREFIX):
        return {"primitive": primitive, "args": {k: _plain(v, state, k == "stage") for k, v in args.items()}}
    told = ("parent",) if primitive == "compute_at" else ()  # a loop says whose it is
    kept = {k: v for k, v in args.items() if k not in told}
    made = {k: _plain(v, state, kind_of(primitive, k) == "stage") for k, v in kept.items()}
    return {"primitive": primitive, "args": made}


def _plain(v: Any, state: State, is_stage: bool = False) -> Any:
    if is_stage and isinstance(v, int):
        return {"stage": id_of(state, v)}
    if v is None or isinstance(v, (bool, int, float, str)):
        return v
    if isinstance(v, IterVar):
        return {"thread": v.thread_tag} if v.iter_type == THREAD else {"axis": axis_id(state, v)}
    if isinstance(v, Tensor):
        stage = state.stage_of(v)
        name = id_of(state, stage)
        return {"tensor": name if len(stage.op.outputs) == 1 else f"{name}[{v.value_index}]"}
    if isinstance(v, Operation):
        return {"stage": id_of(state, state.stage_of(v))}
    if isinstance(v, (list, tuple)):
        return [_plain(x, state) for x in v]
    if isinstance(v, Layout):
        return layout_text(v)
    if hasattr(v, "op") and hasattr(v, "name"):
        return {"intrin": registered_name(v) or v.name}
    return {"object": show(v) if isinstance(v, Expr) else repr(v)[:80]}


# ---------------------------------------------------------------- from what a person wrote


def plain(primitive: str, args: Sequence[Any], kwargs: Mapping[str, Any], state: State) -> Args:
    """The arguments of a call by names: `("C.i",), {"factor": 16}`. The stage may be left out where a loop tells it."""
    if primitive.startswith(recipes.PREFIX):
        return _recipe(primitive, {**({"stage": args[0]} if args else {}), **kwargs}, state)
    values = [x.index if isinstance(x, StageHandle) else x for x in args]
    if primitive == "compute_at" and len(values) == 2 and _is_axis(values[1], state):
        values.insert(1, _stage_of(values[1], state))
    elif takes_stage(primitive) and "stage" not in kwargs and values:
        few = len(values) + len(kwargs) < len(_needed(primitive))
        if few or _is_axis(values[0], state):  # the stage was left out
            values.insert(0, _stage_of(values[0], state))
    named = {k: v.index if isinstance(v, StageHandle) else v for k, v in kwargs.items()}
    bound = bind(primitive, values, named) if not _only_names(primitive, values, named) else named
    return _complete(primitive, {k: _value(primitive, k, v, state) for k, v in bound.items()}, state)


def _only_names(primitive: str, values: Sequence[Any], named: Mapping[str, Any]) -> bool:
    """Everything by keyword, the stage left out: `_complete` finds it."""
    return not values and "stage" not in named and takes_stage(primitive)


def _is_axis(value: Any, state: State) -> bool:
    if isinstance(value, IterVar):
        return True
    if isinstance(value, (list, tuple)):
        return bool(value) and _is_axis(value[0], state)
    if not isinstance(value, str):
        return False
    found = ids(state).get(value)
    if found is not None:
        return found[1] is not None
    named = any(label == value for label in state.labels.values())
    return named or any(a.name == value for s in state.in_order for a in s.leaves)


def _stage_of(value: Any, state: State) -> int:
    if isinstance(value, (list, tuple)) and value:
        return _stage_of(value[0], state)
    if not isinstance(value, (str, IterVar)):
        raise ScheduleTypeError("not-an-axis", f"{str(value)[:80]} is no loop")
    return _owner(state, value if isinstance(value, IterVar) else axis_named(state, value)).index


def _recipe(primitive: str, given: Mapping[str, Any], state: State) -> Args:
    """A recipe is of a stage; its other arguments are plain, or loops."""
    recipe = recipes.get(primitive)
    args = {k: _tagged(v, "", state) if isinstance(v, Mapping) else v for k, v in given.items()}
    stage = args.get("stage")
    if isinstance(stage, (Tensor, Operation)):
        args["stage"] = state.stage_of(stage).index
    elif isinstance(stage, StageHandle):
        args["stage"] = stage.index
    elif isinstance(stage, str):
        args["stage"] = stage_named(state, stage).index
    for v in recipe.values:
        if v.kind == "axis" and isinstance(args.get(v.name), str):
            args[v.name] = axis_named(state, args[v.name])
    return recipe.arguments(state, args)
