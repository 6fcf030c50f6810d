"""The work of one call inside the process that runs kernels: memory by slot, then commands. What backends share.

A call arrives in one job, or in several when its host loops are long; the session stays open between them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core import dtype as dt
from ...target.gpu.code import Allocate, Command, DeviceCode, Free, Launch
from .errors import LaunchError

Report = Callable[[Any], None]
FAULTS = -1  # the slot where checked kernels record the first index that is outside its array
CHECKED = 'PassContext(config={"tir.instrument_bound_checkers": True})'
GONE = "memory-gone"  # the rule of an error: memory that was to stay is not here
LOST = "device-lost"  # the rule of an error after which the process is good for nothing more


@dataclass(frozen=True)
class Kept:
    """An argument whose memory stays: it is here already under its number, or `array` is what it begins as."""

    number: int
    array: Any


class Held(ABC):
    """Memory that stays between calls."""

    nbytes: int

    @abstractmethod
    def bytes(self) -> Any:
        """What it holds, as a NumPy array of bytes."""


class Session(ABC):
    """Memory of one call on one device. `written`: the slots that a launch may have changed."""

    def __init__(self, code: DeviceCode, report: Report) -> None:
        self.code, self.report = code, report
        self.params = {k.name: k.params for k in code.kernels}
        self.written: set[int] = set()
        self.staying: dict[int, int] = {}  # slots whose memory stays -> its number
        self.sizes: dict[int, int] = {}  # bytes of each slot
        self.names: dict[int, str] = {}
        self.arguments = 0  # the slots of a call before all others
        self._told = ""

    @abstractmethod
    def upload(self, slot: int, array: Any) -> None:
        """An argument's memory."""

    def argument(self, slot: int, given: Any) -> None:
        """An argument's memory, or memory that is here already."""
        if not isinstance(given, Kept):
            return self.upload(slot, given)
        if given.array is not None:
            self.upload(slot, given.array)
            _kept[given.number] = self.held(slot)
        elif given.number in _kept:
            self.take(slot, _kept[given.number])
        else:
            raise LaunchError(GONE, f"the memory of `{self.names.get(slot, slot)}` is not in this process")
        self.staying[slot] = given.number
        return None

    def held(self, slot: int) -> Held:
        """An argument's memory, for calls to come."""
        raise NotImplementedError

    def take(self, slot: int, held: Any) -> None:
        """An argument's memory is what an earlier call has left."""
        raise NotImplementedError

    def look_around(self, slot: int) -> None:
        """Refuse what a kernel has written just outside an array, where its memory has such room; that room is then
        as before, for the calls to come."""
        return None

    def elsewhere(self) -> int:
        """Bytes of memory that other calls have left."""
        return sum(held.nbytes for number, held in _kept.items() if number not in self.staying.values())

    @abstractmethod
    def allocate(self, slot: int, nbytes: int) -> None:
        """Memory of undefined contents."""

    @abstractmethod
    def free(self, slot: int) -> None: ...

    @abstractmethod
    def start(self, launch: Launch) -> None:
        """Begin a kernel; kernels run in the order in which they are started."""

    @abstractmethod
    def finish(self) -> float:
        """Wait for all kernels; the seconds that they took by the device's own clock since the last time."""

    @abstractmethod
    def read(self, slot: int) -> Any:
        """What lies in an argument's memory now."""

    def refuse_written(self, slot: int, before: Any, after: Any) -> None:
        """`before`, `after`: which of the bytes around an array, that are nobody's, were changed."""
        if not (before.any() or after.any()):
            return
        names = ", ".join(f"`{k.name}`" for k in self.code.kernels)
        far = f"{len(before) - int(np.flatnonzero(before)[0])} bytes before its start" if before.any() else (
            f"{int(np.flatnonzero(after)[0])} bytes behind its end")  # fmt: skip
        raise LaunchError(
            "out-of-bounds-write", f"kernel {names} wrote outside `{self.names.get(slot, slot)}`: {far}",
            hint="on target interp the same program names the statement and the index; a write further away is not "
            f"seen here, but found in a module built with {CHECKED}",
        )  # fmt: skip

    def watched(self, launch: Launch) -> list[Any]:
        """The elements of the arrays that a checked kernel takes."""
        params = self.params[launch.kernel]
        slots = [(rest[0], p) for p, (what, *rest) in zip(params, launch.args, strict=True) if what == "buffer"]
        return [np.int64(self.sizes[slot] // dt.size(dt.element(p.dtype))) for slot, p in slots]

    def refuse_faults(self) -> None:
        """What a checked kernel has recorded."""
        found = self.read(FAULTS)
        if not found[0]:
            return
        site = (self.code.sites or ())[found[0] - 1]
        at, room = (int(np.frombuffer(found[k : k + 2].tobytes(), np.int64)[0]) for k in (1, 3))
        index = f"{at}" if site.lanes == 1 else f"{at}:{at + site.lanes}"
        n = room + site.lanes - 1
        raise LaunchError(
            "out-of-bounds",
            f"kernel `{site.kernel}` {'writes' if site.writes else 'reads'} `{site.array}[{index}]`, which has "
            f"{n} element{'s' * (n != 1)}",
            where=site.where, hint="indices here are places in memory; target interp has them by dimension",
        )  # fmt: skip

    def do(self, command: Command) -> None:
        if isinstance(command, Allocate):
            self.names[command.slot] = command.name
            self.allocate(command.slot, command.nbytes)
        elif isinstance(command, Free):
            self.free(command.slot)
        else:
            self._launch(command)

    def _launch(self, launch: Launch) -> None:
        several = len(self.code.kernels) > 1
        if several and launch.kernel != self._told:
            self.report(launch.kernel)  # so that the other side can name it when this process dies
            self._told = launch.kernel
        params = self.params[launch.kernel]
        if len(params) != len(launch.args):
            message = f"kernel `{launch.kernel}` takes {len(params)} arguments, {len(launch.args)} are given"
            raise LaunchError("kernel-arguments", message)
        for param, (what, *rest) in zip(params, launch.args, strict=True):
            if what == "buffer" and param.written:
                self.written.add(rest[0])
        self.start(launch)


Open = Callable[[int, DeviceCode, Report], Session]
_open: list[Session] = []
_kept: dict[int, Held] = {}
_repeated: list[Command] = []


# ---------------------------------------------------------------- jobs: what a backend is asked by the other side


def call(
    make: Open, place: int, code: DeviceCode, arrays: Sequence[Any], names: Sequence[str], commands: Sequence[Command],
    last: bool, gone: Sequence[int], report: Report,
) -> Any:  # fmt: skip
    """Begin a call: what was open is forgotten, the arguments go into memory. With `last`, `finish` it too.

    `gone`: numbers of memory that nobody wants any more.
    """
    _open.clear()
    for number in gone:
        _kept.pop(number, None)
    session = make(place, code, report)
    session.names.update(enumerate(names))
    session.arguments = len(arrays)
    for slot, a in enumerate(arrays):
        session.argument(slot, a)
    if code.sites is not None:
        session.upload(FAULTS, np.zeros(5, np.int32))
    _open.append(session)
    return more(commands, last, report)


def more(commands: Sequence[Command], last: bool, report: Report) -> Any:
    """Carry out commands of the open call; with `last`, the written arrays."""
    _go_on(commands, report)
    return finish(report) if last else None


def again(commands: Sequence[Command], number: int, report: Report) -> float:
    """The same commands `number` times; the kernels' seconds, all together. None given: those of the last time."""
    if commands:
        _repeated[:] = commands
    return sum(_go_on(_repeated, report) for _ in range(number))


def finish(report: Report) -> dict[int, Any]:
    """The arguments that were written, None for those whose memory stays; other memory is gone."""
    session = _open.pop()
    written = [slot for slot in sorted(session.written) if slot < session.arguments]
    wrong = [e for slot in session.staying if (e := _outside(session, slot)) is not None]
    if wrong:
        raise wrong[0]
    return {slot: None if slot in session.staying else np.ascontiguousarray(session.read(slot)) for slot in written}


def _outside(session: Session, slot: int) -> LaunchError | None:
    """Was something written just outside this array?"""
    try:
        session.look_around(slot)
    except LaunchError as e:
        return e
    return None


def fetch(number: int, report: Report) -> Any:
    """The bytes of memory that stays; None if it is not here."""
    return _kept[number].bytes() if number in _kept else None


def _go_on(commands: Sequence[Command], report: Report) -> float:
    """The kernels' seconds."""
    (session,) = _open
    session.report = report
    for c in commands:
        session.do(c)
    seconds = session.finish()
    if session.code.sites is not None:
        session.refuse_faults()
    return seconds
