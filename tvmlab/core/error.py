"""Errors as records: the rule, what was asked, why not, where, what is legal instead, the next move."""

from __future__ import annotations

import traceback
from collections.abc import Iterator, Sequence
from typing import Any

_PACKAGES = (__name__.split(".", 1)[0], "IPython", "ipykernel")  # whose frames are no news to a person in a notebook


class TVMError(RuntimeError):
    """The classic stack's failed check. Everything tvmlab refuses, beyond plain ValueError and TypeError, is one."""


class LabError(TVMError):
    """What a person reads when something is refused.

    `rule`   a short stable name of the rule that was broken (`vectorize-reduction`), the key of tests and of help
    `message` one sentence: what was asked and why it cannot be
    `where`  lines that show the place (loops, expressions), the guilty one marked
    `legal`  what could be done instead, as text a person can use
    `hint`   the next move
    """

    title = "Error"

    def __init__(
        self,
        rule: str,
        message: str,
        where: Sequence[str] = (),
        legal: Sequence[str] = (),
        hint: str = "",
    ) -> None:
        self.rule, self.message, self.where, self.legal, self.hint = rule, message, tuple(where), tuple(legal), hint
        super().__init__(rule, message)

    def __str__(self) -> str:
        lines = [self.message]
        lines += [f"    {line}" for line in self.where]
        if self.legal:
            lines.append("  legal here:  " + ", ".join(self.legal))
        if self.hint:
            lines.append(f"  {self.hint}")
        return "\n".join(lines)

    def _render_traceback_(self) -> list[str]:
        """What IPython prints: the person's own lines that led here, then the message. (Plain Python prints it all.)"""
        cause = self.__cause__
        because = [] if cause is None else [f"  because of {type(cause).__name__}: {cause}"]
        return [*_own_lines(self), f"{type(self).__name__}: {self}", *because]

    def to_json(self) -> dict[str, Any]:
        """The same record as plain data, for a front end."""
        return {
            "type": type(self).__name__,
            "rule": self.rule,
            "message": self.message,
            "where": list(self.where),
            "legal": list(self.legal),
            "hint": self.hint,
        }


def _own_lines(error: BaseException) -> Iterator[str]:
    """The frames outside this package and the notebook's machinery, as `In a cell, line 3:` and the line."""
    for frame, number in traceback.walk_tb(error.__traceback__):
        if frame.f_globals.get("__name__", "").split(".", 1)[0] in _PACKAGES:
            continue
        file, function = frame.f_code.co_filename, frame.f_code.co_name
        place = "a cell" if "ipykernel_" in file or file.startswith("<ipython-input") else file
        inside = "" if function.startswith("<") else f", in {function}"
        (shown,) = traceback.StackSummary.extract([(frame, number)])
        if (shown.line or "").startswith("get_ipython().run_cell_magic("):
            continue  # IPython's own line for a cell with a magic: the cell's lines follow
        yield f"In {place}, line {number}{inside}:\n    {shown.line or '?'}"


class ScheduleError(LabError):
    """A schedule step, or a whole schedule, that cannot be."""


class ScheduleValueError(ScheduleError, ValueError):
    """A refusal for which the classic API raises ValueError."""


class ScheduleTypeError(ScheduleError, TypeError):
    """A refusal for which the classic API raises TypeError."""


class ExpressionError(LabError):
    """A tensor expression that cannot be."""


class ExpressionTypeError(ExpressionError, TypeError):
    """A refusal for which the classic API raises TypeError."""


class ShapeError(ExpressionError, ValueError):
    """Shapes given to an operator that do not go together."""


class BuildError(LabError):
    """A program that cannot be compiled for the target that was asked."""


class CallError(LabError, ValueError):
    """A compiled module called with arguments that do not fit."""


class VerifyError(LabError):
    """A loop program that breaks a rule of `core.verify`."""


class MissingImport(LabError, ImportError):
    """`from tvmlab import name`, of a name that does not exist here: says what there is instead."""


class MissingName(LabError, AttributeError):
    """A name that does not exist here: says what does."""
