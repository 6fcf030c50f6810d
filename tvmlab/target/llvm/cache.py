"""Object code on disk, by what it was made from: IR text, CPU, features, LLVM's version.

Each file carries a checksum: what is cut short or damaged is rebuilt. Files are written under another name and renamed,
so that two processes may build the same program. TVMLAB_CACHE_DIR says where; "" or "0" switches the cache off.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from .jit import OPT_LEVEL, VERSION, Settings

MAGIC = b"tvmlab-object-1\n"
LIMIT = 256 * 2**20  # bytes; the files used longest ago go first


def folder(kind: str = "objects") -> Path | None:
    """Where what is compiled is kept; None when the cache is switched off."""
    given = os.environ.get("TVMLAB_CACHE_DIR")
    if given is not None:
        return None if given in ("", "0") else Path(given) / kind
    if sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    elif os.name == "nt":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "tvmlab" / kind


def key(text: str, made: Settings, work: str) -> str:
    parts = (VERSION, str(OPT_LEVEL), work, made.triple, made.cpu, made.features, text)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def through(name: str, build: Callable[[], bytes]) -> tuple[bytes, bool]:
    """The object of that key, built and kept when it is not there: (object, was it there)."""
    where = folder()
    if where is None:
        return build(), False
    path = where / name[:2] / f"{name[2:]}.o"
    found = read(path)
    if found is not None:
        return found, True
    made = build()
    write(path, made)
    return made, False


def read(path: Path) -> bytes | None:
    """The object in a file; None where there is no file or it is not whole."""
    try:
        raw = path.read_bytes()
    except OSError:
        return None
    head = len(MAGIC) + 32
    code = raw[head:]
    if not raw.startswith(MAGIC) or hashlib.sha256(code).digest() != raw[len(MAGIC) : head]:
        return None
    with contextlib.suppress(OSError):
        os.utime(path)  # used just now
    return code


def write(path: Path, code: bytes) -> None:
    """Keep an object. A full or read-only disk is no reason to fail."""
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
        try:
            with os.fdopen(handle, "wb") as f:
                f.write(MAGIC + hashlib.sha256(code).digest() + code)
            os.replace(temporary, path)
        except OSError:
            os.unlink(temporary)
            raise
        if path.stat().st_mtime_ns % 64 == 0:  # once in a while
            prune(path.parent.parent)


def prune(where: Path, limit: int = LIMIT) -> None:
    """Remove the files used longest ago until the rest fits."""
    files = sorted(((p.stat().st_mtime, p.stat().st_size, p) for p in where.glob("*/*")), reverse=True)
    total = 0
    for _, size, path in files:
        total += size
        if total > limit:
            with contextlib.suppress(OSError):
                path.unlink()
