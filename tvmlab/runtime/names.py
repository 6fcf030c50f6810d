"""Classic names of the runtime that are only another spelling."""

from __future__ import annotations

from ..core import dtype as dt
from .device import Device, device

context = device  # release 0.6
TVMContext = Device


class DataType(str):
    """A data type as text that knows its parts: `DataType("float32x4").lanes`."""

    def __new__(cls, name: str) -> DataType:
        return str.__new__(cls, dt.canonical(name))

    @property
    def bits(self) -> int:
        return dt.bits(dt.element(self))

    @property
    def lanes(self) -> int:
        return dt.lanes(self)
