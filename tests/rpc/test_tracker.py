"""Servers given out by a tracker: to one client at a time, in order of priority, again when they or it come back."""

import contextlib
import threading

import pytest

from tests.refusal import refused
from tests.rpc.peers import SECRET, answer, frame, until
from tests.rpc.servers import board
from tests.rpc.test_rough import connection
from tvmlab import rpc
from tvmlab.runtime.rpc import tracker as trackers
from tvmlab.runtime.rpc.keeper import Settings
from tvmlab.runtime.rpc.offer import Offer
from tvmlab.runtime.rpc.protocol import Kind, Writer


@pytest.fixture
def tracker():
    with rpc.Tracker(port=0, secret=SECRET) as made:
        yield made


@pytest.fixture
def lent(tracker, tmp_path_factory):
    """A function that starts a server in C that this tracker gives out, and returns what ends it."""
    folder, open = tmp_path_factory.mktemp("lent"), []

    def start():
        server = board(folder, [], "cc", "--tracker", f"127.0.0.1:{tracker.port}")
        open.append(server)
        server.__enter__()
        return lambda: end(server)

    def end(server):
        open.remove(server)
        server.__exit__(None, None, None)

    yield start
    for server in list(open):
        end(server)


def session(tracker):
    return rpc.connect_tracker("127.0.0.1", tracker.port, secret=SECRET)


def test_each_server_goes_to_one_client_at_a_time_and_the_more_urgent_waits_less(tracker, lent):
    t = session(tracker)
    lent(), lent()
    a, b = t.request("kind"), t.request("kind")
    assert a.place != b.place and [s["free"] for s in t.summary()["server_info"]] == [False, False]
    order = []

    def wait(name, priority):
        with t.request("kind", priority=priority):
            order.append(name)

    threads = []
    for i, (name, priority) in enumerate([("low", 0), ("first", 2), ("second", 2)]):
        threads.append(threading.Thread(target=wait, args=(name, priority)))
        threads[-1].start()
        assert until(lambda i=i: t.summary()["queue_info"]["kind"]["pending"] == i + 1)
    assert "pending" in t.text_summary() and "taken" in t.text_summary()
    a.close()
    for thread in threads:
        thread.join(10)
    assert order == ["first", "second", "low"]
    b.close()
    assert until(lambda: all(s["free"] for s in t.summary()["server_info"]))


def test_a_client_that_stops_waiting_is_not_given_anything(tracker, lent):
    t = session(tracker)
    lent()
    with t.request("kind"):
        wire = connection(tracker.port)
        wire.greet(SECRET.encode())
        wire.send(Kind.REQUEST, Writer().text("kind").number("<i", 9))
        assert until(lambda: t.summary()["queue_info"]["kind"]["pending"])
        wire.close()
        assert until(lambda: not t.summary()["queue_info"]["kind"]["pending"])
    t.request("kind").close()


def test_a_lent_server_wants_the_ticket(tracker, lent):
    t = session(tracker)
    lent()
    port = until(lambda: t.summary()["server_info"])[0]["addr"][1]
    said = refused(rpc.SessionLost, lambda: rpc.connect("127.0.0.1", port, secret=SECRET))
    assert "given out by its tracker" in said
    t.request("kind").close()


def test_a_lent_server_that_never_reached_its_tracker_admits_nobody(tmp_path):
    with board(tmp_path, [], "cc", "--tracker", "127.0.0.1:1") as (port, _):
        said = refused(rpc.SessionLost, lambda: rpc.connect("127.0.0.1", port, secret=SECRET))
        assert "given out by its tracker" in said


def test_a_server_that_ends_costs_the_session_and_another_one_takes_the_work(tracker, lent):
    t = session(tracker)
    ends = [lent()]
    places = []

    def work(remote):
        places.append(remote.place)
        if len(places) == 1:
            lent()
            until(lambda: len(t.summary()["server_info"]) == 2)
            ends[0]()
        remote.upload(b"x", "f")
        return remote.listdir()

    assert t.request_and_run("kind", work) == ["f"] and len(set(places)) == 2
    assert len(t.summary()["server_info"]) == 1
    with pytest.raises(ValueError):  # of the work itself: not tried again
        t.request_and_run("kind", lambda remote: int("x"))


def test_a_tracker_that_comes_back_hears_of_its_servers(tracker, lent):
    lent()
    assert until(lambda: session(tracker).summary()["server_info"])
    tracker.terminate()
    assert "no tracker answers" in refused(rpc.RPCError, lambda: session(tracker))
    with rpc.Tracker(port=tracker.port, port_end=tracker.port + 1, secret=SECRET) as again:
        session(again).request("kind").close()


def test_a_key_that_no_server_has(tracker, lent, monkeypatch):
    monkeypatch.setattr(trackers, "PATIENCE", 0.1)
    t = session(tracker)
    assert refused(rpc.RPCError, lambda: t.request("kind")) == "no server of the key `kind`"
    lent()
    until(lambda: t.summary()["server_info"])
    said = refused(RuntimeError, lambda: t.request("other"))
    assert said == "no server of the key `other`; there are servers of kind"


def test_one_that_was_given_to_a_client_who_never_came_is_offered_again(tracker):
    offer = Offer(Settings(key="kind", secret=SECRET.encode(), tracker=("127.0.0.1", tracker.port)), 1)
    offer.keep(busy=False)
    offer.hear()
    assert offer.due == float("inf")
    ticket = offer.ticket
    assert "could be reached" in refused(rpc.RPCError, lambda: session(tracker).request("kind", max_retry=1))
    offer.hear()
    offer.keep(busy=False)
    assert offer.ticket == ticket and offer.due < float("inf")
    offer._awaited = 0.0
    offer.keep(busy=False)
    assert offer.ticket != ticket and until(lambda: session(tracker).summary()["server_info"][0]["free"])
    offer.close()


@pytest.mark.parametrize("before", [True, False])
def test_a_client_who_is_gone_before_the_tracker_is_heard_frees_the_server(tracker, before):
    offer = Offer(Settings(key="kind", secret=SECRET.encode(), tracker=("127.0.0.1", tracker.port)), 1)
    offer.keep(busy=False)
    offer.hear()
    ticket = offer.ticket
    with pytest.raises(rpc.RPCError):
        session(tracker).request("kind", max_retry=1)
    for act in (offer.came, offer.hear) if before else (offer.hear, offer.came):
        act()
    offer.keep(busy=False)
    assert offer.ticket != ticket
    offer.close()


def test_what_was_given_to_one_who_stopped_waiting_goes_to_the_next():
    pool = trackers._Pool()
    first, second = pool.ask("kind", 0), pool.ask("kind", 0)
    pool.put(trackers._Offer("a line", "kind", "h", 1, "t", "m"))
    assert first.given and not second.given
    pool.drop(first)
    assert second.given is first.given


@pytest.mark.parametrize(
    "data", [frame(99), frame(Kind.PUT, b"\x00"), frame(Kind.LOAD), frame(Kind.SUMMARY, b"", 1 << 30), b"\x05\x00"]
)
def test_a_tracker_survives_what_makes_no_sense(tracker, data):
    wire = connection(tracker.port)
    wire.greet(SECRET.encode())
    wire.sock.sendall(data)
    with contextlib.suppress(OSError):  # it may close at once
        wire.sock.shutdown(1)
    assert answer(wire) in ((Kind.ENDED, "malformed"), (None, "closed"))
    assert session(tracker).summary() == {"server_info": [], "queue_info": {}}


def test_a_tracker_wants_the_secret(tracker):
    said = refused(rpc.RPCError, lambda: rpc.connect_tracker("127.0.0.1", tracker.port, secret="wrong"))
    assert said.startswith(f"the tracker at 127.0.0.1:{tracker.port} refused: the secret")


def test_a_tracker_is_no_server(tracker):
    said = refused(rpc.SessionLost, lambda: rpc.connect("127.0.0.1", tracker.port, secret=SECRET))
    assert said.startswith("this is a tracker: ")


def test_a_server_says_once_why_its_tracker_cannot_be_used_and_when_it_can(tracker, capfd):
    offer = Offer(Settings(key="kind", secret=b"other", tracker=("127.0.0.1", tracker.port)), 1)
    for _ in range(2):
        offer._again = 0.0
        offer.keep(busy=False)
    said = capfd.readouterr().err
    assert said.count("\n") == 1 and "from nobody" in said and "the secret is not the one that it has" in said
    offer.settings = Settings(key="kind", secret=SECRET.encode(), tracker=("127.0.0.1", tracker.port))
    offer._again = 0.0
    offer.keep(busy=False)
    offer.hear()
    assert capfd.readouterr().err == f"tvmlab rpc: the tracker at 127.0.0.1:{tracker.port} gives it out now\n"
    tracker.terminate()
    offer.hear()
    assert "is gone" in capfd.readouterr().err


def test_a_board_says_why_its_tracker_cannot_be_used(tmp_path, capfd):
    with rpc.Tracker(port=0, secret="another") as other, rpc.Server(port=0, secret=SECRET, silent=True) as server:
        for port, why in ((other.port, "has another secret"), (1, "does not answer"), (server.port, "no tracker")):
            with board(tmp_path, [], "cc", "--tracker", f"127.0.0.1:{port}"):
                said = []
                assert until(lambda: said.append(capfd.readouterr().err) or why in "".join(said)), said  # noqa: B023
