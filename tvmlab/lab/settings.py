"""What a person has set: how labs begin that are not told otherwise. The names are those of extension/schema/*.json.

    tvmlab.options.defaultTarget = "numba"     from Python: refused if it cannot be, and wins over JupyterLab's settings
    del tvmlab.options.defaultTarget           JupyterLab's setting again, else the usual value

JupyterLab's settings come over the comm of `panel.py`, which opens when the kernel shows its first lab. What they hold
that this version does not know, or that cannot be, is passed over.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields
from typing import Any

from ..analysis import machine as machines
from ..analysis.machine import Machine
from ..core.error import LabError, MissingName
from ..face.api import as_target
from ..face.fits import refused
from ..face.options import MOST_ROUNDS, MOST_SECONDS, OptionError, Options
from ..runtime.gpu import devices
from ..schedule.trace import Trace
from ..view.frame import bound

USUAL_TARGET = "llvm"
USUAL_RUN = Options()


@dataclass(frozen=True)
class Budget:
    """Of a run: `seconds` it may take; `rounds`: in how many two schedules are measured in turns."""

    seconds: float = USUAL_RUN.limit
    rounds: int = USUAL_RUN.rounds


@dataclass(frozen=True)
class Settings:
    """`defaultTarget`, `machineModel`: "" is tvmlab's own choice. `runBudget`: what it leaves out is as usual.

    `staticCompanion`: is a still copy kept in the notebook under a lab? `allowUnknown`: may a step be taken from the
    widget of which nobody knows whether it is legal?
    """

    defaultTarget: str = ""
    machineModel: str = ""
    runBudget: Budget = field(default_factory=Budget)
    staticCompanion: str = "auto"
    allowUnknown: str = "ask"

    def __post_init__(self) -> None:
        _target(self.defaultTarget)
        if self.machineModel not in ("", *machines.names()):
            raise _refused("machineModel", self.machineModel, ['""', *machines.names()])
        object.__setattr__(self, "runBudget", _budget(self.runBudget))
        _one_of("staticCompanion", self.staticCompanion, ["auto", "never"])
        _one_of("allowUnknown", self.allowUnknown, ["ask", "never"])


NAMES = [f.name for f in fields(Settings)]


def _refused(name: str, value: Any, legal: list[str]) -> OptionError:
    return OptionError("option", f"{name} cannot be {value!r}", legal=legal)


def _one_of(name: str, value: Any, legal: list[str]) -> None:
    if value not in legal:
        raise _refused(name, value, legal)


def _target(value: Any) -> None:
    try:
        good = isinstance(value, str) and (not value or bool(as_target(value)))
    except (LabError, ValueError, TypeError):
        good = False
    if not good:
        raise _refused("defaultTarget", value, ['""', "llvm", "numba"])


def _budget(value: Any) -> Budget:
    try:
        made = value if isinstance(value, Budget) else Budget(**value)
        Options(limit=made.seconds, rounds=made.rounds)
    except (TypeError, OptionError):
        seconds, rounds = f"0.1 to {MOST_SECONDS:g}", f"3 to {MOST_ROUNDS}"
        legal = f'{{"seconds": a number from {seconds}, "rounds": a whole number from {rounds}}}'
        raise _refused("runBudget", value, [legal]) from None
    return made


# ---------------------------------------------------------------- what holds

_heard: dict[str, Any] = {}  # from JupyterLab
_said: dict[str, Any] = {}  # in this kernel, which wins
_came = False


def now() -> Settings:
    return Settings(**{**_heard, **_said})


def heard(values: Any) -> bool:
    """JupyterLab's settings, as they are now. Were they the first ones?"""
    global _came
    first, _came = not _came, True
    _heard.clear()
    for name, value in values.items() if isinstance(values, Mapping) else ():
        if name in NAMES:
            with suppress(LabError):
                _heard[name] = getattr(Settings(**{name: value}), name)
    return first


def target(asked: Any = None, trace: Trace | None = None) -> str:
    """The target of a lab, with its options, as text. `trace`: what it has to run, where nobody has asked for one."""
    found = as_target(asked if asked is not None else now().defaultTarget or USUAL_TARGET)
    if asked is None and trace is not None and not found.kind.threads and bound(trace):
        return with_threads(trace)
    return str(found)


def with_threads(trace: Trace) -> str:
    """What runs these threads here: a device, else Numba's simulator, else the interpreter."""
    here = [kind for kind in ("opencl", "cuda") if devices.listing(kind).devices] + ["interp"]
    return next((name for name in here if refused(trace, as_target(name)) is None), here[0])


def machine(asked: Any = None) -> Machine:
    return machines.get(asked or now().machineModel or None)


def of_runs() -> dict[str, Any]:
    """Options of a lab's runs."""
    budget = now().runBudget
    return {"limit": budget.seconds, "rounds": budget.rounds}


class _Said:
    """`tvmlab.options`: how labs begin that are made from now on."""

    def __getattr__(self, name: str) -> Any:
        return getattr(now(), self._known(name))

    def __setattr__(self, name: str, value: Any) -> None:
        _said[name] = getattr(Settings(**{self._known(name): value}), name)

    def __delattr__(self, name: str) -> None:
        _said.pop(self._known(name), None)

    def __dir__(self) -> list[str]:
        return NAMES

    def __repr__(self) -> str:
        return repr(now()).replace("Settings", "tvmlab.options", 1)

    def _known(self, name: str) -> str:
        if name not in NAMES:
            raise MissingName("no-such-option", f"there is no option `{name}`", legal=NAMES)
        return name


options = _Said()
