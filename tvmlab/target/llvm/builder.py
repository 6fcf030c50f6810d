"""LLVM IR text under construction: a module's parts, one function's lines, names of types and constants.

Text is built from strings: for the programs at hand that is many times faster than an object model of the IR.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from ...core import dtype as dt
from .dot import Dot

FLOATS = {16: "half", 32: "float", 64: "double"}


@dataclass(frozen=True)
class Machine:
    """What the generated text depends on. `major`: LLVM's version; `half`: float16 conversions are instructions;
    `width`: bits of the widest vector register; `darwin`: macOS; `dots()`: its instructions for `dot4`, see dot.py.
    """

    major: int = 22
    half: bool = True
    width: int = 512
    darwin: bool = False
    dots: Callable[[], tuple[Dot, ...]] = field(default=tuple, compare=False)


class Module:
    """The parts of one LLVM module. `fp`: flags on float multiplications and additions (`contract ` allows fusing)."""

    def __init__(self, machine: Machine, fp: str = "contract ") -> None:
        self.machine, self.fp = machine, fp
        self.functions: list[str] = []
        self.declared: dict[str, str] = {}
        self.constants: dict[Any, tuple[str, str]] = {}
        self.externs: dict[str, str] = {}  # C symbol -> the call, as text, that needs it
        self.sites: list[Any] = []  # packed calls, see packed.py
        self.link: Callable[[str], str] = lambda text: text  # adds imported code, see imports.py
        self.parallel = False  # has it a parallel loop?
        self.fails = False  # may the entry return something other than 0?
        self.types: dict[str, str] = {}
        self.memory: dict[str, str] = {}
        self.widest = 0

    def type(self, dtype: str) -> str:
        """The type of a value in a register. bool is i1; float16 is float where conversions are done by hand."""
        found = self.types.get(dtype)
        if found is None:
            stem, bits, lanes = dt.parse(dtype)
            bits = 32 if stem == "float" and bits == 16 and not self.machine.half else bits
            scalar = {"bool": "i1", "handle": "ptr", "float": FLOATS.get(bits, "")}.get(stem) or f"i{bits}"
            found = self.types[dtype] = scalar if lanes == 1 else f"<{lanes} x {scalar}>"
            if lanes > 1:
                self.widest = max(self.widest, lanes * dt.nbytes(dtype) * 8)
        return found

    def stored(self, dtype: str) -> str:
        """The type of a value in memory: bool is one byte."""
        found = self.memory.get(dtype)
        if found is None:
            stem, bits, lanes = dt.parse(dtype)
            narrow = {"bool": "i8", "float": "i16"} if bits == 16 and not self.machine.half else {"bool": "i8"}
            scalar = narrow.get(stem) or self.type(dt.element(dtype))
            found = self.memory[dtype] = scalar if lanes == 1 else f"<{lanes} x {scalar}>"
        return found

    def declare(self, name: str, result: str, args: Iterable[str], attrs: str = "") -> str:
        """Declare a function once; returns its name, ready to call."""
        if name not in self.declared:
            self.declared[name] = f"declare {result} @{name}({', '.join(args)}){attrs}"
        return f"@{name}"

    def helper(self, name: str, make: Callable[[str], str]) -> str:
        """Define an internal function once (`make(name)` gives its text)."""
        if name not in self.declared:
            self.declared[name] = ""
            self.functions.append(make(name))
        return f"@{name}"

    def data(self, key: Any, text: str) -> str:
        """A private constant: `text` is its type and initial value."""
        if key not in self.constants:
            name = f"@.c{len(self.constants)}"
            self.constants[key] = (name, f"{name} = private unnamed_addr constant {text}")
        return self.constants[key][0]

    def string(self, value: str) -> str:
        raw = value.encode() + b"\0"
        body = "".join(chr(b) if 32 <= b < 127 and b not in (34, 92) else f"\\{b:02X}" for b in raw)
        return self.data(("str", value), f'[{len(raw)} x i8] c"{body}"')

    def text(self, launcher: str = "") -> str:
        """The module; `launcher` runs its parallel loops."""
        parts = [line for _, line in self.constants.values()]
        parts += [line for line in self.declared.values() if line]
        parts += self.functions
        if self.parallel:
            parts.append(launcher)
        self.widest = min(self.widest, self.machine.width)
        wide = (
            f' "prefer-vector-width"="{self.widest}" "min-legal-vector-width"="{self.widest}"'
            if self.widest > 128
            else ""
        )
        parts.append(f"attributes #0 = {{ nounwind{wide} }}")
        parts += [
            f"attributes #2 = {{ alwaysinline nounwind{wide} }}",
            '!0 = distinct !{!0, !{!"llvm.loop.unroll.disable"}}',
            '!1 = !{!"branch_weights", i32 2000, i32 1}',
        ]
        return self.link("\n".join(parts) + "\n")


class Loads:
    """Values of memory that are in registers: what was loaded or stored in the straight line of code up to here.

    Grouped by pointer and by the index's terms, then keyed by (constant part, elements).
    """

    def __init__(self) -> None:
        self.groups: dict[str, dict[Any, dict[tuple[int, int], str]]] = {}
        self.lengths: set[int] = set()  # of all entries so far

    def clear(self) -> None:
        self.groups.clear()

    def drop(self, pointer: str) -> None:
        self.groups.pop(pointer, None)

    def get(self, pointer: str, at: Any, n: int) -> str | None:
        group = self.groups.get(pointer, {}).get(at.terms)
        return None if group is None else group.get((at.const, n))

    def put(self, pointer: str, at: Any, n: int, value: str) -> None:
        self.lengths.add(n)
        self.groups.setdefault(pointer, {}).setdefault(at.terms, {})[at.const, n] = value

    def forget(self, pointer: str, at: Any, n: int) -> None:
        """A store of `n` elements from `at` on: other terms may mean the same place, other constants do not."""
        groups = self.groups.get(pointer)
        if not groups:
            return
        kept = groups.get(at.terms)
        groups.clear()
        if not kept:
            return
        groups[at.terms] = kept
        for length in self.lengths:
            for start in range(at.const - length + 1, at.const + n):
                kept.pop((start, length), None)


class Code:
    """The lines of one function. Subclasses add expressions and statements."""

    def __init__(self, module: Module) -> None:
        self.m = module
        self.lines: list[str] = []
        self.entry: list[str] = []  # stack slots
        self.count = 0
        self.at = "entry"
        self.scopes: list[dict[Any, str]] = [{}]
        self.loads = Loads()
        self.nonneg: set[str] = set()

    # ------------------------------------------------------------ lines

    def name(self) -> str:
        self.count += 1
        return f"%v{self.count}"

    def emit(self, line: str) -> None:
        self.lines.append("  " + line)

    def op(self, text: str) -> str:
        self.count += 1
        r = f"%v{self.count}"
        self.lines.append(f"  {r} = {text}")
        return r

    def label(self, stem: str) -> str:
        self.count += 1
        return f"{stem}{self.count}"

    def start(self, label: str) -> None:
        self.lines.append(f"{label}:")
        self.at = label
        self.loads.clear()

    def jump(self, label: str) -> None:
        self.emit(f"br label %{label}")

    def branch(self, cond: str, yes: str, no: str, note: str = "") -> None:
        self.emit(f"br i1 {cond}, label %{yes}, label %{no}{note}")

    def once(self, key: Any, text: str) -> str:
        """The value `text` computes, computed once per region where it is visible."""
        for scope in reversed(self.scopes):
            found = scope.get(key)
            if found is not None:
                return found
        made = self.scopes[-1][key] = self.op(text)
        return made

    def known(self, key: Any) -> str | None:
        for scope in reversed(self.scopes):
            if key in scope:
                return scope[key]
        return None

    # ------------------------------------------------------------ constants and vectors

    def constant(self, value: Any, dtype: str) -> str:
        """The text of a constant; of a vector type, the same in all lanes."""
        stem, bits, lanes = dt.parse(dtype)
        if lanes > 1:
            element = dt.element(dtype)
            return self.splat(self.m.type(element), self.constant(value, element), lanes)
        if stem == "bool":
            return "true" if value else "false"
        if stem == "float":
            return self.float_constant(dt.rounded(float(value), dtype), bits)
        if stem == "handle":
            return self.m.string(str(value)) if isinstance(value, str) else "null"
        return str(int(value))

    def float_constant(self, value: float, bits: int) -> str:
        """Doubles and floats are written as a double's bits."""
        if bits == 16 and self.m.machine.half:
            return f"0xH{struct.unpack('<H', struct.pack('<e', value))[0]:04X}"
        return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"

    def splat(self, type: str, value: str, count: int) -> str:
        """`count` copies of a scalar operand; constants are written out."""
        if value[0] not in "%@":
            if value in ("0", "false", "0x0000000000000000"):
                return "zeroinitializer"
            return f"<{', '.join([f'{type} {value}'] * count)}>"
        key = ("splat", value, count)
        found = self.known(key)
        if found is None:
            one = self.op(f"insertelement <{count} x {type}> poison, {type} {value}, i64 0")
            found = self.op(
                f"shufflevector <{count} x {type}> {one}, <{count} x {type}> poison, <{count} x i32> zeroinitializer"
            )
            self.scopes[-1][key] = found
        return found

    def shuffle(self, type: str, a: str, b: str, picks: list[int], count: int) -> str:
        mask = ", ".join(f"i32 {i}" for i in picks)
        return self.op(f"shufflevector <{count} x {type}> {a}, <{count} x {type}> {b}, <{len(picks)} x i32> <{mask}>")


def integers(type: str, values: Iterable[int]) -> str:
    return f"<{', '.join(f'{type} {v}' for v in values)}>"
