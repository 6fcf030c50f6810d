"""What a device holds: threads, grids, shared memory, registers; what a kernel asks of it, and how full it makes it.

    check(program, get("sm_80"))                  refuses kernels that the device cannot start
    occupancy(256, 40, 8192, get("sm_80"))        6 blocks on a multiprocessor, 48 warps, 75 %, limited by registers
    shared_bytes(kernel)                          what a block takes of shared memory

A program is one that is split: each kernel is a function with `attrs` "launch", thread tag -> extent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

from ...core import dtype as dt
from ...core import fragments
from ...core.error import BuildError, MissingName
from ...core.node import Alloc, Buffer, Const, Expr, For, Load, Ramp, Store
from ...core.program import Function, Program, loop_name
from ...core.text import show
from ...core.threads import BLOCK, GRID, WARP
from ...core.units import size as shown
from ...core.walk import constant, walk
from ...schedule.scopes import rank

if TYPE_CHECKING:
    from ..base import Target

KIB = 1024
CUDA_STATIC = 48 * KIB  # of a block: what kernels of NVIDIA's can declare without asking
WIDE = 16  # bytes: where an array begins that vectors are read from; any other begins where its elements may
TILED = 32  # likewise, that tensor cores read


@dataclass(frozen=True)
class Model:
    """A device, per block unless said otherwise; sizes in bytes. 0: the maker does not say.

    `shared`: static, without asking; `shared_most`: with the opt-in that a driver has. `shared_sm`, `registers_sm`,
    `warps_sm`, `blocks_sm`: of a multiprocessor. `register_unit`: registers are given to a warp in so many at once;
    `shared_unit`: likewise bytes to a block, of which the driver keeps `shared_kept`. `parts`: a multiprocessor's
    registers lie in so many parts, and a warp's in one of them. `least`: fields that are what every device is taken to
    have, most have more.
    """

    name: str
    about: str
    threads: int
    block: tuple[int, int, int]
    grid: tuple[int, int, int]
    shared: int
    shared_most: int
    warp: int = WARP
    registers_thread: int = 0
    registers_sm: int = 0
    register_unit: int = 0
    parts: int = 1
    warps_sm: int = 0
    blocks_sm: int = 0
    shared_sm: int = 0
    shared_unit: int = 0
    shared_kept: int = 0
    least: frozenset[str] = frozenset()


# CUDA C++ Programming Guide, "Compute Capabilities", table "Technical Specifications per Compute Capability":
# threads 1024, block (1024, 1024, 64), grid (2**31 - 1, 65535, 65535), warp 32, 32 blocks and 64 warps per
# multiprocessor, 64 Ki registers per multiprocessor and per block, 255 per thread, 48 KiB of static shared memory.
# Same guide, sections "Compute Capability 8.x" and "9.0": shared memory per multiprocessor (164 and 228 KiB), per block
# (163 and 227), and the 1 KiB that the system keeps of each block; the others by the same table, and by
# cuda_occupancy.h: 32 warps and 16 blocks of 7.5, 48 warps of 8.6, 8.9 and 12.0, with 16, 24 and 24 blocks.
# cuda_occupancy.h of CUDA 13.0: registers in units of 256 per warp in 4 parts, shared memory in units of 128 bytes.
_NVIDIA: dict[str, Any] = {
    "threads": 1024, "block": (1024, 1024, 64), "grid": (2**31 - 1, 65535, 65535), "shared": CUDA_STATIC,
    "registers_thread": 255, "registers_sm": 65536, "register_unit": 256, "parts": 4,
    "warps_sm": 64, "blocks_sm": 32, "shared_unit": 128, "shared_kept": KIB,
}  # fmt: skip
UNKNOWN = "opencl"
_SMALL: dict[str, Any] = {**_NVIDIA, "shared_most": 99 * KIB, "shared_sm": 100 * KIB, "warps_sm": 48}
_TURING: dict[str, Any] = {**_NVIDIA, "warps_sm": 32, "blocks_sm": 16, "shared_unit": 256, "shared_kept": 0}
MODELS = (
    Model("sm_75", "NVIDIA T4, RTX 20", shared_most=64 * KIB, shared_sm=64 * KIB, **_TURING),
    Model("sm_80", "NVIDIA A100", shared_most=163 * KIB, shared_sm=164 * KIB, **_NVIDIA),
    Model("sm_86", "NVIDIA A10, RTX 30", **{**_SMALL, "blocks_sm": 16}),
    Model("sm_89", "NVIDIA L4, RTX 40", **{**_SMALL, "blocks_sm": 24}),
    Model("sm_90", "NVIDIA H100, H200", shared_most=227 * KIB, shared_sm=228 * KIB, **_NVIDIA),
    Model("sm_100", "NVIDIA B200", shared_most=227 * KIB, shared_sm=228 * KIB, **_NVIDIA),
    Model("sm_120", "NVIDIA RTX 50", **{**_SMALL, "blocks_sm": 24}),
    # OpenCL 3.0, "Device Queries" (clGetDeviceInfo): CL_DEVICE_LOCAL_MEM_SIZE is 32 KiB at least. The standard asks for
    # work groups of one work item only; 256 is the CL_DEVICE_MAX_WORK_GROUP_SIZE that AMD's drivers report.
    # Global sizes are size_t; 2**31 - 1 is what an int32 index of a group holds.
    Model(UNKNOWN, "an OpenCL device of which nothing more is known", threads=256, block=(256, 256, 256),
          grid=(2**31 - 1,) * 3, shared=32 * KIB, shared_most=32 * KIB, least=frozenset({"threads", "shared"})),
    # Metal Feature Set Tables, "GPU implementation limits by family", Apple7 to Apple9 (M1 to M4): 1024 threads per
    # threadgroup, 32 KB of threadgroup memory. SIMD groups of 32: `threadExecutionWidth` of these GPUs. The tables name
    # no limit of a grid; positions are 32 bits.
    Model("apple", "Apple M1 to M4", threads=1024, block=(1024, 1024, 1024), grid=(2**32 - 1,) * 3, shared=32 * KIB,
          shared_most=32 * KIB),
)  # fmt: skip


def names() -> list[str]:
    return [m.name for m in MODELS]


def family(name: str) -> list[str]:
    """The models of one maker's interface: sm_80 and sm_90 of "sm_80"; none of ""."""
    return [m.name for m in MODELS if m.name.split("_")[0] == name.split("_")[0]]


@cache
def get(name: str) -> Model:
    """The model of that name; an unknown one answers with those that exist."""
    for m in MODELS:
        if m.name == name:
            return m
    raise MissingName("unknown-device", f"there is no device model `{name}`", legal=names())


OPTION = {"threads": "max_num_threads", "shared": "max_shared_memory_per_block"}  # of the target, by the field


def of(target: Target) -> Model:
    """The model whose limits hold for a target; all of its shared memory, where the target asks the driver for it.

    What its -max_num_threads and its -max_shared_memory_per_block say is less than there is, or any number where
    nothing is known of the device.
    """
    model = get(target.device_model)
    if target.kind.asks:
        model = replace(model, shared=model.shared_most)
    changes, said = {}, [model.name, "with"]
    for field, option in OPTION.items():
        n = getattr(target, option)
        if n and (n < getattr(model, field) or field in model.least):
            changes[field] = n
            said.append(f"-{option}={n}")
    if not changes:
        return model
    n = changes.get("threads", 0)
    block = (n, n, n) if n and "threads" in model.least else model.block
    return replace(model, name=" ".join(said), block=block, least=model.least - set(changes), **changes)


# ---------------------------------------------------------------- what a kernel asks for


def launch(fn: Function) -> Mapping[str, Expr] | None:
    """Thread tag -> extent of a kernel; None of any other function."""
    found: Mapping[str, Expr] | None = dict(fn.attrs).get("launch")
    return found


def shared_layout(kernel: Function) -> list[tuple[Buffer, int]]:
    """The buffers in shared memory, and where each begins, in bytes: in order of allocation, as ptxas lays out what is
    declared in that order.

    What is read no more is not written over: `reuse_storage` has let buffers take over the memory of others before.
    """
    vectors = {x.buffer.data for x in walk(kernel.body) if type(x) in (Load, Store) and type(x.indices[0]) is Ramp}  # type: ignore[attr-defined]
    tiled = fragments.memory(kernel.body)
    at, found = 0, []
    for b in _shared(kernel):
        align = TILED if b.data in tiled else WIDE if b.data in vectors else dt.size(b.dtype)
        at = -(-at // align) * align
        found.append((b, at))
        at += _bytes(kernel, b)
    return found


def shared_bytes(kernel: Function) -> int:
    """The shared memory of a block, in bytes, as `shared_layout` has it."""
    layout = shared_layout(kernel)
    if not layout:
        return 0
    last, at = layout[-1]
    return at + _bytes(kernel, last)


def dynamic_bytes(kernel: Function, static: int) -> int:
    """Shared memory that is asked for at the launch: all of a kernel's that takes more than `static` bytes."""
    if not static:
        return 0
    try:
        total = shared_bytes(kernel)
    except BuildError:  # where a size is not known its printer refuses it
        return 0
    return total if total > static else 0


def _shared(kernel: Function) -> list[Buffer]:
    return [s.buffer for s in walk(kernel.body) if type(s) is Alloc and rank(s.buffer.scope) == 1]


def _bytes(kernel: Function, b: Buffer) -> int:
    extents = [constant(n) for n in b.shape]
    if b.strides is not None or None in extents:
        raise BuildError(
            "shared-size",
            f"{b.name} in shared memory of kernel {kernel.name} has {' * '.join(map(show, b.shape)) or 1} elements: a "
            "kernel needs a number",
            hint="attach its stage deeper, so that a block needs a part of constant size",
        )
    return prod(n for n in extents if n is not None) * dt.size(b.dtype)


# ---------------------------------------------------------------- what the device allows


Facts = Callable[[], tuple[str, Mapping[str, Any]] | None]  # a device's name, and its numbers by their classic names
FACT = {"threads": "max_threads_per_block", "shared": "max_shared_memory_per_block"}


def check(program: Program, model: Model, present: Facts = lambda: None) -> None:
    """Refuse kernels that the device cannot start. What is known only at a call is not looked at.

    `present`: the device that is there, if that is known; it is asked for where something is refused.
    """
    for fn in program.functions:
        extents = launch(fn)
        if extents is not None:
            _check_block(fn, extents, model, present)
            _check_dimensions(fn, extents, model)
            _check_shared(fn, model, present)


def _has(model: Model, field: str, each: str = "") -> str:
    """ "sm_80 has 1024", "OpenCL promises 256"."""
    n = f"{getattr(model, field)}{each}"
    if field in model.least:
        return f"OpenCL promises {n}"
    return f"{model.name} has {n}"


def _advice(model: Model, field: str, wanted: int, present: Facts, otherwise: str) -> str:
    """How to say that a device has more than the least, and what to do with one that has not."""
    if field not in model.least:
        return otherwise
    there = present()
    if there is None:
        return f"where the device has more, the target says so: {UNKNOWN} -{OPTION[field]}={wanted}; else {otherwise}"
    name, most = there[0], there[1][FACT[field]]
    if most < wanted:
        return f"{name} has {most}: {otherwise}"
    return f"{name} has {most}, so this builds: {UNKNOWN} -{OPTION[field]}={wanted}; for other devices {otherwise}"


def _check_block(fn: Function, extents: Mapping[str, Expr], model: Model, present: Facts) -> None:
    tags = [t for t in extents if t in BLOCK and constant(extents[t]) is not None]
    total = prod(constant(extents[t]) or 0 for t in tags)
    if total > model.threads:
        names_ = " * ".join(t for t in tags if constant(extents[t]) != 1)
        message = f"{names_} = {total} threads per block; {_has(model, 'threads')}"
        otherwise = "split by smaller factors, and bind the inner loops"
        raise _refused("too-many-threads", fn, message, tags, _advice(model, "threads", total, present, otherwise))


def _check_dimensions(fn: Function, extents: Mapping[str, Expr], model: Model) -> None:
    for tags, limits, what in ((BLOCK, model.block, "threads"), (GRID, model.grid, "blocks")):
        for tag, most in zip(tags, limits, strict=True):
            n = extents.get(tag)
            if isinstance(n, Const) and n.value > most:
                message = f"{tag} = {n.value} {what}; {model.name} has {most} in that dimension"
                other = f"bind to {tags[0]}, which has {limits[0]}" if limits[0] > most else "split by another factor"
                raise _refused(f"too-many-{what}", fn, message, [tag], other)


def _check_shared(fn: Function, model: Model, present: Facts) -> None:
    """What is declared is static memory: the rest needs a driver to be asked, and another kind of declaration."""
    total = shared_bytes(fn)
    if total <= model.shared:
        return
    buffers = _shared(fn)
    called = [b.owner.name for b in buffers]
    listed = called[0] if len(called) == 1 else f"{', '.join(called[:-1])} and {called[-1]}"
    verb = "takes" if len(called) == 1 else "take"
    where = [
        f"{b.owner.name}: {' x '.join(map(show, b.owner.shape))} {b.dtype}, {shown(_bytes(fn, b))}" for b in buffers
    ]
    otherwise = "attach these stages deeper, or split their loops by smaller factors"
    raise BuildError(
        "shared-memory",
        f"{listed} {verb} {total} bytes of shared memory; {_has(model, 'shared', ' per block')}",
        where=[f"kernel {fn.name}", *where],
        hint=_advice(model, "shared", total, present, otherwise),
    )


def _refused(rule: str, fn: Function, message: str, tags: list[str], hint: str) -> BuildError:
    loops = {s.thread: s for s in reversed([*walk(fn.body)]) if type(s) is For and s.thread in tags}
    where = [f"{t} ({show(s.extent)}): {loop_name(s)}" for t in tags if (s := loops.get(t)) is not None]
    return BuildError(rule, message, where=[f"kernel {fn.name}", *where], hint=hint)


# ---------------------------------------------------------------- how full a multiprocessor is


class Occupancy(NamedTuple):
    """Blocks and warps that run at once on a multiprocessor; warps as a part of what it holds.

    `limit`: what stands in the way of one more block, or of the first: warps, blocks, shared memory, registers.
    """

    blocks: int
    warps: int
    fraction: float
    limit: str


def occupancy(threads: int, registers: int, shared: int, model: Model) -> Occupancy:
    """Of a kernel with so many threads per block, registers per thread, and bytes of shared memory per block."""
    if not model.warps_sm:
        raise BuildError(
            "no-occupancy", f"the model {model.name} does not say what a multiprocessor holds",
            legal=[m.name for m in MODELS if m.warps_sm],
        )  # fmt: skip
    if threads < 1:
        raise BuildError("no-occupancy", f"a block has at least one thread, not {threads}")
    warps = -(-threads // model.warp)
    fits = {
        "warps": model.warps_sm // warps if threads <= model.threads else 0,
        "blocks": model.blocks_sm,
        "shared memory": _by_shared(shared, model),
    }
    if registers:
        fits["registers"] = _by_registers(warps, registers, model)
    blocks = min(fits.values())
    limit = " and ".join(what for what, n in fits.items() if n == blocks)
    return Occupancy(blocks, blocks * warps, blocks * warps / model.warps_sm, limit)


def _by_registers(warps: int, registers: int, model: Model) -> int:
    """A warp has its registers in one part of the multiprocessor, which takes whole warps only."""
    each = _up(registers * model.warp, model.register_unit)
    if registers > model.registers_thread:
        return 0
    return model.registers_sm // model.parts // each * model.parts // warps


def _by_shared(shared: int, model: Model) -> int:
    if shared > model.shared_most:
        return 0
    taken = _up(shared + model.shared_kept, model.shared_unit)
    return model.shared_sm // taken


def _up(n: int, unit: int) -> int:
    return -(-n // unit) * unit
