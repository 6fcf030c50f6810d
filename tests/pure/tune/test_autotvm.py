"""The classic names, and logs in the classic format."""

import io
import subprocess
import sys
import time

import pytest

from tests.refusal import refused
from tvmlab import autotvm, te, tune
from tvmlab.core.error import LabError
from tvmlab.target import Target
from tvmlab.tune.templates import TEMPLATES


@pytest.fixture(autouse=True)
def template():
    before = dict(TEMPLATES)

    @autotvm.template("classic/scale")
    def scale(n, by):
        A = te.placeholder((n,), name="A")
        B = te.compute((n,), lambda i: A[i] * by, name="B")
        s = te.create_schedule(B.op)
        cfg = autotvm.get_config()
        cfg.define_split("tile", B.op.axis[0], num_outputs=2)
        cfg.define_knob("unroll", [0, 1])
        _, inner = cfg["tile"].apply(s, B, B.op.axis[0])
        if cfg["unroll"].val:
            s[B].unroll(inner)
        return s, [A, B]

    yield scale
    TEMPLATES.clear()
    TEMPLATES.update(before)


NAMES = """template get_config create ConfigEntity measure_option MeasureInput MeasureResult MeasureErrorNo LocalBuilder
LocalRunner RPCRunner apply_history_best apply_fixed_config DispatchContext FallbackContext ApplyConfig task.create
task.Task task.space.SplitEntity task.ConfigSpace task.ConfigEntity task.FallbackConfigEntity task.compute_flop
tuner.RandomTuner tuner.GridSearchTuner tuner.GATuner tuner.XGBTuner tuner.DropletTuner callback.log_to_file
callback.progress_bar callback.Monitor record.encode record.decode record.load_from_file record.pick_best
record.split_workload
measure.MeasureInput"""


@pytest.mark.parametrize("name", NAMES.split())
def test_names(name):
    found = autotvm
    for part in name.split("."):
        found = getattr(found, part)


def test_the_names_are_tunes():
    assert autotvm.template is tune.template and autotvm.task.create is tune.create
    assert autotvm.ConfigEntity is tune.Config
    assert "schedules of topi are functions" in refused(AttributeError, lambda: autotvm.register_topi_compute)


def trial(task, index, cost, error=0):
    costs = (RuntimeError("it failed"),) if error else (cost,)
    return (
        autotvm.MeasureInput(task.target, task, task.space.get(index)),
        autotvm.MeasureResult(costs, error, 0.5, time.time()),
    )


def test_a_log_goes_round(tmp_path, template):
    task = autotvm.task.create("classic/scale", args=(64, 2.0), target="llvm")
    log, best = tmp_path / "scale.log", tmp_path / "best.log"
    write = autotvm.callback.log_to_file(str(log))
    for index, cost, error in ((3, 0.5, 0), (9, 0.1, 0), (4, 0.01, 4)):
        write(None, *([x] for x in trial(task, index, cost, error)))
    read = list(autotvm.record.load_from_file(log))
    assert [inp.config.index for inp, _ in read] == [3, 9, 4] and [res.error_no for _, res in read] == [0, 0, 4]
    assert read[0][0].task == task and read[0][0].config == task.space.get(3)
    autotvm.record.pick_best(str(log), str(best))
    assert len(best.read_text().splitlines()) == 1
    with autotvm.apply_history_best(str(best)) as history, Target("llvm"):
        assert history.query(task.target, task.workload).index == 9
        assert template(64, 2.0)[0].to_code() == task.instantiate(task.space.get(9))[0].to_code()


def test_logs_of_release_06(template):
    row = (
        '{"i": ["llvm -device=cpu", "classic/scale", [64, 2.0], {}, ["classic/scale", 64, 2.0], {"i": 5, "t": "direct",'
        ' "c": null, "e": [["tile", "sp", [-1, 32]], ["unroll", "ot", 0]]}], "r": [[0.25], 0, 1.0, 1.0], "v": 0.1}'
    )
    ((inp, res),) = autotvm.record.load_from_buffer([row])
    assert (inp.config["tile"].size, res.costs, inp.task.workload) == ([-1, 32], [0.25], ("classic/scale", 64, 2.0))
    with autotvm.apply_history_best(io.StringIO(row)), Target("llvm"):
        assert "factor=32" in template(64, 2.0)[0].to_code()
    entity = [["tile", "sp", [-1, 16]], ["unroll", "ot", 0]]
    ours = tune.Record("classic/scale", [64, 2.0], index=4, config=entity, times=[0.1]).to_json()
    with autotvm.apply_history_best(io.StringIO(f"{row}\nno record\n{ours}\n")), Target("llvm"):
        assert "factor=16" in template(64, 2.0)[0].to_code()


def test_options():
    option = autotvm.measure_option(builder="local", runner=autotvm.LocalRunner(number=5, repeat=2))
    assert (option["builder"].timeout, option["runner"].repeat) == (10, 2)
    refused(ValueError, lambda: autotvm.LocalBuilder(build_func="gcc"))
    assert autotvm.RPCRunner("key", "host", 9190).boards == tune.Boards("key", ("host", 9190))
    refused(RuntimeError, lambda: autotvm.record.decode("{}", protocol="xml"))


def test_the_monitor(capsys, template):
    task = autotvm.task.create("classic/scale", args=(64, 2.0), target="llvm")
    monitor, bar = autotvm.callback.Monitor(), autotvm.callback.progress_bar(2, prefix="[task]")
    for index, error in ((1, 0), (2, 4)):
        for callback in (monitor, bar):
            callback(None, *([x] for x in trial(task, index, 0.5, error)))
    assert monitor.trial_scores() == [128.0, 0.0]
    assert "(2/2)\n" in capsys.readouterr().out


def test_compat_resolves_it(tmp_path):
    script = tmp_path / "old.py"
    script.write_text(
        "import tvm\n"
        "from tvm import autotvm, te\n"
        "from tvm.autotvm.tuner import RandomTuner, XGBTuner\n"
        "from tvm.autotvm.task.space import SplitEntity\n"
        "import tvm.autotvm.record\n"
        "@autotvm.template('t')\n"
        "def t(n):\n"
        "    A = te.placeholder((n,))\n"
        "    B = te.compute((n,), lambda i: A[i] + 1.0)\n"
        "    autotvm.get_config().define_split('x', n, num_outputs=3)\n"
        "    return te.create_schedule(B.op), [A, B]\n"
        "print(len(autotvm.task.create('t', args=(256,), target='llvm').config_space))\n"
    )
    run = subprocess.run([sys.executable, "-m", "tvmlab.compat", str(script)], capture_output=True, text=True)
    assert (run.stdout, run.stderr) == ("45\n", "")


# ---------------------------------------------------------------- tuners


def fits(task, good):
    """A history in which the points that are `good` are fast."""
    return [trial(task, i, 1e-6 if good(task.space.get(i)) else 1e-3, 4 if i % 7 == 6 else 0) for i in range(14)]


def test_xgb_learns_from_a_history_before_its_first_batch(template):
    pytest.importorskip("lightgbm")
    known, new = (autotvm.task.create("classic/scale", args=(n, 2.0), target="llvm") for n in (64, 128))
    for good in (0, 1):
        tuner = autotvm.tuner.XGBTuner(new, loss_type="rank")
        tuner.load_history(fits(known, lambda config, good=good: config["unroll"].val == good))
        search = tuner._searching()
        first = search.propose(4)
        assert search.base is not None and search.plan is None
        assert sum(new.space.get(i)["unroll"].val == good for i in first) >= 3
    assert autotvm.tuner.XGBTuner(new)._searching() == "annealing"


def test_a_history_of_what_is_not_there_is_left_out(template):
    task, other = (autotvm.task.create("classic/scale", args=(n, 2.0), target="llvm") for n in (64, 96))
    tuner = autotvm.tuner.GATuner(task, pop_size=8)
    tuner.load_history([*fits(task, lambda config: True)[:3], *fits(other, lambda config: True)[:2]])
    foreign = autotvm.MeasureInput(task.target, task, autotvm.ConfigEntity.from_json_dict(
        {"index": 9, "entity": [["tile", "sp", [-1, 5]], ["unroll", "ot", 0]]}))  # fmt: skip
    tuner.load_history([(foreign, autotvm.MeasureResult((1e-9,), 0, 0.5, 0.0))])
    search = tuner._searching()
    assert search.population == 8 and sorted(search._fit) == [0, 1, 2] and not set(search.propose(8)) & {0, 1, 2}


def test_droplet_starts_where_it_is_told_or_at_the_best_that_is_known(template):
    task = autotvm.task.create("classic/scale", args=(64, 2.0), target="llvm")
    start = task.space.point2knob(5)
    tuner = autotvm.tuner.DropletTuner(task, start_position=start, pvalue=0.1)
    assert tuner._searching().propose(1) == [5] and tuner._searching().pvalue == 0.1
    assert autotvm.tuner.DropletTuner(task)._searching().propose(1) == [0]
    tuner = autotvm.tuner.DropletTuner(task)
    tuner.load_history(fits(task, lambda config: config.index == 9))
    assert tuner._searching().propose(1) == [9]
    refused(LabError, lambda: autotvm.tuner.DropletTuner(task, start_position=[1])._searching())
