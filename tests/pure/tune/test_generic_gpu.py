"""The space of any expression for GPUs: its points are bound, and what a device does not allow is known uncompiled."""

import random

import pytest

from tests.expressions import CASES
from tests.pure.tune.test_generic import declare
from tvmlab import te, tune
from tvmlab.tune.candidate import Candidate, Refused, candidate


@pytest.mark.parametrize("target", ["opencl", "cuda"])
@pytest.mark.parametrize("name", CASES)
def test_points_are_legal_or_more_than_the_device_has(name, target):
    args = CASES[name]()[0]
    task = tune.Task.of(args[-1], args, target)
    points = [0, *task.space.sample_ints(2, random.Random(5))]
    made = [candidate(task, i) for i in points]
    assert isinstance(made[0], Candidate), made[0]
    assert all(isinstance(c, Candidate) or "promises" in c.text or "allows" in c.text for c in made), made


def test_the_choices_of_a_matmul_and_a_schedule(golden):
    args = declare()
    task = tune.Task.of(args[-1], args, "opencl")
    assert task.space.names == ["C.i", "C.j", "C.k", "C.shared", "C.unroll"] and task.flop == 2.0 * 64**3
    assert task.instantiate(point(task, i=[-1, 2, 8, 2], j=[-1, 1, 16, 2], k=[-1, 8], shared=1, unroll=16))[
        0].to_code() == golden  # fmt: skip


def point(task, **values):
    saved = [[n, knob.kind, knob[0].value] for n, knob in task.space.space_map.items()]
    for entry in saved:
        entry[2] = values.get(entry[0].removeprefix("C."), entry[2])
    return task.space.from_json_config(saved)


def test_what_is_too_large_is_refused_without_compiling():
    args = declare(512, 512, 512)
    task = tune.Task.of(args[-1], args, "opencl")
    refused = [
        candidate(task, point(task, i=[-1, 1, 32, 1], j=[-1, 1, 32, 1]).index),
        candidate(task, point(task, i=[-1, 4, 8, 8], j=[-1, 4, 8, 8], k=[-1, 64], shared=1).index),
        candidate(task, point(task, i=[-1, 1, 1, 64], j=[-1, 1, 1, 64]).index),
    ]
    assert all(isinstance(r, Refused) for r in refused)
    assert "1024 threads per block; OpenCL promises 256" in refused[0].text
    assert "bytes of shared memory; OpenCL promises" in refused[1].text
    assert refused[2].text == "the tile of a thread of C has more than 1024 elements"


def test_what_a_person_scheduled_stays():
    args = declare()
    D = te.compute((64, 64), lambda i, j: args[2][i, j] + 1.0, name="D")
    s = te.create_schedule(D.op)
    block, inner = s[D].split(s[D].fuse(*D.op.axis), 64)
    s[D].bind(block, te.thread_axis("blockIdx.x"))
    s[D].bind(inner, te.thread_axis("threadIdx.x"))
    task = tune.Task.of(s, [*args[:2], D], "cuda_c")
    assert all(name.startswith("C.") for name in task.space.names)
    made = candidate(task, 0)
    assert isinstance(made, Candidate) and made.trace.prefix(len(s.trace)).to_code() == s.to_code()
