"""A lowered program: functions with parameters and a body, and the record of what each pass did to it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from .hooks import Shown
from .node import Buffer, For, Stmt, Var


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

    # ------------------------------------------------------------ the classic PrimFunc and LoweredFunc

    @property
    def args(self) -> list[Buffer | Var]:
        return list(self.params)

    @property
    def buffer_map(self) -> dict[Var, Buffer]:
        return {b.data: b for b in self.buffers}

    def with_body(self, body: Stmt) -> Function:
        """The same function with another body."""
        return self if body is self.body else replace(self, body=body)

    def __str__(self) -> str:
        from .text import show_program

        return show_program(Program((self,)))

    __repr__ = __str__


@dataclass(frozen=True, eq=False)
class Origin:
    """Where a loop or a statement came from: the stage's name, the axis (None for statements), the schedule step.

    `index`: the stage's number in its schedule, since several may have one name. `called`, `code`: what a person writes
    for the stage's tensor and for the axis.
    """

    stage: str
    axis: Any = None
    step: Any = None
    index: int = -1
    called: str = ""
    code: str = ""


def loop_name(loop: For) -> str:
    """A loop as the schedule knows it, "`i.outer` of stage C"; without a schedule, its variable."""
    origin = loop.origin
    if not isinstance(origin, Origin):
        return f"`{loop.var.name}`"
    return f"`{loop.var.name if origin.axis is None else origin.axis.name}` of stage {origin.stage}"


@dataclass(frozen=True, eq=False)
class Snapshot:
    """The program after a pass, and the milliseconds the pass took."""

    name: str
    program: Program
    ms: float


class Functions(tuple[Function, ...]):
    """The functions in order, and by name as the classic IRModule has them: `for name, f in mod.functions.items()`."""

    def items(self) -> list[tuple[str, Function]]:
        return [(f.name, f) for f in self]

    def keys(self) -> list[str]:
        return [f.name for f in self]

    def values(self) -> list[Function]:
        return list(self)


@dataclass(frozen=True, eq=False)
class Program(Shown):
    """Functions (the first is the entry), open obligations as text, and the snapshots if they were asked for.

    `remarks`: what is worth saying of a program that is complete.
    """

    functions: tuple[Function, ...]
    notes: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    snapshots: tuple[Snapshot, ...] = field(default=())

    def __post_init__(self) -> None:
        object.__setattr__(self, "functions", Functions(self.functions))

    @property
    def entry(self) -> Function:
        return self.functions[0]

    @property
    def body(self) -> Stmt:
        return self.entry.body

    # ------------------------------------------------------------ the classic IRModule, and LoweredFunc of release 0.6

    def __getitem__(self, name: Any) -> Function:
        """The function of that name; a classic "main" is the entry whatever its name."""
        found = next((f for f in self.functions if f.name == str(name)), None)
        if found is None and str(name) in ("main", "default_function"):
            return self.entry
        if found is None:
            there = ", ".join(f.name for f in self.functions)
            raise KeyError(f"there is no function `{name}`; the functions are {there}")
        return found

    def get_global_vars(self) -> list[str]:
        return [f.name for f in self.functions]

    name = property(lambda self: self.entry.name)
    args = property(lambda self: self.entry.args)

    def astext(self, show_meta_data: bool = False) -> str:
        return str(self)

    script = astext

    def show(self, *args: Any, **options: Any) -> None:
        """Print the program."""
        print(self)

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
