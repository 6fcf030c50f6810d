"""A program as a file that C can link: an object or a shared library, and a header with its prototype.

The object needs the C library, libm and, for parallel loops, the threads of POSIX; it brings its own launcher.
"""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

from ...core.error import BuildError
from ...core.node import Buffer
from ...core.program import Function, Program
from ...core.text import show
from .. import cabi
from ..base import Target
from . import jit
from .emit import signature, symbol_of
from .launchers import standalone

LIBRARIES = (".so", ".dylib", ".dll")
C_NAMES = {"bool": "uint8_t", "float16": "uint16_t", "float32": "float", "float64": "double", "handle": "void *"}


def export(program: Program, target: Target, path: str | Path) -> str:
    """Write `path` and beside it the C header `.h`; returns the name of the C function.

    A program without a name of its own (`main`) gets the file's.
    """
    from .compiling import effort

    path = Path(path)
    if program.entry.name == "main":
        named = replace(program.entry, name=_identifier(path.stem))
        program = replace(program, functions=(named, *program.functions[1:]))
    kinds = (".o", *LIBRARIES, ".ll", ".s")
    if path.suffix not in kinds:
        raise BuildError("export-kind", f"cannot export to `{path.name}`: unknown kind of file", legal=kinds)
    text, made = standalone_text(program, target), jit.settings(target)
    work = effort(program)
    if path.suffix == ".ll":
        path.write_text(text)
    elif path.suffix == ".s":
        path.write_text(jit.assembly(text, made, work))
    elif path.suffix == ".o":
        path.write_bytes(jit.compile_object(text, made, work))
    else:
        link_library(jit.compile_object(text, made, work), path, made)
    symbol = symbol_of(program.entry)
    path.with_suffix(".h").write_text(header(program.entry, symbol, f"@{symbol}_threads = global" in text))
    return symbol


def standalone_text(program: Program, target: Target) -> str:
    """IR that needs nothing of this process."""
    from .compiling import generate

    module = generate(program, target)
    if module.sites:
        names = sorted({s.name for s in module.sites})
        raise BuildError(
            "export-packed",
            f"`{program.entry.name}` calls Python ({', '.join(names)}): it cannot run outside this process",
            legal=["call a C function (call_extern)"],
        )
    return module.text(standalone(symbol_of(program.entry), module.machine.darwin))


def link_library(code: bytes, path: Path, made: jit.Settings) -> None:
    linker = cabi.compiler("" if made.native else made.triple)
    if linker is None:
        other = f"it is for {made.triple}, and there is no {made.triple}-gcc here to link it"
        why = "there is no C compiler here to link it" if made.native else other
        raise BuildError(
            "no-linker",
            f"cannot make the shared library {path.name}: {why}",
            legal=["export to .o, which needs no compiler"],
        )
    with tempfile.TemporaryDirectory() as folder:
        piece = Path(folder) / "program.o"
        piece.write_bytes(code)
        if problem := cabi.link_shared(linker, piece, path):
            raise BuildError("link-failed", f"cannot link {path.name}: {problem}")


def header(fn: Function, symbol: str, threads: bool) -> str:
    """The C header: prototype, and what each argument is."""
    lines, parts = [], []
    for i, (p, _) in enumerate(signature(fn)):
        name = f"{_identifier(p.name) or 'arg'}{'' if _unique(fn, p) else i}"
        if isinstance(p, Buffer):
            shape = ", ".join(show(x) for x in p.owner.shape)
            lines.append(f" *   {name}: {p.dtype}[{shape}], row-major")
            parts.append(f"{C_NAMES.get(p.dtype, p.dtype + '_t')} *{name}")
        else:
            lines.append(f" *   {name}: {p.dtype}{', a size' if p in fn.sizes else ''}")
            parts.append(f"{C_NAMES.get(p.dtype, p.dtype + '_t')} {name}")
    guard = f"TVMLAB_{symbol.upper()}_H"
    about = "/* Threads of parallel loops; 0: TVMLAB_NUM_THREADS of the environment, else all processors. */"
    count = f"\n{about}\nextern int32_t {symbol}_threads;\n"
    return (
        f'#ifndef {guard}\n#define {guard}\n#include <stdint.h>\n#ifdef __cplusplus\nextern "C" {{\n#endif\n\n'
        f"/* Returns 0, or -2 when there is no memory for a temporary. The arrays must not overlap.\n"
        + "\n".join(lines)
        + f"\n * Link with -lm{' -lpthread' if threads else ''}. */\n"
        f"int32_t {symbol}({', '.join(parts) or 'void'});\n{count if threads else ''}"
        "\n#ifdef __cplusplus\n}\n#endif\n#endif\n"
    )


def _identifier(name: str) -> str:
    text = "".join(ch if ch.isalnum() and ch.isascii() or ch == "_" else "_" for ch in name)
    return f"_{text}" if text[:1].isdigit() else text


def _unique(fn: Function, p: object) -> bool:
    return sum(_identifier(q.name) == _identifier(p.name) for q, _ in signature(fn)) == 1  # type: ignore[attr-defined]
