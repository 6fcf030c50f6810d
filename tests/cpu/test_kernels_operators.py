"""Every operator of the gallery against its NumPy reference, at odd shapes, with its CPU schedule."""

import numpy as np
import pytest

import tvmlab
from tvmlab import kernels, te
from tvmlab.error import MissingName

CASES = [(name, shape) for name in kernels.names() for shape in kernels.get(name).SMALL]


def arrays_for(args, seed=0):
    """One array per argument: small integers for integers, halves around zero for floats; zeros for outputs."""
    rng = np.random.default_rng(seed)
    arrays = []
    for a in args:
        shape = [int(n.value) for n in a.shape]
        if not isinstance(a.op, te.PlaceholderOp):
            arrays.append(np.full(shape, 7, a.dtype))
        elif a.dtype.startswith("float"):
            arrays.append((rng.integers(-9, 10, shape) / 4).astype(a.dtype))
        else:
            arrays.append(rng.integers(0, 2 if a.dtype == "bool" else 9, shape).astype(a.dtype))
    return arrays


def run(kernel, shape, target):
    args = kernel.declare(**shape)
    ins = [a for a in args if isinstance(a.op, te.PlaceholderOp)]
    outs = args[len(ins) :]
    arrays = arrays_for(args)
    expected = kernel.reference(*[x.copy() for x in arrays[: len(ins)]], **shape)
    expected = expected if isinstance(expected, (tuple, list)) else [expected]
    tvmlab.build(kernel.schedule_cpu(outs), args, target)(*arrays)
    assert len(expected) == len(outs)
    for got, want in zip(arrays[len(ins) :], expected):
        assert got.shape == want.shape
        np.testing.assert_allclose(got, want, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("name, shape", CASES, ids=[f"{n}-{i}" for i, (n, _) in enumerate(CASES)])
def test_equals_numpy(name, shape):
    run(kernels.get(name), shape, "llvm")


@pytest.mark.parametrize("name", kernels.names())
def test_interpreter_finds_nothing(name):
    kernel = kernels.get(name)
    run(kernel, kernel.SMALL[-1], "interp")


@pytest.mark.parametrize("name", kernels.names())
def test_published_shapes_can_be_declared(name):
    kernel = kernels.get(name)
    assert kernel.SHAPES
    for shape in kernel.SHAPES.values():
        assert kernel.declare(**shape)


def test_an_unknown_kernel_names_those_that_are_near():
    assert {"matmul", "conv2d", "depthwise_conv2d"} <= set(kernels.names())
    with pytest.raises(MissingName, match="there is no kernel 'matmull'") as e:
        kernels.get("matmull")
    assert "matmul" in e.value.legal
