"""An error, or a verdict, as a card: what was asked, why not, the evidence, and what can be done instead."""

from __future__ import annotations

from collections.abc import Sequence

from ..core.error import LabError
from ..face.verdict import ILLEGAL, OWES, UNKNOWN, Verdict
from .payload import Card, Move
from .words import because

MOST = 3  # moves offered on a card


def card(
    error: BaseException,
    title: str = "",
    where: Sequence[str] | None = None,
    clash: str = "",
    moves: Sequence[Move] = (),
) -> Card:
    """`where`: the ids of the loops concerned; `moves`: legal instead, each tried."""
    if not isinstance(error, LabError):
        return _card(title, f"{type(error).__name__}: {error}", where, clash, moves, code="error")
    text = "\n".join([error.message, *error.where])
    return _card(title, text, where, clash, moves, error.legal, error.hint, error.rule)


def of_verdict(v: Verdict, title: str, where: Sequence[str] = (), moves: Sequence[Move] = ()) -> Card | None:
    """None where there is nothing to explain."""
    if v.kind == ILLEGAL and v.error is not None:
        made = card(v.error, f"{title} is not legal", where, v.clash, moves)
        return {**made, "text": "\n".join([because(v.error), *v.error.where])}  # the title is what was asked
    if v.kind == ILLEGAL:
        return _card(f"{title} is not legal", v.reason, where, v.clash, moves, code="refused")
    if v.kind == UNKNOWN:
        code = v.error.rule if v.error is not None else "unknown"
        hint = "it can be applied if you know better; the check after a run then tells"
        return _card(f"{title}: could not decide", v.reason, where, "", moves, hint=hint, code=code)
    if v.kind == OWES:
        first = v.obligations[0]
        text = "\n".join(o.message for o in v.obligations)
        return _card(f"{title} needs another step", text, where, "", moves, first.legal, first.hint, first.rule)
    return None


def _card(
    title: str, text: str, where: Sequence[str] | None, clash: str, moves: Sequence[Move], legal: Sequence[str] = (),
    hint: str = "", code: str = "",
) -> Card:  # fmt: skip
    text, hint = text.replace("`", ""), hint.replace("`", "")  # of messages for a terminal
    return {
        "title": title, "text": text, "where": list(where or ()), "clash": clash, "moves": list(moves)[:MOST],
        "legal": list(legal), "hint": hint, "code": code,
    }  # fmt: skip
