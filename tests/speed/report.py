"""BENCHMARKS.md, and the raw numbers as JSON."""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .bench import Check, Row

ROOT = Path(__file__).parents[2]
RAW = ROOT / "build" / "speed.json"
PAGE = ROOT / "BENCHMARKS.md"
NOTES = Path(__file__).parent / "notes"
VERDICT = {True: "yes", False: "**no**", None: "not measured"}

HEAD = """# Speed

Made by `make bench` ({date}, {rounds} rounds). Ratios are the peer's time over ours: above one, ours is faster. In
every round each contestant runs once, warm, on the same arrays, and again if it had to share its core; a ratio is taken
within a round, and shown is the median of the rounds with their quartiles. Results are compared with NumPy's before
anything is timed. Everything runs on one thread unless it says otherwise.
"""


def table(heads: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    rows = [heads, ["---"] * len(heads), *lines]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in rows)


def summary(checks: Sequence[Check]) -> str:
    return table(("what", "must", "measured", "met"), [(c.what, c.must, c.measured, VERDICT[c.met]) for c in checks])


def section(row: Row) -> str:
    parts = [f"## {row.title}", table(row.heads, row.lines) if row.lines else "", *row.notes]
    if row.others is not None:
        parts.append(f"Others used {100 * row.others:.0f} % of the machine meanwhile.")
    note = NOTES / f"{row.name}.md"
    if note.exists():
        parts.append(note.read_text().strip())
    return "\n\n".join(filter(None, parts))


def page(machine: Mapping[str, Any], rows: Sequence[Row], rounds: int, peers: Mapping[str, str]) -> str:
    facts = [(k, str(v)) for k, v in (machine | peers).items()]
    return "\n\n".join([
        HEAD.format(date=datetime.date.today(), rounds=rounds).strip(),
        summary([c for row in rows for c in row.checks]),
        *map(section, rows),
        "## The machine",
        table(("what", "value"), facts),
    ]) + "\n"  # fmt: skip


def save(machine: Mapping[str, Any], rows: Sequence[Row]) -> None:
    """The raw numbers of these rows, beside those of the rows that were not run this time."""
    RAW.parent.mkdir(exist_ok=True)
    kept = json.loads(RAW.read_text()) if RAW.exists() else {}
    for row in rows:
        kept[row.name] = {"machine": machine, "date": str(datetime.datetime.now()), **row.as_json()}
    RAW.write_text(json.dumps(kept, indent=1))
