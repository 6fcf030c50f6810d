"""One choice of a template: its candidates by number.

    knob      len(knob), knob[i] -> entity, knob.find(value) -> i
    entity    SplitEntity [-1, 4, 8], ReorderEntity [2, 0, 1], AnnotateEntity ["none", "vec"], OtherOptionEntity 16

Candidates are numbered as in the classic stack, so that its logs can be read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from math import factorial, isqrt
from typing import Any

from ..core.error import LabError
from ..core.node import Const, IterVar
from ..core.threads import BLOCK, GRID
from .entities import KINDS, Entity


class SpaceError(LabError, ValueError):
    """A space that cannot be: a choice without candidates, an axis of unknown length."""


class PolicyError(LabError):
    """A policy that there is not, or that the axes do not suit. (A RuntimeError, as in the classic stack.)"""


class VirtualAxis:
    """A loop that need not exist yet: `cfg.axis(64)`, `cfg.axis(C.op.axis[0])`. Length -1: not a number."""

    def __init__(self, of: Any, name: str = "") -> None:
        extent = of.extent if isinstance(of, IterVar) else of.length if isinstance(of, VirtualAxis) else of
        extent = extent.value if isinstance(extent, Const) else extent
        self.length: int = extent if isinstance(extent, int) else -1
        self.name = name or getattr(of, "name", "")

    def __repr__(self) -> str:
        return f"vaxis({self.name}, {self.length})"


@dataclass(frozen=True)
class KnobAxis:
    """Output `index` of a choice, as later choices name it."""

    space: Any
    index: int


class Knob:
    """Candidates by number. `outputs`: how many loops it gives; `discarded`: how many a filter took away."""

    def __init__(self, kind: str, policy: str, values: Sequence[Any], outputs: int = 0, discarded: int = 0) -> None:
        self.kind, self.policy, self.values, self.num_output, self.discarded = kind, policy, values, outputs, discarded

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, index: int) -> Entity:
        return KINDS[self.kind](self.values[index])

    def __iter__(self) -> Iterator[Entity]:
        return (self[i] for i in range(len(self)))

    @property
    def entities(self) -> list[Entity]:
        """Classic: all candidates."""
        return list(self)

    def find(self, value: Any) -> int:
        """The number of a candidate, given as it is saved; ValueError where there is none."""
        if self.kind != "ot":
            return self.values.index(tuple(value))
        plain = [list(v) if isinstance(v, tuple) else v for v in self.values]  # as text keeps them
        return plain.index(list(value) if isinstance(value, tuple) else value)

    def described(self) -> Any:
        """The candidates as plain data, for the hash of the space."""
        return self.values.described() if isinstance(self.values, Permutations) else list(self.values)

    def __repr__(self) -> str:
        return f"{KINDS[self.kind].title}({self.policy or list(self.values)}) len={len(self)}"


# ---------------------------------------------------------------- split


def factors_of(n: int) -> list[int]:
    """The divisors, ascending."""
    low = [f for f in range(1, isqrt(n) + 1) if n % f == 0]
    return sorted({*low, *[n // f for f in low]})


def powers_of_two(n: int) -> list[int]:
    """Those up to n, ascending."""
    return [1 << e for e in range(n.bit_length())]


POLICIES: dict[str, Callable[[int], list[int]]] = {
    "factors": factors_of,
    "power2": powers_of_two,
    "verbose": lambda n: sorted({*factors_of(n), *powers_of_two(n)}),
}


class SplitKnob(Knob):
    """One loop into `num_outputs`. A candidate: the lengths, of which the first (-1) follows from the others."""

    def __init__(
        self, axes: Sequence[Any], policy: str, *, num_outputs: int = 0, max_factor: int = 1 << 31,
        filter: Callable[[Any], Any] | None = None, no_tail: bool | None = None,
        candidate: Sequence[Sequence[int]] = (),
    ) -> None:  # fmt: skip
        assert num_outputs > 0, "define_split needs num_outputs, how many loops it gives"
        self.product: int = axes[0].length
        if policy == "candidate":
            found = [tuple(map(int, sizes)) for sizes in candidate]
            wrong = next((sizes for sizes in found if len(sizes) != num_outputs), None)
            assert wrong is None, f"the candidate {list(wrong or ())} does not have {num_outputs} lengths"
        else:
            found = self.enumerated(policy, num_outputs, max_factor, no_tail)
        kept = [v for v in found if filter(KINDS["sp"](v))] if filter is not None else found
        super().__init__("sp", policy, kept, num_outputs, len(found) - len(kept))

    def enumerated(self, policy: str, outputs: int, largest: int, no_tail: bool | None) -> list[tuple[int, ...]]:
        if policy not in POLICIES:
            raise PolicyError(
                "policy", f"Invalid policy: there is no policy {policy!r} to split by", legal=[*POLICIES, "candidate"]
            )
        if self.product <= 0:
            raise SpaceError(
                "split-length", f"a loop of {self.product if self.product == 0 else 'unknown'} iterations "
                "cannot be split by enumeration", hint='policy="candidate", candidate=[[-1, 8], ...] needs no length',
            )  # fmt: skip
        factors = [f for f in POLICIES[policy](self.product) if f <= largest]
        exact = policy == "factors" if no_tail is None else no_tail
        return [(-1, *reversed(inner)) for inner in _tiles(self.product, factors, outputs - 1, exact)]

    def __repr__(self) -> str:
        return f"Split(policy={self.policy}, product={self.product}, num_outputs={self.num_output}) len={len(self)}"


def _tiles(n: int, factors: Sequence[int], count: int, exact: bool) -> Iterator[tuple[int, ...]]:
    """`count` factors whose product divides n (or, unless exact, is less than n); the first varies slowest."""
    if not count:
        yield ()
        return

    def grow(done: tuple[int, ...], size: int) -> Iterator[tuple[int, ...]]:
        for f in factors:
            if size * f > n:
                return
            if exact and n % (size * f):
                continue
            if len(done) + 1 < count:
                yield from grow((*done, f), size * f)
            elif n % (size * f) == 0 or size * f < n:
                yield (*done, f)

    yield from grow((), 1)


# ---------------------------------------------------------------- reorder


class Permutations(Sequence[tuple[int, ...]]):
    """Every order of the places [begin, end) of n, in lexicographic order, none of them made before it is asked for."""

    def __init__(self, n: int, begin: int, end: int) -> None:
        self.n, self.begin, self.end = n, begin, end
        self.orders = factorial(max(end - begin, 0))

    def __len__(self) -> int:
        return self.orders

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(self.orders))]
        if not -self.orders <= index < self.orders:
            raise IndexError(index)
        index %= self.orders
        left, order = list(range(self.begin, self.end)), list(range(self.begin))
        while left:
            place, index = divmod(index, factorial(len(left) - 1))
            order.append(left.pop(place))
        return (*order, *range(self.end, self.n))

    def index(self, value: Any, start: int = 0, stop: int | None = None) -> int:
        if sorted(value) != list(range(self.n)):
            raise ValueError(f"{value} is no order of {self.n} loops")
        left, found = list(range(self.begin, self.end)), 0
        for v in value[self.begin : self.end]:
            if v not in left:
                raise ValueError(f"{value} moves loops outside {self.begin}..{self.end}")
            found += left.index(v) * factorial(len(left) - 1)
            left.remove(v)
        if self[found] != tuple(value):
            raise ValueError(f"{value} moves loops outside {self.begin}..{self.end}")
        return found

    def described(self) -> list[Any]:
        return ["permutations", self.n, self.begin, self.end]


class ReorderKnob(Knob):
    """Loops in another order. A candidate: the places the loops are taken from."""

    def __init__(
        self, axes: Sequence[Any], policy: str, *, interval: tuple[int, int] = (0, 0),
        candidate: Sequence[Sequence[Any]] = (), spatial: Sequence[Sequence[Any]] = (),
        reduce: Sequence[Sequence[Any]] = (),
    ) -> None:  # fmt: skip
        self.axes, n = list(axes), len(axes)
        chains, folds = [[*map(self.place, c)] for c in spatial], [[*map(self.place, c)] for c in reduce]
        outer = [c[:-1] for c in chains]
        values: Sequence[Any]
        if policy == "identity":
            values = [tuple(range(n))]
        elif policy == "all":
            values = Permutations(n, 0, n)
        elif policy == "interval_all":
            values = Permutations(n, *interval)
        elif policy == "candidate":
            values = [tuple(map(self.place, order)) for order in candidate]
        elif policy == "interleave":
            values = [tuple(_merged(outer) + _merged([c[-1:] for c in chains] + folds))]
        elif policy == "interleave_cuda":
            values = [tuple(_merged(outer) + _merged(folds) + [c[-1] for c in chains])]
        else:
            legal = ["identity", "all", "interval_all", "candidate", "interleave", "interleave_cuda"]
            raise PolicyError("policy", f"Invalid policy: there is no policy {policy!r} to reorder by", legal=legal)
        super().__init__("re", policy, values, n)

    def place(self, axis: Any) -> int:
        """Which of the loops it is: loops are compared by identity."""
        for k, a in enumerate(self.axes):
            if a is axis or (isinstance(a, KnobAxis) and isinstance(axis, KnobAxis) and a == axis):
                return k
        raise SpaceError(
            "foreign-axis", f"{axis!r} is not among the loops to reorder", legal=[repr(a) for a in self.axes]
        )


def _merged(chains: Sequence[Sequence[int]]) -> list[int]:
    """One order that keeps each chain's: always the next of the chain that has most left."""
    left, order = [list(c) for c in chains], []
    while any(left):
        order.append(max(left, key=len).pop(0))
    return order


# ---------------------------------------------------------------- annotate

WORDS = ("none", "unroll", "vec")
GPU = {  # policy -> {at least so many loops: what becomes of the innermost ones}, the most first
    "bind_gpu": {2 * d: (*reversed(GRID[:d]), *reversed(BLOCK[:d])) for d in (3, 2, 1)},
    "bind_gpu_virtual": {3 * d: (*reversed(GRID[:d]), *["vthread"] * d, *reversed(BLOCK[:d])) for d in (3, 2, 1)},
}


class AnnotateKnob(Knob):
    """What is said of loops. A candidate: a word for each, or (locate_cache) the loops that caches are placed in."""

    def __init__(self, axes: Sequence[Any], policy: str, *, num_anchor: int = 0) -> None:
        n = len(axes)
        values: list[tuple[Any, ...]]
        if policy in GPU:
            values = [_bound(policy, n)]
        elif policy == "locate_cache":
            values = list(combinations(range(n), num_anchor))
        else:
            words = policy.replace("try", "none").split("_")
            if any(w not in WORDS for w in words):
                raise PolicyError(
                    "policy", f"Invalid policy: there is no policy {policy!r} to annotate by",
                    legal=[*GPU, "locate_cache", *WORDS, "try_unroll", "try_vec", "try_unroll_vec"],
                )  # fmt: skip
            values = [v for v in product(words, repeat=n) if v.count("vec") < 2]
        super().__init__("an", policy, values, n)


def _bound(policy: str, n: int) -> tuple[str, ...]:
    for least, tags in GPU[policy].items():
        if n >= least:
            return ("fuse",) * (n - least) + tags
    raise PolicyError("too-few-axes", f"{policy} needs {min(GPU[policy])} loops at least, not {n}")


def option(candidate: Sequence[Any]) -> Knob:
    """Any values."""
    return Knob("ot", "", list(candidate))
