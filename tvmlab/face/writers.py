"""Which iterations write an element: solved from the loops, without running them.

Each store to the tensor is followed by halving the ranges of the loops around it, as long as the ranges can still give
the element; loops that its place does not depend on stay ranges (`k = 0..511`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..core.build import FOLD
from ..core.node import Bin, Call, Cast, Const, Expr, For, If, LetStmt, Not, Select, Seq, Stmt, Store, Var
from ..core.program import Function, Origin
from ..core.walk import variables, walk

MOST = 6  # writers that are listed
BUDGET = 20_000  # ranges looked at for one store
Range = tuple[float, float]
ANY: Range = (float("-inf"), float("inf"))


@dataclass(frozen=True)
class Around:
    """What stands around a store: loops and lets from the outside in, and conditions with what they must be."""

    loops: tuple[For | LetStmt, ...] = ()
    guards: tuple[tuple[Expr, bool], ...] = ()


def writers(fn: Function, position: int, index: Sequence[int], sizes: Mapping[str, int]) -> tuple[list[str], str]:
    """The iterations that write element `index` of parameter `position`, and a note where they are not all known."""
    target = fn.params[position]
    found: list[str] = []
    note = ""
    known = {v: (float(n), float(n)) for v in _free(fn) if (n := sizes.get(v.name)) is not None}
    for store, around in stores(fn.body, Around(), target):
        if len(found) > MOST:
            break
        search = _Search(store, around, tuple(index), dict(known))
        for text in search.solutions():
            if text not in found:
                found.append(text)
            if len(found) > MOST:
                break
        if search.left <= 0:
            note = "there may be more: not all iterations were looked at"
    if any(isinstance(n, Call) and _given_away(n, target) for n in walk(fn.body)):
        note = f"a call of a function or an intrinsic writes {target.name} too"
    if not found and not note:
        note = "no iteration writes this element"
    if len(found) > MOST:
        found[MOST:] = ["..."]
    return found, note


def _free(fn: Function) -> list[Var]:
    return [*fn.sizes, *(p for p in fn.params if isinstance(p, Var))]


def _given_away(n: Call, target: Any) -> bool:
    return any(a is target.data or a is target for a in n.args)


def stores(s: Any, around: Around, target: Any) -> Iterator[tuple[Store, Around]]:
    """The stores to a buffer, with what stands around each."""
    if isinstance(s, Store):
        if s.buffer is target:
            yield s, around
    elif isinstance(s, Seq):
        for x in s.stmts:
            yield from stores(x, around, target)
    elif isinstance(s, (For, LetStmt)):
        yield from stores(s.body, replace(around, loops=(*around.loops, s)), target)
    elif isinstance(s, If):
        yield from stores(s.then, replace(around, guards=(*around.guards, (s.cond, True))), target)
        if s.other is not None:
            yield from stores(s.other, replace(around, guards=(*around.guards, (s.cond, False))), target)
    elif isinstance(s, Stmt) and hasattr(s, "body"):
        yield from stores(s.body, around, target)


class _Search:
    """The iterations of one store that write one element."""

    def __init__(self, store: Store, around: Around, index: tuple[int, ...], known: dict[Any, Range]) -> None:
        self.store, self.around, self.index, self.known = store, around, index, known
        self.left = BUDGET
        asked = [*store.indices, *(c for c, _ in around.guards)]
        asked += [e for x in around.loops if isinstance(x, For) for e in (x.lo, x.extent)]
        asked += [x.value for x in around.loops if isinstance(x, LetStmt)]
        self.matters = {v for e in asked for v in variables(e)}

    def solutions(self) -> Iterator[str]:
        yield from self.step(0, dict(self.known), [])

    def step(self, k: int, env: dict[Any, Range], said: list[str]) -> Iterator[str]:
        """Fix the loop number `k`, then those inside."""
        if k == len(self.around.loops):
            if self.possible(env):
                yield self.text(said)
            return
        loop = self.around.loops[k]
        if isinstance(loop, LetStmt):
            env = {**env, loop.var: interval(loop.value, env)}
            yield from self.step(k + 1, env, said)
            return
        low, (_, extent) = interval(loop.lo, env)[0], interval(loop.extent, env)
        if low == ANY[0] or extent == ANY[1]:
            yield from self.step(k + 1, env, [*said, f"{loop.var.name} = ?"])
            return
        yield from self.halved(k, loop, (int(low), int(low + extent - 1)), env, said)

    def halved(self, k: int, loop: For, ends: tuple[int, int], env: dict[Any, Range], said: list[str]) -> Iterator[str]:
        low, high = ends
        self.left -= 1
        if high < low or self.left <= 0:
            return
        env = {**env, loop.var: (low, high)}
        if not self.possible(self.opened(k + 1, env)):
            return
        if low == high or loop.var not in self.matters:
            text = f"{loop.var.name} = {low}" if low == high else f"{loop.var.name} = {low}..{high}"
            yield from self.step(k + 1, env, [*said, text])
            return
        middle = (low + high) // 2
        for half in ((low, middle), (middle + 1, high)):
            yield from self.halved(k, loop, half, env, said)

    def opened(self, k: int, env: dict[Any, Range]) -> dict[Any, Range]:
        """The loops inside over all of their ranges."""
        made = dict(env)
        for loop in self.around.loops[k:]:
            if isinstance(loop, LetStmt):
                made[loop.var] = interval(loop.value, made)
                continue
            lo, extent = interval(loop.lo, made), interval(loop.extent, made)
            made[loop.var] = (lo[0], lo[1] + extent[1] - 1)
        return made

    def possible(self, env: Mapping[Any, Range]) -> bool:
        """Can the place be the element, and the conditions hold?"""
        for e, want in zip(self.store.indices, self.index, strict=True):
            low, high = interval(e, env)
            if not low <= want <= high:
                return False
        return all(_allows(interval(c, env), want) for c, want in self.around.guards)

    def text(self, said: list[str]) -> str:
        origin = self.store.origin
        stage = f"{origin.stage}: " if isinstance(origin, Origin) and origin.stage else ""
        start = " (the start value)" if isinstance(self.store.value, Const) else ""
        return f"{stage}{', '.join(said) or 'once'}{start}"


def _allows(value: Range, wanted: bool) -> bool:
    return value[1] >= 1 if wanted else value[0] <= 0


# ---------------------------------------------------------------- intervals


def interval(e: Expr, env: Mapping[Any, Range]) -> Range:
    """The least and the largest value of an expression; truth counts as 0 and 1; infinities where it is not known."""
    if isinstance(e, Const):
        return (e.value, e.value) if isinstance(e.value, (int, float)) else ANY
    if isinstance(e, Var):
        return env.get(e, ANY)
    if isinstance(e, Cast):
        return interval(e.value, env)
    if isinstance(e, Not):
        low, high = interval(e.a, env)
        return (1 - high, 1 - low) if low >= 0 and high <= 1 else (0, 1)
    if isinstance(e, Select):
        a, b = interval(e.then, env), interval(e.other, env)
        return min(a[0], b[0]), max(a[1], b[1])
    if isinstance(e, Call) and e.name == "likely":
        return interval(e.args[0], env)
    if isinstance(e, Bin):
        return _of_two(e.op, interval(e.a, env), interval(e.b, env))
    return ANY


def _of_two(op: str, a: Range, b: Range) -> Range:
    if op in TRUTH:
        return TRUTH[op](a, b)
    if op == "+":
        return a[0] + b[0], a[1] + b[1]
    if op == "-":
        return a[0] - b[1], a[1] - b[0]
    if op in ("min", "max"):
        f = min if op == "min" else max
        return f(a[0], b[0]), f(a[1], b[1])
    if ANY[0] in (*a, *b) or ANY[1] in (*a, *b):
        return ANY
    if op == "*":
        ends = [x * y for x in a for y in b]
        return min(ends), max(ends)
    if op in ("//", "truncdiv") and b[0] > 0:
        ends = [FOLD[op](int(x), int(y)) for x in a for y in b]
        return min(ends), max(ends)
    if op in ("%", "truncmod") and b[0] == b[1] and b[0] > 0:
        return _remainder(a, int(b[0])) if op == "%" or a[0] >= 0 else (1 - b[0], b[0] - 1)
    return ANY


def _remainder(a: Range, d: int) -> Range:
    """Exact where the range stays within one period."""
    return (a[0] % d, a[1] % d) if a[0] // d == a[1] // d else (0, d - 1)


TRUTH: dict[str, Callable[[Range, Range], Range]] = {
    "<": lambda a, b: (a[1] < b[0], a[0] < b[1]), "<=": lambda a, b: (a[1] <= b[0], a[0] <= b[1]),
    ">": lambda a, b: (a[0] > b[1], a[1] > b[0]), ">=": lambda a, b: (a[0] >= b[1], a[1] >= b[0]),
    "==": lambda a, b: (a[0] == a[1] == b[0] == b[1], a[0] <= b[1] and b[0] <= a[1]),
    "!=": lambda a, b: (a[1] < b[0] or b[1] < a[0], not a[0] == a[1] == b[0] == b[1]),
    "and": lambda a, b: (min(a[0], b[0]), min(a[1], b[1])), "or": lambda a, b: (max(a[0], b[0]), max(a[1], b[1])),
}  # fmt: skip
