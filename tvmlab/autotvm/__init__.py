"""The classic names of tuning: `from tvmlab import autotvm`. What they stand for is in `tvmlab.tune`."""

from __future__ import annotations

from ..names import lazy

_ABSENT = dict.fromkeys(
    ("register_topi_compute", "register_topi_schedule", "ApplyGraphBest", "apply_graph_best"),
    "schedules of topi are functions that take no configuration: write a template around the computation",
) | {
    "feature": "features of a schedule are in tvmlab.analysis: s.lab() shows them",
    "tophub": "there is no collection of tuned logs: tune, and keep the log",
    "database": "records are files: autotvm.callback.log_to_file(path)",
    "graph_tuner": "graphs of operators are not there yet: write them with te and topi",
}

__getattr__, __dir__ = lazy(
    __name__,
    {
        **{n: f"={__name__}.{n}" for n in "task measure record tuner callback".split()},
        "template": "tvmlab.tune.templates",
        "create": "tvmlab.tune.task",
        "get_config": "tvmlab.tune.dispatch",
        "ConfigEntity": "tvmlab.tune.space",
        **dict.fromkeys("DispatchContext FallbackContext ApplyConfig".split(), "tvmlab.tune.dispatch"),
        "apply_history_best": "tvmlab.tune.dispatch:ApplyHistoryBest",
        "apply_fixed_config": "tvmlab.tune.dispatch:ApplyFixedConfig",
        **dict.fromkeys(
            "measure_option MeasureInput MeasureResult MeasureErrorNo LocalBuilder LocalRunner RPCRunner".split(),
            f"{__name__}.measure",
        ),
    },
    _ABSENT,
)
