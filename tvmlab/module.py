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


def build_module(mod: Any, target: Any) -> Module:
    """A module from a lowered function: release 0.6's `tvm.codegen.build_module`."""
    from .face.api import build

    made: Module = build(mod, target=target)
    return made


__getattr__, __dir__ = lazy(__name__, {})
