"""A workload: the name of a template and its arguments, as plain values that can be compared and saved."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core.error import LabError
from ..core.node import Const, IterVar
from ..core.text import show
from ..expr.tensor import Tensor, placeholder

Workload = tuple[Any, ...]


class ArgumentError(LabError, TypeError):
    """An argument of a template that cannot be saved."""


def workload_of(name: str, args: Sequence[Any]) -> Workload:
    """("matmul", 512, 512, 512, "float32"); a tensor is ("TENSOR", shape, dtype)."""
    return (name, *[plain(a) for a in args])


def plain(x: Any) -> Any:
    """An argument as text can keep it."""
    if isinstance(x, Tensor):
        return ("TENSOR", tuple(plain(n) for n in x.shape), x.dtype)
    if isinstance(x, (tuple, list)):
        return tuple(plain(a) for a in x)
    if isinstance(x, Const):
        return x.value
    if isinstance(x, IterVar):
        return x.name
    if x is None or isinstance(x, (str, int, float, bool)):
        return x
    if hasattr(x, "item"):  # a NumPy number
        return x.item()
    if hasattr(x, "dtype") and hasattr(x, "name"):
        return show(x)
    raise ArgumentError(
        "template-argument", f"a template's arguments are numbers, words, lists and tensors, not {x!r}",
        hint="what else it needs it can make from these",
    )  # fmt: skip


def given(x: Any) -> Any:
    """An argument as the template gets it: saved tensors are inputs again."""
    if isinstance(x, (tuple, list)):
        if len(x) == 3 and x[0] == "TENSOR":
            return placeholder(tuple(x[1]), x[2])
        return tuple(given(a) for a in x)
    return x


def shown(workload: Any) -> str:
    """In a sentence: long texts cut."""
    text = str(workload)
    return text if len(text) <= 200 else f"{text[:200]}..."
