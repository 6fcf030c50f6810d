"""What is measured, what came of it, and how: the classic forms."""

from __future__ import annotations

import os
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, NamedTuple

from ..core.error import CallError
from ..tune.remote import Boards


class MeasureErrorNo(IntEnum):
    NO_ERROR = 0
    INSTANTIATION_ERROR = 1
    COMPILE_HOST = 2
    COMPILE_DEVICE = 3
    RUNTIME_DEVICE = 4
    WRONG_ANSWER = 5
    BUILD_TIMEOUT = 6
    RUN_TIMEOUT = 7
    UNKNOWN_ERROR = 8


class MeasureInput(NamedTuple):
    """A configuration of a task."""

    target: Any
    task: Any
    config: Any


class MeasureResult(NamedTuple):
    """`costs`: seconds per run, one mean per repeat; of a failed trial what went wrong. `timestamp`: when it was."""

    costs: Any
    error_no: int
    all_cost: float
    timestamp: float


@dataclass(frozen=True)
class LocalBuilder:
    """Compile here. `timeout`: seconds for one candidate; `n_parallel`: processes, None as is usual."""

    timeout: float = 10
    n_parallel: int | None = None
    build_kwargs: Any = None
    build_func: Any = "default"
    do_fork: bool = False
    runtime: Any = None

    def __post_init__(self) -> None:
        if self.build_func not in ("default", "ndk", "stackvm") and not callable(self.build_func):
            raise CallError(
                "build-func", f"Invalid build_func {self.build_func!r}", legal=["default", "ndk", "stackvm"]
            )


@dataclass(frozen=True)
class LocalRunner:
    """Run here. `timeout`: seconds for one candidate; `repeat` means of at least `min_repeat_ms` each.

    The number of runs in a repeat follows from its length: `number` is read over. Results are always checked.
    """

    timeout: float = 10
    number: int = 4
    repeat: int = 3
    min_repeat_ms: float = 0
    cooldown_interval: float = 0.1
    enable_cpu_cache_flush: bool = False
    module_loader: Any = None
    check_correctness: bool = True


@dataclass(frozen=True)
class RPCRunner:
    """Run on servers of a tracker (docs/remote.md): `key` is their kind. `host`, `port`: of the tracker; without them
    what TVM_TRACKER_HOST and TVM_TRACKER_PORT say, else this machine. The rest is as in LocalRunner.
    """

    key: str
    host: str | None = None
    port: int | None = None
    priority: int = 1
    timeout: float = 10
    n_parallel: int | None = None
    number: int = 4
    repeat: int = 3
    min_repeat_ms: float = 0
    cooldown_interval: float = 0.1
    enable_cpu_cache_flush: bool = False
    module_loader: Any = None
    check_correctness: bool = True

    @property
    def boards(self) -> Any:
        """As `tune.run` takes them."""
        host = self.host or os.environ.get("TVM_TRACKER_HOST", "127.0.0.1")
        port = self.port or int(os.environ.get("TVM_TRACKER_PORT", "9190"))
        return Boards(self.key, (host, port), priority=self.priority)


def measure_option(builder: Any, runner: Any) -> dict[str, Any]:
    """How candidates are compiled and run; "local" is short for LocalBuilder() and LocalRunner()."""
    local: dict[str, Any] = {"builder": LocalBuilder, "runner": LocalRunner}
    made = {}
    for key, given in (("builder", builder), ("runner", runner)):
        if isinstance(given, str) and given != "local":
            raise CallError("measure-option", f"Invalid {key}: {given!r}", legal=['"local"', local[key].__name__])
        made[key] = local[key]() if isinstance(given, str) else given
    return made
