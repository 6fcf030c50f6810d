"""Errors, under their classic names."""

# ruff: noqa: F401
from __future__ import annotations

from .core.error import (
    BuildError,
    CallError,
    ExpressionError,
    LabError,
    MissingName,
    ScheduleError,
    ScheduleTypeError,
    ScheduleValueError,
    TVMError,
    VerifyError,
)  # fmt: skip
from .names import lazy

InternalError = TVMError
OpError = TVMError

__getattr__, __dir__ = lazy(__name__, {})
