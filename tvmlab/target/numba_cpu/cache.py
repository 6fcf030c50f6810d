"""Compiled kernels on disk: Numba's own records of a compilation, in files with a checksum.

Numba's `cache=True` wants a module that can be imported; here the source is text. What is stored is the same. A file
that is damaged, or that another version of Numba wrote, is compiled anew.
"""

from __future__ import annotations

import hashlib
import pickle
import sys
from typing import Any

from ..base import Target
from .machine import compiling_for


def make(kernel: Any, signature: tuple[Any, ...], text: str, target: Target) -> bool:
    """Give the kernel machine code for the signature; true when it was there already."""
    from ..llvm import cache as disk

    with compiling_for(target):
        where = disk.folder("numba")
        name = _name(kernel, signature, text)
        path = None if where is None else where / name[:2] / f"{name[2:]}.pickle"
        stored = None if path is None else disk.read(path)
        if stored is not None and _restore(kernel, stored):
            return True
        kernel.compile(signature)
        made = _record(kernel)
        if path is not None and made is not None:
            disk.write(path, made)
        return False


def _name(kernel: Any, signature: tuple[Any, ...], text: str) -> str:
    import llvmlite
    import numba

    machine = kernel.targetdescr.target_context.codegen().magic_tuple()
    parts = (numba.__version__, llvmlite.__version__, sys.version, machine, signature, text)
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def _record(kernel: Any) -> bytes | None:
    """The compilation as bytes; None where it holds addresses of this process."""
    from numba.core import serialize

    (made,) = kernel.overloads.values()
    if made.library.has_dynamic_globals or made.lifted:
        return None
    record: bytes = serialize.dumps(made._reduce())
    return record


def _restore(kernel: Any, stored: bytes) -> bool:
    from numba.core.compiler import CompileResult

    context = kernel.targetdescr.target_context
    context.refresh()  # compiling would do it: it links Numba's run time
    try:
        kernel.add_overload(CompileResult._rebuild(context, *pickle.loads(stored)))
    except Exception:  # whatever an older or newer Numba left there: compiling is always right
        return False
    return True
