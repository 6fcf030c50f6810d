# ruff: noqa: F811  # fixtures that are imported
"""Tuning in the lab on other machines, with these played: who takes part, pause and stop, what is of which machine."""

import threading
import time
from types import SimpleNamespace

import pytest

from tests.pure.lab.tuned import ask, lab, made, opened, state, told  # noqa: F401
from tests.pure.tune.test_session import Played, played  # noqa: F401
from tvmlab import te, tune
from tvmlab.lab import timing
from tvmlab.lab.saving import to_data
from tvmlab.tune.fleet import crew
from tvmlab.tune.fleet.link import FleetError
from tvmlab.tune.measure import Measured
from tvmlab.tune.records import load

pytestmark = pytest.mark.usefixtures("played")
ADDRESS = "tcp://10.0.0.1:8786"


class Far(Played):
    """Workers `one` and `two` of another machine; `odd` is left out, `late` was lost."""

    rolling, machine = True, "another machine"

    def __init__(self, setup):
        super().__init__(setup)
        self.crew = SimpleNamespace(members={}, notes=[])
        for name, how, why in (("two", "fit", ""), ("one", "fit", ""), ("odd", "unfit", "it has tvmlab 0.0.1"),
                               ("late", "gone", "it is gone"), ("new", "asked", "")):  # fmt: skip
            self.crew.members[f"tcp://{name}"] = crew.Member(f"tcp://{name}", how, name, why=why)

    def measure(self, candidate, best=None, process=0, stop=None):
        found = super().measure(candidate, best, process, stop)
        member = self.crew.members["tcp://one"]
        member.trials += 1
        return found if found.outcome != "ok" else Measured("ok", times=found.times, worker="one", machine=self.machine)


class Fleet:
    """As tune.Fleet. `gate`: what opening waits for; `error`: what is wrong with it."""

    def __init__(self, error=None, closed=False):
        self.error, self.gate, self.made = error, threading.Event(), []
        if not closed:
            self.gate.set()

    def open(self, setup):
        assert self.gate.wait(60)
        if self.error is not None:
            raise self.error
        self.made.append(Far(setup))
        return self.made[-1]


def until(true):
    deadline = time.monotonic() + 60
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_the_workers_are_told_with_their_trials_and_why_one_is_left_out(lab):
    fleet = Fleet()
    opened(lab).tune.start(trials=6, fleet=fleet).wait(60)
    now = state(lab)
    assert now["state"] == "done" and now["fleet"] == "a Fleet"
    assert [(w["name"], w["state"], w["trials"], w["note"]) for w in now["workers"]] == [
        ("late", "gone", 0, "it is gone"), ("new", "asked", 0, ""), ("odd", "out", 0, "it has tvmlab 0.0.1"),
        ("one", "takes part", 6, ""), ("two", "takes part", 0, ""),
    ]  # fmt: skip
    assert {t["worker"] for t in lab.tune.trials} == {"one"} and now["now"] is not None
    until(lambda: fleet.made[0].closed)
    assert timing.tuner() is None


def test_connecting_holds_nothing_up_and_can_be_paused(lab):
    fleet = Fleet(closed=True)
    opened(lab).tune.start(fleet=fleet)
    assert state(lab)["state"] == "connecting" and timing.tuner() is lab.tune
    assert any("connecting to a Fleet" in n for n in state(lab)["notes"])
    assert ask(lab, "open", step="e3", param="axes")["card"]["code"] == "tuning-runs"
    assert ask(lab, "settings", fleet="")["card"]["code"] == "tuning-runs"
    told(lab, "pause")
    fleet.gate.set()
    until(lambda: not lab.tune.where.connecting)
    assert state(lab)["state"] == "paused" and state(lab)["count"] == 0
    told(lab, "resume")
    assert lab.tune.wait(60) and state(lab)["count"] == 12


def test_a_stop_does_not_wait_for_the_connection_which_is_closed_when_it_comes(lab):
    fleet = Fleet(closed=True)
    opened(lab).tune.start(fleet=fleet)
    told(lab, "stop")
    assert lab.tune.wait(0) and state(lab)["state"] == "ready" and timing.tuner() is None
    fleet.gate.set()
    until(lambda: fleet.made and fleet.made[0].closed)
    assert state(lab)["state"] == "ready" and state(lab)["count"] == 0
    lab.tune.start().wait(60)
    assert state(lab)["count"] == 12 and len(fleet.made) == 2


def test_another_expression_ends_the_waiting_for_a_fleet(lab):
    fleet = Fleet(closed=True)
    opened(lab).tune.start(fleet=fleet)
    a = te.placeholder((8, 8), name="A")
    lab.start([a, te.compute((8, 8), lambda i, j: a[i, j] + 1, name="D")])
    assert state(lab)["state"] == "empty" and lab.tune.wait(0) and timing.tuner() is None
    fleet.gate.set()
    until(lambda: fleet.made and fleet.made[0].closed)


def test_a_fleet_that_is_not_reached_is_a_card(lab):
    error = FleetError("no-worker", "this fleet has no worker", hint="dask worker starts one")
    opened(lab).tune.start(fleet=Fleet(error)).wait(60)
    now = state(lab)
    assert (now["state"], now["error"]["code"]) == ("ready", "no-worker") and "dask worker" in now["error"]["hint"]
    lab.later.flush()
    assert lab.said["kind"] == "bad" and "this fleet has no worker" in lab.said["text"] and timing.tuner() is None
    lab.tune.set(fleet="")
    assert state(lab)["error"] is None
    lab.tune.start().wait(60)
    assert state(lab)["count"] == 12 and state(lab)["workers"] == []


def test_trials_of_another_machine_are_others(lab, tmp_path):
    fleet = Fleet()
    opened(lab).tune.start(trials=4).wait(60)
    here = [t["index"] for t in lab.tune.trials]
    lab.tune.start(trials=6, fleet=fleet).wait(60)
    now = state(lab)
    assert now["count"] == now["done"] == 6 and {t["worker"] for t in lab.tune.trials} == {"one"}
    assert any("4 trials in the file are of another machine" in n for n in now["notes"])
    kept = [r.machine for r in load(tmp_path / "C.tune.jsonl") if r.kind == "trial"]
    assert kept.count("another machine") == 6 and len(kept) == 10
    lab.tune.set(fleet="")
    assert state(lab)["count"] == 4 and [t["index"] for t in lab.tune.trials] == here
    lab.tune.start(trials=8, fleet=fleet).wait(60)
    assert state(lab)["count"] == 8 and sum(t["again"] for t in lab.tune.trials) == 6


def test_in_memory_too_trials_of_another_machine_are_others(lab):
    opened(lab).tune.start(trials=4, file="").wait(60)
    lab.tune.start(trials=6, fleet=Fleet()).wait(60)
    assert {t["worker"] for t in lab.tune.trials} == {"one"} and state(lab)["count"] == 6
    lab.tune.set(fleet="")
    assert state(lab)["count"] == 4


def test_an_address_is_saved_with_the_lab_and_an_object_is_not(lab):
    told(lab, "settings", fleet=f" {ADDRESS} ")
    assert state(lab)["fleet"] == ADDRESS == to_data(lab)["tune"]["fleet"]
    saved = lab.tune.to_json()
    lab.tune.set(fleet=tune.Fleet(ADDRESS, machine="EPYC", need=["board"]))
    assert state(lab)["fleet"] == f"{ADDRESS}, machine EPYC, with board" and to_data(lab)["tune"]["fleet"] == ""
    lab.tune.set(fleet=tune.Boards("rpi4", tracker=("10.0.0.1", 9190)))
    assert state(lab)["fleet"] == "boards rpi4 at 10.0.0.1:9190"
    lab.tune.load(saved)
    assert state(lab)["fleet"] == ADDRESS
    lab.tune.load({"fleet": "nowhere"})
    assert any("saved fleet is not used" in n for n in state(lab)["notes"])
    lab.tune.set(fleet=None)
    assert state(lab)["fleet"] == ""


@pytest.mark.parametrize("given, code", [("localhost", "fleet-address"), (7, "fleet")])
def test_what_is_no_fleet_is_refused_at_once(lab, given, code):
    card = ask(lab, "settings", fleet=given)["card"]
    assert card["code"] == code and card["legal"] and state(lab)["fleet"] == ""
