"""What a search costs, and what it saves: on a recorded space, so all but the times is the same everywhere."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from tests.tuned import Task, conv2d, matmul
from tvmlab.tune import features
from tvmlab.tune.model import CostModel, pairwise_accuracy

from .. import overhead, recorded, replay
from ..bench import Bench, Row, median_ms
from ..rounds import Spread, timer

TITLE = "Tuning"
MANY, PROGRAMS = 1000, 50
WITHIN = (64, 128)  # trials to each of replay.NEAR


def schedules(task: Task, points: list[int]) -> list[Any]:
    return [task.instantiate(task.space.get(i)) for i in points]


def columns_of(made: list[Any]) -> list[Any]:
    """What the model needs of some schedules: their loops, and what is read off them."""
    return [features.of(s, args) for s, args in made]


def median(found: list[list[int]]) -> list[float]:
    """Trials to each of replay.NEAR."""
    return [float(np.median(trials)) for trials in zip(*found, strict=True)]


def run(bench: Bench, row: Row) -> None:
    row.heads = ("what", "how many", "ms: median [quartiles]")
    data = recorded.load()
    task, scores = matmul(*data["shape"]), recorded.scores(data["passes"])
    convolution, columns = conv2d(), replay.rows(task)
    known = np.random.default_rng(0).permutation(len(scores))[:MANY]
    points = {t: random.Random(0).choices(range(len(t.space)), k=PROGRAMS) for t in (task, convolution)}
    model = CostModel().fit(columns[known], scores[known])
    timed = {
        "schedules: matmul": timer(schedules, task, points[task]),
        "schedules: conv2d": timer(schedules, convolution, points[convolution]),
        "loops and columns: matmul": timer(columns_of, schedules(task, points[task])),
        "loops and columns: conv2d": timer(columns_of, schedules(convolution, points[convolution])),
        "fit": timer(lambda: CostModel().fit(columns[known], scores[known])),
        "predict": timer(model.predict, columns[known]),
    }
    times = bench.measure(row, "tuning", timed, block=0.05)
    for what, seconds in times.items():
        row.line(what, PROGRAMS if ":" in what else MANY, median_ms(seconds))
    seconds = {what: Spread.of(t).median for what, t in times.items()}
    for what in ("loops and columns: matmul", "loops and columns: conv2d"):
        all_of_them = seconds[what] * MANY / PROGRAMS
        row.check(f"{what}, {MANY} programs", "under 3 s", f"{all_of_them:.1f} s", all_of_them < 3)
    row.check(f"fit the model to {MANY} rows", "under 350 ms", f"{seconds['fit'] * 1e3:.0f} ms", seconds["fit"] < 0.35)
    trials_to_the_best(row, task, scores, columns, data)
    accuracy = replay.quality(columns, scores, 128)[0]
    row.check("pairs in the right order after 128 trials", "80%", f"{accuracy:.0%}", accuracy >= 0.8)
    engine = overhead.measured()
    row.line("engine: run of a small matmul", engine.trials, f"{1e3 * engine.seconds:.0f}")
    row.line("engine: of it with nothing being measured", engine.trials, f"{1e3 * engine.idle:.0f}")
    row.check(f"engine: share of a run of {engine.trials} trials in which all processes wait for it", "under 10%",
              f"{engine.share:.1%}", engine.share < 0.1)  # fmt: skip


def trials_to_the_best(row: Row, task: Task, scores: Any, columns: Any, data: dict[str, Any]) -> None:
    """Of the learned search, of others, and of the learned search with a model of other shapes."""
    make, model = replay.prepared(task, columns), replay.learned_elsewhere(data)
    found = median(replay.compare(task, scores, make))
    warm = median(replay.compare(task, scores, lambda seed: make(seed, model=model)))
    peers = {name: median(replay.compare(task, scores, peer)) for name, peer in replay.peers(task).items()}
    for k, (near, within) in enumerate(zip(replay.NEAR, WITHIN, strict=True)):
        theirs = replay.chance(scores, near)
        others = "".join(f", {name} {medians[k]:.0f}" for name, medians in peers.items())
        row.check(f"trials to {near:.0%} of the best", f"{within}, half of chance",
                  f"{found[k]:.0f}, by chance {theirs}{others}", found[k] <= min(within, theirs / 2))  # fmt: skip
        row.check(f"and with a model of {len(data['others'])} other shapes", "half again", f"{warm[k]:.0f}",
                  warm[k] <= found[k] / 2)  # fmt: skip
    accuracy = pairwise_accuracy(model.predict(columns), scores)
    row.notes.append(f"The model of other shapes puts {accuracy:.0%} of this one's pairs in the right order.")
