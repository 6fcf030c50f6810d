"""What the head says: titles, equations, badges, code."""

import random

import pytest

from tests.payloads import complaints
from tests.pure.view import sketch
from tests.traces import random_steps
from tvmlab import te
from tvmlab.view import payload
from tvmlab.view.head import badge, expression, said, title


def product(left, right, dtype="float32", **options):
    A, B = te.placeholder((4, 8), dtype, name="A"), te.placeholder((8, 6), dtype, name="B")
    k = te.reduce_axis((0, 8), name="k")
    C = te.compute((4, 6), lambda i, j: te.sum(left(A, i, k) * right(B, k, j), axis=k), name="C", **options)
    return te.create_schedule(C.op).trace


@pytest.mark.parametrize(
    "left, right, want",
    [
        (lambda A, i, k: A[i, k], lambda B, k, j: B[k, j], "matmul 4x6x8 float32"),
        (lambda A, i, k: A[i, k].astype("float64"), lambda B, k, j: B[k, j].astype("float64"), "matmul 4x6x8 float64"),
        (lambda A, i, k: A[i, k] + 1.0, lambda B, k, j: B[k, j], "C 4x6 float32"),
        (lambda A, i, k: A[i, k], lambda B, k, j: B[j, j], "C 4x6 float32"),
    ],
)
def test_a_matmul_is_known_by_its_form(left, right, want):
    assert title(product(left, right)) == want


def test_an_operator_of_the_gallery_is_known_by_its_tag():
    assert title(sketch.conv().trace) == "conv2d nchw 1x16x14x14 float32"


def test_what_is_not_known_goes_by_its_output():
    n = te.size_var("n")
    A = te.placeholder((n,), name="A")
    B = te.compute((n,), lambda i: A[i] + 1.0, name="B <b>", tag="elemwise")
    C = te.compute((n,), lambda i: A[i] + 2.0, name="C")
    assert title(te.create_schedule(B.op).trace) == "B <b> n float32"
    assert title(te.create_schedule([B.op, C.op]).trace) == "C n float32 and 1 more output"
    D = te.compute((), lambda: te.const(1.0), name="D")
    assert title(te.create_schedule(D.op).trace) == "D scalar float32"


def test_a_workload_that_is_known_gives_its_name():
    assert title(sketch.conv().trace, "conv2d") == "conv2d nchw 1x16x14x14 float32"
    assert title(sketch.tiled().trace, "matmul") == "matmul 64x64x64 float32"


def test_expression():
    assert expression(sketch.twelve().trace) == ["C[i, j] = sum(A[i, k] * B[k, j], axis=[k])"]


def test_badges():
    s = sketch.tiled()
    assert badge(s.trace) == {"sign": "+", "text": "legal", "items": []}
    assert badge(s.trace, ["step 3: it was fused"]) == {
        "sign": "x", "text": "1 step no longer applies", "items": ["step 3: it was fused"],
    }  # fmt: skip
    n = te.size_var("n")
    A = te.placeholder((n,), name="A")
    B = te.compute((n,), lambda i: A[i] + 1.0, name="B")
    s = te.create_schedule(B.op)
    s[B].vectorize(B.op.axis[0])
    assert (badge(s.trace)["sign"], badge(s.trace)["text"]) == ("?", "1 thing is open")
    assert badge(s.trace, ["a", "b"])["text"] == "2 steps no longer apply, 1 thing is open"


@pytest.mark.parametrize("seed", range(20))
def test_random_schedules(seed):
    trace = random_steps(random.Random(seed), 10).schedule.trace
    found = said(trace, "sch")
    assert set(found) < set(payload.Head.__annotations__)
    assert not complaints(found["badge"], payload.Badge)
    assert not complaints(found["expression"], list[str])
    assert all(isinstance(found[x], str) for x in ("title", "calls", "program"))
    assert found["calls"].startswith("sch = te.create_schedule(")
