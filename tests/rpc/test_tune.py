"""Tuning with boards: candidates are compiled here, and run, compared and timed there."""

import threading
from concurrent import futures
from dataclasses import replace

import pytest

from tests.refusal import refused
from tests.rpc import servers
from tests.rpc.peers import SECRET, until
from tests.rpc.test_tracker import lent, tracker  # noqa: F401  # fixtures
from tests.tuning import matmul
from tvmlab import autotvm, rpc, te, tir, tune
from tvmlab.core.error import CallError
from tvmlab.runtime.rpc import tracker as trackers
from tvmlab.tune import Boards, Setup
from tvmlab.tune import remote as remotes
from tvmlab.tune.candidate import Candidate, candidate

QUICK = {"repeats": 3, "min_ms": 0.0, "compile_limit": 60.0, "run_limit": 30.0, "jobs": 1, "memory": 1 << 28}


def does(what):
    """A candidate that calls a function of the C library before it returns."""
    A = te.placeholder((4,), name="A")

    def body(ins, outs):
        b = tir.ir_builder.create()
        b.emit(tir.call_extern("int32", what))
        out = b.buffer_ptr(outs[0])
        with b.for_range(0, 4) as i:
            out[i] = 1.0
        return b.get()

    B = te.extern((4,), [A], body, name="B", dtype="float32")
    s = te.create_schedule(B.op)
    return Candidate(0, None, s.trace, [A, B], what)


@pytest.fixture(scope="module")
def measurer(tmp_path_factory):
    with (
        servers.board(tmp_path_factory.mktemp("boards"), [], "cc") as (port, _),
        Boards(address=("127.0.0.1", port), key="kind", secret=SECRET).open(Setup(**QUICK)) as m,
    ):
        yield m


def test_a_candidate_is_compiled_here_and_measured_there(measurer):
    found = measurer.measure(candidate(matmul(), 3))
    assert (found.outcome, found.check, found.reason) == ("ok", "ok", "") and len(found.times) == 3
    assert found.compile > 0 and found.seconds > 0 and found.machine == measurer.machine
    assert "threads, Linux" in measurer.machine and len(measurer) == 1
    slow = measurer.again(candidate(matmul(), 4))
    assert slow.outcome == "ok" and len(slow.times) == 3
    late = measurer.measure(candidate(matmul(), 4), best=1e-12)
    assert len(late.times) == 1 and not late.alone and "times the best's time" in late.reason


def test_a_candidate_that_crashes_hangs_or_is_cancelled_there(measurer, monkeypatch):
    found = measurer.measure(does("abort"))
    assert (found.outcome, found.phase) == ("crash", "run") and "SIGABRT" in found.reason
    with monkeypatch.context() as m:
        m.setattr(measurer, "setup", replace(measurer.setup, run_limit=0.5))
        found = measurer.measure(does("pause"))
    assert found.outcome == "timeout" and found.reason == "it was still running after 0.5 s and was ended"
    stop = threading.Event()
    threading.Timer(0.3, lambda: measurer.cancel(stop)).start()
    assert measurer.measure(does("pause"), stop=stop).outcome == "cancelled"
    assert measurer.measure(candidate(matmul(), 3)).outcome == "ok"


def test_an_aarch64_is_tuned_for_from_here(tmp_path, measurer, monkeypatch):
    command, target = [servers.emulator(), "-L", servers.SYSROOT], "llvm -mtriple=aarch64-linux-gnu"
    with servers.board(tmp_path, command, servers.CROSS) as (port, _):
        boards = Boards(address=f"127.0.0.1:{port}", secret=SECRET)
        with boards.open(Setup(**{**QUICK, "target": target})) as m:
            found = m.measure(candidate(matmul(), 3, target))
            assert (found.outcome, found.check) == ("ok", "ok") and "aarch64" in m.machine
        monkeypatch.setattr(measurer, "boards", boards)
        found = measurer.measure(candidate(matmul(), 3))
        assert found.outcome == "lost" and "this machine is aarch64" in found.reason


def test_a_board_that_is_lost_costs_a_retry_with_another_one(tracker, lent, measurer, monkeypatch):  # noqa: F811
    ends = [lent()]
    t = rpc.connect_tracker("127.0.0.1", tracker.port, secret=SECRET)
    assert until(lambda: t.summary()["server_info"])
    monkeypatch.setattr(measurer, "boards", Boards("kind", ("127.0.0.1", tracker.port), secret=SECRET))
    assert len(measurer.boards.found()) == 1

    def end():
        until(lambda: not t.summary()["server_info"][0]["free"])
        lent()
        ends[0]()

    thread = threading.Thread(target=end)
    thread.start()
    with monkeypatch.context() as m:
        m.setattr(measurer, "setup", replace(measurer.setup, run_limit=2.0))
        slow = measurer.measure(does("pause"))  # on the first until that is ended, then on the second
    thread.join()
    assert slow.outcome == "timeout"
    assert measurer.measure(candidate(matmul(), 3)).outcome == "ok"
    monkeypatch.setattr(measurer, "boards", replace(measurer.boards, key="other", patience=0))
    monkeypatch.setattr(trackers, "PATIENCE", 0.1)
    found = measurer.measure(candidate(matmul(), 3))
    assert found.outcome == "lost" and "no server of the key `other`" in found.reason


def test_a_tracker_that_is_away_for_a_while_is_waited_for(tracker, lent, measurer, monkeypatch):  # noqa: F811
    lent()
    boards = Boards("kind", ("127.0.0.1", tracker.port), secret=SECRET, patience=30)
    monkeypatch.setattr(measurer, "boards", boards)
    monkeypatch.setattr(remotes, "PAUSE", 0.1)
    monkeypatch.setattr(measurer, "_gone", False)
    tracker.terminate()
    stop = threading.Event()
    threading.Timer(0.5, lambda: measurer.cancel(stop)).start()
    assert measurer.measure(candidate(matmul(), 3), stop=stop).outcome == "cancelled"
    waited, waits = [], measurer._waits
    monkeypatch.setattr(measurer, "_waits", lambda *a: waited.append(1) or waits(*a))
    with futures.ThreadPoolExecutor(1) as pool:
        trial = pool.submit(measurer.measure, candidate(matmul(), 3))
        assert until(lambda: waited, 60)
        with rpc.Tracker(port=tracker.port, port_end=tracker.port + 1, secret=SECRET):
            found = trial.result(60)
            assert found.outcome == "ok", found.reason
    monkeypatch.setattr(measurer, "boards", replace(boards, patience=0))
    found = measurer.measure(candidate(matmul(), 3))
    assert found.outcome == "lost" and "no tracker answers" in found.reason


def test_a_whole_run_with_a_board(measurer):
    result = tune.run(matmul(), trials=3, setup=QUICK, fleet=measurer)
    assert [r.outcome for r in result.records if r.kind == "trial"] == ["ok"] * 3


def test_the_classic_runner(tracker, lent, measurer, monkeypatch):  # noqa: F811
    lent()
    t = rpc.connect_tracker("127.0.0.1", tracker.port, secret=SECRET)
    assert until(lambda: t.summary()["server_info"])
    monkeypatch.setenv("TVMLAB_RPC_SECRET", SECRET)
    runner = autotvm.RPCRunner("kind", "127.0.0.1", tracker.port, repeat=2)
    monkeypatch.setattr(measurer, "boards", runner.boards)
    monkeypatch.setattr(Boards, "open", lambda self, setup: measurer if self == runner.boards else None)
    monkeypatch.setattr(measurer, "close", lambda: None)
    tuner, seen = autotvm.tuner.GridSearchTuner(matmul()), []
    option = autotvm.measure_option(builder="local", runner=runner)
    tuner.tune(2, option, callbacks=[lambda tuner, inputs, results: seen.extend(r.error_no for r in results)])
    assert seen == [0, 0] and tuner.best_config is not None


def test_boards_that_cannot_be():
    for how in ({}, {"key": "k"}, {"tracker": ("h", 1)}, {"key": "k", "tracker": ("h", 1), "address": ("h", 2)}):
        assert "the one at an address" in refused(CallError, lambda: tune.Boards(**how))  # noqa: B023
    assert "no address" in refused(rpc.RPCError, lambda: tune.Boards(address="h"))
    assert "retries" in refused(CallError, lambda: tune.Boards(address="h:1", retries=-1))
    assert "no server answers" in refused(rpc.RPCError, lambda: tune.Boards(address="127.0.0.1:1").open(Setup()))
    assert SECRET not in repr(tune.Boards(address="h:1", secret=SECRET))


def test_a_tracker_without_such_boards(tracker):  # noqa: F811
    boards = tune.Boards("kind", ("127.0.0.1", tracker.port), secret=SECRET)
    assert "has no server of the key `kind`" in refused(CallError, lambda: boards.open(Setup()))
