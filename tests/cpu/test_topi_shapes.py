"""Operators refuse shapes that do not go together, at the call; symbolic extents pass."""

import pytest

from tests.refusal import refused
from tvmlab import te, topi

n = te.var("n")


def t(*shape):
    return te.placeholder(shape, name="x")


def conv(data, kernel, **how):
    return lambda: topi.nn.conv2d(t(*data), t(*kernel), **how)


REFUSED = {
    "channels": (
        conv((1, 3, 8, 8), (4, 5, 3, 3)),
        "conv2d_nchw: data's channels (dimension 1): 3, but the kernel (dimension 1) takes 5",
    ),
    "channels last": (
        conv((1, 8, 8, 3), (3, 3, 5, 4), data_layout="NHWC"),
        "conv2d_nhwc: data's channels (dimension 3): 3, but the kernel (dimension 2) takes 5",
    ),
    "groups": (
        lambda: topi.nn.group_conv2d_nchw(t(1, 4, 8, 8), t(6, 3, 3, 3), groups=2),
        "conv2d (NCHW): data's channels (dimension 1): 4, but the kernel (dimension 1) takes 3 in each of 2 groups",
    ),
    "uneven groups": (
        lambda: topi.nn.group_conv2d_nchw(t(1, 4, 8, 8), t(5, 2, 3, 3), groups=2),
        "conv2d (NCHW): kernel's outputs (dimension 0): 5, which is no multiple of groups=2",
    ),
    "window": (
        conv((1, 3, 4, 8), (4, 3, 7, 3), padding=1),
        "conv2d_nchw: the kernel reaches over 7 along H, data with padding has 6 (1 + 4 + 1)\n"
        "  give more padding, or a smaller kernel or dilation",
    ),
    "dimensions": (
        conv((3, 8, 8), (4, 3, 3, 3)),
        "conv2d_nchw: data has the shape (3, 8, 8), it needs 4 dimensions: (n, c, h, w)",
    ),
    "layout": (
        conv((1, 3, 8, 8), (4, 3, 3, 3), data_layout="NCXY", kernel_layout="OIXY"),
        "conv: 'NCXY' is no data layout: N, C and some of D, H, W\n"
        "  legal here:  NCW, NWC, NCHW, NHWC, HWCN, NCDHW, NDHWC",
    ),
    "kernel layout": (
        conv((1, 3, 8, 8), (4, 3, 3, 3), kernel_layout="OIW"),
        "conv: the kernel layout 'OIW' does not go with the data layout 'NCHW': it has O, I and H, W\n"
        "  legal here:  OIHW",
    ),
    "depthwise": (
        lambda: topi.nn.depthwise_conv2d_nchw(t(1, 3, 8, 8), t(4, 1, 3, 3)),
        "depthwise_conv2d_nchw: data's channels (dimension 1): 3, but kernel's channels (dimension 0): 4",
    ),
    "dense": (
        lambda: topi.nn.dense(t(2, 8), t(4, 9)),
        "dense: data's inputs (dimension 1): 8, but weight's inputs (dimension 1): 9",
    ),
    "dense bias": (
        lambda: topi.nn.dense(t(2, 8), t(4, 8), t(5)),
        "dense: weight's outputs (dimension 0): 4, but bias (dimension 0): 5",
    ),
    "matmul": (
        lambda: topi.matmul(t(2, 8), t(9, 4)),
        "matmul: a's k (dimension 1): 8, but b's k (dimension 0, transpose_b=False): 9",
    ),
    "batch_matmul": (
        lambda: topi.nn.batch_matmul(t(2, 3, 8), t(2, 8, 4)),
        "batch_matmul: a's k (dimension 2): 8, but b's k (dimension 2, transpose_b=True): 4",
    ),
    "batches": (
        lambda: topi.nn.batch_matmul(t(2, 3, 8), t(3, 4, 8)),
        "batch_matmul: a's batch (dimension 0): 2, but b's (dimension 0): 3",
    ),
    "bias_add": (
        lambda: topi.nn.bias_add(t(1, 3, 8, 8), t(4)),
        "bias_add: data along axis 1 (dimension 1): 3, but bias (dimension 0): 4",
    ),
    "add": (
        lambda: topi.add(t(2, 3), t(4)),
        "add: shapes (2, 3) and (1, 4) do not go together: each pair must be equal or hold a one",
    ),
    "concatenate": (
        lambda: topi.concatenate([t(2, 3), t(2, 4)], axis=0),
        "concatenate: tensor 0 along dimension 1: 3, but tensor 1: 4",
    ),
}


@pytest.mark.parametrize("call, said", REFUSED.values(), ids=REFUSED.keys())
def test_shapes_that_do_not_go_together(call, said):
    assert refused(ValueError, call) == said


def test_symbolic_extents_pass():
    topi.nn.conv2d(t(n, n, n, n), t(4, 3, 3, 3))
    topi.nn.dense(t(n, n), t(4, 8), t(n))
    topi.matmul(t(2, n), t(9, 4))
    topi.nn.bias_add(t(1, n, 8, 8), t(4))
    topi.concatenate([t(2, n), t(2, 4)], axis=0)
