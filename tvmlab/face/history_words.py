"""A step in words, in the names a person gave: `split i by 32`, `vectorize ji`, `compute B at C.io`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..core.node import Expr, IterVar
from ..core.text import show
from ..expr.tensor import Operation, Tensor
from ..schedule import primitives
from ..schedule.guard import name
from ..schedule.layout import Layout
from ..schedule.state import State

MOST = 60  # letters of one argument

Args = Mapping[str, Any]


def label(primitive: str, args: Args, state: State) -> str:
    """What the step does, to be read before it is taken: `state` is the one it acts on."""
    say = _Say(state)
    form = FORMS.get(primitive)
    return _plain(primitive, args, say) if form is None else form(args, say)


class _Say:
    """Names of what arguments stand for."""

    def __init__(self, state: State) -> None:
        self.state = state

    def __call__(self, value: Any) -> str:
        text = self._text(value)
        return text if len(text) <= MOST else text[: MOST - 1] + "…"

    def _text(self, value: Any) -> str:
        if isinstance(value, IterVar):
            return name(self.state, value)
        if isinstance(value, (Tensor, Operation)):
            op = value.op if isinstance(value, Tensor) else value
            return self.state.stages[self.state.alias[op]].called if op in self.state.alias else op.name
        if isinstance(value, Expr):
            return show(value)
        if isinstance(value, (list, tuple)):
            return ", ".join(map(self._text, value))
        if isinstance(value, Layout):
            indices = ", ".join(v.name for v in value.variables)
            return f"[{indices}] -> [{', '.join(map(show, value.outputs))}]"
        return str(getattr(value, "name", value))

    def stage(self, number: Any) -> str:
        return self.state.stages[number].called


def _plain(primitive: str, args: Args, say: _Say) -> str:
    """A primitive without a form of its own: its name, its stage, its arguments."""
    stages = {p for p, kind in primitives.kinds(primitive) if kind == "StageIndex"}
    texts = [say.stage(v) if p in stages else say(v) for p, v in args.items() if v is not None]
    return " ".join([primitive.replace("_", " "), ", ".join(texts)]).strip()


def _split(args: Args, say: _Say) -> str:
    if args.get("factor") is not None:
        return f"split {say(args['parent'])} by {say(args['factor'])}"
    return f"split {say(args['parent'])} into {say(args.get('nparts'))} parts"


def _tile(args: Args, say: _Say) -> str:
    size = f"{say(args['x_factor'])} x {say(args['y_factor'])}"
    return f"tile {say(args['x_parent'])}, {say(args['y_parent'])} by {size}"


def _compute_at(args: Args, say: _Say) -> str:
    return f"compute {say.stage(args['stage'])} at {say.stage(args['parent'])}.{say(args['scope'])}"


def _fuse(args: Args, say: _Say) -> str:
    return f"fuse {say(args['axes'])}" if args.get("axes") else f"add a loop of one to {say.stage(args['stage'])}"


FORMS: Mapping[str, Callable[[Args, _Say], str]] = {
    "split": _split,
    "tile": _tile,
    "fuse": _fuse,
    "reorder": lambda args, say: f"reorder {say(args.get('axes', ()))}",
    "vectorize": lambda args, say: f"vectorize {say(args['var'])}",
    "unroll": lambda args, say: f"unroll {say(args['var'])}",
    "parallel": lambda args, say: f"parallel {say(args['var'])}",
    "bind": lambda args, say: f"bind {say(args['ivar'])} to {args['thread_ivar'].thread_tag}",
    "compute_at": _compute_at,
    "compute_inline": lambda args, say: f"inline {say.stage(args['stage'])}",
    "compute_root": lambda args, say: f"compute {say.stage(args['stage'])} whole",
    "cache_read": lambda args, say: f"cache read {say(args['tensor'])} in {args['scope']}",
    "cache_write": lambda args, say: f"cache write {say(args['tensor'])} in {args['scope']}",
    "rfactor": lambda args, say: f"rfactor {say(args['tensor'])} over {say(args['axis'])}",
    "set_scope": lambda args, say: f"keep {say.stage(args['stage'])} in {args['scope']}",
    "double_buffer": lambda args, say: f"double buffer {say.stage(args['stage'])}",
    "rolling_buffer": lambda args, say: f"rolling buffer {say.stage(args['stage'])}",
    "transform_layout": lambda args, say: f"layout of {say.stage(args['stage'])} {say(args['layout'])}",
}
