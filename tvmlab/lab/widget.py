"""The lab's widget: the traits of `payload.State`, one module and one style sheet. What it is about stays in `Lab`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anywidget
import traitlets

from . import garbage
from .bundled import STATIC

TRAITS = ("head", "history", "frame", "selection", "actions", "runs", "message", "story")


class LabWidget(anywidget.AnyWidget):
    """State only: what a view asks goes to `answer(request, reply)`, which is the lab's."""

    _esm = STATIC / "lab.js"
    _css = STATIC / "lab.css"

    head = traitlets.Dict().tag(sync=True)
    history = traitlets.Dict().tag(sync=True)
    frame = traitlets.Dict().tag(sync=True)
    selection: Any = traitlets.List().tag(sync=True)
    actions = traitlets.Dict().tag(sync=True)
    runs = traitlets.Dict().tag(sync=True)
    message = traitlets.Dict().tag(sync=True)
    story = traitlets.Dict().tag(sync=True)

    def __init__(self, answer: Callable[[dict[str, Any]], dict[str, Any]], **state: Any) -> None:
        super().__init__(**state)
        self._answer = answer
        self.on_msg(self._received)

    def _received(self, _widget: Any, content: Any, _buffers: Any) -> None:
        if isinstance(content, dict) and "seq" in content:
            with garbage.put_off():
                self.send(self._answer(content))
