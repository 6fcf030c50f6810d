"""The search templates of the gallery: points by chance equal NumPy at odd shapes, the first is the hand schedule."""

import inspect
import pickle
import random
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tvmlab
from tests.cpu.test_kernels_operators import arrays_for
from tvmlab import kernels, tune
from tvmlab.error import LabError
from tvmlab.tune.candidate import Candidate, candidate

ODD = {
    "matmul": [
        {"m": 131, "n": 301, "k": 141},
        {"m": 70, "n": 130, "k": 133, "transpose_a": True},
        {"m": 35, "n": 70, "k": 130, "batch": 2, "transpose_b": True, "dtype": "float64"},
    ],
    "conv2d": [
        {"height": 14, "width": 15, "in_channel": 37, "out_channel": 13, "kernel": 3, "stride": 2, "padding": 1},
        {"height": 6, "width": 9, "in_channel": 6, "out_channel": 12, "kernel": (1, 3), "groups": 2, "batch": 2},
        {"height": 7, "width": 7, "in_channel": 4, "out_channel": 3, "kernel": 1, "dilation": 2},
    ],
    "depthwise_conv2d": [
        {"height": 21, "width": 37, "channel": 19, "kernel": 3, "stride": 2, "padding": 1},
        {"height": 9, "width": 8, "channel": 5, "kernel": (1, 3), "padding": "SAME", "batch": 2, "dtype": "float64"},
    ],
    "reduction": [
        {"op": "sum", "shape": (7, 411), "axis": 1},
        {"op": "max", "shape": (90, 411), "axis": None, "keepdims": True},
        {"op": "sum", "shape": (37, 5, 91), "axis": (0, 1), "dtype": "float64"},
    ],
    "softmax": [
        {"shape": (3, 43, 281)},
        {"shape": (13, 211), "log": True},
        {"shape": (5, 7, 70), "axis": 1, "dtype": "float64"},
    ],
}
FEW = 4


def hand(name, shape):
    kernel = kernels.get(name)
    if hasattr(kernel, "cpu"):
        return kernel.cpu(**shape)[0]
    return kernel.schedule_cpu(kernel.declare(**shape)[-1])


@pytest.mark.parametrize("name, number", [(name, k) for name in ODD for k in range(len(ODD[name]))])
def test_points_by_chance_equal_numpy(name, number):
    kernel, shape = kernels.get(name), ODD[name][number]
    task = kernels.task(name, "llvm", **shape)
    want = None
    for index in random.Random(number).sample(range(len(task.space)), min(FEW, len(task.space))):
        made = candidate(task, index)
        assert isinstance(made, Candidate), (made.text, made.config)
        arrays = arrays_for(made.args)
        want = kernel.reference(*arrays[:-1], **shape) if want is None else want
        schedule, args = task.instantiate(made.config)
        tvmlab.build(schedule, args, "llvm")(*arrays)
        np.testing.assert_allclose(arrays[-1], want, rtol=2e-5, atol=2e-5, err_msg=str(made.config))


@pytest.mark.parametrize("name", ODD)
def test_the_first_point_is_the_hand_schedule(name):
    kernel = kernels.get(name)
    for shape in [*kernel.SHAPES.values(), *ODD[name]]:
        task = kernels.task(name, **shape)
        schedule, _ = task.instantiate(task.space.get(0))
        assert schedule.to_code() == hand(name, shape).to_code()


@pytest.mark.parametrize("name", ODD)
def test_spaces(name, golden):
    """How many points there are for each published shape, and how many of some by chance are legal."""
    tasks = {what: kernels.task(name, **shape) for what, shape in kernels.get(name).SHAPES.items()}
    lines = [f"{what}: {len(task.space)} points" for what, task in tasks.items()]
    what, task = list(tasks.items())[-1]
    found = [candidate(task, i) for i in random.Random(0).sample(range(len(task.space)), 10)]
    legal = [c.key for c in found if isinstance(c, Candidate)]
    lines.append(f"of {len(found)} for {what} are {len(legal)} legal, {len(set(legal))} different")
    golden("\n".join([*lines, repr(task.space)]))


def test_the_page_lists_arguments_and_knobs():
    page = (Path(__file__).parents[2] / "docs" / "templates.md").read_text(encoding="utf-8")
    for text in page.split("\n## ")[1:]:
        name = re.match(r"`kernels\.(\w+)`", text)[1]
        head = re.sub(r"\(.*?\)", "", text.splitlines()[0].split(": ", 1)[1])
        assert head.replace(" ,", ",").split(", ") == list(inspect.signature(kernels.get(name).tuned).parameters)
        said = [word for line in re.findall(r"^\| (`.*?) \|", text, re.M) for word in re.findall(r"`(\w+)`", line)]
        assert said == kernels.task(name, **ODD[name][0]).space.names
    assert len(page.split("\n## ")) - 1 == len(ODD)


def test_a_fold_of_pairs_has_no_template():
    with pytest.raises(LabError, match="argmax: it folds pairs"):
        kernels.task("reduction", op="argmax", shape=(5, 37), axis=1)


def test_a_template_is_found_by_its_name_where_nobody_has_imported_it():
    code = "from tvmlab import tune; print(len(tune.create('kernels.softmax', [(5, 37), -1, False, 'float32']).space))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    task = kernels.task("softmax", "llvm", shape=(5, 37))
    assert int(found) == len(task.space) and task == pickle.loads(pickle.dumps(task))
    with pytest.raises(LabError, match="kernels.softmaxx"):
        tune.create("kernels.softmaxx", [(5, 37)])


def test_without_a_template_it_is_the_space_of_any_expression():
    assert kernels.task("pad", **kernels.get("pad").SMALL[0]).name == "generic"
