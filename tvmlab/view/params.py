"""What can be set of a step: its numbers, loops, scopes and places, each with the choices there are.

Values are those of an act's arguments, so that a changed one is put straight into the act.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..core.node import REDUCE, IterVar
from ..expr.intrin import registered
from ..face import recipes
from ..face.moves import SCOPES, THREADS, factors, layouts, size
from ..schedule.guard import describe
from ..schedule.guard import name as called
from ..schedule.layout import Layout
from ..schedule.primitives.storage_align import dimensions_of
from ..schedule.state import Stage, State
from .acts import encode
from .ids import axis_id, id_of
from .layouts import layout_text
from .payload import Choice, Param, Sign

Signs = Mapping[Any, Sign]  # of a choice (an axis, a stage's number, an intrinsic): how it would be judged
PRAGMAS = ("auto_unroll_max_step", "unroll_explicit", "unroll", "vectorize")


def params(primitive: str, args: Mapping[str, Any], state: State, signs: Signs | None = None) -> list[Param]:
    """Of a step with these arguments on this state. `signs`: what is known of the choices."""
    if primitive.startswith(recipes.PREFIX):
        return _of_recipe(primitive, args, state)
    stage = state.stages.get(args.get("stage", -1))
    if stage is None and args.get("tensor") is not None:
        first = args["tensor"][0] if isinstance(args["tensor"], (list, tuple)) else args["tensor"]
        stage = state.stage_of(first)
    make = MAKERS.get(primitive)
    return [] if make is None or stage is None else make(state, stage, args, signs or {})


# ---------------------------------------------------------------- kinds of values


def _param(name: str, label: str, kind: Any, value: Any, choices: Sequence[Choice] = (), **more: int) -> Param:
    made: Param = {"name": name, "label": label, "kind": kind, "value": value, "choices": list(choices)}
    if "least" in more:
        made["least"] = more["least"]
    if "most" in more:
        made["most"] = more["most"]
    return made


def factor(state: State, name: str, axis: IterVar, value: Any) -> Param:
    """A number of iterations: those that divide the loop first."""
    n = size(state, axis)
    offered = factors(state, axis)
    if n is not None:
        offered = sorted(f for f in offered if n % f == 0) + sorted(f for f in offered if n % f)
    tail = {f: "" if n is None or n % f == 0 else ", with a tail" for f in offered}
    choices: list[Choice] = [{"value": f, "label": f"{f}{tail[f]}"} for f in offered]
    label = f"{'factor' if name == 'factor' else 'parts' if name == 'nparts' else 'tile'} of {called(state, axis)}"
    most = {} if n is None else {"most": max(n, 1)}
    plain = value if isinstance(value, int) else str(value)
    return _param(name, label, "factor", plain, choices, least=1, **most)


def _axis_choice(state: State, axis: IterVar, signs: Signs) -> Choice:
    made: Choice = {"value": {"axis": axis_id(state, axis)}, "label": describe(state, axis)}
    if axis in signs:
        made["sign"] = signs[axis]
    return made


def _axis(name: str, label: str, state: State, axes: Sequence[IterVar], value: Any, signs: Signs) -> Param:
    chosen = {"axis": axis_id(state, value)} if isinstance(value, IterVar) else value
    return _param(name, label, "choice", chosen, [_axis_choice(state, a, signs) for a in axes])


def _words(name: str, label: str, words: Sequence[str], value: Any) -> Param:
    listed = [*words, *([value] if isinstance(value, str) and value not in words else [])]
    return _param(name, label, "choice", value, [{"value": w, "label": w} for w in listed])


# ---------------------------------------------------------------- by primitive


def _split(state: State, stage: Stage, args: Mapping[str, Any], signs: Signs) -> list[Param]:
    name = "nparts" if args.get("nparts") is not None else "factor"
    return [factor(state, name, args["parent"], args.get(name))]


def _tile(state: State, stage: Stage, args: Mapping[str, Any], signs: Signs) -> list[Param]:
    return [factor(state, f"{d}_factor", args[f"{d}_parent"], args.get(f"{d}_factor")) for d in "xy"]


def _axes(state: State, stage: Stage, args: Mapping[str, Any], signs: Signs) -> list[Param]:
    value = [{"axis": axis_id(state, a)} for a in args.get("axes", ())]
    return [_param("axes", "loops", "axes", value, [_axis_choice(state, a, signs) for a in stage.leaves])]


def _bind(state: State, stage: Stage, args: Mapping[str, Any], signs: Signs) -> list[Param]:
    tag = getattr(args.get("thread_ivar"), "thread_tag", "")
    tags = [*THREADS, "vthread", *([tag] if tag and tag not in (*THREADS, "vthread") else [])]
    choices: list[Choice] = [{"value": {"thread": t}, "label": t} for t in tags]
    return [_param("thread_ivar", "thread", "choice", {"thread": tag}, choices)]


def _compute_at(state: State, stage: Stage, args: Mapping[str, Any], signs: Signs) -> list[Param]:
    """Of a stage: the place. Where the choices are stages (the loop was chosen), the stage."""
    if any(isinstance(k, int) for k in signs):
        made_here = [(id_of(state, i), state.stages[i].name, sign) for i, sign in signs.items()]
        choices: list[Choice] = [{"value": {"stage": k}, "label": n, "sign": sign} for k, n, sign in made_here]
        return [_param("stage", "stage", "choice", {"stage": id_of(state, stage)}, choices)]
    scope = args.get("scope")
    places = [a for s in state.consumers(stage.op) for a in s.leaves]
    places += [scope] if isinstance(scope, IterVar) and scope not in places else []
    made = _axis("scope", "at the loop", state, places, scope, signs)
    for choice, a in zip(made["choices"], places, strict=True):
        owner = state.owner(a)
        choice["label"] = f"{owner.name if owner else '?'}: {choice['label']}"
    return [made]


def _cache_read(state: State, stage: Stage, args: Mapping[str, Any], signs: Signs) -> list[Param]:
    made = [_words("scope", "memory", SCOPES, args.get("scope"))]
    found = state.consumers(stage.op)
    if len(found) > 1:
        choices: list[Choice] = [{"value": [{"stage": id_of(state, s)}], "label": f"only {s.name}"} for s in found]
        every = [{"stage": id_of(state, s)} for s in found]
        value = encode("cache_read", {"readers": tuple(args.get("readers", ()))}, state)["args"]["readers"]
        choices.insert(0, {"value": every, "label": "all that read it"})
        made.append(_param("readers", "read by", "choice", value, choices))
    return made


def _scope(state: State, stage: Stage, args: Mapping[str, Any], signs: Signs) -> list[Param]:
    return [_words("scope", "memory", SCOPES, args.get("scope"))]


def _rfactor(state: State, stage: Stage, args: Mapping[str, Any], signs: Signs) -> list[Param]:
    axes = [a for a in stage.leaves if a.iter_type == REDUCE]
    rank = len(stage.op.axis)
    made = [_axis("axis", "reduction", state, axes, args.get("axis"), signs)] if len(axes) > 1 else []
    position = args.get("factor_axis", 0)
    return [*made, _param("factor_axis", "position of the new axis", "int", position, least=-rank - 1, most=rank)]


def _tensorize(state: State, stage: Stage, args: Mapping[str, Any], signs: Signs) -> list[Param]:
    chosen = args.get("tensor_intrin")
    choices: list[Choice] = []
    for x in registered([t.dtype for t in stage.op.outputs], state.scopes_around(stage)):
        choice: Choice = {"value": {"intrin": x.name}, "label": x.name}
        if x in signs:
            choice["sign"] = signs[x]
        choices.append(choice)
    return [_param("tensor_intrin", "intrinsic", "choice", {"intrin": getattr(chosen, "name", "")}, choices)]


def _storage_align(state: State, stage: Stage, args: Mapping[str, Any], signs: Signs) -> list[Param]:
    return [
        _axis("axis", "dimension", state, dimensions_of(stage), args.get("axis"), {}),
        _param("factor", "factor", "int", args.get("factor", 32), least=1, most=1 << 20),
        _param("offset", "offset", "int", args.get("offset", 0), least=0, most=1 << 20),
    ]


def _pragma(state: State, stage: Stage, args: Mapping[str, Any], signs: Signs) -> list[Param]:
    made = [_words("pragma_type", "note", PRAGMAS, args.get("pragma_type"))]
    value = args.get("pragma_value")
    if isinstance(value, bool):
        return [*made, _param("pragma_value", "value", "bool", value)]
    if isinstance(value, int):
        return [*made, _param("pragma_value", "value", "int", value, least=0, most=1 << 20)]
    return made


def _prefetch(state: State, stage: Stage, args: Mapping[str, Any], signs: Signs) -> list[Param]:
    names = [encode("prefetch", {"tensor": t}, state)["args"]["tensor"] for t in stage.op.inputs]
    value = encode("prefetch", {"tensor": args.get("tensor")}, state)["args"]["tensor"]
    choices: list[Choice] = [{"value": n, "label": n["tensor"]} for n in names]
    offset = args.get("offset", 1)
    plain = offset if isinstance(offset, int) else str(offset)
    return [
        _param("tensor", "tensor", "choice", value, choices),
        _param("offset", "iterations ahead", "int", plain, least=0, most=1 << 20),
    ]


def _transform_layout(state: State, stage: Stage, args: Mapping[str, Any], signs: Signs) -> list[Param]:
    layout = args.get("layout")
    value = layout_text(layout) if isinstance(layout, Layout) else str(layout)
    names = [a.name for a in stage.op.axis]
    usual = [layout_text(Layout.of(f, names, stage.name)) for f in layouts(len(names))] if names else []
    choices: list[Choice] = [{"value": t, "label": t} for t in usual]
    return [_param("layout", "layout", "text", value, choices)]


def _of_recipe(name: str, args: Mapping[str, Any], state: State) -> list[Param]:
    stage = state.stages.get(args.get("stage", -1))
    made: list[Param] = []
    for v in recipes.get(name).values:
        value = args.get(v.name, v.value)
        if v.kind == "axis":
            axes = [a for a in stage.leaves if a.iter_type == REDUCE] if stage is not None else []
            chosen = value if value is not None else next(iter(axes), None)
            made.append(_axis(v.name, v.label, state, axes, chosen, {}))
        elif v.kind == "choice":
            made.append(_words(v.name, v.label, v.choices, value))
        else:
            powers: list[Choice] = [{"value": 1 << k, "label": str(1 << k)} for k in range(1, 8)]
            made.append(_param(v.name, v.label, "factor", value, powers, least=1, most=1 << 16))
    return made


MAKERS: dict[str, Any] = {
    "split": _split, "tile": _tile, "fuse": _axes, "reorder": _axes, "bind": _bind, "compute_at": _compute_at,
    "cache_read": _cache_read, "cache_write": _scope, "set_scope": _scope, "rfactor": _rfactor,
    "tensorize": _tensorize, "storage_align": _storage_align, "pragma": _pragma, "prefetch": _prefetch,
    "transform_layout": _transform_layout,
}  # fmt: skip
