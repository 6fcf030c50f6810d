"""Arrays on a device with kernels: their memory is there from the first call that takes them until they change here.

    a = nd.array(x, opencl(0))       here
    f(a, b); f(a, b)                 copied there once; what `f` writes stays there
    b.numpy()                        copied back, since it is newer there

Where the process that holds it ends, what was newer there is gone, and the array says so; what is the same here is
copied again. An array whose `data` was handed out may be changed at any time: it is copied for each call.
"""

from __future__ import annotations

import itertools
import weakref
from typing import Any

import numpy as np

from ..array import Array, NDArray
from ..device import Device, DeviceError
from .session import Kept

_numbers = itertools.count(1)


class Residence:
    """Memory in the process of a runner, until nobody refers to it."""

    def __init__(self, runner: Any) -> None:
        self.runner, self.life, self.number = runner, runner.life, next(_numbers)
        weakref.finalize(self, runner.gone.append, self.number)

    def there(self, runner: Any) -> bool:
        """In that runner, whose process is the same still?"""
        return self.runner is runner and self.life is runner.life


class DeviceArray(NDArray):
    """`_newer`: what is there is not what is here. `_shown`: others hold views of the memory here."""

    __slots__ = ("_host", "_newer", "_residence", "_shown")

    def __init__(self, data: Array, device: Device, dtype: str = "") -> None:
        self._host, self._newer, self._shown = data, False, False
        self._residence: Residence | None = None
        self._describe(data, device, dtype)

    @property
    def data(self) -> Array:  # type: ignore[override]
        self._shown = True
        return self.changed(whole=False)

    def seen(self) -> Array:
        home = self._residence
        if self._newer and home is not None:
            with home.runner.turn:  # no call of another thread writes it meanwhile
                self._fetch()
        return self._host

    def _fetch(self) -> None:
        home = self._residence
        if not self._newer or home is None:
            return
        flat = home.runner.fetch(home.number) if home.there(home.runner) else None
        if flat is None:
            raise self._lost()
        self._host.reshape(-1).view(np.uint8)[:] = flat
        self._newer = False

    def changed(self, whole: bool = True) -> Array:
        if not whole:
            self.seen()
        self._residence, self._newer = None, False
        return self._host

    def _lost(self) -> DeviceError:
        return DeviceError(
            "device-lost", f"the contents of this array are gone: the process that held the memory of {self.device} "
            "has ended", hint="compute it again; a[:] = values gives it new contents",
        )  # fmt: skip

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        if copy is False:
            return super().__array__(dtype, copy)
        return self.seen().astype(dtype or self._host.dtype)

    # ------------------------------------------------------------ calls

    @property
    def keeps(self) -> bool:
        """May its memory stay there?"""
        return not self._shown

    @property
    def mirror(self) -> Array:
        return self._host

    def sent(self, runner: Any) -> Kept | Array:
        """What a call in that runner takes."""
        if self._shown:  # since its arguments were checked
            return self.seen()
        home = self._residence
        if home is None or not home.there(runner):
            array = self.seen()
            home = self._residence = Residence(runner)
            return Kept(home.number, array)
        return Kept(home.number, None)

    def ran(self) -> None:
        """A call has written it there."""
        self._newer = True

    def failed(self) -> None:
        """A call went wrong: what is here is what it was before. What is newer there may be written in part."""
        if not self._newer:
            self._residence = None
