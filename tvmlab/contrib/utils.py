"""A folder for a while: `temp = utils.tempdir(); module.export_library(temp.relpath("f.so"))`."""

from __future__ import annotations

import os
import shutil
import tempfile
from types import TracebackType
from typing import Any


class TempDirectory:
    """A folder that goes when the object does (or `remove()` is called). `custom_path`: use that one and keep it."""

    def __init__(self, custom_path: str | None = None, keep_for_debug: bool = False) -> None:
        self._keep = custom_path is not None or keep_for_debug
        self.temp_dir = custom_path or tempfile.mkdtemp(prefix="tvmlab-")
        os.makedirs(self.temp_dir, exist_ok=True)

    @property
    def path(self) -> str:
        return self.temp_dir

    def relpath(self, name: str) -> str:
        """The path of a file in it."""
        return os.path.join(self.temp_dir, name)

    def listdir(self) -> list[str]:
        return os.listdir(self.temp_dir)

    def remove(self) -> None:
        if not self._keep and self.temp_dir:
            shutil.rmtree(self.temp_dir, ignore_errors=True)
            self._keep = True

    def __truediv__(self, name: str) -> str:
        return self.relpath(name)

    def __enter__(self) -> TempDirectory:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.remove()

    def __del__(self) -> None:
        self.remove()


def tempdir(custom_path: str | None = None, keep_for_debug: bool = False) -> TempDirectory:
    """A fresh temporary folder."""
    return TempDirectory(custom_path, keep_for_debug)


def is_source_path(path: Any) -> bool:
    """Is it the name of a source file, rather than source text?"""
    text = str(path)
    return "\n" not in text and text.rpartition(".")[2] in ("c", "cc", "cpp", "cu", "ll", "py")
