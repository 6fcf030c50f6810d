"""A session with this process itself: `rpc.LocalSession()`, so that one script serves both."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from pathlib import Path
from typing import Any

from ..device import Device, device
from ..module import Module, load_module
from ..packed import get_global_func
from .protocol import RPCError


class LocalSession:
    """What rpc.Session does, here. Its files lie in a folder of their own, until it is gone."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="tvmlab-local-"))
        self.close = weakref.finalize(self, shutil.rmtree, self._folder, True)

    def _path(self, name: str) -> Path:
        if not name or Path(name).name != name:
            raise RPCError("file-name", f"{name!r} cannot be a file of a session: it is a name without folders")
        return self._folder / name

    def _there(self, name: str) -> Path:
        path = self._path(name)
        if not path.is_file():
            raise RPCError("no-file", f"there is no file {name} in this session", legal=self.listdir())
        return path

    def upload(self, data: Any, target: str | None = None) -> None:
        """A file (with its card), or bytes under the name `target`."""
        if isinstance(data, (bytes, bytearray, memoryview)):
            if target is None:
                raise RPCError("no-name", "bytes need a name", hint='remote.upload(data, "f.so")')
            self._path(target).write_bytes(data)
            return
        if not Path(data).is_file():
            raise RPCError("no-file", f"there is no file {data} to be uploaded")
        name = target or Path(data).name
        for suffix in ("", *([".json"] if Path(f"{data}.json").is_file() else [])):
            shutil.copy(f"{data}{suffix}", self._path(f"{name}{suffix}"))

    def download(self, path: str) -> bytearray:
        return bytearray(self._there(path).read_bytes())

    def remove(self, path: str) -> None:
        self._there(path).unlink()

    def listdir(self, path: str = "") -> list[str]:
        return sorted(p.name for p in self._folder.iterdir())

    def load_module(self, path: str) -> Module:
        return load_module(self._there(path))

    def get_function(self, name: str) -> Any:
        return get_global_func(name)

    def device(self, dev_type: str | int, dev_id: int = 0) -> Device:
        return device(dev_type, dev_id)

    context = device

    def cpu(self, dev_id: int = 0) -> Device:
        return device("cpu", dev_id)

    def opencl(self, dev_id: int = 0) -> Device:
        return device("opencl", dev_id)

    cl = opencl

    def cuda(self, dev_id: int = 0) -> Device:
        return device("cuda", dev_id)

    gpu = cuda
