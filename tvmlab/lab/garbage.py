"""Full garbage collections wait until nobody waits for the lab.

A kernel with Numba and LLVM in it holds some hundred thousand objects: looking through all of them takes 80-150 ms
(CPython 3.11), which Python may begin in the middle of an act. While the lab works they are put off; a moment after the
last act it does one itself. A person's own settings of `gc` stay in force: one who has switched it off has it off.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

NEVER = 1 << 30


@contextmanager
def put_off() -> Iterator[None]:
    """No full collection inside; small ones go on."""
    young, middle, old = gc.get_threshold()
    gc.set_threshold(young, middle, NEVER)
    try:
        yield
    finally:
        if gc.get_threshold() == (young, middle, NEVER):  # else somebody inside has chosen others
            gc.set_threshold(young, middle, old)


def collect() -> None:
    """The full collection that is due, if one is."""
    if gc.isenabled() and gc.get_count()[2] > gc.get_threshold()[2]:
        gc.collect()
