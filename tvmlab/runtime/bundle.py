"""Several files of an exported program as one: `module.export_library("f.tar")`."""

from __future__ import annotations

import tarfile
import tempfile
from collections.abc import Callable
from pathlib import Path

INSIDE = "program.so"
_kept: list[tempfile.TemporaryDirectory[str]] = []  # unpacked libraries live as long as the process


def pack(path: Path, export: Callable[[Path], None]) -> None:
    """Write what `export` writes for a shared library into a tar file."""
    with tempfile.TemporaryDirectory() as folder:
        export(Path(folder) / INSIDE)
        with tarfile.open(path, "w") as tar:
            for file in sorted(Path(folder).iterdir()):
                tar.add(file, file.name)


def unpack(path: Path) -> Path:
    """The shared library of such a tar file, unpacked beside its card."""
    folder = tempfile.TemporaryDirectory(prefix="tvmlab-")
    _kept.append(folder)
    with tarfile.open(path) as tar:
        tar.extractall(folder.name, filter="data")
    return Path(folder.name) / INSIDE
