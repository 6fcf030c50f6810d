"""What a template may choose from, and one choice of all.

    space = Space()                                     cfg = space.get(37)
    space.define_split("tile", 128, num_outputs=2)      cfg["tile"].size == [-1, 4]
    len(space), space.dims, space.get(37)               cfg.index, cfg.entities, cfg.to_json()

The points are numbered in mixed radix, the choice that was defined first varying fastest. None is made before it is
asked for: a space of 10**12 points costs what its choices cost.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import prod
from typing import Any

from ..core.error import LabError
from ..core.node import Const
from ..core.threads import BLOCK, GRID
from .entities import KINDS, AnnotateEntity, Entity, OtherOptionEntity, ReorderEntity, SplitEntity
from .knobs import AnnotateKnob, Knob, KnobAxis, PolicyError, ReorderKnob, SpaceError, SplitKnob, VirtualAxis, option

COUNTED = 1 << 18  # points up to which the valid ones are counted one by one

Make = Callable[[Sequence[Any]], Knob]


class MissingKnob(LabError, KeyError):
    """A choice that the template did not define."""


class Choices:
    """What a template is given: it defines its choices on it, and reads them from it."""

    is_fallback = False

    def __init__(self) -> None:
        self.errors: list[str] = []
        self.flop: float = 0.0
        self.code_hash: str | None = None
        self.cost: Any = None
        self._chosen: dict[str, Any] = {}

    # ------------------------------------------------------------ what a template says

    @staticmethod
    def axis(var: Any) -> VirtualAxis:
        """A loop that need not exist yet: of an axis, or of so many iterations."""
        return VirtualAxis(var)

    reduce_axis = axis

    def define_split(self, name: str, axis: Any, policy: str = "factors", **options: Any) -> list[KnobAxis]:
        """One loop into `num_outputs`; the loops are named by what is returned.

        `policy`: factors (the divisors of its length), power2, verbose (both), candidate (`candidate=[[-1, 8], ...]`).
        `max_factor`; `no_tail`: only lengths that divide (factors: always, unless no_tail=False); `filter(entity)`:
        keep it?
        """
        return self._define(name, [axis], options.get("num_outputs", 0), lambda a: SplitKnob(a, policy, **options))

    def define_reorder(self, name: str, axes: Sequence[Any], policy: str, **options: Any) -> list[KnobAxis]:
        """Loops in another order.

        `policy`: identity, all, interval_all (`interval=(first, end)`), candidate (`candidate=[[loops], ...]`),
        interleave and interleave_cuda (`spatial=[[loops of an axis], ...]`, `reduce=[[...], ...]`).
        """
        return self._define(name, axes, len(axes), lambda a: ReorderKnob(a, policy, **options))

    def define_annotate(self, name: str, axes: Sequence[Any], policy: str, **options: Any) -> list[KnobAxis]:
        """What is said of loops.

        `policy`: bind_gpu, bind_gpu_virtual, locate_cache (`num_anchor=`), or none, unroll, vec joined by `_`, with
        `try` for "or none": try_unroll_vec. At most one loop is vectorized.
        """
        return self._define(name, axes, len(axes), lambda a: AnnotateKnob(a, policy, **options))

    def define_knob(self, name: str, candidate: Sequence[Any]) -> list[KnobAxis]:
        """One of the given values: cfg[name].val."""
        return self._define(name, [], 0, lambda _: option(candidate))

    def _define(self, name: str, axes: Sequence[Any], outputs: int, make: Make) -> list[KnobAxis]:
        return [KnobAxis(None, k) for k in range(outputs)]

    def add_flop(self, flop: Any) -> None:
        """So many operations of the computation: what its speed is told by."""
        self.flop += float(flop.value if isinstance(flop, Const) else flop)

    def raise_error(self, msg: str) -> None:
        """This configuration cannot be: it will not be built."""
        self.errors.append(msg)

    def valid(self) -> bool:
        """Has the template, run with it, found no error?"""
        return not self.errors

    def multi_filter(self, filter: Callable[[Any], Any], **options: Any) -> None:
        """Only the points for which `filter(config)` holds."""

    # ------------------------------------------------------------ what it reads

    @property
    def entities(self) -> Mapping[str, Any]:
        return self._chosen

    def __getitem__(self, name: str) -> Any:
        found = self.entities.get(name)
        if found is None:
            raise MissingKnob("missing-knob", f"the template has defined no choice {name!r}", legal=list(self.entities))
        return found

    def __contains__(self, name: object) -> bool:
        return name in self.entities

    def __iter__(self) -> Iterator[str]:
        return iter(self.entities)


class Space(Choices):
    """The choices of a template, in the order of their definition. While it is collected, the first of each holds."""

    def __init__(self) -> None:
        super().__init__()
        self.space_map: dict[str, Knob] = {}
        self._filter: Callable[[Any], Any] | None = None
        self._valid: dict[int, bool] = {}
        self._length: int | None = None
        self.identity: Any = None  # what the choices are, where their names are a person's and do not say it

    def _define(self, name: str, axes: Sequence[Any], outputs: int, make: Make) -> list[KnobAxis]:
        knob = make([a if isinstance(a, (VirtualAxis, KnobAxis)) else VirtualAxis(a) for a in axes])
        if not len(knob):
            why = f"its filter discarded all {knob.discarded}" if knob.discarded else "none was given"
            raise SpaceError("empty-space", f"the choice {name!r} has no candidates: {why}", where=[repr(knob)])
        self.space_map[name] = knob
        self._chosen[name] = knob[0]
        self._length = None
        self._valid.clear()
        return [KnobAxis(knob, k) for k in range(knob.num_output)]

    def multi_filter(self, filter: Callable[[Any], Any], **options: Any) -> None:
        """Only the points for which `filter(config)` holds. Points are looked at when they are asked for."""
        self._filter, self._length = filter, None
        self._valid.clear()

    # ------------------------------------------------------------ how many

    @property
    def names(self) -> list[str]:
        return list(self.space_map)

    @property
    def dims(self) -> list[int]:
        """How many candidates each choice has."""
        return [len(knob) for knob in self.space_map.values()]

    @property
    def range_length(self) -> int:
        """How many points there are, filtered or not: indices are below it."""
        return prod(self.dims)

    def __len__(self) -> int:
        """How many points; of a filtered space how many valid ones, up to 2**18 (of a larger one: range_length)."""
        if self._length is None:
            whole = self.range_length
            counted = self._filter is not None and whole <= COUNTED
            self._length = sum(map(self.is_index_valid, range(whole))) if counted else whole
            if not self._length:
                raise SpaceError("empty-space", f"the filter of the space discarded all its {whole} points")
        return self._length

    def __bool__(self) -> bool:
        return True

    @property
    def discarded(self) -> dict[str, int]:
        """What filters took away: candidates of a choice, and (`multi_filter`) those points that were looked at."""
        found = {name: knob.discarded for name, knob in self.space_map.items() if knob.discarded}
        refused = sum(not ok for ok in self._valid.values())
        return {**found, "multi_filter": refused} if refused else found

    @property
    def hash(self) -> str:
        """Of the choices and their candidates, or of `identity`: 16 hexadecimal digits."""
        said = self.identity or [[name, knob.kind, knob.described()] for name, knob in self.space_map.items()]
        return hashlib.sha256(json.dumps(said, default=repr).encode()).hexdigest()[:16]

    # ------------------------------------------------------------ points

    def get(self, index: int) -> Config:
        """The point of that number; IndexError where there is none, or a filter has taken it away."""
        if not 0 <= index < self.range_length:
            raise IndexError(f"Index out of range: the space has {self.range_length} points, there is no {index}")
        if not self.is_index_valid(index):
            raise IndexError(f"Index does not correspond to a valid config: the filter of the space discarded {index}")
        return Config(self, int(index))

    def is_index_valid(self, index: int) -> bool:
        """Is there such a point, and does the filter keep it?"""
        if not 0 <= index < self.range_length:
            return False
        if self._filter is None:
            return True
        if index not in self._valid:
            self._valid[index] = bool(self._filter(Config(self, int(index))))
        return self._valid[index]

    def point2knob(self, point: int) -> list[int]:
        """The number of a point -> that of each choice's candidate."""
        return digits(point, self.dims)

    def knob2point(self, knob: Sequence[int]) -> int:
        """The reverse of point2knob."""
        return number(knob, self.dims)

    def from_json_config(self, saved: Sequence[Sequence[Any]]) -> Config:
        """The point that was saved: [[name, kind, value], ...]."""
        values = {str(name): (kind, value) for name, kind, value in saved}
        if values.keys() != self.space_map.keys():
            differing = sorted(values.keys() ^ self.space_map.keys())
            raise SpaceError("other-space", f"it is a point of another space: {', '.join(differing)}", legal=self.names)
        knob = [self._number(name, *values[name]) for name in self.space_map]
        return self.get(self.knob2point(knob))

    def _number(self, name: str, kind: str, value: Any) -> int:
        knob = self.space_map[name]
        try:
            if kind == knob.kind:
                return knob.find(value)
        except (ValueError, TypeError):
            pass
        raise SpaceError("no-candidate", f"{value} ({kind}) is no candidate of {name!r}", where=[repr(knob)])

    # ------------------------------------------------------------ chance

    def get_rand_index(
        self, start: int | None = None, end: int | None = None, to_exclude: Any = (), rng: Any = None
    ) -> int:
        """A valid point of [start, end) that is not excluded."""
        low, high = start or 0, self.range_length if end is None else end
        for _ in range(10_000):
            point = (rng or random).randrange(low, high)
            if point not in to_exclude and self.is_index_valid(point):
                return point
        few = range(low, high if high <= COUNTED else low)
        left = [p for p in few if p not in to_exclude and self.is_index_valid(p)]
        if not left:
            raise SpaceError("empty-space", f"no valid point of {low}..{high} was found")
        return int((rng or random).choice(left))

    def get_next_index(self, index: int, n: int = 1, start: int | None = None, end: int | None = None) -> int | None:
        """The n-th valid point after this one (n < 0: before it); None beyond [start, end)."""
        low, high = start or 0, self.range_length if end is None else end
        step = 1 if n > 0 else -1
        for _ in range(abs(n)):
            index += step
            while low <= index < high and not self.is_index_valid(index):
                index += step
            if not low <= index < high:
                return None
        return index

    def sample_ints(self, m: int, rng: Any = None) -> list[int]:
        """m different valid points by chance; all of them, in order, where there are no more than that."""
        if m >= self.range_length or (self.range_length <= COUNTED and m >= len(self)):
            return [p for p in range(self.range_length) if self.is_index_valid(p)]
        found: dict[int, None] = {}
        while len(found) < m:
            found[self.get_rand_index(to_exclude=found, rng=rng)] = None
        return list(found)

    def random_walk(self, point: int, rng: Any = None) -> int:
        """A neighbour: one choice is another; the point itself where nothing can be chosen."""
        dims, chance = self.dims, rng or random
        free = [k for k, n in enumerate(dims) if n > 1]
        for _ in range(1000 if free else 0):
            knob, at = self.point2knob(point), chance.choice(free)
            knob[at] = (knob[at] + chance.randrange(1, dims[at])) % dims[at]
            neighbour = self.knob2point(knob)
            if self.is_index_valid(neighbour):
                return neighbour
        return point

    def subrange_length(self, start: int, end: int) -> int:
        """How many valid points [start, end) has."""
        if self._filter is None:
            return max(0, min(end, self.range_length) - max(start, 0))
        return sum(map(self.is_index_valid, range(start, end)))

    def __repr__(self) -> str:
        knobs = [f"  {k:2d} {name}: {knob}" for k, (name, knob) in enumerate(self.space_map.items())]
        return "\n".join([f"ConfigSpace (len={self.range_length}, space_map=", *knobs, ")"])


class Config(Choices):
    """One point of a space: `cfg["tile"].size`. `space` is None of one that was read without its space."""

    def __init__(
        self, space: Space | None, index: int, chosen: Mapping[str, Any] | None = None, code_hash: str | None = None
    ) -> None:
        super().__init__()
        self.space, self.index = space, index
        self.code_hash = space.code_hash if space is not None else code_hash
        self._given = chosen

    @property
    def entities(self) -> Mapping[str, Any]:
        if not self._chosen:
            knobs = {} if self.space is None else self.space.space_map
            numbers = self.space.point2knob(self.index) if self.space is not None else []
            made = {name: knob[at] for (name, knob), at in zip(knobs.items(), numbers, strict=True)}
            self._chosen = {**made, **(self._given or {})}
        return self._chosen

    def to_json(self) -> list[list[Any]]:
        """[[name, kind, value], ...], as records keep it."""
        return [[name, e.kind, e.value] for name, e in self.entities.items()]

    def to_json_dict(self) -> dict[str, Any]:
        """Classic: with its number and the hash of the template's source."""
        return {"index": self.index, "code_hash": self.code_hash, "entity": self.to_json()}

    @staticmethod
    def from_json_dict(saved: Mapping[str, Any]) -> Config:
        """A point as it was recorded, without its space."""
        chosen = {}
        for name, kind, value in saved["entity"]:
            if kind not in KINDS:
                raise PolicyError("entity-kind", f"Invalid config knob type: {kind!r}", legal=list(KINDS))
            chosen[str(name)] = KINDS[kind](value)
        return Config(None, saved["index"], chosen, saved.get("code_hash"))

    def get_flatten_feature(self) -> list[float]:
        """The choices as numbers: lengths, places, a one for each word, values."""
        found: list[float] = []
        for e in self.entities.values():
            found += _numbers(e)
        return found

    def get_other_option(self) -> dict[str, Any]:
        """The values of the plain knobs."""
        return {name: e.val for name, e in self.entities.items() if isinstance(e, OtherOptionEntity)}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Config) and self.index == other.index and self.entities == other.entities

    def __hash__(self) -> int:
        return hash(self.index)

    def __repr__(self) -> str:
        chosen = ", ".join(f"{name}: {e}" for name, e in self.entities.items())
        return f"{{{chosen}}}, {self.code_hash}, {self.index}"


def digits(point: int, dims: Sequence[int]) -> list[int]:
    """A number in mixed radix, the first digit varying fastest."""
    found = []
    for n in dims:
        point, at = divmod(point, n)
        found.append(at)
    return found


def number(found: Sequence[int], dims: Sequence[int]) -> int:
    """The reverse of digits."""
    point = 0
    for at, n in zip(reversed(found), reversed(dims), strict=True):
        point = point * n + at
    return point


SAID = ("none", "vec", "unroll", *GRID, *BLOCK, "vthread", "fuse")


def _numbers(e: Entity) -> list[float]:
    if isinstance(e, AnnotateEntity):
        return [float(word == w) if isinstance(word, str) else float(word) for word in e.anns for w in SAID]
    if isinstance(e, OtherOptionEntity):
        return [float(e.val) if isinstance(e.val, (int, float)) else 0.0]
    assert isinstance(e, (SplitEntity, ReorderEntity))
    return [float(v) for v in e.value]


ConfigSpace, ConfigEntity = Space, Config  # the classic names
