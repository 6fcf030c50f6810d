"""The end of a comparison: the verdict, and why it is so."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ..analysis.reasons import Found, reasons
from ..core.error import LabError
from ..core.program import Program
from ..face.api import lower
from ..face.handle import Schedule
from ..face.verdict import arguments
from ..runtime.worker import Outcome
from ..schedule.trace import Trace
from ..view import runs as view
from ..view.payload import Comparison, Reason

MOST = 0.6  # of the measured ratio, on a logarithmic scale: what the model is said to expect "all together"
DARK = "The model does not explain this difference."
NOTHING: tuple[list[Reason], bool, str] = ([], False, DARK)


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

    def found(self, result: Mapping[str, Any]) -> tuple[list[Reason], bool, str]:
        """The reasons, whether they explain the difference, and what the model makes of it, in words.

        The model takes its time: for a background thread.
        """
        if result["verdict"] not in ("faster", "slower"):
            return [], True, ""  # there is nothing to explain
        ratio, low, high = (result[k] for k in ("ratio", "low", "high"))
        try:
            made = reasons(self.programs[0], self.programs[1], self.machine, ratio, low, high)
        except (LabError, ValueError, TypeError, ArithmeticError):
            logging.getLogger(__name__).exception("no reasons could be found")
            return NOTHING
        measured = max(ratio, 1 / ratio)
        return [_plain(r, self.ids) for r in made.reasons], made.explained, model(made, measured)


def model(found: Found, measured: float) -> str:
    """How far the model goes: the sentence under the reasons."""
    if not found.reasons:
        return DARK
    expected = max(found.expected, 1.0)
    most = found.explained and math.log(expected) >= MOST * math.log(measured)
    start = "All together the model expects" if most else "The model explains only a part of it: it expects"
    return f"{start} {view.times(expected)}; measured was {view.times(measured)}."


def said(made: Comparison) -> tuple[str, Literal["info", "good", "bad"]]:
    """What is said of a comparison when it is over, and how it sounds."""
    kind: Literal["info", "bad"] = "bad" if made["state"] == "failed" else "info"
    return f"Compared: {made['text'].rstrip('.')}.", kind


def _plain(r: Any, ids: Mapping[str, str]) -> Reason:
    return {"text": r.text.replace("`", ""), "number": r.number, "show": ids.get(r.show, ""), "how": r.how}


def compared(
    made: Comparison, outcome: Outcome, names: Sequence[str], found: tuple[list[Reason], bool, str] | None
) -> None:
    """How a comparison ended, into its payload."""
    if outcome.kind == "cancelled":
        made["state"], made["text"] = "cancelled", "cancelled"
    elif not outcome.ok:
        card = view.failed(outcome, f"{names[1]} beside {names[0]}")
        made["state"], made["error"], made["text"] = "failed", card, card["text"]
    else:
        view.compared(made, outcome.value, names)
        made["reasons"], made["explained"], made["model"] = found or NOTHING
