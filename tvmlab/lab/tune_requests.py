"""What the Tune drawer asks: requests of the kind "tune", one function for each `what` of `payload_tune.Asked`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.error import LabError
from ..tune import insight
from ..tune.records import config_of
from ..view import preview
from ..view.payload_tune import Heat
from . import tune_settings, tune_state

Values = dict[str, Any]
ASKED: dict[str, Callable[[Any, Values], Any]] = {}


def answer(lab: Any, what: str, values: Values) -> Any:
    """What the reply carries; raised is what cannot be done."""
    if what not in ASKED:
        raise LabError("no-such-request", f"tuning does not know {what!r}", legal=list(ASKED))
    return ASKED[what](lab, _Values(values))


class _Values(Values):
    def __missing__(self, name: str) -> Any:
        raise LabError("request-field", f"tune: `{name}` is missing")


def asked(what: str) -> Callable[[Callable[[Any, Values], Any]], Callable[[Any, Values], Any]]:
    def enter(f: Callable[[Any, Values], Any]) -> Callable[[Any, Values], Any]:
        ASKED[what] = f
        return f

    return enter


@asked("state")
def state(lab: Any, values: Values) -> Any:
    tune_settings.warm()
    return tune_state.update(lab.tune, _whole(values, "n", -1), _whole(values, "since", 0))


def _whole(values: Values, name: str, usual: int) -> int:
    found = values.get(name, usual)
    if isinstance(found, bool) or not isinstance(found, (int, float)) or found != int(found):
        raise LabError("request-field", f"tune: `{name}` must be a whole number, not {found!r:.80}")
    return max(-1 if name == "n" else 0, int(found))


@asked("open")
def open_(lab: Any, values: Values) -> None:
    lab.tune.open(str(values["step"]), str(values["param"]))


@asked("close")
def close(lab: Any, values: Values) -> None:
    lab.tune.close(str(values["step"]), str(values["param"]))


@asked("source")
def source(lab: Any, values: Values) -> None:
    lab.tune.choose(values["source"])


@asked("allow")
def allow(lab: Any, values: Values) -> None:
    on = values["on"]
    if not isinstance(on, list) or any(isinstance(k, bool) or k != int(k) for k in on if isinstance(k, (int, float))):
        raise LabError("request-field", f"tune: `on` must be a list of places, not {on!r:.80}")
    lab.tune.allow(str(values["knob"]), [int(k) if isinstance(k, float) else k for k in on])


@asked("settings")
def settings(lab: Any, values: Values) -> None:
    lab.tune.set(**values)


@asked("start")
def start(lab: Any, values: Values) -> None:
    lab.tune.start()


@asked("pause")
def pause(lab: Any, values: Values) -> None:
    lab.tune.pause()


@asked("resume")
def resume(lab: Any, values: Values) -> None:
    lab.tune.resume()


@asked("stop")
def stop(lab: Any, values: Values) -> None:
    lab.tune.stop()


@asked("clear")
def clear(lab: Any, values: Values) -> None:
    lab.tune.clear()


@asked("trial")
def trial(lab: Any, values: Values) -> Any:
    """How the lab's schedule would be with the values of a trial."""
    lab.tune.look()
    record = lab.tune.record(values["index"])
    act: Any = {"primitive": "tune", "args": {"index": str(record.index)}}
    try:
        schedule, _ = lab.tune.task.instantiate(config_of(lab.tune.task, record))
    except LabError as e:
        return preview.refused(lab.schedule.trace, act, e, f"point {record.index}")
    said = f"{record.outcome}: {record.reason}" if not record.ok else ""
    return preview.beside(lab.schedule.trace, schedule.trace, act, lab.machine, said)


@asked("adopt")
def adopt(lab: Any, values: Values) -> None:
    lab.tune.look()
    lab.tune.adopt(values["index"])


@asked("heat")
def heat(lab: Any, values: Values) -> Heat:
    """The best times by the values of two knobs, with a table of them."""
    tuning = lab.tune
    tuning.look()
    knobs = {k["id"]: k for k in tune_state.knobs(tuning)}
    x, y = (_knob(knobs, values[name]) for name in "xy")
    found = insight.landscape(tuning.task.space, tuning.records, x["label"], y["label"])
    cells = found.seconds
    if len(cells) != len(y["values"]) or any(len(row) != len(x["values"]) for row in cells):
        raise LabError("too-many-values", f"{x['label']} and {y['label']} have more values than a picture shows")
    return {"x": x["id"], "y": y["id"], "cells": cells, "table": tune_state.table(x, y, cells)}


def _knob(knobs: dict[str, Any], id: Any) -> Any:
    if id not in knobs:
        raise LabError("missing-knob", f"there is no knob {id!r}", legal=list(knobs))
    return knobs[id]
