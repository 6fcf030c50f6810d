"""Targets: one file (or folder) each, found by its name. `get("llvm")` loads the record of that target."""

from .base import Compiled, Target, TargetKind, get, names

__all__ = ["Compiled", "Target", "TargetKind", "get", "names"]
