"""Peers that break the rules, programs that crash or hang: it costs a session, never the server."""

import contextlib
import socket
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from tests.refusal import refused
from tests.rpc.peers import SECRET, answer, ask_on, floats, frame, load, until
from tvmlab import nd, rpc
from tvmlab.runtime.rpc.protocol import Kind, Writer
from tvmlab.runtime.rpc.wire import Wire


@pytest.fixture(autouse=True)
def the_server_survives(place):
    yield
    with place.connect() as remote:
        assert np.array_equal(nd.array(floats(3), remote.cpu()).numpy(), floats(3))


def lost(call):
    """The rule and the text of the end of a session."""
    with pytest.raises(rpc.SessionLost) as e:
        call()
    return e.value.rule, e.value.message


def connection(port):
    """Not even greeted."""
    return Wire(socket.create_connection(("127.0.0.1", port), timeout=10))


def test_a_wrong_secret(place):
    for secret, words in (("wrong", "not the one that it has"), ("", "it asks for a secret")):
        said = refused(rpc.RPCError, lambda: rpc.connect("127.0.0.1", place.port, secret=secret))  # noqa: B023
        assert words in said and SECRET not in said and "TVMLAB_RPC_SECRET" in said


def test_a_proof_heard_from_another_connection_is_worth_nothing(place):
    """The server's own nonce and proof, sent back to it."""
    a = place.raw()
    a.close()
    wire = connection(place.port)
    wire.sock.sendall(b"TVMLAB\x02\x00" + bytes(32))
    theirs = wire._greeting()
    wire.sock.sendall(theirs)
    assert wire._exactly(1) == b"\x00" and wire.sock.recv(1) == b""


@pytest.mark.parametrize(
    "data", [b"GET / HTTP/1.1\r\nHost: x\r\n\r\n" * 4, b"\xff" * 500, b"TVMLAB\x63\x00" + bytes(64), b""]
)
def test_garbage_instead_of_a_greeting(place, data):
    wire = connection(place.port)
    wire.sock.sendall(data)
    with contextlib.suppress(OSError):  # it may close at once
        wire.sock.shutdown(1)
        while wire.sock.recv(1000):
            pass


def test_the_first_question_has_to_be_open(place):
    wire = place.raw()
    wire.send(Kind.LIST)
    assert answer(wire) == (Kind.ENDED, "malformed")


@pytest.mark.parametrize(
    "data, rule",
    [
        (frame(Kind.WRITE, b"", 1 << 31), "too-long"),
        (frame(Kind.WRITE, b"", 0xFFFFFFFF), "too-long"),
        (frame(99), "malformed"),
        (frame(Kind.OPEN, bytes(8)), "malformed"),
        (frame(Kind.LIST, b"", 0), "malformed"),
        (frame(Kind.ALLOC, b"abc"), "malformed"),
        (frame(Kind.GET_FILE, b"\xff\xff"), "malformed"),
        (frame(Kind.GET_FILE, b"\x02\x00\xff\xfe" + bytes(12)), "malformed"),
        (frame(Kind.CALL, bytes(7) + b"\x01\x00\x00\x00\x01\x00Z" + bytes(8)), "malformed"),
    ],
)
def test_a_frame_that_makes_no_sense_ends_the_session(place, data, rule):
    wire = place.session()
    wire.sock.sendall(data)
    assert answer(wire) == (Kind.ENDED, rule)
    assert answer(wire) == (None, "closed")


@pytest.mark.parametrize(
    "kind, body",
    [
        (Kind.READ, Writer().number("<QQI", 77, 0, 4)),
        (Kind.LOAD, Writer().text("none.so")),
        (Kind.HAS, Writer().number("<I", 5).text("f")),
        (Kind.CALL, Writer().number("<I", 5).text("f").number("<BIH", 1, 1, 0)),
        (Kind.ALLOC, Writer().number("<Q", (1 << 64) - 1)),
    ],
)
def test_what_is_not_there_is_an_error_and_the_session_goes_on(place, kind, body):
    wire = place.session()
    wire.send(kind, body)
    assert answer(wire)[0] == Kind.ERROR
    wire.send(Kind.ALLOC, Writer().number("<Q", 16))
    assert wire.receive(10)[0] == Kind.OK
    for at, size in ((1, 16), ((1 << 64) - 8, 16), (17, 0), (0, 17)):
        wire.send(Kind.READ, Writer().number("<QQI", 1, at, size))
        assert answer(wire) == (Kind.ERROR, "array-range")
    wire.send(Kind.WRITE, Writer().number("<QQ", 1, (1 << 64) - 4).raw(bytes(8)))
    assert answer(wire) == (Kind.ERROR, "array-range")


def test_half_a_frame_then_gone(place):
    for data in (frame(Kind.PUT_FILE, b"\x01\x00x" + bytes(8) + b"half", 5000), frame(Kind.LIST)[:3]):
        wire = place.session()
        wire.sock.sendall(data)
        wire.close()


def test_a_program_that_crashes(place, remote):
    f = load(remote, place.bad("crash"))
    a = nd.array(floats(4), remote.cpu())
    rule, said = lost(lambda: f(a))
    assert rule == "crash" and "SIGSEGV: it touched memory that is not its own" in said
    assert lost(a.numpy)[1] == f"this session is over: {said}" and not remote.alive


def test_a_program_that_exits(place, remote):
    f = load(remote, place.bad("leave"))
    rule, said = lost(lambda: f(nd.array(floats(4), remote.cpu())))
    assert rule == "crash" and "code 3" in said


def test_a_program_that_ends_the_process_as_if_all_were_well(place, remote):
    f = load(remote, place.bad("ends"))
    rule, said = lost(lambda: f(nd.array(floats(4), remote.cpu())))
    assert rule == "crash" and "by itself (exit with code 0)" in said


def test_what_a_program_has_started_ends_with_its_session(place):
    sleeping = lambda: [p for p in Path("/proc").glob("[0-9]*") if b"sleep\x004321" in command(p)]
    with place.connect(session_timeout=1.0) as remote:
        f = load(remote, place.bad("stays"))
        assert lost(lambda: f(nd.array(floats(4), remote.cpu())))[0] == "timeout"
    until(lambda: not sleeping())
    assert not sleeping()


def command(process):
    try:
        return (process / "cmdline").read_bytes()
    except OSError:
        return b""


def test_a_program_that_never_ends(place):
    with place.connect(session_timeout=1.0) as remote:
        f = load(remote, place.bad("spin"))
        rule, said = lost(lambda: f(nd.array(floats(4), remote.cpu())))
        assert rule == "timeout" and "session_timeout" in said


def test_a_session_that_only_waits_ends_at_its_time_too(place):
    with place.connect(session_timeout=0.3) as remote:
        assert lost(lambda: ask_on(remote))[0] == "timeout"


def test_the_client_gone_in_the_middle_of_a_call(place):
    """The process that loops ends with it: another session is not slowed down for ever."""
    assert place.children() == 0
    remote = place.connect()
    f = load(remote, place.bad("spin"))
    a = nd.array(floats(4), remote.cpu())
    ended = []

    def call():
        try:
            f(a)
        except rpc.SessionLost as e:
            ended.append(e.rule)

    thread = threading.Thread(target=call)
    thread.start()
    time.sleep(0.3)
    remote._wire.sock.shutdown(2)
    thread.join(10)
    assert ended == ["lost"]
    assert place.children() == 0


def test_two_threads_take_turns(place, remote):
    arrays = [nd.array(np.full(50_000, i, "int32"), remote.cpu()) for i in range(4)]
    wrong = []

    def look(i):
        wrong.extend(i for _ in range(10) if not (arrays[i].numpy() == i).all())

    threads = [threading.Thread(target=look, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert wrong == []


def test_a_copy_of_the_process_that_a_program_makes_does_not_answer(place, remote):
    """It would answer a question a second time, and each later one would get the answer of the one before."""
    f = load(remote, place.bad("twice"))
    a, b = nd.array(floats(4), remote.cpu()), nd.array(floats(5), remote.cpu())
    f(a)
    time.sleep(0.2)
    for _ in range(3):
        assert np.array_equal(b.numpy(), floats(5)) and a.numpy()[0] == floats(4)[0] + 1


@pytest.mark.parametrize("body", [Writer(), Writer().number("<I", 9), Writer().number("<I", 1).number("<H", 9)])
def test_an_answer_that_makes_no_sense_ends_the_session(place, remote, monkeypatch, body):
    sent = bytearray(b"".join(body.parts))
    monkeypatch.setattr(remote._wire, "ask", lambda *a: (Kind.OK, sent))
    rule, said = lost(remote.listdir)
    assert rule == "lost" and "makes no sense" in said and not remote.alive


def test_the_answer_to_another_question_ends_the_session(place, remote):
    remote._wire.sock.sendall(frame(Kind.LIST))
    rule, said = lost(remote.listdir)
    assert rule == "lost" and "question 2 got the answer of question 0" in said and not remote.alive


def test_connections_that_prove_nothing_keep_nobody_out(place):
    idle = [connection(place.port) for _ in range(40)]
    with place.connect() as remote:
        assert remote.listdir() == []
    for wire in idle:
        wire.close()


def test_one_session_too_many_is_told_so(place):
    assert place.children() == 0
    open = [place.connect() for _ in range(32)]
    assert "has 32 sessions" in refused(rpc.SessionLost, place.connect)
    assert all(s.listdir() == [] for s in open)
    for s in open:
        s.close()
    assert place.children() == 0


def test_a_server_is_no_tracker(place):
    said = refused(rpc.RPCError, lambda: rpc.connect_tracker("127.0.0.1", place.port, secret=SECRET))
    assert said == "this is a server, not a tracker"
