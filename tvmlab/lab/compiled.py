"""What NVIDIA's compiler says of a lab's kernels, found out while everything goes on.

    compiled.used(text, "sm_90")      {"main_C": Usage(...)}, or why that is not known (yet)
    compiled.awaited(text, "sm_90")   the same when the compiler has answered

Who asks for a text that is not compiled has it compiled, in the process of the runs and in turn with them, so that no
time is measured beside it. One waits at most: whoever asks for another text no longer wants the one before.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from ..runtime.worker import Outcome
from ..target.cuda_c import check
from ..view.pictures.occupied import Used
from .process import join, leave

LIMIT = 30.0  # seconds for one text
KEPT = 32  # texts
PATIENCE = 20.0  # seconds that somebody waits for it
ON_ITS_WAY = "it compiles the kernels now"


class Compiled:
    """`changed`: called when something is known that was asked for, in a thread of its own."""

    def __init__(self, changed: Callable[[], Any]) -> None:
        self._changed = changed
        self._known: dict[tuple[str, str], Used] = {}
        self._wanted: tuple[str, str] | None = None
        self._stop: threading.Event | None = None
        self._lock = threading.Condition()
        self._closed = False

    def known(self, text: str, arch: str) -> Used:
        """What is known already; nothing is compiled for it."""
        ask = f'not asked yet: tvmlab.resources(s, args, "{arch}") asks'
        return self._known.get((text, arch)) or check.missing() or ask

    def used(self, text: str, arch: str) -> Used:
        at = (text, arch)
        found = self._known.get(at) or check.missing()
        if found:
            return found
        with self._lock:
            if at == self._wanted or self._closed:
                return ON_ITS_WAY
            self._end()
            self._wanted, self._stop = at, threading.Event()
            threading.Thread(target=self._compile, args=(at, self._stop), daemon=True).start()
        return ON_ITS_WAY

    def awaited(self, text: str, arch: str) -> Used:
        """What there is to know, waited for. Where others go first for too long: that it is on its way."""
        found = self.used(text, arch)
        if found is not ON_ITS_WAY:
            return found
        with self._lock:
            self._lock.wait_for(lambda: self._wanted != (text, arch), PATIENCE)
        return self._known.get((text, arch), ON_ITS_WAY)

    def close(self) -> None:
        with self._lock:
            self._closed = True
            self._end()
        leave(self)

    def close_soon(self) -> None:
        """The same, in a thread of its own: for a garbage collector, which may hold whatever lock `close` needs."""
        if not self._closed:
            threading.Thread(target=self.close, daemon=True).start()

    def _end(self) -> None:
        if self._stop is not None:
            join(self).cancel(self._stop)
        self._wanted = self._stop = None
        self._lock.notify_all()

    def _compile(self, at: tuple[str, str], stop: threading.Event) -> None:
        outcome = join(self).run("tvmlab.target.cuda_c.check:job", *at, limit=LIMIT, stop=stop)
        with self._lock:
            if stop is not self._stop:
                return  # nobody waits for it any more
            self._known[at] = _said(outcome)
            while len(self._known) > KEPT:
                del self._known[next(iter(self._known))]
            self._wanted = self._stop = None
            self._lock.notify_all()
        self._changed()


def _said(outcome: Outcome) -> Used:
    if outcome.ok:
        found: Used = outcome.value
        return found
    record = outcome.error or {}
    where = record.get("where") or [""]
    return f"{record.get('message') or outcome.text}{': ' if where[0] else ''}{where[0]}".replace("`", "")
