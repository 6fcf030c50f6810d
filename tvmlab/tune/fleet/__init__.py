"""A fleet: other machines that measure the candidates of a session.

    tune.run(task, trials=500, fleet="tcp://10.0.0.1:8786")            the address of a scheduler of dask.distributed
    tune.run(task, trials=500, fleet=Client(...))                      or a client of it
    tune.run(task, trials=500, fleet=tune.Fleet(client, need=["a72"])) with choices

docs/fleet.md says how scheduler and workers are started.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...core.error import CallError

if TYPE_CHECKING:
    from ..measure import Setup

ANY = "any"  # `Fleet.machine`: all kinds of machines
SCHEDULERS = ('the address of a scheduler: "tcp://host:8786"', "a Client of dask.distributed")
METHODS = ("measure", "cancel", "close", "warm")


@dataclass(frozen=True)
class Fleet:
    """The workers of a scheduler of dask.distributed, and which of them measure.

    `scheduler`: its address, or a Client. `security`: a `distributed.Security`, for an address that begins with
    `tls://`. `machine`: words of the description of the machines that measure; without it those there are most of,
    with `"any"` all, whose times do not compare. `need`: names of resources a worker has to have been started with.
    `silent`: seconds without a sign of life after which a worker is given up. `patience`: seconds that are waited for a
    worker when there is none.
    """

    scheduler: Any
    security: Any = None
    machine: str = ""
    need: Sequence[str] = ()
    silent: float = 15.0
    patience: float = 60.0

    def __post_init__(self) -> None:
        _need("machine", isinstance(self.machine, str), self.machine, 'words of a description: "EPYC"', f'"{ANY}"')
        names = not isinstance(self.need, str) and isinstance(self.need, Iterable)
        _need("need", names and all(isinstance(n, str) for n in self.need), self.need, 'a list of names: ["board"]')
        for name in ("silent", "patience"):
            _need(name, _seconds(value := getattr(self, name)), value, "a number of seconds above 0")

    def open(self, setup: Setup) -> Any:
        """Connect, and find out which workers can measure that. Refused: when there is none."""
        from .measurer import FleetMeasurer

        return FleetMeasurer(self, setup)


def _seconds(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < float("inf")


def _need(name: str, true: bool, value: Any, *legal: str) -> None:
    if not true:
        raise CallError("fleet", f"{name} of a fleet cannot be {value!r}", legal=[f"{name}: {x}" for x in legal])


def opened(fleet: Any, setup: Setup) -> Any:
    """Who measures: by the type of what a person gave as `fleet`."""
    found = checked(fleet)
    return found if measures(found) else found.open(setup)


def measures(fleet: Any) -> bool:
    """Does it measure as it is?"""
    return all(callable(getattr(fleet, name, None)) for name in METHODS)


def checked(fleet: Any) -> Any:
    """What measures, or what has `open`; nothing is connected. Refused: what can be neither."""
    if measures(fleet) or hasattr(fleet, "open"):
        return fleet
    if isinstance(fleet, str) or hasattr(fleet, "scheduler_info"):
        return Fleet(fleet)
    raise CallError(
        "fleet", f"a fleet cannot be {fleet!r}",
        legal=[*SCHEDULERS, "tune.Fleet(...)"],
        hint="docs/fleet.md says how workers are started",
    )  # fmt: skip
