"""`%%schedule`: a cell with its lab under it; with `--live`, the lab shows what is being typed.

    %load_ext tvmlab                    (or any Lab made before)

    %%schedule                          runs the cell as usual, finds its schedule, shows its lab under it
    %%schedule --live                   the same; and while the cell is edited, the lab shows the loops of the text
    %%schedule t                        the schedule that is called t

The schedule is the one named, else the value of the last line, else `s`, else the only one the cell made or changed.

Live, the front end sends the text over the comm `tvmlab.live` (opened by the front end, one for a notebook):

    front end -> kernel   {"kind": "live", "seq": 7, "cell": cell id, "text": the whole cell, its first line too}
                          {"kind": "stop", "seq": 8, "cell": cell id}      no longer edited: the lab shows what is
    kernel -> front end   {"re": 7, "cell": cell id, "lab": id of the lab under it or "", "name": "s",
                           "state": "good" | "kept" | "none",
                           "frame": payload.Frame or null, "diff": payload.DiffLine[],
                           "error": null | {"text", "line", "column", "end"}, "said": a sentence}

`cell`: the id of the cell in the notebook (nbformat 4.5), which JupyterLab also sends as `cellId` in the metadata of
the request to run it. `state`: `good`, the frame is that of the text; `kept`, the text has an error and the frame is
the last good one (or, when the text ran into an error, that of the lines before it); `none`, there was nothing to show.
`line` counts from 1 at the first line of the cell, `column` from 0. `diff`: from what the lab shows to what is typed.
The widget under the cell is brought up to date by the kernel; the front end need not draw the frame itself. Send at
most one request at a time (debounced), the newest text when the answer is there. What the text may do while it is
only typed: see `tvmlab/lab/live.py`.
"""

from __future__ import annotations

import ast
import sys
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

from ..core.error import LabError
from ..face.document import Document
from ..face.handle import Schedule
from ..face.origins import cell_number
from ..schedule.trace import Trace
from ..view.diff import diff
from ..view.frame import frame
from .live import Live, chosen, evaluate, options, seen
from .screen import cell_id

TARGET = "tvmlab.live"
KEPT = 200  # cells of a notebook whose labs are remembered


@dataclass
class Cells:
    """The labs under cells, by the cell's id, and what was last good of the text of each."""

    labs: dict[str, Any] = field(default_factory=dict)
    good: dict[str, Trace] = field(default_factory=dict)

    def put(self, cell: str, lab: Any) -> None:
        self.labs.pop(cell, None)
        self.labs[cell] = lab
        self.good.pop(cell, None)
        for old in list(self.labs)[:-KEPT]:
            del self.labs[old]


CELLS = Cells()


# ---------------------------------------------------------------- running the cell


def run_cell(shell: Any, line: str, cell: str) -> None:
    """`%%schedule`: run the cell in the notebook's namespace, and show the lab of its schedule under it."""
    __tracebackhide__ = True
    given = options(line)
    before = seen(shell.user_ns)
    last = execute(shell, cell)
    name, schedule = chosen(given.name, last, before, shell.user_ns)
    if schedule is None:
        hint = "make one: s = te.create_schedule(C.op)"
        raise LabError("no-schedule", "this cell makes no schedule, and there is none called `s`", hint=hint)
    show(lab_of(cell_id() or name, schedule, name))


def execute(shell: Any, cell: str) -> Any:
    """Run the text as the cell that it is: its lines keep their numbers. Returns the value of the last expression,
    after showing it where it is not what the lab shows."""
    __tracebackhide__ = True
    text = "\n" + shell.transform_cell(cell)  # the magic stands in the first line
    file = shell.compile.cache(text, _number(shell), raw_code=f"%%schedule\n{cell}")
    tree = ast.parse(text, file)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, file, "exec"), shell.user_ns)  # noqa: S102
    if not isinstance(last, ast.Expr):
        return None
    value = eval(compile(ast.Expression(last.value), file, "eval"), shell.user_ns)  # noqa: S307
    if not isinstance(value, Schedule):
        sys.displayhook(value)
    return value


def _number(shell: Any) -> int:
    """The execution count of the cell that runs the magic: the counter itself is one further already."""
    at: FrameType | None = sys._getframe(1)
    while at is not None:
        found = cell_number(at.f_code.co_filename)
        if found is not None:
            return found
        at = at.f_back
    return int(shell.execution_count)


def lab_of(cell: str, schedule: Schedule, name: str) -> Any:
    """The lab under the cell: the one that is there already goes on with the schedule."""
    from .app import LABS, Lab

    lab = CELLS.labs.get(cell)
    if lab is None or lab.id not in LABS:  # the first time; or it was closed
        lab = Lab(schedule, name=name)
    elif lab.schedule is not schedule:
        said = "" if schedule.document is not None else lab.document.rerun(schedule)
        lab.open(Document.of(schedule), f"The cell was run again. {said}".strip())
    CELLS.put(cell, lab)
    return lab


def show(lab: Any) -> None:
    from IPython.display import display

    display(lab)


# ---------------------------------------------------------------- while it is typed


def answer(data: Any, namespace: dict[str, Any]) -> dict[str, Any]:
    """The answer to a message of the front end, whatever it holds."""
    if not isinstance(data, dict) or not isinstance(data.get("cell"), str):
        return {"re": -1, "cell": "", "lab": "", "error": {"text": "a message names a cell", **NOWHERE}}
    cell, seq = data["cell"], data.get("seq", -1)
    lab = CELLS.labs.get(cell)
    if data.get("kind") == "stop":
        CELLS.good.pop(cell, None)
        if lab is not None:
            lab.typed(None, "The schedule as it is: nothing was taken of what was typed.")
        return {"re": seq, "cell": cell, "lab": "" if lab is None else lab.id}
    found = evaluate(str(data.get("text", "")), namespace)
    return {"re": seq, "cell": cell, **told(cell, lab, found)}


NOWHERE = {"line": 0, "column": 0, "end": 0}


def told(cell: str, lab: Any, found: Live) -> dict[str, Any]:
    """What a text makes, as the front end gets it; the lab under the cell shows it."""
    trace = found.trace
    if trace is not None and found.problem is None:
        CELLS.good[cell] = trace
    elif trace is None:
        trace = CELLS.good.get(cell)
    state = "none" if trace is None else "good" if found.problem is None else "kept"
    shown = None if trace is None else frame(trace)
    changes = diff(frame(lab.schedule.trace)["loops"], shown["loops"]) if shown is not None and lab is not None else []
    error, said = None, "As typed; run the cell to take it."
    if found.problem is not None:
        p = found.problem
        error = {"text": p.text, "line": p.line, "column": p.column, "end": p.end}
        said = f"Line {p.line}: {p.text}" if p.line else p.text
    if lab is not None:
        lab.typed(trace, said, found.problem is None)
    return {
        "lab": "" if lab is None else lab.id, "name": found.name, "state": state, "frame": shown,
        "diff": changes, "error": error, "said": said,
    }  # fmt: skip


# ---------------------------------------------------------------- in IPython


def here() -> None:
    """Register with the IPython that runs us, if one does."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if shell is not None:
        register(shell)


def register(shell: Any) -> None:
    """`%%schedule` and the comm of live typing, for this IPython; again is no harm."""

    def schedule(line: str, cell: str) -> None:
        __tracebackhide__ = True
        run_cell(shell, line, cell)

    schedule.__doc__ = __doc__
    shell.register_magic_function(schedule, "cell", "schedule")
    manager = getattr(getattr(shell, "kernel", None), "comm_manager", None)
    if manager is not None and TARGET not in manager.targets:
        manager.register_target(TARGET, lambda comm, _message: _opened(shell, comm))


def _opened(shell: Any, comm: Any) -> None:
    comm.on_msg(lambda message: comm.send(answer(message["content"]["data"], shell.user_ns)))
