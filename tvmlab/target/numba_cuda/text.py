"""Puts the text of a CUDA module together: imports, the helpers that are used, the kernels, how they are launched."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

from ...core.program import Program
from ...core.text import show


@lru_cache(maxsize=1)
def helpers() -> dict[str, str]:
    """Each helper function's text, by name. The file is read, not imported: that would need CUDA."""
    source = Path(__file__).with_name("helpers.py").read_text(encoding="utf-8")
    rows = source.splitlines()
    found = {}
    for n in ast.parse(source).body:
        if isinstance(n, ast.FunctionDef):
            found[n.name] = "\n".join(rows[n.decorator_list[0].lineno - 1 : n.end_lineno])
    return found


def module_head(program: Program, kernels: Iterable[str], used: set[str]) -> list[str]:
    """The lines before the first kernel."""
    host = program.entry
    wanted = [text for name, text in helpers().items() if name in used]
    body = "\n".join([*kernels, *wanted])
    launches = [f"    {line.strip()}" for line in show(host.body).splitlines() if "](" in line]
    head = [
        f'"""{host.name}: kernels written by tvmlab. Need numba, and a CUDA device or NUMBA_ENABLE_CUDASIM=1.', "",
        "Arrays are passed as one-dimensional views. Launched as", "", *launches,
        *[line for remark in program.remarks for line in ("", f"{remark[0].upper()}{remark[1:]}.")], '"""', "",
    ]  # fmt: skip
    if "math." in body:
        head += ["import math", ""]
    head += ["import numba"] * ("numba." in body) + ["import numpy as np"] * ("np." in body)
    head += ["from numba import cuda"]
    for text in wanted:
        head += ["", "", *text.splitlines()]
    return head
