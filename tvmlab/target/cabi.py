"""The C side of compiled programs: how numbers are passed, and the compiler that links files."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

# data type of a number -> how it is passed; float16, which C does not have, as its bits
C_TYPES: dict[str, Any] = {
    "bool": ctypes.c_uint8, "float16": ctypes.c_uint16, "float32": ctypes.c_float, "float64": ctypes.c_double,
    "handle": ctypes.c_int64,
    **{f"{u}int{n}": getattr(ctypes, f"c_{u}int{n}") for u in ("", "u") for n in (8, 16, 32, 64)},
}  # fmt: skip


def halves_as_bits(function: Callable[..., Any], dtypes: Sequence[str | None]) -> Callable[..., Any]:
    """`function`, its float16 arguments turned into their bits. `dtypes`: of the arguments, None for an address."""
    halves = [i for i, dtype in enumerate(dtypes) if dtype == "float16"]
    if not halves:
        return function

    def call(*args: Any) -> Any:
        passed = list(args)
        for i in halves:
            passed[i] = int(np.float16(passed[i]).view(np.uint16))
        return function(*passed)

    return call


def compiler(triple: str = "") -> str | None:
    """The C compiler here that makes programs for this machine, or for another one's triple, if there is one."""
    names = [f"{triple}-gcc"] if triple else ["cc", "gcc", "clang"]
    return next((found for name in names if (found := shutil.which(name))), None)


def link_shared(linker: str, piece: Path, library: Path) -> str:
    """Make a shared library of an object file; what the linker complains of, "" when all is well."""
    command = [linker, "-shared", "-o", str(library), str(piece), "-lm", "-lpthread"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stderr.strip() or "it failed" if done.returncode else ""
