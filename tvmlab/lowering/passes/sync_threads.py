"""The barriers that a kernel needs, and no others: between accesses of different threads to one element.

    for ko in range(8):                               for ko in range(8):
        barrier("shared")                                 barrier("shared")     # the last round's readers are done
        for c in range(8): A_shared[c, tx] = ...          for c in range(8): A_shared[c, tx] = ...
        barrier("shared")                                 for c in range(8): B_shared[c, tx] = ...
        barrier("shared")                        ->       barrier("shared")     # what others wrote is there
        for c in range(8): B_shared[c, tx] = ...          for ki in range(8):
        barrier("shared")                                     C[...] += A_shared[ki, ...] * B_shared[ki, ...]
        for ki in range(8):
            C[...] += A_shared[ki, ...] * B_shared[ki, ...]

The barriers of stages are dropped; a person's own (without origin) stay. Then the kernel is walked in execution order:
a barrier comes before a statement that may touch an element which another thread has touched since the last barrier, at
least one of them writing. A loop's end goes on at its start; the fewest barriers that a round needs are found by trying
where the first one stands. Watched are memory of scope shared, global memory that the kernel writes, and (with
barriers of their own) memory of scope warp.

Not all threads come to what is under a condition that depends on the thread: the condition is split around a barrier,
a loop with a thread's own bounds gets those of the whole block (see `uniform`). Each barrier tells in its origin which
accesses need it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...core.affine import Facts, nonneg
from ...core.build import not_
from ...core.disjoint import Access, Carried, meet, one_element
from ...core.error import LabError
from ...core.node import NOP, Alloc, Attr, Barrier, Buffer, For, If, LetStmt, Seq, Stmt, Store, Var, While
from ...core.program import Function, Origin, Program
from ...core.text import headline
from ...core.threads import BLOCK
from ...core.walk import map_children, replace, rewrite, seq
from ..blocks import Kernel, Place, has_threads, is_thread_loop, threads_around
from ..config import DEFAULT, Config
from ..uniform import CannotSplit, for_all, guarded, refusal

MANY = 32  # statements in a loop: beyond that not every one is tried as the start of its round


@dataclass(frozen=True)
class Conflict:
    """Why a barrier is there: threads touch one element of `buffer` in `first` and then, other threads, in `second`.

    `carried`: the loop whose next iteration `second` is in; "" in the same one.
    """

    buffer: str
    first: str
    second: str
    carried: str = ""

    @property
    def brief(self) -> str:
        """What printed loops say beside the barrier."""
        return self.buffer

    def __str__(self) -> str:
        later = f", in the next iteration of `{self.carried}`" if self.carried else ""
        both = f"`{self.first}`, then `{self.second}`{later}"
        return f"other threads may touch the same elements of {self.buffer}: {both}"


def sync_threads(program: Program, config: Config = DEFAULT) -> Program:
    """A program that owes something else (its notes) keeps the barriers of its stages where others have no place."""
    try:
        made = tuple(_function(fn) for fn in program.functions)
    except LabError:
        if program.notes:
            return program
        raise
    same = all(a is b for a, b in zip(made, program.functions, strict=True))
    return program if same else dataclasses.replace(program, functions=made)


def _function(fn: Function) -> Function:
    if not has_threads(fn.body):
        return fn
    buffers = {b.data: b for b in fn.buffers}
    return fn.with_body(_host(rewrite(fn.body, _without), Facts(), buffers))


def _without(s: Any) -> Stmt | None:
    """Without the barriers of stages, and without what held nothing else."""
    if type(s) is Barrier:
        return None if s.origin is None else NOP
    if type(s) is Seq:
        return seq(*s.stmts) if any(type(x) is Seq for x in s.stmts) else None
    empty = s.then if type(s) is If and s.other is None else s.body if type(s) in (For, Attr) else None
    return NOP if type(empty) is Seq and not empty.stmts else None


def _host(s: Stmt, facts: Facts, buffers: dict[Any, Buffer]) -> Stmt:
    """Outside of kernels."""
    if is_thread_loop(s):
        return _kernel(s, facts, buffers)  # type: ignore[arg-type]
    if type(s) is For:
        facts = facts.with_loop(s.var, s.lo, s.extent)
    elif type(s) is Alloc:
        buffers = {**buffers, s.buffer.data: s.buffer}
    made: Stmt = map_children(s, lambda c: _host(c, facts, buffers) if isinstance(c, Stmt) else c)
    return made


def _kernel(loop: For, facts: Facts, buffers: dict[Any, Buffer]) -> Stmt:
    kernel = Kernel(loop, dict(buffers))
    made: Stmt = loop
    if not kernel.threads:
        return made
    for scope, warp in (("shared", False), ("warp", True)):
        wanted = kernel.shared(warp)
        if wanted:
            made = Placing(kernel, scope, wanted).region(made, kernel.start(facts), None).stmt
    return made


# ---------------------------------------------------------------- what a statement does to those around it


@dataclass(eq=False)
class Part:
    """A statement with its barriers. `first`: accesses that may come before any of them; `last`: after all of them.

    `sure`: every thread that runs it meets a barrier. `why`: of the barriers that were put into it.
    """

    stmt: Stmt
    first: list[Access] = field(default_factory=list)
    last: list[Access] = field(default_factory=list)
    sure: bool = False
    why: list[tuple[Conflict, Access]] = field(default_factory=list)

    @classmethod
    def plain(cls, s: Stmt, accesses: list[Access]) -> Part:
        return cls(s, accesses, accesses)


Pending = list[tuple[Access, bool]]  # what was touched since the last barrier; True: in the iteration before
Found = dict[int, tuple[Access, Access, bool]]  # barriers: before which statement, and the accesses that need it


class Placing:
    """Puts the barriers of one scope into a kernel. `wanted`: the memory that is watched."""

    def __init__(self, kernel: Kernel, scope: str, wanted: set[Any]) -> None:
        self.kernel, self.scope, self.wanted = kernel, scope, wanted
        self.threads = kernel.threads
        self.known: dict[Any, bool] = {}

    # ------------------------------------------------------------ sequences

    def region(self, s: Stmt, place: Place, loop: For | While | None) -> Part:
        """What runs for all threads alike; `loop`: it is the whole body of that loop, and goes on at its start."""
        parts = [self.part(x, p) for x, p in _items(s, place)]
        round_ = Round(self, parts, place.fixed, loop)
        found = round_.barriers()
        loops = loop.var.name if type(loop) is For else "while"
        why: list[tuple[Conflict, Access]] = [w for p in parts for w in p.why]
        ordered: list[Stmt] = []
        for k, p in enumerate(parts):
            made = p.stmt
            if k in found:
                a, b, before = found[k]
                conflict = Conflict(a.name, _head(a), _head(b), loops if before else "")
                why.append((conflict, b))
                made = seq(Barrier(self.scope, conflict), made)
            ordered.append(made)
        first, last, sure = _together(parts, found)
        return Part(_rebuilt(s, place, iter(zip(parts, ordered, strict=True))), first, last, sure, why)

    def conflict(self, a: Access, b: Access, fixed: tuple[Var, ...], carried: Carried | None) -> bool:
        if a.memory is not b.memory or not (a.store or b.store):
            return False
        key = a, b, len(fixed), carried
        found = self.known.get(key)
        if found is None:
            self.known[key] = found = meet(a, b, self.threads, fixed, carried)
        return found

    # ------------------------------------------------------------ one statement

    def part(self, s: Stmt, place: Place) -> Part:
        if type(s) is Barrier:
            return Part(s, sure=s.scope == self.scope or s.scope == "shared")
        if type(s) is LetStmt:
            return Part.plain(s, place.accesses(s.value, s, self.wanted))
        if type(s) is For:
            return self.loop(s, place)
        if type(s) is While:
            return self.endless(s, place)
        if type(s) is If:
            return self.branches(s, place)
        accesses = place.accesses(s, s, self.wanted)
        self.check(s, accesses, place)
        return Part.plain(s, accesses)

    def check(self, s: Stmt, accesses: Sequence[Access], place: Place) -> None:
        """A store that reads what all threads store at once: no barrier could help."""
        stores = [a for a in accesses if a.store]
        for a in (a for a in accesses if not a.store):
            racing = next((b for b in stores if b.memory is a.memory and self.races(a, b, place)), None)
            if racing is None:
                continue
            idle = ", ".join(t for t, v in self.kernel.thread.items() if v in self.threads)
            of = f" of stage {stage}" if (stage := _stage(s)) else ""
            legal, called = [f"bind an axis{of} to each of {idle}"], _called(s)
            if not called:
                legal.append(f"cache_write({a.name}, 'local')")
            elif (around := threads_around(self.kernel.loop, a.memory)) is None:
                legal.append(f"s.cache_write({called}, 'local')")
            elif set(self.kernel.extents) & set(BLOCK) <= around:
                legal.insert(0, f's[{called}].set_scope("local")')
            raise LabError(
                "thread-race",
                f"all threads of a block ({idle}) update the same element of {a.name}{of} at the same time",
                where=[_head(a)],
                legal=legal,
            )

    def races(self, a: Access, b: Access, place: Place) -> bool:
        return self.conflict(a, b, place.fixed, None) and one_element(a, b, self.threads)

    def loop(self, s: For, place: Place) -> Part:
        head = [*place.accesses(s.lo, s, self.wanted), *place.accesses(s.extent, s, self.wanted)]
        if is_thread_loop(s):  # that not all threads enter
            body = self.region(s.body, place.of_thread(s), None)
            return Part(self.settled(s, body), body.first, body.last, False, body.why)
        body = self.region(s.body, place.inside(s), s)
        made: Stmt = s if body.stmt is s.body else replace(s, body=body.stmt)
        varies = place.varies(s.lo) or place.varies(s.extent)
        if body.why and varies:
            made = self.split(lambda: for_all(s, body.stmt, place), body)
        sure = body.sure and not varies and nonneg(place.lin(s.extent) - 1, place.facts)
        return Part(made, head + body.first, body.last if sure else head + body.last, sure, body.why)

    def endless(self, s: While, place: Place) -> Part:
        head = place.accesses(s.cond, s, self.wanted)
        body = self.region(s.body, place, s)
        self.asked_again(head, body, place, s)
        return Part(self.settled(s, body), head + body.first, head + body.last, False)

    def asked_again(self, head: list[Access], body: Part, place: Place, s: While) -> None:
        """The condition is asked before and after each round, without a place for a barrier."""
        clash = ((a, b) for a in body.last for b in head if self.conflict(a, b, place.fixed, None))
        for a, b in clash:
            e = CannotSplit(s, "each thread runs it as often as its condition says")
            raise self.refused(Conflict(a.name, _head(a), _head(b), "while"), a, e)

    def branches(self, s: If, place: Place) -> Part:
        head = place.accesses(s.cond, s, self.wanted)
        then = self.region(s.then, place.when(s.cond), None)
        other = self.region(s.other or Seq(()), place.when(s.cond, False), None)
        if not place.varies(s.cond):
            made = s
            if then.stmt is not s.then or (s.other is not None and other.stmt is not s.other):
                made = replace(s, then=then.stmt, other=None if s.other is None else other.stmt)
            sure = then.sure and other.sure
            last = [*then.last, *other.last] if sure else [*head, *then.last, *other.last]
            return Part(made, [*head, *then.first, *other.first], last, sure, then.why + other.why)
        return self.divergent(s, place, head, then, other)

    def divergent(self, s: If, place: Place, head: list[Access], then: Part, other: Part) -> Part:
        """A condition of the thread's own: some threads run the one side while others run the other."""
        parts = [Part.plain(s, head), then, other]
        found = Round(self, parts, place.fixed, None).barriers()
        why = then.why + other.why
        between: list[Stmt] = []
        for a, b, _ in found.values():
            conflict = Conflict(a.name, _head(a), _head(b))
            why.append((conflict, b))
            between = [Barrier(self.scope, conflict)]
        first, last, sure = _together(parts, found)
        if not why:
            return Part(s, first, last, False)

        def split() -> Stmt:
            if 1 in found:
                raise CannotSplit(s, "its condition reads what is written inside")
            sides = [guarded(s.cond, then.stmt, s), *between]
            return seq(*sides, guarded(not_(s.cond), other.stmt, s) if s.other is not None else None)

        return Part(self.split(split, Part(s, why=why)), first, last, sure, why)

    def settled(self, s: Stmt, body: Part) -> Stmt:
        """The statement as it is, if its body needs no barrier."""
        if body.why:
            raise self.refused(*body.why[0], CannotSplit(s, "not every thread runs it, or as often as others"))
        return s

    def split(self, make: Any, body: Part) -> Stmt:
        try:
            made: Stmt = make()
            return made
        except CannotSplit as e:
            raise self.refused(*body.why[0], e) from None

    def refused(self, conflict: Conflict, access: Access, e: CannotSplit) -> LabError:
        accesses = [f"first    {conflict.first}", f"then     {conflict.second}"]
        return refusal(conflict.buffer, _stage(access.stmt), accesses, e)


# ---------------------------------------------------------------- where the barriers of a sequence stand


class Round:
    """The parts of a sequence, which begins anew if it is the body of a loop."""

    def __init__(
        self, placing: Placing, parts: Sequence[Part], fixed: tuple[Var, ...], loop: For | While | None
    ) -> None:
        self.placing, self.parts, self.fixed, self.loop = placing, parts, fixed, loop

    def barriers(self) -> Found:
        """The fewest, each as late as possible; as well at a loop's start, where they also serve what is before it."""
        found, _ = self.run(range(len(self.parts)), [])
        if self.loop is None:
            return found
        first, last, sure = _together(self.parts, found)
        around = self.needs([(a, True) for a in last], first, not sure)
        if around is None:
            return found
        starts = range(len(self.parts))
        if len(self.parts) > MANY:
            starts = sorted({*found, *self.run(starts, [(a, True) for a in last])[0]})  # type: ignore[assignment]
        rounds = [{**found, 0: around}, *[r for k in starts for r in self.rounds(k)]]
        return min(rounds, key=lambda r: (len(r), min(r, default=0)))

    def rounds(self, k: int) -> Iterator[Found]:
        """All the way round with a barrier before part k, or from the barrier inside it."""
        order = (*range(k, len(self.parts)), *range(k))
        found, end = self.run(order, [])
        pair = self.closing(k, end)
        if pair is not None:
            yield {**found, k: pair}
        if self.parts[k].sure:
            found, end = self.run(order[1:], [(a, False) for a in self.parts[k].last], k)
            pair = self.closing(k, end)
            yield found if pair is None else {**found, k: pair}

    def closing(self, k: int, end: Pending) -> tuple[Access, Access, bool] | None:
        """Back at part k: what is from before it, in this iteration or (all of it, at the first part) the last one."""
        return self.needs([(a, before or k == 0) for a, before in end], self.parts[k].first, False)

    def run(self, order: Iterable[int], pending: Pending, begun: int = -1) -> tuple[Found, Pending]:
        """Barriers where they are needed at the latest, and what is pending at the end, seen from the next iteration.

        `pending`: what is from the start, of this iteration (False) or the one before.
        """
        found: Found = {}
        before = begun
        for k in order:
            if k < before:  # the next iteration has begun
                pending = [(a, True) for a, _ in pending]
            before = k
            p = self.parts[k]
            pair = self.needs(pending, p.first, False)
            if pair is not None:
                found[k] = pair
            if pair is not None or p.sure:
                pending = []
            pending = [*pending, *[(a, False) for a in p.last]]
        return found, pending

    def needs(self, pending: Pending, first: Iterable[Access], far: bool) -> tuple[Access, Access, bool] | None:
        """The first two accesses that need a barrier between them. `far`: also of iterations further apart."""
        for b in first:
            for a, before in pending:
                if self.conflict(a, b, before, far):
                    return a, b, before
        return None

    def conflict(self, a: Access, b: Access, before: bool, far: bool) -> bool:
        loop, fixed = self.loop, self.fixed
        if before and type(loop) is For:
            outside = tuple(v for v in fixed if v is not loop.var)
            return self.placing.conflict(a, b, outside, Carried(loop.var, far))
        return self.placing.conflict(a, b, fixed, None)


def _together(parts: Sequence[Part], found: Found) -> tuple[list[Access], list[Access], bool]:
    """First, last and sure of a sequence with barriers before the parts in `found`."""
    first: list[Access] = []
    last: list[Access] = []
    sure = False
    for k, p in enumerate(parts):
        cut = k in found
        if not sure and not cut:
            first += p.first
        if cut or p.sure:
            last, sure = [], True
        last = [*last, *p.last]
    return first, last, sure


# ---------------------------------------------------------------- what a sequence consists of


def _items(s: Stmt, place: Place) -> Iterator[tuple[Stmt, Place]]:
    """The statements that run one after another, through allocations, notes and thread loops."""
    if type(s) is Seq:
        for x in s.stmts:
            yield from _items(x, place)
    elif type(s) is LetStmt:
        yield s, place
        yield from _items(s.body, place.let(s))
    elif type(s) is Alloc or type(s) is Attr:
        yield from _items(s.body, place)
    elif _entered(s, place):
        yield from _items(s.body, place.of_thread(s))  # type: ignore[attr-defined, arg-type]
    else:
        yield s, place


def _rebuilt(s: Stmt, place: Place, made: Iterator[tuple[Part, Stmt]]) -> Stmt:
    """The same with each statement as it is now."""
    if type(s) is Seq:
        stmts = [_rebuilt(x, place, made) for x in s.stmts]
        same = len(stmts) == len(s.stmts) and all(a is b for a, b in zip(stmts, s.stmts, strict=True))
        return s if same else seq(*stmts)
    if type(s) is LetStmt:
        _, head = next(made)
        inside = _rebuilt(s.body, place.let(s), made)
        kept = s if inside is s.body else replace(s, body=inside)
        return seq(head.stmts[0], kept) if type(head) is Seq else kept
    if type(s) is Alloc or type(s) is Attr or _entered(s, place):
        inner = place.of_thread(s) if type(s) is For else place
        body = _rebuilt(s.body, inner, made)  # type: ignore[attr-defined]
        return s if body is s.body else replace(s, body=body)  # type: ignore[attr-defined]
    return next(made)[1]


def _entered(s: Stmt, place: Place) -> bool:
    return is_thread_loop(s) and place.kernel.is_whole(s)  # type: ignore[arg-type]


def _head(a: Access) -> str:
    return headline(a.stmt)


def _called(s: Stmt) -> str:
    return s.origin.called if isinstance(s, Store) and isinstance(s.origin, Origin) else ""


def _stage(s: Stmt) -> str:
    return s.origin.stage if isinstance(s, Store) and isinstance(s.origin, Origin) else ""
