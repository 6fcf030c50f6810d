"""Modules whose names load on first use, and what they say about a name they do not have."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Any

# whole parts of the classic stack that are not here yet -> what there is instead
NOT_YET: dict[str, str] = {
    "auto_scheduler": "tune.Task.of(C, [A, B, C], target) gives any expression a space that is searched",
    "meta_schedule": "tune.Task.of(C, [A, B, C], target) gives any expression a space that is searched",
    "relay": "graphs of operators are not there yet: write them with te and topi",
    "relax": "graphs of operators are not there yet: write them with te and topi",
    "nnvm": "graphs of operators are not there yet: write them with te and topi",
    "graph_executor": "graphs of operators are not there yet: write them with te and topi",
    "graph_runtime": "graphs of operators are not there yet: write them with te and topi",
    "vta": "the accelerator is not there yet",
    "micro": "microcontrollers are not there yet; module.export writes C-callable object files",
    "nvcc": "the target `cuda_c` prints CUDA C++, and tvmlab.resources compiles it by NVRTC",
    "cublas": "no vendor's library is called: kernels are generated, kernels/matmul.py has a GPU schedule",
    "cudnn": "no vendor's library is called: kernels are generated, kernels/conv2d.py has a GPU schedule",
    "rocm": "there is no target for ROCm yet; `opencl` runs on such devices",
    "rocblas": "no vendor's library is called, and there is no target for ROCm yet",
    "hybrid": "write the loops with te.extern and tir.ir_builder, or the computation with te.compute",
    "script": "there is no TensorIR here: te.create_schedule schedules the expression itself",
}


def lazy(
    module: str, where: Mapping[str, str], absent: Mapping[str, str] | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a module whose names live elsewhere.

    `where`: name -> module that defines it, `module:other_name`, or a module itself (`=module`).
    """

    def get(name: str) -> Any:
        if name not in where:
            raise missing(module, name, [*where, *public(vars(sys.modules[module]))], absent or {})
        value = find(where[name], name)
        setattr(sys.modules[module], name, value)
        return value

    def names() -> list[str]:
        return sorted({*where, *public(vars(sys.modules[module]))})

    return get, names


def find(place: str, name: str) -> Any:
    """What `lazy` says lies there."""
    if place.startswith("="):
        return import_module(place[1:])
    home, _, other = place.partition(":")
    return getattr(import_module(home), other or name)


def public(names: Iterable[str]) -> list[str]:
    return [n for n in names if not n.startswith("_") and n not in ("annotations", "Any", "missing", "lazy")]


def _importing() -> bool:
    """Is it `from module import name` that asks? That loses the text of an AttributeError; an ImportError passes.

    Not while tvmlab stands in for tvm: then such an import gives a stand-in.
    """
    if any(type(finder).__module__ == "tvmlab.compat" for finder in sys.meta_path):
        return False
    frame = sys._getframe(2)
    for _ in range(3):
        if frame.f_code.co_name == "_handle_fromlist":
            return True
        if frame.f_back is None:
            break
        frame = frame.f_back
    return False


def missing(module: str, name: str, known: Iterable[str], absent: Mapping[str, str]) -> Exception:
    """What is said about a name that a module with classic names does not have."""
    short = module.removeprefix("tvmlab.")
    if name.startswith("_"):  # asked for by machinery, not by a person
        return AttributeError(f"module {module!r} has no attribute {name!r}")
    from difflib import get_close_matches

    from .core.error import MissingImport, MissingName

    hint = absent.get(name) or NOT_YET.get(name)
    if hint:
        kind = MissingImport if _importing() else MissingName
        return kind("not-in-tvmlab", f"{short}.{name} does not exist in tvmlab", hint=hint)
    close = get_close_matches(name, sorted(set(known)), n=4)
    hint = "" if close else f"dir({short}) lists what exists"
    return MissingName("unknown-name", f"there is no {short}.{name}", legal=[f"{short}.{n}" for n in close], hint=hint)
