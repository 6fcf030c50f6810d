"""Libraries to compare with, each a process in a virtual environment of its own."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..machine import clean_environment
from ..rounds import Timer

HERE = Path(__file__).parent
ROOT = HERE.parents[2]


class Missing(Exception):
    """The peer is not installed, does not start, or cannot do what is asked."""


class Peer:
    """A running peer; see serve.py for what is said. It waits for input while others are timed."""

    def __init__(self, name: str) -> None:
        self.name = name
        python = Path(os.environ.get(f"TVMLAB_PEER_{name.upper()}", ROOT / ".venvs" / name / "bin" / "python"))
        if not python.exists():
            raise Missing(f"{name} is not installed: `make bench` does that")
        self.folder = tempfile.TemporaryDirectory(prefix="tvmlab-peer-")
        with open(Path(self.folder.name) / "stderr", "w") as errors:
            self.process = subprocess.Popen(
                [python, HERE / f"{name}_peer.py"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors,
                text=True, env=clean_environment(),
            )  # fmt: skip
        versions = [line.partition("==") for line in (HERE / f"{name}.txt").read_text().split() if "==" in line]
        self.version = ", ".join(f"{a} {b}" for a, _, b in versions)

    def ask(self, **request: Any) -> Any:
        pipes = self.process
        try:
            print(json.dumps(request), file=pipes.stdin, flush=True)
            line = pipes.stdout.readline()  # type: ignore[union-attr]
        except OSError:
            line = ""
        if not line:
            raise Missing(f"{self.name} stopped:\n{(Path(self.folder.name) / 'stderr').read_text()[-2000:]}")
        reply = json.loads(line)
        if "error" in reply:
            raise Missing(f"{self.name} failed:\n{reply['error']}")
        return reply

    def prepare(self, key: str, inputs: Sequence[Any] = (), **request: Any) -> Any:
        """Run it once on these arrays; its result, if there were any. `said`: what it told beside that."""
        files = [str(Path(self.folder.name) / f"{i}.npy") for i in range(len(inputs))]
        for path, array in zip(files, inputs):
            np.save(path, array)
        output = str(Path(self.folder.name) / "out.npy") if inputs else ""
        self.said = self.ask(prepare=key, inputs=files, output=output, **request)
        return np.load(output) if inputs else None

    def timer(self, key: str) -> Timer:
        def run(n: int) -> tuple[float, float]:
            reply = self.ask(time=key, n=n)
            return reply["seconds"], reply["cpu"]

        return run

    def close(self) -> None:
        if self.process.stdin:
            self.process.stdin.close()
        self.process.wait(timeout=20)
        self.folder.cleanup()
