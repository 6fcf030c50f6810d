"""The folder of a session, locked while somebody has it: a server clears away what one that was killed has left."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
import time
from pathlib import Path

PREFIX = "tvmlab-rpc-"
NEW = 60.0  # seconds: a folder of another server that is not locked yet


class Folder:
    """A new one. Its lock is shared with the processes that are forked, and gone with the last of them."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix=PREFIX))
        self._lock = _locked(self.path)

    def clear(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)
        self.let_go()

    def let_go(self) -> None:
        """It is another process's."""
        if self._lock is not None:
            os.close(self._lock)


def clear_left() -> None:
    """Folders that nobody has: of sessions whose server was killed."""
    for path in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):
            found = path.lstat()
            if found.st_uid == os.getuid() and time.time() - found.st_mtime > NEW:
                _clear(path)


def _clear(path: Path) -> None:
    if (lock := _locked(path)) is not None:
        shutil.rmtree(path, ignore_errors=True)
        os.close(lock)


def _locked(path: Path) -> int | None:
    """A descriptor with the lock; None where another process has it, or there are no locks."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(fd)
        return None
    return fd
