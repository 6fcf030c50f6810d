"""A point of a space as a schedule that may be compiled, or why it may not be: found out without compiling."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..core.error import LabError
from ..face.api import as_target, for_target, leaving_out, readable
from ..face.trial import fingerprint
from ..lowering.config import DEFAULT
from ..schedule.trace import Trace


@dataclass(frozen=True)
class Candidate:
    """`index`, `config`: of the space. `args`: of the function, in order. `key`: the same for the same steps."""

    index: int
    config: Any
    trace: Trace
    args: Sequence[Any]
    key: str


@dataclass(frozen=True)
class Refused:
    """A point that gives no schedule, or one that is not legal. `rule`: short and stable; `text`: one sentence."""

    index: int
    config: Any
    rule: str
    text: str


def candidate(task: Any, index: int, target: Any = None) -> Candidate | Refused:
    """The schedule at a point, checked: what is still owed, accesses, and the limits of a GPU.

    `target`: what it has to be legal for; None is the task's.
    """
    config = None
    try:
        config = task.space.get(index)
        schedule, args = task.instantiate(config)
        _legal(schedule, args, as_target(target or task.target))
        return Candidate(index, config, schedule.trace, list(args), fingerprint(schedule.trace))
    except LabError as e:
        return Refused(index, config, e.rule, sentence(e.message, e.where))
    except Exception as e:  # a template is a person's code
        return Refused(index, config, type(e).__name__, f"{type(e).__name__}: {e}".rstrip(": "))


def _legal(schedule: Any, args: Sequence[Any], target: Any) -> None:
    config = leaving_out(DEFAULT, target)
    program = readable(schedule, args, "main", config)
    if target.device_model:
        for_target(program, target, config)


def sentence(message: str, where: Sequence[str] = ()) -> str:
    """A message on one line, with the first of the places it names."""
    text = " ".join(str(message).split())
    return f"{text}: {' '.join(where[0].split())}" if where and where[0].strip() else text
