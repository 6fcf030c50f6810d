"""One process for the runs of all labs of this kernel: two runs at once would disturb each other's times."""

from __future__ import annotations

import threading
from typing import Any

from ..runtime.worker import Worker

_shared: Worker | None = None
_users: set[int] = set()
_sharing = threading.Lock()


def join(user: Any) -> Worker:
    """The worker of all labs, made when it is first needed."""
    global _shared
    with _sharing:
        _users.add(id(user))
        if _shared is None:
            _shared = Worker()
        return _shared


def leave(user: Any) -> None:
    """With the last lab that ran something the process ends."""
    global _shared
    with _sharing:
        _users.discard(id(user))
        last, _shared = (_shared, None) if not _users else (None, _shared)
    if last is not None:
        last.close()
