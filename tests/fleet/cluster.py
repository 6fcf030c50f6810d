"""A scheduler and workers on loopback, each a process of its own, started as docs/fleet.md says."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from .jobs import GATE

ROOT = Path(__file__).parents[2]
START = 60.0  # seconds for a process to be there


class Cluster:
    """`tls`: the options of the command line that name certificates."""

    def __init__(self, folder: Path, *tls: str) -> None:
        self.folder, self.tls = folder, tls
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.file, self.gate = folder / "scheduler.json", folder / "gate"
        protocol = ["--protocol", "tls"] if tls else []
        self._start("scheduler", "--host", "127.0.0.1", "--port", "0", "--scheduler-file", str(self.file), *protocol)
        self.address = str(self._written()["address"])

    def worker(self, name: str, *options: str) -> int:
        """Begin to start one; its process."""
        words = ["--nthreads", "1", "--no-nanny", "--name", name, "--local-directory", str(self.folder), *options]
        return self._start("worker", self.address, *words, name=name)

    def signal(self, name: str, number: int) -> None:
        os.kill(self.processes[name].pid, number)

    def end(self, name: str) -> None:
        process = self.processes.pop(name)
        for number in (signal.SIGCONT, signal.SIGKILL):
            process.send_signal(number)
        process.wait(30)

    def close(self) -> None:
        for name in list(self.processes):
            self.end(name)

    def said(self, name: str) -> str:
        return (self.folder / f"{name}.log").read_text()

    def _start(self, what: str, *options: str, name: str = "scheduler") -> int:
        (own := self.folder / name).mkdir(exist_ok=True)  # with a folder of their own, workers take no turns
        path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
        with (self.folder / f"{name}.log").open("wb") as log:
            self.processes[name] = subprocess.Popen(
                [sys.executable, "-m", f"distributed.cli.dask_{what}", *options, *self.tls, "--no-dashboard"],
                stdout=log, stderr=log,
                env={**os.environ, "PYTHONPATH": path, "TMPDIR": str(own), GATE: str(self.gate)},
            )  # fmt: skip
        return self.processes[name].pid

    def _written(self) -> Any:
        deadline = time.monotonic() + START
        while time.monotonic() < deadline:
            try:
                return json.loads(self.file.read_text())
            except (OSError, ValueError):
                time.sleep(0.05)
        raise TimeoutError(self.said("scheduler"))
