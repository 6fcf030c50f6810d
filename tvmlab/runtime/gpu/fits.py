"""Does a launch fit its device? Drivers answer to what one does not have in ways of their own; some end the process.

What is known when a program is built is refused there (target/gpu/limits.py); here are extents that a call decides.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from ...target.gpu.code import DeviceCode, Launch
from .errors import LaunchError

AXES = ("x", "y", "z")


@dataclass(frozen=True)
class Room:
    """What a device takes. Of a block: threads, in all and along x, y and z, and bytes of shared memory; of a grid:
    blocks along x, y and z."""

    name: str
    threads: int
    block: tuple[int, ...]
    shared: int
    grid: tuple[int, ...] = ()


def room(d: dict[str, Any]) -> Room:
    """Of a device of CUDA, as its `devices` describes it."""
    block, grid = (tuple(d[f"max_{what}_dimensions"]) for what in ("thread", "grid"))
    return Room(d["name"], d["max_threads_per_block"], block, d["max_shared_memory_per_block"], grid)


def check(launch: Launch, code: DeviceCode, room: Room) -> None:
    """Refuse what does not fit, with the number, the limit and the loop that is bound to the axis."""
    _block(launch, code, room)
    _grid(launch, code, room)
    shared = code.kernel(launch.kernel).shared
    if shared is not None and shared > room.shared:
        raise LaunchError(
            "shared-too-large",
            f"kernel `{launch.kernel}` takes {shared} bytes of shared memory in a block; {room.name} has {room.shared}",
            hint="smaller tiles, or fewer stages in scope shared",
        )


def _block(launch: Launch, code: DeviceCode, room: Room) -> None:
    threads = math.prod(launch.block)
    if threads > code.threads > 0:
        block = tuple(min(code.threads, n) for n in room.block)
        room = Room("the target, by its -max_num_threads,", code.threads, block, 0)
    elif threads <= room.threads and not _over(launch.block, room.block):
        return
    asked = " x ".join(map(str, launch.block))
    raise LaunchError(
        "block-too-large",
        f"kernel `{launch.kernel}` has {asked} = {threads} threads in a block; {room.name} takes {room.threads}, at "
        f"most {' x '.join(map(str, room.block))}",
        where=_loops(launch, code, "threadIdx", launch.block),
        hint="split the axes that are bound to threadIdx by smaller factors",
    )


def _grid(launch: Launch, code: DeviceCode, room: Room) -> None:
    if over := _over(launch.grid, room.grid):
        axis, n, most = over[0]
        raise LaunchError(
            "grid-too-large",
            f"kernel `{launch.kernel}` has {n} blocks along blockIdx.{axis}; {room.name} takes {most} there",
            where=_loops(launch, code, "blockIdx", launch.grid),
            hint="bind that axis to blockIdx.x, or split it by a larger factor" if axis != "x" else "",
        )


def _over(extents: tuple[int, ...], most: tuple[int, ...]) -> list[tuple[str, int, int]]:
    """(axis, extent, limit) where there are too many."""
    return [(a, n, m) for a, n, m in zip(AXES, extents, most, strict=False) if n > m]


def _loops(launch: Launch, code: DeviceCode, stem: str, extents: tuple[int, ...]) -> list[Any]:
    """`threadIdx.x (4096): `i.inner` of stage C`, of the axes that have more than one iteration."""
    loops = dict(code.kernel(launch.kernel).loops)
    tags = [(f"{stem}.{a}", n) for a, n in zip(AXES, extents, strict=True)]
    return [f"{tag} ({n}): {loops[tag]}" for tag, n in tags if n > 1 and tag in loops]
