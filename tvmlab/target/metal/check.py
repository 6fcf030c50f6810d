"""Metal text through clang, as "C++ for OpenCL" with a few definitions in front: no compiler of Metal runs here.

Found are errors of syntax, unknown names, wrong types and address spaces; `[[attributes]]` are not looked at.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from ...core.error import BuildError

COMPILERS = ("clang", *(f"clang-{n}" for n in range(23, 13, -1)), "clang-tidy")
FLAGS = (
    "-x", "cl", "-cl-std=clc++2021", "-Xclang", "-finclude-default-header", "-Wno-unknown-attributes",
    "-Wno-ignored-attributes", "-Wno-c++11-narrowing", "--target=spir64",
)  # fmt: skip
# What Metal's standard library calls differently from OpenCL's, for the parser.
_VECTORS = "\n".join(
    f"#define packed_{t}{n} {t}{n}"
    for t in ("char", "uchar", "short", "ushort", "int", "uint", "long", "ulong", "half", "float")
    for n in (2, 4)
)
METAL_STDLIB = f"""\
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#define device __global
#define threadgroup __local
#define thread __private
#define METAL_SHIM_CONSTANT __constant
{_VECTORS}
namespace metal {{
enum class mem_flags {{ mem_none = 0, mem_device = 1, mem_threadgroup = 2 }};
inline mem_flags operator|(mem_flags a, mem_flags b) {{ return mem_flags(int(a) | int(b)); }}
inline void threadgroup_barrier(mem_flags) {{}}
inline void simdgroup_barrier(mem_flags) {{}}
template <typename T, typename S> inline T as_type(S x) {{
    static_assert(sizeof(T) == sizeof(S), "as_type needs equal sizes");
    T y; __builtin_memcpy(&y, &x, sizeof(T)); return y;
}}
}}
"""


def compiler() -> str:
    """The program that checks, or ""."""
    return next((found for name in COMPILERS if (found := shutil.which(name))), "")


def missing() -> str:
    """Why nothing can be checked here, or ""."""
    return "" if compiler() else "there is no clang: apt install clang-15, or pip install clang-tidy"


def check(text: str, timeout: float = 60) -> None:
    """Refuses text that clang does not take, with its words."""
    program = compiler()
    if not program:
        raise BuildError("no-clang", f"Metal cannot be checked here: {missing()}")
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "metal_stdlib").write_text(METAL_STDLIB)
        file = Path(folder) / "kernel.metal"
        file.write_text(vectors_as_calls(text))
        done = subprocess.run(_command(program, folder, file), capture_output=True, text=True, timeout=timeout)
    said = done.stdout + done.stderr
    wrong = [line.split("kernel.metal:")[-1] for line in said.splitlines() if " error: " in line]
    if done.returncode or wrong:
        raise BuildError("metal-check", "clang does not take this Metal text", where=wrong[:8] or said.splitlines()[:8])


def _command(program: str, folder: str, file: Path) -> list[str]:
    if Path(program).name.startswith("clang-tidy"):
        checks = "--checks=-*,clang-diagnostic-*,clang-analyzer-core.DivideZero"
        return [program, checks, str(file), "--", *FLAGS, f"-I{folder}"]
    return [program, *FLAGS, f"-I{folder}", "-fsyntax-only", str(file)]


def vectors_as_calls(text: str) -> str:
    """`float4(a, b)`, Metal's constructor, is `(float4)(a, b)` in the dialect that clang knows."""
    return re.sub(r"(?<![\w<*(])((?:u?(?:char|short|int|long)|half|float)[248])\(", r"(\1)(", text)
