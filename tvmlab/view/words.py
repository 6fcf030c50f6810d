"""The words of the actions list: what primitives and recipes are called, their keys, and one line about each."""

from __future__ import annotations

import inspect
import re
from functools import cache

from ..core.error import LabError
from ..face import recipes
from ..face.verdict import ILLEGAL, LEGAL, NO_EFFECT, OWES, UNKNOWN, Move, Verdict
from ..schedule import primitives

KEYS = {
    "split": "s", "tile": "t", "fuse": "f", "reorder": "r", "unroll": "u", "vectorize": "v", "parallel": "p",
    "bind": "b", "compute_at": "c",
}  # fmt: skip
LABELS = {
    "vthread": "virtual thread", "compute_at": "compute at", "compute_inline": "inline",
    "compute_root": "compute at the root", "cache_read": "cache read", "cache_write": "cache write",
    "storage_align": "align storage", "set_scope": "set scope", "double_buffer": "double buffer",
    "rolling_buffer": "rolling buffer", "transform_layout": "transform layout",
}  # fmt: skip
WORDS = {LEGAL: "legal", ILLEGAL: "not legal", UNKNOWN: "unknown", NO_EFFECT: "no effect", OWES: "legal"}
ASKED = re.compile(r"cannot (?:cache the result of|[a-z]+(?: buffer)?) (?:`([^`]+)`|(\S+))")  # what was asked, of whom
OF_LOOPS = frozenset(
    "split tile fuse reorder unroll vectorize parallel bind vthread tensorize pragma prefetch".split()
)


@cache
def label(name: str) -> str:
    return recipes.get(name).label if name.startswith(recipes.PREFIX) else LABELS.get(name, name)


@cache
def about(name: str) -> str:
    """The first line of what it says of itself."""
    if name.startswith(recipes.PREFIX):
        return recipes.get(name).about.partition("\n")[0]
    if name == "vthread":
        return "The loop's iterations become virtual threads, interleaved in one: bind to `vthread`."
    return (inspect.getdoc(primitives.get(name)) or "").partition("\n")[0]


def short(move: Move) -> str:
    """`vectorize(ji)`: the call without the schedule in front."""
    if move.text.startswith("s["):
        stage, _, call = move.text.removeprefix("s[").partition("].")
        return f"{call[:-2]}({stage})" if call.endswith("()") else call
    return move.text.removeprefix("s.")


def why(v: Verdict) -> str:
    """The reason in half a line."""
    if v.kind == ILLEGAL and v.error is not None:
        return because(v.error)
    if v.kind == OWES:
        return v.obligations[0].message
    if v.kind == LEGAL and v.warnings:
        return "; ".join(v.warnings)
    return v.reason


def because(error: LabError) -> str:
    """Why not: the sentence without the question it answers; where it is only that, what stands beside the loop."""
    head, colon, tail = error.message.partition(": ")
    marked = next((line for line in error.where if "<- " in line), "")
    if marked and not colon:
        loop, _, reason = marked.partition("<- ")
        name = loop.strip().removeprefix("for ").partition(" in ")[0]
        return f"{name} {_verb(reason)}"
    if not colon or not head.startswith("cannot "):
        return error.message
    asked = ASKED.match(head)
    return f"{asked[1] or asked[2]}{tail[2:]}" if asked and tail.startswith("it ") else tail


def _verb(reason: str) -> str:
    """ "carries a reduction" is a verb already; "a scan: ..." and "not a loop ..." want one."""
    return reason if reason.split(" ", 1)[0] in ("carries", "reads", "writes") else f"is {reason}"
