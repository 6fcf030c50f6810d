"""A lab's tuning as the drawer shows it: see `view/payload_tune.py`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from ..core.error import LabError
from ..core.units import duration
from ..face.trial import fingerprint
from ..tune import finish, insight
from ..tune.candidate import sentence
from ..tune.opened import OpenedTask
from ..tune.parameters import Parameter
from ..tune.records import Record
from ..view.card import card
from ..view.payload import Table
from ..view.payload_tune import Count, Knob, Openable, Retimed, Trial, TuneState, Update
from . import tune_settings
from .tune_words import meaning

EMPTY = "nothing-opened"  # no error: there is nothing yet


def update(tuning: Any, n: int, since: int) -> Update:
    """The state, where it is not that of `n`; the trials from `since` on."""
    now = state(tuning)
    first = since if n >= tuning.begun and since <= len(tuning.trials) else 0
    goes_on = now["state"] in ("running", "finishing") or now["workers"] and tuning.going  # time, and workers
    same = now["n"] == n and not goes_on
    return {"state": None if same else now, "trials": tuning.trials[first:], "since": first}


def state(tuning: Any) -> TuneState:
    with suppress(LabError):  # why there is nothing to tune is said in it
        tuning.look()
    said = tuning.insights
    if said is not None:
        said.look(tuning.records, not tuning.going)
    shares = {} if said is None else said.shares
    s, session = tuning.settings, tuning.session
    progress = session.progress if session is not None else None
    discarded = dict(session.discarded) if session is not None else {}
    return {
        "n": tuning.version, "source": tuning.source, "openable": opens(tuning), "knobs": knobs(tuning),
        "size": size(tuning), "searches": list(tune_settings.listed()), "search": s.search, "trials": s.trials,
        "limit": s.limit, "file": tuning.file, "fleet": tuning.where.text,
        "workers": tuning.where.workers(tuning.trials), "state": tuning.state,
        "done": progress.done if progress else 0,
        "elapsed": progress.seconds if progress else 0.0, "left": progress.left if progress else None,
        "best": progress.best if progress else None, "now": seconds_now(tuning), "count": len(tuning.trials),
        "failures": failures(tuning.records), "discarded": _counts(discarded), "notes": notes(tuning),
        "retimed": [] if session is None else retimed(session.retimed), "since": since(tuning),
        "ranks": [] if said is None else [{"n": n, "rho": rho} for n, rho in said.ranks],
        "shares": [{"knob": id, "share": shares[name]} for id, name in _ids(tuning).items() if name in shares],
        "adopted": adopted(tuning), "error": error(tuning),
    }  # fmt: skip


# ---------------------------------------------------------------- the space


def opens(tuning: Any) -> list[Openable]:
    """All parameters of the steps, opened or not."""
    return [_openable(p, tuning.opened.get(p.id)) for p in tuning.openable]


def _openable(p: Parameter, values: list[Any] | None) -> Openable:
    return {
        "step": p.step, "param": p.param, "label": p.name, "now": p.candidates[p.now].text if p.now >= 0 else "",
        "open": values is not None, "count": len(p.candidates if values is None else values), "why": p.why,
    }  # fmt: skip


def knobs(tuning: Any) -> list[Knob]:
    task = tuning.task
    if task is None:
        return []
    if isinstance(task, OpenedTask):
        now = {p.id: p for p in tuning.openable}
        return [_opened(p, now.get(p.id), tuning.on) for p in task.parameters]
    return [_generic(name, knob, tuning.on) for name, knob in task.space.space_map.items()]


def _opened(p: Parameter, now: Parameter | None, on: Mapping[str, list[int]]) -> Knob:
    values = [c.text for c in p.candidates]
    has = now.candidates[now.now].text if now is not None and now.now >= 0 else None
    numbers = all(type(c.value) is int for c in p.candidates)
    return {
        "id": p.id, "label": p.name, "values": values, "on": on.get(p.name, [*range(len(values))]),
        "current": values.index(has) if has in values else -1, "kind": "number" if numbers else "word",
        "help": "",  # its label is the parameter of a step that stands beside it
    }  # fmt: skip


def _generic(name: str, knob: Any, on: Mapping[str, list[int]]) -> Knob:
    values = [_text(e) for e in knob]
    numbers = all(v.lstrip("-").isdigit() for v in values)
    return {
        "id": name, "label": name, "values": values, "on": on.get(name, [*range(len(values))]), "current": -1,
        "kind": "number" if numbers else "word", "help": meaning(name, knob),
    }  # fmt: skip


def _text(entity: Any) -> str:
    """Of a split the lengths of the inner loops: the first follows."""
    return " x ".join(map(str, entity.value[1:])) if entity.kind == "sp" else str(entity) or "none"


def _ids(tuning: Any) -> dict[str, str]:
    """The names of the knobs by their ids."""
    if isinstance(tuning.task, OpenedTask):
        return {p.id: p.name for p in tuning.task.parameters}
    return {} if tuning.task is None else {name: name for name in tuning.task.space.names}


def size(tuning: Any) -> str:
    counting = tuning.count()
    return "" if counting is None else str(counting)


# ---------------------------------------------------------------- the trials


def trial(task: Any, r: Record, n: int, again: bool) -> Trial:
    return {
        "n": n, "index": str(r.index), "values": list(task.space.point2knob(r.index)), "outcome": r.outcome,
        "reason": r.reason, "seconds": r.seconds, "spread": r.spread if r.alone and len(r.times) > 1 else None,
        "gflops": r.score if r.flop and r.seconds else None, "predicted": r.predicted,
        "worker": str(getattr(r, "worker", "")), "again": again,
    }  # fmt: skip


def retimed(records: Sequence[Record]) -> list[Retimed]:
    """Those of the last time."""
    return [{"index": str(r.index), "seconds": r.seconds} for r in finish.last(records)]


def since(tuning: Any) -> int:
    """The number of the last trial before that."""
    at = max((r.at for r in tuning.session.retimed), default=0.0) if tuning.session is not None else 0.0
    return max((n for n, r in enumerate(list(tuning.records), 1) if r.at <= at), default=0)


def failures(records: list[Record]) -> list[Count]:
    return [{"text": f.text, "count": f.count} for f in insight.failures(records, insight.KINDS)]


def _counts(found: Mapping[str, int]) -> list[Count]:
    return [{"text": text, "count": n} for text, n in sorted(found.items(), key=lambda x: (-x[1], x[0]))]


def seconds_now(tuning: Any) -> float | None:
    """Of the schedule as it is, where it is a trial, or was run in the lab: measured as the best was, if it can be."""
    trace = tuning.lab.schedule.trace
    same = _shown(tuning)
    later = {} if tuning.session is None else {r.index: r for r in finish.last(tuning.session.retimed)}
    trial = same and later.get(same.index, same)
    if trial and trial.seconds is not None:
        return float(trial.seconds)
    return None if tuning.where.elsewhere else tuning.lab.runs.seconds_of(trace)


def adopted(tuning: Any) -> str:
    same = _shown(tuning)
    return "" if same is None else str(same.index)


def _shown(tuning: Any) -> Record | None:
    """The trial whose schedule the lab shows."""
    try:
        key = fingerprint(tuning.lab.schedule.trace)
    except LabError:  # it cannot be saved, so it was not tuned either
        return None
    return next((r for r in reversed(tuning.records) if r.trace == key), None)


def table(x: Knob, y: Knob, cells: list[list[float | None]]) -> Table:
    """The text twin of a heat map."""
    texts = [[duration(c) if c is not None else "" for c in row] for row in cells]
    rows = [[value, *row] for value, row in zip(y["values"], texts, strict=True)]
    title = f"the best time by {y['label']} (rows) and {x['label']} (columns)"
    return {"title": title, "head": ["", *x["values"]], "rows": rows}


# ---------------------------------------------------------------- what is to be said


def notes(tuning: Any) -> list[str]:
    found = [] if tuning.session is None else list(tuning.session.notes)
    found += [tuning.session.log.trouble] if tuning.session is not None and tuning.session.log else []
    if tuning.going:  # at the end they are those of the session
        found += tuning.where.notes
    if tuning.where.connecting:
        found.append(f"connecting to {tuning.where.text}: where there is no worker yet, it waits for one")
    if tuning.resting:
        found.append("it rests while a run of the lab is measured, and goes on by itself")
    if tuning.source == "generic":
        found.append("the space of the whole expression: the steps that the lab has are not in it")
    else:
        found += [*_earlier(tuning.lab.document), *_gone(tuning)]
    if tuning.settings.search == "random" and "annealing" not in tune_settings.available():
        why = next(s["why"] for s in tune_settings.listed() if s["name"] == "annealing")
        found.append(f"the search is random, not learned: {why}")
    if tuning.behind:
        found.append("the lab has changed since this session began: it goes on with the steps as they were")
    return [*tuning.notes, *(x for x in found if x)]


def _earlier(document: Any) -> list[str]:
    """Where the lab looks at an earlier step: what is tuned ends there."""
    at, count = document.cursor, len(document.entries)
    return [f"tuned is the schedule as of step {at} of {count}, which is looked at"] if at < count else []


def _gone(tuning: Any) -> list[str]:
    """Opened parameters of steps that are not in force."""
    here = {p.id for p in tuning.openable}
    known = {e.id for b in tuning.lab.document.branches for e in b.entries}
    gone = [id for id in tuning.opened if id not in here]
    deleted = [id for id in gone if id.partition(".")[0] not in known]
    away = [id for id in gone if id not in deleted]
    said = {"no longer tuned, since the step is gone": deleted, "not tuned now, since the step is not in force": away}
    return [f"{why}: {', '.join(tuning.names.get(id, id) for id in ids)}" for why, ids in said.items() if ids]


def error(tuning: Any) -> Any:
    """What stands in the way: of a task, or what ended the session before its first trial."""
    found = tuning.error or tuning.why
    session = tuning.session
    if found is None and session is not None and session.discarded and tuning.state == "done" and not tuning.trials:
        why, count = session.discarded.most_common(1)[0]
        found = LabError("no-legal-point", f"no point that was tried is legal: {why}", where=[f"{count} times"])
    if found is None or getattr(found, "rule", "") == EMPTY:
        return None
    return card(found, "tuning")


def ended(tuning: Any) -> tuple[str, str]:
    """How the session ended, and whether that is good news."""
    session = tuning.session
    if tuning.error is not None:
        said = sentence(getattr(tuning.error, "message", "") or str(tuning.error))
        return f"Tuning could not begin: {said}. Its drawer says what to do.", "bad"
    best = session.result.best if session is not None else None
    if best is None or best.seconds is None:
        return "Tuning has ended without a schedule that works: see its drawer.", "bad"
    count = f"{len(tuning.trials)} trial{'s' * (len(tuning.trials) != 1)}"
    then = "They are of the steps as they were: Undo shows them." if tuning.moved else "Adopt it, or look at others."
    return f"Tuning has ended: {count}, the best takes {duration(best.seconds)}. {then}", "good"
