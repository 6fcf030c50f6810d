"""Parallel calls on Numba's thread pool: the number of threads, and one call at a time where the pool needs that.

The workqueue layer aborts the process when two parallel regions run at once, whoever starts them. So there a call waits
for its turn: a lock against other calls of this target, and the flag that regions of the target `llvm` raise.
"""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from ...core.error import LabError
from .machine import numba_config

Call = Callable[[Sequence[Any], Sequence[Any]], None]
_turn = threading.RLock()


def in_parallel(call: Call, threads: list[int]) -> Call:
    """`call` with threads[0] threads; 0 means as many as the pool has."""
    import numba

    def run(arrays: Sequence[Any], numbers: Sequence[Any]) -> None:
        refuse_lost()
        with alone():
            before = numba.get_num_threads()
            numba.set_num_threads(min(threads[0] or before, numba_config().NUMBA_NUM_THREADS))
            try:
                call(arrays, numbers)
            finally:
                numba.set_num_threads(before)

    return run


def refuse_lost() -> None:
    from ..llvm.parallel import LOST

    if LOST.value:
        raise LabError(
            "forked-process",
            "this process was forked from one that ran parallel loops: Numba's threads are not there",
            hint='start processes by multiprocessing.get_context("spawn"); the target llvm goes on with one thread',
        )


def checked_threads(n: int) -> int:
    most = numba_config().NUMBA_NUM_THREADS
    if not 1 <= n <= most:
        raise LabError("thread-count", f"the number of threads must be from 1 to {most}, not {n}")
    return n


@contextmanager
def alone() -> Iterator[None]:
    """No other parallel region runs meanwhile, if the threading layer cannot stand it."""
    if not one_at_a_time():
        yield
        return
    from ..llvm.parallel import BUSY

    address = ctypes.addressof(BUSY)
    with _turn:
        while not raise_flag()(address):
            time.sleep(2e-5)
        try:
            yield
        finally:
            BUSY.value = 0


def one_at_a_time() -> bool:
    """Before the first parallel call nobody knows which layer it is."""
    import numba

    try:
        return bool(numba.threading_layer() == "workqueue")
    except ValueError:
        return True


@lru_cache(maxsize=1)
def raise_flag() -> Any:
    """f(address): set the int32 there from 0 to 1 in one step; false if it was not 0."""
    from llvmlite import ir
    from numba import njit, types
    from numba.extending import intrinsic

    @intrinsic
    def swap(typingctx: Any, address: Any) -> Any:
        def build(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            word = ir.IntType(32)
            where = builder.inttoptr(args[0], word.as_pointer())
            return builder.extract_value(builder.cmpxchg(where, word(0), word(1), "acquire", "monotonic"), 1)

        return types.boolean(types.intp), build

    @njit("boolean(intp)")
    def flag(address: int) -> Any:
        return swap(address)  # type: ignore[call-arg]  # Numba itself passes the typing context

    return flag
