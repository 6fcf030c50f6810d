"""The C compiler: `cc.create_shared("f.so", ["f.o"])`."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..core.error import LabError


def get_cc() -> str | None:
    """The system's C compiler, or None."""
    return next((found for name in ("cc", "gcc", "clang") if (found := shutil.which(name))), None)


def create_shared(
    output: Any, objects: Any, options: Sequence[str] | None = None, cc: str | None = None, **more: Any
) -> None:
    """Link object files (or compile C files) into a shared library.

    The card that an exported module keeps beside its object file (`f.o.json`) goes along, so that `runtime.load_module`
    can load the library.
    """
    compiler = cc or get_cc()
    if compiler is None or shutil.which(compiler) is None:
        raise LabError("no-compiler", "there is no C compiler on this system", hint="install gcc or clang, or pass cc=")
    inputs = [str(o) for o in (objects if isinstance(objects, (list, tuple)) else [objects])]
    command = [compiler, "-shared", "-fPIC", "-o", str(output), *inputs, *(options or ()), "-lm", "-lpthread"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}\n{done.stderr}")
    for o in inputs:
        card = Path(f"{o}.json")
        if card.exists():
            shutil.copy(card, f"{output}.json")
            return
