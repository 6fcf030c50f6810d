"""One output of a notebook that follows a session: the trials, the fastest of them, and how long it will take.

It is displayed once and then updated in place, from a thread of its own, so that the cell need not wait. What it shows
last stays: a session that ends, is stopped or interrupted leaves its picture.

While trials come it is the still twin, as HTML; the Plotly figure takes its place in a pause and at the end. (Plotly's
viewer in JupyterLab draws an output once and passes over what it is updated to, as of plotly 7.1. A FigureWidget
follows, but brings 5 MB of script into each cell, which the machine that measures has to send and to run.)
"""

from __future__ import annotations

import threading
import time
from html import escape
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from ..core.hooks import put
from ..tune.session import Session
from ..tune.watch import ended
from . import tuned_figures as figures
from .rich import page
from .shown import image
from .tuned import BEST, bundle, fastest, wrong
from .tuned_still import still

OFTEN, RESTED = 0.4, 10.0  # seconds between two updates at least; and so many times what one takes
PATIENCE = 5.0  # seconds for the last picture
RESTING = ("paused", "done")


@put("live", Session)
class Follower:
    """`begin` displays, `end` waits for the last picture."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.thread = threading.Thread(target=self._follow, name="tvmlab plots", daemon=True)
        self.drawn = find_spec("plotly") is not None
        self.handle: Any = None

    def begin(self) -> None:
        show: Any = import_module("IPython.display").display
        self.handle = show(self.picture(), raw=True, display_id=True)
        self.thread.start()

    def end(self) -> None:
        self.thread.join(PATIENCE)

    def _follow(self) -> None:
        shown, wait = self._now(), OFTEN
        while not ended(self.session, wait):
            if (now := self._now()) == shown:
                continue
            start = time.monotonic()
            self.handle.update(self.picture(), raw=True)
            shown, wait = now, max(OFTEN, RESTED * (time.monotonic() - start))
        self.handle.update(self.picture(), raw=True)

    def _now(self) -> str:
        return f"{len(self.session.records)} {self.session.progress}"

    def picture(self) -> dict[str, Any]:
        """As it stands."""
        result = self.session.result
        best, said = result.table(BEST), str(result.progress)
        name = figures.called(self.session.task)
        trials = figures.progress(result.records, f"{escape(name)}, {escape(said)}", result.retimed)
        text, below = f"{name}, {said}\n{best}", page(fastest(result), *wrong(result))
        if self.drawn and self.session.state in RESTING:
            return {**bundle(figures.with_board(trials, best), text), "text/html": image(still(trials), said) + below}
        return {"text/plain": text, "text/html": f"<div>{still(trials)}</div>{below}"}
