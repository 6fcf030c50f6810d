"""What is said before, at and after the end of a session: what cannot be tuned, how it ended, what was not measured."""

import io
import re
import signal
import threading

import numpy as np
import pytest

import tvmlab
from tests.pure.tune.test_session import Played, begun, path, played  # noqa: F401
from tests.tuning import declared, matmul
from tvmlab import te, tune
from tvmlab.core.error import CallError
from tvmlab.tune import finish, records, watch
from tvmlab.tune.result import Progress


@pytest.mark.parametrize("target", ["cuda", "opencl"])
def test_a_target_of_another_kind_is_refused_at_once(target):
    a, b, c = declared(8)
    with pytest.raises(CallError, match="generic is for llvm .a CPU.") as e:
        tune.run(tune.Task.of(c, [a, b, c]), trials=2, target=target)
    assert f'"{target}")' in e.value.hint and Played.last is None
    with pytest.raises(CallError, match="is for cuda .a GPU."):
        tune.Session(tune.Task.of(c, [a, b, c], "cuda"), target="llvm")
    tune.Session(tune.Task.of(c, [a, b, c]), target="interp")


def test_what_is_no_task_is_told_how_to_become_one():
    a, b, c = declared(8)
    for what, said in ((c, r"Task.of\(C, "), (c.op, r"Task.of\(C, "), (te.create_schedule(c.op), r"Task.of\(s, "),
                       ("conv", r"create\('conv', "), (7, "tune.create")):  # fmt: skip
        with pytest.raises(CallError, match="what is tuned is a task, not") as e:
            tune.run(what, trials=2)
        assert re.search(said, e.value.hint)


def test_a_tensor_that_is_missing_is_named():
    a, b, c = declared(8)
    s = te.create_schedule(c.op)
    s[c].split(c.op.axis[0], 4)
    for args, name in (([a, c], "B"), ([a, b], "C")):
        said = f"`{name}` is an (in|out)put of the expression, but not among"
        with pytest.raises(CallError, match=said):
            tune.Task.of(c, args)
        with pytest.raises(CallError, match=said):
            tune.Task.opened(s, args, {(1, "factor"): None})


def test_a_template_without_an_end_can_be_interrupted_and_is_named(monkeypatch):
    @tune.template("test/endless")
    def endless():
        signal.raise_signal(signal.SIGINT)
        while True:
            pass

    with pytest.raises(KeyboardInterrupt) as e:
        tune.run(tune.Task("test/endless", []), trials=2)
    assert "the template 'test/endless'" in e.value.__notes__[0]


# ---------------------------------------------------------------- the end


def test_a_stop_and_an_interrupt_are_told_from_an_end():
    s = begun()
    assert "running" in repr(s)
    s.stop()
    assert s.wait(60) and str(s.progress).startswith("stopped: ") and s.state == "done"
    s = tune.Session(matmul(), trials=100, search="grid")
    s.on_trial = lambda r: r.index == 5 and signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
    Played.wait = {9}
    assert str(tune.session._waited(s.start()).progress).startswith("interrupted: ")
    assert repr(tune.Session(matmul(), trials=3)) == "session: ready: 0 of 3 trials"
    said = str(Progress("running", 40, 60, 8.0, None, 1e-3, 0))
    assert said == "running: 40 of 60 trials, about 4 s to go; best 1 ms"
    assert Progress("running", 40, 60, 8.0, None, 1e-3, 0, before=38).left == 80.0


def test_the_time_left_does_not_count_what_was_in_the_file(path):  # noqa: F811
    tune.run(matmul(), trials=6, records=path)
    s = tune.Session(matmul(), trials=9, records=path)
    assert s.progress.before == 6 and s.progress.left is None


def test_a_file_with_more_than_was_asked_for(path):  # noqa: F811
    tune.run(matmul(), trials=6, records=path)
    result = tune.run(matmul(), trials=5, records=path)
    assert str(result.progress).startswith("done: 6 trials, 5 asked for")
    assert "nothing was measured: log.jsonl has 6 trials already, and `trials=` counts those too" in result.notes


def test_a_machine_is_not_called_steady_where_timing_again_says_otherwise():
    first = records.now(task="t", index=4, times=[7e-4] * 3)
    again = records.Record(**{**vars(first), "kind": "retimed", "times": [14e-3] * 3})
    drift = tune.result.Drift(first, ((24, 7.1e-4),))
    said = repr(tune.Result(matmul(), "llvm", [first], {"why": 1}, drift=drift, retimed=[again]))
    assert "steady" not in said and "point 4 took 700 µs at first, 14 ms re-timed" in said
    assert "1 point not measured: why" in said
    assert finish.unlike([first], [first]) == ""


# ---------------------------------------------------------------- code


@pytest.mark.parametrize("make", ["expression", "template"])
def test_its_code_is_a_whole_program(make):
    a, b, c = declared(8)
    task = tune.Task.of(c, [a, b, c]) if make == "expression" else matmul(8, y=(2,), x=(4,), k=(2,))
    scope = {}
    exec(tune.run(task, trials=2).to_code(), scope)
    built = tvmlab.build(scope["s"], scope["args"], "interp")
    x, y, z = (np.random.default_rng(k).random((8, 8), "float32") for k in range(3))
    got = tvmlab.nd.array(z)
    built(tvmlab.nd.array(x), tvmlab.nd.array(y), got)
    np.testing.assert_allclose(got.numpy(), x @ y, rtol=1e-5)


# ---------------------------------------------------------------- progress in a file


def test_in_a_file_there_is_a_line_now_and_then(monkeypatch):
    monkeypatch.setattr("sys.stderr", io.StringIO())
    tune.run(matmul(), trials=3)
    assert watch.sys.stderr.getvalue() == ""
    monkeypatch.setattr(watch, "SELDOM", 0.01)
    slow, ready = threading.Event(), Played.measure
    monkeypatch.setattr(Played, "measure", lambda *a: (slow.wait(0.1), ready(*a))[1])
    tune.run(matmul(), trials=3)
    lines = watch.sys.stderr.getvalue().splitlines()
    assert lines[0].startswith("running: ") and lines[-1].startswith("done: 3 of 3 trials") and len(lines) > 2


# ---------------------------------------------------------------- two sessions, one file


def test_what_another_session_adds_to_the_file_is_not_measured_again(path):  # noqa: F811
    first = tune.Session(matmul(), trials=60, search="grid", records=path, setup={"jobs": 1})
    other = list(tune.run(matmul(), trials=40, search="grid").records)
    first.on_trial = lambda r: len(first.records) == 3 and records.append(path, other[20:])
    told = []
    tell, first.search.tell = first.search.tell, lambda found: (told.extend(i for i, _ in found), tell(found))
    result = first.start().wait() and first.result
    again = [r.index for r in records.load(path) if r.kind == "trial"]
    assert len(again) == len(set(again)) == len(result.records) == 60 and {*range(20, 40)} <= set(told)
    assert sum("another session adds to log.jsonl" in n for n in result.notes) == 1
