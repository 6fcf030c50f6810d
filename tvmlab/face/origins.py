"""Where a step was taken, as a person would say it: `cell 7 line 4`, `blur.py line 12`, `widget`."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

Origin = Mapping[str, str]  # {"kind": widget, cell or file, "label": ...}


def origin(where: tuple[str, int] | None, via: str = "") -> Origin:
    """`where`: (file, line) as a step records it. `via`: what acted, when it was not a line of code."""
    if via:
        return {"kind": "widget", "label": via}
    if where is None:
        return {"kind": "file", "label": ""}
    file, line = where
    cell = cell_number(file)
    if cell is not None:
        return {"kind": "cell", "label": f"cell {cell} line {line}"}
    if _is_cell(file):
        return {"kind": "cell", "label": f"a cell, line {line}"}
    return {"kind": "file", "label": f"{PurePath(file).name} line {line}"}


def cell_number(file: str) -> int | None:
    """The execution count of the cell that was compiled under this file name; None without IPython, or for a file.

    IPython keeps the table itself (it shows `Cell In[7], line 4` from it); a cell that is run again counts anew.
    """
    named = re.match(r"<ipython-input-(\d+)-", file)  # IPython before 8
    if named:
        return int(named[1])
    compiler: Any = getattr(_shell(), "compile", None)
    known = compiler.format_code_name(file) if hasattr(compiler, "format_code_name") else None
    number = re.search(r"\[(\d+)\]", known[1]) if known else None
    return int(number[1]) if number else None


def _is_cell(file: str) -> bool:
    """A cell's file that this kernel did not run, or does not know any more."""
    return re.search(r"[/\\]ipykernel_\d+[/\\]", file) is not None


def _shell() -> Any:
    """The IPython that runs us, without importing it."""
    module = sys.modules.get("IPython")
    return module.get_ipython() if module is not None else None
