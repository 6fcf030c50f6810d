"""Warnings that point at the person's line, not at one of this package."""

from __future__ import annotations

import sys
import threading
import warnings
from types import FrameType

from .deep import waiting

PACKAGE = __name__.split(".", 1)[0]


def warn(message: str) -> None:
    """A UserWarning at the innermost line outside this package; on a thread that `deep` made, of who waits for it."""
    frame: FrameType = sys._getframe(1)
    while _ours(frame):
        further = frame.f_back
        if further is None or further.f_globals.get("__name__") == "threading":
            further = waiting.get(threading.get_ident(), further)
        if further is None:
            break
        frame = further
    registry = frame.f_globals.setdefault("__warningregistry__", {})
    place = frame.f_code.co_filename, frame.f_lineno, frame.f_globals.get("__name__", "?")
    told = frame.f_globals if frame.f_globals.get("__spec__") else None  # of a script from stdin no loader has a source
    warnings.warn_explicit(message, UserWarning, *place, registry, told)


def _ours(frame: FrameType) -> bool:
    return bool(frame.f_globals.get("__name__", "").split(".", 1)[0] == PACKAGE)
