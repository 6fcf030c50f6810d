"""What the host does, for who reads: the launches of the kernels, as comments or as the function CUDA C++ has for them.

main_C[(3, 4, 1), (4, 4, 1)](A, B, C)     ->     main_C<<<dim3(3, 4, 1), dim3(4, 4, 1)>>>(A, B, C);
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...core import dtype as dt
from ...core.node import Alloc, Attr, Buffer, Call, Evaluate, For, If, LetStmt, Seq, Stmt
from ...core.program import Function, Program
from ...core.text import show_program
from ...core.walk import constant
from ..gpu.limits import dynamic_bytes
from .dialect import Dialect
from .printer import CPrinter, ascii_name


def comments(host: Function, more: Mapping[str, Sequence[str]] | None = None) -> list[str]:
    """The host's function as lines of comment; a launch is `kernel[blocks, threads of a block](arguments)`.

    `more`: by kernel, what it takes beyond the arguments of its launch, where its indices are checked.
    """
    lines = show_program(Program((host,))).splitlines()
    head = ["// The host:  kernel[blocks, threads of a block](arguments)"]
    if more:
        lines = [_with_more(x, more) for x in lines]
        head += ["// The last are for the checks: five ints, 0 before, and the number of elements of each array"]
    return [*head, *[f"//     {x}" for x in lines]]


def _with_more(line: str, more: Mapping[str, Sequence[str]]) -> str:
    """A launch with all that its kernel takes."""
    names = more.get(line.strip().partition("[")[0], ())
    return f"{line.removesuffix(')')}, {', '.join(names)})" if names and line.endswith(")") else line


def cuda(host: Function, kernels: Sequence[Function], d: Dialect) -> list[str]:
    """The host's function in CUDA C++; its pointers are those of the device."""
    p = CPrinter(d)
    p.asked = {fn.name: n for fn in kernels if (n := dynamic_bytes(fn, d.static_shared))}
    p.depth = 1
    params = []
    for x in (*host.params, *host.sizes):
        if isinstance(x, Buffer):
            params.append(f"{p.memory_type(x)}* {p.names(x)}")
        else:
            params.append(f"{p.type_of(x.dtype)} {p.names(x)}")
    _print(p, host.body)
    return [f"void {ascii_name(host.name)}_host({', '.join(params)}) {{", *p.lines, "}"]


def _print(p: CPrinter, s: Any) -> None:
    HOST[type(s)](p, s)


def _for(p: CPrinter, s: For) -> None:
    lo, end = p.index(s.lo), p.index(s.extent if constant(s.lo) == 0 else s.lo + s.extent)
    p.ranges.loop(s)
    name = p.names(s.var)
    p.emit(f"for ({p.type_of(s.var.dtype)} {name} = {lo}; {name} < {end}; ++{name}) {{")
    _inside(p, s.body)
    p.emit("}")
    p.names.release(s.var)


def _inside(p: CPrinter, s: Stmt) -> None:
    p.depth += 1
    _print(p, s)
    p.depth -= 1


def _if(p: CPrinter, s: If) -> None:
    p.emit(f"if ({p.value(s.cond)}) {{")
    _inside(p, s.then)
    if s.other is not None:
        p.emit("} else {")
        _inside(p, s.other)
    p.emit("}")


def _alloc(p: CPrinter, s: Alloc) -> None:
    b = s.buffer
    kind, name = p.memory_type(b), p.names(b)
    p.emit(f"{kind}* {name};")
    p.emit(f"cudaMalloc(&{name}, {p.index(b.shape[0], 10, True)}*{dt.size(b.dtype)});")
    _print(p, s.body)
    p.emit(f"cudaFree({name});")


def _let(p: CPrinter, s: LetStmt) -> None:
    p.define(s.var, s.value)
    _print(p, s.body)


def _evaluate(p: CPrinter, s: Evaluate) -> None:
    e = s.value
    if not isinstance(e, Call) or e.kind != "launch":
        raise p.refuse(s, "host-statement", "prints a host that only launches kernels")
    sizes = [p.index(x) for x in e.args[:6]]
    grid, block = (f"dim3({', '.join(part)})" for part in (sizes[:3], sizes[3:]))
    arguments = [p.names(x) if x.dtype == "handle" else p.value(x) for x in e.args[6:]]
    name, asked = ascii_name(e.name), p.asked.get(e.name)
    if asked:
        p.emit(f"cudaFuncSetAttribute({name}, cudaFuncAttributeMaxDynamicSharedMemorySize, {asked});")
    shape = f"{grid}, {block}, {asked}" if asked else f"{grid}, {block}"
    p.emit(f"{name}<<<{shape}>>>({', '.join(arguments)});")


def _seq(p: CPrinter, s: Seq) -> None:
    for x in s.stmts:
        _print(p, x)


HOST: dict[type, Callable[[CPrinter, Any], None]] = {
    For: _for, If: _if, Alloc: _alloc, LetStmt: _let, Evaluate: _evaluate, Seq: _seq,
    Attr: lambda p, s: _print(p, s.body),
}  # fmt: skip
