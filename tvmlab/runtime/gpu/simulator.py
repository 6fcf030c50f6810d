"""Numba's CUDA simulator: kernels as Python threads, for trying and testing without a GPU. Runs in a child process.

The child is made with NUMBA_ENABLE_CUDASIM=1, so nobody else's Numba is changed. Three things are done better than the
simulator does by itself: threads run one at a time from barrier to barrier, in order (so a divergent barrier is found,
and `syncwarp` exists); an index below zero is refused; mathematics gives infinities and NaNs instead of exceptions.
A kernel without barriers needs no threads of Python: its threads are calls, one after the other.
It emulates, it does not measure: there are no times.
"""

from __future__ import annotations

import linecache
import math
import sys
import threading
import warnings
from collections.abc import Iterator
from functools import cache, partial
from importlib import import_module
from typing import Any

import numpy as np

from ...core import dtype as dt
from ...core.threads import WARP
from ...target.gpu.code import DeviceCode, Launch
from ...target.gpu.limits import CUDA_STATIC
from . import fits, session
from .errors import LaunchError
from .session import Report
from .source import PREFIX, module

# what every CUDA device of the last ten years takes
ROOM = fits.Room("a CUDA device", 1024, (1024, 1024, 64), CUDA_STATIC, (2**31 - 1, 65535, 65535))


# ---------------------------------------------------------------- a call


class Session(session.Session):
    def __init__(self, code: DeviceCode, report: Report) -> None:
        super().__init__(code, report)
        self.module = _module(code.key, code.source)
        self.memory: dict[int, Any] = {}

    @classmethod
    def on(cls, place: int, code: DeviceCode, report: Report) -> Session:
        _prepare()
        return cls(code, report)

    def upload(self, slot: int, array: Any) -> None:
        self.memory[slot] = array if array.flags.writeable else array.copy()  # the simulator writes all arrays back

    def allocate(self, slot: int, nbytes: int) -> None:
        self.memory[slot] = np.zeros(nbytes, np.uint8)

    def free(self, slot: int) -> None:
        del self.memory[slot]

    def start(self, launch: Launch) -> None:
        fits.check(launch, self.code, ROOM)
        kernel = getattr(self.module, launch.kernel)
        args = []
        for param, (what, *rest) in zip(self.params[launch.kernel], launch.args, strict=True):
            args.append(_flat(self.memory[rest[0]], param.dtype) if what == "buffer" else number(rest[1], param.dtype))
        try:
            kernel[launch.grid, launch.block](*args)
        except LaunchError as e:
            raise LaunchError(e.rule, f"kernel `{launch.kernel}`: {e.message}", e.where, hint=e.hint) from None
        except Exception as e:
            raise _failed(launch.kernel, e, self.module) from None

    def finish(self) -> float:
        return 0.0

    def read(self, slot: int) -> Any:
        return self.memory[slot]


def _flat(memory: Any, dtype: str) -> Any:
    flat = memory.reshape(-1)
    base = np.dtype(dt.element(dtype))
    return flat if flat.dtype == base else flat.view(base)


def number(value: Any, dtype: str) -> Any:
    """Integers as Python's, so that indices do not wrap; floats rounded to their type."""
    if dt.is_bool(dtype):
        return bool(value)
    if dt.is_int(dtype):
        return int(value)
    return np.float32(np.float16(value)) if dtype == "float16" else np.dtype(dtype).type(value)


def _failed(kernel: str, e: Exception, module: Any) -> LaunchError:
    """An exception in a thread: which thread, and at which line of the source."""
    where, tb = [], e.__traceback__
    while tb is not None:
        if tb.tb_frame.f_code.co_filename == module.__file__:
            line = linecache.getline(module.__file__, tb.tb_lineno).strip()
            where = [f"line {tb.tb_lineno}:  {line}"]
        tb = tb.tb_next
    rule = "out-of-bounds" if isinstance(e, IndexError) else "kernel-failed"
    what = "an index outside an array" if isinstance(e, IndexError) else type(e).__name__
    hint = "on target interp the same program names the statement and the loops"
    return LaunchError(rule, f"kernel `{kernel}` failed in the simulator: {what}: {e}", where, hint=hint)


call, more, finish = partial(session.call, Session.on), session.more, session.finish


# ---------------------------------------------------------------- the module


@cache
def _module(key: str, source: str) -> Any:
    """Its `math` is one that knows infinities."""
    made = module(key, source)
    if "math" in vars(made):
        vars(made)["math"] = _Math()
    return made


class _Math:
    """Python's `math` with the results of C: exp(1000) is infinity, log(-1) is no number."""

    NUMPY = {
        **{n: n for n in "exp exp2 log log2 log10 log1p sqrt sin cos tan sinh cosh tanh fmod hypot copysign".split()},
        **{f"a{n}": f"arc{n}" for n in "sin cos tan sinh cosh tanh".split()},
        "pow": "power", "atan2": "arctan2", "ldexp": "ldexp", "isnan": "isnan", "isinf": "isinf",
        "isfinite": "isfinite", "floor": "floor", "ceil": "ceil", "trunc": "trunc",
    }  # fmt: skip

    def __getattr__(self, name: str) -> Any:
        found = getattr(np, self.NUMPY[name]) if name in self.NUMPY else getattr(math, name)
        if name in ("floor", "ceil", "trunc"):
            function = found
            found = lambda x: int(function(x))  # noqa: E731  # as Python's and Numba's
        setattr(self, name, found)
        return found


# ---------------------------------------------------------------- threads in lock step


@cache
def _prepare() -> None:
    """Put our block of threads into the simulator."""
    inside, module = _part("cudadrv.devicearray").FakeWithinKernelCUDAArray, _part("kernelapi").FakeCUDAModule
    warnings.simplefilter("ignore")  # integers that wrap, divisions of floats by zero
    sys.setswitchinterval(1.0)  # one thread runs at a time anyway
    kernel = _part("kernel")
    kernel.BlockManager = _block(kernel.BlockThread)
    module.threadIdx = property(lambda self: (_alone[0] or _current()).threadIdx)
    module.blockIdx = property(lambda self: (_alone[0] or _current()).blockIdx)
    module.syncwarp = lambda self, mask=None: _current().wait_for("warp")
    inside.__getitem__ = lambda self, i: self._item._ary[_index(i)]
    inside.__setitem__ = lambda self, i, value: self._item._ary.__setitem__(_index(i), value)


WAITS = {"syncthreads", "syncwarp"}
_alone: list[Any] = [None]  # the thread that runs, where a kernel's threads are no threads of Python


class _Lane:
    """A thread of a kernel without barriers: a plain call, some hundred times cheaper than a thread."""

    def __init__(self, at: Any, place: Any) -> None:
        dim = _part("kernelapi").Dim3
        self.blockIdx, self.threadIdx = dim(*at), dim(*place)


def _part(name: str) -> Any:
    return import_module(f"numba.cuda.simulator.{name}")


def _current() -> Any:
    return threading.current_thread()


def _index(i: Any) -> Any:
    """Python counts indices below zero from the end; memory does not."""
    if i < 0:
        raise IndexError(f"index {i} is below zero")
    return i


def _block(base: Any) -> Any:
    """The simulator's manager of one block, over its class of threads."""

    class Abandoned(BaseException):
        """Another thread has failed."""

    class Thread(base):  # type: ignore[misc]
        """Used again by block after block. `stop`: where it waits, (kind, line); None when it has ended."""

        def __init__(self) -> None:
            threading.Thread.__init__(self, daemon=True)
            self.go = threading.Lock()
            self.go.acquire()

        def ready(self, f: Any, manager: Any, at: Any, place: Any) -> Any:
            """To be the thread `place` of a block."""
            lane = _Lane(at, place)
            self.f, self._manager, self.blockIdx, self.threadIdx = f, manager, lane.blockIdx, lane.threadIdx
            self.stop: tuple[str, Any] | None = None
            self.over, self.abort = False, False
            self.exception: Exception | None = None
            return self

        def run(self) -> None:
            while True:
                self.go.acquire()
                try:
                    if not self.abort:
                        self.f()
                except Abandoned:
                    pass
                except Exception as e:
                    self.exception = _told(e, self.threadIdx, self.blockIdx)
                self.stop, self.over = None, True
                self._manager.turn.release()

        def wait_for(self, kind: str) -> None:
            self.stop = (kind, _line())
            self._manager.turn.release()
            self.go.acquire()
            if self.abort:
                raise Abandoned

        def syncthreads(self) -> None:
            self.wait_for("block")

    pool: list[Any] = []

    class Block:
        def __init__(self, f: Any, grid: Any, block: Any, debug: Any) -> None:
            self._f, self._block_dim, self._debug = f, block, debug
            self.block_state = np.zeros(block, dtype=np.bool_)
            self.turn = threading.Lock()
            self.turn.acquire()

        def run(self, at: Any, *args: Any) -> None:
            x, y, z = self._block_dim
            places = [(i, j, k) for k in range(z) for j in range(y) for i in range(x)]
            if not WAITS & set(self._f.__code__.co_names):
                return self.alone(at, places, args)
            while len(pool) < len(places):
                pool.append(Thread())
                pool[-1].start()
            threads = [t.ready(lambda: self._f(*args), self, at, p) for t, p in zip(pool, places, strict=False)]
            try:
                while not all(t.over for t in threads):
                    for start in range(0, len(threads), WARP):
                        self.warp(threads[start : start + WARP])
                    self.uniform(threads)
            finally:
                for t in threads:
                    if not t.over:
                        t.abort = True
                        self.step(t)

        def alone(self, at: Any, places: Any, args: Any) -> None:
            """One thread after the other, here: none of them waits."""
            try:
                for place in places:
                    _alone[0] = _Lane(at, place)
                    try:
                        self._f(*args)
                    except Exception as e:
                        raise _told(e, place, at) from None
            finally:
                _alone[0] = None

        def warp(self, lanes: list[Any]) -> None:
            """Until its threads wait for the block, or have ended."""
            while True:
                for t in lanes:
                    if not t.over:
                        self.step(t)
                if not any(t.stop is not None and t.stop[0] == "warp" for t in lanes):
                    return
                self.uniform(lanes)

        def step(self, t: Any) -> None:
            t.go.release()
            self.turn.acquire()
            if t.exception is not None and not t.abort:
                raise t.exception

        def uniform(self, threads: list[Any]) -> None:
            first = threads[0]
            other = next((t for t in threads if t.stop != first.stop), None)
            if other is not None:
                who = "warp" if "warp" in str((first.stop, other.stop)) else "block"
                raise LaunchError(
                    "divergent-barrier",
                    f"divergent barrier: the threads of a {who} do not all reach it",
                    where=list(_doing(first, other)),
                    hint="a barrier must stand where every thread reaches it, outside conditions on the thread",
                )

    return Block


def _told(e: Exception, place: Any, at: Any) -> Exception:
    """The same exception, with the thread that it is of."""
    return type(e)(f"tid={list(place)} ctaid={list(at)}: {e}").with_traceback(e.__traceback__)


def _line() -> tuple[str, int]:
    """Where in the generated source the running thread is."""
    frame: Any = sys._getframe(1)
    while frame is not None and not frame.f_code.co_filename.startswith(PREFIX):
        frame = frame.f_back
    return ("", 0) if frame is None else (frame.f_code.co_filename, frame.f_lineno)


def _doing(*threads: Any) -> Iterator[str]:
    for t in threads:
        name = f"threadIdx = {tuple(t.threadIdx)}"
        if t.stop is None:
            yield f"{name} has ended"
        else:
            file, line = t.stop[1]
            yield f"{name} waits at line {line}:  {linecache.getline(file, line).strip()}"
