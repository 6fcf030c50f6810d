"""Device code and launches as plain data: what crosses to the process that runs kernels. Nothing of the IR is in it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn

from ...core.error import BuildError
from ...core.node import Buffer, Call, For, Store
from ...core.program import Function, Program, loop_name
from ...core.walk import rewrite, walk
from ..base import Compiled
from .limits import dynamic_bytes, shared_bytes


@dataclass(frozen=True)
class Param:
    """Of a kernel: a buffer, which it may write, or a number. `dtype` of a buffer's element, with its lanes."""

    name: str
    dtype: str
    buffer: bool = False
    written: bool = False


@dataclass(frozen=True)
class Kernel:
    """`shared`: bytes of shared memory that a block takes; None where that is not known. `asked`: so many of them are
    asked for at the launch. `loops`: (thread tag, the loop
    that is bound to it, as a person knows it)."""

    name: str
    params: tuple[Param, ...]
    shared: int | None = None
    loops: tuple[tuple[str, str], ...] = ()
    asked: int = 0

    def __str__(self) -> str:
        return f"{self.name}({', '.join(p.name for p in self.params)})"


@dataclass(frozen=True)
class Site:
    """An access that the kernel checks: of so many neighbouring elements. `where`: the loops around it."""

    kernel: str
    array: str
    writes: bool
    lanes: int
    where: tuple[str, ...]


@dataclass(frozen=True)
class DeviceCode:
    """`language`: opencl, cuda-c, numba-cuda. `places`: line of the source, from 1 -> the loop that it is of, as a
    person knows it. `options`: of the device's compiler. `sites`: the accesses that kernels check, None if that was not
    asked for; such kernels take two things more: memory to record a fault in, and the elements of each array.
    `threads`: the most of a block that the target allows, 0 where only the device's own limit holds."""

    language: str
    source: str
    kernels: tuple[Kernel, ...]
    places: Mapping[int, str] = field(default_factory=dict)
    options: tuple[str, ...] = ()
    sites: tuple[Site, ...] | None = None
    threads: int = 0

    @cached_property
    def key(self) -> str:
        """Equal for equal sources."""
        text = "\n".join([self.language, *self.options, self.source])
        return hashlib.sha256(text.encode()).hexdigest()

    def kernel(self, name: str) -> Kernel:
        return next(k for k in self.kernels if k.name == name)


# ---------------------------------------------------------------- launches


@dataclass(frozen=True)
class Allocate:
    """Memory of the device, under the number `slot`. The arguments of a call are the slots from 0 on."""

    slot: int
    nbytes: int
    name: str = ""


@dataclass(frozen=True)
class Free:
    slot: int


@dataclass(frozen=True)
class Launch:
    """`args`: ("buffer", slot) or ("number", dtype, value). `grid` in blocks, `block` in threads."""

    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    args: tuple[tuple[Any, ...], ...]

    def __str__(self) -> str:
        return f"{self.kernel}[{self.grid}, {self.block}]"


Command = Allocate | Free | Launch


# ---------------------------------------------------------------- from a program


def kernel_of(fn: Function, name: str = "", static: int = 0) -> Kernel:
    """The plain data of a kernel function. `name`: in the generated text, if it is not the function's. `static`: with
    more bytes of shared memory than that it is asked for at the launch."""
    found = written(fn)
    params = tuple(
        Param(p.name, p.dtype, True, p.data in found) if isinstance(p, Buffer) else Param(p.name, p.dtype)
        for p in fn.params
    )
    bound = {s.thread: loop_name(s) for s in reversed([*walk(fn.body)]) if isinstance(s, For) and s.kind == "thread"}
    return Kernel(name or fn.name, params, _shared_bytes(fn), tuple(bound.items()), dynamic_bytes(fn, static))


def written(fn: Function) -> set[Any]:
    """Handles of the memory that a kernel may write, by whatever name: by stores, or in a call."""
    nodes = list(walk(fn.body))
    given = {v for x in nodes if isinstance(x, Call) for v in x.args if v.dtype == "handle"}
    return given | {x.buffer.data for x in nodes if isinstance(x, Store)}


def _shared_bytes(fn: Function) -> int | None:
    """None where it depends on a size."""
    try:
        return shared_bytes(fn)
    except BuildError:
        return None


def device_code(
    program: Program, language: str, source: str, names: Mapping[str, str] | None = None, static: int = 0,
    **more: Any,
) -> DeviceCode:  # fmt: skip
    """The device code of a split program. `names`: kernels that are called otherwise in the source."""
    known = names or {}
    kernels = tuple(kernel_of(f, known.get(f.name, ""), static) for f in program.functions[1:])
    return DeviceCode(language, source, kernels, **more)


def compiled(program: Program, code: DeviceCode, target: str, ending: str) -> Compiled:
    """What a target's `compile` returns: the text, and what a Module (which knows devices) needs to run it."""
    host = with_names(program.entry, program, code)
    return Compiled(
        _unattached, code.source, extra={"device": code, "host": host, **of_text(program, code.source, target, ending)}
    )


def of_text(program: Program, source: str, target: str, ending: str) -> dict[str, Any]:
    """What the `extra` of a Compiled has of a text: how to export it, and the program, to build it again elsewhere."""

    def export(path: Any) -> None:
        if Path(path).suffix != ending:
            message = f"cannot export to `{Path(path).name}`: the target `{target}` writes {ending} files"
            raise BuildError("export-kind", message, legal=[ending])
        Path(path).write_text(source, encoding="utf-8")

    return {"export": export, "ending": ending, "program": program}


def with_names(host: Function, program: Program, code: DeviceCode) -> Function:
    """The host's launches with the names that the kernels have in the source."""
    names = {f.name: k.name for f, k in zip(program.functions[1:], code.kernels, strict=True)}
    if all(a == b for a, b in names.items()):
        return host

    def rule(x: Any) -> Any:
        renamed = isinstance(x, Call) and x.kind == "launch" and names.get(x.name) != x.name
        return Call(names[x.name], x.args, x.dtype, "launch") if renamed else None

    return replace(host, body=rewrite(host.body, rule))


def _unattached(arrays: Sequence[Any], numbers: Sequence[Any]) -> NoReturn:
    raise BuildError("device-code", "device code runs by way of a Module, which knows devices", legal=["Module(...)"])
