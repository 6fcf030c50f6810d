"""Tuning on a fleet: a scheduler and workers in processes of their own; some die, hang, come late, do not fit."""

import signal
import time

import pytest

from tests.fleet.cluster import Cluster
from tests.tuning import calls, declared, matmul
from tvmlab import te, tune
from tvmlab.lab.app import Lab
from tvmlab.lab.requests import answer
from tvmlab.runtime import host, worker
from tvmlab.tune.fleet import link
from tvmlab.tune.fleet.link import FleetError
from tvmlab.tune.measure import Setup
from tvmlab.tune.records import load

QUICK = {"repeats": 3, "min_ms": 0.0, "compile_limit": 60.0, "run_limit": 60.0, "memory": 1 << 28}
pytestmark = [
    pytest.mark.slow,
    pytest.mark.xdist_group("fleet"),  # the workers are shared
    pytest.mark.skipif(not worker.FORKS, reason="each process would take seconds to start"),
]
distributed = pytest.importorskip("distributed", reason="fleets need dask.distributed")
OTHER = "import tvmlab\n\ndef dask_setup(worker):\n    tvmlab.__version__ = '0.0.1'\n"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """Workers `one` and `two`, and `odd`, which has another tvmlab."""
    made = Cluster(tmp_path_factory.mktemp("fleet"))
    odd = made.folder / "odd.py"
    odd.write_text(OTHER)
    made.worker("one", "--resources", "board=1")
    made.worker("two")
    made.worker("odd", "--preload", str(odd))
    with client(made) as c:
        c.wait_for_workers(3, timeout=60)
    yield made
    made.close()


def client(made, **how):
    return distributed.Client(made.address, set_as_default=False, **how)


def kept(path, kind="trial"):
    return [r for r in load(path) if r.kind == kind]


def until(true):
    deadline = time.monotonic() + 60
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_the_workers_share_the_trials(cluster, tmp_path):
    path = tmp_path / "log.jsonl"
    with client(cluster) as c:
        result = tune.run(matmul(), trials=30, records=path, setup=QUICK, fleet=c)
        assert c.status == "running"  # it is the person's
    assert [r.outcome for r in result.records] == ["ok"] * 30 and {r.check for r in result.records} == {"ok"}
    assert {r.worker for r in result.records} == {"one", "two"}
    assert {r.machine for r in result.records} == {host.description()}
    assert kept(path) == list(result.records) and len({r.index for r in result.records}) == 30
    assert len({r.worker for r in kept(path, "retimed")}) <= 1  # one worker times the fastest again
    first = result.drift.record  # timed again by the worker that had timed it
    assert {r.worker for r in kept(path, "drift")} == {first.worker} and result.drift.times
    assert any("odd is left out: it has tvmlab 0.0.1" in n for n in result.notes)
    counts = {who: sum(r.worker == who for r in result.records) for who in ("one", "two")}
    assert all(f"{who} ({count})" in result.notes[0] for who, count in counts.items()), result.notes
    again = tune.run(matmul(), trials=30, records=path, setup=QUICK, fleet=cluster.address)
    assert "30 trials were in the file already" in again.notes and len(kept(path)) == 30


def test_whatever_a_candidate_does_costs_a_trial_and_no_worker(cluster):
    bad = {1: "test.jobs.crash", 2: "test.jobs.double_badly", 3: "test.jobs.forever", 4: "test.jobs.hoard"}
    setup = {**QUICK, "run_limit": 5.0}
    result = tune.run(calls(bad, points=6), trials=6, search="grid", setup=setup, fleet=cluster.address)
    kinds = {r.index: r.outcome for r in result.records}
    assert kinds == {0: "ok", 1: "crash", 2: "wrong", 3: "timeout", 4: "memory", 5: "ok"}, repr(result)
    assert all(r.reason and r.worker for r in result.records if not r.ok)
    assert all(p.poll() is None for p in cluster.processes.values())


# ---------------------------------------------------------------- workers that do not fit


NO_METAL = "a small program for metal did not run there"


@pytest.mark.parametrize(
    "how, what, one, two",
    [({"need": ["board"]}, {}, "", "it has no board"),
     ({}, {"threads": 4096}, "threads cannot be 4096", "threads cannot be 4096"),
     ({"machine": "Cray"}, {}, "it is another machine", "it is another machine"),
     ({}, {"target": "metal"}, NO_METAL, NO_METAL)],
    ids=["need", "threads", "machine", "target"],
)  # fmt: skip
def test_jobs_go_only_where_they_fit(cluster, how, what, one, two):
    fleet = tune.Fleet(cluster.address, **how)
    try:
        m = fleet.open(Setup(**QUICK, **what))
    except FleetError as e:
        assert e.rule == "no-worker" and one
        said = dict(line.split(": ", 1) for line in e.where)
    else:
        said = {x.name: x.why for x in m.crew.members.values()}
        m.close()
    assert said.get("one", "").startswith(one) and bool(said.get("one")) == bool(one)
    assert said["two"].startswith(two) and "tvmlab 0.0.1" in said["odd"]


# ---------------------------------------------------------------- workers that go, hang, and come


@pytest.fixture
def gate(cluster):
    """Closed: point 1 of `held()` waits for it to be opened."""
    cluster.gate.touch()
    yield cluster.gate
    cluster.gate.unlink(missing_ok=True)


def held(*points):
    return calls(dict.fromkeys(points, "test.fleet.gate"), points=6)


def begun(fleet, path=None, points=(1,)):
    """A session of which all has been measured but those points, which are with workers: their names."""
    s = tune.Session(held(*points), trials=6, search="grid", records=path, setup=QUICK, fleet=fleet).start()
    until(lambda: len(s.records) == 6 - len(points) and len(s._measurer._jobs) == len(points))
    return s, {j.member.name for j in s._measurer._jobs}


def noted(s, words):
    return any(words in n for n in s._measurer.notes)


def test_a_pause_and_a_stop_end_what_the_workers_do(cluster, gate):
    s, who = begun(cluster.address, points=(4, 5))
    assert who == {"one", "two"}
    s.pause()
    assert s.state == "paused"
    until(lambda: not s._measurer.busy)
    s.resume()
    until(lambda: len(s._measurer._jobs) == 2)
    s.stop()
    assert s.wait(60) and {r.index for r in s.records} == {0, 1, 2, 3}
    after = tune.run(held(), trials=4, search="grid", setup=QUICK, fleet=cluster.address)  # the gate is still closed
    assert [r.outcome for r in after.records] == ["ok"] * 4


def test_what_a_killed_worker_measured_is_measured_again_by_one_that_comes_late(cluster, gate, tmp_path):
    path = tmp_path / "log.jsonl"
    s, _ = begun(cluster.address, path, points=(4, 5))
    victim = "two"
    cluster.end(victim)
    cluster.worker("late")
    until(lambda: {j.member.name for j in s._measurer._jobs} == {"one", "late"})
    gate.unlink()
    assert s.wait(60)
    found = {r.worker: r for r in s.records if r.index in (4, 5)}
    assert len(s.records) == 6 == len(kept(path)) and {r.outcome for r in s.records} == {"ok"}
    assert f"lost with {victim}: it is gone" in found["late"].reason
    assert any(f"{victim} was lost while it measured point {found['late'].index}" in n for n in s.result.notes)


def test_a_worker_that_hangs_is_given_up_and_comes_back(cluster, gate):
    s, (victim,) = begun(tune.Fleet(cluster.address, silent=2.0))
    cluster.signal(victim, signal.SIGSTOP)
    until(lambda: noted(s, f"{victim} was lost while it measured point 1: it gave no sign of life for 2 s"))
    assert len(s._measurer) == 1
    cluster.signal(victim, signal.SIGCONT)
    until(lambda: noted(s, f"{victim} is back"))
    gate.unlink()
    assert s.wait(60) and sorted(r.index for r in s.records) == list(range(6))
    assert {r.outcome for r in s.records} == {"ok"}


# ---------------------------------------------------------------- in the lab


def test_a_lab_tunes_on_a_fleet_loses_a_worker_and_goes_on_from_the_file(cluster, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    victim = next(n for n in ("two", "late") if n in cluster.processes)
    tensors = declared(32)
    s = te.create_schedule(tensors[2].op)
    (i, j), (k,) = tensors[2].op.axis, tensors[2].op.reduce_axis
    jo, ji = s[tensors[2]].split(j, 4)
    s[tensors[2]].reorder(i, jo, k, ji)
    lab = Lab(s, tensors)
    lab.tune.open_all().start(search="random", trials=7, fleet=cluster.address)
    assert lab.tune.state == "connecting"
    until(lambda: {"one", victim} <= {t["worker"] for t in lab.tune.trials})
    lab.tune.pause()
    cluster.end(victim)
    of = lambda name: next(w for w in asked(lab)["workers"] if w["name"] == name)
    until(lambda: of(victim)["state"] == "gone")
    assert lab.tune.state == "paused" and len(lab.tune.trials) < 7
    assert of(victim)["trials"] and of(victim)["note"] == "it is gone"
    assert of("odd")["state"] == "out" and "tvmlab 0.0.1" in of("odd")["note"]
    lab.tune.resume()
    assert lab.tune.wait(60)
    now = asked(lab)
    assert len({t["index"] for t in lab.tune.trials if t["outcome"] == "ok"}) == now["done"] == 7
    assert [k["current"] for k in now["knobs"]] in [t["values"] for t in lab.tune.trials]  # the steps as they are
    assert now["now"] >= now["best"] > 0
    path = lab.save("lab.json")
    lab.close()

    tomorrow = Lab.load(path)
    assert asked(tomorrow)["count"] == 7 and asked(tomorrow)["fleet"] == cluster.address
    tomorrow.tune.start(trials=8).wait(60)
    assert [t["again"] for t in tomorrow.tune.trials] == [True] * 7 + [False]
    assert tomorrow.tune.trials[-1]["worker"] == "one"
    before = tomorrow.code
    tomorrow.tune.adopt(next(t["index"] for t in tomorrow.tune.trials[1:]))
    assert tomorrow.code != before and tomorrow.head()["badge"]["sign"] != "x"
    tomorrow.close()


def asked(lab):
    return answer(lab, {"seq": 1, "kind": "tune", "what": "state", "values": {}})["data"]["state"]


# ---------------------------------------------------------------- TLS


def test_with_tls_only_who_has_a_certificate_is_let_in(tmp_path, monkeypatch):
    security = distributed.Security.temporary()
    names = ("ca_file", "scheduler_cert", "scheduler_key")
    ca, cert, key = (tmp_path / f"{n}.pem" for n in names)
    for path, name in zip((ca, cert, key), names, strict=True):
        path.write_text(getattr(security, f"tls_{name}"))
    made = Cluster(tmp_path, "--tls-ca-file", str(ca), "--tls-cert", str(cert), "--tls-key", str(key))
    try:
        assert made.address.startswith("tls://")
        made.worker("safe")
        ours = distributed.Security(tls_ca_file=str(ca), tls_client_cert=str(cert), tls_client_key=str(key),
                                    require_encryption=True)  # fmt: skip
        result = tune.run(matmul(), trials=3, setup=QUICK, fleet=tune.Fleet(made.address, security=ours))
        assert [(r.outcome, r.worker) for r in result.records] == [("ok", "safe")] * 3
        monkeypatch.setattr(link, "FOUND", "2s")
        with pytest.raises(FleetError, match="no scheduler answers"):  # another authority's
            tune.Session(matmul(), fleet=tune.Fleet(made.address, security=distributed.Security.temporary()))
        with pytest.raises(FleetError, match="no scheduler answers"):  # none, and not encrypted
            tune.Session(matmul(), fleet=made.address.replace("tls", "tcp"))
        with pytest.raises(FleetError, match="asks for certificates, and none are given"):
            tune.Session(matmul(), fleet=made.address)
        with pytest.raises(FleetError, match="is no scheduler's address"):
            tune.Session(matmul(), fleet="localhost")
    finally:
        made.close()
