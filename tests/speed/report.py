"""BENCHMARKS.md, and the raw numbers as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .bench import Check, Row

ROOT = Path(__file__).parents[2]
RAW = ROOT / "build" / "speed.json"
PAGE = ROOT / "BENCHMARKS.md"
NOTES = Path(__file__).parent / "notes"
BY_HAND = "*Read by hand on an AMD Zen 5 core on 2026-11-30, not measured anew by this run:*"
VERDICT = {True: "yes", False: "**no**", None: "not measured"}

HEAD = """# Speed

Made by `make bench`. Ratios are the peer's time over ours: above one, ours is faster. In
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
        parts.append(f"Measured {row.date}; others used {100 * row.others:.0f} % of the machine meanwhile.")
    note = NOTES / f"{row.name}.md"
    if note.exists():
        parts.append(f"{BY_HAND}\n\n{note.read_text().strip()}")
    return "\n\n".join(filter(None, parts))


def page(facts: Mapping[str, Any], rows: Sequence[Row]) -> str:
    return "\n\n".join([
        HEAD.strip(),
        summary([c for row in rows for c in row.checks]),
        *map(section, rows),
        "## The machine",
        table(("what", "value"), [(k, str(v)) for k, v in facts.items()]),
    ]) + "\n"  # fmt: skip


def save(facts: Mapping[str, Any], rows: Sequence[Row], order: Sequence[str]) -> None:
    """Keep the numbers of these rows beside those of rows measured before on this machine; all rows make the page."""
    RAW.parent.mkdir(exist_ok=True)
    kept = json.loads(RAW.read_text()) if RAW.exists() else {}
    if kept.get("facts", {}).get("cpu") != facts["cpu"]:
        kept = {}
    kept["facts"] = {**kept.get("facts", {}), **facts}
    kept.setdefault("rows", {}).update({row.name: row.as_json() for row in rows})
    RAW.write_text(json.dumps(kept, indent=1))
    if set(order) <= set(kept["rows"]):
        PAGE.write_text(page(kept["facts"], [Row.from_json(kept["rows"][name]) for name in order]))
