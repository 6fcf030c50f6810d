"""The classic tuners, over `tvmlab.tune.run`'s sessions."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any, ClassVar

from ..core.error import LabError, MissingName
from .measure import MeasureErrorNo, MeasureInput, MeasureResult

E = MeasureErrorNo
OUTCOMES = {
    "ok": E.NO_ERROR, "instantiation": E.INSTANTIATION_ERROR, "compile": E.COMPILE_HOST, "wrong": E.WRONG_ANSWER,
    "crash": E.RUNTIME_DEVICE, "memory": E.RUNTIME_DEVICE, "timeout": E.RUN_TIMEOUT,
}  # fmt: skip


class Tuner:
    """`tuner.tune(n_trial=..., measure_option=..., callbacks=[...])`."""

    search: ClassVar[str] = "random"

    def __init__(self, task: Any, **options: Any) -> None:
        self.task, self.options = task, options
        self.best_config: Any = None
        self.best_flops = 0.0
        self.best_iter = 0
        self.ttl: Any = None
        self.result: Any = None
        self._history: list[Any] = []

    def tune(
        self, n_trial: int, measure_option: Any, early_stopping: int | None = None, callbacks: Sequence[Any] = (),
        si_prefix: str = "G",
    ) -> None:  # fmt: skip
        """Measure `n_trial` configurations; stop after `early_stopping` in a row that were no better than the best."""
        session = _part("session").Session(
            self.task, n_trial, search=self.search, setup=_setup(measure_option), on_trial=lambda r: told(r)
        )
        count = 0

        def told(r: Any) -> None:
            nonlocal count
            if r.kind != "trial" or r.index < 0:
                return
            given, result = _classic(self.task, r)
            if result.error_no == 0:
                speed = (self.task.flop or 1.0) / (sum(result.costs) / len(result.costs))
                if speed > self.best_flops:
                    self.best_config, self.best_flops, self.best_iter = given.config, speed, count
            count += 1
            for callback in callbacks:
                callback(self, [given], [result])
            if early_stopping is not None and count > self.best_iter + early_stopping:
                session.stop()

        session.start()
        try:
            while not session.wait(0.2):
                pass
        finally:
            session.stop()
        self.result = session.result

    def load_history(self, data_set: Any, min_seed_records: int = 500) -> None:
        """Accepted: what is measured is what counts here."""
        self._history += list(data_set)

    def reset(self) -> None:
        """Forget the best."""
        self.best_config, self.best_flops, self.best_iter = None, 0.0, 0


class RandomTuner(Tuner):
    """Points by chance, none twice."""


class GridSearchTuner(Tuner):
    """Points in their order."""

    search = "grid"


class GATuner(Tuner):
    """A genetic search."""

    search = "genetic"


class XGBTuner(Tuner):
    """A search that anneals on a model of the cost, which learns from what is measured."""

    search = "annealing"


def _setup(option: Any) -> dict[str, Any]:
    builder, runner = option["builder"], option["runner"]
    return {
        "compile_limit": float(builder.timeout), "jobs": builder.n_parallel or 0, "run_limit": float(runner.timeout),
        "repeats": max(runner.repeat, 1), "min_ms": max(float(runner.min_repeat_ms), 1.0),
        "flush": runner.enable_cpu_cache_flush,
    }  # fmt: skip


def _classic(task: Any, r: Any) -> tuple[MeasureInput, MeasureResult]:
    number = OUTCOMES.get(r.outcome, E.UNKNOWN_ERROR)
    if number == E.RUN_TIMEOUT and r.phase == "compile":
        number = E.BUILD_TIMEOUT
    costs = tuple(r.times) if number == E.NO_ERROR else (LabError(r.outcome, r.reason),)
    config = task.space.get(r.index)
    return MeasureInput(task.target, task, config), MeasureResult(costs, int(number), sum(r.times) + r.compile, r.at)


def _part(name: str) -> Any:
    """A part of tvmlab.tune, or what is said where it is not there."""
    try:
        return import_module(f"tvmlab.tune.{name}")
    except ModuleNotFoundError as e:
        if e.name != f"tvmlab.tune.{name}":
            raise
        raise MissingName("not-yet", "tuning by measuring is not there yet", hint="task.instantiate(config)") from None
