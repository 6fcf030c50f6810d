"""The passes of lowering under their classic names, for a lowered program: `tir.transform.Simplify()(mod)`."""

# ruff: noqa: F401
from __future__ import annotations

from typing import Any

from ..names import missing
from ..transform import OURS, Pass, module_pass, prim_func_pass, standard


def __getattr__(name: str) -> Any:
    if name not in OURS:
        raise missing("tir.transform", name, OURS, {})

    def make(*options: Any, **more: Any) -> Pass:
        return standard(name)

    make.__name__ = name
    return make


def __dir__() -> list[str]:
    return sorted({*OURS, "prim_func_pass", "module_pass"})
