"""Garbage collections wait until nobody waits for the lab.

A kernel with Numba and LLVM in it holds some hundred thousand objects: looking through all of them takes 80-170 ms
(CPython 3.11), through the younger ones 5-30 ms, and Python may begin it in the middle of an act. While the lab works
they are put off; when it has shown what was asked for it looks through the young ones, and a moment after the last act
through all. A person's own settings of `gc` stay in force: one who has switched it off has it off.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

NEVER = 1 << 30
_theirs = (0, 0)  # the second and third threshold, while they are put off


@contextmanager
def put_off() -> Iterator[None]:
    """Only the smallest collections inside. What a person sets meanwhile stays."""
    global _theirs
    young, *older = gc.get_threshold()
    if older[1] == NEVER:  # inside of another
        yield
        return
    _theirs = (older[0], older[1])
    gc.set_threshold(young, NEVER, NEVER)
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
            young, *older = gc.get_threshold()
            _theirs = (older[0], older[1])
            gc.set_threshold(young, NEVER, NEVER)


def _give_back() -> None:
    young, middle, old = gc.get_threshold()
    if old == NEVER:  # else somebody inside has chosen another
        gc.set_threshold(young, _theirs[0] if middle == NEVER else middle, _theirs[1])


def tidy() -> None:
    """The collection of younger objects that is due, if one is."""
    young, middle, old = gc.get_threshold()
    if gc.isenabled() and young and gc.get_count()[1] > (_theirs[0] if old == NEVER else middle):
        gc.collect(1)


def collect() -> None:
    """The full collection that is due, if one is. A first threshold of 0 is another way to switch them off."""
    young, _, old = gc.get_threshold()
    if gc.isenabled() and young and gc.get_count()[2] > old:
        gc.collect()
