"""Templates, tasks and their spaces, under the classic names."""

from __future__ import annotations

from ..names import lazy

_SPACE = "ConfigSpace ConfigEntity SplitEntity ReorderEntity AnnotateEntity OtherOptionEntity VirtualAxis"

__getattr__, __dir__ = lazy(
    __name__,
    {
        **dict.fromkeys("Task create InstantiationError".split(), "tvmlab.tune.task"),
        "template": "tvmlab.tune.templates",
        "get_config": "tvmlab.tune.dispatch",
        "compute_flop": "tvmlab.tune.flop",
        "FlopCalculationError": "tvmlab.tune.flop:FlopError",
        **dict.fromkeys(_SPACE.split(), "tvmlab.tune.space"),
        **dict.fromkeys("DispatchContext FallbackContext ApplyConfig ApplyHistoryBest".split(), "tvmlab.tune.dispatch"),
        "FallbackConfigEntity": "tvmlab.tune.fallback",
        "space": "=tvmlab.tune.space",
        "task": "=tvmlab.tune.task",
        "dispatcher": "=tvmlab.tune.dispatch",
    },
)
