"""Runs as rows, and what is said of two of them: plain data and sentences, made from what a trial gave."""

from __future__ import annotations

import copy
import time
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from ..core.error import LabError
from ..core.units import count, duration
from ..face.options import Options
from ..runtime.worker import Outcome
from ..schedule.trace import Trace
from .card import card
from .frame import frame
from .payload import Card, Comparison, Metrics, Run, Table, Worth

UNSTEADY = 3.0  # an interval from low to more than this times low says little
SHOWN_TIMES = 40  # of the repeats: as many dots as a row has room for
DOING = {"compiling": "compiling", "checking": "checking both", "running": "measuring in turns"}
OVER = ("done", "failed", "cancelled")
ENDED: dict[str, tuple[str, str]] = {
    "timeout": ("", "Raise the limit in the options, or make the sizes smaller."),
    "memory": ("It needed more memory than a run may have. ", "Make the sizes smaller, or compute a stage in parts."),
    "crash": ("", "The notebook is not affected. Wrong indices in an extern or an intrinsic are the usual cause."),
    "lost": ("", "Try again; if it stays so, restart the kernel."),
}


def blank(id: str, title: str, step: str, trace: str, chosen: Options) -> Run:
    """The row of a run that waits for its turn."""
    return {
        "id": id, "when": time.strftime("%H:%M:%S"), "title": title, "step": step, "trace": trace,
        "target": chosen.target, "size": "", "threads": chosen.threads, "state": "queued", "progress": 0.0,
        "seconds": None, "spread": None, "times": [], "gflops": None, "check": "", "worst": "", "wrong": None,
        "compile": None, "baseline": None, "baseline_name": "", "naive": None, "error": None, "machine": "",
        "untimed": "", "pinned": False, "stale": False,
    }  # fmt: skip


def filled(row: Run, result: Mapping[str, Any]) -> None:
    """What a trial gave, into its row."""
    for name in ("check", "worst", "wrong", "compile", "size", "threads", "machine", "baseline_name", "untimed"):
        row[name] = result[name]
    for name in ("seconds", "spread", "gflops", "baseline", "naive"):
        row[name] = _short(result[name])  # type: ignore[literal-required]
    times = result["times"]
    stride = max(1, -(-len(times) // SHOWN_TIMES))
    row["times"] = [float(f"{t:.4g}") for t in times[::stride]]
    row["state"], row["progress"] = "done", 1.0


def _short(x: float | None) -> float | None:
    return None if x is None else float(f"{x:.5g}")


def restored(saved: Any, usual: Run) -> Run | None:
    """A saved row in today's form; None for what is none."""
    if not isinstance(saved, Mapping) or not isinstance(saved.get("title"), str):
        return None
    row = copy.deepcopy(usual)
    for name, value in usual.items():
        there = saved.get(name, value)
        fits = isinstance(there, type(value)) or value is None or (isinstance(value, float) and isinstance(there, int))
        if fits:
            row[name] = there  # type: ignore[literal-required]
    if row["state"] not in OVER:
        row["state"] = "cancelled"
    return row


def ended(row: Run) -> tuple[str, Literal["info", "good", "bad"]]:
    """What is said of a run when it is over, and how it sounds."""
    name = f"Run of {row['title']}"
    if row["state"] == "cancelled":
        return f"{name}: cancelled.", "info"
    if row["state"] == "failed":
        why = row["error"]["text"].split("\n")[0].rstrip(".") if row["error"] else "see Runs"
        return f"{name} failed: {why}.", "bad"
    if row["check"] == "wrong":
        return f"{name}: the result is wrong, see Runs.", "bad"
    checked = "right, " if row["check"] == "ok" else ""
    if untimed := row.get("untimed"):
        return f"{name}: {checked}not timed ({untimed}).", "good"
    seconds, naive = row["seconds"] or 0.0, row["step"] and row.get("naive")
    gain = ""
    if naive and seconds:
        slow = seconds > naive
        gain = f", {times(seconds / naive)} slower than" if slow else f", {times(naive / seconds)} as fast as"
        gain += " without steps"
    return f"{name}: {checked}{duration(seconds)}{gain}.", "good"


# ---------------------------------------------------------------- what went wrong


def failed(outcome: Outcome, title: str, doing: str = "") -> Card:
    """Why a run has no result. `doing`: the state it was in."""
    if outcome.kind == "error" and outcome.error is not None:
        return card(error_of(outcome.error), title)
    start, hint = ENDED.get(outcome.kind, ("", ""))
    phase = f" (while {doing})" if doing in ("compiling", "checking", "running") else ""
    text = f"{start}{outcome.text[:1].upper()}{outcome.text[1:]}{phase}."
    made = card(LabError(outcome.kind, text, hint=hint), title)
    if outcome.kind == "crash" and outcome.error is not None:
        made["where"] = []
        made["clash"] = _last_words(str(outcome.error.get("said", "")))
    return made


def error_of(record: Mapping[str, Any]) -> LabError:
    """The record of an error, as one."""
    where = record["where"] if record["type"] != "MemoryError" else []
    return LabError(record["rule"], record["message"], where, record["legal"], record["hint"])


def _last_words(said: str) -> str:
    """What a process printed that was not about itself."""
    lines = said.splitlines()
    end = next((k for k, x in enumerate(lines) if x.startswith(("Fatal Python error", "Thread 0x"))), len(lines))
    return "\n".join(lines[:end][-5:])


# ---------------------------------------------------------------- two side by side


def comparing(a: Run, b: Run) -> Comparison:
    """The comparison of two rows before anything is known."""
    return {
        "a": a["id"], "b": b["id"], "state": "running", "verdict": "", "text": "waiting for its turn", "ratio": None,
        "low": None, "high": None, "rounds": 0, "reasons": [], "explained": False, "model": "", "diff": [],
        "table": {"title": "", "head": [], "rows": []}, "error": None,
    }  # fmt: skip


def compared(made: Comparison, result: Mapping[str, Any], names: Sequence[str]) -> None:
    """What the rounds gave, into the comparison. `names`: what the two are called."""
    made["verdict"], made["rounds"] = result["verdict"], result["rounds"]
    made["ratio"], made["low"], made["high"] = (_short(result[k]) for k in ("ratio", "low", "high"))
    made["text"] = verdict_line(result, names)
    made["state"] = "done"
    medians = [duration(sorted(result[k])[len(result[k]) // 2]) for k in ("a", "b")]
    made["table"]["rows"].insert(0, ["median time of the rounds", *medians])


def names_of(rows: Sequence[Run]) -> list[str]:
    """What two runs are called: by their titles, where these differ."""
    titles = [r["title"] for r in rows]
    if titles[0] != titles[1]:
        return titles
    apart = [f"{r['title']} on {r['target']}" for r in rows]
    return apart if apart[0] != apart[1] else [f"{r['title']} ({r['id']})" for r in rows]


def verdict_line(result: Mapping[str, Any], names: Sequence[str]) -> str:
    """`step 5 is 1.8× faster than start (95 % interval 1.7 to 1.9; 30 interleaved rounds)`"""
    a, b = names
    ratio, low, high = result["ratio"], result["low"], result["high"]
    if result["verdict"] == "slower":
        ratio, low, high = 1 / ratio, 1 / high, 1 / low
    interval = f"(95 % interval {low:.3g} to {high:.3g}; {result['rounds']} interleaved rounds)"
    if result["verdict"] in ("faster", "slower"):
        text = f"{b} is {times(ratio)} {result['verdict']} than {a} {interval}"
    else:
        text = f"{b} and {a} are the same within noise: {times(ratio)} {interval}"
    if high > UNSTEADY * low:
        text += ". The times were unsteady: run it again for a surer answer"
    wrong = [n for n, c in zip(names, result["checks"], strict=True) if c["check"] == "wrong"]
    return text + "".join(f". {n} gives a wrong result" for n in wrong)


def times(x: float) -> str:
    """`1.83×`, `12.4×`, `2,100×`: as the drawers write it."""
    return f"{float(f'{x:.3g}'):,.10g}×"


ROWS: list[tuple[str, str]] = [
    ("arithmetic", "flops"), ("bytes loaded", "read"), ("bytes stored", "written"), ("distinct bytes", "unique"),
    ("times the arithmetic needed", "redundancy"), ("parallel tasks", "tasks"), ("vector width", "lanes"),
]  # fmt: skip


def table(names: Sequence[str], a: Metrics, b: Metrics) -> Table:
    """The modelled numbers of both."""
    rows = [[label, count(a[key]), count(b[key])] for label, key in ROWS]  # type: ignore[literal-required]
    return {"title": "modelled numbers and measured time", "head": ["", *names], "rows": rows}


def loop_ids(traces: Sequence[Trace]) -> dict[str, str]:
    """The ids of loops by the names that programs print; of two schedules, the second one's first."""
    found: dict[str, str] = {}
    for trace in reversed(traces):
        for row in frame(trace)["tree"]:
            if row["kind"] == "loop":
                found.setdefault(row["name"].replace(".", "_"), row["id"])
    return found


# ---------------------------------------------------------------- a step's worth


def waiting(id: str) -> Worth:
    return {"id": id, "text": "...", "ratio": None, "low": None, "high": None}


def worth(made: Worth, result: Mapping[str, Any]) -> None:
    """What the rounds with and without a step gave. First the schedule without it, then the one with it."""
    ratio, low, high = (_short(result[k]) for k in ("ratio", "low", "high"))
    made["ratio"], made["low"], made["high"] = ratio, low, high
    if result["checks"][0]["check"] == "wrong":
        made["text"] = "without it the result is wrong"
    elif result["verdict"] == "faster":
        made["text"] = f"worth {times(ratio or 1)}"
    elif result["verdict"] == "slower" and ratio:
        made["text"] = f"costs {times(1 / ratio)}: faster without it"
    else:
        made["text"] = "no difference within noise"


def worth_ended(made: Worth, outcome: Outcome) -> None:
    """How the rounds with and without a step ended."""
    if outcome.ok:
        worth(made, outcome.value)
    else:
        made["text"] = "cancelled" if outcome.kind == "cancelled" else f"cannot be measured: {outcome.text}"
