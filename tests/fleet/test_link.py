"""A link to a scheduler of which only the client is played: no dask, no processes."""

import contextlib
import pickle
import socket
import subprocess
import sys
import threading

import pytest

from tvmlab import tune
from tvmlab.core.error import CallError
from tvmlab.tune.fleet import link as linked
from tvmlab.tune.fleet import there
from tvmlab.tune.fleet.link import FleetError, Link
from tvmlab.tune.measure import Setup


class Future:
    def __init__(self):
        self.status, self.called = "pending", []

    def add_done_callback(self, heard):
        self.called.append(heard)

    def end(self, status):
        self.status = status
        for heard in self.called:
            heard(self)

    def cancelled(self):
        return self.status == "cancelled"

    def release(self):
        pass


class Client:
    """As a Client. `scheduler_comm`: the connection, another one after each `again()`."""

    status = "running"

    def __init__(self):
        self.scheduler_comm, self.subscribed, self.sent = object(), [], []

    def scheduler_info(self):
        return {"workers": {}}

    def nthreads(self):
        return {"a": 1}

    def subscribe_topic(self, topic, heard):
        self.subscribed.append(self.scheduler_comm)
        self.topic, self.heard = topic, heard

    def submit(self, *job, **how):
        self.sent.append(job)
        self.last = Future()
        return self.last

    def again(self):
        """The connection was lost, and is there again; what had been asked for is not."""
        self.scheduler_comm = object()
        self.last.end("cancelled")


@pytest.fixture
def client():
    return Client()


def sent(link, done=lambda: None):
    return link.send(there.measure, "a", "{}", "key", done)


def test_what_is_sent_can_be_unpickled_where_there_is_no_tvmlab(client):
    sent(Link(client))
    job = pickle.dumps(client.sent[0])
    code = "import pickle, sys; print(pickle.loads(sys.stdin.buffer.read())[2]['module'])"
    found = subprocess.run([sys.executable, "-I", "-S", "-c", code], input=job, capture_output=True)
    assert found.stdout.decode().strip() == "tvmlab.tune.fleet.there", found.stderr.decode()


def test_that_a_job_has_ended_is_said_once(client):
    link, said = Link(client), []
    job = sent(link, lambda: said.append(1))
    client.heard((0.0, ["key", "answer"]))
    client.last.end("finished")
    assert said == [1] and link.outcome(job) == ("done", "answer")


@pytest.mark.parametrize("look", [lambda link: link.addresses(), sent], ids=["addresses", "send"])
def test_after_the_scheduler_was_lost_answers_are_heard_again(client, look):
    link = Link(client)
    job = sent(link)
    client.again()
    assert link.outcome(job) == ("cut", "the connection to the scheduler was lost")
    look(link)
    assert client.subscribed[-1] is client.scheduler_comm and len(client.subscribed) == 2
    look(link)
    assert len(client.subscribed) == 2


def test_a_job_that_somebody_cancelled_is_not_the_schedulers_fault(client):
    link = Link(client)
    job = sent(link)
    client.last.end("cancelled")
    assert link.outcome(job) == ("lost", "its job was cancelled by somebody else")


def test_a_client_of_its_own_is_closed_when_python_ends(client, monkeypatch):
    ends, closed = [], []
    monkeypatch.setattr(linked, "_connected", lambda *given: client)
    monkeypatch.setattr(linked.atexit, "register", ends.append)
    monkeypatch.setattr(linked.atexit, "unregister", ends.remove)
    client.close = lambda timeout: closed.append(timeout)
    link = Link("tcp://10.0.0.1:8786")
    ends[0]()
    assert len(closed) == 1
    link.close()
    assert len(closed) == 2 and not ends


def test_what_is_no_scheduler(client):
    with pytest.raises(CallError, match="the scheduler of a fleet cannot be None") as e:
        tune.Fleet(None).open(Setup())
    assert "a Client of dask.distributed" in e.value.legal
    client.status = "closed"
    with pytest.raises(FleetError, match="this client is closed"):
        tune.Fleet(client, patience=0.3).open(Setup())


def test_what_answers_as_no_scheduler_does(monkeypatch):
    pytest.importorskip("distributed", reason="fleets need dask.distributed")
    monkeypatch.setattr(linked, "FOUND", "2s")
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=odd, args=(server,), daemon=True).start()
        with pytest.raises(FleetError, match="no scheduler answers at tcp://127.0.0.1"):
            Link(f"tcp://127.0.0.1:{server.getsockname()[1]}")


def odd(server):
    """Greet as other protocols do: read as a number of frames, that is more than any memory."""
    with contextlib.suppress(OSError):
        while True:
            server.accept()[0].sendall(b"\xff" * 7 + b"\x0f" + b"other" * 9)
