"""The CPU that Numba compiles for: this one, or one that the target names."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from ...core.error import BuildError
from ..base import Target
from ..llvm.jit import lacking


@contextmanager
def compiling_for(target: Target) -> Iterator[None]:
    """Inside, Numba compiles for the target's CPU.

    Numba reads its CPU once, when it makes its code generator; so another generator is put in its place, and the
    compiler's own lock is held meanwhile. Vectors wider than the CPU's registers become several registers.
    """
    if target.triple:
        raise BuildError(
            "cross-compilation",
            f"the target `numba` compiles for the machine it runs on, not for `{target.triple}`",
            legal=[f'Target("llvm", triple="{target.triple}")'],
        )
    if not target.cpu and not target.features:
        yield
        return
    if missing := lacking(target.cpu):
        lacks = ", ".join(missing)
        raise BuildError("cpu-too-new", f"this machine cannot run code for `{target.cpu}`: its CPU lacks {lacks}")
    from numba.core.compiler_lock import global_compiler_lock
    from numba.core.registry import cpu_target

    config, context = numba_config(), cpu_target.target_context
    with global_compiler_lock:
        kept = config.CPU_NAME, config.CPU_FEATURES, context._internal_codegen
        context._internal_codegen = _generator(target.cpu, target.features)
        config.CPU_NAME, config.CPU_FEATURES = _settings(target.cpu, target.features)
        try:
            yield
        finally:
            config.CPU_NAME, config.CPU_FEATURES, context._internal_codegen = kept


def numba_config() -> Any:
    """Numba's settings, whose names type checkers do not see."""
    from numba.core import config

    return config


def _settings(cpu: str, features: str) -> tuple[str | None, str | None]:
    """A named CPU has only what its name says; extra features of this machine's CPU come on top of its own."""
    if cpu:
        return cpu, features
    import llvmlite.binding as llvm

    return None, f"{llvm.get_host_cpu_features().flatten()},{features}"


@cache
def _generator(cpu: str, features: str) -> Any:
    """Numba's code generator for a CPU; it reads the settings when it is made."""
    from numba.core import codegen

    config = numba_config()
    kept = config.CPU_NAME, config.CPU_FEATURES
    config.CPU_NAME, config.CPU_FEATURES = _settings(cpu, features)
    try:
        return codegen.JITCPUCodegen(f"tvmlab.{cpu or 'host'}")
    finally:
        config.CPU_NAME, config.CPU_FEATURES = kept
