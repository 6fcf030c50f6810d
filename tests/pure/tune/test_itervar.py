"""The classic features: the numbers that the classic tests expect, and lengths that do not depend on the schedule."""

from __future__ import annotations

import random

import pytest

from tvmlab import te
from tvmlab.tune import itervar


def matmul(n, **options):
    k = te.reduce_axis((0, n), "k")
    a, b = te.placeholder((n, n), name="A"), te.placeholder((n, n), name="B")
    c = te.compute((n, n), lambda y, x: te.sum(a[y, k] * b[k, x], axis=k), name="C")
    return te.create_schedule(c.op), [a, b, c], k


def test_a_matmul_has_the_classic_rows():
    s, args, _ = matmul(128)
    serial = [0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0]
    expected = [
        {
            "_attr_": [128, 1, 128, 2097152, *serial],
            "A_0": [128, -1, 16384, 128, 0, 0], "B_0": [0, -1, 16384, 128, 0, 0],
            "C_0": [128, -1, 16384, 128, 0, 0], "C_1": [128, -1, 16384, 128, 0, 0],
        },
        {
            "_attr_": [128, 2, 16384, 16384, *serial],
            "A_0": [0, -1, 128, 128, 0, 0], "B_0": [1, -1, 16384, 1, 0, 0],
            "C_0": [1, -1, 128, 128, 0, 0], "C_1": [1, -1, 128, 128, 0, 0],
        },
        {
            "_attr_": [128, 3, 2097152, 128, *serial],
            "A_0": [1, -1, 128, 1, 0, 0], "B_0": [128, -1, 128, 1, 0, 0],
            "C_0": [0, -1, 1, 128, 0, 0], "C_1": [0, -1, 1, 128, 0, 0],
        },
    ]  # fmt: skip
    rows = itervar.get_itervar_feature(s, args)
    assert [row[0][0] for row in rows] == ["_itervar_"] * 3
    assert [row[0][1].name for row in rows] == ["y", "x", "k"]
    for want, row in zip(expected, rows, strict=True):
        found = {key: numbers for key, *numbers in row[1:]}
        assert {key: found[key] for key in want} == want
    assert [row[2] for row in rows] == [["_arith_", 0, 0, 0], ["_arith_", 0, 0, 0], ["_arith_", 1, 1, 0]]


@pytest.mark.parametrize("gpu", [False, True])
def test_the_flat_form_is_as_long_for_every_schedule_of_an_operator(gpu):
    rng, lengths = random.Random(0), set()
    for _ in range(20):
        s, args, k = matmul(1024)
        c = args[-1]
        axes = [*s[c].tile(*s[c].op.axis, 8, 8), k]
        rng.shuffle(axes)
        s[c].reorder(*axes)
        if gpu:
            picked = [x for x in axes if x is not k]
            for axis, tag in zip(picked, ("blockIdx.x", "vthread", "threadIdx.y")):
                s[c].bind(axis, te.thread_axis(tag))
        flat = itervar.get_itervar_feature_flatten(s, args)
        rows = itervar.get_itervar_feature(s, args, take_log=True)
        assert list(flat) == list(itervar.flatten_itervar_feature(rows))
        assert len(itervar.get_flatten_name(rows)) == len(flat)
        lengths.add(len(flat))
    assert lengths == {5 * (15 + 3 + 6 * 4)}


def test_threads_of_a_block_share_what_a_block_touches():
    s, args, k = matmul(64)
    c = args[-1]
    y, x = s[c].op.axis
    s[c].bind(y, te.thread_axis("blockIdx.x"))
    s[c].bind(x, te.thread_axis("threadIdx.x"))
    block, thread, _ = itervar.get_itervar_feature(s, args)
    assert {key: numbers for key, *numbers in thread[3:]}["A_0"] == [0, -1, 64, 64, 1, 64]
    assert {key: numbers for key, *numbers in block[3:]}["B_0"] == [0, -1, 4096, 64, 1, 64]


def test_curves_have_four_times_two_samples_of_each_buffer():
    s, args, _ = matmul(128)
    assert itervar.get_buffer_curve_sample_flatten(s, args, sample_n=30).shape == (30 * 3 * 4 * 2,)
    assert itervar.get_buffer_curve_sample_flatten(s, args, sample_n=7).shape == (7 * 3 * 4 * 2,)


def test_a_curve_is_sampled_at_its_last_point():
    assert list(itervar.sampled([0.0, 1.0, 3.0], [0.0, 5.0, 9.0], 4)) == [0.0, 0.0, 5.0, 0.0, 5.0, 1.0, 9.0, 0.0]
