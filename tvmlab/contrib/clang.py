"""C code as LLVM IR, through the clang of this system: `clang.create_llvm(c_source, output="f.ll")`."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ..core.error import LabError
from .utils import is_source_path


def find_clang(required: bool = True) -> list[str]:
    """The commands that run a clang here, best first; `required`: an error where there is none."""
    found = [p for name in ("clang", *(f"clang-{n}" for n in range(25, 9, -1))) if (p := shutil.which(name))]
    if not found and required and _zig() is None:
        raise LabError(
            "no-clang",
            "there is no clang on this system",
            legal=["install clang", "pip install ziglang", "write the body with tir.ir_builder"],
        )
    return found


def _zig() -> list[str] | None:
    """The compiler that the package `ziglang` brings contains a clang."""
    import sys

    return [sys.executable, "-m", "ziglang", "cc"] if find_spec("ziglang") else None


def create_llvm(
    inputs: Any, output: str | None = None, options: Sequence[str] | None = None, cc: str | None = None
) -> str:
    """The LLVM IR of C sources, files or text; also written to `output`, if that is given."""
    sources = list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
    found = find_clang()
    command = [cc] if cc else found[:1] or _zig()
    assert command is not None
    texts = []
    with tempfile.TemporaryDirectory() as folder:
        for i, source in enumerate(sources):
            path = str(source) if is_source_path(source) else str(_write(Path(folder) / f"input{i}.cc", source))
            made = Path(folder) / f"{i}.ll"
            _run([*command, "-O3", "-emit-llvm", "-S", "-fno-exceptions", *(options or ()), path, "-o", str(made)])
            texts.append(made.read_text())
    text = "\n".join(texts) if len(texts) > 1 else texts[0]
    if output is not None:
        Path(output).write_text(text)
    return text


def _write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}\n{re.sub(r'^', '  ', done.stderr, flags=re.M)}")
