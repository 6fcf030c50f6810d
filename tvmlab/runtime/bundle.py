"""Several files of an exported program as one: `module.export_library("f.tar")`."""

from __future__ import annotations

import tarfile
import tempfile
from collections.abc import Callable
from pathlib import Path

INSIDE = "program"  # with the ending that the target writes
_kept: list[tempfile.TemporaryDirectory[str]] = []  # unpacked libraries live as long as the process


def pack(path: Path, export: Callable[[Path], None], ending: str = ".so") -> None:
    """Write what `export` writes for a shared library, or for a file of that ending, into a tar file."""
    with tempfile.TemporaryDirectory() as folder:
        export(Path(folder) / f"{INSIDE}{ending}")
        with tarfile.open(path, "w") as tar:
            for file in sorted(Path(folder).iterdir()):
                tar.add(file, file.name)


def unpack(path: Path) -> Path:
    """The program of such a tar file, unpacked beside its card."""
    folder = tempfile.TemporaryDirectory(prefix="tvmlab-")
    _kept.append(folder)
    with tarfile.open(path) as tar:
        tar.extractall(folder.name, filter="data")
    python = Path(folder.name) / f"{INSIDE}.py"
    return python if python.exists() else python.with_suffix(".so")
