"""Arrays of the classic API: `a = array([1, 2, 3])`, `a.numpy()`, `a[:] = b`. On a CPU, an owner of NumPy memory."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..core import dtype as dt
from .device import LAUNCHED, Device, cpu

ALIGN = 64  # bytes: a cache line, and the widest vector
LARGE = 1 << 12  # bytes: of smaller arrays the call itself takes longer
Array = npt.NDArray[Any]


class NDArray:
    """An array of fixed shape and dtype on a device. Only whole-array assignment: `a[:] = value`.

    `data` is its memory as a NumPy array (a view; writing to it writes to the array). One on a device with kernels is a
    `gpu.resident.DeviceArray`.
    """

    __slots__ = ("__weakref__", "data", "device", "dtype", "shape")

    def __init__(self, data: Array, device: Device, dtype: str = "") -> None:
        self.data = data
        self._describe(data, device, dtype)

    def _describe(self, data: Array, device: Device, dtype: str) -> None:
        self.device = device
        self.dtype = dtype or data.dtype.name
        self.shape = data.shape if dt.lanes(self.dtype) == 1 else data.shape[:-1]

    def seen(self) -> Array:
        """Its memory here, to be read now."""
        return self.data

    def changed(self, whole: bool = True) -> Array:
        """Its memory here, to be written now: the `whole`, or a part."""
        return self.data

    def _put(self, source: Any) -> None:
        """New contents. What does not fit leaves the old ones, wherever they are."""
        _same_shape(source.shape, self.mirror.shape)
        self.mirror[...] = source
        self.changed()

    @property
    def mirror(self) -> Array:
        """The memory here, which may be older than another elsewhere."""
        return self.data

    @property
    def ctx(self) -> Device:
        """Release 0.6's name of `device`."""
        return self.device

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64))

    def numpy(self) -> Array:
        """A copy, as a NumPy array."""
        return self.seen().copy()

    asnumpy = numpy

    def copyfrom(self, source: Any) -> NDArray:
        """Take over the values of an array of the same shape, converted to this dtype."""
        if isinstance(source, NDArray):
            source.copyto(self)
            return self
        if not isinstance(source, (np.ndarray, np.generic)):
            try:
                source = np.array(source, dtype=memory_dtype(self.dtype)[0])
            except (TypeError, ValueError) as e:
                raise TypeError(f"cannot make an array of {self.dtype} from {type(source).__name__}") from e
        self._put(source)
        return self

    def copyto(self, target: Any, mem_scope: str | None = None) -> Any:
        """Copy to an array of the same shape, or to a device (a new array). Gives the copy."""
        if isinstance(target, Device):
            made = empty(self.shape, self.dtype, target)
            made._put(self.seen())
            return made
        if not isinstance(target, (NDArray, np.ndarray)):
            raise ValueError(f"cannot copy to {type(target).__name__}: expected an array or a device")
        source = self.seen()
        if isinstance(target, NDArray):
            target._put(source)
        else:
            _same_shape(source.shape, target.shape)
            target[...] = source
        return target

    def same_as(self, other: Any) -> bool:
        """Is `other` this very array?"""
        return self is other

    def __setitem__(self, index: Any, value: Any) -> None:
        if not isinstance(index, slice) or index != slice(None):
            raise ValueError(
                "an nd.array takes whole-array assignment only:  a[:] = value;  for a part, assign a changed a.numpy()"
            )
        if not isinstance(value, (NDArray, np.ndarray, np.generic)):
            raise TypeError(f"cannot assign a {type(value).__name__} to an nd.array: expected an array")
        self.copyfrom(value)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of an array without dimensions")
        return int(self.shape[0])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        if copy is False and dtype is not None and np.dtype(dtype) != self.data.dtype:
            raise ValueError(f"an array of {self.dtype} cannot be seen as {np.dtype(dtype)} without a copy")
        return self.data.astype(dtype or self.data.dtype, copy=bool(copy))

    def __dlpack__(self, **options: Any) -> Any:
        return self.data.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self.data.__dlpack_device__()

    def to_dlpack(self) -> Any:
        return self.data.__dlpack__()

    def __reduce__(self) -> Any:
        return _restore, (self.seen(), self.device, self.dtype)

    def __repr__(self) -> str:
        return f"<tvmlab.nd.NDArray shape={self.shape}, {self.device}>\n{self.seen()!r}"


def _restore(data: Array, device: Device, dtype: str) -> NDArray:
    made = empty(data.shape[: data.ndim - (dt.lanes(dtype) > 1)], dtype, device)
    made._put(data)
    return made


def _same_shape(source: tuple[int, ...], target: tuple[int, ...]) -> None:
    if tuple(source) != tuple(target):
        raise ValueError(f"cannot copy an array of shape {tuple(source)} into one of shape {tuple(target)}")


def memory_dtype(dtype: str) -> tuple[np.dtype[Any], tuple[int, ...]]:
    """How a data type lies in NumPy memory: `float32x4` -> (float32, (4,)), a trailing dimension for the lanes."""
    lanes = dt.lanes(dtype)
    return np.dtype(dt.element(dtype)), () if lanes == 1 else (lanes,)


def aligned(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """Memory for an array, at an address divisible by ALIGN. Its contents are undefined."""
    size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    raw = np.empty(size + ALIGN, np.uint8)
    return np.ndarray(shape, dtype, raw, offset=-raw.ctypes.data % ALIGN)


def astray(named: Iterable[tuple[str, Array]]) -> str:
    """What is said of large arrays that begin within a cache line; "" if there are none."""
    names = [name for name, a in named if a.nbytes >= LARGE and a.ctypes.data % ALIGN]
    if not names:
        return ""
    begin = "begins" if len(names) == 1 else "begin"
    why = "as no nd.array does: vectors may take twice as long to read"
    return f"{', '.join(names)} {begin} within a cache line, {why}"


def empty(
    shape: Any,
    dtype: Any = "float32",
    device: Device | None = None,
    mem_scope: str | None = None,
    ctx: Device | None = None,
) -> NDArray:
    """An array of undefined contents. `ctx`: release 0.6's `device`."""
    where = (device or ctx or cpu()).require()
    name = dt.canonical(dtype if isinstance(dtype, str) else np.dtype(dtype).name)
    base, lanes = memory_dtype(name)
    wanted = (shape,) if isinstance(shape, (int, np.integer)) else tuple(shape)
    return _kind(where)(aligned((*map(int, wanted), *lanes), base), where, name)


def _kind(device: Device) -> Callable[[Array, Device, str], NDArray]:
    if device.session is not None:
        from .rpc.remote import RemoteArray

        return RemoteArray
    if device.kind not in LAUNCHED:
        return NDArray
    from .gpu.resident import DeviceArray

    return DeviceArray


def array(arr: Any, device: Device | None = None, mem_scope: str | None = None, ctx: Device | None = None) -> NDArray:
    """A copy of `arr` (an array, or nested lists) on `device` (release 0.6: `ctx`)."""
    device = device or ctx
    if isinstance(arr, NDArray):
        copy: NDArray = arr.copyto((device or cpu()).require())
        return copy
    source = np.asarray(arr)
    if source.dtype.hasobject or source.dtype.name not in dt.ELEMENTS:
        legal = ", ".join(dt.ELEMENTS[:-1])
        raise TypeError(f"an nd.array cannot hold {source.dtype.name}; the data types are {legal}")
    made = empty(source.shape, source.dtype, device)
    made._put(source)
    return made


def from_dlpack(source: Any) -> NDArray:
    """The memory of another library's CPU array, not copied."""
    data = np.from_dlpack(source)
    return NDArray(data, cpu())


class PackedArgument(np.ndarray):
    """What a packed function gets for a buffer: the memory as a NumPy array that also answers to the classic names."""

    def numpy(self) -> Array:
        return np.array(self)

    asnumpy = numpy

    @property
    def ctx(self) -> Device:
        return Device(1, 0)

    def copyto(self, target: Any) -> Any:
        return NDArray(np.asarray(self), cpu()).copyto(target)

    def copyfrom(self, source: Any) -> PackedArgument:
        NDArray(np.asarray(self), cpu()).copyfrom(source)
        return self


def packed_argument(argument: Any) -> Any:
    """A NumPy array as PackedArgument (the same memory); anything else as it is."""
    return argument.view(PackedArgument) if type(argument) is np.ndarray else argument


# Where in an array object the address of its data lies: after the reference count and the type. Reading that field
# takes 80 ns, `a.ctypes.data` 750 ns.
_FIELD = object.__basicsize__
_read = ctypes.c_size_t.from_address


def address(a: Array) -> int:
    """Where the data of `a` begins."""
    return _read(id(a) + _FIELD).value


def addresses(arrays: Sequence[Array]) -> list[int]:
    return [_read(id(a) + _FIELD).value for a in arrays]


_probe = np.zeros(3, np.int32)[1:]
if address(_probe) != _probe.ctypes.data:  # another Python, another NumPy: the slow way

    def address(a: Array) -> int:
        return a.ctypes.data

    def addresses(arrays: Sequence[Array]) -> list[int]:
        return [a.ctypes.data for a in arrays]
