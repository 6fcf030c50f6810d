"""Tuning: templates, the spaces they open, and the search in them.

    @tune.template("matmul")
    def matmul(n): ...
    task = tune.create("matmul", [512], "llvm");  task.space;  task.instantiate(task.space.get(7))
    task = tune.Task.of(C, [A, B, C], "llvm")          without a template, for any expression

Names load on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_WHERE = {
    name: f"{__name__}.{module}"
    for module, names in {
        "space": "Space Config ConfigSpace ConfigEntity SpaceError",
        "entities": "SplitEntity ReorderEntity AnnotateEntity OtherOptionEntity",
        "task": "Task create InstantiationError",
        "templates": "template",
        "dispatch": "get_config DispatchContext ApplyConfig ApplyFixedConfig ApplyHistoryBest FallbackContext",
        "fallback": "FallbackConfigEntity",
        "flop": "compute_flop",
    }.items()
    for name in names.split()
}


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_WHERE[name]), name)
    globals()[name] = value  # also where it replaces a module of the same name
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_WHERE})
