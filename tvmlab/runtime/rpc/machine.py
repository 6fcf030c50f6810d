"""Which machine a library is for, by its ELF header: a wrong one is refused before the system tries to load it."""

from __future__ import annotations

import platform
import struct
from pathlib import Path

# ELF's numbers of machines -> their names, as `uname -m` says them
NAMES = {3: "i686", 40: "arm", 62: "x86_64", 183: "aarch64", 243: "riscv64"}
HEADER = struct.Struct("<4sBB10xHH")  # magic, class, byte order, kind of file, machine
SHARED, RELOCATABLE = 3, 1


def architecture() -> str:
    """This machine's name."""
    return {"arm64": "aarch64", "amd64": "x86_64"}.get(name := platform.machine().lower(), name)


def refusal(path: Path, here: str) -> str:
    """Why that file cannot be loaded on a machine of that name; "" where nothing speaks against it."""
    with open(path, "rb") as f:
        head = f.read(HEADER.size)
    if len(head) < HEADER.size or head[:4] != b"\x7fELF":
        return "" if platform.system() == "Darwin" else "it is no shared library"
    _, wide, order, kind, number = HEADER.unpack(head)
    if kind != SHARED:
        what = "an object file, which has to be linked first" if kind == RELOCATABLE else "no shared library"
        return f"it is {what}"
    name = NAMES.get(number, f"a machine of ELF's number {number}")
    if name != here or wide != (1 if here in ("arm", "i686") else 2) or order != 1:
        return f"it is for {name}, this machine is {here}"
    return ""
