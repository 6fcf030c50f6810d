"""The classic tuners, over `tvmlab.tune.run`'s sessions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from ..core.error import LabError
from ..tune import search as searches
from ..tune.model import learned
from ..tune.session import Session
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
        session = Session(
            self.task, n_trial, search=self._searching(), setup=_setup(measure_option), on_trial=lambda r: told(r),
            **_elsewhere(measure_option),
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
        best = self.result.best  # of those that were timed again at the end
        if best is not None:
            self.best_config = self.task.space.get(best.index)
            self.best_flops = (self.task.flop or 1.0) / best.seconds

    def load_history(self, data_set: Any, min_seed_records: int = 500) -> None:
        """Pairs (input, result) of earlier trials: what a search can learn from them, it starts with.

        Here that is nothing; they are measured again. `min_seed_records` is read over: few are of use too.
        """
        self._history += list(data_set)

    def _searching(self) -> Any:
        """A search, or its name."""
        return self.search

    def _own(self) -> list[tuple[int, float | None]]:
        """(point, score) of the history that is of this task."""
        return _told(self.task, self._history)

    def reset(self) -> None:
        """Forget the best."""
        self.best_config, self.best_flops, self.best_iter = None, 0.0, 0


class RandomTuner(Tuner):
    """Points by chance, none twice."""


class GridSearchTuner(Tuner):
    """Points in their order."""

    search = "grid"


class GATuner(Tuner):
    """A genetic search. Its first parents are the history's trials of this task, which are not measured again."""

    search = "genetic"

    def __init__(self, task: Any, pop_size: int = 100, elite_num: int = 3, mutation_prob: float = 0.1) -> None:
        super().__init__(task)
        self._options = {"population": pop_size, "elite": elite_num, "mutation": mutation_prob}

    def _searching(self) -> Any:
        found = searches.get(self.search)(self.task, **self._options)
        found.tell(self._own())
        return found


class XGBTuner(Tuner):
    """A search that anneals on a model of the cost, which learns from what is measured.

    From a history it learns before the first batch, also from trials of other tasks. The options that say how the
    model is grown (`loss_type`, `feature_type`, `plan_size`, ...) are read over: it is one of LightGBM's.
    """

    search = "annealing"

    def _searching(self) -> Any:
        if not self._history:
            return self.search
        tasks = {inp.task.workload: inp.task for inp, _ in self._history}.values()
        model = learned([(task, _told(task, self._history)) for task in tasks])
        return searches.get(self.search)(self.task, model=model if model.booster is not None else None)


class DropletTuner(Tuner):
    """Coordinate descent. `start_position`: the place of a candidate along each choice.

    Unless given, it is the best point of the history, or the first one. `pvalue`: the chance of taking equal times for
    different ones that is allowed for.
    """

    search = "droplet"

    def __init__(self, task: Any, start_position: Sequence[int] | None = None, pvalue: float = 0.05) -> None:
        super().__init__(task)
        self.start_position, self.pvalue = start_position, pvalue

    def _searching(self) -> Any:
        start = self.start_position
        own = [(s, i) for i, s in self._own() if s is not None]
        if start is None and own:  # from the best that is known
            start = self.task.space.point2knob(max(own)[1])
        return searches.get(self.search)(self.task, start=start, pvalue=self.pvalue)


def _told(task: Any, history: Sequence[Any]) -> list[tuple[int, float | None]]:
    """(point, score) of the trials of a task."""
    mine = [(_place(task, inp.config), _score(inp, res)) for inp, res in history if inp.task.workload == task.workload]
    return [(place, score) for place, score in mine if place is not None]


def _place(task: Any, config: Any) -> int | None:
    """The point of a task's space with a record's choices; None where there is none."""
    try:
        return int(task.space.from_json_config(config.to_json()).index)
    except (LabError, IndexError):
        return None


def _score(inp: Any, res: Any) -> float | None:
    """Higher is better; None of a failure."""
    if res.error_no != 0:
        return None
    return float((inp.task.flop or 1.0) * len(res.costs) / sum(map(float, res.costs)) / 1e9)


def _elsewhere(option: Any) -> dict[str, Any]:
    """Where candidates run, if not here."""
    boards = getattr(option["runner"], "boards", None)
    return {} if boards is None else {"fleet": boards}


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
