"""Kernels as text of the C family: what OpenCL C, CUDA C++ and Metal share. A language is its differences, a Dialect.

    __kernel void main_C(__global const float* restrict A, ...) {
        const int tx = get_local_id(0);

The text means what the program means, to the bit where C leaves something to the machine: divisions round down,
integers wrap, a division by zero gives zero, `min` of a NaN and a number is the second. Where C's own operators differ
a small function is printed with the kernels (helpers.py), and only then.
"""

from __future__ import annotations

from typing import Any, NoReturn

from ...core.error import BuildError
from ...core.program import Function, Program
from ..base import Compiled, Target
from ..gpu.code import Site, compiled, device_code, of_text
from . import helpers, host
from .checked import CHECKED, is_checked
from .dialect import Dialect
from .kernel import kernel_name, kernels, write

__all__ = [
    "CHECKED", "Dialect", "kernel_name", "kernels", "launched", "only_text", "program_text", "text_and_places", "write",
]  # fmt: skip


def program_text(program: Program, d: Dialect) -> str:
    """The whole text: notes, what the language needs first, helpers, kernels, and what the host does.

    Takes what `split_host_device` makes. Refused: a program without kernels, and what kernels cannot do.
    """
    return text_and_places(program, d)[0]


def text_and_places(program: Program, d: Dialect) -> tuple[str, dict[int, str], tuple[Site, ...] | None]:
    """`program_text`; of its lines, from 1, the loop that they are of, for what a compiler says of a line; and the
    accesses that are checked, where that is asked for."""
    found = kernels(d.name, program.functions)
    sites: list[Site] | None = [] if is_checked(program) else None
    written = [write(fn, d, sites) for fn in found]
    used = {t for w in written for t in w.dtypes}
    head = [*[f"// {note}" for note in (*d.notes, *program.remarks)], *d.head.splitlines()]
    head += d.half_head.splitlines() if "float16" in used else []
    head += d.fragments_head.splitlines() if any(w.fragments for w in written) else []
    head += d.float64_head.splitlines() if "float64" in used else []
    head += d.strict_head.splitlines() if is_strict(program) else []
    parts = ["\n".join(head)] if head else []
    parts += helpers.text(d, {h for w in written for h in w.helpers})
    parts += [d.inside.format(F=d.function)] if sites else []
    places: dict[int, str] = {}
    for w in written:
        before = sum(part.count("\n") + 2 for part in parts)
        places.update({before + i: loop for i, loop in enumerate(w.loops, 1) if loop})
        parts.append("\n".join(w.lines))
    hosts = [f for f in program.functions if f not in found]
    more = {kernel_name(fn): w.more for fn, w in zip(found, written, strict=True)}
    parts += ["\n".join(_host(f, found, d) if sites is None else host.comments(f, more)) for f in hosts]
    return "\n\n".join(parts) + "\n", places, None if sites is None else tuple(sites)


def _host(fn: Function, kernels: tuple[Function, ...], d: Dialect) -> list[str]:
    if not d.host:
        return host.comments(fn)
    head = f"#ifndef {d.host}  // for who reads: the compiler of kernels leaves this out"
    return [head, *host.cuda(fn, kernels, d), "#endif"]


def launched(program: Program, d: Dialect, target: Target, language: str, ending: str) -> Compiled:
    """What `compile` gives of a target whose driver compiles the text where it runs, at the first launch."""
    names = {fn.name: kernel_name(fn) for fn in kernels(d.name, program.functions)}
    text, places, sites = text_and_places(program, d)
    options = d.strict_options if is_strict(program) else ()
    more: dict[str, Any] = {"places": places, "options": options, "sites": sites, "threads": target.max_num_threads}
    more["static"] = d.static_shared
    code = device_code(program, language, text, names, **more)
    return compiled(program, code, d.name, ending)


def is_strict(program: Program) -> bool:
    """Is each operation to round by itself?"""
    return any(dict(fn.attrs).get("fp") == "strict" for fn in program.functions)


def only_text(name: str, program: Program, source: str, why: str, ending: str) -> Compiled:
    """What `compile` gives of a target that nothing here runs: a module to read and to export, not to call."""

    def refused(*arguments: Any) -> NoReturn:
        raise BuildError(
            "text-target", f"{name} is text: {why}", legal=["target opencl", "target cuda", "target interp"],
            hint="module.source is the text, module.export writes it to a file",
        )  # fmt: skip

    return Compiled(refused, source, extra=of_text(program, source, name, ending))
