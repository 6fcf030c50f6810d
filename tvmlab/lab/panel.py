"""What the JupyterLab extension asks the kernel, over the comm `tvmlab.labs`: which labs there are, and acts on them.

    extension -> kernel   {"seq", "kind": "list"}
                          {"seq", "kind": "act", "lab": id, "request": payload.Request}
                          {"seq", "kind": "complete", "text": code before the cursor}
                          {"seq", "kind": "snapshot"}
                          {"seq", "kind": "settings", "values": what a person has set, at first and when it changes}
    kernel -> extension   {"re": seq, ...} in answer, and {"labs": [...]} whenever something changes
"""

from __future__ import annotations

from typing import Any

from ..core.error import LabError
from . import complete, requests, settings
from .later import Later

TARGET = "tvmlab.labs"
_comms: list[Any] = []
_later = Later()


def listen() -> None:
    """Register the comm target with this kernel; without one, nothing."""
    manager = _manager()
    if manager is not None and TARGET not in getattr(manager, "targets", {}):
        manager.register_target(TARGET, _opened)


def _manager() -> Any:
    try:
        from IPython import get_ipython
    except ImportError:
        return None
    kernel = getattr(get_ipython(), "kernel", None)
    return getattr(kernel, "comm_manager", None)


def _opened(comm: Any, _message: Any) -> None:
    _comms.append(comm)
    comm.on_msg(lambda message: comm.send(answer(message["content"]["data"])))
    comm.on_close(lambda _: _comms.remove(comm) if comm in _comms else None)
    comm.send({"labs": labs()})


def changed() -> None:
    """Tell the panels, once for all that changes at a time."""
    if _comms:
        _later("labs", 0.05, _tell)


def _tell() -> None:
    found = labs()
    for comm in list(_comms):
        comm.send({"labs": found})


def labs() -> list[dict[str, Any]]:
    """One record per lab of this kernel, the oldest first."""
    from .app import LABS

    return [_record(lab) for lab in sorted(LABS.values(), key=lambda x: x.number)]


def _record(lab: Any) -> dict[str, Any]:
    head = lab.head()
    return {
        "id": lab.id, "name": lab.name, "title": head["title"], "step": lab.step, "steps": len(lab.document.entries),
        "badge": head["badge"], "time": head["time"], "runs": lab.runs.payload()["rows"][:20],
        "model_id": lab.widget.model_id if lab.shown else "",
    }  # fmt: skip


def answer(data: Any) -> dict[str, Any]:
    """The answer to a message, whatever it holds."""
    if not isinstance(data, dict):
        return {"re": -1, "error": "a message is a record"}
    try:
        return {"re": data.get("seq", -1), **_answer(data)}
    except LabError as e:
        return {"re": data.get("seq", -1), "error": e.message}


def _answer(data: dict[str, Any]) -> dict[str, Any]:
    from .app import LABS

    kind = data.get("kind")
    if kind == "list":
        return {"labs": labs()}
    if kind == "complete":
        return {"items": complete.complete(str(data.get("text", "")))}
    if kind == "settings":
        if settings.heard(data.get("values")):
            for lab in list(LABS.values()):
                lab.settle()
        return {}
    if kind == "snapshot":
        if settings.now().staticCompanion == "never":
            raise LabError("no-still-copy", "the setting staticCompanion is `never`: no still copies are written")
        found = list(LABS.values())
        for lab in found:
            lab.snapshot()
        return {"labs": labs(), "written": sum(lab.shown for lab in found)}
    acted = LABS.get(str(data.get("lab", "")))
    if acted is None:
        raise LabError("no-such-lab", f"this kernel has no lab {data.get('lab')!r}", legal=sorted(LABS))
    asked: Any = data.get("request")
    return {"reply": requests.answer(acted, asked)}


