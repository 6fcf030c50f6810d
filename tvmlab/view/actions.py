"""The actions list: everything that could be done to the selection, always in the same order, each with its verdict.

    actions(schedule, ["C.i"])        the list
    actions_iter(schedule, ["C.i"])   its items one by one, those that are used most first; `in_order` puts them right

Loops and stages are named by their ids. Nothing is hidden: what does not fit the selection says why.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from ..core.error import LabError
from ..core.node import REDUCE, IterVar
from ..face import asking, moves, recipes
from ..face.handle import Schedule
from ..face.moves import Chosen, Offer
from ..face.verdict import ILLEGAL, LEGAL, NO_EFFECT, OWES, SIGNS, UNKNOWN, Move, Verdict, judge
from ..schedule.guard import name as called
from ..schedule.state import State, is_input
from ..schedule.trace import Trace
from . import payload
from .acts import decode, decode_some, encode, plain
from .card import of_verdict
from .frame import frame
from .ids import axis_id, id_of, ids
from .params import params
from .payload import Act, Action, Actions, Sign
from .words import KEYS, OF_LOOPS, WORDS, about, label, short, why

ORDER = (*moves.ORDER, *recipes.names())
LIKELY = (
    "split", "vectorize", "parallel", "tile", "reorder", "unroll", "compute_at", "fuse", "cache_write", "cache_read",
    "compute_inline",
)  # fmt: skip
FIRST = (*LIKELY, *(n for n in ORDER if n not in LIKELY))
VARIANTS = {"compute_at": 16, "tensorize": 8, "rfactor": 3}  # of which so many are judged, to choose a good one


def actions(schedule: Schedule | Trace, selected: Sequence[str]) -> Actions:
    """The whole list for a selection."""
    trace = _trace(schedule)
    items = in_order(actions_iter(trace, selected))
    return {"ids": list(selected), "frame": frame(trace)["key"], "items": items}


def actions_iter(schedule: Schedule | Trace, selected: Sequence[str]) -> Iterator[Action]:
    """The items, those that are used most first; whoever has other things to do does them in between."""
    trace = _trace(schedule)
    chosen = selection(trace.state, selected)
    for name in FIRST:
        yield action(trace, chosen, name)


def in_order(items: Iterable[Action]) -> list[Action]:
    """As they are shown."""
    return sorted(items, key=lambda item: ORDER.index(item["name"]))


def _trace(schedule: Schedule | Trace) -> Trace:
    return schedule if isinstance(schedule, Trace) else schedule.trace


# ---------------------------------------------------------------- the selection


def selection(state: State, selected: Sequence[str]) -> Chosen | str:
    """What the ids mean; why nothing can be done to them. Ids that are not there any more are left out."""
    known = ids(state)
    found = [known[i] for i in dict.fromkeys(selected) if i in known]
    stages = [state.stages[i] for i, a in found if a is None]
    axes = [(i, a) for i, a in found if a is not None]
    homes = list(dict.fromkeys(i for i, _ in axes))
    if not found:
        return "choose a loop or a stage"
    if len(stages) > 1:
        return "choose one stage: " + ", ".join(s.name for s in stages) + " are selected"
    if len(homes) > 1:
        return "the loops are of different stages: " + ", ".join(state.stages[i].name for i in homes)
    if not stages:
        return Chosen(state, state.stages[homes[0]], tuple(a for _, a in axes))
    if len(axes) == 1 and homes[0] != stages[0].index:
        return Chosen(state, stages[0], place=axes[0][1])
    if axes and homes[0] != stages[0].index:
        return f"choose one loop to compute {stages[0].name} at"
    return Chosen(state, stages[0], tuple(a for _, a in axes))


# ---------------------------------------------------------------- one item


def action(trace: Trace, chosen: Chosen | str, name: str) -> Action:
    """The item of that name."""
    if isinstance(chosen, str):
        return _cannot(name, chosen)
    if name.startswith(recipes.PREFIX):
        return _recipe(trace, chosen, name)
    offer = next(moves.offers(chosen, [name]))
    if offer.why:
        return _cannot(name, offer.why)
    return _offered(trace, chosen, offer)


def _cannot(name: str, reason: str) -> Action:
    return _item(name, ILLEGAL, reason, word="not here")


def _offered(trace: Trace, chosen: Chosen, offer: Offer) -> Action:
    variants = offer.moves[: VARIANTS.get(offer.name, 1)]
    tried = [(m, _matched(judge(trace, m.primitive, m.args), offer.name)) for m in variants]
    move, verdict = best(tried)
    state = chosen.state
    signs = {_told(chosen, offer, m): sign(v) for m, v in tried} if len(tried) > 1 or offer.name in VARIANTS else {}
    return _item(
        offer.name,
        verdict.kind,
        why(verdict),
        act=act_of(move, state),
        params=params(move.primitive, move.args, state, signs),
        code=move.text,
        card=explained(trace, move, verdict),
        owes=[o.message for o in verdict.obligations],
    )


def _matched(verdict: Verdict, primitive: str) -> Verdict:
    """By code a loop may be tensorized before what is inside it is what the intrinsic computes; who points at it means
    the loop as it is."""
    if primitive != "tensorize" or verdict.kind != OWES:
        return verdict
    owed = verdict.obligations[0]
    return Verdict(ILLEGAL, owed.message, owed)


def best(tried: Sequence[tuple[Move, Verdict]]) -> tuple[Move, Verdict]:
    """The first that is legal, else that only owes, is unknown, without effect; else the first."""
    rank = {LEGAL: 0, OWES: 1, UNKNOWN: 2, NO_EFFECT: 3, ILLEGAL: 4}
    return min(tried, key=lambda pair: rank[pair[1].kind])


def _told(chosen: Chosen, offer: Offer, m: Move) -> Any:
    """What differs between the variants of an offer."""
    if offer.name == "compute_at":
        return m.args["scope"] if chosen.axis is None else m.args["stage"]
    return m.args["tensor_intrin"] if offer.name == "tensorize" else m.args["axis"]


def _recipe(trace: Trace, chosen: Chosen, name: str) -> Action:
    stage, state = chosen.stage, chosen.state
    if is_input(stage):
        return _cannot(name, f"{stage.name} is an input, nothing computes it")
    args: dict[str, Any] = {"stage": stage.index}
    sums = [a for a in chosen.axes if a.iter_type == REDUCE]
    if sums and name == PARTIAL:
        args["axis"] = sums[0]
    verdict = recipes.judge(trace, name, args)
    return _item(
        name,
        verdict.kind,
        why(verdict),
        act=encode(name, recipes.get(name).arguments(state, args), state),
        params=params(name, args, state),
        code=recipe_code(trace, name, args) if verdict.kind != ILLEGAL else "",
        card=of_verdict(verdict, label(name), [id_of(state, stage)]),
        owes=[o.message for o in verdict.obligations],
    )


PARTIAL = "recipe:partial-sums"


def recipe_code(trace: Trace, name: str, args: Mapping[str, Any]) -> str:
    """The calls that a recipe stands for, one a line."""
    made = recipes.traces(trace, name, args)
    before = set(trace.to_code().splitlines())
    return "\n".join(line for line in (made or [trace])[-1].to_code().splitlines() if line not in before)


def _item(
    name: str,
    kind: str,
    reason: str,
    *,
    word: str = "",
    act: Act | None = None,
    params: Sequence[payload.Param] = (),
    code: str = "",
    card: payload.Card | None = None,
    owes: Sequence[str] = (),
) -> Action:
    group: Literal["loop", "stage", "recipe"] = "loop" if name in OF_LOOPS else "stage"
    return {
        "name": name, "key": KEYS.get(name, ""), "label": label(name), "sign": _sign(kind),
        "word": word or WORDS[kind], "reason": reason, "owes": list(owes), "act": act, "params": list(params),
        "code": code, "card": card, "help": about(name),
        "group": "recipe" if name.startswith(recipes.PREFIX) else group,
    }  # fmt: skip


def sign(v: Verdict) -> Sign:
    return _sign(v.kind)


def _sign(kind: str) -> Sign:
    return SIGNS[kind]  # type: ignore[return-value]


def act_of(move: Move, state: State) -> Act:
    return encode(move.primitive, move.args, state)


# ---------------------------------------------------------------- why, and what instead


def explained(trace: Trace, move: Move, verdict: Verdict) -> payload.Card | None:
    """The card of a verdict, with up to three legal moves instead."""
    state = trace.state
    where = [axis_id(state, a) for v in move.args.values() for a in _axes(v) if axis_id(state, a)]
    instead = alternatives(trace, move) if verdict.kind in (ILLEGAL, UNKNOWN) else []
    return of_verdict(verdict, short(move), where, instead)


def _axes(value: Any) -> list[IterVar]:
    found = value if isinstance(value, (list, tuple)) else [value]
    return [a for a in found if isinstance(a, IterVar)]


def alternatives(trace: Trace, move: Move, most: int = 3) -> list[payload.Move]:
    """One click each; every one of them was tried."""
    state, axis = trace.state, move.args.get("var")
    stage = state.stages.get(move.args.get("stage", -1))
    found: list[payload.Move] = []
    if stage is not None and isinstance(axis, IterVar) and axis.iter_type == REDUCE and axis in stage.leaves:
        args = {"stage": stage.index, "axis": axis, "then": move.primitive}
        if move.primitive in ("vectorize", "parallel") and recipes.judge(trace, PARTIAL, args).kind in (LEGAL, OWES):
            whole = recipes.get(PARTIAL).arguments(state, args)
            text = f"rfactor({called(state, axis)}, {whole['parts']}) then {move.primitive}"
            found.append({"text": text, "act": encode(PARTIAL, whole, state)})
    near = asking.alternatives(trace, move.primitive, dict(move.args), most - len(found))
    return [*({"text": short(m), "act": act_of(m, state)} for m in near), *found]  # type: ignore[list-item]


# ---------------------------------------------------------------- one act


def verdict_of(schedule: Schedule | Trace, act: Mapping[str, Any]) -> tuple[str, dict[str, Any], Verdict]:
    """Decoded and judged: (primitive, arguments, verdict). What cannot be decoded is illegal, and says why."""
    trace = _trace(schedule)
    try:
        primitive, args = decode(act, trace.state)
    except (LabError, ValueError, TypeError) as e:
        error = e if isinstance(e, LabError) else None
        primitive = str(act.get("primitive", "")) if isinstance(act, Mapping) else ""
        return primitive, {}, Verdict(ILLEGAL, error.message if error else str(e), error)
    judged = recipes.judge if primitive.startswith(recipes.PREFIX) else judge
    return primitive, args, _matched(judged(trace, primitive, args), primitive)


def act_action(schedule: Schedule | Trace, act: Act) -> Action:
    """The item of the list that an act with changed values is: answers the request "verdict"."""
    trace = _trace(schedule)
    primitive, args, verdict = verdict_of(trace, act)
    if not args and not (isinstance(act, Mapping) and act.get("primitive") and "args" in act):
        return _other(None, primitive or "?", {}, verdict, trace)
    name = "vthread" if getattr(args.get("thread_ivar"), "thread_tag", "") == "vthread" else primitive
    if name not in ORDER:
        return _other(act, primitive, args, verdict, trace)
    move = Move(primitive, args, call_text(trace, primitive, args) if args and verdict.kind != ILLEGAL else "")
    explain = explained(trace, replace_text(move, name), verdict)
    shown = params(primitive, args, trace.state) if args else []
    owes = [o.message for o in verdict.obligations]
    return _item(name, verdict.kind, why(verdict), act=act, params=shown, code=move.text, card=explain, owes=owes)


def _other(act: Act | None, primitive: str, args: dict[str, Any], verdict: Verdict, trace: Trace) -> Action:
    """An act that no item of the list makes: a primitive for code, or none at all."""
    made = _item("split", verdict.kind, why(verdict), act=act, card=of_verdict(verdict, primitive))
    made.update({"name": primitive, "key": "", "label": primitive, "help": ""})
    made["code"] = call_text(trace, primitive, args) if args and verdict.kind != ILLEGAL else ""
    return made


def replace_text(move: Move, name: str) -> Move:
    return move if move.text else replace(move, text=label(name))


def call_text(trace: Trace, primitive: str, args: Mapping[str, Any]) -> str:
    """The step as it would be written after the code of the schedule."""
    from ..face.verdict import taken

    if primitive.startswith(recipes.PREFIX):
        return recipe_code(trace, primitive, args)
    return taken(trace, primitive, args).to_code().splitlines()[-1]


__all__ = [
    "FIRST", "LIKELY", "ORDER", "act_action", "act_of", "action", "actions", "actions_iter", "decode", "decode_some",
    "encode", "in_order", "params", "plain", "selection", "verdict_of",
]  # fmt: skip
