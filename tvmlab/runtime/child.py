"""The other side of worker.py: what runs in the nursery and in the children. Imports little, and only when needed."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib
import json
import os
import pickle
import queue
import select
import signal
import socket
import struct
import sys
import threading
import traceback
from typing import Any

LENGTH = struct.Struct("<Q")
PDEATHSIG = 1  # of prctl: the signal that a process gets when its parent has died
GRACE = 5.0  # seconds after its limit at which a job's own alarm ends it, if the other side did not
PER_THREAD = 192 << 20  # address space that a thread's stack and arena take; not memory


# ---------------------------------------------------------------- the channel


def write_frame(f: Any, message: Any) -> None:
    """One message: its length and its pickle. Arrays follow as they are, without a copy."""
    buffers: list[pickle.PickleBuffer] = []
    head = pickle.dumps(message, protocol=5, buffer_callback=buffers.append)
    f.write(LENGTH.pack(len(head)) + LENGTH.pack(len(buffers)) + head)
    for b in buffers:
        raw = b.raw()
        f.write(LENGTH.pack(raw.nbytes))
        f.write(raw)
    f.flush()


def read_frame(f: Any) -> Any:
    """The next message; EOFError when the other side is gone."""
    size, count = LENGTH.unpack(_exactly(f, 8))[0], LENGTH.unpack(_exactly(f, 8))[0]
    head = _exactly(f, size)
    buffers = [_exactly(f, LENGTH.unpack(_exactly(f, 8))[0]) for _ in range(count)]
    return pickle.loads(head, buffers=buffers)


def _exactly(f: Any, size: int) -> bytearray:
    data = bytearray(size)
    view, at = memoryview(data), 0
    while at < size:
        got = f.readinto(view[at:])
        if not got:
            raise EOFError
        at += got
    return data


# ---------------------------------------------------------------- a child


def serve(read: Any, write: Any, memory: int) -> None:
    """Do jobs until the channel closes."""
    import faulthandler

    faulthandler.enable()
    with contextlib.suppress(ValueError):
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt is for the notebook
    limit_memory(memory)
    jobs: queue.SimpleQueue[Any] = queue.SimpleQueue()
    threading.Thread(target=_read_jobs, args=(read, jobs), daemon=True).start()
    talk = _Talk(write)
    talk.say("up", None)
    while True:
        job = jobs.get()
        if isinstance(job, BaseException):
            talk.say("memory" if isinstance(job, MemoryError) else "error", record(job))
        else:
            _do(talk, *job)


def _read_jobs(read: Any, jobs: queue.SimpleQueue[Any]) -> None:
    """In a thread of its own, so that a busy child sees that the other side is gone, and ends."""
    while True:
        try:
            jobs.put(read_frame(read))
        except (EOFError, OSError):
            os._exit(0)
        except Exception as e:  # arguments that do not fit into memory, or of a class that is not here
            jobs.put(e)


class _Talk:
    """What goes back. A function's own threads may report too: one message at a time."""

    def __init__(self, write: Any) -> None:
        self.write, self.lock = write, threading.Lock()

    def say(self, kind: str, content: Any) -> None:
        with self.lock:
            write_frame(self.write, (kind, content))


def _do(talk: _Talk, function: str, args: tuple[Any, ...], limit: float) -> None:
    _alarm(limit + GRACE)
    try:
        module, _, name = function.partition(":")
        value = getattr(importlib.import_module(module), name)(
            *args, report=lambda content: talk.say("progress", content)
        )
        talk.say("done", value)
    except MemoryError as e:
        talk.say("memory", record(e))
    except BrokenPipeError:
        os._exit(0)
    except BaseException as e:  # also SystemExit: a job may not end the child
        talk.say("error", record(e))
    finally:
        _alarm(0)


def _alarm(seconds: float) -> None:
    """The system ends this process after that time, whatever code it is in (0: no longer)."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, seconds)


def record(e: BaseException) -> dict[str, Any]:
    """An exception as plain data."""
    if hasattr(e, "to_json"):
        data: dict[str, Any] = e.to_json()
        return data
    kind, text = type(e).__name__, str(e)
    frames = traceback.extract_tb(e.__traceback__)[-3:]
    where = [f"{f.name}, line {f.lineno} of {os.path.basename(f.filename)}: {f.line}" for f in frames]
    message = text if isinstance(e, MemoryError) and text else f"{kind}: {text}" if text else kind
    return {"type": kind, "rule": "python-error", "message": message, "where": where, "legal": [], "hint": ""}


def limit_memory(more: int) -> None:
    """Let this process take that many bytes more; no core files."""
    try:
        import resource
    except ImportError:
        return
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if not sys.platform.startswith("linux"):
        return
    with open("/proc/self/statm") as f:
        now = int(f.read().split()[0]) * resource.getpagesize()
    wanted = now + more + PER_THREAD * (os.cpu_count() or 1)
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_AS, (wanted if hard < 0 else min(wanted, hard), hard))


def alone(given: dict[str, Any]) -> None:
    """A child that was started, not forked: the channel is its standard input and output."""
    read, write = os.dup(0), os.dup(1)
    _redirect(os.open(os.devnull, os.O_RDONLY), 2)
    preload(given["preload"])
    serve(os.fdopen(read, "rb"), os.fdopen(write, "wb"), given["memory"])


def _redirect(stdin: int, out: int) -> None:
    """What a job prints goes to the log, and no channel is among 0, 1 and 2."""
    os.dup2(stdin, 0)
    os.dup2(out, 1)
    os.dup2(out, 2)


def preload(modules: list[str]) -> None:
    for name in modules:
        importlib.import_module(name)


# ---------------------------------------------------------------- the nursery


def nursery(given: dict[str, Any]) -> None:
    """Import everything, then fork children on request, until the other side is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    channel = socket.socket(fileno=given["fd"])
    with contextlib.suppress(Exception):  # a child that misses something will say so
        preload(given["preload"])
    gc.collect()
    gc.freeze()
    while True:
        ready, _, _ = select.select([channel], [], [], 5.0)
        if not ready:
            if os.getppid() != given["parent"]:
                return
            continue
        data, fds, _, _ = socket.recv_fds(channel, 4096, 2)
        if not data:
            return
        question = json.loads(data)
        answer = _born(channel, fds, question["make"]) if "make" in question else _ended(question["status"])
        channel.send(str(answer).encode())


def _born(channel: socket.socket, fds: list[int], memory: int) -> int:
    mother = os.getpid()
    pid = os.fork()
    if pid:
        for fd in fds:
            os.close(fd)
        return pid
    status = 1
    try:
        channel.close()
        _die_with(mother)
        os.setsid()
        _redirect(os.open(os.devnull, os.O_RDONLY), fds[1])
        os.close(fds[1])
        mine = socket.socket(fileno=fds[0])
        serve(mine.makefile("rb"), mine.makefile("wb"), memory)
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status)


def _die_with(mother: int) -> None:
    """The system ends this process when the nursery ends, whatever code it is in."""
    if sys.platform.startswith("linux"):
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(PDEATHSIG, signal.SIGKILL)
    if os.getppid() != mother:
        os._exit(1)


def _ended(pid: int) -> int:
    """How a child ended: its exit code, or minus the signal."""
    try:
        _, status = os.waitpid(pid, 0)
    except ChildProcessError:
        return 1
    return os.waitstatus_to_exitcode(status)
