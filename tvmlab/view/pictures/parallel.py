"""Who computes what at the same time: blocks, warps and lanes of a kernel, or tasks on the cores of a CPU.

Of a kernel one block and one warp of it are looked at closely, which a person chooses (`Subject.looked`): what they
compute of the output, and for each access of the warp the sectors of global memory that its lanes touch, or how they
share the banks of shared memory. `kernel.py` draws it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ...analysis import warps
from ...analysis.warps import Unknown
from ...core.error import LabError
from ...core.node import Alloc, Buffer, For
from ...core.program import Origin, loop_name
from ...core.walk import constant, walk
from ..frame import program
from ..ids import id_of
from ..payload import Picture, Table
from . import Subject, occupied
from .chosen import Choosing, picks
from .kernel import LEFT, WIDTH, Kernel, block_of, called, colour, computes, height, parts, place, said, text, verdict
from .kernel import draw as draw_kernel
from .metrics import shortened
from .occupied import Report, Used
from .svg import Svg

LABEL = "Parallel"
LOOK = {"kernel": int, "bx": int, "by": int, "bz": int, "warp": int, "lane": int, "access": str, "device": str}
ABOUT = (
    "A kernel runs as a grid of blocks; a block's threads run in warps of 32 lanes, which take every access together. "
    "Choose a block, a warp and a lane, in the fields or in the maps: below is what they compute of the output, then "
    "the accesses of the warp. A global one is cheap when its lanes share few sectors of 32 bytes, a shared one when "
    "no bank of 4 bytes is asked for two different words. Occupancy is how many warps a multiprocessor holds at once: "
    "predicted from threads and shared memory, then as NVIDIA's compiler counts registers too. "
    "Without kernels: the tasks of each parallel loop, and the cores that take them."
)
TASKS_WIDTH, MOST_TASKS = 560.0, 64
HEAD = ["what", "memory", "bytes a lane", "lanes", "sectors", "fewest", "bank turns"]


def draw(subject: Subject) -> Picture:
    try:
        made = program(subject.trace)
    except (LabError, ValueError, TypeError) as e:
        return _picture(_words(f"There are no loops: {e}".splitlines()[0]), [], "nothing to show")
    body = made.body
    buffers = (*made.entry.buffers, *[x.buffer for x in walk(body) if isinstance(x, Alloc)])
    found = [_kernel(k, buffers, subject) for k in warps.kernels(body)]
    if found:
        return _kernels(found, subject)
    loops = [x for x in walk(body) if isinstance(x, For) and x.kind == "parallel"]
    return _picture(_tasks(loops, subject), _task_rows(loops, subject), "Parallel loops", TASKS_HEAD)


def _picture(svg: Svg, rows: list[list[str]], title: str, head: Sequence[str] = ("what",)) -> Picture:
    table: Table = {"title": title, "head": list(head), "rows": rows}
    return {"kind": "parallel", "svg": str(svg), "about": ABOUT, "how": "modelled", "table": table}


def _words(text: str) -> Svg:
    svg = Svg(TASKS_WIDTH, 32, text)
    svg.text(LEFT, 20, text, "quiet")
    return svg


# ---------------------------------------------------------------- kernels


def _kernel(loop: For, buffers: tuple[Buffer, ...], subject: Subject) -> Kernel:
    origin = loop.origin
    stage = subject.trace.state.stages.get(origin.index) if isinstance(origin, Origin) else None
    name = stage.called if stage is not None else "kernel"
    place = id_of(subject.trace.state, stage) if stage is not None else ""
    try:
        extents = warps.launch(loop)
    except Unknown as e:
        why = f"how many threads there are depends on `{e}`, which a call decides"
        return Kernel(name, place, loop, {}, buffers, why)
    none = next((tag for tag, n in extents.items() if n < 1), "")
    return Kernel(name, place, loop, extents, buffers, f"nothing runs: {none} has no iteration" if none else "")


def _kernels(found: list[Kernel], subject: Subject) -> Picture:
    """All kernels by their launch, and what a person looks at of one."""
    choosing = Choosing(subject.looked)
    names: list[Any] = [{"value": n, "label": f"{n + 1} {k.name}"} for n, k in enumerate(found)]
    at = choosing.one("kernel", "kernel", names, 0)
    devices = occupied.devices(subject.target)
    device = choosing.one("device", "device", devices, "") if devices else ""
    report = occupied.report(subject.trace, occupied.device(subject.target, device))
    if not found[at].why:
        found[at] = _looked(found[at], at, choosing, report, subject.used)
    made = _picture(_drawn(found, at, report), [], _title(found[at], choosing.notes), HEAD)
    rows = [(row, id) for n, k in enumerate(found) for row, id in _rows(k, n)]
    made["table"]["rows"], made["table"]["ids"] = [row for row, _ in rows], [id for _, id in rows]
    made["params"] = sorted(choosing.params, key=lambda p: p["name"] == "device")  # what is changed least comes last
    made["note"] = "; ".join(choosing.notes)
    return made


def _looked(k: Kernel, number: int, choosing: Choosing, report: Report, used: Any) -> Kernel:
    block = choosing.block(k.extents)
    warp, lane = choosing.warp(k.extents)
    found = warps.warp(k.loop, block, warp)
    calls = called(found.accesses)
    bad = next((n for n, a in enumerate(found.accesses) if colour(a) == "bad"), 0)
    access = 0
    if calls:
        labels: list[Any] = [
            {"value": c, "label": f"{c}: {verdict(a)}"} for c, a in zip(calls, found.accesses, strict=True)
        ]
        access = calls.index(choosing.one("access", "access", labels, calls[bad]))
    known: Used = used(report.text, report.model.name) if used is not None and report.text else ASK
    return replace(
        k, warp=found, lane=lane, access=access, parts=parts(k, block), calls=calls,
        lines=tuple(occupied.lines(report, number, known)),
    )  # fmt: skip


ASK = "tvmlab.resources(s, args) compiles it, where NVRTC is installed"


def _title(k: Kernel, notes: Sequence[str]) -> str:
    where = "" if k.warp is None else f"Warp {k.warp.number} of {block_of(k)} of {k.name}, and its lane {k.lane}"
    return "; ".join([where or "Kernels", *notes])


def _drawn(found: Sequence[Kernel], at: int, report: Report) -> Svg:
    heads = [24.0] * len(found)
    svg = Svg(WIDTH, sum(heads) + height(found[at]) + 4, "; ".join(map(said, found)))
    y = 0.0
    for n, k in enumerate(found):
        if len(found) > 1 and n != at:
            svg.boxes([(LEFT - 4, y + 3, WIDTH - 8, 19)], "", "look at it", picks(kernel=n))
        svg.text(LEFT, y + 16, shortened(said(k), 62), "ink" if n == at else "quiet", bold=n == at)
        y += 24
    if found[at].warp is not None:
        draw_kernel(svg, y, found[at], report.model)
    return svg


def _rows(k: Kernel, number: int) -> list[tuple[list[str], str]]:
    """The lines of the table, each with what it chooses."""

    def words(text: str) -> list[str]:
        return [text, *[""] * (len(HEAD) - 1)]

    rows = [(words(said(k)), picks(kernel=number))]
    if k.warp is None:
        return rows
    rows += [(words(f"{line.by}: {line.words}; {line.more}"), "") for line in k.lines]
    rows += [(words(line), "") for line in computes(k)]
    for n, a in enumerate(k.warp.accesses):
        numbers = [a.sectors, a.ideal, a.degree]
        cells = [
            text(a), a.buffer.scope, str(a.width), "?" if a.offsets is None else str(a.lanes),
            *["" if x is None else str(x) for x in numbers],
        ]  # fmt: skip
        rows.append((cells, picks(access=k.calls[n])))
        if n == k.access and a.offsets is not None:
            rows += [(words(f"    lane {i}: {place(a, i)}"), picks(lane=i)) for i in range(len(a.offsets))]
    return rows


# ---------------------------------------------------------------- CPUs

TASKS_HEAD = ["loop", "tasks", "cores", "rounds", "idle in the last round"]


def _count(loop: For) -> int | None:
    return constant(loop.extent)


def _tasks(loops: Sequence[For], subject: Subject) -> Svg:
    """The iterations of each parallel loop, coloured by the core that takes them."""
    if not loops:
        return _words("One thread computes everything: no loop is parallel, or bound to blocks and threads.")
    cores = subject.machine.cores
    svg = Svg(TASKS_WIDTH, 52.0 * len(loops), f"Parallel loops on {cores} cores")
    for k, loop in enumerate(loops):
        n, y = _count(loop), 52.0 * k
        words = "as many tasks as a call decides" if n is None else f"{n} tasks on {cores} cores"
        svg.text(LEFT, y + 14, f"{loop_name(loop)}: {words}".replace("`", ""), "ink")
        shown = min(n or 0, MOST_TASKS)
        for i in range(shown):
            core = i * min(cores, n or 1) // max(n or 1, 1)
            svg.rect(LEFT + i * 8.4, y + 22, 7.4, 14, ("accent", "new", "line", "good")[core % 4], f"core {core}")
        if n is not None and n > MOST_TASKS:
            svg.text(LEFT, y + 48, f"and {n - MOST_TASKS} more", "quiet", size=10)
    return svg


def _task_rows(loops: Sequence[For], subject: Subject) -> list[list[str]]:
    cores, rows = subject.machine.cores, []
    for loop in loops:
        n = _count(loop)
        rounds = None if n is None else -(-n // cores)
        idle = None if n is None or rounds is None else rounds * cores - n
        rows.append(
            [loop_name(loop).replace("`", ""), *[("?" if v is None else str(v)) for v in (n, cores, rounds, idle)]]
        )
    return rows
