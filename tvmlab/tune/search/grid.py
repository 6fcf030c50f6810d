"""Every point in the order of the space."""

from __future__ import annotations

from typing import Any

from .base import Base


class Search(Base):
    def __init__(self, task: Any, seed: int = 0) -> None:
        super().__init__(task, seed)
        self._points = iter(range(self.size))

    def propose(self, n: int) -> list[int]:
        return self.take(self._points, n)
