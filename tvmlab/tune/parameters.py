"""What of a schedule's steps can be opened: factors, orders, places, scopes, and whether a mark is made at all.

    tune.openable(s)            e1.factor  split i: factor       32 of 1, 2, 4, 8, 16, 32, 64 ...
                                e5.taken   vectorize ji          yes of yes, no

Nothing is lowered for it: whether all combinations are legal is found out when they are made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import permutations
from typing import Any

from ..core.error import LabError
from ..core.hooks import Shown
from ..core.node import IterVar
from ..face.document import Document
from ..face.handle import Schedule
from ..face.history import Entry
from ..face.history_codec import encode
from ..face.moves import SCOPES, places, size
from ..schedule.guard import name as called
from ..schedule.state import State
from .knobs import factors_of, powers_of_two

MOST = 48  # candidates of a parameter
WHOLE = 4  # loops of which every order is a candidate; of more, those in which one loop is elsewhere
UNKNOWN = (1, 4, 8, 16, 32)  # factors of a loop whose length is no number
TAKEN = "taken"
OPTIONAL = (
    "unroll", "vectorize", "parallel", "pragma", "prefetch", "storage_align", "double_buffer", "rolling_buffer",
    "compute_inline", "compute_at", "tensorize", "set_scope",
)  # fmt: skip  # what makes no loops and no stages: later steps can be taken without it
NUMBERS: Mapping[tuple[str, str], tuple[int, ...]] = {
    ("prefetch", "offset"): (0, 1, 2, 4, 8, 16), ("storage_align", "factor"): (8, 16, 32, 64),
    ("storage_align", "offset"): (0, 1, 2, 4, 8), ("pragma", "pragma_value"): (0, 8, 16, 64, 256, 512),
}  # fmt: skip


@dataclass(frozen=True)
class Candidate:
    """`value`: plain, as records keep it. `args`: of the step, as `Entry.args` has them. `off`: it is not taken."""

    value: Any
    args: Mapping[str, Any]
    off: bool = False

    @property
    def text(self) -> str:
        return ("no", "yes")[self.value] if isinstance(self.value, bool) else str(self.value)


@dataclass(frozen=True)
class Parameter:
    """`step`: its id; `param`: the argument, or "taken". `name`: in words, another for each, whatever its value is.

    `now`: the place of the value that the step has, -1 for none of them. `why`: why it cannot be opened. `also`: of a
    value that is not among the candidates, what it would be: None if it is none.
    """

    step: str
    param: str
    name: str
    candidates: tuple[Candidate, ...]
    now: int
    why: str = ""
    also: Callable[[Any], Candidate | None] = field(default=lambda value: None, compare=False, repr=False)

    @property
    def id(self) -> str:
        return f"{self.step}.{self.param}"

    @property
    def values(self) -> list[Any]:
        return [c.value for c in self.candidates]

    def only(self, values: Sequence[Any]) -> Parameter:
        """With these values, in this order. Numbers and orders need not be among the candidates, words must."""
        found = [self._candidate(v) for v in dict.fromkeys(values)]
        if not found:
            raise LabError("no-candidates", f"{self.name} ({self.id}) needs at least one value", legal=self._texts)
        now = self.candidates[self.now].value if self.now >= 0 else None
        return replace(self, candidates=tuple(found), now=next((k for k, c in enumerate(found) if c.value == now), -1))

    def _candidate(self, value: Any) -> Candidate:
        known = next((c for c in self.candidates if c.value == value and type(c.value) is type(value)), None)
        known = known or self.also(value)
        numbers = self.candidates and all(type(c.value) is int for c in self.candidates)
        if known is None and not (numbers and type(value) is int and value > 0):
            raise LabError("no-candidate", f"{value!r} is no value for {self.name} ({self.id})", legal=self._texts)
        return known or Candidate(value, {self.param: value})

    @property
    def _texts(self) -> list[str]:
        return [c.text for c in self.candidates]

    def __repr__(self) -> str:
        now = self.candidates[self.now].text if self.now >= 0 else "?"
        listed = (" | " if any("," in t for t in self._texts) else ", ").join(self._texts)
        return f"{self.id}  {self.name}  {self.why or f'{now} of {listed}'}"


class Parameters(list[Parameter], Shown):
    """Printed one a line."""

    def __repr__(self) -> str:
        ids, names = (max((len(getattr(p, k)) for p in self), default=0) for k in ("id", "name"))
        lines = [repr(p).split("  ", 2) for p in self]
        return "\n".join(f"{a:{ids}}  {b:{names}}  {c}" for a, b, c in lines) or "there are no steps to open"


def openable(of: Document | Schedule) -> Parameters:
    """The parameters of all steps in force, of a schedule or its history, in order."""
    document = of if isinstance(of, Document) else Document.of(of)
    found: list[Parameter] = []
    for at, _ in in_force(document):
        try:
            found += _of_step(document, at)
        except LabError:  # a step that is off may speak of loops that are not there
            continue
    seen: dict[str, int] = {}
    numbers = {e.id: n for n, (_, e) in enumerate(in_force(document), 1)}
    for p in found:
        seen[p.name] = seen.get(p.name, 0) + 1
    return Parameters(replace(p, name=f"{p.name} (step {numbers[p.step]})") if seen[p.name] > 1 else p for p in found)


def in_force(document: Document) -> list[tuple[int, Entry]]:
    """The steps up to the cursor with their places, without those that do not apply; with those that are off."""
    here = enumerate(document.entries[: document.cursor])
    return [(at, e) for at, e in here if e.off or not e.parked]


# ---------------------------------------------------------------- by primitive


@dataclass(frozen=True)
class Step:
    """A step where it stands. `args`: decoded."""

    document: Document
    entry: Entry
    state: State
    args: Mapping[str, Any]
    at: int

    @property
    def stage(self) -> str:
        return self.state.stages[self.args["stage"]].called

    def called(self, axis: Any) -> str:
        return called(self.state, axis) if isinstance(axis, IterVar) else str(axis)

    def parameter(self, param: str, name: str, candidates: Sequence[Candidate], now: Any) -> Parameter:
        at = next((k for k, c in enumerate(candidates) if c.value == now), -1)
        why = "" if len(candidates) > 1 else "there is no other value"
        return Parameter(self.entry.id, param, name, tuple(candidates), at, why)


Maker = Callable[[Step], Iterator[Parameter]]


def _of_step(document: Document, at: int) -> Iterator[Parameter]:
    entry = document.entries[at]
    step = Step(document, entry, document.trace_at(at).state, document.arguments(at), at)
    if entry.primitive in MAKERS:
        yield from MAKERS[entry.primitive](step)
    for (primitive, param), usual in NUMBERS.items():
        now = step.args.get(param)
        if primitive == entry.primitive and type(now) is int:
            yield _numbers(step, param, f"{_about(step)}: {param.removeprefix('pragma_')}", {*usual, now}, now)
    if entry.primitive in OPTIONAL:
        both = [Candidate(True, {}), Candidate(False, {}, off=True)]
        yield step.parameter(TAKEN, _about(step), both, not entry.off)


def _about(step: Step) -> str:
    """ "vectorize ji", "compute_inline B": a step without its values."""
    axis = next((v for v in (step.args.get("var"), step.args.get("axis")) if isinstance(v, IterVar)), None)
    what = step.called(axis) if axis is not None else step.stage
    kind = str(step.args.get("pragma_type") or "")
    return " ".join(x for x in (step.entry.primitive.replace("_", " "), kind, what) if x)


def _numbers(step: Step, param: str, name: str, values: set[int], now: Any) -> Parameter:
    return step.parameter(param, name, [Candidate(n, {param: n}) for n in sorted(values)], now)


def _factor(step: Step, param: str, axis: IterVar, name: str) -> Parameter:
    now = step.args.get(param)
    if type(now) is not int:
        return replace(step.parameter(param, name, [], None), why=f"its value is an expression: {now}")
    n = size(step.state, axis)
    values = {*UNKNOWN} if not n else {*factors_of(n), *powers_of_two(n - 1)}
    return _numbers(step, param, name, {*_thinned(sorted(values)), now}, now)


def _thinned(values: list[int]) -> list[int]:
    """At most MOST: the powers of two, and of the others some over the whole range."""
    powers = [v for v in values if v & (v - 1) == 0]
    rest, room = [v for v in values if v & (v - 1)], max(1, MOST - len(powers))
    return sorted({*powers, *rest[:: -(-len(rest) // room) or 1]})


def _split(step: Step) -> Iterator[Parameter]:
    param = "factor" if step.args.get("factor") is not None else "nparts"
    axis = step.args["parent"]
    yield _factor(step, param, axis, f"split {step.called(axis)}: {'factor' if param == 'factor' else 'parts'}")


def _tile(step: Step) -> Iterator[Parameter]:
    for d in "xy":
        axis = step.args[f"{d}_parent"]
        yield _factor(step, f"{d}_factor", axis, f"tile {step.called(axis)}: factor")


def _reorder(step: Step) -> Iterator[Parameter]:
    refs = step.entry.args["axes"]
    names = _different([step.called(a) for a in step.args["axes"]])
    given = dict(zip(names, refs, strict=True))
    text: Callable[[Sequence[str]], str] = ", ".join
    at = {id(a): n for n, a in enumerate(step.state.stages[step.args["stage"]].axes)}
    place = dict(zip(names, [at[id(a)] for a in step.args["axes"]], strict=True))
    known = sorted(names, key=lambda n: place[n])  # the same whatever they are called, and in what order they are now
    orders = permutations(known) if len(names) <= WHOLE else _moved(names)
    listed = [Candidate(text(o), {"axes": [given[n] for n in o]}) for o in dict.fromkeys(orders)]

    def also(value: Any) -> Candidate | None:
        """Another order: those that are listed of many loops are near the one of now, which changes."""
        wanted = value.split(", ") if isinstance(value, str) else []
        return Candidate(value, {"axes": [given[n] for n in wanted]}) if sorted(wanted) == sorted(names) else None

    yield replace(step.parameter("axes", f"reorder {step.stage}: order", listed[:MOST], text(names)), also=also)


def _different(names: Sequence[str]) -> list[str]:
    return [f"{n}#{names[:k].count(n) + 1}" if n in names[:k] else n for k, n in enumerate(names)]


def _moved(names: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """The order as it is, then those with one loop elsewhere."""
    yield tuple(names)
    for k in range(len(names)):
        rest = [*names[:k], *names[k + 1 :]]
        yield from ((*rest[:to], names[k], *rest[to:]) for to in range(len(names)))


def _compute_at(step: Step) -> Iterator[Parameter]:
    point, table = step.document.points[step.at], step.document.known.table
    found = {}
    for move in places(step.state, step.state.stages[step.args["stage"]]):
        written = encode("compute_at", move.args, point, table)
        found[_place(step, move.args)] = {k: written[k] for k in ("parent", "scope")}
    now = _place(step, step.args)
    found.setdefault(now, {k: step.entry.args[k] for k in ("parent", "scope")})
    candidates = [Candidate(name, args) for name, args in found.items()]
    yield step.parameter("scope", f"place of {step.stage}", candidates[:MOST], now)


def _place(step: Step, args: Mapping[str, Any]) -> str:
    return f"{step.state.stages[args['parent']].called}.{step.called(args['scope'])}"


def _scope(step: Step) -> Iterator[Parameter]:
    now = step.args.get("scope")
    of = step.args.get("tensor")
    first = of[0] if isinstance(of, (list, tuple)) else of
    name = step.stage if first is None else step.state.stage_of(first).called
    bound = any(m.thread is not None for s in step.state.in_order for m in s.marks.values())
    words = dict.fromkeys([*(SCOPES if bound else ("global", "local")), *([now] if isinstance(now, str) else [])])
    candidates = [Candidate(w, {"scope": w}) for w in words]
    yield step.parameter("scope", f"{step.entry.primitive.replace('_', ' ')} of {name}: memory", candidates, now)


MAKERS: dict[str, Maker] = {
    "split": _split, "tile": _tile, "reorder": _reorder, "compute_at": _compute_at, "cache_read": _scope,
    "cache_write": _scope, "set_scope": _scope,
}  # fmt: skip
