"""The columns: what they say of programs known by heart, and that they do not depend on what does not matter."""

from __future__ import annotations

import numpy as np
import pytest

from tests.traces import random_case
from tests.tuned import conv2d, matmul, matmul_schedule
from tvmlab import lower, te
from tvmlab.kernels import matmul as matmul_of_the_gallery
from tvmlab.tune import features
from tvmlab.tune.features import NAMES

PLAIN = {
    "rows": 4, "vectors": 2, "lanes": 16, "depth": 16, "order": "rows outside", "pack": False, "cache": False,
    "expand": True,
}  # fmt: skip


def columns(schedule, args):
    return dict(zip(NAMES, map(float, features.of(schedule, args)), strict=True))


def of_matmul(*shape, **knobs):
    return columns(*matmul_schedule(*(shape or (64, 64, 64)), **{**PLAIN, **knobs}))


def count(logarithm):
    return round(2**logarithm - 1)


def test_names_are_one_per_column():
    assert len(NAMES) == len(set(NAMES)) == len(features.of(*matmul_schedule(64, 64, 64, **PLAIN)))


def test_a_tile_of_a_matmul():
    """In the innermost loop, over k: 4 x 32 sums in 8 vectors, from 4 elements of A and 2 vectors of B."""
    c = of_matmul()
    assert count(c["flops"]) == pytest.approx(2 * 64**3)
    assert count(c["heaviest.vectorized product"]) == 16
    assert count(c["heaviest.unrolled product"]) == 8
    assert count(c["heaviest.body instances"]) == count(c["heaviest.body chains"]) == 8
    assert count(c["heaviest.store.body elements"]) == 128
    assert count(c["heaviest.first load.body elements"]) == 32
    assert count(c["heaviest.second load.body elements"]) == 4
    assert c["heaviest.body flops per load"] == pytest.approx(2 * 128 / (128 + 32 + 4))
    assert c["heaviest.body sums"] == 1
    assert c["heaviest.float add"] == c["heaviest.float mul"] == 1


def test_the_load_that_runs_with_the_vector_comes_before_the_one_that_stays():
    for shape in ((64, 64, 64), (32, 256, 16), (256, 32, 128)):
        c = of_matmul(*shape)
        assert c["heaviest.first load.steps by one"] == 1 and c["heaviest.second load.stays"] == 1


def test_reuse_of_b_is_by_the_rows_of_the_tile():
    c = of_matmul()
    assert c["heaviest.first load.reuse by loop"] == 1
    assert count(c["heaviest.first load.reuse count"]) == 4  # the unrolled rows
    assert count(c["heaviest.first load.reuse iterations"]) == 32  # of j


def test_a_copy_is_reused_by_the_statement_that_made_it():
    c = of_matmul(pack=True, order="columns outside")
    assert c["statements"] == 3 and c["global buffers"] == 1
    assert c["second.share"] < c["heaviest.share"]


def test_intensity_ends_at_all_operations_over_all_bytes():
    c = of_matmul()
    assert 2 ** c["heaviest.intensity 9"] - 1 == pytest.approx(2 * 64**3 / (3 * 64 * 64 * 4), rel=1e-3)


def test_traffic_falls_with_the_memory_that_keeps_things():
    c = of_matmul(512, 512, 512)
    beyond = [c[f"traffic beyond {n}"] for n in features.HELD]
    assert beyond == sorted(beyond, reverse=True) and beyond[0] > beyond[-1]


def test_marks_and_threads():
    a = te.placeholder((64, 64), name="A")
    b = te.compute((64, 64), lambda i, j: te.exp(a[i, j]), name="B")
    s = te.create_schedule(b.op)
    i, j = b.op.axis
    s[b].bind(i, te.thread_axis("blockIdx.x"))
    s[b].bind(j, te.thread_axis("threadIdx.x"))
    c = columns(s, [a, b])
    assert count(c["heaviest.blockIdx.x"]) == count(c["blocks"]) == 64
    assert count(c["heaviest.threadIdx.x"]) == count(c["threads"]) == 64
    assert c["heaviest.float call"] == 1 and c["heaviest.vthread"] == 0
    s = te.create_schedule(b.op)
    s[b].parallel(i)
    c = columns(s, [a, b])
    assert count(c["tasks"]) == 64 and c["heaviest.parallel loops"] == 1


def test_what_does_not_change_with_the_size_is_the_same_for_another_shape():
    small, large = of_matmul(128, 128, 128), of_matmul(512, 512, 512)
    for name in NAMES:
        if name.startswith(("heaviest.body ", "heaviest.float ", "heaviest.vectorized ", "heaviest.unrolled ")):
            assert small[name] == large[name], name


def test_columns_do_not_depend_on_names():
    def scaled(name):
        a = te.placeholder((8, 8), name=name)
        b = te.compute((8, 8), lambda x, y: a[x, y] * 2.0, name=f"{name}2")
        return te.create_schedule(b.op), [a, b]

    assert np.array_equal(features.of(*scaled("A")), features.of(*scaled("Z")))


def test_loops_after_the_passes_have_columns_too():
    s, args = matmul_schedule(64, 64, 64, **PLAIN)
    c = dict(zip(NAMES, features.vector(lower(s, args)), strict=True))
    assert count(c["flops"]) == pytest.approx(2 * 64**3) and count(c["heaviest.vectorized product"]) == 16


def test_every_random_schedule_has_columns():
    for seed in range(60):
        case = random_case(seed)
        assert np.isfinite(features.of(case.schedule, case.args)).all(), seed


def test_operators_have_columns():
    task = conv2d()
    for i in range(0, len(task.space), 29):
        c = columns(*task.instantiate(task.space.get(i)))
        assert np.isfinite(list(c.values())).all(), i
        assert count(c["flops"]) >= 2 * 56 * 56 * 64 * 64 * 9 * 0.999
    assert np.isfinite(features.of(*matmul_of_the_gallery.cpu(m=100, n=96, k=64))).all()


def test_a_kernel_of_the_gallery():
    c = columns(*matmul_of_the_gallery.gpu(m=256, n=256, k=64))
    assert count(c["blocks"]) == 16 and count(c["threads"]) == 256
    assert c["shared buffers"] == 2 and count(c["shared largest"]) == 64 * 16 * 4
    assert c["heaviest.first load.local"] == 1


def test_a_parallel_loop_is_tasks():
    task = conv2d()
    at = list(task.space.choices).index("parallel")
    pairs = [columns(*task.instantiate(task.space.get(task.space.knob2point([0] * at + [k])))) for k in (0, 1)]
    assert [count(c["tasks"]) for c in pairs] == [1, 56]


def test_points_that_differ_are_told_apart():
    space = matmul(64, 64, 64).space
    rows = {features.of(*matmul_schedule(64, 64, 64, **space.get(i))).tobytes() for i in range(0, len(space), 7)}
    assert len(rows) > 0.8 * len(range(0, len(space), 7))
