"""Errors, under their classic names."""

# ruff: noqa: F401
from __future__ import annotations

from .core.error import (
    BuildError,
    CallError,
    ExpressionError,
    ExpressionTypeError,
    LabError,
    MissingName,
    ScheduleError,
    ScheduleTypeError,
    ScheduleValueError,
    ShapeError,
    TVMError,
    VerifyError,
)  # fmt: skip
from .names import lazy

InternalError = TVMError
OpError = TVMError

__getattr__, __dir__ = lazy(__name__, {})
