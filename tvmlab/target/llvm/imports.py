"""Code that a program brings along: `pragma import_llvm` (LLVM IR text) and `pragma import_c` (C, through clang).

    s[C].pragma(x, "import_llvm", text)      functions that call_extern names, linked into the program and inlined

The generated text and the imported one become one module before LLVM's passes run.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm

from ...core.error import BuildError
from ...core.node import Attr
from ...core.program import Program
from ...core.walk import walk
from . import jit

PRAGMAS = {"pragma_import_llvm": "LLVM IR", "pragma_import_c": "C"}


def collect(program: Program) -> list[str]:
    """The IR texts of the pragmas, each once."""
    found: dict[tuple[str, str], None] = {}
    for fn in program.functions:
        for s in walk(fn.body):
            if isinstance(s, Attr) and s.key in PRAGMAS:
                found[s.key, _text(s)] = None
    return [text if key == "pragma_import_llvm" else from_c(text) for key, text in found]


def _text(s: Attr) -> str:
    given = getattr(s.about, "value", s.about)
    if not isinstance(given, str) or not given.strip():
        raise BuildError(
            "import-text", f"{s.key.removeprefix('pragma_')} takes {PRAGMAS[s.key]} as a text, not {given!r}"
        )
    return Path(given).read_text() if "\n" not in given and given.endswith((".ll", ".c")) else given


def from_c(text: str) -> str:
    """C as LLVM IR. Only clang can do that."""
    clang = shutil.which("clang")
    if clang is None:
        raise BuildError(
            "no-clang",
            "the pragma import_c needs clang to make LLVM IR of the C code, and there is no clang on this machine",
            legal=[
                "pragma import_llvm with LLVM IR",
                "a body built with tir.ir_builder",
                "call_packed of a Python function",
            ],
        )
    command = [clang, "-x", "c", "-O2", "-S", "-emit-llvm", "-o", "-", "-"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    if done.returncode:
        raise BuildError(
            "import-c", "clang refused the C code of the pragma import_c", where=done.stderr.splitlines()[:12]
        )
    return done.stdout


def parsed(texts: list[str], made: jit.Settings) -> list[Any]:
    """Modules of the imported texts, in the form of the target's machine."""
    modules = []
    for text in texts:
        try:
            module = llvm.parse_assembly(text)
            module.verify()
        except RuntimeError as e:
            raise BuildError(
                "import-llvm",
                f"LLVM {llvm.llvm_version_info[0]} refused the imported LLVM IR",
                where=str(e).splitlines()[:6],
            ) from None
        module.triple = made.triple
        modules.append(module)
    return modules


def defined(modules: list[Any]) -> set[str]:
    return {f.name for m in modules for f in m.functions if not f.is_declaration}


def _let_later_ones_win(modules: list[Any]) -> None:
    """A function that several texts define is that of the last (the innermost pragma)."""
    later: set[str] = set()
    for m in reversed(modules):
        mine = [f for f in m.functions if not f.is_declaration]
        for f in mine:
            if f.name in later:
                f.linkage = "weak_any"
        later |= {f.name for f in mine}


def linked(text: str, texts: list[str], made: jit.Settings) -> str:
    """The program with what it imports, as one text; what is imported is visible in it only."""
    module = jit.parse(text, made)
    extra = parsed(texts, made)
    names = defined(extra)
    _let_later_ones_win(extra)
    for m in extra:
        m.data_layout = module.data_layout
        try:
            module.link_in(m)
        except RuntimeError as e:
            raise BuildError("import-link", f"the imported code cannot be linked to the program: {e}") from None
    for name in names:
        module.get_function(name).linkage = "internal"
    return str(module)
