"""The end of a comparison: the verdict, and why it is so."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..analysis.reasons import reasons
from ..core.error import LabError
from ..core.program import Program
from ..face.api import lower
from ..face.handle import Schedule
from ..face.verdict import arguments
from ..runtime.worker import Outcome
from ..schedule.trace import Trace
from ..view import runs as view
from ..view.payload import Comparison, Reason


@dataclass(eq=False)
class Why:
    """What reasons are found from: both programs, the machine, the ids of the loops by their names."""

    programs: list[Program]
    machine: Any
    ids: Mapping[str, str]

    @staticmethod
    def of(traces: Sequence[Trace], machine: Any) -> Why:
        programs = [lower(Schedule(t), arguments(t), simple_mode=True) for t in traces]
        return Why(programs, machine, view.loop_ids(traces))

    def found(self, result: Mapping[str, Any]) -> tuple[list[Reason], bool]:
        """The reasons, and whether they explain the difference. The model takes its time: for a background thread."""
        if result["verdict"] not in ("faster", "slower"):
            return [], True  # there is nothing to explain
        ratio, low, high = (result[k] for k in ("ratio", "low", "high"))
        try:
            made, explained = reasons(self.programs[0], self.programs[1], self.machine, ratio, low, high)
        except (LabError, ValueError, TypeError, ArithmeticError):
            logging.getLogger(__name__).exception("no reasons could be found")
            return [], False
        return [_plain(r, self.ids) for r in made], explained


def _plain(r: Any, ids: Mapping[str, str]) -> Reason:
    return {"text": r.text, "number": r.number, "show": ids.get(r.show, ""), "how": r.how}


def compared(made: Comparison, outcome: Outcome, names: Sequence[str], found: tuple[list[Reason], bool] | None) -> None:
    """How a comparison ended, into its payload."""
    if outcome.kind == "cancelled":
        made["state"], made["text"] = "cancelled", "cancelled"
    elif not outcome.ok:
        card = view.failed(outcome, f"{names[1]} beside {names[0]}")
        made["state"], made["error"], made["text"] = "failed", card, card["text"]
    else:
        view.compared(made, outcome.value, names)
        made["reasons"], made["explained"] = found or ([], False)
