"""The history of a schedule, shared by all who act on it: code, labs, loaded files.

    document = Document.of(s)           always the same one for the same schedule
    document.apply("split", {...})      a step; also every s[C].split(...) is one
    document.undo(); document.jump(2)   moves the cursor; nothing is ever deleted by it
    document.edit("e2", {"factor": 32}) the later steps follow; those that do not apply wait, with the reason

The schedule's trace is that of the steps up to the cursor: an act here advances the schedule, an act on the schedule
advances this. A step that does not apply where it stands is parked: it is passed over, and comes back by itself when a
later change lets it apply again. A new step after an undo starts a branch; the steps that were undone stay on theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..core.error import LabError, ScheduleError, ScheduleValueError
from ..core.warning import warn
from ..schedule import primitives
from ..schedule.code import calls
from ..schedule.trace import Step, Trace, operations
from . import history_edit
from .history import Branch, Entry, Point, Ref, start
from .history_codec import decode, encode
from .history_edits import Edits, Look
from .history_known import Known
from .history_replay import entry_of, replayed, taken
from .history_whole import whole
from .sandbox import changes

if TYPE_CHECKING:
    from .handle import Schedule

Observer = Callable[["Document"], Any]


class Document:
    """The history of one schedule. Not thread-safe: act on it where the schedule is acted on.

    `entries`: the steps of the current branch, applied or parked. `cursor`: how many of them are in force, parked ones
    counted. `branches`: all lines of steps, the current one too.
    """

    def __init__(self, schedule: Schedule) -> None:
        """For `Document.of`, which makes one per schedule."""
        self.schedule = schedule
        self.root = schedule.trace.prefix(0)
        self.known = Known()
        self.branches = [Branch("b1", "branch 1", (), 0, [start(self.root)])]
        self.current = self.branches[0]
        self.cursor = 0
        self.edits = Edits()
        self.given = ""  # of one that was loaded: what was kept and what was not known
        self.extra: dict[str, Any] = {}  # what a newer version saved with it
        self.made = 0  # ids given out
        self._group = ""
        self._held: list[bool] | None = None  # inside `together`: what there is to tell of
        self._observers: list[Observer] = []
        self.known.place(self.point)

    @staticmethod
    def of(schedule: Schedule) -> Document:
        """The document of a schedule: made when first asked for, then always the same."""
        if schedule.document is None:
            schedule.document = Document(schedule)
            schedule.document.follow()
        return schedule.document

    def copy(self, schedule: Schedule) -> Document:
        """The same history, for another handle on the same trace that goes its own way."""
        made = Document(schedule)
        made.root, made.known, made.made = self.root, self.known.copy(), self.made
        made.branches = [replace(b, points=None if b.points is None else list(b.points)) for b in self.branches]
        made.current, made.cursor = made.branches[self.branches.index(self.current)], self.cursor
        return made

    # ------------------------------------------------------------ looking

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The steps of the current branch, each parked or not as it now stands."""
        points = self.points
        if not self.current.coded:
            self._write_code(self.current, points[-1].trace)
        return self.current.entries

    @property
    def points(self) -> list[Point]:
        """The places along the current branch, the start included."""
        if self.current.points is None:
            self._replay(self.current, 0)
        return self.current.points or []

    @property
    def point(self) -> Point:
        return self.points[self.cursor]

    def trace_at(self, cursor: int) -> Trace:
        """The trace after `cursor` steps of the current branch."""
        return self.points[self._place(cursor)].trace

    def numbers(self) -> list[int]:
        """For each step of the trace at the cursor, in order, its number in the history (1, 2, ...): parked count."""
        return [n for n, e in enumerate(self.entries[: self.cursor], 1) if not e.parked]

    def entry(self, id: str) -> Entry:
        """The step of that id on the current branch."""
        return self.entries[self.index(id)]

    def index(self, id: str) -> int:
        """Its position on the current branch, from 0."""
        if (found := self.current.index(id)) is None:
            raise ScheduleError("no-such-step", f"there is no step {id!r} here", legal=[e.id for e in self.entries])
        return found

    def arguments(self, index: int, only: Sequence[str] | None = None) -> dict[str, Any]:
        """The arguments of the step at `index` (from 0), as the primitive takes them there; raises for what is gone."""
        args = self.entries[index].args
        wanted = {p: v for p, v in args.items() if only is None or p in only}
        return decode(wanted, self.points[index], self.known.table, self._missing(self.entries[:index]))

    def observe(self, f: Observer) -> Callable[[], None]:
        """`f(document)` is called after every change; returns what ends that."""
        self._observers.append(f)

        def unobserve() -> None:
            self._observers[:] = [x for x in self._observers if x is not f]

        return unobserve

    # ------------------------------------------------------------ taking steps

    @changes
    def apply(
        self,
        primitive: str,
        args: Mapping[str, Any],
        via: str = "widget",
        names: Sequence[str] = (),
        evidence: str = "",
        where: tuple[str, int] | None = None,
    ) -> Any:
        """Take one step at the cursor; returns what the primitive returns. One that is refused changes nothing.

        `args`: by parameter, as the primitive takes them: stages by number, axes, tensors, numbers. `where`: the file
        and line it was taken in, of one that is code (`via` is "" then).
        """
        prepared = primitives.prepare(primitive, self.point.trace.state, args)
        trace = self.point.trace + Step(primitive, prepared, where, tuple(names))
        results = trace.results  # refused steps raise here
        self._append([trace], via, evidence)
        return results

    def follow(self) -> None:
        """The schedule went on by itself (a line of code): what it did becomes steps here."""
        places = {id(p.trace): n for n, p in enumerate(self.points)}
        new: list[Trace] = []
        node: Trace | None = self.schedule.trace
        while node is not None and id(node) not in places:
            new.append(node)
            node = node.parent
        if node is None:
            self.adopt(new.pop())
            self.cursor = 0
        else:
            at = self.cursor if node is self.point.trace else places[id(node)]
            if not new and at == self.cursor:
                return
            self.cursor = at
        self._append(new[::-1])

    @contextmanager
    def together(self, name: str) -> Iterator[None]:
        """The steps taken inside are one recipe of that name: all or, when one is refused, none; undone together."""
        group, self._group = self._group, f"{name}#{self._new_id('g')}"
        try:
            with whole(self):
                yield
        finally:
            self._group = group

    # ------------------------------------------------------------ moving the cursor

    @changes
    def undo(self) -> bool:
        """Take back what was done last: a change of steps, else the last step that is in force (or its whole recipe).

        False at the start.
        """
        if self.edits.undo(self):
            self._changed()
            return True
        at = self.current.last_before(self.cursor)
        if at is None:
            return False
        self.jump(self.current.recipe(at)[0])
        return True

    @changes
    def redo(self) -> bool:
        """Do again what was taken back: a change of steps, else the next step that applies (or its whole recipe).

        False at the end.
        """
        if self.edits.redo(self):
            self._changed()
            return True
        at = self.current.next_after(self.cursor)
        if at is None:
            return False
        self.jump(self.current.recipe(at - 1)[1])
        return True

    def back(self, steps: int) -> int:
        """Back over so many steps in force, one by one; returns how many there were."""
        return self._go(steps, self.current.last_before)

    def forward(self, steps: int) -> int:
        """Forward over so many steps that apply, one by one; returns how many there were."""
        return self._go(steps, self.current.next_after)

    @changes
    def jump(self, cursor: int) -> None:
        """Look at (and go on from) the place after `cursor` steps."""
        if self._place(cursor) != self.cursor:
            self.cursor = cursor
            self._changed()

    def _go(self, steps: int, next_: Callable[[int], int | None]) -> int:
        at, done = self.cursor, 0
        while done < steps and (further := next_(at)) is not None:
            at, done = further, done + 1
        self.jump(at)
        return done

    def _place(self, cursor: Any) -> int:
        if type(cursor) is not int or not 0 <= cursor < len(self.points):
            raise ScheduleValueError("no-such-place", f"there are {len(self.points) - 1} steps, no place {cursor!r}")
        return cursor

    # ------------------------------------------------------------ changing steps

    @changes
    def edit(self, id: str, values: Mapping[str, Any]) -> None:
        """Give a step other arguments; the later ones follow.

        `values`: by parameter; numbers, text, axes and tensors of the schedule before the step, or {"axis": path},
        {"stage": name}, {"tensor": name}; None takes an argument away. Refused: values with which the step itself
        does not apply. Later steps that do not apply any more are parked.
        """
        at = self.index(id)
        entry = self.entries[at]
        history_edit.need_known(entry)
        point = self.points[at]
        missing = self._missing(self.entries[:at])
        args = history_edit.arguments(entry, values, point, lambda a: decode(a, point, self.known.table, missing))
        made = replace(entry, args={**encode(entry.primitive, args, point, self.known.table)})
        taken(self.known, made, point, self._missing(self.entries[:at]))
        self._put("change", entry, [*self.entries[:at], made, *self.entries[at + 1 :]], self.cursor, at)

    @changes
    def delete(self, id: str) -> None:
        """Take a step (or a branch that is not the current one) out of the history."""
        if (branch := self._branch(id)) is not None:
            return self._drop(branch)
        at = self.index(id)
        rest = [*self.entries[:at], *self.entries[at + 1 :]]
        return self._put("deletion", self.entries[at], rest, self.cursor - (at < self.cursor), at)

    @changes
    def move(self, id: str, to: int) -> None:
        """Put a step at position `to` (from 0) of the branch: in force or undone, as its place there says; the others
        stay in force or undone. Refused where it does not apply itself."""
        at, entry = self.index(id), self.entry(id)
        if type(to) is not int or not 0 <= to < len(self.entries):
            raise ScheduleValueError("no-such-place", f"there is no place {to!r}: there are {len(self.entries)} steps")
        rest = [*self.entries[:at], *self.entries[at + 1 :]]
        first = min(at, to)
        entries = [*rest[:to], entry, *rest[to:]]
        if not entry.parked:
            before, points = replayed(self.known, entries[:first], entries[first:to], self.points[first], self._missing)
            taken(self.known, entry, points[-1], self._missing(before))
        self._put("move", entry, entries, history_edit.cursor_after_move(self.cursor, at, to), first)

    @changes
    def retry(self, id: str) -> None:
        """Try a parked step again where it stands; what it still says is raised."""
        at, entry = self.index(id), self.entry(id)
        taken(self.known, entry, self.points[at], self._missing(self.entries[:at]))
        tried = replace(entry, off=False)
        self._put("new try", entry, [*self.entries[:at], tried, *self.entries[at + 1 :]], self.cursor, at)

    @changes
    def rename(self, id: str, name: str) -> None:
        """Name a step, or a branch."""
        if (branch := self._branch(id)) is not None:
            branch.name = str(name).strip() or branch.name
            self._changed()
        else:
            self._describe(id, name=str(name).strip())

    @changes
    def note(self, id: str, text: str) -> None:
        self._describe(id, note=str(text))

    def _describe(self, id: str, **changes: str) -> None:
        """Names and notes belong to the step: they show on every branch that has it."""
        at, before = self.index(id), Look.of(self)
        for b in self.branches:
            b.entries = tuple(replace(e, **changes) if e.id == id else e for e in b.entries)  # type: ignore[arg-type]
        self.edits.note(f"{next(iter(changes))} of step {at + 1}", before, Look.of(self))
        self._changed()

    # ------------------------------------------------------------ branches

    @changes
    def branch(self, name: str = "") -> Branch:
        """Start a branch here: the steps up to the cursor, under a name of its own."""
        made = self._branch_off(str(name).strip())
        self._changed()
        return made

    @changes
    def switch(self, id: str) -> None:
        """Go to another branch (its id, or its name), to where it was left."""
        branch = self._branch(id) or next((b for b in self.branches if b.name == id), None)
        if branch is None:
            raise ScheduleError("no-such-branch", f"there is no branch {id!r}", legal=[b.id for b in self.branches])
        if branch is not self.current:
            _ = self.entries  # their code, while it can be written
            self.current.cursor = self.cursor
            self.current, self.cursor = branch, branch.cursor
            self._changed()

    def _branch(self, id: str) -> Branch | None:
        return next((b for b in self.branches if b.id == id), None)

    def _branch_off(self, name: str = "") -> Branch:
        self.current.cursor = len(self.entries)  # whoever comes back wants to see where it led
        id = self._new_id("b")
        taken = {b.name for b in self.branches}
        free = next(f"branch {n}" for n in range(2, 9999) if f"branch {n}" not in taken)
        points = self.points[: self.cursor + 1]
        self.current = Branch(id, name or free, self.entries[: self.cursor], self.cursor, points)
        self.branches.append(self.current)
        return self.current

    def _drop(self, branch: Branch) -> None:
        if branch is self.current:
            raise ScheduleError("current-branch", f"{branch.name} is in use: switch to another one before deleting it")
        before = Look.of(self)
        self.branches.remove(branch)
        self.edits.note(f"deletion of {branch.name}", before, Look.of(self))
        self._changed()

    # ------------------------------------------------------------ other expressions

    @changes
    def rebase(self, outputs: Any) -> None:
        """The same history on other operations (or tensors, or a `root` it had): other shapes, another expression. What
        does not apply is parked. Tensors of the old expression stand for those in their place."""
        self.adopt(outputs if isinstance(outputs, Trace) else Trace(operations("rebase", outputs)))
        self._changed()

    def rerun(self, schedule: Schedule) -> str:
        """Go on with a schedule that a cell, run again, made anew; returns what became of the old steps, in words."""
        from .history_rerun import rerun

        return rerun(self, schedule)

    def go_on(self, points: list[Point], more: Sequence[Trace]) -> None:
        """For `rerun`: the steps up to the last of these places are as they were, then come others."""
        self.current.points, self.cursor = points, len(points) - 1
        self._replay(self.current, self.cursor)
        self._append(more)

    def adopt(self, root: Trace) -> None:
        """For `rebase` and `rerun`: another expression; the steps are taken again when they are looked at."""
        _ = self.entries  # their code, while it can be written
        self.root = root
        for b in self.branches:
            b.points = None
        self.cursor = min(self.cursor, len(self.entries))
        self.known.place(self.point)

    # ------------------------------------------------------------ whose is it

    def resolve(self, thing: Any) -> Any:
        """What an axis, a tensor or an operation of this history is now, in the trace at the cursor; None if nothing.

        The inner loop of a split whose factor was changed is still the inner loop of that split.
        """
        return self.known.now(thing, self.point)

    def fate(self, thing: Any) -> LabError | None:
        """Why an axis or a tensor of this history is not there now; None when it is not of this history."""
        ref, called = self.known.ref(thing), getattr(getattr(thing, "op", thing), "name", "")
        return None if ref is None else self._missing(self.entries[: self.cursor], True)(ref, called)

    def _missing(self, before: Sequence[Entry], undone: bool = False) -> Callable[..., LabError]:
        """What is said of what is not there, where `before` are the steps in force."""

        def missing(ref: Ref, called: str = "") -> LabError:
            label = self.known.slots.label(ref) or called
            others = {e.id: b.name for b in self.branches for e in b.entries}
            return history_edit.missing(ref, label, before, self.current.entries, self.known.steps, others, undone)

        return missing

    # ------------------------------------------------------------ as a file

    def to_json(self) -> dict[str, Any]:
        """The whole history as plain data: expression, steps, branches, cursor."""
        from .history_file import to_json

        return to_json(self)

    @staticmethod
    def from_json(data: Any) -> Document:
        """A saved history (data or text), or a saved trace, on a schedule of its own. Steps that this version does not
        know are parked, and saved again as they came. Refused: damaged data."""
        from .history_file import from_json

        return from_json(data)

    # ------------------------------------------------------------ inside

    def _new_id(self, letter: str) -> str:
        self.made += 1
        found = f"{letter}{self.made}"
        return self._new_id(letter) if self._branch(found) is not None else found  # the first branch is b1 from birth

    def _append(self, traces: Sequence[Trace], via: str = "", evidence: str = "") -> None:
        """Steps that were just taken at the cursor, each as the trace that ends with it."""
        if traces and self.cursor < len(self.current.entries):
            self._branch_off()
        for trace in traces:
            before, told = self.point, {"via": via, "group": self._group, "evidence": evidence}
            entry = entry_of(self._new_id("e"), trace, before, self.known.table, **told)
            self.points.append(before.after(entry.id, trace, self.known.slots))
            self.current.entries = (*self.current.entries, entry)
            self.cursor += 1
            self.known.place(self.point)
        self.current.coded = self.current.coded and not traces
        self._changed()

    def _put(self, what: str, of: Entry, entries: Sequence[Entry], cursor: int, same: int) -> None:
        """Other steps for the current branch, the first `same` as they were: the `what` ("deletion") of a step."""
        name, before = f"{what} of step {self.index(of.id) + 1}", Look.of(self)
        points = self.points[: same + 1]
        self.current.entries, self.current.points = tuple(entries), points
        self._replay(self.current, same)
        self.cursor = cursor
        self.edits.note(name, before, Look.of(self))
        self._changed()

    def _replay(self, branch: Branch, same: int) -> None:
        points = [start(self.root)] if branch.points is None else branch.points[: same + 1]
        made, more = replayed(self.known, branch.entries[:same], branch.entries[same:], points[-1], self._missing)
        branch.entries, branch.points = tuple(made), [*points, *more[1:]]
        self._write_code(branch, branch.points[-1].trace)

    def _write_code(self, branch: Branch, trace: Trace) -> None:
        """Each step's call as it is now; a parked one keeps the one it had."""
        texts = iter(calls(trace))
        branch.coded = True
        branch.entries = tuple(e if e.parked else replace(e, code=next(texts)) for e in branch.entries)
        self.known.entries(branch.entries)

    def _changed(self) -> None:
        self.schedule.advance(self.point.trace)
        if self._held is not None:
            self._held.append(True)
            return
        for f in list(self._observers):
            try:
                f(self)
            except Exception as e:  # a view that fails must not make the step fail that it was to show
                warn(f"a view of this schedule could not follow it: {type(e).__name__}: {e}")

    def __repr__(self) -> str:
        here = [f"{'>' if n == self.cursor else ' '} {n} {e!r}" for n, e in enumerate(self.entries, 1)]
        others = [f"  {b!r}" for b in self.branches if b is not self.current]
        return "\n".join([f"history of {self.current.name}, at {self.cursor}", *here, *others])
