"""What may follow the text before the cursor: stages and loops inside strings, primitives, factors that divide."""

from __future__ import annotations

import re
from typing import Any

from ..core.walk import constant
from ..face.handle import Schedule, takes_stage
from ..face.moves import divisors
from ..schedule import primitives
from ..view.ids import ids

_STRING = re.compile(r"""\b(?P<lab>\w+)\.(?:apply|select)\([^)]*(?P<quote>["'])(?P<begun>[\w.]*)$""")
_METHOD = re.compile(r"\b(?P<name>\w+)\[\s*(?P<stage>\w+)\s*\]\.(?P<begun>\w*)$")
_FACTOR = re.compile(r"""\.(?:apply\(\s*["']split["']\s*,\s*["'](?P<loop>[\w.]+)["']\s*,\s*factor=)(?P<begun>\d*)$""")


def complete(text: str, namespace: dict[str, Any] | None = None) -> list[dict[str, str]]:
    """`[{"text", "kind"}]`: what the piece of a word before the cursor may become."""
    names = _namespace() if namespace is None else namespace
    line = text.rsplit("\n", 1)[-1]
    if found := _STRING.search(line):
        return _begun(_inside(names.get(found["lab"]), line), found["begun"])
    if found := _FACTOR.search(line):
        return _begun(_factors(names, line, found["loop"]), found["begun"])
    if found := _METHOD.search(line):
        of_schedule = isinstance(names.get(found["name"]), Schedule)
        there = [(n, "primitive") for n in primitives.names() if takes_stage(n)] if of_schedule else []
        return _begun(there, found["begun"])
    return []


def _begun(items: list[tuple[str, str]], start: str) -> list[dict[str, str]]:
    return [{"text": text, "kind": kind} for text, kind in items if text.startswith(start)]


def _inside(lab: Any, line: str) -> list[tuple[str, str]]:
    """In the first string of `lab.apply(` stands a primitive, in the others a stage or a loop."""
    schedule = getattr(lab, "schedule", None)
    if not isinstance(schedule, Schedule):
        return []
    if ".apply(" in line and line.rsplit(".apply(", 1)[1].count(",") == 0:
        return [(n, "primitive") for n in primitives.names()]
    state = schedule.state
    there = {None, *(a for s in state.stages.values() for a in s.leaves)}
    return [(n, "loop" if axis is not None else "stage") for n, (_, axis) in ids(state).items() if axis in there]


def _factors(names: dict[str, Any], line: str, loop: str) -> list[tuple[str, str]]:
    lab = names.get(line.split(".apply(")[0].split()[-1])
    schedule = getattr(lab, "schedule", None)
    _, axis = ids(schedule.state).get(loop, (0, None)) if isinstance(schedule, Schedule) else (0, None)
    n = constant(axis.dom.extent) if axis is not None and axis.dom is not None else None
    return [(str(d), "factor") for d in divisors(n)] if n is not None else []


def _namespace() -> dict[str, Any]:
    try:
        from IPython import get_ipython
    except ImportError:
        return {}
    shell = get_ipython()
    return dict(shell.user_ns) if shell is not None else {}
