"""Compiled modules, under the names of release 0.6: `tvm.module.load(path)`, `tvm.module.enabled("llvm")`."""

# ruff: noqa: F401
from __future__ import annotations

from typing import Any

from .core.error import MissingName
from .names import lazy
from .runtime.module import Module, enabled
from .runtime.module import load_module as load


def system_lib(symbol_prefix: str = "") -> Any:
    """Functions linked into the running program: there are none here."""
    raise MissingName(
        "no-system-lib", "there is no system library in tvmlab", hint="load a file with runtime.load_module"
    )


__getattr__, __dir__ = lazy(__name__, {"build_module": "tvmlab.face.api:build"})
