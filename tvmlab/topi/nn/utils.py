"""Padding arguments, as the classic sources take them apart."""

from __future__ import annotations

from typing import Any

from ...kernels._shared import pads


def get_pad_tuple(padding: Any, kernel: Any) -> tuple[Any, ...]:
    """(top, left, bottom, right) of a padding argument: numbers, SAME or VALID."""
    return get_pad_tuple_generic(padding, kernel)


def get_pad_tuple1d(padding: Any, kernel: Any) -> tuple[Any, ...]:
    """(left, right)"""
    return get_pad_tuple_generic(padding, kernel if isinstance(kernel, (tuple, list)) else (kernel,))


def get_pad_tuple3d(padding: Any, kernel: Any) -> tuple[Any, ...]:
    """(front, top, left, back, bottom, right)"""
    return get_pad_tuple_generic(padding, kernel)


def get_pad_tuple_generic(padding: Any, kernel: Any) -> tuple[Any, ...]:
    before, after = pads(padding, list(kernel))
    return (*before, *after)
