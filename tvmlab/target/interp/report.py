"""What the interpreter reports: faults, as errors that name the place, and counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...core.error import LabError
from ...core.node import Stmt
from ...core.text import Printer


class InterpError(LabError):
    """A program did something that no correct program does. `tensor`, `index`, `loops` say where, as data."""

    def __init__(
        self,
        rule: str,
        message: str,
        where: Sequence[str] = (),
        legal: Sequence[str] = (),
        hint: str = "",
        *,
        tensor: str = "",
        index: Sequence[int] = (),
        loops: Mapping[str, int] | None = None,
    ) -> None:
        super().__init__(rule, message, where, legal, hint)
        self.tensor, self.index, self.loops = tensor, tuple(index), dict(loops or {})

    def to_json(self) -> dict[str, Any]:
        return {**super().to_json(), "tensor": self.tensor, "index": list(self.index), "loops": self.loops}


@dataclass
class Report:
    """What a run found.

    `faults`: those collected (a run that stops at the first one raises it instead).
    With `count=True`: `loads` and `stores` in elements per buffer (a masked access counts all its lanes), `flops`
    (arithmetic and mathematical functions on floats, per lane), `iterations` per loop variable.
    """

    faults: list[InterpError] = field(default_factory=list)
    loads: dict[str, int] = field(default_factory=dict)
    stores: dict[str, int] = field(default_factory=dict)
    iterations: dict[str, int] = field(default_factory=dict)
    flops: int = 0


@dataclass(frozen=True)
class Site:
    """A place in the program that can fault: its statement, and the names of the loops around it, outermost first."""

    stmt: Stmt | None
    loops: tuple[str, ...]
    origin: Any = None
    buffer: Any = None

    def where(self, values: Sequence[int]) -> list[str]:
        lines = [headline(self.stmt)] if self.stmt is not None else []
        if self.loops:
            lines.append("at " + ", ".join(f"{n} = {v}" for n, v in zip(self.loops, values)))
        return lines + origin_lines(self.origin)


def headline(s: Stmt) -> str:
    """The first line of the statement's text."""
    return next((text for _, text, _ in Printer().lines(s)), "pass")


def origin_lines(origin: Any) -> list[str]:
    if origin is None:
        return []
    step = getattr(origin, "step", None)
    stage = getattr(origin, "stage", "") or str(origin)
    return [f"in stage {stage}" + (f", after {step}" if step is not None else "")]


def element(name: str, index: Sequence[int]) -> str:
    """`A[4, 2]`"""
    return f"{name}[{', '.join(map(str, index)) or '()'}]"


def span(extent: int) -> str:
    """The legal indices of a dimension."""
    return f"0..{extent - 1}" if extent > 0 else "an empty range"
