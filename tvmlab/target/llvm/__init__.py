"""The target `llvm`: the loop IR printed as LLVM IR and compiled in this process."""

from __future__ import annotations

from ..base import TargetKind
from .compiling import compile, source

TARGET = TargetKind(
    name="llvm",
    about="machine code through LLVM, in this process; vectors, threads, symbolic shapes",
    source=source,
    compile=compile,
    scopes=frozenset({"global", "local", "shared", "warp"}),
    title="LLVM IR",
    syntax="llvm",
    forms=("asm",),
)
