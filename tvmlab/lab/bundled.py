"""What was built of the front end: files of the package, made by `python extension/front.py`."""

from __future__ import annotations

from pathlib import Path

from ..core.error import LabError
from ..view.payload import Module

STATIC = Path(__file__).parents[1] / "view" / "static"
LATER = ("tune",)  # parts that a browser asks for when they are first opened


def module(name: str) -> Module:
    """A part that is loaded later. One that has no styles has no file of them."""
    if name not in LATER:
        raise LabError("no-such-module", f"the lab has no part {name!r}", legal=LATER)
    code, styles = STATIC / f"{name}.js", STATIC / f"{name}.css"
    if not code.exists():
        raise LabError(
            "not-built", f"the part {name!r} of the lab's front end is not built: there is no {code.name}",
            hint="a checkout builds it with: python extension/front.py",
        )  # fmt: skip
    return {
        "js": code.read_text(encoding="utf-8"),
        "css": styles.read_text(encoding="utf-8") if styles.exists() else "",
    }
