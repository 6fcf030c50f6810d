"""A lowered program: functions with parameters and a body, and the record of what each pass did to it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from .node import Buffer, Stmt, Var


@dataclass(frozen=True, eq=False)
class Function:
    """`params`: buffers and scalar variables in call order. `sizes`: shape variables the call binds from array shapes.

    `attrs`: notes as (key, value) pairs: `inputs`, positions of the parameters that no stage computes.
    """

    name: str
    params: tuple[Buffer | Var, ...]
    body: Stmt
    sizes: tuple[Var, ...] = ()
    attrs: tuple[tuple[str, Any], ...] = ()

    @property
    def buffers(self) -> tuple[Buffer, ...]:
        return tuple(p for p in self.params if isinstance(p, Buffer))


@dataclass(frozen=True, eq=False)
class Origin:
    """Where a loop or a statement came from: the stage's name, the axis (None for statements), the schedule step."""

    stage: str
    axis: Any = None
    step: Any = None


@dataclass(frozen=True, eq=False)
class Snapshot:
    """The program after a pass, and the milliseconds the pass took."""

    name: str
    program: Program
    ms: float


@dataclass(frozen=True, eq=False)
class Program:
    """Functions (the first is the entry), open obligations as text, and the snapshots if they were asked for."""

    functions: tuple[Function, ...]
    notes: tuple[str, ...] = ()
    snapshots: tuple[Snapshot, ...] = field(default=())

    @property
    def entry(self) -> Function:
        return self.functions[0]

    @property
    def body(self) -> Stmt:
        return self.entry.body

    def map_bodies(self, f: Callable[[Stmt], Stmt]) -> Program:
        """Each function's body through `f`; the same object when nothing changed."""
        made = tuple(
            fn if (body := f(fn.body)) is fn.body else replace(fn, body=body) for fn in self.functions
        )
        if all(a is b for a, b in zip(made, self.functions, strict=True)):
            return self
        return replace(self, functions=made)

    def __str__(self) -> str:
        from .text import show_program

        return show_program(self)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from .text import to_html

        return to_html(str(self))
