"""The classic names: each call, with its classic arguments, against NumPy through the target llvm."""

import numpy as np
import pytest

import tvmlab as tvm
from tests.refusal import refused
from tvmlab import te, topi
from tvmlab.error import MissingName


def run(make, *arrays, schedule="schedule_injective", target="llvm"):
    """The results of `make(placeholders)` on these arrays."""
    ins = [te.placeholder(a.shape, str(a.dtype), name=f"x{k}") for k, a in enumerate(arrays)]
    outs = make(*ins)
    several = isinstance(outs, list)
    outs = [t for t in outs if t not in ins] if several else [outs]
    s = getattr(topi.x86, schedule)(outs)
    results = [np.full(topi.utils.get_const_tuple(t.shape), 7, t.dtype) for t in outs]
    tvm.build(s, [*ins, *outs], target)(*arrays, *results)
    return results if several else results[0]


def halves(*shape, seed=1):
    return (np.random.default_rng(seed).integers(-9, 10, shape) / 2).astype("float32")


def close(got, want):
    got, want = (x if isinstance(x, (list, tuple)) else [x] for x in (got, want))
    assert len(got) == len(want)
    for g, w in zip(got, want):
        assert g.shape == w.shape
        np.testing.assert_allclose(g, w, rtol=2e-5, atol=2e-5)


A, B, V = halves(5, 19), halves(5, 19, seed=2), halves(19, seed=3)
IMAGE, WEIGHT = halves(2, 4, 9, 11), halves(6, 4, 3, 3, seed=2)


ONE_TENSOR = {
    "exp": (topi.exp, np.exp),
    "negative": (topi.negative, np.negative),
    "sign": (topi.sign, np.sign),
    "clip": (lambda x: topi.clip(x, -1, 2.5), lambda x: x.clip(-1, 2.5)),
    "cast": (lambda x: topi.cast(x, "int32"), lambda x: x.astype("int32")),
    "reinterpret": (lambda x: topi.reinterpret(x, "int32"), lambda x: x.view("int32")),
    "elemwise_sum": (lambda x: topi.elemwise_sum([x, x, x]), lambda x: 3 * x),
    "full_like": (lambda x: topi.full_like(x, 3), lambda x: np.full_like(x, 3)),
    "transpose": (topi.transpose, np.transpose),
    "reshape": (lambda x: topi.reshape(x, (19, 5)), lambda x: x.reshape(19, 5)),
    "expand_dims": (lambda x: topi.expand_dims(x, -1), lambda x: x[..., None]),
    "squeeze": (lambda x: topi.squeeze(topi.expand_dims(x, 0)), lambda x: x),
    "broadcast_to": (lambda x: topi.broadcast_to(x, (3, 5, 19)), lambda x: np.broadcast_to(x, (3, 5, 19))),
    "split": (lambda x: topi.split(x, [2, 7], 1), lambda x: np.split(x, [2, 7], 1)),
    "strided_set": (
        lambda x: topi.strided_set(x, topi.full((2, 3), "float32", 9), [1, 4], [5, 10], [2, 2]),
        lambda x: topi.testing.strided_set_python(x, 9, [1, 4], [5, 10], [2, 2]),
    ),
    "strided_slice by size": (
        lambda x: topi.strided_slice(x, [1, 2], [3, -1], slice_mode="size"),
        lambda x: topi.testing.strided_slice_python(x, [1, 2], [3, -1], slice_mode="size"),
    ),
    "shape": (topi.shape, lambda x: np.array([5, 19], "int32")),
    "ndarray_size": (topi.ndarray_size, lambda x: np.array(95, "int32")),
    "collapse_sum": (lambda x: topi.collapse_sum(x, (5, 1)), lambda x: x.sum(1, keepdims=True)),
    "sliding_window": (
        lambda x: topi.sliding_window(x, 0, [2, 3], [1, 2]),
        lambda x: np.lib.stride_tricks.sliding_window_view(x, (2, 3))[:, ::2],
    ),
    "leaky_relu": (lambda x: topi.nn.leaky_relu(x, 0.25), lambda x: np.where(x > 0, x, x * np.float32(0.25))),
    "flatten": (topi.nn.flatten, lambda x: x),
    "pad": (lambda x: topi.nn.pad(x, (1, 0), (0, 2), 1.5), lambda x: np.pad(x, ((1, 0), (0, 2)), constant_values=1.5)),
    "dilate": (lambda x: topi.nn.dilate(x, (2, 3)), lambda x: topi.testing.dilate_python(x, (2, 3))),
    "ceil_log2": (lambda x: topi.ceil_log2(topi.abs(x) + 1.5), lambda x: np.ceil(np.log2(abs(x) + 1.5))),
    "exp of a sum of a product": (lambda x: topi.exp(x * x * -1.0 + 2.0), lambda x: np.exp(2 - x * x)),
}


@pytest.mark.parametrize("name", ONE_TENSOR)
def test_of_one_tensor(name):
    make, expected = ONE_TENSOR[name]
    close(run(make, A), expected(A))


TWO_TENSORS = {
    "+": (lambda a, b: a + b, lambda a, b: a + b),
    "-": (lambda a, b: 1 - a - b, lambda a, b: 1 - a - b),
    "* with a vector": (lambda a, b: a * (b * 2.0), lambda a, b: a * b * 2),
    "/": (lambda a, b: a / (b * b + 1.0), lambda a, b: a / (b * b + 1)),
    "//": (lambda a, b: a // (b * b + 1.0), lambda a, b: a // (b * b + 1)),
    "%": (lambda a, b: a % (b * b + 1.0), lambda a, b: a % (b * b + 1)),
    "- of a tensor": (lambda a, b: -a + b.astype("int32").astype("float32"), lambda a, b: np.trunc(b) - a),
    "maximum": (topi.maximum, np.maximum),
    "where": (lambda a, b: topi.where(topi.greater(a, b), a, b), np.maximum),
    "concatenate": (lambda a, b: topi.concatenate((a, b), axis=1), lambda a, b: np.concatenate((a, b), 1)),
    "stack": (lambda a, b: topi.stack([a, b], axis=-1), lambda a, b: np.stack((a, b), -1)),
    "tensordot": (lambda a, b: topi.tensordot(a, b, ((1,), (1,))), lambda a, b: a @ b.T),
    "matmul": (lambda a, b: topi.matmul(a, b, transp_b=True), lambda a, b: a @ b.T),
    "nn.matmul": (lambda a, b: topi.nn.matmul(a, b, transpose_a=True), lambda a, b: a.T @ b),
    "einsum": (lambda a, b: topi.einsum("ij,ij->i", a, b), lambda a, b: (a * b).sum(1)),
    "dense": (lambda a, b: topi.nn.dense(a, b), lambda a, b: topi.testing.dense(a, b)),
    "a sum of maxima": (lambda a, b: topi.sum(topi.max(a * b, 1)), lambda a, b: np.array((a * b).max(1).sum())),
}


@pytest.mark.parametrize("name", TWO_TENSORS)
def test_of_two_tensors(name):
    make, expected = TWO_TENSORS[name]
    second = V if "vector" in name else B
    close(run(make, A, second), expected(A, second))


def test_of_expressions_and_numbers():
    assert topi.utils.get_const_int(topi.add(te.const(2), te.const(3))) == 5
    integers = np.arange(-7, 8, dtype="int32")
    close(run(lambda x: topi.divide(x, 2), integers), np.trunc(integers / 2).astype("int32"))
    close(run(lambda x: topi.floor_divide(x, 2), integers), integers // 2)
    close(run(lambda x: topi.mod(x, 3), integers), np.fmod(integers, 3))
    close(run(lambda x: topi.floor_mod(x, 3), integers), integers % 3)
    close(run(lambda x: topi.power(x.astype("float32"), 2.0), integers), (integers**2).astype("float32"))


def test_reductions():
    x = halves(3, 5, 19)
    for make, expected in ((topi.sum, np.sum), (topi.max, np.max), (topi.min, np.min)):
        fold = lambda t, make=make: make(t, axis=(0, 2))
        close(run(fold, x, schedule="schedule_reduce"), expected(x, axis=(0, 2)))
    close(run(lambda t: topi.argmax(t, axis=1), x, schedule="schedule_reduce"), x.argmax(1).astype("int32"))
    last = run(lambda t: topi.argmin(t, axis=1, select_last_index=True), x, schedule="schedule_reduce")
    close(last, (4 - x[:, ::-1].argmin(1)).astype("int32"))
    means = lambda t: topi.divide(topi.sum(t, axis=-1), 19.0)
    close(run(means, x, schedule="schedule_reduce"), x.mean(-1))
    truth = x > 0
    close(run(lambda t: topi.all(t, axis=1), truth), truth.all(1))
    assert refused(ValueError, lambda: topi.sum(te.placeholder((2, 3)), axis=2)) == (
        "axis 2 of a tensor of 2 dimensions: it must be from -2 to 1"
    )


@pytest.mark.parametrize(
    "make, expected, schedule",
    [
        (
            lambda x, w: topi.nn.conv2d(x, w, 2, 1, 1),
            lambda x, w: topi.testing.conv2d_nchw_python(x, w, 2, 1),
            "conv2d_nchw",
        ),
        (
            lambda x, w: topi.nn.relu(topi.nn.conv2d(x, w, (1, 1), (1, 1), (1, 1), layout="NCHW", out_dtype="float32")),
            lambda x, w: topi.testing.conv2d_nchw_python(x, w, 1, 1).clip(min=0),
            "conv2d_nchw",
        ),
        (
            lambda x, w: topi.nn.conv2d_NCHWc(
                topi.layout_transform(x, "NCHW", "NCHW2c"),
                topi.layout_transform(w, "OIHW", "OIHW2i2o"),
                1, 1, 1, "NCHW2c", "NCHW2c",
            ),
            lambda x, w: topi.testing.conv2d_nchw_python(x, w, 1, 1).reshape(2, 3, 2, 9, 11).transpose(0, 1, 3, 4, 2),
            "conv2d_NCHWc",
        ),
        (
            lambda x, w: topi.nn.group_conv2d_nchw(x, topi.strided_slice(w, [0, 0], [6, 2]), 1, 0, 1, 2, "float32"),
            lambda x, w: topi.testing.conv2d_nchw_python(x, w[:, :2], 1, 0, 2),
            "group_conv2d_nchw",
        ),
        (
            lambda x, w: topi.nn.depthwise_conv2d_nchw(x, topi.strided_slice(w, [0], [4]), 1, 1, 1),
            lambda x, w: topi.testing.depthwise_conv2d_python_nchw(x, w[:4], 1, 1),
            "depthwise_conv2d_nchw",
        ),
        (
            lambda x, w: topi.nn.conv2d_transpose_nchw(x, topi.transpose(w, (1, 0, 2, 3)), (2, 2), (1, 1), "float32"),
            lambda x, w: topi.testing.conv2d_transpose_nchw_python(x, w.transpose(1, 0, 2, 3), 2, 1),
            "conv2d_transpose_nchw",
        ),
        (
            lambda x, w: topi.nn.conv2d_hwcn(topi.transpose(x, (2, 3, 1, 0)), topi.transpose(w, (2, 3, 1, 0)), 1, 0, 1),
            lambda x, w: topi.testing.conv2d_nchw_python(x, w, 1, 0).transpose(2, 3, 1, 0),
            "conv2d_hwcn",
        ),
        (
            lambda x, w: topi.nn.conv2d(
                topi.transpose(x, (0, 2, 3, 1)), topi.transpose(w, (2, 3, 1, 0)), 1, "SAME", 1, data_layout="NHWC"
            ),
            lambda x, w: topi.testing.conv2d_nhwc_python(x.transpose(0, 2, 3, 1), w.transpose(2, 3, 1, 0), 1, "SAME"),
            "conv2d_nhwc",
        ),
    ],
)  # fmt: skip
def test_convolutions(make, expected, schedule):
    close(run(make, IMAGE, WEIGHT, schedule=f"schedule_{schedule}"), expected(IMAGE, WEIGHT))


IMAGES = {
    "pool": (
        lambda x: topi.nn.pool(x, (2, 2), (2, 2), (0, 1, 0, 1), "max", layout="NCHW"),
        lambda x: topi.testing.poolnd_python(x, (2, 2), (2, 2), (1, 1), (0, 1), (0, 1), "max"),
        "pool",
    ),
    "pool2d": (
        lambda x: topi.nn.pool2d(x, (3, 3), (2, 2), (1, 1), (1, 1, 1, 1), "avg", count_include_pad=False),
        lambda x: topi.testing.poolnd_python(x, 3, 2, 1, (1, 1), (1, 1), "avg", count_include_pad=False),
        "pool",
    ),
    "global_pool": (lambda x: topi.nn.global_pool(x, "avg"), lambda x: x.mean((2, 3), keepdims=True), "adaptive_pool"),
    "adaptive_pool": (
        lambda x: topi.nn.adaptive_pool(x, (3, 4), "max"),
        lambda x: topi.testing.adaptive_pool(x, (3, 4), "max"),
        "adaptive_pool",
    ),
    "softmax": (lambda x: topi.nn.softmax(x, axis=1), topi.testing.softmax_python, "softmax"),
    "log_softmax": (topi.nn.log_softmax, lambda x: topi.testing.log_softmax_python(x, -1), "softmax"),
    "lrn": (lambda x: topi.nn.lrn(x, 3), lambda x: topi.testing.lrn_python(x, 3, 1, 2, 1e-4, 0.75), "lrn"),
    "upsampling": (
        lambda x: topi.nn.upsampling(x, 2, 3),
        lambda x: x.repeat(2, 2).repeat(3, 3),
        "injective",
    ),
    "resize2d": (
        lambda x: topi.image.resize2d(x, [0, 0, 0, 0], (5, 20), coordinate_transformation_mode="align_corners"),
        lambda x: topi.testing.resize2d_python(x, (5 / 9, 20 / 11), "NCHW", "bilinear", True),
        "injective",
    ),
    "depth_to_space": (
        lambda x: topi.nn.depth_to_space(x, 2),
        lambda x: topi.testing.depth_to_space_python(x, 2),
        "injective",
    ),
    "layout_transform": (
        lambda x: topi.layout_transform(x, "NCHW", "NCHW2c"),
        lambda x: x.reshape(2, 2, 2, 9, 11).transpose(0, 1, 3, 4, 2),
        "injective",
    ),
}


@pytest.mark.parametrize("name", IMAGES)
def test_of_images(name):
    make, expected, schedule = IMAGES[name]
    close(run(make, IMAGE, schedule=f"schedule_{schedule}"), expected(IMAGE))


def test_channels():
    c = [halves(4, seed=k) for k in range(3)]
    close(run(topi.nn.scale_shift_nchw, IMAGE, c[0], c[1]), topi.testing.scale_shift_nchw_python(IMAGE, c[0], c[1]))
    close(run(topi.nn.bias_add, IMAGE, c[0]), IMAGE + c[0][:, None, None])
    close(run(topi.nn.prelu, IMAGE, c[0]), np.where(IMAGE > 0, IMAGE, IMAGE * c[0][:, None, None]))
    bn = lambda *x: topi.nn.batch_norm(*x, 1, 1e-3)
    positive = abs(c[2])
    expected = topi.testing.batch_norm(IMAGE, c[0], c[1], c[2], positive, 1, 1e-3)[:1]
    close(run(bn, IMAGE, c[0], c[1], c[2], positive, schedule="schedule_batch_norm"), expected)


def test_batch_matmul_has_its_right_side_transposed():
    x, y = halves(3, 5, 7), halves(3, 19, 7, seed=2)
    close(run(topi.nn.batch_matmul, x, y, schedule="schedule_batch_matmul"), topi.testing.batch_matmul(x, y))


def test_indices():
    at = np.array([[0, 4], [2, 2]], "int32")
    close(run(lambda x, i: topi.take(x, i, axis=0), A, at), A[at])
    close(run(lambda i: topi.one_hot(i, 1, 0, 5, -1, "float32"), at), topi.testing.one_hot(at, 1, 0, 5, -1, "float32"))
    close(
        run(lambda x: topi.topk(x, 3, dtype="int32"), A), [np.sort(A)[:, :-4:-1], np.argsort(-A, kind="stable")[:, :3]]
    )
    close(run(lambda x, i: topi.adv_index(x, [i, i]), A, at), A[at, at])
    close(run(lambda a, b: topi.meshgrid([a, b], "xy"), V, V[:3]), np.meshgrid(V, V[:3]))
    close(run(lambda: topi.arange(2, 20, 3, "int32")), np.arange(2, 20, 3, "int32"))
    close(run(lambda d, v: topi.matrix_set_diag(d, v), A, V[:5]), _with_diagonal(A, V[:5]))


def _with_diagonal(x, v):
    made = x.copy()
    np.fill_diagonal(made, v)
    return made


def test_through_the_interpreter_and_numba():
    make = lambda x, w: topi.nn.relu(topi.nn.conv2d(x, w, 1, 1, 1))
    expected = topi.testing.conv2d_nchw_python(IMAGE, WEIGHT, 1, 1).clip(min=0)
    close(run(make, IMAGE, WEIGHT, schedule="schedule_conv2d_nchw", target="interp"), expected)
    close(run(lambda a, v: topi.nn.relu(a - v), A, V, target="numba"), (A - V).clip(min=0))


def test_symbolic_shapes():
    n, m = te.var("n"), te.var("m")
    a, b = te.placeholder((n, m), name="a"), te.placeholder((m,), name="b")
    c = topi.nn.relu(a + b)
    f = tvm.build(topi.x86.schedule_injective(c), [a, b, c], "llvm")
    out = np.zeros_like(A)
    f(A, V, out)
    close(out, (A + V).clip(min=0))
    d = topi.sum(topi.reshape(a, (n * m,)))
    out = np.zeros((), "float32")
    tvm.build(topi.x86.schedule_reduce(d), [a, d], "llvm")(A, out)
    close(out, A.sum())


SYMBOLIC = {
    "softmax": (topi.nn.softmax, lambda x: topi.testing.softmax_python(x, -1), "softmax"),
    "pool": (
        lambda x: topi.nn.pool(x, 2, 2, 0, "max"),
        lambda x: x[:, :, :8, :10].reshape(2, 4, 4, 2, 5, 2).max((3, 5)),
        "pool",
    ),
    "global pool": (lambda x: topi.nn.global_pool(x, "avg"), lambda x: x.mean((2, 3), keepdims=True), "adaptive_pool"),
    "sum": (lambda x: topi.sum(x, -1), lambda x: x.sum(-1), "reduce"),
    "transpose": (lambda x: topi.transpose(x, (2, 0, 3, 1)), lambda x: x.transpose(2, 0, 3, 1), "injective"),
}


@pytest.mark.parametrize("name", SYMBOLIC)
def test_symbolic_images(name):
    make, expected, schedule = SYMBOLIC[name]
    x = te.placeholder([te.var(n) for n in "nchw"], name="x")
    y, want = make(x), expected(IMAGE)
    out = np.full(want.shape, 7, "float32")
    tvm.build(getattr(topi.x86, f"schedule_{schedule}")(y), [x, y], "llvm")(IMAGE, out)
    close(out, want)


def test_shapes_that_do_not_go_together():
    a, b = te.placeholder((5, 3), name="a"), te.placeholder((4, 3), name="b")
    assert refused(ValueError, lambda: a + b) == (
        "add: shapes (5, 3) and (4, 3) do not go together: each pair must be equal or hold a one"
    )
    assert refused(ValueError, lambda: topi.reshape(a, (4, 4))) == "15 elements do not fit the shape [4, 4]"


def test_missing_names_say_what_exists():
    assert refused(MissingName, lambda: topi.add_) == "there is no topi.add_\n  legal here:  topi.add"
    assert "schedule_dense" in refused(AttributeError, lambda: topi.generic.schedule_densee)
    assert refused(MissingName, lambda: topi.nn.lstm) == (
        "topi.nn.lstm does not exist in tvmlab\n  it is not there yet: write it with te.compute"
    )
    assert {"add", "nn", "x86", "testing", "sum"} <= set(dir(topi))
    assert {"conv2d", "dense", "relu", "pool"} <= set(dir(topi.nn))


def test_slices_whose_bounds_are_data():
    bounds = [np.array(x, "int32") for x in ([4, 1], [-6, 12], [-2, 4])]
    v = halves(3, 3, seed=5)
    expected = topi.testing.strided_set_python(A, v, *[x.tolist() for x in bounds])
    assert (expected != A).any()
    close(run(topi.strided_set, A, v, *bounds), expected)
    forward = [np.array(x, "int32") for x in ([1, -15], [5, 100])]
    wide = halves(4, 15, seed=5)
    close(run(topi.strided_set, A, wide, *forward), topi.testing.strided_set_python(A, wide, [1, -15], [5, 100]))


def test_moving_buffers_and_permutations():
    buffer, data = halves(2, 7, 3), halves(2, 2, 3, seed=4)
    close(run(lambda d, b: topi.nn.fifo_buffer(d, b, 1), data, buffer), np.concatenate([buffer[:, 2:], data], 1))
    order = np.array([3, 0, 4, 1, 2], "int32")
    close(run(topi.invert_permutation, order), np.argsort(order).astype("int32"))
