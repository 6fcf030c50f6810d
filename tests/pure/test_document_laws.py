"""The laws of histories, on random schedules and random acts."""

from __future__ import annotations

import json
import random
import warnings
from contextlib import suppress

import pytest

from tests.traces import MORE, MORE_ACTS, _step, random_steps
from tvmlab.core.error import LabError
from tvmlab.core.node import IterVar
from tvmlab.core.text import show_program
from tvmlab.face.document import Document
from tvmlab.face.handle import Schedule
from tvmlab.face.history_codec import decode
from tvmlab.face.verdict import arguments
from tvmlab.lowering import pipeline
from tvmlab.schedule.trace import Trace

SEEDS = range(80)


def text(trace: Trace) -> str:
    return show_program(pipeline.loops(trace.state, arguments(trace), problems=[]))


def case(seed: int) -> tuple[random.Random, Document]:
    rng = random.Random(seed)
    return rng, random_steps(rng, 12, MORE).schedule.history


def act(rng: random.Random, d: Document) -> str:
    """One random act on a document; refused ones are left out."""
    ids = [e.id for e in d.entries]
    kind = rng.choice(
        ("step", "step", "step", "undo", "redo", "jump", "edit", "edit", "delete", "move", "branch", "switch")
    )
    with suppress(LabError), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if kind == "step":
            _step(rng, d.schedule, MORE_ACTS)
        elif kind in ("undo", "redo"):
            getattr(d, kind)()
        elif kind == "jump":
            d.jump(rng.randrange(len(ids) + 1))
        elif kind == "edit" and ids:
            factors(rng, d, rng.choice(ids))
        elif kind == "delete" and ids:
            d.delete(rng.choice(ids))
        elif kind == "move" and ids:
            d.move(rng.choice(ids), rng.randrange(len(ids)))
        elif kind == "branch":
            d.branch()
        elif kind == "switch":
            d.switch(rng.choice(d.branches).id)
    return kind


def factors(rng: random.Random, d: Document, id: str) -> None:
    """Another number, where the step has one."""
    numbers = [p for p, v in d.entry(id).args.items() if isinstance(v, int) and not isinstance(v, bool)]
    if numbers:
        d.edit(id, {rng.choice(numbers): rng.choice((1, 2, 3, 4, 5, 8))})


def consistent(d: Document) -> None:
    """What must hold at any time."""
    taken = [e for e in d.entries[: d.cursor] if not e.parked]
    assert d.schedule.trace is d.trace_at(d.cursor)
    assert [s.primitive for s in d.schedule.trace] == [e.primitive for e in taken]
    assert [d.entries[n - 1].id for n in d.numbers()] == [e.id for e in taken]
    assert all(e.reason and e.code and e.label for e in d.entries if e.parked)
    ids = [e.id for e in d.entries]
    assert len(ids) == len(set(ids)) and d.current in d.branches
    assert len({b.id for b in d.branches}) == len(d.branches)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_schedule_is_what_the_steps_in_force_say(seed):
    rng, d = case(seed)
    for _ in range(20):
        act(rng, d)
        consistent(d)
    trace = d.schedule.trace
    assert text(trace.replay(trace.outputs)) == text(trace)  # the steps alone, as they stand, give the same loops


@pytest.mark.parametrize("seed", SEEDS)
def test_a_document_comes_back_from_its_file(seed):
    rng, d = case(seed)
    for _ in range(15):
        act(rng, d)
    data = json.loads(json.dumps(d.to_json()))
    again = Document.from_json(data)
    consistent(again)
    assert again.to_json() == data
    assert [b.name for b in again.branches] == [b.name for b in d.branches] and again.cursor == d.cursor
    for b in d.branches:
        d.switch(b.id), again.switch(b.id)
        assert [(e.id, e.parked, e.label) for e in again.entries] == [(e.id, e.parked, e.label) for e in d.entries]
        assert text(again.schedule.trace) == text(d.schedule.trace)


@pytest.mark.parametrize("seed", SEEDS)
def test_moving_the_cursor_changes_no_step(seed):
    rng, d = case(seed)
    before, whole = d.entries, d.schedule.trace
    for _ in range(12):
        rng.choice((d.undo, d.redo, lambda: d.jump(rng.randrange(len(before) + 1))))()
        assert d.entries == before
    d.jump(len(before))
    assert d.schedule.trace is whole


@pytest.mark.parametrize("seed", SEEDS)
def test_an_edit_and_its_opposite_change_nothing(seed):
    rng, d = case(seed)
    loops, codes = text(d.schedule.trace), [e.code for e in d.entries]
    for e in d.entries:
        numbers = {p: v for p, v in e.args.items() if type(v) is int}
        with suppress(LabError):
            d.edit(e.id, {p: rng.choice((1, 2, 3)) for p in numbers})
        d.edit(e.id, numbers)
        assert not any(x.parked for x in d.entries)
    assert text(d.schedule.trace) == loops and [e.code for e in d.entries] == codes


@pytest.mark.parametrize("seed", SEEDS)
def test_after_deletions_no_step_acts_on_another_loop(seed):
    rng, d = case(seed)
    meant = {e.id: names(d, n) for n, e in enumerate(d.entries)}
    for id in rng.sample(list(meant), len(meant) // 3):
        d.delete(id)
    for n, e in enumerate(d.entries):
        if not e.parked:
            assert names(d, n) == meant[e.id], e


def names(d: Document, n: int) -> list[str]:
    """The loops that a step acts on, by their own names; a new name is that of another loop."""
    args = decode(d.entries[n].args, d.points[n], d.known.table, lambda ref: LabError("x", ref))
    values = [x for v in args.values() for x in (v if isinstance(v, tuple) else (v,))]
    return [a.name for a in values if isinstance(a, IterVar)]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_step_taken_out_and_put_back_in_its_place_changes_nothing(seed):
    rng, d = case(seed)
    if len(d.entries) < 2:
        return
    loops, order = text(d.schedule.trace), [e.id for e in d.entries]
    id = rng.choice(order)
    try:
        d.move(id, rng.randrange(len(order)))
    except LabError:
        assert [e.id for e in d.entries] == order
    d.move(id, order.index(id))
    assert [e.id for e in d.entries] == order and not any(e.parked for e in d.entries)
    assert text(d.schedule.trace) == loops


def test_a_document_of_a_trace_is_that_of_the_schedule():
    _, d = case(7)
    again = Document.of(Schedule(d.schedule.trace))
    assert [e.code for e in again.entries] == [e.code for e in d.entries]
    assert text(again.schedule.trace) == text(d.schedule.trace)


@pytest.mark.parametrize("seed", SEEDS)
def test_undo_of_a_change_gives_the_very_same_trace(seed):
    """A change of steps, undone, is as if it had not been; redone, as if it had: whatever else was done."""
    rng, d = case(seed)
    look = lambda: ([(e.id, e.code, e.parked) for e in d.entries], d.cursor, d.schedule.trace, d.current)  # noqa: E731
    for _ in range(12):
        before = look()
        kind = act(rng, d)
        after = look()
        if kind not in ("edit", "delete", "move") or after == before:
            continue
        assert d.undo() and look() == before
        assert d.redo() and look() == after
        consistent(d)
