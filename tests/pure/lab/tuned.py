"""Labs whose steps are opened and tuned, with measuring played: what the tests of tuning in the lab share."""

import json

import pytest

from tests.payloads import complaints
from tests.pure.tune.test_session import Played, played  # noqa: F401  # measures at once
from tvmlab import te
from tvmlab.lab import timing
from tvmlab.lab.app import Lab
from tvmlab.lab.requests import answer
from tvmlab.view import payload_tune


def product():
    a, b = te.placeholder((16, 8), name="A"), te.placeholder((8, 32), name="B")
    k = te.reduce_axis((0, 8), name="k")
    c = te.compute((16, 32), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    s = te.create_schedule(c.op)
    io, ii = s[c].split(c.op.axis[0], 4)
    jo, ji = s[c].split(c.op.axis[1], 8)
    s[c].reorder(io, jo, k, ii, ji)
    s[c].vectorize(ji)
    return s, [a, b, c]


@pytest.fixture
def made(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    labs = []

    def make(*of):
        labs.append(Lab(*(of or product())))
        labs[-1].tune.set(search="random", trials=12)
        return labs[-1]

    yield make
    for lab in labs:
        lab.close()
    if (left := timing.tuner()) is not None:  # of a test that failed: the next one shall not
        left.end()


@pytest.fixture
def lab(made):
    return made()


def ask(lab, what, **values):
    return answer(lab, {"seq": 1, "kind": "tune", "what": what, "values": values})


def told(lab, what, **values):
    reply = ask(lab, what, **values)
    assert reply["ok"], reply
    return reply["data"]


def state(lab):
    """The whole state; the contract is kept."""
    update = told(lab, "state", n=-1, since=0)
    assert complaints(update, payload_tune.Update) == []
    json.dumps(update, allow_nan=False)
    return update["state"]


def opened(lab):
    lab.tune.open("e1", "factor").open(2, "factor").open("e4")
    return lab


def tuned(lab, **settings):
    opened(lab).tune.start(**settings)
    assert lab.tune.wait(60)
    return lab
