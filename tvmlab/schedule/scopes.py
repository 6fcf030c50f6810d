"""Storage scopes and thread tags, with their ranks: a scope of rank r is private to a thread axis of rank < r.

A producer must cover an axis' iterations (is relaxed over it) where its scope's rank is <= the thread axis' rank.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from ..core.threads import BLOCK, GRID

_SCOPES = {
    "global": 0, "shared": 1, "warp": 2, "local": 3, "wmma.matrix_a": 4, "wmma.matrix_b": 5, "wmma.accumulator": 6,
    "texture": 7, "amx.tmm": 8,
}  # fmt: skip


def register(name: str, storage_rank: int) -> None:
    """Add a scope; names may have a free suffix (`local.inp_buffer` is of rank `local`)."""
    _SCOPES[name] = storage_rank
    rank.cache_clear()


def known() -> list[str]:
    return sorted(_SCOPES, key=lambda n: _SCOPES[n])


@cache
def rank(scope: str) -> int | None:
    """The rank of a scope, by the longest name it begins with."""
    fitting = [n for n in _SCOPES if scope == n or scope.startswith((f"{n}.", f"{n}:"))]
    return _SCOPES[max(fitting, key=len)] if fitting else None


def thread_rank(tag: str) -> int | None:
    """0 for a grid index, 1 for one in a block, None for a tag that is no thread's."""
    if tag in GRID:
        return 0
    return 1 if tag in BLOCK or is_virtual(tag) else None


def is_virtual(tag: str) -> bool:
    return tag.startswith("vthread") or tag == "cthread"


def thread_key(thread: Any) -> Any:
    """What makes two thread axes the same: the tag; of virtual threads, which may nest, the axis itself."""
    return thread if is_virtual(thread.thread_tag) else thread.thread_tag


def default_scope(tags: list[str]) -> str:
    """Of a stage without one, from the thread axes on the path to the root."""
    ranks = [r for r in map(thread_rank, tags) if r is not None]
    return {None: "global", 0: "shared", 1: "local"}[max(ranks, default=None)]
