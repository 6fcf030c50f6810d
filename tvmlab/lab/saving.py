"""Labs as files: read with care, since anything may be in them."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..analysis import machine
from ..core.error import LabError
from ..face.api import as_target
from ..face.document import Document

MOST = 200 << 20  # bytes
MIME = "application/vnd.tvmlab.schedule+json"


class FileError(LabError, ValueError):
    """A file that holds no lab."""


def read_json(path: Path) -> Any:
    """What the file holds; refused with the reason when it is no JSON."""
    if path.stat().st_size > MOST:
        raise FileError("lab-file", f"{path.name} has {path.stat().st_size >> 20} MiB: that is no lab")
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as e:
        raise FileError("lab-file", f"{path.name} holds no lab: {e}") from None


def from_notebook(found: Any, name: str) -> Any:
    """What the last lab of a notebook holds: its still copy, from the outputs of the cell that shows it."""
    cells = found.get("cells") if isinstance(found, dict) else None
    held = [
        output["data"][MIME]
        for cell in (cells if isinstance(cells, list) else [])
        for output in (cell.get("outputs", ()) if isinstance(cell, dict) else ())
        if isinstance(output, dict) and MIME in (output.get("data") or {})
    ]
    whole = [x for x in held if isinstance(x, dict) and "save" in x]
    if not whole:
        raise FileError("lab-file", f"{name} holds no lab", hint="save the notebook a moment after the last act")
    return whole[-1]


def to_data(lab: Any) -> dict[str, Any]:
    """What it takes to open the lab again."""
    return {
        "document": lab.document.to_json(), "target": lab.target, "machine": lab.machine.name, "name": lab.name,
        "workload": lab.workload, "kernel": lab.kernel, "runs": lab.runs.to_json(), "tune": lab.tune.to_json(),
    }  # fmt: skip


def from_data(kind: Any, data: Any, name: str) -> Any:
    """A Lab from what `Lab.save` wrote."""
    saved = data.get("save") if isinstance(data, dict) else None
    if not isinstance(saved, dict) or "document" not in saved:
        raise FileError("lab-file", f"{name} holds no lab", hint="lab.save(path) writes one")
    try:
        lab = _lab(kind, saved)
        lab.state()  # what makes no sense in an expression is met here, and not when somebody looks at it
    except LabError:
        raise
    except Exception as e:
        raise FileError("lab-file", f"{name} is damaged: {type(e).__name__}: {e}") from None
    return lab


def _lab(kind: Any, saved: dict[str, Any]) -> Any:
    document = Document.from_json(saved["document"])
    lab = kind(document.schedule, name=str(saved.get("name") or ""), **_known(saved))
    lab.workload = str(saved.get("workload") or "")
    lab.kernel = saved.get("kernel") if isinstance(saved.get("kernel"), dict) else None
    lab.runs.load(saved.get("runs"))
    lab.tune.load(saved.get("tune"))
    return lab


def _known(saved: dict[str, Any]) -> dict[str, Any]:
    """The target and the machine, where this version and this computer have them."""
    found = {}
    with suppress(LabError):
        found["target"] = str(as_target(saved.get("target") or "llvm"))
    with suppress(LabError):
        found["machine"] = machine.get(saved.get("machine") or None).name
    return found
