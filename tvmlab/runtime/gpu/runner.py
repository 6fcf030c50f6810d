"""This side of running kernels: where they run, for how long, and what is said when they do not come to their end.

OpenCL, CUDA C++ and the simulator run in child processes, one of each kind, kept for this process's life: a kernel that
reads outside its arrays may end its process, and an endless one is ended. The next call then starts a new one.
NumPy arrays are copied there for each call, and those that the kernels write are copied back; nd.arrays may stay there
(resident.py).
"""

from __future__ import annotations

import tempfile
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any

from ...core.error import BuildError, LabError
from ...core.program import Function
from ...target.gpu import Command, DeviceCode, commands
from ..device import DeviceError
from ..worker import Outcome, Worker
from . import cuda, devices
from .errors import NO_TIMES, LaunchError
from .session import GONE, LOST

PACKAGE = __package__
CHUNK = 4096  # commands that go over in one job
MOST = 100_000  # commands of a program that is timed
PRELOAD = {"opencl": ("pyopencl",), "simulator": ("numba.cuda",)}  # cuda.core waits for the child: a fork shares no GPU
NO_LIMIT = 1 << 46  # of address space: drivers of devices reserve more of it than there is memory
TIMEOUT = 60.0

_limits = {"opencl": TIMEOUT, "cuda_c": TIMEOUT, "simulator": TIMEOUT}
_runners: dict[str, Runner] = {}
_making = threading.Lock()


def set_timeout(seconds: float, kind: str = "") -> None:
    """How long a call may run in a child process before it is ended. `kind`: opencl, cuda_c or simulator, else
    all of them."""
    if not isinstance(seconds, (int, float)) or not seconds > 0:
        raise LabError("timeout", f"a time limit is a number of seconds above 0, got {seconds!r}")
    if kind and kind not in _limits:
        raise LabError("timeout", f"there is no runner `{kind}`", legal=list(_limits))
    _limits.update({k: float(seconds) for k in ([kind] if kind else _limits)})


def runner(kind: str) -> Runner:
    """The one of that kind: opencl, cuda_c, simulator, or cuda (Numba's, which runs here)."""
    with _making:
        if kind not in _runners:
            _runners[kind] = Here() if kind == "cuda" else Child(kind)
        return _runners[kind]


class Runner(ABC):
    """Calls `tvmlab.runtime.gpu.<kind>:<job>`. `turn`: a call of several jobs has the runner for itself.

    `keeps`: memory may stay there between calls; `life`: another object when the process is another; `gone`: numbers
    of memory that nobody wants any more.
    """

    kind = ""
    keeps = False

    def __init__(self) -> None:
        self.turn, self.life = threading.RLock(), object()
        self.gone: list[int] = []

    def fetch(self, number: int) -> Any:
        """The bytes of memory that stayed there; None if it is gone."""
        with self.turn:
            return self.job("fetch", number)

    def unwanted(self) -> list[int]:
        """What `gone` has; other threads may add to it meanwhile."""
        n = len(self.gone)
        found = self.gone[:n]
        del self.gone[:n]
        return found

    @abstractmethod
    def job(self, name: str, *args: Any, code: DeviceCode | None = None) -> Any:
        """What the job gives; what goes wrong there is raised as an error that a person reads."""


class Here(Runner):
    kind = "cuda"

    def job(self, name: str, *args: Any, code: DeviceCode | None = None) -> Any:
        return getattr(cuda, name)(*args, report=lambda content: None)


class Child(Runner):
    def __init__(self, kind: str) -> None:
        super().__init__()
        self.kind, self.keeps = kind, kind != "simulator"
        self.worker = Worker(
            memory=None if kind == "simulator" else NO_LIMIT,
            preload=(f"{PACKAGE}.{kind}", "numpy", *PRELOAD.get(kind, ())), env=self.environment(),
        )  # fmt: skip

    def environment(self) -> dict[str, str]:
        if self.kind != "opencl":
            return {"NUMBA_ENABLE_CUDASIM": "1"} if self.kind == "simulator" else {}
        # what PoCL keeps of kernels: a child that is ended while it writes there harms no other process
        folder = tempfile.TemporaryDirectory(prefix="tvmlab-pocl-", ignore_cleanup_errors=True)
        self.kept = folder  # as long as this process
        return {"POCL_CACHE_DIR": folder.name}

    def job(self, name: str, *args: Any, code: DeviceCode | None = None) -> Any:
        running: list[str] = []  # kernels that were begun
        outcome = self.worker.run(
            f"{PACKAGE}.{self.kind}:{name}", *args, limit=_limits[self.kind], progress=running.append
        )
        if outcome.ok:
            return outcome.value
        lost = outcome.error is not None and outcome.error.get("rule") == LOST
        if lost:
            self.worker.renew()
        if lost or outcome.kind != "error":
            self.life = object()
        raise failure(outcome, _named(code, running), self.kind)


def _named(code: DeviceCode | None, running: Sequence[str]) -> str:
    """Who was running: the last kernel that was begun, or the only one there is."""
    if running:
        return f"kernel `{running[-1]}`"
    names = [] if code is None else [f"`{k.name}`" for k in code.kernels]
    return "the device" if not names else f"kernel {names[0]}" if len(names) == 1 else f"one of {', '.join(names)}"


# ---------------------------------------------------------------- what went wrong

INTERP = "on target interp the same program names the statement and the loops"
PACE = "some 500 000 turns of loops in a second, of all threads together"
CLASSES = {c.__name__: c for c in (LaunchError, BuildError, DeviceError)}


def failure(outcome: Outcome, who: str, kind: str) -> LabError:
    """The outcome of a job as an error that a person reads."""
    if outcome.kind == "error" and outcome.error is not None:
        return _told(outcome.error, who)
    place = {"opencl": "OpenCL", "cuda_c": "CUDA", "simulator": "the CUDA simulator"}.get(kind, kind)
    if outcome.kind == "crash":
        return LaunchError(
            "kernel-crash", f"{who} ended the process that runs {place}: {outcome.text}",
            hint="most often an index outside an array, or a barrier that not all threads reach; "
            f"{INTERP}. The next call starts a new process",
        )  # fmt: skip
    if outcome.kind == "timeout":
        slow = f"the simulator is slow, {PACE}: a smaller size, or " if kind == "simulator" else ""
        return LaunchError(
            "kernel-timeout", f"{who} did not come to its end on {place}: {outcome.text}",
            hint=f"{slow}a loop without end, or a barrier that not all threads reach? For long runs:  "
            "tvmlab.runtime.gpu.set_timeout(seconds)",
        )  # fmt: skip
    if outcome.kind == "memory":
        return LaunchError("device-memory", f"{who} needs more memory than {place} may have: {outcome.text}")
    if outcome.kind == "cancelled":
        return LaunchError("cancelled", f"{who} was cancelled")
    return DeviceError("no-process", f"{place} cannot be reached: {outcome.text}")


def _told(record: Mapping[str, Any], who: str) -> LabError:
    """An exception in the child: one of ours as it was, any other with the kernel's name."""
    where, legal, hint = record["where"], record["legal"], record["hint"]
    if record["rule"] == "python-error":
        return LaunchError("device-failed", f"{who} failed: {record['message']}", where=where)
    made = CLASSES.get(record["type"], LaunchError)
    return made(record["rule"], record["message"], where=where, legal=legal, hint=hint)


# ---------------------------------------------------------------- calls


NOBODY: Mapping[int, Any] = {}


class Launcher:
    """Runs a compiled program: its kernels, as its host function launches them."""

    def __init__(self, code: DeviceCode, host: Function) -> None:
        self.code, self.host = code, host
        self.names = [b.name for b in host.buffers]
        self.language = code.language

    def where(self) -> Runner:
        """What runs it. Numba's CUDA without a GPU is the simulator."""
        if self.language == "opencl":
            devices.need("opencl")
            return runner("opencl")
        if self.language == "cuda-c":
            devices.need_cuda()
            return runner("cuda_c")
        devices.need("cuda")
        return runner("cuda" if cuda.available() else "simulator")

    def call(
        self, arrays: Sequence[Any], numbers: Sequence[Any], place: int = 0, owners: Mapping[int, Any] = NOBODY
    ) -> None:
        """Run on checked arguments (see `target.base.Compiled`), on device number `place`. `owners`: see `Bound`."""
        work = commands(self.host, numbers)
        chunk = list(islice(work, CHUNK))
        if not chunk:
            return
        at = self.where()
        with at.turn, told(owners):
            ahead = list(islice(work, CHUNK))
            made = self._begun(at, place, arrays, owners, chunk, not ahead)
            while ahead:
                chunk, ahead = ahead, list(islice(work, CHUNK))
                made = at.job("more", chunk, not ahead, code=self.code)
            write_back(arrays, made, owners)

    def _begun(
        self, at: Runner, place: int, arrays: Sequence[Any], owners: Mapping[int, Any], chunk: list[Command], last: bool
    ) -> Any:
        """The first job of a call. A process that ended without a word has no memory of ours: it is given once more."""
        for again in (False, True):
            if at.keeps:
                sent = [owners[i].sent(at) if i in owners else a for i, a in enumerate(arrays)]
            else:
                sent = [owners[i].seen() if i in owners else a for i, a in enumerate(arrays)]
            try:
                return at.job("call", place, self.code, sent, self.names, chunk, last, at.unwanted(), code=self.code)
            except LaunchError as e:
                if e.rule != GONE or again:
                    raise
                at.life = object()
        return None

    @contextmanager
    def timed(
        self, arrays: Sequence[Any], numbers: Sequence[Any], place: int = 0, owners: Mapping[int, Any] = NOBODY
    ) -> Iterator[Any]:
        """A clock: called with a number of runs, it gives the seconds of their kernels by the device's own events."""
        at = self.where()
        if at.kind == "simulator":
            raise DeviceError(
                NO_TIMES, "the CUDA simulator emulates, it does not measure: its times say nothing about a GPU",
                hint="call the module to see its results; for times, build for opencl or for llvm",
            )  # fmt: skip
        work: list[Command] = list(islice(commands(self.host, numbers), MOST + 1))
        if len(work) > MOST:
            raise LabError("too-many-launches", f"a program of more than {MOST} launches is not timed")
        with at.turn, told(owners):
            self._begun(at, place, arrays, owners, [], False)
            sent: list[Command] = work

            def clock(number: int) -> float:
                nonlocal sent
                if not work:
                    return 0.0
                send, sent = sent, []
                return float(at.job("again", send, number, code=self.code))

            yield clock
            write_back(arrays, at.job("finish", code=self.code), owners)


@contextmanager
def told(owners: Mapping[int, Any]) -> Iterator[None]:
    """The owners hear of a call that goes wrong."""
    try:
        yield
    except BaseException:
        for owner in owners.values():
            owner.failed()
        raise


def write_back(arrays: Sequence[Any], made: Mapping[int, Any], owners: Mapping[int, Any]) -> None:
    """What a call has written: into the arrays, or it stays there (None)."""
    for slot, values in made.items():
        if values is None:
            owners[slot].ran()
            continue
        if slot in owners:
            owners[slot].changed()
        if values is not arrays[slot]:
            arrays[slot][...] = values
