"""Kernels that look at their indices: what no loop keeps inside its array goes through a function that records it.

    C[B[i]] = A[i + 1]     ->     C[inside(faults, 1, B[i], C_size)] = A[inside(faults, 2, i + 1, A_size)]

`inside` gives the index back, or 0 where it is outside, and the first that is outside is remembered: nothing outside an
array is touched, no thread stops, and what was computed is thrown away. An index is the place in memory that is meant:
one that leaves a row and stays in the array is not found; the interpreter finds that too. Of memory whose address is
given away, to an instruction of tensor cores, the first element is looked at.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...core.node import Buffer, Expr, Var
from ...core.program import Function, Program
from ..gpu.code import Site

if TYPE_CHECKING:
    from .printer import CPrinter

CHECKED = ("bounds", "checked")  # the attribute of a function whose kernels look at their indices
INSIDE = "inside"  # the function that they call


def is_checked(program: Program) -> bool:
    return any(CHECKED in fn.attrs for fn in program.functions)


class Watch:
    """The checked accesses of one kernel. `sites`: those of the program so far; a number of one begins with 1."""

    def __init__(self, p: CPrinter, fn: Function, name: str, sites: list[Site]) -> None:
        self.p, self.kernel, self.sites = p, name, sites
        self.faults = p.names(Var("faults"))
        self.sizes = {b.data: p.names(Var(f"{p.names(b)}_size")) for b in fn.params if isinstance(b, Buffer)}

    @property
    def names(self) -> tuple[str, ...]:
        return (self.faults, *self.sizes.values())

    def params(self, first: int) -> list[str]:
        """What the kernel takes beyond its own: where to record, and how many elements each array has."""
        d = self.p.d
        made = [d.pointer.format(const="", type=d.types["int32"], name=self.faults, i=first)]
        sizes = enumerate(self.sizes.values(), first + 1)
        return [*made, *[d.scalar.format(type=d.types["int64"], name=name, i=i) for i, name in sizes]]

    def subscript(self, b: Buffer, index: Expr, writes: bool, lanes: int) -> str:
        """The index behind its check; "" where the loops keep it inside."""
        low, high = self.p.ranges.span(index, True)
        if b.size is not None and low >= 0 and high + lanes <= b.size and self.p.pure_index(index):
            return ""
        self.sites.append(Site(self.kernel, b.owner.name, writes, lanes, tuple(self.p.place)))
        number = len(self.sites)
        size = self.sizes[b.data] if b.data in self.sizes else str(self.p.size(b))
        room = f"{size} - {lanes - 1}" if lanes > 1 else size
        return f"{INSIDE}({self.faults}, {number}, {self.p.index(index, wide=True)}, {room})"
