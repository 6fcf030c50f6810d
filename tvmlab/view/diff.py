"""What changed between two texts of loops, line by line.

    ~ for i in parallel(32):         a line that is still there, with another indent or a changed part; `was`: before
    -     for j in range(64):        gone
    +     for jo in range(4):        new
          C[i, j] = ...              kept
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from typing import Literal

from .payload import DiffLine, Line

Pair = tuple[int, int]
ALIKE = 0.6  # of the words, from which on two lines count as one that changed
CELLS = 900  # pairs of lines in one replaced stretch that are compared by their words
MANY = 600  # lines in a stretch, from which on lines that occur often are not matched


def diff(old: Sequence[Line], new: Sequence[Line]) -> list[DiffLine]:
    """`at` counts the lines of the newer text from 0; -1 for a line that is gone."""
    found: list[DiffLine] = []
    i = j = 0
    for a, b in [*_pairs(old, new), (len(old), len(new))]:
        found += [_line("-", x, -1) for x in old[i:a]]
        found += [_line("+", x, k) for k, x in enumerate(new[j:b], j)]
        if a < len(old):
            found.append(_kept(old[a], new[b], b))
        i, j = a + 1, b + 1
    return found


def _line(sign: Literal[" ", "+", "-", "~"], line: Line, at: int) -> DiffLine:
    return {"sign": sign, "line": line, "at": at}


def _kept(old: Line, new: Line, at: int) -> DiffLine:
    if old["t"] == new["t"]:
        return _line(" " if old["d"] == new["d"] else "~", new, at)
    return {"sign": "~", "line": new, "at": at, "was": old["t"]}


def _pairs(old: Sequence[Line], new: Sequence[Line]) -> list[Pair]:
    """The lines that stayed, in order, with where they are in each text."""
    head, least = 0, min(len(old), len(new))
    while head < least and _same(old[head], new[head]):
        head += 1
    tail = 0
    while tail < least - head and _same(old[-1 - tail], new[-1 - tail]):
        tail += 1
    found = [(k, k) for k in range(head)]
    found += [(i + head, j + head) for i, j in _middle(old[head : len(old) - tail], new[head : len(new) - tail])]
    return [*found, *[(len(old) - k, len(new) - k) for k in range(tail, 0, -1)]]


def _same(a: Line, b: Line) -> bool:
    return a["t"] == b["t"] and a["d"] == b["d"]


def _middle(old: Sequence[Line], new: Sequence[Line]) -> list[Pair]:
    """Equal texts first, whatever their indents; between them, lines that are alike."""
    if not old or not new:
        return []
    often = max(len(old), len(new)) > MANY
    matcher = SequenceMatcher(None, [x["t"] for x in old], [x["t"] for x in new], autojunk=often)
    found: list[Pair] = []
    for tag, i, i2, j, j2 in matcher.get_opcodes():
        if tag == "equal":
            found += zip(range(i, i2), range(j, j2), strict=True)
        elif tag == "replace":
            found += [(i + a, j + b) for a, b in _alike(old[i:i2], new[j:j2])]
    return found


def _alike(old: Sequence[Line], new: Sequence[Line]) -> list[Pair]:
    """The pairs, in order, that are most alike in all."""
    if len(old) * len(new) > CELLS:
        return _by_id(old, new)
    best = [[0.0] * (len(new) + 1) for _ in range(len(old) + 1)]
    like = [[likeness(a, b) for b in new] for a in old]
    for i in reversed(range(len(old))):
        for j in reversed(range(len(new))):
            taken = like[i][j] + best[i + 1][j + 1] if like[i][j] else 0.0
            best[i][j] = max(taken, best[i + 1][j], best[i][j + 1])
    found: list[Pair] = []
    i = j = 0
    while i < len(old) and j < len(new):
        if best[i][j] == best[i + 1][j]:
            i += 1
        elif best[i][j] == best[i][j + 1]:
            j += 1
        else:
            found.append((i, j))
            i, j = i + 1, j + 1
    return found


def _by_id(old: Sequence[Line], new: Sequence[Line]) -> list[Pair]:
    """In long stretches: the next line of the same loop, and of the same kind."""
    where: dict[tuple[str, str], list[int]] = {}
    for j, x in enumerate(new):
        if "id" in x:
            where.setdefault((x["id"], x["t"].partition(" ")[0]), []).append(j)
    found: list[Pair] = []
    last = -1
    for i, x in enumerate(old):
        places = where.get((x.get("id", ""), x["t"].partition(" ")[0]), ())
        after = [p for p in places if p > last][:1]
        found += [(i, p) for p in after]
        last = after[0] if after else last
    return found


def likeness(a: Line, b: Line) -> float:
    """0: two lines; else how much they are one that changed. A loop is itself however it is written."""
    if a["t"].startswith("for ") != b["t"].startswith("for "):
        return 0.0
    same_id = "id" in a and a.get("id") == b.get("id")
    if a["t"].startswith("for "):
        return 1.0 + _ratio(a["t"], b["t"]) if same_id else 0.0
    ratio = _ratio(a["t"], b["t"])
    return ratio + same_id if ratio >= ALIKE else 0.0


def _ratio(a: str, b: str) -> float:
    x, y = _words(a), _words(b)
    return 2 * len(x & y) / (len(x) + len(y)) if x or y else 1.0


@lru_cache(maxsize=8192)
def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+|[^\w\s]+", text))
