"""What the knobs of a space for a whole expression mean, in words: see `tune/generic.py` and `tune/generic_gpu.py`."""

from __future__ import annotations

from typing import Any

MEANS = {
    "place": "where it is computed: root, in loops of its own; inline, in each use; else in a loop of what reads it:"
    " its first, the last of its first level (tile), of its second (inner), or of its sums (block)",
    "order": "the loops from outside in, S: over the result, R: over what is summed; level by level",
    "cache": "1: a tile is summed up in an array of its own, then copied; 0: in the result itself",
    "lanes": "along which axis of the result vectors run; if not the last one, what it indexes is copied into panels:"
    " all of it before (root), or in a loop",
    "parallel": "how many of the outermost loops are shared out to the processors",
    "swap": "1: the outermost loops the other way round",
    "unroll": "inner loops are written out while that makes no more copies of what is inside than this",
    "vectorize": "1: the innermost loop over the result runs in vectors",
    "threads": "threads of a block",
    "each": "elements that one thread computes",
    "shared": "1: the threads of a block copy what they read into shared memory first",
}  # keyed by the last word of a knob's name: C.order
PACK = "where what is read is first copied, in the order it is read in: none; root, all of it before; else in a loop"
GPU_LEVELS = 3  # of loops that a split for a GPU has inside its first


def meaning(name: str, entities: Any) -> str:
    """Of a knob with these candidates, or "" where its name says it all, or nothing is known of it."""
    sizes = [e.value for e in entities if e.kind == "sp"]
    if sizes:
        return _split(name.rpartition(".")[2], len(sizes[0]) - 1)
    words = name.split(".")
    return PACK if "pack" in words[1:-1] else MEANS.get(words[-1], "") if len(words) > 1 else ""


def _split(axis: str, inside: int) -> str:
    """`inside`: loops that a value gives the lengths of."""
    if inside == 1:
        return f"iterations of the inner one of the two loops that {axis} is split into"
    if inside == GPU_LEVELS:
        return f"{axis} is split into blocks x virtual threads x threads x elements of a thread: all but the blocks"
    loops = f"the inner {inside} of the {inside + 1} loops of {axis}"
    return f"{loops}: 8 x 4 is 8 iterations around 4; the outer has the rest"
