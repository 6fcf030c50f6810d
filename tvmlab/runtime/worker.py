"""Run a function in another process that can be ended at any moment; whatever happens there comes back as a value.

    worker = Worker()
    outcome = worker.run("tvmlab.face.trial:measure", spec, limit=60)     an Outcome, never an exception
    worker.cancel()                                                       from any thread, at once

A nursery process that has everything imported makes the children by forking, so that one is there in milliseconds; it
reads no input of ours and takes part in no interrupt. Where forking is not safe (macOS, Windows) each child is started
anew. A child is kept for the next job, with all that it has compiled, and replaced when it died. Children end with us:
they see their channel close; on Linux the system ends them; and an alarm ends one that runs over its time.

What runs in those processes is in child.py.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from queue import Empty, SimpleQueue
from typing import Any, Literal

from .child import read_frame, record, write_frame

Kind = Literal["done", "error", "memory", "crash", "timeout", "cancelled", "lost"]
FORKS = hasattr(os, "fork") and sys.platform != "darwin"
NOT_STARTED = (OSError, EOFError, TimeoutError, RuntimeError, subprocess.SubprocessError)
PRELOAD = ("tvmlab.face.trial", "tvmlab.target.llvm", "tvmlab.target.interp", "numba")
LOOK = 0.05  # seconds between two looks of a job that waits for its turn: is it still wanted?
START_LIMIT = 120.0  # seconds for the first process to import everything
BOOT = "import sys, json; a = json.loads(sys.argv[1]); sys.path[:] = a['path']; import {0} as c; c.{1}(a)"
SIGNALS = {
    "SIGSEGV": "it touched memory that is not its own",
    "SIGBUS": "it touched memory that is not there",
    "SIGABRT": "it gave up by itself (abort)",
    "SIGILL": "it ran an instruction that this processor does not have",
    "SIGFPE": "an integer division failed",
    "SIGKILL": "the system ended it, most often for lack of memory",
}


@dataclass(frozen=True)
class Outcome:
    """How a job ended.

    `done`: `value` is what the function returned. `error`: it raised; `error` is the record of it (as LabError.to_json
    gives). `memory`: it needed more than it may have. `crash`: the process died. `timeout`: ended at its limit.
    `cancelled`: ended by us. `lost`: no process could be started. `text`: one sentence for a person.
    """

    kind: Kind
    value: Any = None
    error: dict[str, Any] | None = None
    text: str = ""
    seconds: float = 0.0

    @property
    def ok(self) -> bool:
        return self.kind == "done"


class Worker:
    """One child process at a time. `memory`: bytes that a job may take beyond what the process holds at its start.

    `preload`: modules that the nursery imports. `fork`: make children by forking (None: where that is safe).
    `env`: environment variables that the processes have beyond ours.
    """

    def __init__(
        self, memory: int | None = None, preload: Sequence[str] = PRELOAD, fork: bool | None = None,
        env: Mapping[str, str] | None = None,
    ) -> None:  # fmt: skip
        self.memory = usual_memory() if memory is None else int(memory)
        self.preload, self.fork = list(preload), FORKS if fork is None else fork
        self.env = dict(env or {})
        self._turn, self._guard = threading.Lock(), threading.Lock()
        self._child: _Child | None = None
        self._nursery: _Nursery | None = None
        self._stop: threading.Event | None = None  # of the job that runs
        self._owner = os.getpid()
        self._life = _Life()
        self._finalizer = weakref.finalize(self, self._life.end, os.getpid())

    # ------------------------------------------------------------ acting

    def run(
        self,
        function: str,
        *args: Any,
        limit: float = 60.0,
        progress: Callable[[Any], None] | None = None,
        stop: threading.Event | None = None,
    ) -> Outcome:
        """Call `function` ("module:name") in the child with `args` and a keyword `report`, and wait for its end.

        `limit`: seconds, from when the child has the job. `progress`: called in this thread with what the function
        gives to `report`. `stop`: what `cancel` knows this job by; one that is set already cancels it. Calls from
        several threads take turns.
        """
        stop = stop or threading.Event()
        while not self._turn.acquire(timeout=LOOK):
            if stop.is_set():  # cancelled while another's job runs, which need not end soon
                return Outcome("cancelled", text="cancelled")
        try:
            with self._guard:
                self._stop = stop
            return self._run((function, args, limit), progress, stop)
        finally:
            with self._guard:
                self._stop = None
            self._turn.release()

    def _run(self, what: Any, progress: Callable[[Any], None] | None, stop: threading.Event) -> Outcome:
        start, why = time.monotonic(), ""
        child = None
        if not stop.is_set():
            try:
                child = self._ready()
            except NOT_STARTED as e:
                why = f"no process to run it in could be started: {e}"
                self._drop(all=True)
        if stop.is_set():  # perhaps while the child was made
            return Outcome("cancelled", text="cancelled")
        if child is None:
            return Outcome("lost", text=why)
        try:
            outcome = self._talk(child, what, progress, stop)
        except BaseException:  # an interrupt while we wait: the job's answer must not be taken for the next one's
            self._drop()
            raise
        if outcome.kind not in ("done", "error"):
            self._drop()
        return replace(outcome, seconds=time.monotonic() - start)

    def cancel(self, stop: threading.Event | None = None) -> bool:
        """End the job that runs, now; with `stop`, that job, now or when its turn comes. False if it does not run."""
        if stop is not None:
            stop.set()
        with self._guard:
            if self._stop is None or stop not in (None, self._stop):
                return False
            self._stop.set()
            if self._child is not None:
                self._child.kill()
        return True

    def warm(self) -> bool:
        """Have a child ready, so that the next job starts at once. False if none can be made."""
        with self._turn:
            try:
                self._ready()
            except NOT_STARTED:
                self._drop(all=True)
                return False
            return True

    def renew(self) -> None:
        """End the child, which can do no more jobs: the next one has a new child."""
        with self._turn:
            self._drop()

    def close(self) -> None:
        """End the processes. A job that runs comes back as cancelled; later ones are lost."""
        self._life.over = True
        self.cancel()
        with self._turn:
            self._drop(all=True)

    @property
    def pid(self) -> int | None:
        """The process that the next job runs in, if it is there already."""
        return self._child.pid if self._child is not None else None

    # ------------------------------------------------------------ the parts

    def _ready(self) -> _Child:
        """The child, made if there is none alive."""
        if self._life.over:
            raise OSError("the worker is closed")
        if self._owner != os.getpid():  # a fork of the process that made the children: they are not ours
            self._owner, self._child, self._nursery = os.getpid(), None, None
            self._life.made.clear()
        if self._child is not None and not self._child.alive:
            self._drop()
        if self._child is None:
            child = self._made_child()
            self._life.add(child)
            with self._guard:
                self._child = child
            child.wait_until_up()
        return self._child

    def _made_child(self) -> _Child:
        if not self.fork:
            return _started(self.memory, self.preload, self.env)
        if self._nursery is not None and not self._nursery.alive:
            self._drop(all=True)
        if self._nursery is None:
            self._nursery = _Nursery(self.preload, self.env)
            self._life.add(self._nursery)
        return self._nursery.child(self.memory)

    def _drop(self, all: bool = False) -> None:
        """End the child; with `all`, the nursery too."""
        with self._guard:
            gone = [self._child, self._nursery] if all else [self._child]
            self._child, self._nursery = None, None if all else self._nursery
        for thing in gone:
            if thing is not None:
                thing.close()
                self._life.remove(thing)

    def _talk(self, child: _Child, what: Any, progress: Callable[[Any], None] | None, stop: threading.Event) -> Outcome:
        """Send a job and wait for its end."""
        limit = what[2]
        try:
            child.send(what)
        except OSError:
            return self._ended(child, stop)
        except Exception as e:  # an argument that cannot be pickled
            return Outcome("error", error=record(e), text=str(e))
        deadline = time.monotonic() + limit
        while True:
            try:
                message = child.inbox.get(timeout=max(0.0, deadline - time.monotonic()))
            except Empty:
                return Outcome("timeout", text=f"it was still running after {limit:g} s and was ended")
            if message is None:
                return self._ended(child, stop)
            kind, content = message
            if kind == "progress":
                if progress is not None:
                    progress(content)
                if time.monotonic() < deadline:
                    continue
                return Outcome("timeout", text=f"it was still running after {limit:g} s and was ended")
            if stop.is_set():  # too late to end it, not too late to say so
                return Outcome("cancelled", text="cancelled")
            if kind == "done":
                return Outcome("done", value=content)
            return Outcome(kind, error=content, text=str(content["message"]))

    def _ended(self, child: _Child, stop: threading.Event) -> Outcome:
        if stop.is_set():
            return Outcome("cancelled", text="cancelled")
        status, said = child.end(), child.said()
        if "out of memory" in said.lower() or "bad_alloc" in said:
            return Outcome("memory", text="it needed more memory than it may have")
        name = signal.Signals(-status).name if status < 0 and -status in {*signal.Signals} else ""
        if name == "SIGALRM":
            return Outcome("timeout", text="it ran over its time and was ended")
        why = f"{name}: {SIGNALS[name]}" if name in SIGNALS else name or f"it left with code {status}"
        return Outcome("crash", error={"signal": name, "status": status, "said": said}, text=f"it crashed ({why})")


def usual_memory() -> int:
    """Three quarters of this machine's (or this container's) memory."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else 8 << 30
    with contextlib.suppress(OSError, ValueError), open("/sys/fs/cgroup/memory.max") as f:
        total = min(total, int(f.read()))
    return int(total * 0.75)


class _Life:
    """The processes that have to end with a worker, and whether it is over: a thread may be about to start one."""

    def __init__(self) -> None:
        self.made: list[Any] = []
        self.over = False

    def add(self, process: Any) -> None:
        self.made.append(process)
        if self.over:
            process.close()
            raise OSError("the worker is closed")

    def remove(self, process: Any) -> None:
        self.made[:] = [p for p in self.made if p is not process]

    def end(self, owner: int) -> None:
        """At the end of a worker, and of the process that has it (not of one forked from that)."""
        self.over = True
        if os.getpid() == owner:
            for process in list(self.made):
                process.close()


# ---------------------------------------------------------------- processes


class _Child:
    """A process that does jobs: a channel to it, and what it printed. `status()`: how it ended, once it has."""

    def __init__(self, pid: int, read: Any, write: Any, log: Any, status: Callable[[], int]) -> None:
        self.pid, self.read, self.write, self.log, self._status = pid, read, write, log, status
        self.inbox: SimpleQueue[Any] = SimpleQueue()
        self.alive = True
        self._end: int | None = None
        self._writing = threading.Lock()
        threading.Thread(target=_receive, args=(read, self.inbox, weakref.ref(self)), daemon=True).start()

    def wait_until_up(self) -> None:
        """Until it has imported what it needs."""
        try:
            message = self.inbox.get(timeout=START_LIMIT)
        except Empty:
            raise TimeoutError(f"the process was not up after {START_LIMIT:g} s") from None
        if message != ("up", None):
            self.end()
            raise EOFError(self.said().strip().splitlines()[-1] if self.said().strip() else "it ended while starting")

    def send(self, message: Any) -> None:
        write_frame(self.write, message)

    def kill(self) -> None:
        """End it, with what it started. No job is given to it from now on, even before its end is noticed."""
        self.alive = False
        if self._end is not None:
            return
        if not hasattr(os, "killpg"):
            with contextlib.suppress(OSError):
                os.kill(self.pid, signal.SIGTERM)
            return
        for kill in (os.killpg, os.kill):  # the second where it has no group yet
            with contextlib.suppress(OSError):
                kill(self.pid, signal.SIGKILL)

    def end(self) -> int:
        """Kill it if it lives, and say how it ended: the exit code, or minus the signal."""
        with self._writing:
            if self._end is None:
                self.alive = False
                self.kill()
                self._end = self._status()
                for f in (self.read, self.write):
                    with contextlib.suppress(OSError):
                        f.close()
        return self._end

    def said(self) -> str:
        """The last of what it printed."""
        try:
            self.log.seek(0, os.SEEK_END)
            self.log.seek(max(0, self.log.tell() - 4000))
            return bytes(self.log.read()).decode("utf-8", "replace")
        except (OSError, ValueError):
            return ""

    def close(self) -> None:
        self.end()
        self.log.close()


def _receive(read: Any, inbox: SimpleQueue[Any], child: Any) -> None:
    """Put what comes from a child into its inbox; None when nothing more can come."""
    try:
        while True:
            inbox.put(read_frame(read))
    except Exception:
        owner = child()
        if owner is not None:
            owner.alive = False
        inbox.put(None)


def _command(entry: str, **what: Any) -> list[str]:
    if not sys.executable:
        raise OSError("this Python does not say where its program is")
    given = json.dumps({"path": [str(p) for p in sys.path], **what})
    return [sys.executable, "-P", "-c", BOOT.format(f"{__package__}.child", entry), given]


def _started(memory: int, preload: list[str], env: Mapping[str, str]) -> _Child:
    """A child of our own, over its standard input and output."""
    log = tempfile.TemporaryFile()  # noqa: SIM115  # lives as long as the child
    process = subprocess.Popen(
        _command("alone", memory=memory, preload=preload), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log,
        start_new_session=True, env={**os.environ, **env},
    )  # fmt: skip
    return _Child(process.pid, process.stdout, process.stdin, log, lambda: process.wait(30))


class _Nursery:
    """The process that forks. One word at a time: `child` makes one, `status` says how one ended."""

    def __init__(self, preload: list[str], env: Mapping[str, str]) -> None:
        ours, theirs = socket.socketpair()
        ours.settimeout(START_LIMIT)
        self.socket = ours
        self._asking = threading.Lock()
        with theirs:
            self.process = subprocess.Popen(
                _command("nursery", fd=theirs.fileno(), preload=preload, parent=os.getpid()), stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, pass_fds=[theirs.fileno()],
                start_new_session=True, env={**os.environ, **env},
            )  # fmt: skip

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    def child(self, memory: int) -> _Child:
        log = tempfile.TemporaryFile()  # noqa: SIM115  # lives as long as the child
        ours, theirs = socket.socketpair()
        with ours, theirs:
            pid = self._ask({"make": memory}, [theirs.fileno(), log.fileno()])
            read, write = ours.makefile("rb"), ours.makefile("wb")  # which keep our end open
        return _Child(pid, read, write, log, lambda: self._status(pid))

    def _status(self, pid: int) -> int:
        try:
            return self._ask({"status": pid})
        except (OSError, EOFError, TimeoutError):
            return 1

    def _ask(self, question: dict[str, int], fds: Sequence[int] = ()) -> int:
        with self._asking:
            socket.send_fds(self.socket, [json.dumps(question).encode()], list(fds))
            answer = self.socket.recv(64)
        if not answer:
            raise EOFError("the process that makes processes has ended")
        return int(answer)

    def close(self) -> None:
        self.process.kill()  # at once: it may still be importing, and there is nothing in it to lose
        self.process.wait(10)
        self.socket.close()
