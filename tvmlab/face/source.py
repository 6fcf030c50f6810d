"""Where a step was written, and what its results are called there (`xo, xi = s[C].split(x, 32)`)."""

from __future__ import annotations

import ast
import linecache
import sys
from functools import lru_cache
from itertools import islice
from types import FrameType
from typing import Any

_PACKAGE = __name__.split(".", 1)[0]
# whose schedules call their loops by their axes
LIBRARIES = (f"{_PACKAGE}.kernels.", f"{_PACKAGE}.topi.", f"{_PACKAGE}.tune.generic")


def caller() -> FrameType | None:
    """The innermost frame outside this package."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").split(".", 1)[0] == _PACKAGE:
        frame = frame.f_back
    return frame


def writer() -> FrameType | None:
    """The frame whose line names what a primitive gives; None where a library's schedule called it.

    `s, args = matmul.gpu(...)` is the line that wanted the schedule, but no loop is called `s` for that.
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").split(".", 1)[0] == _PACKAGE:
        if frame.f_globals["__name__"].startswith(LIBRARIES):
            return None
        frame = frame.f_back
    return frame


def place(frame: FrameType | None) -> tuple[str, int] | None:
    return None if frame is None else (frame.f_code.co_filename, frame.f_lineno)


def result_names(frame: FrameType | None) -> tuple[str, ...]:
    """The names the running line assigns the call's results to; () when it does not, or the source is not there."""
    if frame is None:
        return ()
    lines = linecache.getlines(frame.f_code.co_filename, frame.f_globals)
    if not lines:
        return ()
    position = _position(frame)
    return _assignments("".join(lines)).get(position, ()) if position else ()


def _position(frame: FrameType) -> tuple[int, int] | None:
    """(line, column) where the running call's expression starts."""
    if frame.f_lasti < 0:
        return None
    line, _, column, _ = next(islice(frame.f_code.co_positions(), frame.f_lasti // 2, None))
    return None if line is None or column is None else (line, column)


@lru_cache(maxsize=64)
def _assignments(source: str) -> dict[tuple[int, int], tuple[str, ...]]:
    """Start of each assigned call -> the names on its left side."""
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return {}
    found: dict[tuple[int, int], tuple[str, ...]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            _pair(node.targets[0], node.value, found)
    return found


def _pair(target: ast.expr, value: ast.expr, found: dict[tuple[int, int], tuple[str, ...]]) -> None:
    if isinstance(value, ast.Tuple) and isinstance(target, ast.Tuple) and len(value.elts) == len(target.elts):
        for t, v in zip(target.elts, value.elts, strict=True):
            _pair(t, v, found)
        return
    if not isinstance(value, ast.Call):
        return
    names = target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]
    if all(isinstance(n, ast.Name) for n in names):
        start = (value.lineno, len(_line_prefix(value)))
        found[start] = tuple(n.id for n in names if isinstance(n, ast.Name))


def _line_prefix(value: ast.Call) -> Any:
    return " " * value.col_offset
