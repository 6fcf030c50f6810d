"""C to LLVM IR, for the pragma import_llvm: `clang.create_llvm(c_code)`. Needs clang on this machine."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from shutil import which

from ..core.error import BuildError


def find_clang(required: bool = True) -> list[str]:
    """The clangs of this machine, by path; with `required` one must be there."""
    names = ["clang", *(f"clang-{n}" for n in range(22, 10, -1))]
    found = [path for name in names if (path := which(name)) is not None]
    if required and not found:
        raise BuildError(
            "no-clang",
            "cannot find clang, which makes LLVM IR of C code",
            legal=["LLVM IR written by hand", "a body built with tir.ir_builder", "call_packed of a Python function"],
        )
    return found


def create_llvm(
    inputs: str | Sequence[str], output: str | None = None, options: Sequence[str] = (), cc: str | None = None
) -> str:
    """The LLVM IR text of C code (or of files ending in .c, .cc, .cpp); also written to `output` if that is given."""
    compiler = cc or find_clang()[0]
    sources = [inputs] if isinstance(inputs, str) else list(inputs)
    with tempfile.TemporaryDirectory() as folder:
        files = [_file(source, Path(folder) / f"input{k}.cc") for k, source in enumerate(sources)]
        target = Path(output) if output else Path(folder) / "output.ll"
        command = [compiler, "-O3", "-emit-llvm", "-S", "-o", str(target), *options, *files]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise BuildError("clang", "clang refused the C code", where=done.stderr.splitlines()[:12])
        return target.read_text()


def _file(source: str, path: Path) -> str:
    """The name of a file with the code: its own, or one written here."""
    if "\n" not in source and source.endswith((".c", ".cc", ".cpp")):
        return source
    path.write_text(source)
    return str(path)
