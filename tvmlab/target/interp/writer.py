"""The interpreter turns a function into Python source once and runs that: this is the paper it writes on.

Statements of the program become statements of Python over plain locals; sub-expressions that need a check become
temporaries before them. Where Python's own limits come near (20 nested loops, 100 indents), the inside moves to a
function of its own that gets all the names in scope.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...core.error import BuildError
from ...core.node import Buffer, Expr, For, Stmt, Var
from ...core.text import Names
from .report import Site, headline, origin_lines

MAX_NEST, MAX_DEPTH, MAX_TEXT = 16, 70, 400


@dataclass(frozen=True)
class Options:
    """Which checks the code makes. `uninitialised`: names of buffer parameters that start undefined."""

    bounds: bool = True
    init: bool = True
    races: bool = True
    count: bool = False
    uninitialised: frozenset[str] = frozenset()


@dataclass
class Place:
    """What the code knows of a buffer: texts (names or numbers) for its parts."""

    buffer: Buffer
    record: str
    view: str
    shape: tuple[str, ...]
    strides: tuple[str, ...] | None
    offset: str
    init: str = ""  # the name of the shadow of what is written, "" when all is
    version: str = "1"
    writer: str = ""  # the name of the shadow of who wrote, "" when it is not tracked
    loose: bool = False  # inside its shape may still be outside its memory: check the address too

    @property
    def names(self) -> list[str]:
        parts = [self.record, self.view, *self.shape, *(self.strides or ()), self.offset, self.init, self.version]
        return [p for p in [*parts, self.writer] if p.isidentifier()]


@dataclass
class Block:
    """Counts of one straight piece of code: how often it runs is counted in the run, the rest is known."""

    loop: str = ""
    loads: Counter[str] = field(default_factory=Counter)
    stores: Counter[str] = field(default_factory=Counter)
    flops: int = 0


Expression = Callable[["Writer", Any, bool], str]


class Writer:
    def __init__(self, options: Options, tracked: frozenset[Buffer], table: Mapping[type, Expression]) -> None:
        self.options, self.tracked, self.table = options, tracked, table
        self.out: list[str] = []
        self.functions: list[str] = []
        self.depth, self.nest, self.serial = 1, 0, 0
        self.scope: list[str] = []
        self.names: dict[Var, str] = {}
        self.places: dict[Any, Place] = {}  # by buffer, and by its data variable
        self.unique = Names()
        self.loops: list[tuple[str, str]] = []  # (name in reports, local)
        self.origins: list[Any] = []
        self.stmt: Stmt | None = None
        self.sites: list[Site] = []
        self.buffers: list[Buffer] = []
        self.blocks: list[Block] = [Block()]
        self.block = self.blocks[0]
        self.constants: dict[str, Any] = {}
        self.known: dict[Any, str] = {}
        self.kernel: dict[str, str] | None = None  # inside thread loops: tag -> local
        self.thread_of: dict[Var, str] = {}

    # ------------------------------------------------------------ expressions (exprs.py)

    def value(self, e: Expr) -> str:
        """The text of an expression as a value of its dtype; what must come before it is written."""
        return self.short(self.table[type(e)](self, e, False))

    def index(self, e: Expr) -> str:
        """The text of an expression as an index: exact, vectors as int64."""
        return self.short(self.table[type(e)](self, e, True))

    # ------------------------------------------------------------ lines and names

    def line(self, text: str) -> None:
        self.out.append(" " * self.depth + text)

    def fresh(self, stem: str) -> str:
        self.serial += 1
        return f"{stem}{self.serial}"

    def local(self, thing: Any, stem: str = "v_") -> str:
        return stem + self.unique(thing)

    def atom(self, text: str) -> str:
        """A name or a number for a text, so that it is evaluated here and once."""
        if text.isidentifier() or text.lstrip("-").isdigit():
            return text
        name = self.fresh("t")
        self.line(f"{name} = {text}")
        return name

    def short(self, text: str) -> str:
        """Long texts become temporaries: Python's parser nests 200 parentheses at most."""
        return text if len(text) < MAX_TEXT else self.atom(text)

    def constant(self, value: Any, key: Any) -> str:
        """The global name of an object."""
        name = self.known.get(key)
        if name is None:
            name = self.known[key] = f"k{len(self.known)}"
            self.constants[name] = value
        return name

    def steps(self, count: int) -> str:
        """The vector 0, 1, ..., count - 1."""
        return self.constant(np.arange(count, dtype=np.int64), ("ramp", count))

    # ------------------------------------------------------------ structure

    @contextmanager
    def indented(self) -> Iterator[None]:
        start = len(self.out)
        self.depth += 1
        yield
        if len(self.out) == start:
            self.line("pass")
        self.depth -= 1

    @contextmanager
    def counted(self, loop: str = "") -> Iterator[None]:
        """A piece of code that runs as often as its first line."""
        outer, self.block = self.block, Block(loop)
        start, depth = len(self.out), self.depth
        yield
        block, self.block = self.block, outer
        if self.options.count and (loop or block.loads or block.stores or block.flops):
            self.out.insert(start, f"{' ' * depth}N[{len(self.blocks)}] += 1")
            self.blocks.append(block)

    @contextmanager
    def named(self, *names: str) -> Iterator[None]:
        self.scope.extend(names)
        yield
        del self.scope[len(self.scope) - len(names) :]

    @contextmanager
    def inside(self, loop: For, name: str, nest: int = 1) -> Iterator[None]:
        """In the loop's body: its variable is in scope, and in reports. `nest`: 0 where it is no loop of Python's."""
        self.nest += nest
        self.loops.append((loop.var.name, name))
        self.origins.append(loop.origin)
        with self.bound(loop.var, name):
            yield
        self.nest -= nest
        self.loops.pop()
        self.origins.pop()

    @contextmanager
    def bound(self, v: Var, name: str) -> Iterator[None]:
        """Here, and only here, the variable has that name."""
        self.names[v] = name
        with self.named(name):
            yield
        self.names.pop(v, None)

    def arguments(self) -> list[str]:
        return (["g"] if self.kernel is not None else []) + list(dict.fromkeys(self.scope))

    def outline(self, body: Callable[[], str | None], params: Sequence[str], generator: bool = False) -> str:
        """Write a function of its own; `body` writes its lines and gives the text of its result."""
        name = self.fresh("part")
        kept = self.out, self.depth, self.nest
        self.out, self.depth, self.nest = [], 1, 0
        if generator:
            self.line("if 0: yield")
        result = body()
        self.line(f"return {result}" if result else "pass")
        self.functions.append("\n".join([f"def {name}({', '.join(params)}):", *self.out]))
        self.out, self.depth, self.nest = kept
        return name

    def crowded(self) -> bool:
        return self.nest >= MAX_NEST or self.depth >= MAX_DEPTH

    # ------------------------------------------------------------ places in the program

    def site(self, buffer: Any = None) -> int:
        origin = getattr(self.stmt, "origin", None) or next((o for o in reversed(self.origins) if o is not None), None)
        owner = None if buffer is None else buffer.owner
        self.sites.append(Site(self.stmt, tuple(name for name, _ in self.loops), origin, owner))
        return len(self.sites) - 1

    def at(self, buffer: Any = None) -> str:
        """The arguments `site, loops` of a check."""
        values = "".join(f"{local}, " for _, local in self.loops)
        return f"{self.site(buffer)}, ({values})"

    def refuse(self, rule: str, message: str, legal: Sequence[str] = (), hint: str = "") -> BuildError:
        where = (
            [headline(self.stmt), *origin_lines(getattr(self.stmt, "origin", None))] if self.stmt is not None else []
        )
        return BuildError(rule, message, where, legal, hint)

    def place(self, buffer: Any) -> Place:
        found = self.places.get(buffer)
        if found is None:
            raise self.refuse(
                "unknown-buffer", f"`{buffer.name}` is used where it is neither a parameter nor allocated"
            )
        return found

    def variable(self, v: Var) -> str:
        found = self.names.get(v)
        if found is None:
            raise self.refuse("unbound-variable", f"`{v.name}` is used where nothing binds it")
        return found
