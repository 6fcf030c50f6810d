"""The Python source of Numba kernels as a module whose lines tracebacks can show."""

from __future__ import annotations

import linecache
from types import ModuleType
from typing import Any

PREFIX = "<tvmlab cuda "  # of the names of such files


def module(key: str, source: str) -> Any:
    """The source, run. `key`: of the DeviceCode."""
    short = key[:16]
    filename = f"{PREFIX}{short}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
    made = ModuleType(f"tvmlab_cuda_{short}")
    made.__file__ = filename
    exec(compile(source, filename, "exec"), vars(made))
    return made
