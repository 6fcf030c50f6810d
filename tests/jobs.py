"""What tests let a worker's child do: work, fail, crash, hang. Importable there as `tests.jobs`."""

from __future__ import annotations

import ctypes
import os
import re
import sys
import time
from typing import Any

import numpy as np

from tvmlab.core import packed


def add(a: Any, b: Any, report: Any) -> Any:
    return a + b


def pid(report: Any) -> int:
    return os.getpid()


def told(report: Any) -> str:
    for k in range(3):
        report(k)
    return "told"


def fail(report: Any) -> None:
    raise ZeroDivisionError("no luck")


def leave(report: Any) -> None:
    sys.exit(3)


def end(report: Any) -> None:
    os._exit(7)


def segv(report: Any) -> None:
    print("about to touch address 0", flush=True)
    ctypes.string_at(0)


def abort(report: Any) -> None:
    os.abort()


def hang(report: Any) -> None:
    report("on")
    while True:
        pass


def hold(report: Any) -> None:
    """Forty letters that the engine tries in all combinations, in C, with no other thread let in."""
    report("on")
    re.match("(a+)+$", "a" * 40 + "b")


def chatter(report: Any) -> None:
    while True:
        report("still here")
        time.sleep(0.01)


def allocate(n: int, report: Any) -> int:
    return int(np.ones(n, np.uint8).sum())


def secret(report: Any) -> Any:
    return lambda: 1


def read_stdin(report: Any) -> str:
    return sys.stdin.read()


# ---------------------------------------------------------------- packed functions that programs call


def double_badly(x: Any, y: Any) -> None:
    """Twice x, but for the last element."""
    y[...] = np.asarray(x) * 2
    np.asarray(y).reshape(-1)[-1] += 1


def crash(x: Any, y: Any) -> None:
    ctypes.string_at(0)


def forever(x: Any, y: Any) -> None:
    while True:
        time.sleep(0.01)


def hoard(x: Any, y: Any) -> None:
    held = []
    while True:
        held.append(np.empty(1 << 24, np.uint8))


for f in (double_badly, crash, forever, hoard):
    packed.register(f"test.jobs.{f.__name__}", f, override=True)
