"""Servers as a person starts and ends them; sessions with this process; what is said where something is not there."""

import fcntl
import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tvmlab
from tests.refusal import refused
from tests.rpc.peers import SECRET, Place, ask_on, floats, frame
from tests.rpc.servers import board, started
from tvmlab import nd, rpc
from tvmlab.core.error import CallError
from tvmlab.runtime import host
from tvmlab.runtime.rpc import board as boards
from tvmlab.runtime.rpc import machine, protocol
from tvmlab.runtime.rpc import wire as wires


def test_functions_that_the_server_has(tmp_path):
    with rpc.Server(port=0, secret=SECRET, preload=["tests.rpc.functions"], key="k") as server:
        assert "for k, running" in repr(server) and server.host == "127.0.0.1"
        with rpc.connect("127.0.0.1", server.port, key="k", secret=SECRET) as remote:
            a = nd.array(floats(3), remote.cpu())
            remote.get_function("test.rpc.doubled")(a)
            np.testing.assert_array_equal(a.numpy(), 2 * floats(3))
            said = remote.get_function("test.rpc.scaled_sum")(a, 10.0, "sum")
            assert said == f"sum {float((2 * floats(3)).sum() * 10):g}"
            f = remote.get_function("test.rpc.object")
            assert "only numbers and text" in refused(rpc.RPCError, f)
            assert "raised TypeError" in refused(rpc.RPCError, lambda: f(1))
            assert "not a list" in refused(CallError, lambda: f([]))
        wrong = lambda: rpc.connect("127.0.0.1", server.port, key="other", secret=SECRET)
        assert refused(rpc.SessionLost, wrong) == "this server is `k`, not `other`"
    assert "ended" in repr(server)


def test_a_server_that_a_tracker_lends():
    with rpc.Tracker(port=0, secret=SECRET) as tracker:
        place = f"127.0.0.1:{tracker.port}"
        with rpc.Server(port=0, secret=SECRET, key="k", tracker_addr=place, custom_addr="localhost", silent=True) as s:
            t = rpc.connect_tracker("127.0.0.1", tracker.port, secret=SECRET)
            for _ in range(3):  # it is offered again each time
                with t.request("k") as remote:
                    assert remote.place == f"localhost:{s.port}" and remote.listdir() == []
            said = refused(rpc.SessionLost, lambda: rpc.connect("127.0.0.1", s.port, secret=SECRET))
            assert said.startswith("this server is given out by its tracker")
            assert [x["machine"] for x in t.summary()["server_info"]] == [host.description()]


def test_an_interrupt_in_the_middle_of_a_question_ends_the_session(tmp_path, monkeypatch):
    """Its answer would be taken for that of the next question."""

    def interrupted(*args):
        raise KeyboardInterrupt

    with board(tmp_path, [], "cc") as (port, pid):
        remote = Place(port, pid, tmp_path, "cc", "llvm", "").connect()
        monkeypatch.setattr(remote._wire, "receive", interrupted)
        with pytest.raises(KeyboardInterrupt):
            remote.listdir()
        monkeypatch.undo()
        said = refused(rpc.SessionLost, remote.listdir)
        assert said == "this session is over: it was left in the middle of a question (KeyboardInterrupt)"


def test_a_server_started_again_serves_again_and_old_sessions_say_that_they_are_over(tmp_path):
    for _ in range(2):
        with board(tmp_path, [], "cc") as (found, pid):
            place = Place(found, pid, tmp_path, "cc", "llvm", machine.architecture())
            remote = place.connect()
            os.kill(pid, signal.SIGTERM)
            assert "stopped" in refused(rpc.SessionLost, lambda: ask_on(remote))  # noqa: B023
    assert "no server answers" in refused(rpc.RPCError, place.connect)


def test_from_a_shell(tmp_path):
    """A server that is interrupted ends with its sessions, which clear away what they had."""
    words = [sys.executable, "-m", "tvmlab.exec.rpc_server", "--port", "0", "--host", "127.0.0.1", "--silent"]
    env = {**os.environ, "TVMLAB_RPC_SECRET": SECRET, "TMPDIR": str(tmp_path)}
    server = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=env)
    port = int(server.stdout.readline().rpartition(":")[2])
    remote = rpc.connect("127.0.0.1", port, secret=SECRET)
    remote.upload(b"x", "f")
    assert [p.name for p in tmp_path.glob("tvmlab-rpc-*/*")] == ["f"]
    server.send_signal(signal.SIGINT)
    assert server.wait(20) == 0
    server.stdout.close()
    assert "stopped" in refused(rpc.SessionLost, remote.listdir) and not list(tmp_path.iterdir())


@pytest.mark.parametrize("kind", ["python", "board"])
def test_a_server_clears_away_what_one_that_was_killed_has_left(kind, tmp_path, monkeypatch):
    """And nothing of a server that runs, or is about to."""
    left, held, new, other = (tmp_path / f"tvmlab-{n}" for n in ("rpc-left", "rpc-held", "rpc-new", "else"))
    for folder in (left, held, new, other):
        folder.mkdir()
        (folder / "f").write_text("x")
        if folder != new:
            os.utime(folder, (1, 1))
    fd = os.open(held, os.O_RDONLY)
    fcntl.flock(fd, fcntl.LOCK_EX)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with started(kind, tmp_path) as place:
        assert place.connect().listdir() == []
        assert held.exists() and new.exists() and other.exists() and not left.exists()
    os.close(fd)


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
@pytest.mark.parametrize("kind", ["python", "board"])
def test_a_session_has_no_other_sessions_folder(kind, tmp_path, monkeypatch):
    """Or that of a session would be locked as long as any later one goes on."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with started(kind, tmp_path) as place, place.connect() as first, place.connect() as second:
        first.upload(b"x", "f")
        second.upload(b"x", "f")
        server = Path(f"/proc/{place.pid}")
        sessions = (server / "task" / str(place.pid) / "children").read_text().split()
        held = [[os.readlink(fd) for fd in Path(f"/proc/{pid}/fd").iterdir()] for pid in sessions]
        own = [[name for name in names if "tvmlab-rpc-" in name] for names in held]
        assert len(own) == 2 and all(len(names) == 1 for names in own) and own[0] != own[1]


@pytest.mark.parametrize("kind", ["python", "board"])
def test_a_server_leaves_the_sessions_of_another_one_alone(kind, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with started(kind, tmp_path) as place:
        remote = place.connect()
        remote.upload(b"x", "f")
        (folder,) = tmp_path.glob("tvmlab-rpc-*")
        os.utime(folder, (1, 1))
        with started(kind, tmp_path) as second:
            assert second.connect().listdir() == [] and remote.listdir() == ["f"]


def test_a_frame_may_not_stall_and_one_that_has_not_begun_may(monkeypatch):
    monkeypatch.setattr(wires, "STALLED", 0.05)
    a, b = socket.socketpair()
    with a, b:
        wire = wires.Wire(a)
        b.sendall(frame(protocol.Kind.LIST)[:3])
        with pytest.raises(TimeoutError):
            wire.receive()
    assert "zero byte" in refused(rpc.RPCError, lambda: rpc.connect("127.0.0.1", 1, secret=b"a\0b"))


def test_who_may_come(monkeypatch):
    monkeypatch.delenv("TVMLAB_RPC_SECRET", raising=False)
    with pytest.warns(UserWarning, match="listens on 127.0.0.1 only"), rpc.Tracker("0.0.0.0", 0) as tracker:
        assert tracker.host == "127.0.0.1"
    with rpc.Tracker("0.0.0.0", 0, secret="x") as tracker:
        assert tracker.host == "0.0.0.0" and "running" in repr(tracker)
    with rpc.Tracker("0.0.0.0", 0, anyone=True) as tracker:
        assert tracker.host == "0.0.0.0"
        again = lambda: rpc.Tracker(port=tracker.port, port_end=tracker.port + 1)
        assert "cannot listen on 127.0.0.1" in refused(rpc.RPCError, again)
    said = refused(rpc.RPCError, lambda: rpc.Server("192.0.2.1"))
    assert "without a secret would let anyone who reaches 192.0.2.1" in said and "anyone=True" in said


@pytest.mark.parametrize(
    "how, words",
    [
        ({"is_proxy": True}, "no is_proxy here"), ({"load_library": "x.so"}, "no load_library here"),
        ({"tracker_addr": ("h", 1)}, "by their key"), ({"tracker_addr": 5, "key": "k"}, "5 is no address"),
        ({"port": 70000, "port_end": 70001}, "no port"), ({"port": "x"}, "no port"), ({"port": -1}, "no port"),
        ({"limit": 10}, "4096"), ({"limit": 99999999999}, "4096"), ({"memory": -5}, "number of bytes"),
        ({"preload": ["tvmlab", "nosuch"], "port": 0}, "cannot import nosuch: ModuleNotFoundError"),
        ({"secret": 5}, "text or bytes"),
    ],
)  # fmt: skip
def test_a_server_that_cannot_be_is_refused_before_it_starts(how, words):
    assert words in refused(rpc.RPCError, lambda: rpc.Server(**how))


def test_what_connect_takes():
    assert "is no port" in refused(rpc.RPCError, lambda: rpc.connect("127.0.0.1", "x"))
    assert "session_timeout" in refused(rpc.RPCError, lambda: rpc.connect("127.0.0.1", 1, session_timeout=-1))
    assert "is it running?" in refused(rpc.RPCError, lambda: rpc.connect("127.0.0.1", 1))
    assert "connect to the server beyond" in refused(
        rpc.RPCError, lambda: rpc.connect("127.0.0.1", 1, session_constructor_args=["x"])
    )


def test_a_session_with_this_process_does_the_same(tmp_path):
    place = Place(0, 0, tmp_path, "cc", "llvm", "")
    remote = rpc.LocalSession()
    remote.upload(place.matmul())
    assert remote.listdir() == ["mm33.so", "mm33.so.json"]
    f, c = remote.load_module("mm33.so"), nd.empty((33, 33), "float32", remote.cpu())
    f(floats(33, 33), floats(33, 33), c)
    np.testing.assert_allclose(c.numpy(), floats(33, 33) @ floats(33, 33), rtol=1e-5)
    for name in ("../x", "", "a/b"):
        assert "without folders" in refused(rpc.RPCError, lambda: remote.upload(b"x", name))  # noqa: B023
    assert "no file" in refused(rpc.RPCError, lambda: remote.load_module("none.so"))
    remote.remove("mm33.so.json")
    assert remote.get_function("cache_flush_cpu_non_first_arg") is not None and remote.device("cpu") == tvmlab.cpu(0)
    folder = remote._folder
    remote.close()
    assert not folder.exists()


def test_a_tar_is_unpacked_on_the_way(tmp_path):
    A = tvmlab.te.placeholder((4,), name="A")
    B = tvmlab.te.compute((4,), lambda i: A[i] + 1.0, name="B")
    f = tvmlab.build(tvmlab.te.create_schedule(B.op), [A, B], "llvm", name="add_one")
    f.export_library(tmp_path / "lib.tar")
    with board(tmp_path, [], "cc") as (port, pid):
        remote = Place(port, pid, tmp_path, "cc", "llvm", "").connect()
        remote.upload(tmp_path / "lib.tar")
        a, b = nd.array(floats(4), remote.cpu()), nd.empty((4,), "float32", remote.cpu())
        remote.load_module("lib.tar")(a, b)
        np.testing.assert_array_equal(b.numpy(), floats(4) + 1)
        remote.close()


def test_the_page_about_it_does_what_it_says(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TVMLAB_RPC_SECRET", SECRET)
    page = (Path(__file__).parents[2] / "docs" / "remote.md").read_text(encoding="utf-8")
    code = re.search(r"```python\n(.*?)```", page, re.S)[1].replace(" -mcpu=x86-64-v3", "")
    with board(tmp_path, [], "cc") as (port, _):
        exec(code.replace('"there", 9090', f'"127.0.0.1", {port}'), {})
    assert "[1. 1. 1." in capsys.readouterr().out


def test_the_board_has_the_numbers_of_the_protocol():
    text = (boards.SOURCES / "board.h").read_text()
    said = {k: int(n) for k, n in re.findall(r"\b([A-Z_]+) = (\d+)", text)}
    assert {k.name: k.value for k in protocol.Kind}.items() <= said.items()
    ours = {n: getattr(protocol, n) for n in ("VERSION", "NONCE", "PROOF", "NAME")}
    assert ours.items() <= said.items()


def test_compiling_for_a_board_says_what_is_missing(tmp_path):
    said = refused(rpc.RPCError, lambda: rpc.board_server(tmp_path / "s", "nobodys-gcc"))
    assert said.startswith("there is no C compiler nobodys-gcc\n") and "gcc-aarch64-linux-gnu" in said
    said = refused(rpc.RPCError, lambda: rpc.board_server(tmp_path / "s", "cc", ["-DOPEN=("]))
    assert said.startswith("cc cannot compile the server\n") and "error" in said


@pytest.mark.parametrize(
    "words, said",
    [
        ("--port abc", "--port is a number from 0 to 65535, not abc"), ("--port 70000", "not 70000"),
        ("--memory 4G", "not 4G"), ("--memory -5", "not -5"), ("--limit 99999999999", "not 99999999999"),
        ("--limit 10", "from 4096"),
        ("--host 192.0.2.1 --port 9300 --anyone", "on 192.0.2.1, port 9300: Cannot assign"),
    ],
)  # fmt: skip
def test_a_board_says_which_option_it_cannot_have(tmp_path, words, said):
    with board(tmp_path, [], "cc"):
        pass
    found = subprocess.run([tmp_path.parent / "server-cc", *words.split()], capture_output=True, text=True, timeout=9)
    assert found.returncode in (1, 2) and said in found.stderr


def test_one_port_may_be_beyond_the_usual_ones():
    with rpc.Tracker(port=0, secret=SECRET) as free:
        port = free.port
    with rpc.Tracker(port=port, secret=SECRET) as tracker:
        assert tracker.port == port > 9199


def test_arguments_that_no_server_is_asked_with(tmp_path):
    with board(tmp_path, [], "cc") as (port, pid):
        remote = Place(port, pid, tmp_path, "cc", "llvm", "").connect()
        remote.upload(b"junk", "f.tar")
        assert "no tar file" in refused(rpc.RPCError, lambda: remote.load_module("f.tar"))
        assert "no text" in refused(rpc.RPCError, lambda: remote.upload(b"x", "\ud800"))
        assert "no text" in refused(rpc.RPCError, lambda: remote.remove(5))
        assert remote.listdir() == ["f.tar"]
    tracker = rpc.connect_tracker.__globals__["TrackerSession"]("127.0.0.1", port, b"")
    assert "priority" in refused(rpc.RPCError, lambda: tracker.request("k", priority="x"))
