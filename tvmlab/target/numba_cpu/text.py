"""Puts the text of a module together: the parts of the prelude that are used, the kernel, the function people call."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

from ...core.node import Buffer, Var
from ...core.program import Function
from ...core.text import show
from ..pylike import PyPrinter
from .prelude import PARTS

IMPORTS = {
    "math": "import math",
    "operator": "import operator",
    "np": "import numpy as np",
    "ir": "from llvmlite import ir",
    "cgutils": "from numba.core import cgutils",
}
FROM_NUMBA = ("njit", "prange", "types")
FROM_EXTENDING = ("intrinsic", "lower_builtin", "models", "register_model", "type_callable")
OPERATORS = "operators"  # asked for by printers when vectors meet operators
TOGETHER = {OPERATORS: ("type_invert", "invert"), "Vec": ("VecModel",)}  # one is no use without the other


@lru_cache(maxsize=1)
def pieces() -> dict[str, tuple[str, frozenset[str]]]:
    """Each top-level definition of the prelude: its text, and the names it uses. Bare calls are `operators`."""
    found: dict[str, tuple[str, frozenset[str]]] = {}
    for part in PARTS:
        _read((Path(__file__).parent / "prelude" / f"{part}.py").read_text(), found)
    return found


def _read(source: str, found: dict[str, tuple[str, frozenset[str]]]) -> None:
    rows = source.splitlines()
    for n in ast.parse(source).body:
        if isinstance(n, (ast.Import, ast.ImportFrom)) or (
            isinstance(n, ast.Expr) and isinstance(n.value, ast.Constant)
        ):
            continue
        start = min([n.lineno, *[d.lineno for d in getattr(n, "decorator_list", [])]]) - 1
        text = "\n".join(rows[start : n.end_lineno])
        name = getattr(n, "name", None) or (n.targets[0].id if isinstance(n, ast.Assign) else OPERATORS)  # type: ignore[attr-defined]
        used = frozenset(x.id for x in ast.walk(n) if isinstance(x, ast.Name))
        old, before = found.pop(name, ("", frozenset()))  # bare calls gather after the last one's definitions
        found[name] = (f"{old}\n{text}" if old else text, before | used)


def closure(wanted: Iterable[str]) -> list[str]:
    """The definitions that are needed, in the order of the prelude."""
    table = pieces()
    seen: set[str] = set()
    todo = [w for w in wanted if w in table]
    while todo:
        name = todo.pop()
        if name not in seen:
            seen.add(name)
            todo += [n for n in table[name][1] if n in table]
            todo += TOGETHER.get(name, ())
    return [n for n in table if n in seen]


def imports(used: set[str]) -> list[str]:
    lines = [IMPORTS[n] for n in ("math", "operator") if n in used]
    lines += [""] if lines else []
    lines += [IMPORTS["np"]]
    lines += [IMPORTS["ir"]] if "ir" in used else []
    lines += [f"from numba import {', '.join(n for n in FROM_NUMBA if n in used)}"]
    lines += [IMPORTS["cgutils"]] if "cgutils" in used else []
    extending = [n for n in FROM_EXTENDING if n in used]
    return lines + ([f"from numba.extending import {', '.join(extending)}"] if extending else [])


def module_text(fn: Function, p: PyPrinter, entry: str, made: dict[str, str], parallel: bool, contract: bool) -> str:
    """The printer has the kernel's lines; `made`: names made by factories of the prelude, `load16` -> `loader(16)`.

    `entry`: the name of the function people call; the kernel's is `<entry>_kernel`.
    """
    names = closure(p.helpers)
    table = pieces()
    fast = ['fastmath={"contract"}'] if contract else []
    options = ['error_model="numpy"', *fast, "nogil=True", *(["parallel=True"] if parallel else [])]
    parameters = ", ".join(p.names(x) for x in (*fn.params, *fn.sizes))
    kernel = [f"@njit({', '.join(options)})", f"def {entry}_kernel({parameters}):", *p.lines]
    code = "\n".join([*kernel, *made.values()])
    used = {n for name in names for n in table[name][1]} | {"njit"}
    used |= {n.id for n in ast.walk(ast.parse(code)) if isinstance(n, ast.Name)}
    parts = [header(fn, entry), "\n".join(imports(used))]
    if names:
        parts.append("# The vocabulary: vector values and functions that Numba does not have.\n")
        parts += ["\n" + table[n][0] + "\n" for n in names]
    if made:
        parts.append("\n" + "\n".join(f"{k} = {v}" for k, v in sorted(made.items())))
    parts += ["\n" + "\n".join(kernel), "\n" + "\n".join(wrapper(fn, p, entry))]
    return "\n\n".join(part.strip("\n") if i < 2 else part.rstrip("\n") for i, part in enumerate(parts)) + "\n"


def header(fn: Function, entry: str) -> str:
    return f'"""{fn.name}: written by tvmlab. Needs only numpy and numba; call `{entry}` with your arrays."""\n'


# ---------------------------------------------------------------- the function people call


def wrapper(fn: Function, p: PyPrinter, entry: str) -> list[str]:
    """Takes arrays of the program's shapes, checks them, and calls the kernel with flat views."""
    parameters = ", ".join(p.names(x) for x in fn.params)
    lines = [f"def {entry}({parameters}):", f'    """{describe(fn, p)}"""']
    bound: set[Var] = set()
    for b in fn.buffers:
        lines += [f"    {line}" for line in check(b, p, bound)]
    sizes = [p.names(v) for v in fn.sizes]
    lines += [f"    {line}" for v in fn.sizes if v not in bound for line in stride_size(fn, v, p)]
    flat = [flattened(x, p) for x in fn.params]
    lines.append(f"    {entry}_kernel({', '.join([*flat, *sizes])})")
    return lines


def describe(fn: Function, p: PyPrinter) -> str:
    return "; ".join(
        f"{p.names(x)}: {x.dtype}" + (shape_text(x.owner) if isinstance(x, Buffer) else "") for x in fn.params
    )


def shape_text(b: Buffer) -> str:
    return f"[{', '.join(show(s) for s in b.shape)}]"


def check(b: Buffer, p: PyPrinter, bound: set[Var]) -> list[str]:
    """Refuse another dtype, rank, shape or layout; bind the sizes that the shape tells."""
    name, shape = p.names(b), b.owner.shape
    lines = [
        f'assert {name}.dtype == "{b.dtype}" and {name}.ndim == {len(shape)}, '
        f'"{name} must be {b.dtype}{shape_text(b.owner)}"'
    ]
    for d, extent in enumerate(shape):
        if isinstance(extent, Var) and extent not in bound:
            bound.add(extent)
            lines.append(f"{p.names(extent)} = {name}.shape[{d}]")
    wanted = ", ".join(p.index(s) for s in shape) + ("," if len(shape) == 1 else "")
    if not all(isinstance(s, Var) for s in shape) or len(set(shape)) < len(shape) or any(s not in bound for s in shape):
        lines.append(
            f'assert {name}.shape == ({wanted}), f"{name} must have the shape {{({wanted})}}, not {{{name}.shape}}"'
        )
    if b.owner.strides is None:
        lines.append(f'assert {name}.flags.c_contiguous, "{name} must be C-contiguous"')
    return lines


def stride_size(fn: Function, v: Var, p: PyPrinter) -> list[str]:
    """A size that is a stride or an offset of a buffer, not an extent."""
    for b in fn.buffers:
        for d, s in enumerate(b.owner.strides or ()):
            if s is v:
                return [f"{p.names(v)} = {p.names(b)}.strides[{d}] // {p.names(b)}.itemsize"]
    return [f"{p.names(v)} = 0"]


def flattened(x: Buffer | Var, p: PyPrinter) -> str:
    name = p.names(x)
    if isinstance(x, Var):
        return f"np.float32(np.float16({name}))" if x.dtype == "float16" else f"{p.scalar_type(x.dtype)}({name})"
    flat = f"{name}.reshape(-1)"
    if x.owner.strides is not None:
        span = f"{name}.size and 1 + sum((n - 1) * s for n, s in zip({name}.shape, {name}.strides)) // {name}.itemsize"
        flat = f"np.lib.stride_tricks.as_strided({name}, ({span},), ({name}.itemsize,))"
    return f"{flat}.view(np.uint16)" if x.dtype == "float16" else flat
