"""Who computes what at the same time: blocks, warps and lanes of a kernel, or tasks on the cores of a CPU.

Of a kernel one warp is looked at closely (the first of the first block): for each access that it makes, the sectors of
global memory that its lanes touch, or how they share the banks of shared memory.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ...analysis import warps
from ...analysis.warps import Access, Unknown, Warp
from ...core.error import LabError
from ...core.node import For
from ...core.program import Origin, loop_name
from ...core.text import Names, show
from ...core.walk import constant, walk
from ..frame import program
from ..ids import id_of
from ..payload import Picture, Table
from . import Subject
from .metrics import shortened
from .svg import Svg

LABEL = "Parallel"
ABOUT = (
    "A kernel runs as a grid of blocks; a block's threads run in warps of 32 lanes, which take every access together. "
    "Under the grid and the block stand the accesses of the first warp: a global one is cheap when its lanes share few "
    "sectors of 32 bytes, a shared one when no bank of 4 bytes is asked for two different words. "
    "Without kernels: the tasks of each parallel loop, and the cores that take them."
)
WIDTH, LEFT, ROW, BAR = 560.0, 8.0, 30.0, 20.0
MOST_CELLS, MOST_ACCESSES, MOST_TASKS = 32, 24, 64
HEAD = ["what", "memory", "bytes a lane", "lanes", "sectors", "fewest", "bank turns"]


@dataclass(frozen=True)
class Kernel:
    """`why`: what keeps its launch from being known."""

    name: str
    id: str
    extents: dict[str, int]
    warp: Warp | None
    why: str = ""


def draw(subject: Subject) -> Picture:
    try:
        body = program(subject.trace).body
    except (LabError, ValueError, TypeError) as e:
        return _picture(_words(f"There are no loops: {e}".splitlines()[0]), [], "nothing to show")
    found = [_kernel(k, subject) for k in warps.kernels(body)]
    if found:
        return _picture(_drawn(found), [r for k in found for r in _rows(k)], "The first warp's accesses", HEAD)
    loops = [x for x in walk(body) if isinstance(x, For) and x.kind == "parallel"]
    return _picture(_tasks(loops, subject), _task_rows(loops, subject), "Parallel loops", TASKS_HEAD)


def _picture(svg: Svg, rows: list[list[str]], title: str, head: Sequence[str] = ("what",)) -> Picture:
    table: Table = {"title": title, "head": list(head), "rows": rows}
    return {"kind": "parallel", "svg": str(svg), "about": ABOUT, "how": "modelled", "table": table}


def _words(text: str) -> Svg:
    svg = Svg(WIDTH, 32, text)
    svg.text(LEFT, 20, text, "quiet")
    return svg


# ---------------------------------------------------------------- kernels


def _kernel(loop: For, subject: Subject) -> Kernel:
    origin = loop.origin
    stage = subject.trace.state.stages.get(origin.index) if isinstance(origin, Origin) else None
    name = stage.called if stage is not None else "kernel"
    place = id_of(subject.trace.state, stage) if stage is not None else ""
    try:
        extents = warps.launch(loop)
        return Kernel(name, place, extents, warps.warp(loop))
    except Unknown as e:
        return Kernel(name, place, {}, None, f"how many threads there are depends on `{e}`, which a call decides")


def _sizes(extents: dict[str, int], stem: str) -> list[int]:
    return [extents.get(f"{stem}.{a}", 1) for a in "xyz"]


def _shown(extents: dict[str, int], stem: str) -> list[int]:
    """As it is drawn: a long row of threads a warp to a line, a long row of blocks in lines of as many."""
    x, y, z = _sizes(extents, stem)
    return [warps.WARP, -(-x // warps.WARP), 1] if x > warps.WARP and y == z == 1 else [x, y, z]


def said(k: Kernel) -> str:
    """ "C: 4 x 4 blocks of 16 x 16 threads, 8 warps each" """
    if k.warp is None:
        return f"{k.name}: {k.why}"
    grid, block = (" x ".join(map(str, _trimmed(_sizes(k.extents, stem)))) for stem in ("blockIdx", "threadIdx"))
    count = -(-warps.threads(k.extents) // warps.WARP)
    many = "blocks" if math.prod(_sizes(k.extents, "blockIdx")) != 1 else "block"
    return f"{k.name}: {grid} {many} of {block} threads, {count} warp{'s' * (count > 1)} each"


def _trimmed(sizes: Sequence[int]) -> list[int]:
    """Without the dimensions at the end that are 1."""
    last = max([k for k, n in enumerate(sizes) if n != 1], default=0)
    return list(sizes[: last + 1])


def _drawn(kernels: Sequence[Kernel]) -> Svg:
    heights = [_height(k) for k in kernels]
    svg = Svg(WIDTH, sum(heights) + 4, "; ".join(map(said, kernels)))
    top = 0.0
    for k, height in zip(kernels, heights, strict=True):
        svg.text(LEFT, top + 16, said(k), "ink", bold=True)
        if k.warp is not None:
            grid, block = _shown(k.extents, "blockIdx"), _shown(k.extents, "threadIdx")
            blocks, threads = math.prod(_sizes(k.extents, "blockIdx")), warps.threads(k.extents)
            _cells(svg, LEFT, top + 44, "grid", grid, blocks, lambda i: "line" if i else "new")
            _cells(svg, 290, top + 44, "first block, by warps", block, threads, _of_warp)
            _accesses(svg, top + 44 + _map(k) + 24, k.warp.accesses)
        top += height
    return svg


def _height(k: Kernel) -> float:
    if k.warp is None:
        return 30.0
    shown = min(len(k.warp.accesses), MOST_ACCESSES)
    return 44 + _map(k) + 32 + ROW * shown + (16 if len(k.warp.accesses) > MOST_ACCESSES else 0)


def _map(k: Kernel) -> float:
    """The height of the maps of blocks and threads."""
    shown = [_shown(k.extents, stem) for stem in ("blockIdx", "threadIdx")]
    return max(_side(sizes) * min(sizes[1], MOST_CELLS) for sizes in shown)


def _side(sizes: Sequence[int]) -> float:
    """Of one cell."""
    return min(16.0, 248 / max(min(sizes[0], MOST_CELLS), 1), 160 / max(min(sizes[1], MOST_CELLS), 1))


def _of_warp(linear: int) -> str:
    number = linear // warps.WARP
    return "new" if number == 0 else "accent" if number % 2 else "line"


def _cells(
    svg: Svg, x: float, y: float, title: str, sizes: Sequence[int], count: int, colour: Callable[[int], str]
) -> None:
    """`count` cells: x across, y down, the first of z; the first is upper left."""
    across, down = min(sizes[0], MOST_CELLS), min(sizes[1], MOST_CELLS)
    left = [f"{n - MOST_CELLS} more in {a}" for a, n in zip("xy", sizes, strict=False) if n > MOST_CELLS]
    left += [f"{sizes[2]} of them in z"] if sizes[2] > 1 else []
    svg.text(x, y - 6, f"{title}{': ' if left else ''}{', '.join(left)}", "quiet", size=10)
    side = _side(sizes)
    for linear in (j * sizes[0] + i for j in range(down) for i in range(across)):
        j, i = divmod(linear, sizes[0])
        if linear < count:
            svg.rect(x + i * side, y + j * side, side - 1, side - 1, colour(linear), f"{i}, {j}")


def _accesses(svg: Svg, top: float, found: Sequence[Access]) -> None:
    svg.text(LEFT, top, "accesses of the first warp, in order", "quiet", size=10)
    names = Names()
    for k, a in enumerate(found[:MOST_ACCESSES]):
        y = top + 8 + k * ROW
        svg.text(LEFT, y + 14, shortened(text(a, names), 40), "ink", size=10.5)
        svg.text(290, y + 14, verdict(a), colour(a), size=10.5)
        _strip(svg, 430, y, a)
    if len(found) > MOST_ACCESSES:
        svg.text(LEFT, top + 20 + MOST_ACCESSES * ROW, f"and {len(found) - MOST_ACCESSES} more: see the table", "quiet")


def _strip(svg: Svg, x: float, y: float, a: Access) -> None:
    """The sectors that are touched, or the banks with as many words as each is asked for."""
    if a.sectors is not None and a.ideal is not None:
        side = min(7.0, 120 / max(a.sectors, 1))
        for i in range(a.sectors):
            svg.rect(x + i * side, y + 4, side - 1, 12, "accent" if i < a.ideal else "bad")
        return
    if a.degree is None:
        return
    words: dict[int, set[int]] = {}
    for o in a.offsets or ():
        for w in range(o // warps.WORD, (o + a.width - 1) // warps.WORD + 1) if o >= 0 else ():
            words.setdefault(w % warps.BANKS, set()).add(w)
    for bank in range(warps.BANKS):
        n = len(words.get(bank, ()))
        height = min(4.0 * n, BAR)
        svg.rect(x + bank * 3.75, y + BAR, 3, 1, "line")
        if n:
            crowded = n > 1 and a.degree > 1
            svg.rect(x + bank * 3.75, y + BAR - height, 3, height, "bad" if crowded else "accent")


def text(a: Access, names: Names | None = None) -> str:
    """`reads A[i, k]`"""
    access = a.node
    index = ", ".join(show(i, names) for i in access.indices)
    return f"{'writes' if a.store else 'reads'} {a.buffer.name}[{index}]"


def verdict(a: Access) -> str:
    if a.offsets is None:
        return "depends on data"
    if not a.lanes:
        return "no lane takes part"
    if a.degree is not None:
        return "no bank conflict" if a.degree < 2 else f"{a.degree}-way bank conflict"
    return f"{a.sectors} sectors" + (f", {a.ideal} would do" if a.sectors != a.ideal else "")


def colour(a: Access) -> str:
    if a.offsets is None or not a.lanes:
        return "quiet"
    good = a.degree < 2 if a.degree is not None else a.sectors == a.ideal
    return "good" if good else "bad"


def _rows(k: Kernel) -> list[list[str]]:
    rows = [[said(k), "", "", "", "", "", ""]]
    for a in k.warp.accesses if k.warp is not None else ():
        numbers = [a.sectors, a.ideal, a.degree]
        rows.append([
            text(a), a.buffer.scope, str(a.width), "?" if a.offsets is None else str(a.lanes),
            *["" if n is None else str(n) for n in numbers],
        ])  # fmt: skip
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
    svg = Svg(WIDTH, 52.0 * len(loops), f"Parallel loops on {cores} cores")
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
