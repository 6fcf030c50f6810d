"""Which kernel, block, warp, lane and access of a schedule is looked at: what a person chose, as far as it is there.

A choice is kept while the schedule changes. What is not there any more is not forgotten: the nearest is shown, and
that is said.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from ...analysis import warps
from ...core.threads import GRID
from ..payload import Choice, Param


class Choosing:
    """`params`: the fields for what there is to choose; `notes`: what was chosen and is not there."""

    def __init__(self, looked: Mapping[str, Any]) -> None:
        self.looked = looked
        self.params: list[Param] = []
        self.notes: list[str] = []

    def number(self, name: str, label: str, count: int) -> int:
        """One of 0 ... count - 1; the first, where nobody has chosen."""
        asked = self.looked.get(name, 0)
        asked = asked if isinstance(asked, int) and not isinstance(asked, bool) else 0
        shown = min(max(asked, 0), count - 1)
        if shown != asked:
            there = f"0 to {count - 1} are" if count > 1 else "only 0 is"
            self.notes.append(f"{label} {asked} is not there ({there}): {shown} is shown")
        if count > 1 or shown != asked:
            self.params.append({
                "name": name, "label": label, "kind": "int", "value": shown, "choices": [], "least": 0,
                "most": count - 1,
            })  # fmt: skip
        return shown

    def one(self, name: str, label: str, choices: Sequence[Choice], usual: Any) -> Any:
        """One of these; `usual`, where nobody has chosen one that is there."""
        asked = self.looked.get(name, usual)
        there = [c["value"] for c in choices]
        shown = asked if asked in there else usual
        if asked not in there:
            instead = next((c["label"] for c in choices if c["value"] == shown), shown)
            self.notes.append(f"{label} {asked} is not there: {instead} is shown")
        if len(there) > 1:
            self.params.append({"name": name, "label": label, "kind": "choice", "value": shown, "choices": [*choices]})
        return shown

    def block(self, extents: Mapping[str, int]) -> dict[str, int]:
        """The index of a block, by tag."""
        tags = [tag for tag in GRID if tag in extents]
        return {tag: self.number(f"b{tag[-1]}", f"block {tag[-1]}", extents[tag]) for tag in tags}

    def warp(self, extents: Mapping[str, int]) -> tuple[int, int]:
        """A warp of a block, and a lane of it."""
        threads = warps.threads(extents)
        number = self.number("warp", "warp", -(-threads // warps.WARP))
        return number, self.number("lane", "lane", min(warps.WARP, threads - number * warps.WARP))


def picks(**values: Any) -> str:
    """The id of what chooses these when it is clicked (see `payload.Picture`)."""
    return f"?{urlencode(values)}"
