"""What runs here, in a child of a tuner, for a candidate on a board: it is compiled and linked, then a session is asked
for, in which it is run, compared and timed.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ..core.error import BuildError
from ..face.trial import Ready, Report, checked, ready, timed
from ..runtime.array import array
from ..runtime.load import card_path
from ..runtime.rpc.client import opened
from ..runtime.rpc.protocol import RPCError
from ..runtime.rpc.tracked import TrackerSession
from ..target import cabi
from .measure import too_slow, wrong

Plain = Mapping[str, Any]
NAME = "candidate.so"
BYTES_A_SECOND = 1e6  # at least, of a network: a session may take so much longer
# the end of a session, or what a server refuses -> the outcome of a trial; all others are `lost`
OUTCOMES = {"timeout": "timeout", "crash": "crash", "memory": "memory", "disk": "memory", "run-failed": "crash"}

_linked: tuple[str, Ready, dict[str, bytes]] | None = None  # the candidate whose turn comes next


def linked(asked: Plain, cc: str, report: Report) -> float:
    """Make the library that is uploaded; the seconds that took."""
    global _linked
    _linked, start = None, time.perf_counter()
    it = ready(asked, report)
    folder = Path(tempfile.mkdtemp(prefix="tvmlab-"))
    try:
        path = folder / NAME
        made = path.with_suffix(".o") if cc else path
        it.module.export(made)
        if cc and (problem := cabi.link_shared(cc, made, path)):
            raise BuildError("link-failed", f"{cc} cannot link it: {problem}")
        files = {NAME: path.read_bytes(), card_path(NAME).name: card_path(made).read_bytes()}
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    _linked = asked["key"], it, files
    return time.perf_counter() - start


def aboard(asked: Plain, place: Plain, how: Plain, report: Report) -> dict[str, Any]:
    """Run, compare and time it on a board. `outcome`, and what belongs to that; `rule`: why no session, or its end."""
    assert _linked is not None and _linked[0] == asked["key"]
    _, it, files = _linked
    span = place["limit"] + sum(a.nbytes for a in it.arguments if isinstance(a, np.ndarray)) / BYTES_A_SECOND
    try:
        with _session(place, span) as remote:
            report({"state": "running"})
            return _run(asked, it, files, remote, how)
    except RPCError as e:
        return {**_failure(e, place), "rule": e.rule}


def _failure(e: RPCError, place: Plain) -> dict[str, Any]:
    if e.rule == "timeout":
        reason = f"it was still running after {place['limit']:g} s and was ended"
    else:
        reason = " ".join(e.message.split())
    killed = e.rule == "crash" and "SIGKILL" in e.message
    return {"outcome": "memory" if killed else OUTCOMES.get(e.rule, "lost"), "reason": reason}


def _session(place: Plain, span: float) -> Any:
    host, port, key, secret = (place[n] for n in ("host", "port", "key", "secret"))
    if place["lent"]:
        return TrackerSession(host, port, secret).request(key, place["priority"], span)
    return opened(host, port, key, span, secret)


def _run(asked: Plain, it: Ready, files: Mapping[str, bytes], remote: Any, how: Plain) -> dict[str, Any]:
    for name, data in files.items():
        remote.upload(data, name)
    f = remote.load_module(NAME)
    if it.chosen.threads and f.has_threads:
        f.set_num_threads(it.chosen.threads)
    there = [array(a, remote.cpu()) if isinstance(a, np.ndarray) else a for a in it.arguments]
    clock = f.clock(*there)
    first: list[float] = []

    def once() -> None:
        first.append(clock(1))
        for here, a in zip(it.arguments, there, strict=True):
            if any(here is it.values[t] for t in it.args.outputs):
                here[...] = a.numpy()

    found = checked(asked, replace(it, call=once))
    made = {"check": found["check"], "worker": remote.place, "machine": remote.machine}
    if found["check"] == "wrong":
        return {**made, "outcome": "wrong", "reason": wrong(found)}
    reason = "" if found["check"] == "ok" or not asked["options"]["check"] else found["worst"]
    made |= {"outcome": "ok", "reason": reason}
    if how["best"] is not None and first[0] > how["slower"] * how["best"]:
        return {**made, "times": first, "alone": False, "reason": too_slow(first[0], how["best"])}
    chosen = it.chosen
    times, number = timed(
        clock, chosen.repeats, 1e-3 * chosen.min_ms, chosen.limit / 2, enough=chosen.enough, agree=how["agree"],
        before=f.flush if how["flush"] else None,
    )  # fmt: skip
    return {**made, "times": times, "number": number}
