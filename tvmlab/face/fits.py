"""Does a target take this schedule? Its loops as the target's generator takes them, or why it refuses them.

    flat(trace, Target("opencl"))         the program
    refused(trace, Target("opencl"))      "threadIdx.x = 1024 threads per block; opencl has 256"; None: it takes it

Both are made once per state and target: the code pane, pictures and the header of a lab ask for the same.
"""

from __future__ import annotations

from copy import copy
from typing import NamedTuple
from weakref import WeakKeyDictionary

from ..core import verify
from ..core.deep import deep
from ..core.error import BuildError, LabError
from ..core.program import Program
from ..lowering import pipeline
from ..lowering.blocks import has_threads
from ..lowering.config import DEFAULT
from ..schedule.state import State
from ..schedule.trace import Trace
from ..target import Target, get, names
from .api import for_target, leaving_out, refuse_open
from .verdict import arguments


class Taken(NamedTuple):
    """`error`: why there is no program."""

    program: Program | None
    error: LabError | None


_TAKEN: WeakKeyDictionary[State, dict[Target, Taken]] = WeakKeyDictionary()
_REFUSED: WeakKeyDictionary[State, dict[Target, LabError | None]] = WeakKeyDictionary()


def flat(trace: Trace, target: Target) -> Program:
    """The program as that target's generator takes it. Refused like a build: an open obligation, an illegal program."""
    made = _TAKEN.setdefault(trace.state, {})
    if target not in made:
        made[target] = _taken(trace, target)
    program, error = made[target]
    if error is not None:
        raise _again(error)
    assert program is not None
    return program


@deep
def _taken(trace: Trace, target: Target) -> Taken:
    found: list[LabError] = []
    config = leaving_out(DEFAULT, target)
    try:
        program = pipeline.readable(trace.state, arguments(trace), config=config, problems=found)
        refuse_open(program, found)
        verify.check(program)
        return Taken(for_target(program, target, config), None)
    except LabError as e:
        return Taken(None, _again(e))


def _again(e: LabError) -> LabError:
    """The same error without its frames, which would keep the schedule alive that it is kept for."""
    made = copy(e)  # where dask is loaded, a copy has the frames too
    made.__traceback__ = made.__context__ = made.__cause__ = None
    return made


def refused(trace: Trace, target: Target) -> LabError | None:
    """Why a build for the target would fail, as far as that is known without a compiler."""
    made = _REFUSED.setdefault(trace.state, {})
    if target not in made:
        made[target] = _refused(trace, target)
    return made[target]


@deep
def _refused(trace: Trace, target: Target) -> LabError | None:
    try:
        program = flat(trace, target)
        if has_threads(program.body) and not target.kind.threads:
            return without_threads(target)
        target.kind.source(program, target)  # a printer refuses what its language has no words for
    except LabError as e:
        return _again(e)
    except Exception as e:  # as in the code pane: whatever stands in the way is shown
        return BuildError("not-built", f"{type(e).__name__}: {e}")
    return None


def without_threads(target: Target) -> LabError:
    """A schedule that is bound to threads, and a target that has none."""
    return BuildError(
        "thread-loop", f"this schedule is bound to threads of a GPU, and {target.name} has none",
        legal=[f"target {name}" for name in names() if get(name).threads and get(name).runs],
    )  # fmt: skip
