"""One kernel, drawn: how full it makes a multiprocessor, its grid and a block by warps, what these compute of the
output, and the accesses of a chosen warp, one of them lane by lane."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from ...analysis import owned, warps
from ...analysis.owned import Owned
from ...analysis.warps import Access, Warp
from ...core import dtype as dt
from ...core.node import Buffer, For
from ...core.text import Names, show
from ...core.threads import BLOCK, GRID
from . import grain, occupied
from .chosen import picks
from .grain import Grain, Plane
from .metrics import shortened
from .occupied import Line
from .svg import Svg

LEFT, RIGHT, HALF, WIDTH = 8.0, 218.0, 194.0, 420.0  # the two columns of maps
ROW, BAR = 36.0, 20.0
DEEP = 176.0  # of a map, at most
MOST_ACCESSES = 24
WINDOW = (16, 16)  # blocks of the grid that are drawn, around the chosen one: rows and columns
COARSE, FINE = (24, 36), (64, 64)  # cells of the tensor and of a block's part
MOST_BOXES = 400
CELL = 16.0  # the side of a cell, at most
NUMBERED = 10.0  # a cell of that side has room for a lane's number


@dataclass(frozen=True)
class Kernel:
    """`buffers`: what its intrinsics may point into. `why`: what keeps its launch from being known. The rest is of the
    one that is looked at."""

    name: str
    id: str
    loop: For
    extents: dict[str, int]
    buffers: tuple[Buffer, ...] = ()
    why: str = ""
    warp: Warp | None = None
    lane: int = 0
    access: int = 0
    parts: tuple[Owned, ...] = ()
    lines: tuple[Line, ...] = ()
    calls: tuple[str, ...] = field(default=())  # what an access is chosen by


def sizes(extents: Mapping[str, int], axes: Sequence[str]) -> list[int]:
    return [extents.get(tag, 1) for tag in axes]


def said(k: Kernel) -> str:
    """ "C: 4 x 4 blocks of 16 x 16 threads, 8 warps each" """
    if k.why:
        return f"{k.name}: {k.why}"
    grid, block = (" x ".join(map(str, _trimmed(sizes(k.extents, axes)))) for axes in (GRID, BLOCK))
    count = -(-warps.threads(k.extents) // warps.WARP)
    many = "blocks" if math.prod(sizes(k.extents, GRID)) != 1 else "block"
    return f"{k.name}: {grid} {many} of {block} threads, {count} warp{'s' * (count > 1)} each"


def _trimmed(found: Sequence[int]) -> list[int]:
    """Without the dimensions at the end that are 1."""
    last = max([k for k, n in enumerate(found) if n != 1], default=0)
    return list(found[: last + 1])


def block_of(k: Kernel) -> str:
    """ "block 3, 0", or "the block" where there is only one."""
    assert k.warp is not None
    at = _trimmed(sizes({**dict.fromkeys(k.extents, 0), **k.warp.block}, GRID)) if k.warp.block else []
    dims = max(1, sum(tag in GRID for tag in k.extents))
    full = [k.warp.block.get(tag, 0) for tag in GRID][:dims]
    return f"block {', '.join(map(str, full if at else [0]))}"


# ---------------------------------------------------------------- what of the output


@lru_cache(maxsize=16)
def _grid(loop: For) -> tuple[Owned, ...]:
    return tuple(owned.of_grid(loop))


def parts(k: Kernel, block: Mapping[str, int]) -> tuple[Owned, ...]:
    """What the block writes; the tensor that most of it goes to first."""
    return tuple(sorted(owned.of_block(k.loop, block, buffers=k.buffers), key=lambda o: -len(o.index)))


def computes(k: Kernel) -> list[str]:
    """What the block, the warp and the lane compute, in words."""
    assert k.warp is not None
    found = []
    for part in k.parts:
        name = part.buffer.name
        if part.why:
            found.append(f"which elements of {name} {block_of(k)} computes is not known: {part.why}")
            continue
        warp = part.who // warps.WARP == k.warp.number
        lane = warp & (part.who % warps.WARP == k.lane)
        named = ((block_of(k), ...), (f"its warp {k.warp.number}", warp), (f"its lane {k.lane}", lane))
        others = grain.plane(part).others if len(part.index) else ""
        found += [f"{what} computes {_amount(part, which)}" for what, which in named]
        found += ["memory decides which of these: they are the most"] if part.most else []
        found += ["several threads compute the same element: the first of them is shown"] if part.shared else []
        found += [f"above: what lies at {others}"] if others else []
    return found


def _amount(part: Owned, which: Any) -> str:
    index = part.index[which] if which is not ... else part.index
    if not len(index):
        return f"nothing of {part.buffer.name}"
    some = Owned(part.buffer, part.shape, index, index)
    box = math.prod(int(index[:, d].max() - index[:, d].min()) + 1 for d in range(len(part.shape)))
    words = f"{part.buffer.name}{grain.spans(some)}"
    return f"{words}, {len(index)} elements" if box == len(index) else f"{len(index)} elements of {words}"


# ---------------------------------------------------------------- drawing


def height(k: Kernel) -> float:
    if k.warp is None:
        return 26.0
    shown = min(len(k.warp.accesses), MOST_ACCESSES)
    detail = _detail(k.warp.accesses[k.access]) if k.warp.accesses else 0
    more = 16 if len(k.warp.accesses) > MOST_ACCESSES else 0
    return 8 + occupied.height(k.lines) + _maps(k) + _tensor(k) + 30 + ROW * shown + detail + more


def draw(svg: Svg, top: float, k: Kernel, model: Any) -> None:
    assert k.warp is not None
    y = top + 8
    occupied.draw(svg, LEFT, y, k.lines, model)
    y += occupied.height(k.lines)
    _draw_grid(svg, LEFT, y + 18, k)
    _draw_block(svg, RIGHT, y + 18, k)
    y += _maps(k)
    _draw_tensor(svg, y, k)
    y += _tensor(k)
    _accesses(svg, y + 16, k)


def _maps(k: Kernel) -> float:
    """The height of the maps of blocks and threads."""
    rows, columns = _threads(k)
    grid = sizes(k.extents, GRID)
    tall, wide = min(grid[1], WINDOW[0]), min(grid[0], WINDOW[1])
    return max(_side(tall, wide) * tall, _side(rows, columns) * rows) + 34


def _side(rows: int, columns: int) -> float:
    """Of one cell."""
    return min(CELL, HALF / max(columns, 1), DEEP / max(rows, 1))


def _draw_grid(svg: Svg, x: float, y: float, k: Kernel) -> None:
    """x across, y down; of a large grid a window around the chosen block."""
    assert k.warp is not None
    across, down, deep = sizes(k.extents, GRID)
    at = [k.warp.block.get(tag, 0) for tag in GRID]
    (top, tall), (left, wide) = _window(at[1], down, WINDOW[0]), _window(at[0], across, WINDOW[1])
    words = ["grid"]
    words += [f"x {left} to {left + wide - 1} of {across}"] if wide < across else []
    words += [f"y {top} to {top + tall - 1} of {down}"] if tall < down else []
    words += [f"z {at[2]} of {deep}"] if deep > 1 else []
    svg.text(x, y - 6, f"{words[0]}{': ' if words[1:] else ''}{', '.join(words[1:])}", "quiet", size=10)
    side = _side(tall, wide)
    for j in range(top, top + tall):
        for i in range(left, left + wide):
            here = [i, j] == at[:2]
            box = (x + (i - left) * side, y + (j - top) * side, side - 1, side - 1)
            svg.boxes([box], "new" if here else "line", f"block {i}, {j}", _block_id(k, [i, j, at[2]]))


def _window(at: int, count: int, most: int) -> tuple[int, int]:
    return max(0, min(at - most // 2, count - most)), min(count, most)


def _block_id(k: Kernel, at: Sequence[int]) -> str:
    return picks(**{f"b{tag[-1]}": n for tag, n in zip(GRID, at, strict=True) if tag in k.extents})


def _threads(k: Kernel) -> tuple[int, int]:
    """Rows and columns of the map of a block: as its threads are numbered, or where that is long a warp to a line."""
    count, x = warps.threads(k.extents), k.extents.get("threadIdx.x", 1)
    columns = x if x <= 64 and count // x <= 64 else warps.WARP
    return -(-count // columns), min(columns, count)


def _draw_block(svg: Svg, x: float, y: float, k: Kernel) -> None:
    assert k.warp is not None
    rows, columns = _threads(k)
    svg.text(x, y - 6, f"{block_of(k)}, by warps", "quiet", size=10)
    side, count = _side(rows, columns), warps.threads(k.extents)
    for number in range(-(-count // warps.WARP)):
        lanes = range(number * warps.WARP, min((number + 1) * warps.WARP, count))
        cells = [(x + i % columns * side, y + i // columns * side, side - 1, side - 1) for i in lanes]
        if number != k.warp.number:
            svg.boxes(cells, "accent" if number % 2 else "line", f"warp {number}", picks(warp=number))
            continue
        for lane, box in enumerate(cells):
            own = "ink" if lane == k.lane else "new"
            svg.boxes([box], own, f"warp {number}, lane {lane}", picks(lane=lane))
            if side >= NUMBERED:
                svg.text(box[0] + (side - 1) / 2, box[1] + side / 2 + 2.5, str(lane), "paper", "middle", 7.5)


# ---------------------------------------------------------------- the output


def _tensor(k: Kernel) -> float:
    words = 15.0 * len(computes(k))
    if not _known(k):
        return words + 12
    _, left, right = _grains(k)
    return 40 + max(_tall(left), _tall(right)) + words


def _known(k: Kernel) -> bool:
    return bool(k.parts) and not k.parts[0].why and len(k.parts[0].index) > 0


def _tall(g: Grain) -> float:
    return g.scale(HALF, DEEP, CELL)[1] * len(g.cells)


def _grains(k: Kernel) -> tuple[Plane, Grain, Grain]:
    """The tensor by blocks, where there are not too many to look at, else the block alone; and the block's part."""
    part = k.parts[0]
    plane = grain.plane(part)
    rows, columns, who = plane.points(part)
    whole = next((o for o in _grid(k.loop) if o.buffer is part.buffer), part)
    points = (rows, columns, np.zeros_like(who)) if whole.why else plane.points(whole)
    block = (int(np.ptp(rows)) + 1, int(np.ptp(columns)) + 1)
    left = grain.coarse(*points, plane.extents(part.shape), COARSE, block)
    return plane, left, grain.close(rows, columns, who, FINE)


def _draw_tensor(svg: Svg, top: float, k: Kernel) -> None:
    words = computes(k)
    y = top + 28
    if _known(k):
        plane, left, right = _grains(k)
        part = k.parts[0]
        shape = " x ".join(map(str, part.shape)) or "one element"
        svg.text(LEFT, y - 6, f"{part.buffer.name}, {shape}{_cell(left)}", "quiet", size=10)
        _draw_coarse(svg, LEFT, y, k, plane, left)
        svg.text(RIGHT, y - 6, f"{block_of(k)} of it{_cell(right)}", "quiet", size=10)
        _draw_fine(svg, RIGHT, y, k, right)
        y += max(_tall(left), _tall(right)) + 8
    else:
        y = top + 6
    for n, text in enumerate(words):
        svg.text(LEFT, y + 10 + 15 * n, shortened(text, 72), "ink", size=10)


def _cell(g: Grain) -> str:
    if g.folded:
        return f", in lines of {grain.LINE}" if g.fine else f", cells of {g.tall * g.wide}"
    return "" if g.fine else f", cells of {g.tall} x {g.wide}"


def _draw_coarse(svg: Svg, x: float, y: float, k: Kernel, plane: Plane, g: Grain) -> None:
    """The tensor, block by block; the chosen one's part, however small, in its colour."""
    grid = sizes(k.extents, GRID)
    found = list(grain.boxes(g.cells))
    whole = next((o for o in _grid(k.loop) if o.buffer is k.parts[0].buffer), None)
    known = whole is not None and not whole.why and len(found) <= MOST_BOXES
    if not known:
        rows, columns = g.cells.shape
        svg.boxes(_placed([(0, 0, rows, columns)], x, y, g), "line", "other blocks: too many to look at each")
    for who, *box in found if known else ():
        at = [who % grid[0], who // grid[0] % grid[1], who // grid[0] // grid[1]]
        hint = f"block {', '.join(map(str, at[: len(_trimmed(grid))]))}"
        svg.boxes(_placed([box], x, y, g), "line", hint, _block_id(k, at))
    mine, across, _ = plane.points(k.parts[0])
    own = np.full(g.cells.shape, -1, np.int64)
    own[mine // g.tall, across // g.wide] = 1
    svg.boxes(_placed([box for _, *box in grain.boxes(own)], x, y, g), "new", block_of(k))


def _placed(found: Sequence[Sequence[int]], x: float, y: float, g: Grain) -> list[tuple[float, float, float, float]]:
    """Boxes of cells (row, column, rows, columns) on the page, a little apart where there is room."""
    wide, tall = g.scale(HALF, DEEP, CELL)
    gap = 1 if min(wide, tall) > 3 else 0.4
    return [(x + c * wide, y + r * tall, max(b * wide - gap, 1), max(a * tall - gap, 1)) for r, c, a, b in found]


def _draw_fine(svg: Svg, x: float, y: float, k: Kernel, g: Grain) -> None:
    """The block's part: other warps alternate, of the chosen one each lane is there."""
    assert k.warp is not None
    own = g.cells // warps.WARP == k.warp.number
    for warp, found in _by_value(np.where(own | (g.cells < 0), -1, g.cells // warps.WARP)):
        svg.boxes(_placed(found, x, y, g), "accent" if warp % 2 else "line", f"warp {warp}", picks(warp=warp))
    for lane, found in _by_value(np.where(own & (g.cells >= 0), g.cells % warps.WARP, -1)):
        boxes = _placed(found, x, y, g)
        svg.boxes(boxes, "ink" if lane == k.lane else "new", f"warp {k.warp.number}, lane {lane}", picks(lane=lane))
        for a, b, wide, tall in boxes if g.scale(HALF, DEEP, CELL)[1] >= NUMBERED else ():
            svg.text(a + wide / 2, b + tall / 2 + 2.5, str(lane), "paper", "middle", 7.5)


def _by_value(cells: Any) -> list[tuple[int, list[list[int]]]]:
    found: dict[int, list[list[int]]] = {}
    for value, *box in grain.boxes(cells):
        found.setdefault(value, []).append(box)
    return sorted(found.items())


# ---------------------------------------------------------------- accesses


def _accesses(svg: Svg, top: float, k: Kernel) -> None:
    assert k.warp is not None
    found = k.warp.accesses
    svg.text(LEFT, top, f"accesses of warp {k.warp.number} of {block_of(k)}, in order", "quiet", size=10)
    names, y = Names(), top + 8
    shown = range(min(len(found), MOST_ACCESSES))
    for n in shown:
        a = found[n]
        pick, own = picks(access=k.calls[n]), n == k.access
        svg.boxes([(LEFT - 4, y + 1, WIDTH - 8, ROW - 2)], "", "look at its lanes", pick)
        if own:
            svg.boxes([(LEFT - 4, y + 1, 3, ROW - 2)], "new")
        svg.text(LEFT + 4, y + 14, shortened(text(a, names), 38), "ink", size=10.5, bold=own)
        svg.text(LEFT + 4, y + 28, verdict(a), colour(a), size=10)
        _strip(svg, 290, y + 6, a)
        y += ROW
        if own:
            _lanes(svg, y, k, a)
            y += _detail(a)
    if k.access >= MOST_ACCESSES:
        _lanes(svg, y, k, found[k.access])
        y += _detail(found[k.access])
    if len(found) > MOST_ACCESSES:
        svg.text(LEFT, y + 12, f"and {len(found) - MOST_ACCESSES} more: see the table", "quiet")


def _strip(svg: Svg, x: float, y: float, a: Access) -> None:
    """The sectors that are touched, or the banks with as many words as each is asked for."""
    if a.sectors is not None and a.ideal is not None:
        side = min(7.0, 120 / max(a.sectors, 1))
        for good in (True, False):
            cells = [(x + i * side, y + 4, side - 1, 12.0) for i in range(a.sectors) if (i < a.ideal) == good]
            if cells:
                svg.boxes(cells, "accent" if good else "bad")
        return
    if a.degree is None:
        return
    words = banks(a)
    svg.boxes([(x + bank * 3.75, y + BAR, 3, 1) for bank in range(warps.BANKS)], "line")
    for crowded in (False, True):
        found = [b for b in sorted(words) if (len(words[b]) > 1 and a.degree > 1) == crowded]
        tall = {b: min(4.0 * len(words[b]), BAR) for b in found}
        if found:
            svg.boxes([(x + b * 3.75, y + BAR - tall[b], 3, tall[b]) for b in found], "bad" if crowded else "accent")


def banks(a: Access) -> dict[int, set[int]]:
    """The words that are asked for, by bank."""
    words: dict[int, set[int]] = {}
    for o in a.offsets or ():
        for w in range(o // warps.WORD, (o + a.width - 1) // warps.WORD + 1) if o >= 0 else ():
            words.setdefault(w % warps.BANKS, set()).add(w)
    return words


def _lanes(svg: Svg, y: float, k: Kernel, a: Access) -> None:
    """The lanes of the warp above, the sectors or banks that they go to below, and where each begins."""
    offsets = a.offsets
    if offsets is None:
        svg.text(LEFT + 12, y + 16, "memory decides where the lanes go: a run would have to tell", "quiet", size=10)
        return
    x, step = LEFT + 8, 12.4
    svg.text(x, y + 10, "lanes", "quiet", size=9)
    for lane, o in enumerate(offsets):
        shade = "line" if o < 0 else "ink" if lane == k.lane else "new"
        svg.boxes([(x + lane * step, y + 14, step - 1, 13)], shade, place(a, lane), picks(lane=lane))
        svg.text(x + lane * step + 5.7, y + 23.5, str(lane), "paper", "middle", 7)
    shared = a.degree is not None
    unit = warps.WORD if shared else warps.SECTOR
    touched = {o: [*range(o // unit, (o + a.width - 1) // unit + 1)] for o in offsets if o >= 0}
    words = banks(a)
    there = [*range(warps.BANKS)] if shared else sorted({u for us in touched.values() for u in us})
    wide = 32 * step / max(len(there), 1) if shared or len(there) > 16 else 2 * step
    at = {u: x + n * wide + wide / 2 for n, u in enumerate(there)}
    links = [
        (x + lane * step + 5.7, y + 28, at[u % warps.BANKS if shared else u], y + 59, lane)
        for lane, o in enumerate(offsets) if o >= 0 for u in touched[o]
    ]  # fmt: skip
    svg.lines([link[:4] for link in links if link[4] != k.lane], "line")
    svg.lines([link[:4] for link in links if link[4] == k.lane], "ink", 2)
    for u in there:
        n = len(words.get(u, ())) if shared else 1
        shade = "line" if not n else "bad" if shared and n > 1 and (a.degree or 0) > 1 else "accent"
        hint = f"bank {u}: {n} words" if shared else f"bytes {u * unit} to {u * unit + unit - 1}"
        svg.boxes([(at[u] - wide / 2, y + 60, wide - 1, 13)], shade, hint)
        if shared and n > 1:
            svg.text(at[u], y + 70, str(n), "paper", "middle", 7)
    what = "banks, and how many words of each" if shared else "sectors of 32 bytes, by address"
    svg.text(x, y + 85, f"{what}; where in {a.buffer.name} each lane begins, in bytes:", "quiet", size=9)
    columns = _columns(offsets)
    wide = 400 / columns
    for lane, o in enumerate(offsets):
        left, top = x + lane % columns * wide, y + 101 + lane // columns * 13
        svg.text(left, top, f"{lane}:", "quiet", size=8.5)
        svg.text(left + 15, top, "off" if o < 0 else str(o), "ink", size=8.5, bold=lane == k.lane)
    svg.text(x, y + _detail(a) - 14, shortened(f"lane {k.lane}: {place(a, k.lane)}", 66), "ink", size=10)


def _columns(offsets: Sequence[int]) -> int:
    return 8 if max(offsets, default=0) < 100_000 else 4


def _detail(a: Access) -> float:
    """The height of what is shown of an access lane by lane."""
    if a.offsets is None:
        return 28.0
    return 124.0 + -(-len(a.offsets) // _columns(a.offsets)) * 13


def place(a: Access, lane: int) -> str:
    """ "A[3, 16], byte 832, 16 bytes" """
    offset = (a.offsets or ())[lane]
    if offset < 0:
        return "off: it takes no part"
    more = f"byte {offset} of {a.buffer.name}, {a.width} bytes wide"
    shape = [n.value for n in a.buffer.shape if hasattr(n, "value")]
    if a.buffer.strides is not None or len(shape) < len(a.buffer.shape):
        return more
    element, index = offset // dt.size(a.buffer.dtype), []
    for n in reversed(shape):
        index.append(str(element % n))
        element //= n
    return f"{a.buffer.name}[{', '.join(reversed(index))}], {more}" if not element else more


def text(a: Access, names: Names | None = None) -> str:
    """`reads A[i, k]`"""
    access = a.node
    index = ", ".join(show(i, names) for i in access.indices)
    return f"{'writes' if a.store else 'reads'} {a.buffer.name}[{index}]"


def called(found: Sequence[Access]) -> tuple[str, ...]:
    """What each access is chosen by, which stays while loops come and go: "reads A", "reads A 2"."""
    count: dict[str, int] = {}
    names = []
    for a in found:
        name = f"{'writes' if a.store else 'reads'} {a.buffer.name}"
        count[name] = count.get(name, 0) + 1
        names.append(name if count[name] == 1 else f"{name} {count[name]}")
    return tuple(names)


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
