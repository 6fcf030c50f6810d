"""Every point once, in random order."""

from __future__ import annotations

from typing import Any

from .base import Base, shuffled


class Search(Base):
    def __init__(self, task: Any, seed: int = 0) -> None:
        super().__init__(task, seed)
        self._points = shuffled(self.size, self.random)

    def propose(self, n: int) -> list[int]:
        return self.take(self._points, n)
