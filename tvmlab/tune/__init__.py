"""Autotuning: a task's space is searched by measuring, and everything measured is kept.

    result = tune.run(task, trials=200, records="matmul.jsonl")
    result.table(); s, args = result.schedule()

Names load on first use.
"""

from importlib import import_module
from typing import Any

# public name -> the module here that defines it
_WHERE = {
    name: f"{__name__}.{module}"
    for module, names in {
        "session": "run Session",
        "measure": "Setup Measurer Measured",
        "candidate": "candidate Candidate Refused",
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
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_WHERE})
