"""An operation's attributes: plain Python values that also answer as the classic constants did."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ..core.build import const


class StringImm(str):
    """A string that also answers to the classic `.value`."""

    __slots__ = ()

    @property
    def value(self) -> str:
        return str(self)


class IntValue(int):
    """A whole number that also answers to the classic `.value`."""

    @property
    def value(self) -> int:
        return int(self)


def answering(value: Any) -> Any:
    """Numbers and strings, also inside lists and mappings, that answer to `.value`."""
    if isinstance(value, str):
        return StringImm(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return IntValue(value)
    if isinstance(value, (list, tuple)):
        return type(value)(answering(v) for v in value)
    if isinstance(value, dict):
        return {k: answering(v) for k, v in value.items()}
    return value


class Attrs(dict[str, Any]):
    """An operation's attributes, printed as JSON; their values answer to `.value`."""

    def __init__(self, given: Any) -> None:
        super().__init__({k: answering(v) for k, v in dict(given or {}).items()})

    def __str__(self) -> str:
        return json.dumps(self, default=str)

    __repr__ = __str__


def convert(value: Any, span: Any = None) -> Any:
    """A Python value as the stack has it: numbers as constants, also inside containers; functions as they are."""
    if isinstance(value, (list, tuple)):
        return [convert(v) for v in value]
    if isinstance(value, Mapping):
        return {k if isinstance(k, str) else convert(k): convert(v) for k, v in value.items()}
    if isinstance(value, (bool, int, float)):
        return const(value)
    if isinstance(value, str):
        return StringImm(value)
    return value
