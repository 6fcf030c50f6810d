"""Targets: one file (or folder) each, found by its name. `get("llvm")` loads the record of that target.

The classic functions are here too: `target.Target("llvm -mcpu=...")`, `target.create("llvm")`.
"""

from __future__ import annotations

from typing import Any

from ..core.error import MissingName
from .base import ALIASES, Compiled, Target, TargetKind, get, names

__all__ = ["ALIASES", "Compiled", "Target", "TargetKind", "create", "cuda", "current_target", "get", "names"]

_GPU = {"rocm", "mali", "bifrost", "intel_graphics", "opengl", "hexagon", "adreno", "vta", "aocl", "sdaccel"}
_CPU = {"arm_cpu", "rasp", "riscv_cpu", "x86", "sparc"}


def create(target: Any, host: Any = None) -> Target:
    """The classic name of `Target(text)`."""
    return Target(target)


def cuda(model: str = "unknown", arch: str | None = None, options: Any = None) -> Target:
    """The classic `Target("cuda -arch=sm_90")`. `model`: a card's name; `options`: more words."""
    words = [options] if isinstance(options, str) else list(options or ())
    return Target(" ".join(["cuda", *([f"-arch={arch}"] if arch else []), *words]))


def current_target(allow_none: bool = True) -> Target | None:
    """The target of the innermost `with` block."""
    return Target.current(allow_none)


def __getattr__(name: str) -> Any:
    if name in _GPU:
        raise MissingName("not-yet", f"target.{name} is not there yet", legal=[f'Target("{n}")' for n in names()])
    if name in _CPU:
        raise MissingName(
            "not-yet", f"target.{name} is not there yet",
            hint='name the processor instead:  Target("llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a72")',
        )  # fmt: skip
    if name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    raise MissingName("unknown-name", f"there is no target.{name}", legal=[f"target.{n}" for n in __all__])
