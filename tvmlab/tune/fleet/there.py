"""What runs in a worker of a fleet: a Measurer for each session, which measures in a killable child of the worker.

Jobs and answers are JSON. A job runs in the worker's own thread; `cancel` and `end` are called beside it.
"""

from __future__ import annotations

import base64
import json
import os
import socket
import threading
from collections import OrderedDict, deque
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from ...core.error import LabError
from ...face.options import cores
from ...runtime import host
from ...runtime.worker import Worker, usual_memory
from ..candidate import sentence
from ..measure import Measurer, Setup, preload
from ..records import PACKAGE, versions
from .turns import HostTurns

SESSIONS = 2  # whose processes are kept; a client that went away without a word left some behind
REMEMBERED = 1000  # jobs that were cancelled, perhaps before they began


@dataclass
class _Session:
    worker: Worker
    measurer: Measurer
    turns: HostTurns
    turn: threading.Lock = field(default_factory=threading.Lock)
    said: int = 0  # notes of the measurer that have been told
    job: str = ""  # that is being measured


_sessions: OrderedDict[str, _Session] = OrderedDict()
_running: dict[str, tuple[_Session, threading.Event]] = {}
_cancelled: deque[str] = deque(maxlen=REMEMBERED)
_idle: list[Worker] = []  # one with its imports done, for the next session
_guard = threading.Lock()


def about(text: str) -> str:
    """Who this worker is, and whether it can measure: `why` says why not. The job's probe is a candidate to try."""
    job = json.loads(text)
    found: dict[str, Any] = {
        "version": versions()[PACKAGE], "name": _name(), "machine": host.description(), "host": socket.gethostname(),
        "resources": _resources(), "why": "",
    }  # fmt: skip
    if found["version"] != job["version"]:
        return json.dumps({**found, "why": f"it has tvmlab {found['version']}, and this is {job['version']}"})
    try:
        setup = Setup(**job["setup"])
        setup.options()
    except LabError as e:
        return json.dumps({**found, "why": sentence(e.message, e.legal)})
    tried = json.loads(measure(text))["measured"]
    if tried["outcome"] != "ok":
        what = f"a small program for {setup.target} did not run there"
        found["why"] = f"{what} ({tried['outcome']}): {tried['reason']}"
    return json.dumps(found)


def measure(text: str) -> str:
    """Measure the candidate of a job: {"measured": a Measured, "notes": sentences that are new}."""
    job = json.loads(text)
    session, stop = _session(job["session"], Setup(**job["setup"])), threading.Event()
    with _guard:
        _running[job["id"]] = session, stop
        if job["id"] in _cancelled:
            stop.set()
    try:
        with session.turn:
            session.job = job["id"]
            return json.dumps(_measured(session, job, stop))
    finally:
        with _guard:
            _running.pop(job["id"], None)


def cancel(text: str) -> None:
    """End these jobs, or have them end as soon as they begin."""
    for name in json.loads(text):
        with _guard:
            _cancelled.append(name)
            found = _running.get(name)
        if found is not None:
            found[1].set()
            if found[0].job == name:
                found[0].measurer.cancel(found[1])


def end(text: str) -> None:
    """A session is over."""
    with _guard:
        session = _sessions.pop(json.loads(text), None)
    if session is not None:
        threading.Thread(target=_ended, args=(session.worker,), name="tvmlab session ends", daemon=True).start()


def _ended(worker: Worker) -> None:
    """The child of a session ends; the process that made it is kept, one of them."""
    worker.cancel()
    worker.renew()
    with _guard:
        old, _idle[:] = [*_idle], [worker]
    for w in old:
        w.close()


# ---------------------------------------------------------------- the parts


def _measured(session: _Session, job: dict[str, Any], stop: threading.Event) -> dict[str, Any]:
    threads, turns = session.measurer.setup.threads, session.turns
    turns.strict, turns.late = not threads or threads + job["beside"] - 1 > cores(), False
    asked = {**job["asked"], "packed": {k: base64.b64decode(v) for k, v in job["asked"]["packed"].items()}}
    m = session.measurer
    found = m.again_asked(asked, 0, stop) if job.get("again") else m.measure_asked(asked, job["best"], 0, stop)
    notes, session.said = session.measurer.notes[session.said :], len(session.measurer.notes)
    if turns.late:
        notes = [*notes, "another process kept this machine: times were taken beside it"]
    return {"measured": {**asdict(found), "alone": found.alone and not turns.late}, "notes": notes}


def _session(name: str, setup: Setup) -> _Session:
    with _guard:
        if name not in _sessions:
            _sessions[name] = _begun(setup)
        _sessions.move_to_end(name)
        old = [_sessions.popitem(last=False)[1] for _ in range(len(_sessions) - SESSIONS)]
        found = _sessions[name]
    for s in old:
        s.worker.close()
    return found


def _begun(setup: Setup) -> _Session:
    memory, imports = setup.memory or _memory() or usual_memory(), preload(setup)
    kept = [w for w in _idle if (w.memory, w.preload) == (memory, imports)]
    _idle[:] = [w for w in _idle if w not in kept]
    worker = kept[0] if kept else Worker(memory, imports)
    turns = HostTurns(setup.compile_limit + setup.run_limit)
    return _Session(worker, Measurer(replace(setup, jobs=1, memory=memory), turns, worker), turns)


def _worker() -> Any:
    """The worker of dask that this runs in; None outside of one."""
    try:
        from distributed import get_worker

        return get_worker()
    except (ImportError, ValueError):
        return None


def _name() -> str:
    worker = _worker()
    return str(os.getpid()) if worker is None else str(worker.name)


def _resources() -> list[str]:
    worker = _worker()
    return [] if worker is None else sorted(worker.state.total_resources)


def _memory() -> int:
    """What the worker was started with as its limit; 0 where it has none."""
    worker = _worker()
    return 0 if worker is None else int(worker.memory_manager.memory_limit or 0)
