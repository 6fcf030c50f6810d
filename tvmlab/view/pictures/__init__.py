"""The lab's pictures: one file per kind, each with `LABEL`, `draw(subject) -> payload.Picture`, and its text twin.

The SVG is made here, by the engine that pip brings or by hand, so live, still and exported pictures are the same.
Colours are classes (see `svg.py`): a lab gives them its theme, anywhere else they are of middle lightness.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from ...analysis.machine import Machine
from ...core.error import MissingName
from ...schedule.trace import Trace
from ..payload import Choice, Picture

KINDS = ("graph", "relations", "metrics", "roofline", "parallel")  # the order of the tabs; a file registers each


@dataclass(frozen=True)
class Point:
    """A schedule on the roofline. `seconds`: measured, or None."""

    label: str
    trace: Trace
    seconds: float | None = None
    current: bool = False


@dataclass(frozen=True)
class Subject:
    """What a picture is of. `before`: the schedule before the last step, to show what that changed.

    `looked`: what a person chose to look at in this picture. `used(text, arch)`: what the compiler says of kernels, or
    why that is not known (yet).
    """

    trace: Trace
    machine: Machine
    before: Trace | None = None
    selection: tuple[str, ...] = ()
    points: tuple[Point, ...] = ()
    target: str = ""
    looked: Mapping[str, Any] = field(default_factory=dict)
    used: Callable[[str, str], Any] | None = None


def kinds() -> list[Choice]:
    return [{"value": k, "label": _module(k).LABEL} for k in KINDS]


def about(kind: str) -> dict[str, str]:
    """What it shows, in words, where not only the picture itself says that."""
    found = getattr(_module(kind), "ABOUT", "")
    return {"about": found} if found else {}


def picture(kind: str, subject: Subject) -> Picture:
    """The picture of this kind; an unknown one answers with those there are."""
    if kind not in KINDS:
        raise MissingName("no-such-picture", f"there is no picture {kind!r}", legal=list(KINDS))
    drawn: Picture = _module(kind).draw(subject)
    return drawn


def look(kind: str) -> dict[str, type]:
    """What can be chosen to look at in the pictures of this kind: its name, and of what kind the value is."""
    found: dict[str, type] = getattr(_module(kind), "LOOK", {}) if kind in KINDS else {}
    return found


def _module(kind: str) -> Any:
    return import_module(f"{__name__}.{kind}")
