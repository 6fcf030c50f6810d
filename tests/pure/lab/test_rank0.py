"""Stages without dimensions: sums of everything, and what is made of them."""

import numpy as np
import pytest

from tvmlab import build, te
from tvmlab.lab import workloads
from tvmlab.lab.app import Lab


def chain():
    """x / sqrt(sum(x)), in three stages of which two have no dimensions."""
    x = te.placeholder((8,), name="x")
    k = te.reduce_axis((0, 8), name="k")
    m = te.compute((), lambda: te.sum(x[k], axis=k), name="m")
    y = te.compute((), lambda: te.sqrt(m()), name="y")
    return x, m, y, te.compute((8,), lambda i: x[i] / y(), name="z")


def test_they_can_be_scheduled_and_looked_at():
    x, m, y, z = chain()
    s = te.create_schedule(z.op)
    lab = Lab(s, [x, z])
    s.check()
    for row in [r["id"] for r in lab.state()["frame"]["tree"]]:
        lab.select(row)
        assert len(lab.actions()["items"]) > 20
    lab.apply("compute_at", "y", "z.i")
    cached = s.cache_read(m, "local", [y])
    assert cached.op.name == "m.local"
    a, out = np.random.rand(8).astype("float32"), np.zeros(8, "float32")
    build(s, [x, z], target="interp")(a, out)
    np.testing.assert_allclose(out, a / np.sqrt(a.sum()), rtol=1e-5)
    lab.close()


def test_one_of_another():
    A = te.placeholder((), name="A")
    B = te.compute((), lambda: A() + 1, name="B")
    C = te.compute((), lambda: B() * 2, name="C")
    s = te.create_schedule([B.op, C.op])
    lab = Lab(s, [A, B, C])
    assert [r["id"] for r in lab.frame["tree"]][:2] == ["B", "C"] and lab.actions()["items"]
    assert "te.compute((), lambda" in lab.program
    lab.close()


@pytest.mark.parametrize("shape", ["()", "(3,)"])
def test_from_the_catalogue(shape):
    made = workloads.shape("elementwise", {"shape": shape})
    lab = Lab().start(workloads.declare("elementwise", made), "elementwise", made)
    assert lab.actions()["frame"] == lab.frame["key"]
    lab.close()
