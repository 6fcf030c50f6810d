"""`dot4` for Numba CUDA: products and sums, to the bit what the interpreter has."""

import numpy as np
import pytest

import tvmlab
from tests import kernels
from tvmlab.lowering import passes
from tvmlab.runtime import Module
from tvmlab.target import Target


@pytest.mark.parametrize("signs", kernels.SIGNS, ids="-".join)
@pytest.mark.parametrize("form", kernels.FORMS)
@pytest.mark.parametrize("n, shared", [(1, False), (4, False), (4, True), (16, True)])
def test_what_the_interpreter_has(n, signs, shared, form):
    program = kernels.dots(n, *signs, shared, form)
    given = kernels.dots_arrays(n, *signs, shared)
    expected = kernels.dots_wanted(program, given)
    target = Target("cuda")
    split = passes.get("split_host_device")(program)
    Module(split.entry, target, target.kind.compile(split, target))(*given)
    assert given[-1].tobytes() == expected.tobytes()


def test_a_tensorized_product():
    s, args = kernels.dots_by_schedule()
    a, w, c = kernels.arrays(args)
    tvmlab.build(s, args, "cuda")(a, w, c)
    np.testing.assert_array_equal(c, a.astype("int32") @ w.T.astype("int32"))
