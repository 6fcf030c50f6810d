"""The one place that knows dask.distributed: who is there, jobs to a worker, words beside them."""

from __future__ import annotations

import atexit
import re
import threading
import uuid
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from ...core.error import CallError, LabError
from ...core.extras import pip
from . import SCHEDULERS

FOUND = "10s"  # for a scheduler to answer
ON_ITS_WAY = 5.0  # seconds for the answer of a job that has ended
GOODBYE = 3.0  # seconds to close a connection
ADDRESS = r"(tcp|tls|ws|wss)://[^\s/]+:\d+"
Function = Callable[[str], str]


class FleetError(LabError, ConnectionError):
    """A fleet that cannot be reached, or has no worker for this."""


# What a worker does with a job: it says what came of it. (A task's result would have to be fetched from the worker.)
# It is sent as text: to unpickle a function of a package that a worker does not have would end that worker.
CARRIED = """
from importlib import import_module
from distributed import get_worker
get_worker().log_event(topic, [key, getattr(import_module(module), name)(text)])
"""


@dataclass
class Sent:
    """A job that is with a worker. `way`: the connection it was sent by."""

    done: Callable[[], Any]
    way: Any = None
    future: Any = None
    answer: str = ""
    heard: threading.Event = field(default_factory=threading.Event)
    _once: threading.Lock = field(default_factory=threading.Lock)

    def ended(self) -> None:
        """The job has, as its answer says, or its state, whichever comes first."""
        if self._once.acquire(blocking=False):
            self.done()


class Link:
    """To a scheduler. `given`: its address, or a Client, which stays open."""

    def __init__(self, given: Any, security: Any = None) -> None:
        self.owned = isinstance(given, str)
        if not self.owned and not hasattr(given, "scheduler_info"):
            raise CallError("fleet", f"the scheduler of a fleet cannot be {given!r}", legal=list(SCHEDULERS))
        self._given, self._security = given, security
        self.client = _connected(given, security) if self.owned else given
        if getattr(self.client, "asynchronous", False):
            raise FleetError(
                "asynchronous-client", "this client is asynchronous, and a session waits for it in threads",
                legal=["Client(address)"],
            )  # fmt: skip
        if self.client.status == "closed":
            raise FleetError("closed-client", "this client is closed", legal=["a Client that is open", "an address"])
        self._attending = threading.Lock()
        self._topic = f"tvmlab-{uuid.uuid4().hex}"
        self._out: dict[str, Sent] = {}
        self._way: Any = None
        self._attend()
        if self.owned:
            atexit.register(self._end)

    def _attend(self) -> None:
        """Hear the answers, also by a new connection: who was subscribed is forgotten with the old one."""
        with self._attending:
            way = self.client.scheduler_comm
            if way is not None and way is not self._way:
                self.client.subscribe_topic(self._topic, self._hear)
                self._way = way

    def addresses(self) -> set[str]:
        """Of the workers that are there now."""
        if self.owned and self.client.status == "closed":  # it tries to connect again for a while only
            self.client = _connected(self._given, self._security)
        there = set(self.client.nthreads())
        self._attend()
        return there

    def name(self, address: str) -> str:
        """That a worker was started with; "" where there is none of that address any more."""
        return str(self.client.scheduler_info()["workers"].get(address, {}).get("name", ""))

    def beats(self) -> dict[str, float]:
        """Of each worker by address: when the scheduler last heard of it, by the scheduler's clock."""
        return {address: float(w["last_seen"]) for address, w in self.client.scheduler_info()["workers"].items()}

    def send(self, function: Function, address: str, text: str, key: str, done: Callable[[], Any]) -> Sent:
        """Have that worker, and no other, do a job. `done()` is called when it has ended; then `outcome` says how."""
        self._attend()
        self._out[key] = sent = Sent(done, self._way)
        sent.future = self.client.submit(
            *self.job(function, key, text),
            workers=[address], allow_other_workers=False, pure=False, key=f"tvmlab-{key}",
        )  # fmt: skip
        sent.future.add_done_callback(lambda _: sent.ended())
        return sent

    def job(self, function: Function, key: str, text: str) -> tuple[Any, ...]:
        """What is called on the worker, and with what."""
        names = {"module": function.__module__, "name": function.__name__}
        return exec, CARRIED, {**names, "topic": self._topic, "key": key, "text": text}

    def _hear(self, event: Any) -> None:
        """An answer."""
        key, answer = event[1]
        if key in self._out:
            sent = self._out[key]
            sent.answer = answer
            sent.heard.set()
            sent.ended()

    def outcome(self, sent: Sent) -> tuple[str, str]:
        """Of a job that has ended: ("done", what it returned), ("failed", why), ("lost", why), or ("cut", why): the
        connection to the scheduler was, which says nothing about the worker.
        """
        if sent.heard.is_set():
            return "done", sent.answer
        if sent.future.status == "error":
            error = sent.future.exception(timeout=ON_ITS_WAY)
            kind = "lost" if type(error).__name__ in ("KilledWorker", "CommClosedError") else "failed"
            return kind, f"{type(error).__name__}: {error}"
        if sent.future.status != "cancelled" and sent.heard.wait(ON_ITS_WAY):
            return "done", sent.answer
        if sent.way is not self.client.scheduler_comm:
            return "cut", "the connection to the scheduler was lost"
        return "lost", "its job was cancelled by somebody else" if sent.future.cancelled() else "its answer was lost"

    def forget(self, key: str) -> None:
        """A job that is not of interest any more: one that has not begun does not."""
        sent = self._out.pop(key, None)
        if sent is not None and sent.future is not None:
            sent.future.release()

    def tell(self, function: Callable[[str], None], addresses: Iterable[str], text: str) -> None:
        """Call that in these workers, also while they work; nobody waits for it."""
        said = function, list(addresses), text
        threading.Thread(target=self.say, args=said, name="tvmlab fleet, telling", daemon=True).start()

    def say(self, function: Callable[[str], None], addresses: list[str], text: str) -> None:
        """The same, and wait until they have heard it, as far as they can be reached."""
        if addresses:
            with suppress(Exception):
                self.client.run(function, text, workers=addresses, on_error="ignore")

    def close(self) -> None:
        for key in list(self._out):
            self.forget(key)
        with suppress(Exception):  # the scheduler may be gone
            self.client.unsubscribe_topic(self._topic)
        if self.owned:
            atexit.unregister(self._end)
            self._end()

    def _end(self) -> None:
        """Also when Python ends before the session does: what a client leaves running then fails with a traceback."""
        with suppress(Exception):
            self.client.close(timeout=GOODBYE)


def _connected(address: str, security: Any) -> Any:
    if re.fullmatch(ADDRESS, address) is None:
        raise FleetError("fleet-address", f"{address!r} is no scheduler's address", legal=["tcp://10.0.0.1:8786"])
    try:
        from distributed import Client, Security
    except ImportError:
        raise FleetError("no-dask", "a fleet needs dask.distributed, which is not here", hint=pip("fleet")) from None
    if address.startswith("tls:") and not (security or Security().get_connection_args("client")["ssl_context"]):
        raise FleetError(
            "no-certificate", f"{address} asks for certificates, and none are given",
            legal=["tune.Fleet(address, security=distributed.Security(...))"],
            hint="docs/fleet.md says how they are made",
        )  # fmt: skip
    try:
        return Client(address, security=security, timeout=FOUND, set_as_default=False)
    except Exception as e:  # what is there may be something else, whose answer can be read as anything
        raise FleetError(
            "no-scheduler", f"no scheduler answers at {address}: {str(e) or type(e).__name__}",
            hint='"dask scheduler" starts one; docs/fleet.md says how, also with TLS',
        ) from e  # fmt: skip
