"""An error as a card: shown in its place."""

from __future__ import annotations

from ..core.error import LabError
from .payload import Card


def card(error: BaseException, title: str = "", where: list[str] | None = None) -> Card:
    """What was asked, why not, what is legal instead. `where`: the ids of the loops concerned."""
    lab = isinstance(error, LabError)
    lines = list(error.where) if isinstance(error, LabError) else []
    message = error.message if isinstance(error, LabError) else f"{type(error).__name__}: {error}"
    return {
        "title": title, "text": "\n".join([message, *lines]), "where": where or [], "clash": "", "moves": [],
        "legal": list(error.legal) if isinstance(error, LabError) else [],
        "hint": error.hint if isinstance(error, LabError) else "",
        "code": error.rule if isinstance(error, LabError) else "error" if not lab else "",
    }  # fmt: skip
