"""How full a kernel makes a multiprocessor: predicted from its threads and shared memory, and as the compiler has it.

    report(trace, Target("cuda_c", arch="sm_90")).kernels[0].full.limit     "warps"

Predicted: by the limits of the target's device, before anything is compiled; registers are left out. NVIDIA's compiler
then says how many there are (`Subject.used`). Other makers' kernels are compiled by a driver, which tells nobody.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Any
from weakref import WeakKeyDictionary

from ...core.deep import deep
from ...core.error import LabError
from ...core.threads import BLOCK
from ...core.units import size
from ...core.walk import constant
from ...face.api import as_target
from ...face.fits import flat
from ...schedule.state import State
from ...schedule.trace import Trace
from ...target import Target
from ...target.clike import kernel_name
from ...target.cuda_c.check import Usage
from ...target.gpu import limits
from ...target.gpu.limits import Model, Occupancy
from ..payload import Choice
from .svg import Svg

MAKERS = {"opencl": "OpenCL", "metal": "Metal"}
Used = Mapping[str, Usage] | str  # by kernel, or why that is not known (yet)


@dataclass(frozen=True)
class Asked:
    """What a kernel asks for. `threads`: None where a call decides. `full`: None where the model does not say.

    `room`: so many registers a thread may need before fewer blocks fit. `asked`: bytes of `shared` that the launch asks
    for, of which the compiler does not know.
    """

    kernel: str
    threads: int | None
    shared: int
    full: Occupancy | None
    room: int = 0
    asked: int = 0


@dataclass(frozen=True)
class Report:
    """Of all kernels of a schedule, in order; or `why` they are not known. `text`: what the compiler is given."""

    model: Model
    kernels: tuple[Asked, ...]
    text: str = ""
    why: str = ""


_MADE: WeakKeyDictionary[State, dict[str, Report]] = WeakKeyDictionary()


def device(target: str, arch: str = "") -> Target:
    """What a schedule with kernels is predicted for: its target, with `arch` where one was chosen, which is NVIDIA's
    whatever the target; that of a CPU has no device, and is taken for cuda_c."""
    named = as_target(target or "cuda_c")
    if named.name in MAKERS and not arch:
        return named
    chosen = arch or named.arch
    return Target("cuda_c", arch=chosen) if chosen else Target("cuda_c")


def devices(target: str) -> list[Choice]:
    """The architectures that there are models of, and whose compiler says something; "": the target's own."""
    own, nvidia = device(target), Target("cuda_c")
    known: list[Choice] = [{"value": name, "label": name} for name in limits.family(nvidia.device_model)]
    return [{"value": "", "label": f"{own.device_model}, the target's"}, *known]


def report(trace: Trace, target: Target) -> Report:
    made = _MADE.setdefault(trace.state, {})
    if str(target) not in made:
        made[str(target)] = _report(trace, target)
    return made[str(target)]


@deep
def _report(trace: Trace, target: Target) -> Report:
    model = limits.get(target.device_model)
    try:
        program = flat(trace, target)
        kernels = tuple(_asked(fn, model) for fn in program.functions[1:])
        text = "" if target.name in MAKERS else target.kind.source(program, target)
    except Exception as e:  # as in the code pane: whatever stands in the way is shown
        return Report(model, (), why=first_line(e))
    return Report(model, kernels, text)


def first_line(e: BaseException) -> str:
    text = e.message if isinstance(e, LabError) else str(e) or type(e).__name__
    return text.splitlines()[0].replace("`", "")


def _asked(fn: Any, model: Model) -> Asked:
    extents = limits.launch(fn) or {}
    sizes = [constant(n) for tag, n in extents.items() if tag in BLOCK]
    shared, threads = limits.shared_bytes(fn), 1
    for n in sizes:
        if n is None:
            return Asked(kernel_name(fn), None, shared, None)
        threads *= n
    if not model.warps_sm:
        return Asked(kernel_name(fn), threads, shared, None)
    full = limits.occupancy(threads, 0, shared, model)
    fits = [r for r in range(1, model.registers_thread + 1) if _blocks(threads, r, shared, model) == full.blocks]
    asked = limits.dynamic_bytes(fn, model.shared)
    return Asked(kernel_name(fn), threads, shared, full, max(fits, default=0), asked)


def _blocks(threads: int, registers: int, shared: int, model: Model) -> int:
    return limits.occupancy(threads, registers, shared, model).blocks


# ---------------------------------------------------------------- in words


@dataclass(frozen=True)
class Line:
    """`by`: who says so. `full`: what is drawn as a bar."""

    by: str
    words: str
    more: str
    full: Occupancy | None = None


def lines(found: Report, number: int, used: Used) -> list[Line]:
    """What is said of kernel `number`."""
    if found.why or number >= len(found.kernels):
        return [Line("predicted", "not known", found.why or "this kernel is not built by itself")]
    asked, model = found.kernels[number], found.model
    if asked.threads is None:
        return [Line("predicted", "not known", "a call decides how many threads a block has")]
    wants = f"{asked.threads} threads and {size(asked.shared)} of shared memory a block"
    if asked.full is None:
        most = f"{model.about}: at most {model.threads} threads and {size(model.shared)}"
        unknown = "the driver of the device compiles the kernel, and does not say; choose sm_90, and NVIDIA's does"
        return [Line(model.name, wants, most), Line("registers", "not known", unknown)]
    room = f"; so it stays up to {asked.room} registers a thread" if asked.full.blocks and asked.room else ""
    first = Line(f"predicted, {model.name}", said(asked.full, model), f"{wants}{room}", asked.full)
    return [first, _compiled(asked, model, used)]


def _compiled(asked: Asked, model: Model, used: Used) -> Line:
    by = f"ptxas, {model.name}"
    if isinstance(used, str):
        return Line(by, "not known", used)
    of = used.get(asked.kernel)
    if of is None:
        return Line(by, "not known", f"the compiler does not speak of {asked.kernel}")
    shared = of.shared + asked.asked
    full = limits.occupancy(asked.threads or 1, of.registers, shared, model)
    spilled = of.spill_stores + of.spill_loads
    spills = f"{size(spilled)} spilled" if spilled else "no spills"
    more = f"{of.registers} registers a thread, {size(shared)} of shared memory, {spills}"
    return Line(by, said(full, model), more, full)


def said(full: Occupancy, model: Model) -> str:
    """ "4 blocks, 32 of 64 warps (50 %), limited by registers" """
    blocks = f"{full.blocks} block{'s' * (full.blocks != 1)}"
    return f"{blocks}, {full.warps} of {model.warps_sm} warps ({full.fraction:.0%}), limited by {full.limit}".replace(
        "%", " %"
    )


# ---------------------------------------------------------------- drawn

LETTERS = 76  # of a line
LINE, BAR, LEFT = 14.0, 128.0, 120.0


def draw(svg: Svg, x: float, y: float, found: Sequence[Line], model: Model) -> None:
    """A part for each: who says it, the warps of a multiprocessor by blocks, the words."""
    for line in found:
        svg.text(x, y + 11, line.by, "quiet", size=10)
        if line.full is not None and model.warps_sm:
            _bar(svg, x + LEFT, y + 2, line.full, model)
            y += LINE
            svg.text(x, y + 12, line.words, "ink", size=10.5)
        else:
            svg.text(x + LEFT, y + 11, line.words, "ink", size=10.5)
        for n, text in enumerate(_wrapped(line)):
            svg.text(x, y + 11 + (n + 1) * LINE, text, "quiet", size=9.5)
        y += LINE * (1 + len(_wrapped(line))) + 6


def _wrapped(line: Line) -> list[str]:
    return wrap(line.more, LETTERS)


def _bar(svg: Svg, x: float, y: float, full: Occupancy, model: Model) -> None:
    step = BAR / model.warps_sm
    each = full.warps // full.blocks * step if full.blocks else 0.0
    for i in range(full.blocks):
        svg.rect(x + i * each, y, each - 1, 10, "accent", f"block {i + 1} of {full.blocks}")
    if full.blocks * each < BAR - 0.5:
        svg.rect(x + full.blocks * each, y, BAR - full.blocks * each, 10, "line", "free")


def height(found: Sequence[Line]) -> float:
    return sum(LINE * (1 + (line.full is not None) + len(_wrapped(line))) + 6 for line in found)
