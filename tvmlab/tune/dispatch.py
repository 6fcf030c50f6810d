"""Which configuration a template gets: the innermost context that has one for this target and workload.

with apply_history_best("matmul.log"), Target("llvm"):
    s, args = matmul(1024, 1024, 1024)                     # the best one that was recorded
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextvars import ContextVar, Token
from os import PathLike
from typing import Any

from ..core.error import LabError
from ..core.warning import warn
from ..target.base import Target
from . import records as recording
from .fallback import FallbackConfigEntity
from .space import Config
from .workload import Workload, shown, workload_of

Query = tuple[str, Workload]


class DispatchError(LabError):
    """A configuration that cannot be looked up. (A RuntimeError.)"""


class DispatchContext:
    """`with context:` answers templates inside; what it does not know is asked of the context around it."""

    def __init__(self) -> None:
        self._tokens: list[Token[tuple[DispatchContext, ...]]] = []

    def __enter__(self) -> DispatchContext:
        self._tokens.append(_open.set((*_open.get(), self)))
        return self

    def __exit__(self, *error: object) -> None:
        _open.reset(self._tokens.pop())

    def find(self, target: Target | None, workload: Any) -> Any:
        """The configuration, or None."""
        raise NotImplementedError

    def update(self, target: Any, workload: Any, cfg: Any) -> None:
        """From now on, that configuration for that target and workload."""
        raise NotImplementedError

    def query(self, target: Any, workload: Any) -> Any:
        """The configuration from this context or those around it (of one that is not open, all that are)."""
        target = None if target is None else Target(target)
        around = _open.get()
        chain = around[: around.index(self) + 1] if self in around else (*around, self)
        found = (context.find(target, workload) for context in reversed(chain))
        known = next((cfg for cfg in found if cfg is not None), None)
        return FALLBACK.find(target, workload) if known is None else known


class ApplyConfig(DispatchContext):
    """The same configuration for every template."""

    def __init__(self, config: Any) -> None:
        super().__init__()
        self._config = config

    def find(self, target: Target | None, workload: Any) -> Any:
        return self._config

    def update(self, target: Any, workload: Any, cfg: Any) -> None:
        self._config = cfg


class ApplyFixedConfig(DispatchContext):
    """A configuration for each template, by its name.

    `tasks`: {template's name: configuration}, or a list of tasks whose first point is taken; `schedule_names`: of which
    of them (all, unless given).
    """

    def __init__(self, tasks: Any, schedule_names: Any = None) -> None:
        super().__init__()
        self.schedule_names = [schedule_names] if isinstance(schedule_names, str) else schedule_names
        if not isinstance(tasks, Mapping):
            tasks = {t.name: t.space.get(0) for t in tasks}
        self._configs = dict(tasks)

    def find(self, target: Target | None, workload: Any) -> Any:
        name = workload[0] if workload else None
        wanted = self.schedule_names is None or name in self.schedule_names
        return self._configs.get(name) if wanted else None

    def update(self, target: Any, workload: Any, cfg: Any) -> None:
        self._configs[workload[0]] = cfg


class ApplyHistoryBest(DispatchContext):
    """The fastest configuration that was recorded for the target and the workload.

    `records`: the path of a log, an open one, pairs (input, result), or a list of such.
    """

    def __init__(self, records: Any = None) -> None:
        super().__init__()
        self._best: dict[Query, tuple[float, Any]] = {}
        self._chosen: dict[Query, Any] = {}
        if records is not None:
            self.load(records)

    def load(self, records: Any) -> None:
        """More records."""
        for target, workload, cost, config in _trials(records):
            for key in _keys(target):
                known = self._best.get((key, workload))
                if known is None or cost < known[0]:
                    self._best[key, workload] = cost, config

    def find(self, target: Target | None, workload: Any) -> Any:
        if target is None:
            raise DispatchError(
                "no-target", "Need a target context to find the history best",
                hint='with Target("llvm"): ... around the call of the template',
            )  # fmt: skip
        keys = [(key, workload) for key in _keys(target)]
        chosen = [self._chosen[k] for k in keys if k in self._chosen]
        return (chosen + [self._best[k][1] for k in keys if k in self._best] + [None])[0]

    def update(self, target: Any, workload: Any, cfg: Any) -> None:
        self._chosen[_keys(target)[0], workload] = cfg


def _keys(target: Any) -> list[str]:
    """What a record is found by: the target with its options, its name, its family."""
    try:
        target = Target(target)
    except LabError:  # a log of elsewhere, with options that mean nothing here
        target = Target(str(target).split()[0])
    return [str(target), target.name, *target.keys]


def _trials(records: Any) -> Iterator[tuple[Any, Workload, float, Any]]:
    """(target, workload, seconds, configuration) of what did not fail."""
    if isinstance(records, (str, PathLike)) or hasattr(records, "read"):
        records = _read(records)
    records = list(getattr(records, "history", records))  # also a result
    ours = [r for r in records if hasattr(r, "outcome")]  # tune.records.Record
    if ours:
        records = [*recording.contenders(ours), *(r for r in records if not hasattr(r, "outcome"))]
    for one in records:
        if isinstance(one, tuple) and len(one) == 2 and hasattr(one[0], "config"):  # (MeasureInput, MeasureResult)
            inp, res = one
            if not res.error_no:
                cost = sum(map(float, res.costs)) / len(res.costs)
                yield inp.target, workload_of(inp.task.name, inp.task.args), cost, inp.config
        elif hasattr(one, "outcome"):
            if one.outcome == "ok" and one.times:
                config = Config.from_json_dict({"index": one.index, "entity": one.config})
                yield one.target, workload_of(one.task, one.args), sum(one.times) / len(one.times), config
        else:
            yield from _trials(one)


def _read(log: Any) -> Iterable[Any]:
    """A file of tune.records, or a classic log; also one that is open."""
    if not hasattr(log, "read"):
        return recording.load(log)
    text = log.read()
    return recording.parsed(text if isinstance(text, bytes) else text.encode(), str(getattr(log, "name", "the log")))


class FallbackContext(DispatchContext):
    """Where nobody knows: a configuration of first candidates, and one warning for each workload."""

    def __init__(self) -> None:
        super().__init__()
        self.memory: dict[Query, Any] = {}
        self._silent: set[Query] = set()

    def find(self, target: Target | None, workload: Any) -> Any:
        key = (str(target), workload)
        if key in self.memory:
            return self.memory[key]
        if workload is not None and key not in self._silent:
            self._silent.add(key)
            warn(
                f"Cannot find config for target={target}, workload={shown(workload)}: the first candidates are taken, "
                "which may be slow. Tune it, or open a log of its tuning: with apply_history_best(path): ..."
            )
        return FallbackConfigEntity()

    def clear_cache(self, target: Any, workload: Any) -> None:
        """Forget what was set for it."""
        self.memory.pop((str(Target(target)), workload), None)

    def update(self, target: Any, workload: Any, cfg: Any) -> None:
        self.memory[str(Target(target)), workload] = cfg

    def silence(self, target: Any, workload: Any) -> None:
        """No warning for it."""
        self._silent.add((str(target), workload))


FALLBACK = FallbackContext()
_open: ContextVar[tuple[DispatchContext, ...]] = ContextVar("dispatch contexts", default=())


def current() -> DispatchContext:
    """The innermost context."""
    return (FALLBACK, *_open.get())[-1]


def get_config() -> Any:
    """Inside a template: what it defines its choices on and reads them from."""
    return current().query(Target.current(), None)
