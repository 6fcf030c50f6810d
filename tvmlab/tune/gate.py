"""Whether the threads of a session may go on: its state, its clock, and what ends the trials that run."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from typing import Any, Literal

from .clock import Clock

State = Literal["ready", "running", "paused", "stopping", "done"]
GRACE = 0.15  # seconds that a trial which runs may go on after a pause or a stop


@dataclass
class Gate:
    """`halt`: of the trials that run now; set, they end. `late`: the time is up. `changed`: guards the state."""

    state: State = "ready"
    late: bool = False
    clock: Clock = field(default_factory=Clock)
    halt: threading.Event = field(default_factory=threading.Event)
    changed: threading.Condition = field(default_factory=threading.Condition)

    @property
    def ended(self) -> bool:
        return self.state in ("stopping", "done")

    def move(self, to: State, *of: State) -> bool:
        """Into another state, out of one of these; False where it is in none of them."""
        with self.changed:
            if self.state not in of:
                return False
            if to == "running":
                self.renew()
                self.clock.go()
            else:
                self.clock.rest()
            self.state = to
            self.changed.notify_all()
        return True

    def renew(self) -> None:
        """Trials that begin from now on run."""
        self.halt = threading.Event()

    def hold(self) -> None:
        """Wait while it is paused."""
        with self.changed:
            self.changed.wait_for(lambda: self.state != "paused")

    def wait(self, timeout: float | None) -> bool:
        """Until it is done; False if it is not by then."""
        with self.changed:
            return self.changed.wait_for(lambda: self.state == "done", timeout)

    def cut(self, measurer: Any) -> None:
        """End the trials that run, after a moment of grace."""
        halt, deadline = self.halt, time.monotonic() + GRACE
        while time.monotonic() < deadline and measurer is not None and measurer.busy:
            time.sleep(0.01)
        if measurer is not None:
            measurer.cancel(halt)
