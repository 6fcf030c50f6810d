"""The head of a lab: what it is of, whether all is legal, the last time, the code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..analysis import machine
from ..core.error import BuildError
from ..core.extras import pip
from ..core.units import duration
from ..face.api import as_target
from ..runtime.gpu import cuda, devices
from ..runtime.measure import WIDE
from ..target import get, names
from ..target.base import TargetKind
from ..view import head, payload
from ..view.runs import times


def heading(lab: Any) -> payload.Head:
    """The trait `head`."""
    time, spread, times_naive = measured(lab.runs.payload()["rows"], lab.target)
    here = lab.document.entries[: lab.step]
    parked = [f"{e.label or e.primitive}: {e.reason}" for e in here if e.parked and not e.off]
    variable = called(lab.schedule)
    return {
        "schema": payload.SCHEMA, "id": lab.id, "name": lab.name, "variable": variable,
        **head.said(lab.schedule.trace, variable, parked, lab.workload, as_target(lab.target)),
        "target": lab.target, "targets": targets(lab.target), "machine": lab.machine.name, "machines": machines(),
        "time": time, "spread": spread, "times_naive": times_naive,
        "busy": "", "start": lab.starts, "looked": lab.news, "given": lab.document.given,
    }  # fmt: skip


def called(schedule: Any) -> str:
    """The person's name for the schedule in this notebook, else `s`."""
    try:
        from IPython import get_ipython
    except ImportError:
        return "s"
    shell = get_ipython()
    names = shell.user_ns.items() if shell is not None else ()
    return next((n for n, v in names if v is schedule and not n.startswith("_")), "s")


def measured(rows: Sequence[payload.Run], target: str) -> tuple[str, str, str]:
    """The last time of what is looked at on this target, its spread, and how often faster than before any step: in
    words."""
    right = (r for r in rows if r["state"] == "done" and r["target"] == target and r["check"] != "wrong")
    row = next((r for r in right if not r["stale"] and (r["seconds"] or r.get("untimed"))), None)
    if row is None or not row["seconds"]:
        return "not run" if row is None else "not timed", "", ""
    width = (row["spread"] or 0.0) / row["seconds"]
    part = f"{50 * width:.0f}" if width >= 0.2 else f"{50 * width:.2g}"
    spread = "" if row["spread"] is None else "unsteady," if width > WIDE else f"±{part} %"
    naive = row["step"] and row.get("naive")  # the start is not beside itself
    return duration(row["seconds"]), spread, as_naive(naive, row["seconds"]) if naive else ""


def as_naive(naive: float, seconds: float) -> str:
    """How much faster (or slower) than before any step."""
    return f"{times(seconds / naive)} slower than naive" if seconds > naive else f"{times(naive / seconds)} naive"


def targets(chosen: str = "") -> list[payload.Target]:
    """Every target that has a file, those that cannot run here with the reason; and the one that was chosen with
    options."""
    found = [_target(name) for name in names()]
    if chosen and chosen not in names():
        found.append({**_target(as_target(chosen).name), "name": chosen, "label": chosen})
    return found


def _target(name: str) -> payload.Target:
    try:
        kind = get(name)
    except (ImportError, BuildError) as e:
        return {"name": name, "label": name, "available": False, "why": str(e)}
    if not kind.runs:
        return {"name": name, "label": _label(name, kind), "available": False, "why": f"{name} is text: see the source"}
    if lacking := devices.lacking(name):
        return {"name": name, "label": _label(name, kind), "available": False, "why": f"{lacking}: see the source"}
    package, how = NEEDS.get(name, ("", ""))
    there = not package or devices.installed(package)
    return {"name": name, "label": _label(name, kind), "available": there, "why": "" if there else f"{package}: {how}"}


def untimed(name: str) -> str:
    """Why nothing can be timed on a target here, or ""."""
    if name == "cuda" and not cuda.available():
        return "it runs in a simulator here, whose times say nothing"
    found = _target(name)
    return "" if found["available"] else found["why"]


# What a target needs that may not be installed, and how to get it.
NEEDS = {"opencl": ("pyopencl", pip("opencl")), "cuda": ("numba.cuda", pip("cuda"))}
LABELS = {
    "llvm": "CPU, LLVM: fast to build", "numba": "CPU, Numba: readable Python",
    "interp": "Interpreter: slow, checks all", "opencl": "OpenCL: a GPU, or the CPU",
}  # fmt: skip


def _label(name: str, kind: TargetKind) -> str:
    if name == "cuda":
        return "CUDA, Numba" if cuda.available() else "CUDA, Numba: simulator, not timed"
    return LABELS.get(name) or kind.title or name


def machines() -> list[payload.MachineInfo]:
    return [_machine(machine.get(name)) for name in machine.names()]


def _machine(m: machine.Machine) -> payload.MachineInfo:
    return {"name": m.name, "label": m.label, "lines": m.lines}
