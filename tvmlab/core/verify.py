"""The definition of a legal program, executable.

Each variable is bound once, and before it is used; buffers live where they are used; indices stay inside shapes;
iterations of a parallel loop touch elements of their own; thread axes of a kernel agree. The verdict on an index or a
race is three-valued: proved (nothing is said), refuted (`check` raises), or unknown, which the interpreter watches at
run time. What threads do to each other between barriers is the interpreter's to see.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from . import affine
from . import dtype as dt
from .affine import Facts, Lin, number
from .build import not_
from .error import VerifyError
from .node import (
    Alloc,
    AllReduce,
    Bin,
    Broadcast,
    Buffer,
    Call,
    Const,
    Expr,
    For,
    If,
    Let,
    LetStmt,
    Load,
    Ramp,
    Stmt,
    Store,
    Var,
)
from .program import Function, Program
from .races import Access, races
from .text import Names, show
from .walk import children, map_children, replace


@dataclass(frozen=True)
class Finding:
    """`status`: refuted or unknown. `where`: the loops around, outermost first, then the place."""

    rule: str
    status: str
    message: str
    where: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "\n".join([self.message, *[f"    {line}" for line in self.where]])


@dataclass(frozen=True, eq=False)
class Legal:
    """What was known where nothing was found in a statement: what may be used there, ranges; and what it touches."""

    scope: frozenset[Any]
    ranges: Ranges
    accesses: tuple[Access, ...]

    def holds(self, scope: set[Any], ranges: Ranges) -> bool:
        return self.scope <= scope and _same_ranges(self.ranges, ranges)


Ranges = Mapping[Any, tuple[Lin, Lin]]
Clean = dict[Stmt, Legal]


def _same_ranges(a: Ranges, b: Ranges) -> bool:
    """The same loops, outermost first, of the same extents."""
    return len(a) == len(b) and all(
        v is w and _equal(a[v][0], b[w][0]) and _equal(a[v][1], b[w][1]) for v, w in zip(a, b, strict=True)
    )


def _equal(a: Lin, b: Lin) -> bool:
    return a.const == b.const and (not (a.terms or b.terms) or a.key == b.key)


def verify(program: Program, clean: Clean | None = None, known: Clean | None = None) -> list[Finding]:
    """What is wrong with the program, and what could not be told.

    `known`: statements of other programs in which nothing was found; the same objects here are not looked at again,
    where as much is known of their loops. Those of this program are entered into `clean`.
    """
    found: list[Finding] = []
    for fn in program.functions:
        found.extend(Verifier(fn, clean, known).run())
    return found


def check(program: Program) -> list[Finding]:
    """Raise VerifyError if anything is refuted; the unknowns come back."""
    found = verify(program)
    wrong = [f for f in found if f.status == "refuted"]
    if not wrong:
        return found
    lines = [line for f in wrong for line in (f.message, *[f"    {x}" for x in f.where])]
    raise VerifyError(wrong[0].rule, f"the program is not legal: {len(wrong)} finding(s)", where=lines)


@dataclass(eq=False)
class Parallel:
    """A parallel loop that is being walked. `own`: memory inside it; `first`: which of all accesses is its first."""

    loop: For
    own: set[Any]
    first: int


class Verifier:
    """One function. `scope`: variables and handles that may be used here; `seen`: bound anywhere so far.

    `clean`, `known`: see `verify`.
    """

    def __init__(self, fn: Function, clean: Clean | None = None, known: Clean | None = None) -> None:
        self.fn, self.known = fn, known or {}
        self.clean = {} if clean is None else clean
        self.found: list[Finding] = []
        self.scope: set[Any] = {*fn.sizes, *(p if isinstance(p, Var) else p.data for p in fn.params)}
        for p in fn.buffers:
            self.scope.update(e for e in (*p.shape, *(p.strides or ())) if type(e) is Var)
        self.seen: set[Any] = set(self.scope)
        self.loops: list[For] = []
        self.parallel: list[Parallel] = []
        self.threads: dict[str, For] = {}
        self.lets: dict[Any, Expr] = {}
        self.forms: dict[int, Lin] = {}
        self.conditions = 0
        self.accesses: list[Access] = []  # all of them, in order

    def run(self) -> list[Finding]:
        self.stmt(self.fn.body, Facts())
        return self.found

    def say(self, rule: str, status: str, message: str, place: Any = None) -> None:
        names = Names()
        heads = [f"for {names(f.var)} in {f.kind}({show(f.extent, names)}):" for f in self.loops]
        lines = show(place, names).splitlines()[:1] if place is not None else []
        self.found.append(Finding(rule, status, message, (*heads, *lines)))

    # ------------------------------------------------------------ expressions

    def expr(self, e: Any, facts: Facts) -> None:
        t = type(e)
        if t is Const:
            return
        if t is Var:
            if e not in self.scope:
                self.unbound(e)
        elif t is Bin:
            self.expr(e.a, facts)
            self.expr(e.b, facts)
        elif t is Load:
            self.access(e, facts, False)
            for i in e.indices:
                self.expr(i, facts)
            if e.mask is not None:
                self.expr(e.mask, facts)
        elif t is Call and e.name == "if_then_else":
            self.choice(e, facts)
        elif t is Call and e.name == "prefetch" and type(e.args[0]) is Load:  # an address, which may be outside
            for i in e.args[0].indices:
                self.expr(i, facts)
        elif t is Let:
            self.expr(e.value, facts)
            self.scope.add(e.var)
            self.expr(e.body, facts)
            self.scope.discard(e.var)
        else:
            for c in children(e):
                self.expr(c, facts)

    def choice(self, e: Call, facts: Facts) -> None:
        """Lazy: each side runs under its condition only."""
        cond, then, other = e.args
        self.expr(cond, facts)
        self.conditions += 1
        self.expr(then, self.knowing(cond, facts, True))
        self.expr(other, self.knowing(cond, facts, False))
        self.conditions -= 1

    def knowing(self, cond: Expr, facts: Facts, holds: bool) -> Facts:
        if dt.lanes(cond.dtype) > 1 or affine.reads_memory(cond):
            return facts
        return facts.with_condition(cond) if holds else facts.with_guards(_negated(cond, facts))

    def unbound(self, v: Var) -> None:
        if v in self.seen:
            self.say("variable-scope", "refuted", f"`{v.name}` is used outside the statement that binds it")
        elif v.dtype == "handle":
            self.say("buffer-scope", "refuted", f"the address of `{v.name}` is taken where the buffer does not exist")
        else:
            self.say("variable-unbound", "refuted", f"`{v.name}` is used, but nothing gives it a value")
        self.scope.add(v)  # once is enough

    # ------------------------------------------------------------ accesses

    def access(self, a: Any, facts: Facts, store: bool) -> None:
        b: Buffer = a.buffer
        if b.data not in self.scope:
            self.say("buffer-scope", "refuted", f"`{b.name}` is used where it does not exist", a)
            self.scope.add(b.data)
        if len(a.indices) != len(b.shape):
            message = f"`{b.name}` has {len(b.shape)} dimensions, the access {len(a.indices)} indices"
            return self.say("index-count", "refuted", message, a)
        lane, facts = self.lanes(a, facts)
        forms = [self.form(i, lane) for i in a.indices]
        for k, (form, n) in enumerate(zip(forms, b.shape, strict=True)):
            self.inside(a, k, form, self.form(n, lane), facts)
        self.accesses.append(Access(a, store, tuple(forms), facts))
        return None

    def lanes(self, a: Any, facts: Facts) -> tuple[Var | None, Facts]:
        """A vector access as one of its lanes, any of those that its mask lets run."""
        count = max([dt.lanes(i.dtype) for i in a.indices], default=1)
        if count == 1:
            return None, facts
        lane = Var("lane")
        facts = facts.with_range(lane, number(0), number(count - 1))
        if a.mask is not None:
            parts = list(affine.conjuncts(self.lane_of(a.mask, lane)))
            for part in parts:
                facts = facts.with_guards([number(0)]) if affine.reads_memory(part) else facts.with_condition(part)
        return lane, facts

    def form(self, e: Expr, lane: Any) -> Lin:
        if type(e) is Const:
            return Lin({}, e.value)
        if type(e) is Ramp:
            return self.form(e.base, lane) + affine.product(self.form(e.stride, lane), affine.var(lane))
        if dt.lanes(e.dtype) > 1:
            return affine.lin(self.lane_of(e, lane))
        found = self.forms.get(id(e))
        if found is None:
            self.forms[id(e)] = found = affine.lin(e)
        return found

    def lane_of(self, e: Any, lane: Var) -> Any:
        """The scalar that a vector expression is in one lane."""
        t = type(e)
        if t is Ramp:
            return e.base + e.stride * lane
        if t is Broadcast:
            return e.value
        if t is Var and e in self.lets:
            return self.lane_of(self.lets[e], lane)
        if not isinstance(e, Expr) or dt.lanes(e.dtype) == 1:
            return e
        made = map_children(e, lambda c: self.lane_of(c, lane))
        return replace(made, dtype=dt.element(made.dtype)) if "dtype" in made.FIELDS else made

    def inside(self, a: Any, k: int, form: Lin, n: Lin, facts: Facts) -> None:
        """0 <= form < n ?"""
        if affine.nonneg(form, facts) and affine.nonneg(n - form - 1, facts):
            return
        lo, hi = affine.bounds(form, facts)
        name, text = a.buffer.name, show(affine.to_expr(form))
        where = f"index {k} of `{name}` is `{text}`"
        always = affine.nonneg(-form - 1, facts) or affine.nonneg(form - n, facts)
        if always and not unreachable(facts):
            return self.say("out-of-bounds", "refuted", f"{where}, never inside 0 to {_last(n)}", a)
        if self.reached(form, facts) and n.is_const() and lo is not None and hi is not None:
            return self.say("out-of-bounds", "refuted", f"{where}, {lo} to {hi}: outside 0 to {_last(n)}", a)
        known = f" ({'?' if lo is None else lo} to {'?' if hi is None else hi})" if (lo, hi) != (None, None) else ""
        return self.say("out-of-bounds", "unknown", f"{where}{known}; is it inside 0 to {_last(n)}?", a)

    def reached(self, form: Lin, facts: Facts) -> bool:
        """Are the bounds of the form values it takes? Plain sums over loops of known extent that run in any case."""
        if self.conditions or facts.guards:
            return False
        ranges = facts.ranges
        for v, (lo, hi) in ranges.items():
            if not (lo.is_const() and hi.is_const() and lo.const <= hi.const):
                return False
            if v in self.lets:
                return False
        return all(type(atom) is Var and atom in ranges for atom in form.terms)

    # ------------------------------------------------------------ statements

    def stmt(self, s: Stmt, facts: Facts) -> None:
        rule = RULES.get(type(s))
        if rule is not None:
            return rule(self, s, facts)
        for c in children(s):
            if isinstance(c, Stmt):
                self.stmt(c, facts)
            else:
                self.expr(c, facts)
        return None

    def bind(self, v: Any, s: Stmt) -> None:
        if v in self.seen:
            self.say("variable-twice", "refuted", f"`{v.name}` is bound a second time", s)
        self.seen.add(v)
        self.scope.add(v)

    def known_here(self, s: Stmt, facts: Facts, look: Callable[[Any, Facts], None]) -> None:
        """`look(s, facts)`, unless this very statement was found clean in such a place."""
        if self.conditions or self.lets or s in self.clean:
            return look(s, facts)
        before = self.known.get(s)
        if before is not None and before.holds(self.scope, facts.ranges):
            self.clean[s] = before
            self.accesses += before.accesses
            return None
        scope, found, first = frozenset(self.scope), len(self.found), len(self.accesses)
        look(s, facts)
        if len(self.found) == found:
            self.clean[s] = Legal(scope, facts.ranges, tuple(self.accesses[first:]))
        return None

    def _for(self, s: For, facts: Facts) -> None:
        if facts.ranges:
            return self.loop(s, facts)
        return self.known_here(s, facts, self.loop)  # a whole nest

    def loop(self, s: For, facts: Facts) -> None:
        self.expr(s.lo, facts)
        self.expr(s.extent, facts)
        self.bind(s.var, s)
        if s.kind == "thread":
            self.thread(s)
        self.loops.append(s)
        if s.kind == "parallel":
            self.parallel.append(Parallel(s, set(), len(self.accesses)))
        self.stmt(s.body, facts.with_loop(s.var, s.lo, s.extent))
        if s.kind == "parallel":
            p = self.parallel.pop()
            shared = [a for a in self.accesses[p.first :] if a.node.buffer.data not in p.own]
            for rule, status, message, place in races(p.loop, shared):
                self.say(rule, status, message, place)
        self.loops.pop()
        self.scope.discard(s.var)
        if s.kind == "thread" and not any(f.kind == "thread" for f in self.loops):
            self.threads.clear()

    def thread(self, s: For) -> None:
        """A tag names one axis in a kernel: the same extent everywhere, never inside itself."""
        other = self.threads.setdefault(s.thread, s)
        if other is s:
            return
        if other in self.loops:
            self.say("thread-nested", "refuted", f"`{s.thread}` is bound inside itself", s)
        elif affine.lin(other.extent).key != affine.lin(s.extent).key:
            extents = f"{show(other.extent)} and {show(s.extent)}"
            message = f"`{s.thread}` has two extents in one kernel: {extents}"
            self.say("thread-extent", "refuted", message, s)

    def _if(self, s: If, facts: Facts) -> None:
        return self.known_here(s, facts, self.branches)

    def branches(self, s: If, facts: Facts) -> None:
        self.expr(s.cond, facts)
        self.conditions += 1
        self.stmt(s.then, self.knowing(s.cond, facts, True))
        if s.other is not None:
            self.stmt(s.other, self.knowing(s.cond, facts, False))
        self.conditions -= 1

    def _store(self, s: Store, facts: Facts) -> None:
        return self.known_here(s, facts, self.store)

    def store(self, s: Store, facts: Facts) -> None:
        self.access(s, facts, True)
        lanes = max([dt.lanes(i.dtype) for i in s.indices], default=1)
        if dt.lanes(s.value.dtype) != lanes:
            message = f"a store of {s.value.dtype} to {lanes} element(s) of `{s.buffer.name}`"
            self.say("store-lanes", "refuted", message, s)
        for i in s.indices:
            self.expr(i, facts)
        self.expr(s.value, facts)
        if s.mask is not None:
            self.expr(s.mask, facts)

    def _alloc(self, s: Alloc, facts: Facts) -> None:
        for e in (*s.buffer.shape, *(s.buffer.strides or ())):
            self.expr(e, facts)
        self.bind(s.buffer.data, s)
        for p in self.parallel:
            p.own.add(s.buffer.data)
        self.stmt(s.body, facts)
        self.scope.discard(s.buffer.data)

    def _let(self, s: LetStmt, facts: Facts) -> None:
        self.expr(s.value, facts)
        self.bind(s.var, s)
        self.lets[s.var] = s.value
        if s.var.dtype in ("int32", "int64") and not affine.reads_memory(s.value):
            form = affine.lin(s.value)
            facts = facts.with_range(s.var, form, form)  # type: ignore[arg-type]
        self.stmt(s.body, facts)
        self.scope.discard(s.var)

    def _allreduce(self, s: AllReduce, facts: Facts) -> None:
        for e in (*s.sources, s.cond):
            self.expr(e, facts)
        around = {f.var for f in self.loops if f.kind == "thread"}
        for v in s.threads:
            if v not in around:
                self.say("thread-scope", "refuted", f"`{v.name}` is no thread axis around this reduction", s)


RULES: dict[type, Callable[[Verifier, Any, Facts], None]] = {
    For: Verifier._for,
    If: Verifier._if,
    Store: Verifier._store,
    Alloc: Verifier._alloc,
    LetStmt: Verifier._let,
    AllReduce: Verifier._allreduce,
}


def unreachable(facts: Facts) -> bool:
    """Is it a branch that is never taken, or a loop without iterations?"""
    if any(hi.is_const() and lo.is_const() and hi.const < lo.const for lo, hi in facts.ranges.values()):
        return True
    return any(affine.nonneg(-g - 1, facts) for g in facts.guards)


def _negated(cond: Expr, facts: Facts) -> Sequence[Lin]:
    """The forms that are >= 0 where a single comparison fails."""
    return list(affine.conditions(not_(cond), facts)) if type(cond) is Bin and cond.op not in ("and", "or") else []


def _last(n: Lin) -> str:
    return show(affine.to_expr(n - 1))
