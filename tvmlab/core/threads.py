"""The names of thread axes, and the width of a warp."""

from __future__ import annotations

GRID = ("blockIdx.x", "blockIdx.y", "blockIdx.z")  # where a block is in the grid; the fastest first
BLOCK = ("threadIdx.x", "threadIdx.y", "threadIdx.z")  # where a thread is in its block; the fastest first
LAUNCH = (*GRID, *BLOCK)  # as a launch takes their extents
WARP = 32  # threads that follow each other in a block, and go together
