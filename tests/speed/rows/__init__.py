"""One file per row of the speed table. The name of a file is the name of its row."""

import pkgutil
from importlib import import_module
from types import ModuleType

ORDER = (
    "lowering",
    "compile",
    "matmul",
    "matmul_int8",
    "conv2d",
    "depthwise",
    "call",
    "memory",
    "threads",
    "tuning",
    "tuned",
    "fleet",
    "gpu",
    "lab",
    "lab_kernel",
)


def names() -> list[str]:
    found = [m.name for m in pkgutil.iter_modules(__path__)]
    return sorted(found, key=lambda n: (ORDER.index(n) if n in ORDER else len(ORDER), n))


def get(name: str) -> ModuleType:
    return import_module(f"{__name__}.{name}")
