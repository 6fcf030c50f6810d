"""Full garbage collections wait until nobody waits for the lab.

A kernel with Numba and LLVM in it holds some hundred thousand objects: looking through all of them takes 80-170 ms
(CPython 3.11), which Python may begin in the middle of an act. While the lab works they are put off; a moment after the
last act it does one itself. A person's own settings of `gc` stay in force: one who has switched it off has it off.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

NEVER = 1 << 30
_theirs = 0  # the third threshold, while it is put off


@contextmanager
def put_off() -> Iterator[None]:
    """No full collection inside; small ones go on. What a person sets meanwhile stays."""
    global _theirs
    young, middle, old = gc.get_threshold()
    if old == NEVER:  # inside of another
        yield
        return
    _theirs = old
    gc.set_threshold(young, middle, NEVER)
    try:
        yield
    finally:
        _give_back()


@contextmanager
def allowed() -> Iterator[None]:
    """Inside of `put_off`: a person's function, which finds the settings as they are and may change them."""
    global _theirs
    put = gc.get_threshold()[2] == NEVER
    if put:
        _give_back()
    try:
        yield
    finally:
        if put:
            young, middle, _theirs = gc.get_threshold()
            gc.set_threshold(young, middle, NEVER)


def _give_back() -> None:
    young, middle, old = gc.get_threshold()
    if old == NEVER:  # else somebody inside has chosen another
        gc.set_threshold(young, middle, _theirs)


def collect() -> None:
    """The full collection that is due, if one is. A first threshold of 0 is another way to switch them off."""
    young, _, old = gc.get_threshold()
    if gc.isenabled() and young and gc.get_count()[2] > old:
        gc.collect()
