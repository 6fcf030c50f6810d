"""What a notebook shows of tuning: figures as data, their still twins, HTML, and the cell that follows a session."""

import json
import threading
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest

from tests.pure.tune.test_insight import SMALL, failed, guessed, law_trials, space, timed
from tests.pure.tune.test_session import Played
from tests.tuning import matmul
from tvmlab import tune
from tvmlab.core.error import LabError
from tvmlab.tune import insight, session, watch
from tvmlab.tune.records import Record
from tvmlab.tune.result import Result
from tvmlab.view import tuned, tuned_live
from tvmlab.view import tuned_figures as figures
from tvmlab.view.tuned_still import still

BAD = "a <b>cell</b> & so on differ"
MIXED = [timed(3, 4e-3), failed(7, "wrong", BAD), timed(5, 2e-3), timed(9, 9e-3, alone=False), failed(9, "lost"),
         timed(4, 3e-3, kind="drift"), failed(1, "instantiation"), timed(8, 2.5e-3)]  # fmt: skip


class Task:
    name, args, target, space = "small", (512,), "llvm", SMALL


def result(records=MIXED, **more):
    return Result(Task, "llvm", tuple(r for r in records if r.kind == "trial"), **more)


def by_name(figure):
    return {t.get("name", t["type"]): t for t in figure["data"]}


FIGURES = {
    "progress": lambda: figures.progress(MIXED, "t"),
    "nothing yet": lambda: figures.progress([], "t"),
    "only failures": lambda: figures.progress([failed(1, "crash")], "t"),
    "board": lambda: figures.with_board(figures.progress(MIXED, "t"), result().table(5)),
    "landscape": lambda: figures.landscape(SMALL, law_trials(range(60)) + [failed(79)], "x", "w"),
    "empty landscape": lambda: figures.landscape(SMALL, [], "x", "y"),
    "parallel": lambda: figures.parallel(SMALL, law_trials(range(0, 160, 7))),
    "parallel of one": lambda: figures.parallel(SMALL, law_trials([3])),
    "parallel of none": lambda: figures.parallel(SMALL, [failed(3)]),
    "importance": lambda: figures.importance(SMALL, law_trials(range(50))),
    "importance of few": lambda: figures.importance(SMALL, law_trials(range(5))),
    "predictions": lambda: figures.predictions(guessed([1.0, 2.0, None, 4.0] * 5, [1.5, 2.5, 0.5, 3.5] * 5, 8)),
    "no predictions": lambda: figures.predictions(MIXED),
}


@pytest.mark.parametrize("name", FIGURES)
def test_plotly_takes_it_and_it_has_a_still_twin(name):
    """Plotly refuses what it does not know; the twin is XML with the title, and inside its frame."""
    go = pytest.importorskip("plotly.graph_objects")
    made = FIGURES[name]()
    found = tuned.figure(json.loads(json.dumps(made)))
    assert type(found) is go.Figure and not found.layout.template.layout.to_plotly_json()
    svg = ET.fromstring(still(made))
    texts = [t.text for t in svg.iter() if t.tag.endswith("text")]
    assert made["layout"]["title"]["text"] in texts
    height, width = float(svg.get("height")), float(svg.get("width"))
    places = [(float(c.get("cx")), float(c.get("cy"))) for c in svg.iter() if c.tag.endswith("circle")]
    assert all(0 < x < width and 0 < y < height for x, y in places)


def test_every_trial_stands_where_it_was_measured():
    found = by_name(figures.progress(MIXED, "t"))
    assert (found["trial"]["x"], found["trial"]["y"]) == ([1, 3, 5], [4, 2, 2.5])
    assert (found["one run only"]["x"], found["one run only"]["y"]) == ([4], [9])
    assert found["best so far"]["x"] == [1, 3, 5] and found["best so far"]["y"] == [4, 2, 2]
    assert found["failed"]["x"] == [2] and found["failed"]["y"][0] > 9
    assert "timed again" not in found


def test_what_is_pointed_at_is_named_with_its_reason_and_no_markup_of_others():
    (text,) = by_name(figures.progress(MIXED, "t"))["failed"]["text"]
    assert "trial 2" in text and "wrong: a &lt;b&gt;cell&lt;/b&gt; &amp; so on differ" in text
    long = figures.hint(3, failed(0, "wrong", "word " * 200))
    assert len(long) < 500 and max(map(len, long.split("<br>"))) < 70 and "..." in long
    assert "x = 8" in figures.hint(1, timed(3, 1e-3)) and "1 ms" in figures.hint(1, timed(3, 1e-3))


def test_those_timed_again_stand_at_their_trial():
    again = [timed(5, 2.2e-3, kind="retimed", at=7.0), timed(3, 2.1e-3, kind="retimed", at=3.0)]
    found = by_name(figures.progress(MIXED, "t", again))["timed again"]
    assert (found["x"], found["y"]) == ([3], [2.2])  # of the last end only


def test_a_landscape_has_the_numbers_of_the_space():
    records = law_trials(range(60), 0.3) + [failed(p) for p in (0, 79, 79)]
    numbers = insight.landscape(SMALL, records, "x", "w")
    heat, crosses = figures.landscape(SMALL, records, "x", "w")["data"]
    drawn = [[None if v is None else 10**v for v in row] for row in heat["z"]]
    for row, expected in zip(drawn, numbers.seconds, strict=True):
        assert [v is None for v in row] == [t is None for t in expected]
        good = [(v, t) for v, t in zip(row, expected, strict=True) if t is not None]
        scale = 1e-6 if good and good[0][0] > 20 else 1e-3
        assert all(v * scale == pytest.approx(t, rel=1e-3) for v, t in good)
    assert (crosses["x"], crosses["y"]) == (["8"], ["4"])  # 79 = (3, 1, 1, 4): only failures there
    assert "of 5 trials" in heat["customdata"][0][0] and heat["x"] == ["1", "2", "4", "8"]


def test_the_colours_of_times_that_lie_far_apart_are_named_from_end_to_end():
    bar = figures.landscape(SMALL, [timed(0, 3e-5), timed(1, 2e-3), timed(2, 3e-3)], "x", "w")["data"][0]["colorbar"]
    assert bar["ticktext"] == ["0.05", "0.1", "0.2", "0.5", "1", "2"]  # ms
    assert figures.decades(1, 1000, (1,)) == [1, 10, 100, 1000]


def test_a_knob_of_many_values_shows_the_tried_ones():
    wide = space(x=list(range(100)), y=[0, 1])
    made = figures.landscape(wide, [timed(p, 1e-3, wide) for p in (3, 150)], "x", "y")
    assert made["data"][0]["x"] == ["3", "50"] and made["data"][0]["y"] == ["0", "1"]


def test_parallel_axes_go_through_the_values_that_were_tried():
    records = law_trials([0, 3, 83])  # x, y, z, w: (1, rows, False, 0), (8, rows, False, 0), (8, rows, False, 5)
    dims = {d["label"]: d for d in figures.parallel(SMALL, records)["data"][0]["dimensions"]}
    assert dims["x"]["ticktext"] == ["1", "8"] and dims["w"]["ticktext"] == ["0", "5"]
    order = sorted(range(3), key=lambda n: -records[n].seconds)  # the fastest last, on top
    assert dims["x"]["values"] == [[0, 1, 1][n] for n in order]
    assert dims["w"]["values"] == [[0, 0, 1][n] for n in order]
    one = space(x=[1, 2], only=[7])
    assert [d["label"] for d in figures.parallel(one, [timed(0, 1e-3, one)])["data"][0]["dimensions"]][:-1] == ["x"]


def test_importance_and_predictions_say_what_is_missing():
    few = figures.importance(SMALL, law_trials(range(5)))["layout"]["annotations"][0]["text"]
    assert few == "this needs 24 trials that succeeded; there are 5"
    assert "annealing" in figures.predictions(MIXED)["layout"]["annotations"][0]["text"]
    bars = figures.importance(SMALL, law_trials(range(160)))["data"][0]
    assert bars["y"][-1] == "x" and sum(bars["x"]) == pytest.approx(100, abs=0.1)


def test_the_board_is_below_the_axes_and_every_row_has_room():
    made = figures.with_board(figures.progress(MIXED, "t"), result().table(5))
    table, axes = made["data"][-1], made["layout"]
    low, high = table["domain"]["y"]
    inside = axes["height"] - axes["margin"]["t"] - axes["margin"]["b"]
    assert low == 0 and high < axes["yaxis"]["domain"][0] < 0.6 and axes["yaxis"]["domain"][1] == 1
    assert (high - low) * inside >= figures.ROW * (len(table["cells"]["values"][0]) + 1)
    assert table["cells"]["values"][1] == ["2\u00a0ms", "2.5\u00a0ms", "4\u00a0ms", "9\u00a0ms"]


def test_the_twin_has_a_dot_for_each_trial_and_a_colour_for_each_cell():
    circles = still(figures.progress(MIXED, "t")).count("<circle")
    assert circles == 4 + 2  # two in the legend
    records = law_trials(range(60))
    cells = sum(t is not None for row in insight.landscape(SMALL, records, "x", "w").seconds for t in row)
    svg = still(figures.landscape(SMALL, records, "x", "w"))
    assert svg.count('fill="#') - svg.count("<text") >= cells and "<b>" not in svg


# ---------------------------------------------------------------- of a result


def test_a_results_pictures_are_plain_figures_that_any_viewer_shows():
    go, pio = pytest.importorskip("plotly.graph_objects"), pytest.importorskip("plotly.io")
    r = result(law_trials(range(0, 160, 3)))
    for found in (r.plot(), r.landscape(), r.landscape("w"), r.landscape(y="x"), r.parallel(), r.importance(),
                  r.predictions()):  # fmt: skip
        assert type(found) is go.Figure
    assert r.landscape().layout.title.text == "Best time by x and z"  # those that explain most
    assert r.landscape("w").layout.title.text == "Best time by w and x"
    assert r.landscape(y="x").layout.title.text == "Best time by z and x"
    found = r.landscape("y", "z").update_layout(title_text="mine")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pio.renderers, "default", "plotly_mimetype")
        shown = found._repr_mimebundle_()
    assert set(shown) == {tuned.MIME, "text/html", "text/plain"} and shown["text/plain"] == "mine"
    assert "<img" in shown["text/html"] and shown[tuned.MIME]["data"][0]["type"] == "heatmap"
    json.dumps(shown)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pio.renderers, "default", "json")
        assert "text/html" not in found._repr_mimebundle_()  # a person's choice, or that of another place


def test_without_plotly_it_is_said_what_to_install(monkeypatch):
    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr(tuned, "import_module", missing)
    with pytest.raises(LabError, match="plotly") as e:
        result().plot()
    assert "pip install" in e.value.hint


def test_a_landscape_needs_two_knobs():
    class One(Task):
        space = space(x=[1, 2], y=[3])

    with pytest.raises(LabError, match=r"two knobs with a choice, small has \['x'\]"):
        Result(One, "llvm", ()).landscape()
    with pytest.raises(LabError, match="'tile'"):
        result().landscape("tile", "x")


def test_a_result_shows_its_summary_its_fastest_and_what_failed():
    html = result(discarded={"x < y": 3}, notes=("interrupted",))._repr_mimebundle_()["text/html"]
    assert "small(512)" in html and "best 2 ms" in html and "interrupted" in html
    assert "1 × wrong" in html and "a &lt;b&gt;cell&lt;/b&gt;" in html and "3 points not measured: x &lt; y" in html
    assert "<td" in html and html.index("2 ms</td>") < html.index("2.5 ms</td>") < html.index("4 ms</td>")
    assert "no trial has succeeded" in result([failed(1)])._repr_mimebundle_()["text/html"]
    whole = result([*MIXED]).table()._repr_mimebundle_()["text/html"]
    assert "a &lt;b&gt;cell" in whole and ">spread<" in whole and "wrong</td>" in whole and ".table(None)" not in whole
    assert "... 4 more: .table(None)" in result([*MIXED]).table(2)._repr_mimebundle_()["text/html"]


def test_a_spread_and_what_is_said_of_a_time_are_in_the_html_too():
    one = replace(timed(5, 2e-3), times=[1.9e-3, 2e-3, 2.1e-3])
    again = timed(5, 2.2e-3, kind="retimed", at=7.0)
    assert "5.0%</td>" in result([one]).table()._repr_mimebundle_()["text/html"]
    html = result([one], retimed=[again]).table()._repr_mimebundle_()["text/html"]
    assert "timed again: 2 ms at first" in html and ">remarks<" in html


def test_a_long_title_is_folded_and_what_it_says_is_all_there():
    title = " ".join(f"word{n}" for n in range(30))
    made = figures.progress(MIXED, title)
    lines = made["layout"]["title"]["text"].split("<br>")
    assert " ".join(lines) == title and max(map(len, lines)) <= figures.TITLE and len(lines) > 2
    assert made["layout"]["margin"]["t"] == figures.TOP + figures.LINE * (len(lines) - 1)
    assert all(line in still(made) for line in lines) and "logarithmic" in still(made)


def test_the_line_of_the_best_says_what_it_takes_when_it_is_timed_again():
    found = by_name(figures.progress(MIXED, "t", [timed(5, 2.2e-3, kind="retimed", at=7.0)]))
    assert (found["best, timed again"]["x"], found["best, timed again"]["y"]) == ([3, 6], [2.2, 2.2])
    assert "best so far, by first times" in found and "best so far" not in found


# ---------------------------------------------------------------- while it runs


class Screen:
    """What IPython's display would show: each picture in turn."""

    def __init__(self):
        self.shown, self.more = [], threading.Event()

    def display(self, data, raw, display_id):
        assert raw and display_id
        self.update(data, raw)
        return self

    def update(self, data, raw):
        self.shown.append(data)
        self.more.set()

    def until(self, text):
        """A picture says so."""
        while not any(text in p["text/plain"] for p in self.shown):
            assert self.more.wait(30), f"no picture says {text!r}"
            self.more.clear()


@pytest.fixture
def screen(monkeypatch):
    IPython = pytest.importorskip("IPython.display")
    made = Screen()
    monkeypatch.setattr(IPython, "display", made.display)
    monkeypatch.setattr(watch, "in_notebook", lambda: True)
    monkeypatch.setattr(session, "Measurer", Played)
    monkeypatch.setattr(Played, "wait", set())
    monkeypatch.setattr(Played, "outcomes", {})
    monkeypatch.setattr(Played, "last", None)
    monkeypatch.setattr(tuned_live, "OFTEN", 0.01)
    monkeypatch.setattr(tuned_live, "RESTED", 0.0)
    return made


def test_a_run_in_a_notebook_ends_as_a_figure(screen):
    found = tune.run(matmul(), trials=20)
    first, last = screen.shown[0], screen.shown[-1]
    assert tuned.MIME not in first and "<svg" in first["text/html"] and "0 of 20" in first["text/plain"]
    assert "done: 20 of 20" in last["text/plain"] and "<img" in last["text/html"]
    pytest.importorskip("plotly")
    data = {t.get("name", t["type"]): t for t in last[tuned.MIME]["data"]}
    assert len(data["trial"]["x"]) == 20 and len(data["table"]["cells"]["values"][0]) == 5
    assert str(found.best.index) in data["table"]["cells"]["values"][4 if found.best.flop else 3]


def test_a_session_is_followed_in_the_background_and_paused_it_is_a_figure(screen):
    pytest.importorskip("plotly")
    Played.wait = {12}
    s = tune.Session(matmul(), trials=40, search="grid").start()
    s.show()
    screen.until("running: 1")
    assert not any(tuned.MIME in p for p in screen.shown)
    s.pause()
    screen.until("paused: ")
    assert tuned.MIME in screen.shown[-1]
    Played.wait = set()
    s.resume()
    assert s.wait(60) and "done: 40 of 40" in screen.shown[-1]["text/plain"]  # who waits has seen the end
    assert "session: done" in s._repr_mimebundle_()["text/plain"]


def test_an_interrupt_leaves_the_last_picture(screen, monkeypatch):
    Played.wait = {20}
    real = session.Session.wait

    def interrupted(self, timeout=None):
        if threading.current_thread() is threading.main_thread() and len(self.records) > 5 and timeout is not None:
            raise KeyboardInterrupt
        return real(self, timeout)

    monkeypatch.setattr(session.Session, "wait", interrupted)
    found = tune.run(matmul(), trials=100, search="grid")
    assert "interrupted" in found.notes and f"interrupted: {len(found.trials)} of 100" in screen.shown[-1]["text/plain"]


def test_without_plotly_the_still_twin_is_what_is_left(screen, monkeypatch):
    monkeypatch.setattr(tuned_live, "find_spec", lambda name: None)
    tune.run(matmul(), trials=5)
    assert tuned.MIME not in screen.shown[-1] and "<svg" in screen.shown[-1]["text/html"]


def test_failures_are_said_below(screen):
    Played.outcomes = {i: tune.Measured("wrong", "2 cells <differ>") for i in range(0, 160, 2)}
    tune.run(matmul(), trials=12, search="grid")
    assert "6 × wrong" in screen.shown[-1]["text/html"] and "2 cells &lt;differ&gt;" in screen.shown[-1]["text/html"]


def test_nothing_is_shown_where_it_is_not_wanted(screen, monkeypatch, capsys):
    tune.run(matmul(), trials=3, show=False)
    monkeypatch.setattr(watch, "in_notebook", lambda: False)
    tune.run(matmul(), trials=3)
    assert screen.shown == [] and capsys.readouterr().err == ""
    tune.run(matmul(), trials=3, show=True)
    assert "done: 3 of 3 trials" in capsys.readouterr().err and screen.shown == []


def test_what_is_wrong_with_a_search_is_raised_once_and_the_picture_ends(screen):
    class Broken:
        def propose(self, n):
            raise ZeroDivisionError("mine")

        tell = propose

    with pytest.raises(ZeroDivisionError):
        tune.run(matmul(), trials=3, search=Broken())
    assert "done: 0 of 3" in screen.shown[-1]["text/plain"]


def test_records_of_any_age_can_be_shown():
    """An AutoTVM log has no times of its own kind, no space, perhaps no configuration."""
    old = [Record("t", index=2, times=[1e-3]), Record("t", outcome="crash")]
    assert still(figures.progress(old, "t")).count("<circle") == 2


def test_the_twin_writes_names_as_they_are():
    odd = space(**{"p<q & r": [1, 2], "y": list(range(20))})
    records = [timed(p, 1e-3 * (1 + p % 3), odd) for p in range(40)]
    for made in (figures.importance(odd, records), figures.landscape(odd, records, "p<q & r", "y")):
        texts = [t.text for t in ET.fromstring(still(made)).iter() if t.text]
        assert any("p<q & r" in t for t in texts) and not any("<i>" in t or "&lt;" in t for t in texts)
