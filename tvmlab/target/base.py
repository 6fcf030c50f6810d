"""What a target is: a record of its differences, found by the name of its file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any

from ..core.error import BuildError
from ..core.program import Program

SHARED_FILES = {"base", "pylike", "pymath", "clike", "__init__"}


@dataclass(frozen=True)
class Target:
    """A target with its options, as a person asks for it: `Target("llvm", cpu="x86-64-v3")`.

    `cpu`, `features`: names of LLVM ("" means this machine's). `triple`: cross-compilation. `threads`: 0 means all.
    """

    name: str
    cpu: str = ""
    features: str = ""
    triple: str = ""
    threads: int = 0

    @property
    def kind(self) -> TargetKind:
        return get(self.name)

    def __str__(self) -> str:
        options = {"mcpu": self.cpu, "mattr": self.features, "mtriple": self.triple, "num-threads": self.threads}
        return " ".join([self.name, *[f"-{k}={v}" for k, v in options.items() if v]])


@dataclass(frozen=True)
class Compiled:
    """Machine code (or a Python function) of one program.

    `call(arrays, scalars)`: NumPy arrays for the buffer parameters in order, already checked, C-contiguous and of the
    right dtype; then numbers for the scalar parameters in order followed by the function's `sizes`.
    A flat function with a strided buffer gets that array's span, as a one-dimensional array.
    `source`: the text a person reads. `ir`, `asm`: functions, since making them may take time.

    `extra`, all optional, and what else the target keeps:
    raw               callable(*addresses, *scalars, *sizes), the fast way to call; addresses as integers
    export            callable(path): write a file that runs without tvmlab (`runtime.load` reads it back)
    symbol            the function's name in that file, if it is not the program's
    status            in that file it returns an int, 0 for success
    numbers           dtypes in which it takes scalars and sizes, if they are not the program's
    set_num_threads   callable(n)
    """

    call: Callable[[Sequence[Any], Sequence[Any]], None]
    source: str
    ir: Callable[[], str] = lambda: ""
    asm: Callable[[], str] = lambda: ""
    extra: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class TargetKind:
    """The record a target's file exports as TARGET.

    `passes`: names of lowering passes after the shared ones. `source(program, target)`: the generated text.
    `compile(program, target)`: something that runs. `scopes`: storage scopes it has. `refuses(program, target)`:
    what it cannot run, as an error, or None.
    """

    name: str
    about: str
    source: Callable[[Program, Target], str]
    compile: Callable[[Program, Target], Compiled]
    passes: tuple[str, ...] = ()
    scopes: frozenset[str] = frozenset({"global", "local", "shared", "warp"})
    device: str = "cpu"


@lru_cache(maxsize=1)
def names() -> tuple[str, ...]:
    """The targets that exist: the files of this folder."""
    here = Path(__file__).parent
    found = {p.stem for p in here.glob("*.py")} | {p.parent.name for p in here.glob("*/__init__.py")}
    return tuple(sorted(n.removesuffix("_cpu") for n in found - SHARED_FILES))


@lru_cache(maxsize=None)
def get(name: str) -> TargetKind:
    """The record of the target of that name; an unknown name answers with those that exist."""
    if name not in names():
        raise BuildError("unknown-target", f"there is no target `{name}`", legal=names())
    module = "numba_cpu" if name == "numba" else name
    kind: TargetKind = import_module(f".{module}", __package__).TARGET
    return kind
