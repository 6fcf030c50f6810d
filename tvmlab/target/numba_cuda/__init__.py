"""Kernels as Python source for Numba CUDA: text that runs wherever numba and a CUDA device, or its simulator, are."""

from __future__ import annotations

from dataclasses import replace

from ...core.error import BuildError
from ...core.program import Function, Program
from ..base import KERNELS, Compiled, Target, TargetKind
from ..gpu import DeviceCode, compiled, device_code
from .lanes import scalarised
from .printer import CudaPrinter
from .text import module_head


def source(program: Program, target: Target) -> str:
    """A whole module: imports, helpers, kernels."""
    return write(program).source


def write(program: Program) -> DeviceCode:
    """The text of a split program's kernels, and where its loops are."""
    if len(program.functions) < 2:
        raise BuildError(
            "no-kernel", f"`{program.entry.name}` has no kernel: nothing in it is bound to threads",
            hint='s[C].bind(i, te.thread_axis("blockIdx.x"))',
        )  # fmt: skip
    printers = [_printed(f) for f in program.functions[1:]]
    lines = [line for p in printers for line in p.lines]
    head = module_head(program, lines, set().union(*(p.helpers for p in printers)))
    text, places = list(head), {}
    for p in printers:
        text += ["", ""]
        places.update({len(text) + i + 1: loop for i, loop in enumerate(p.loops) if loop})
        text += p.lines
    names = {f.name: p.entry for f, p in zip(program.functions[1:], printers, strict=True)}
    return device_code(program, "numba-cuda", "\n".join(text) + "\n", names, places=places)


class KernelPrinter(CudaPrinter):
    entry = ""


def _printed(fn: Function) -> KernelPrinter:
    p = KernelPrinter(dict(dict(fn.attrs).get("launch", ())), fn.buffers)
    p.entry = p.names(fn)
    params = ", ".join([p.names(x) for x in fn.params])
    p.emit("@cuda.jit")
    p.emit(f"def {p.entry}({params}):")
    p.block(scalarised(fn.body))
    return p


def compile(program: Program, target: Target) -> Compiled:
    """Device code: Numba compiles it where it runs, at the first launch."""
    code = replace(write(program), threads=target.max_num_threads)
    return compiled(program, code, "cuda", ".py")


TARGET = TargetKind(
    name="cuda",
    about="Python source for Numba CUDA; without a GPU it runs in Numba's simulator",
    source=source,
    compile=compile,
    passes=("emulate_fragments", "warp_memory", "allreduce_tree", "split_host_device"),
    leaves_out=KERNELS,
    threads=True,
    model="sm_80",
    device="cuda",
    checks=True,
    title="Python (Numba CUDA)",
    syntax="python",
)
