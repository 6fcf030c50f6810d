"""What was chosen, and what it does to a schedule: `cfg["tile_y"].apply(s, C, y)`."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, ClassVar

from ..core.node import IterVar
from ..expr.scalar import thread_axis


class Entity:
    """One candidate. `kind`: how it is saved; `value`: what is saved."""

    kind: ClassVar[str]
    title: ClassVar[str]

    @property
    def value(self) -> Any:
        raise NotImplementedError

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Entity) and (self.kind, self.value) == (other.kind, other.value)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return str(self.value)


class SplitEntity(Entity):
    """`size`: the lengths of the loops, outermost first; the first follows from the others (-1)."""

    kind, title = "sp", "Split"

    def __init__(self, size: Sequence[int]) -> None:
        self.size = list(size)

    @property
    def value(self) -> list[int]:
        return list(self.size)

    def apply(self, sch: Any, op: Any, axis: IterVar) -> list[IterVar]:
        """for i in n   ->   for i0 in n/32: for i1 in 4: for i2 in 8   (for [-1, 4, 8]); the loops, outermost first."""
        axes = []
        for k in range(1, len(self.size)):
            outer, axis = sch[op].split(axis, factor=prod(self.size[k:]))
            axes.append(outer)
        return [*axes, axis]


class ReorderEntity(Entity):
    """`perm`: which loop comes first, which then, ..."""

    kind, title = "re", "Reorder"

    def __init__(self, perm: Sequence[int]) -> None:
        self.perm = list(perm)

    @property
    def value(self) -> list[int]:
        return list(self.perm)

    def apply(self, sch: Any, op: Any, axes: Sequence[IterVar]) -> list[IterVar]:
        """The loops in their new order. With fewer loops than were declared, the places of the others are left out."""
        order = [axes[p] for p in self.perm if p < len(axes)]
        sch[op].reorder(*order)
        return order


class AnnotateEntity(Entity):
    """`anns`: none, unroll, vec, a thread's tag, vthread or fuse (with the next loop), a word for each loop."""

    kind, title = "an", "Annotate"

    def __init__(self, anns: Sequence[Any]) -> None:
        self.anns = list(anns)

    @property
    def value(self) -> list[Any]:
        return list(self.anns)

    def apply(
        self, sch: Any, op: Any, axes: Sequence[IterVar], axis_lens: Sequence[int] | None = None,
        max_unroll: int | None = None, vec_size: Sequence[int] | None = None, cfg: Any = None, source: Any = None,
    ) -> list[IterVar]:  # fmt: skip
        """Mark the loops; returns them, fused ones as one.

        `max_unroll`, `vec_size`: longer loops to unroll, other numbers of lanes make the configuration invalid (`cfg`).
        `source`: lists of caches, each of which is computed at the loop chosen for it (locate_cache).
        """
        axes = list(axes)
        if source is not None:
            for caches, place in zip(source, self.anns, strict=False):
                for cache in caches:
                    sch[cache].compute_at(sch[op], axes[place])
            return axes
        for k, word in enumerate(self.anns):
            length = axis_lens[k] if axis_lens is not None else None
            if word == "unroll":
                if max_unroll and length is not None and length > max_unroll and cfg is not None:
                    cfg.raise_error(f"Too large factor for unrolling: {length} iterations, at most {max_unroll}")
                sch[op].unroll(axes[k])
            elif word == "vec":
                if vec_size and length is not None and length not in vec_size and cfg is not None:
                    cfg.raise_error(f"Wrong size of lanes in vectorization: {length}, not one of {list(vec_size)}")
                sch[op].vectorize(axes[k])
            elif word == "fuse":
                axes[k + 1] = sch[op].fuse(axes[k], axes[k + 1])
            elif word != "none":
                sch[op].bind(axes[k], thread_axis(word))
        return axes


class OtherOptionEntity(Entity):
    """`val`: any value."""

    kind, title = "ot", "OtherOption"

    def __init__(self, val: Any) -> None:
        self.val = val

    @property
    def value(self) -> Any:
        return self.val


KINDS: dict[str, type[Any]] = {e.kind: e for e in (SplitEntity, ReorderEntity, AnnotateEntity, OtherOptionEntity)}
