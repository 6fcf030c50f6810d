"""The memory of a buffer: its elements, what is written already, and who touched what last."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core import dtype as dt
from ...core.node import Buffer


def numpy_type(dtype: str) -> Any:
    """The NumPy type of an element; vectors of a buffer's dtype are lanes of it."""
    name = dt.element(dtype)
    return np.dtype("bool" if name == "bool" else "uint64" if name == "handle" else name)


def compact_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    strides, size = [1] * len(shape), 1
    for d in range(len(shape) - 1, -1, -1):
        strides[d] = size
        size *= max(shape[d], 1)
    return tuple(strides)


class Memory:
    """`data` is one-dimensional; element `index` is at `offset + sum(index * strides)`.

    `view`: the same memory for scalar accesses (gives Python numbers, or NumPy scalars of float16 and float32).
    `init`, `written` (one memory, as a memoryview and as an array): per element, the number of the allocation in which
    it was last written (None: all is initialised).
    `writer`, `readers`: the task that wrote an element last, those that read it since (see tasks.py).
    """

    __slots__ = (
        "buffer", "data", "view", "shape", "strides", "offset", "logical", "init", "written", "writer", "writer_site",
        "readers",
    )  # fmt: skip

    def __init__(
        self,
        buffer: Buffer,
        data: Any,
        shape: tuple[int, ...],
        strides: tuple[int, ...] | None,
        offset: int,
        logical: tuple[int, ...] | None,
    ) -> None:
        self.buffer, self.data, self.shape, self.offset, self.logical = buffer, data, shape, offset, logical
        self.strides = compact_strides(shape) if strides is None else strides
        self.view = data if data.dtype.char in "ef" else memoryview(data)
        self.init: Any = None
        self.written: Any = None
        self.writer: Any = None
        self.writer_site: dict[int, int] = {}
        self.readers: dict[int, dict[int, int]] = {}

    @property
    def name(self) -> str:
        return self.buffer.owner.name

    @property
    def size(self) -> int:
        return int(self.data.shape[0])

    def shadowed(self, forget: bool, track: bool) -> Memory:
        """With shadows: `forget`, nothing counts as written yet; `track`, who touches it is noted."""
        if forget:
            self.written = np.zeros(self.size, np.int32)
            self.init = memoryview(self.written)
        if track:
            self.writer = [0] * self.size
        return self

    def address(self, index: tuple[Any, ...]) -> Any:
        return self.offset + sum((i * s for i, s in zip(index, self.strides)), start=0)

    def element(self, address: int) -> tuple[int, ...]:
        """The logical index of the element at an address (of a strided buffer: the address itself)."""
        shape = self.logical if self.logical is not None else self.shape
        if self.buffer.owner.strides is not None:
            return (address,)
        rest, index = address - self.offset, []
        for extent in reversed(shape[1:]):
            index.append(rest % extent if extent > 0 else 0)
            rest = rest // extent if extent > 0 else rest
        return tuple(reversed([*index, rest])) if shape else ()

    def array(self) -> Any:
        """The whole buffer as an array of its logical shape, on the same memory."""
        if self.logical is not None:
            return self.data[: int(np.prod(self.logical, dtype=np.int64))].reshape(self.logical)
        strides = tuple(s * self.data.itemsize for s in self.strides)
        return np.lib.stride_tricks.as_strided(self.data[self.offset :], self.shape, strides)


def allocate(buffer: Buffer, shape: tuple[int, ...], strides: tuple[int, ...] | None, logical: Any) -> Memory:
    """Fresh memory, filled with what makes an unnoticed read show: NaN, the largest integer."""
    layout = compact_strides(shape) if strides is None else strides
    size = 0 if 0 in shape else 1 + sum((n - 1) * s for n, s in zip(shape, layout))
    kind = numpy_type(buffer.dtype)
    junk: Any = np.nan if kind.kind == "f" else True if kind.kind == "b" else np.iinfo(kind).max
    return Memory(buffer, np.full(size, junk, kind), shape, strides, 0, logical)


def memory_of(array: Any) -> Any:
    """All the elements that `array` spans, from its first on, as one dimension of the same memory."""
    if array.flags.c_contiguous:
        return array.reshape(-1)
    if any(s < 0 or s % array.itemsize for s in array.strides):
        raise ValueError("strides must be positive and whole elements")
    span = (
        0 if array.size == 0 else 1 + sum((n - 1) * (s // array.itemsize) for n, s in zip(array.shape, array.strides))
    )
    return np.lib.stride_tricks.as_strided(array, (span,), (array.itemsize,))
