"""Records: written so that nothing is lost, read so that nothing is believed that is not there."""

import json
import threading
import warnings

import pytest

from tests.tuning import matmul
from tvmlab import tune
from tvmlab.tune import records
from tvmlab.tune.records import Log, Record, RecordError, append, apply_best, best, load, matching, now


def some(n=3, **values):
    return [now(task="t", args=[32], index=i, times=[1e-3 * (i + 1)], **values) for i in range(n)]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "log.jsonl"


def test_what_is_written_is_read(path):
    log = Log(path)
    made = [*some(), now(task="t", outcome="crash", reason='it "crashed"\n😀', config=[["x", "sp", [-1, 4]]])]
    assert all(log.add(r) for r in made)
    assert load(path).records == made and load(path).notes == []
    assert all("\n" not in r.to_json() for r in made) and path.read_bytes().count(b"\n") == 4
    assert json.loads(made[0].to_json())["tvmlab"] == records.VERSION
    assert made[0].seconds == 1e-3 and made[-1].seconds is None and made[-1].score is None
    assert made[0].versions["numpy"] and made[0].machine and made[0].at > 0


def test_a_line_that_a_crash_cut_is_passed_over_and_the_next_begins_anew(path):
    append(path, some())
    whole = path.read_bytes()
    path.write_bytes(whole[:-20])
    found = load(path)
    assert len(found) == 2 and "line 3 of log.jsonl was passed over: it was cut short" in found.notes[0]
    append(path, some(1))
    found = load(path)
    assert [r.index for r in found] == [0, 1, 0] and len(found.notes) == 1


@pytest.mark.parametrize(
    "line", [b"[1]", b"{}", b"nonsense", b'{"tvmlab": 1}', b"\xff\xfe", b'{"tvmlab": 1, "task": "t", "times": ["x"]}',
             b'{"version": 9.9}', b"null", b'{"input": 3, "version": 0.2}'],
)  # fmt: skip
def test_a_line_that_is_no_record_is_passed_over(path, line):
    append(path, some(1))
    with path.open("ab") as f:
        f.write(line + b"\n")
    append(path, some(1))
    found = load(path)
    assert len(found) == 2 and len(found.notes) == 1 and "line 2" in found.notes[0]


def test_a_newer_version_is_refused_with_the_reason(path):
    append(path, some(1))
    with path.open("a") as f:
        f.write(json.dumps({"tvmlab": records.VERSION + 1, "task": "t"}) + "\n")
    with pytest.raises(RecordError, match=f"version {records.VERSION + 1}; this tvmlab reads up to {records.VERSION}"):
        load(path)
    with pytest.raises(RecordError, match="newer|version"):
        tune.Session(matmul(), records=path)
    assert len(path.read_text().splitlines()) == 2


def test_fields_of_later_minor_additions_are_read_over(path):
    path.write_text(json.dumps({"tvmlab": 1, "task": "t", "colour": "red"}) + "\n")
    assert load(path).records == [Record("t")]


def test_two_writers_do_not_mix_their_lines(path):
    def write(k):
        for _ in range(50):
            append(path, some(2, reason=str(k) * 3000))

    threads = [threading.Thread(target=write, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    found = load(path)
    assert len(found) == 400 and not found.notes
    assert all(len(set(r.reason)) == 1 for r in found)


def test_a_full_disk_keeps_records_in_memory_and_the_file_whole(path, monkeypatch):
    log = Log(path)
    assert log.add(some(1)[0])
    whole = path.read_bytes()
    real = records._write
    monkeypatch.setattr(records, "_write", lambda f, data: real(f, data[:10]))  # the disk is full in the middle
    made = some()
    for r in made:
        assert not log.add(r)
    assert log.pending == made and "log.jsonl cannot be written (No space left on device)" in log.trouble
    assert path.read_bytes() == whole
    monkeypatch.setattr(records, "_write", real)  # somebody has made room
    assert log.flush() and not log.pending and not log.trouble and len(load(path)) == 4


def test_a_device_that_is_full():
    log = Log("/dev/full")
    try:
        open("/dev/full", "rb").close()
    except OSError:
        pytest.skip("this system has no /dev/full")
    assert not log.add(some(1)[0]) and "No space left" in log.trouble and len(log.pending) == 1


# ---------------------------------------------------------------- the best


def trials(task, **values):
    config = lambda i: records.plain(task.space.get(i).to_json())  # noqa: E731
    base = {"task": task.name, "args": [32], "space": task.space.hash, "flop": task.flop}
    return [now(**{**base, "index": i, "config": config(i), "times": [1e-3 / (i + 1)], **values}) for i in range(4)]


def test_the_best_is_of_the_task_and_its_target(path):
    task = matmul()
    append(path, [*trials(task), *some(), now(task=task.name, args=[32], outcome="wrong", times=[1e-9])])
    quick = {"task": task.name, "args": [32], "times": [1e-9]}
    others = [{"args": [64]}, {"target": "numba"}, {"alone": False}, {"kind": "drift"}]
    append(path, [now(**{**quick, **other}) for other in others])
    found = best(path, task)
    assert found.index == 3 and found.score == pytest.approx(task.flop / (1e-3 / 4) / 1e9)
    schedule, args = apply_best(path, task)
    assert len(args) == 3 and "split" in schedule.to_code()
    assert len(matching(load(path), task)) == 6


def test_a_trial_of_another_machine_warns_and_gives_way_to_one_of_this(path):
    task = matmul()
    foreign = [Record(**{**vars(r), "machine": "another"}) for r in trials(task)]
    append(path, foreign)
    with pytest.warns(UserWarning, match="made elsewhere"):
        assert best(path, task).index == 3
    append(path, trials(task)[:1])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert best(path, task).index == 0


def test_trials_of_another_target_only_are_not_taken(path):
    task = matmul()
    append(path, trials(task, target="numba"))
    with pytest.warns(UserWarning, match="for numba only"):
        assert best(path, task) is None
    with pytest.warns(UserWarning), pytest.raises(RecordError, match="no successful trial of test/matmul"):
        apply_best(path, task)


def test_a_space_that_has_changed_is_refused(path):
    task, other = matmul(), matmul(y=(1, 2, 3))
    append(path, trials(task))
    with pytest.raises(RecordError, match="has changed since"):
        apply_best(path, other)
    append(path, [now(task=task.name, args=[32], index=2, config=[["y", "ot", 99]], times=[1e-9])])
    with pytest.raises(RecordError, match="no such configuration"):
        apply_best(path, task)


# ---------------------------------------------------------------- AutoTVM


V1 = ('{"i": ["llvm -mcpu=core-avx2", "topi_x86_conv2d_NCHWc", [["TENSOR", [1, 3, 224, 224], "float32"], 1], {}, '
      '["conv2d", [1, 3, 224, 224, "float32"]], {"i": 12, "t": "direct", "c": null, "e": [["tile_ic", "sp", [-1, 3]], '
      '["unroll_kw", "ot", false]]}], "r": [[0.0002], 0, 2.5, 1550000000.0], "v": 0.1}')  # fmt: skip
V2 = ('{"input": ["cuda -model=t4", "matmul", [512, 512, "float32"], {}], "config": {"index": 7, "code_hash": "abc", '
      '"entity": [["tile_y", "sp", [-1, 8]], ["reorder", "re", [0, 2, 1]], ["ann", "an", ["unroll"]]]}, '
      '"result": [[0.001, 0.003], 0, 1.5, 1600000000.0], "version": 0.2, "tvm_version": "0.7.0"}')  # fmt: skip
BAD = V2.replace("[[0.001, 0.003], 0,", "[[1000000000.0], 4,")


def test_autotvm_logs_of_both_formats_are_read(path):
    path.write_text("\n".join([V1, V2, BAD]) + "\n")
    old, new, bad = tune.import_autotvm(path)
    assert (old.task, old.index, old.seconds) == ("topi_x86_conv2d_NCHWc", 12, 0.0002)
    assert old.args[0] == ["TENSOR", [1, 3, 224, 224], "float32"] and old.config[1] == ["unroll_kw", "ot", False]
    assert (new.target, new.space, new.seconds, new.versions) == ("cuda -model=t4", "abc", 0.002, {"tvm": "0.7.0"})
    assert (bad.outcome, bad.phase, bad.seconds) == ("crash", "run", None)


@pytest.mark.parametrize("version, line", [(0.1, V1), (0.2, V2)])
def test_what_is_exported_is_what_was_imported(path, tmp_path, version, line):
    path.write_text(line + "\n")
    tune.export_autotvm(load(path), tmp_path / "out.log", version)
    (again,) = (tmp_path / "out.log").read_text().splitlines()
    data, given = json.loads(again), json.loads(line)
    if version == 0.2:
        given["result"][2] = data["result"][2]  # the time that the whole trial took is not kept
        assert data == given
    else:
        assert data["i"][:4] == given["i"][:4] and data["i"][5] == given["i"][5] and data["v"] == 0.1
    assert load(tmp_path / "out.log").records[0].times == load(path).records[0].times


def test_failures_are_exported_by_their_classic_numbers(tmp_path):
    made = [now(task="t", outcome=o, phase=p) for o, p in [
        ("instantiation", ""), ("compile", "compile"), ("crash", "run"), ("wrong", "run"), ("timeout", "compile"),
        ("timeout", "run"), ("lost", "")]]  # fmt: skip
    tune.export_autotvm(made, tmp_path / "out.log")
    results = [json.loads(line)["result"] for line in (tmp_path / "out.log").read_text().splitlines()]
    assert [r[1] for r in results] == [1, 2, 4, 5, 6, 7, 8] and all(r[0] == [1e9] for r in results)
    with pytest.raises(RuntimeError, match="0.1 and 0.2"):
        tune.export_autotvm(made, tmp_path / "out.log", 0.3)
