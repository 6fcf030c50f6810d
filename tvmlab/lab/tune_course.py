"""How a session of the lab begins, here or once a fleet was reached, and how it ends: each in a thread of its own."""

from __future__ import annotations

import threading
from typing import Any

from ..core.error import LabError
from ..tune.session import Session
from . import timing, tune_file


def begin(tuning: Any) -> None:
    """With `tuning._turn` held. Refused: what cannot be tuned, or written."""
    if tuning.session is None or tuning.session.state != "ready":
        tuning._prepare(tuning.records)
    if tuning.session is None or tuning.task is None:
        raise tuning.why or LabError("nothing-opened", "nothing is opened")
    tune_file.remember(tuning)
    tuning._wanted, tuning.error = True, None
    timing.begin(tuning)
    tuning._over.clear()
    if tuning.where.elsewhere:
        tuning.where.connect(tuning.session.setup, lambda measurer, error: _reached(tuning, measurer, error))
    else:
        _go(tuning, tuning.session)


def _go(tuning: Any, session: Session) -> None:
    _need_budget(tuning, session)
    session.start()
    if tuning._resting or not tuning._wanted:
        session.pause()
    threading.Thread(target=_await, args=(tuning, session), name="tvmlab tuning ends", daemon=True).start()


def _need_budget(tuning: Any, session: Session) -> None:
    s, done = tuning.settings, session.progress.done
    if s.trials is None or done < s.trials:
        return
    tuning._usual = tuning._usual or s.trials
    tuning.settings = s.changed({"trials": done + s.trials})
    session.trials = tuning.settings.trials
    tuning.notes.append(f"the budget was used up: it is {session.trials} trials now")
    tuning.lab.later.soon(tuning.lab.tune_changed)


def _reached(tuning: Any, measurer: Any, error: Exception | None) -> None:
    """In the thread that connected: the trials of machines like that count, and it begins."""
    with tuning._turn:
        if not tuning.where.connecting:  # a stop came first
            tuning.where.close()
            return
        try:
            if error is not None:
                raise error
            known = tuning.records
            tuning._forget()
            tuning._prepare(known, measurer)
            if tuning.session is None:
                raise tuning.why or LabError("nothing-opened", "nothing is opened")
            _go(tuning, tuning.session)
        except Exception as e:
            tuning.error = e
            not_begun(tuning)
        tuning.where.give_up()  # it is no longer on its way
    tuning._changed()


def not_begun(tuning: Any) -> None:
    """A fleet was not reached, or is no longer waited for. With `tuning._turn` held."""
    tuning.where.close()
    timing.end(tuning)
    tuning._changed()
    _say_so(tuning, tuning.error is not None)


def _await(tuning: Any, session: Session) -> None:
    """In a thread of its own: until the session ends."""
    try:
        session.wait()
    except Exception as e:  # what stood in the way of the first trial
        tuning.error = e
    with tuning._turn:
        if tuning.session is session:  # else the next one is on
            tuning.where.close()
            timing.end(tuning)
    tuning._changed()
    _say_so(tuning, True, session)


def _say_so(tuning: Any, aloud: bool, session: Session | None = None) -> None:
    """It has ended."""
    lab = tuning._lab()
    try:
        if lab is not None and aloud and not tuning._closed:
            lab.later.soon(lab.tune_ended)
    finally:
        if session is None or tuning.session is session:
            tuning._over.set()
