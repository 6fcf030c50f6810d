"""CUDA C++ through NVRTC, which needs no GPU: does it compile, and what does a kernel use?

check(text)  ->  {"main_C": Usage(registers=32, shared=1024, ...)}
"""

from __future__ import annotations

import io
import re
from dataclasses import dataclass
from typing import Any

from ...core.error import BuildError
from ...core.extras import pip


@dataclass(frozen=True)
class Usage:
    """Of one kernel, as ptxas says: registers of a thread, shared bytes of a block, bytes of a thread's stack and those
    that registers are spilled to and loaded from. `barriers`: how many of the block's barrier units (not places)."""

    registers: int
    shared: int = 0
    stack: int = 0
    spill_stores: int = 0
    spill_loads: int = 0
    barriers: int = 0


def missing() -> str:
    """Why nothing can be checked here, or ""."""
    try:
        import cuda.core
    except ImportError as e:
        return f"{e}: {pip('cuda')} brings NVRTC"
    return "" if hasattr(cuda.core, "Program") else "cuda.core is too old: it has no Program"


def check(text: str, arch: str = "sm_90", strict: bool = False) -> dict[str, Usage]:
    """What each kernel of the text uses on that architecture; what does not compile is refused with the lines."""
    why = missing()
    if why:
        raise BuildError("no-nvrtc", f"CUDA C++ cannot be compiled here: {why}")
    log = io.StringIO()
    machine_code(text, arch, strict, ptxas_options=["-v"], log=log)
    return usage(log.getvalue())


def job(text: str, arch: str, report: Any) -> dict[str, Usage]:
    """The same, in a process of its own (`runtime/worker.py`)."""
    return check(text, arch)


def machine_code(text: str, arch: str, strict: bool = False, log: Any = None, **more: Any) -> Any:
    """The text compiled, as cuda.core's ObjectCode. `more`: other options of the compiler."""
    from cuda.core import Program, ProgramOptions

    options = ProgramOptions(arch=arch, include_path=_headers(), fma=not strict, **more)
    try:
        return Program(text, "c++", options).compile("cubin", logs=log)
    except Exception as e:  # NVRTC's own errors have many types
        raise _refused(text, str(e), arch) from None


def _headers() -> list[str]:
    """Where cuda_fp16.h is."""
    from cuda import pathfinder

    found: Any = pathfinder.find_nvidia_header_directory("cudart")
    return [found] if found else []


def _refused(text: str, message: str, arch: str) -> BuildError:
    """The compiler's words, with the lines of the text that they are about."""
    rows = text.splitlines()
    said = [x for x in message.splitlines() if "error" in x][:8]
    lines: list[str] = []
    for x in said:
        at = re.search(r"\((\d+)\)", x)
        lines += [x.strip(), f"    {rows[int(at[1]) - 1].strip()}"] if at and int(at[1]) <= len(rows) else [x.strip()]
    return BuildError(
        "cuda-compile", f"NVRTC does not take this text for {arch}", where=lines or message.splitlines()[:8]
    )


def usage(log: str) -> dict[str, Usage]:
    """ptxas -v, read:

    ptxas info    : Compiling entry function 'main_C' for 'sm_90'
        16 bytes stack frame, 8 bytes spill stores, 8 bytes spill loads
    ptxas info    : Used 32 registers, used 1 barriers, 1024 bytes smem
    """
    found: dict[str, Usage] = {}
    for part in re.split(r"Compiling entry function ", log)[1:]:
        name = re.match(r"'(\w+)'", part)
        registers = _number(part, r"Used (\d+) registers")
        if name and registers is not None:
            stores, loads = (_number(part, rf"(\d+) bytes spill {x}") or 0 for x in ("stores", "loads"))
            stack, shared = _number(part, r"(\d+) bytes stack frame") or 0, _number(part, r"(\d+) bytes smem") or 0
            barriers = _number(part, r"used (\d+) barriers") or 0
            found[name[1]] = Usage(registers, shared, stack, stores, loads, barriers)
    return found


def _number(text: str, pattern: str) -> int | None:
    found = re.search(pattern, text)
    return int(found[1]) if found else None
