"""The gallery's GPU schedules against NumPy, at odd shapes, on the interpreter, which reports races."""

import re

import numpy as np
import pytest

import tvmlab
from tests.cpu.test_kernels_operators import arrays_for
from tvmlab import kernels, te
from tvmlab.kernels import _gpu, matmul

WITH_GPU = [name for name in kernels.names() if hasattr(kernels.get(name), "schedule_gpu")]
CASES = [(name, shape) for name in WITH_GPU for shape in kernels.get(name).SMALL]


def check(schedule, args, expected, target="interp"):
    arrays = arrays_for(args)
    count = sum(isinstance(a.op, te.PlaceholderOp) for a in args)
    wanted = expected(*[x.copy() for x in arrays[:count]])
    tvmlab.build(schedule, args, target)(*arrays)
    for got, want in zip(arrays[count:], wanted if isinstance(wanted, (tuple, list)) else [wanted]):
        np.testing.assert_allclose(got, want, rtol=2e-5, atol=2e-5)


def run(name, shape, target="interp"):
    kernel = kernels.get(name)
    args = kernel.declare(**shape)
    outs = [a for a in args if not isinstance(a.op, te.PlaceholderOp)]
    check(kernel.schedule_gpu(outs), args, lambda *ins: kernel.reference(*ins, **shape), target)


def test_those_that_the_gallery_promises_are_there():
    assert {"matmul", "conv2d", "depthwise_conv2d", "reduction", "softmax", "transform"} <= set(WITH_GPU)


@pytest.mark.parametrize("name, shape", CASES, ids=[f"{n}-{i}" for i, (n, _) in enumerate(CASES)])
def test_equals_numpy(name, shape):
    run(name, shape)


def test_every_loop_of_an_output_is_bound():
    for name, shape in CASES:
        args = kernels.get(name).declare(**shape)
        s = kernels.get(name).schedule_gpu([a for a in args if not isinstance(a.op, te.PlaceholderOp)])
        assert "thread(" in str(tvmlab.lower(s, args)), (name, shape)


@pytest.mark.parametrize("length, threads", [(1, 32), (127, 32), (128, 64), (511, 128), (512, 256), (1 << 20, 256)])
def test_threads_that_share_out_a_row(length, threads):
    assert _gpu.threads_along(length) == threads


@pytest.mark.parametrize(
    "tile",
    [
        {"rows": 16, "columns": 32, "depth": 4, "each": 2}, {"rows": 32, "columns": 64, "each": 8},
        {"rows": 32, "columns": 32, "depth": 8, "virtual": 2}, {"rows": 24, "columns": 24, "each": 2, "virtual": 3},
    ],
)  # fmt: skip
def test_a_matmul_with_other_tiles(tile):
    """Several blocks, several tiles of k, none of which fits."""
    s, args = matmul.gpu(m=50, n=70, k=37, **tile)
    check(s, args, lambda a, b: a @ b)


def test_large_products_get_virtual_threads():
    for n, threads in ((1920, "vthread"), (2048, "vthread")):
        s, _ = matmul.gpu(n, n, n)
        assert (threads in str(s)) == (n == 2048)


@pytest.mark.parametrize("transposed", [{}, {"transpose_a": True}, {"transpose_b": True}])
def test_registers_are_filled_by_vectors_where_elements_are_neighbours(transposed):
    """Of the left side where it is transposed, of the right one where it is not."""
    s, args = matmul.gpu(m=64, n=64, k=32, **transposed)
    text = str(tvmlab.lower(s, args))
    fills = [line.strip() for line in text.splitlines() if re.match(r" +._shared_local\[.* = ", line)]
    by_vectors = {line[0]: ":" in line for line in fills}
    assert by_vectors == {"A": bool(transposed.get("transpose_a")), "B": not transposed.get("transpose_b")}
