"""Autotuning: templates, the spaces they open, and the search in them by measuring; everything measured is kept.

    @tune.template("matmul")
    def matmul(n): ...
    task = tune.create("matmul", [512], "llvm")
    task = tune.Task.of(C, [A, B, C], "llvm")          without a template, for any expression
    task = tune.Task.opened(s, [A, B, C], {"e1.factor": [8, 16, 32]})      parameters of the steps a schedule has
    result = tune.run(task, trials=200, records="matmul.jsonl")
    result.table(); s, args = result.schedule()

Names load on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

# public name -> the module here that defines it
_WHERE = {
    name: f"{__name__}.{module}"
    for module, names in {
        "space": "Space Config ConfigSpace ConfigEntity SpaceError",
        "entities": "SplitEntity ReorderEntity AnnotateEntity OtherOptionEntity",
        "task": "Task create InstantiationError",
        "templates": "template",
        "parameters": "openable Parameter",
        "dispatch": "get_config DispatchContext ApplyConfig ApplyFixedConfig ApplyHistoryBest FallbackContext",
        "fallback": "FallbackConfigEntity",
        "flop": "compute_flop",
        "model": "CostModel learned",
        "session": "run Session",
        "measure": "Setup Measurer Measured",
        "remote": "Boards BoardMeasurer",
        "candidate": "candidate Candidate Refused",
        "fleet": "Fleet",
        "result": "Result",
        "records": "Record Log load best apply_best import_autotvm export_autotvm",
    }.items()
    for name in names.split()
    if name != module
}


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_WHERE[name]), name)
    globals()[name] = value  # also where it replaces a module of the same name
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_WHERE})
