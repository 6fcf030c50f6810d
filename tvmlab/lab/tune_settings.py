"""How a lab tunes: the search, the budget, the file that trials are written to. Checked when they are set."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ..core.error import LabError
from ..core.extras import EXTRAS, pip
from ..tune import search as searches
from ..view.payload_tune import Search
from .tune_where import checked

TRIALS = 64
SUFFIX = ".tune.jsonl"
LABELS = {
    "annealing": "learned model", "random": "random", "grid": "in order", "genetic": "genetic",
    "optuna": "Optuna: TPE", "droplet": "coordinate descent",
}  # fmt: skip
NEEDS = {"annealing": "tune", "optuna": "optuna"}  # search -> the extra that it needs


@dataclass(frozen=True)
class Settings:
    """`trials`: measured in all; `limit`: seconds; None is no limit, of one of them. `file`: None is a name of the
    lab's own choice, "" is none: trials are then in memory only. `fleet`: the address of a scheduler, "" is none."""

    search: str = ""
    trials: int | None = TRIALS
    limit: float | None = None
    file: str | None = None
    fleet: str = ""

    def __post_init__(self) -> None:
        if not self.search:
            object.__setattr__(self, "search", searches.usual())
        known = {s["name"]: s for s in listed()}
        if self.search not in known:
            raise LabError("unknown-search", f"there is no search {self.search!r}", legal=list(known))
        if not known[self.search]["available"]:
            why = known[self.search]["why"]
            raise LabError("no-search", f"{self.search} is not available: {why}", legal=available())
        whole = isinstance(self.trials, float) and self.trials.is_integer()  # a browser has no integers
        object.__setattr__(self, "trials", int(self.trials or 0) if whole else self.trials)
        _need_amount("trials", self.trials, (int,), "a whole number above 0")
        _need_amount("the limit in seconds", self.limit, (int, float), "seconds, above 0")
        if self.trials is None and self.limit is None:
            raise LabError("no-budget", "a budget is needed: a number of trials, or seconds, or both")
        if self.file is not None:
            _need_file(self.file)
        checked(self.fleet)

    def changed(self, values: Mapping[str, Any]) -> Settings:
        """With these values; what is not known, or cannot be, is refused."""
        legal = [f.name for f in fields(self)]
        unknown = next((k for k in values if k not in legal), None)
        if unknown is not None:
            raise LabError("no-such-setting", f"tuning has no setting {unknown!r}", legal=legal)
        return replace(self, **values)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def _need_amount(name: str, value: Any, kinds: tuple[type, ...], what: str) -> None:
    number: Any = value if isinstance(value, kinds) and not isinstance(value, bool) else 0
    if value is not None and not 0 < number < 1e12:
        raise LabError("tune-budget", f"{name} cannot be {value!r}", legal=[what, "nothing: no such limit"])


def _need_file(name: Any) -> None:
    """Can it be written, as far as can be told without writing it? Another file is the person's, and is not touched."""
    if not isinstance(name, str):
        raise LabError("tune-file", f"a file is named by text, not {name!r}", legal=['"" for memory only'])
    if not name:
        return
    try:
        why = _unwritable(Path(name).absolute())
    except OSError as e:  # a name that is too long
        why = e.strerror or str(e)
    if why:
        raise LabError("tune-file", f"{name} cannot be written: {why}", hint='another file, or "" for memory only')


def _unwritable(path: Path) -> str:
    if "\0" in str(path):
        return "its name has a zero byte"
    around = next(p for p in (path, *path.parents) if p.exists())
    if path.is_dir():
        return "it is a folder"
    if around != path and not around.is_dir():
        return f"{around} is no folder"
    return "" if os.access(around, os.W_OK) else f"{around.name or around} is read-only"


def usual_file(lab: Any) -> str:
    """Beside the notebook, which is where its kernel works."""
    name = lab.document.root.outputs[0].name  # a copied program has it too; what the catalogue calls it, it has not
    return "".join(c if c.isalnum() or c in "-_" else "_" for c in name) + SUFFIX


def next_file(name: str) -> str:
    """ "C.tune.jsonl" -> "C-2.tune.jsonl", the first that there is not."""
    stem = name.removesuffix(SUFFIX).removesuffix(".jsonl")
    end = name[len(stem) :]
    return next(made for n in range(2, 10_000) if not Path(made := f"{stem}-{n}{end}").exists())


# ---------------------------------------------------------------- searches


@lru_cache(maxsize=1)
def listed() -> tuple[Search, ...]:
    """Every search that has a file; those that cannot be used here with the reason."""
    return tuple(_search(name) for name in sorted(searches.names(), key=lambda n: (n != "annealing", n)))


def _search(name: str) -> Search:
    package = _package(name)
    there = not package or find_spec(package) is not None
    why = "" if there else f"the package {package} is not installed: {pip(NEEDS[name])}"
    return {"name": name, "label": LABELS.get(name, name), "available": there, "why": why}


def _package(name: str) -> str:
    """What a search needs; "" where that is nothing."""
    return EXTRAS[NEEDS[name]][0] if name in NEEDS else ""


def available() -> list[str]:
    return [s["name"] for s in listed() if s["available"]]


@lru_cache(maxsize=1)
def warm() -> None:
    """Load what the search needs before a person presses Start: the trees take half a second."""
    if package := _package(searches.usual()):
        threading.Thread(target=import_module, args=(package,), name="tvmlab search loads", daemon=True).start()
