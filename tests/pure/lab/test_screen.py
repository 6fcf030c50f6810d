"""What a widget is sent, and when: the place that is looked at at once, the rest when there is time."""

from contextlib import nullcontext
from types import SimpleNamespace

import pytest

from tvmlab.view import frame


@pytest.fixture
def widget(lab):
    """Something that takes what a widget takes."""
    lab.screen.widget = SimpleNamespace(hold_sync=nullcontext, close=lambda: None, model_id="")
    return lab.screen.widget


@pytest.fixture
def made(monkeypatch):
    """The traces whose frames were made."""
    found = []
    real = frame._made
    monkeypatch.setattr(frame, "_made", lambda trace: found.append(len(trace)) or real(trace))
    return found


def test_an_edit_of_the_first_step_makes_the_loops_of_one_place_and_the_others_later(lab, widget, made):
    lab.apply("split", "C.i", factor=4)
    for loop in ("C.i.inner", "C.k", "C.j"):
        lab.apply("unroll", loop)
    lab.later.flush()
    made.clear()
    lab.document.edit("e1", {"factor": 2})
    lab._changed()
    assert made == [4]  # what is looked at
    assert [s["metrics"] is None for s in widget.history["steps"]] == [True, True, True, False]
    lab.later.flush()
    assert sorted(made) == [1, 2, 3, 4]
    assert widget.history == lab.history() and len(widget.story["frames"]) == 5
    assert not any(s["metrics"] is None for s in widget.history["steps"])


def test_what_is_selected_is_judged_after_the_change_is_sent(lab, widget):
    lab.select("C.k")
    assert not hasattr(widget, "actions") and widget.selection == ["C.k"]
    lab.later.flush()
    assert widget.actions == lab.actions()
