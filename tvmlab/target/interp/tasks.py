"""Who runs beside whom: the tree of parallel iterations, blocks and threads, and the races found in it.

A task is a path from the root: one pair (instance, iteration) per parallel construct it is inside of. Two tasks run
at the same time exactly where their paths part at two iterations of one instance. A barrier starts a new instance,
so what comes after it is ordered behind what came before.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

ROOT = 0


@dataclass(frozen=True)
class Construct:
    """A parallel construct: `kind` is parallel, block, warp, thread or vthread; `name(iteration)` reads `i = 3`."""

    kind: str
    name: Callable[[int], str]


@dataclass(frozen=True)
class Clash:
    """Two tasks that run at the same time: the construct where they part, and the two sides in words."""

    kind: str
    first: str
    second: str


class Tasks:
    """Numbers for tasks. Task 0 is the root: the program outside every parallel construct."""

    def __init__(self) -> None:
        self.paths: list[tuple[tuple[int, int], ...]] = [()]
        self.ids: dict[tuple[tuple[int, int], ...], int] = {(): ROOT}
        self.constructs: list[Construct] = []

    def instance(self, construct: Construct) -> int:
        """A new run of a construct; its iterations run beside each other, and after all that was before."""
        self.constructs.append(construct)
        return len(self.constructs) - 1

    def child(self, parent: int, instance: int, iteration: int) -> int:
        path = (*self.paths[parent], (instance, iteration))
        found = self.ids.get(path)
        if found is None:
            found = self.ids[path] = len(self.paths)
            self.paths.append(path)
        return found

    def together(self, a: int, b: int) -> bool:
        """Do the tasks run at the same time?"""
        return self._parting(a, b) is not None

    def clash(self, a: int, b: int) -> Clash | None:
        at = self._parting(a, b)
        if at is None:
            return None
        kind = self.constructs[self.paths[a][at][0]].kind
        if kind == "warp":  # the warp is a detail: the next pair of the path is the thread
            kind, at = "thread", at + 1
        return Clash(kind, self._name(a, at), self._name(b, at))

    def _parting(self, a: int, b: int) -> int | None:
        if a == b:
            return None
        for at, (x, y) in enumerate(zip(self.paths[a], self.paths[b])):
            if x != y:
                return at if x[0] == y[0] else None
        return None

    def _name(self, task: int, at: int) -> str:
        instance, iteration = self.paths[task][at]
        return self.constructs[instance].name(iteration)
