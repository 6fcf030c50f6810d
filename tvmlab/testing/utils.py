"""Helpers of the classic documentation's own scripts."""

from __future__ import annotations

from typing import Any

from . import __name__ as _parent


def install_request_hook(*args: Any, **kwargs: Any) -> None:
    """The documentation's build redirects downloads with it; here it does nothing."""


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(name)
    from importlib import import_module

    return getattr(import_module(_parent), name)
