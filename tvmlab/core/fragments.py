"""Calls on the fragments of tensor cores: the classic built-ins, their arguments by name, what they touch.

    fill_fragment(f, m, n, k, i, value)                     every element of tile i of f
    load_matrix_sync(f, m, n, k, i, pointer, stride, layout)    tile i of f, from memory; `stride` elements to a row
    mma_sync(d, di, a, ai, b, bi, c, ci)                    tile di of d = a x b + c
    store_matrix_sync(f, m, n, k, i, pointer, stride, layout)   tile i of f, to memory

All lanes of a warp make such a call together, on the same tile. A fragment is memory of a scope `wmma.*`, in tiles of
m x k (matrix_a), k x n (matrix_b) or m x n (accumulator) elements; which lane has which element is not known. The
pointer is an `access_ptr`; the layout "row_major" or "col_major". (CUDA C++ Programming Guide, Warp Matrix Functions.)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .node import Call, Const, Expr

NAMES = ("fill_fragment", "load_matrix_sync", "mma_sync", "store_matrix_sync")
ARITY = {"fill_fragment": 6, "load_matrix_sync": 8, "mma_sync": 8, "store_matrix_sync": 8}
LAYOUTS = ("row_major", "col_major")
SHAPES = ((16, 16, 16), (32, 8, 16), (8, 32, 16))
# elements of the sides -> those that their products may be summed in
SUMS = {"float16": ("float32", "float16"), "int8": ("int32",), "uint8": ("int32",)}
ROLES = {"wmma.matrix_a": "matrix_a", "wmma.matrix_b": "matrix_b", "wmma.accumulator": "accumulator"}


def is_call(e: Any) -> bool:
    return type(e) is Call and e.name in ARITY


def role(scope: str) -> str:
    """`wmma.matrix_a.mine` -> matrix_a; "" of any other scope."""
    return next((r for s, r in ROLES.items() if scope == s or scope.startswith(f"{s}.")), "")


def tile(role: str, shape: tuple[int, int, int]) -> tuple[int, int]:
    """Rows and columns of a tile."""
    m, n, k = shape
    return {"matrix_a": (m, k), "matrix_b": (k, n), "accumulator": (m, n)}[role]


@dataclass(frozen=True, eq=False)
class Tile:
    """A tile of a fragment in a call: the fragment's handle, the tile's number."""

    data: Any
    index: Expr


@dataclass(frozen=True, eq=False)
class Op:
    """A call, read. `shape`: what it says of m, n and k, None where it says nothing.

    `tiles`: in the order of the call. `value`: of a fill. `pointer`, `stride`, `layout`: of a load or a store.
    """

    name: str
    tiles: tuple[Tile, ...]
    shape: tuple[Expr, ...] | None = None
    value: Expr | None = None
    pointer: Expr | None = None
    stride: Expr | None = None
    layout: Any = None

    @property
    def written(self) -> list[Any]:
        """The handles of fragments that it writes."""
        return [] if self.name == "store_matrix_sync" else [self.tiles[0].data]

    @property
    def read(self) -> list[Any]:
        return [t.data for t in self.tiles[1:]] if self.name != "store_matrix_sync" else [self.tiles[0].data]


def read(e: Call) -> Op:
    """The parts of a call of `NAMES`, which has as many arguments as `ARITY` says."""
    if e.name == "mma_sync":
        pairs = tuple(Tile(e.args[i], e.args[i + 1]) for i in range(0, 8, 2))
        return Op(e.name, pairs)
    data, *shape, index = e.args[:5]
    tiles = (Tile(data, index),)
    if e.name == "fill_fragment":
        return Op(e.name, tiles, tuple(shape), value=e.args[5])
    pointer, stride, layout = e.args[5:]
    said = layout.value if isinstance(layout, Const) else layout
    return Op(e.name, tiles, tuple(shape), pointer=pointer, stride=stride, layout=said)


def handles(e: Call) -> list[int]:
    """Which arguments are the handles of fragments."""
    return [0, 2, 4, 6] if e.name == "mma_sync" else [0]
