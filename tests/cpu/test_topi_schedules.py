"""The classic schedule functions, and the small helpers around them."""

import numpy as np
import pytest

import tvmlab as tvm
from tests.refusal import refused
from tvmlab import te, topi
from tvmlab.error import MissingName
from tvmlab.topi.schedules import KERNEL


def loops(s, *args):
    return str(tvm.lower(s, list(args), simple_mode=True))


def test_every_schedule_function_takes_an_output():
    """Whatever the name means, an output that is not its own runs by rows."""
    a = te.placeholder((3, 20), name="a")
    for module in (topi.generic, topi.x86):
        for name in KERNEL:
            b = topi.exp(topi.nn.relu(a))
            s = getattr(module, name)([b])
            assert "ramp" not in loops(s, a, b) and len(s.stages) == 3


def test_injective_is_inlined_parallel_and_vectorised():
    a = te.placeholder((256, 512), name="a")
    b = topi.exp(topi.nn.relu(a) + 1.0)
    text = loops(topi.x86.schedule_injective([b]), a, b)
    assert "parallel" in text and "alloc" not in text and text.count("for ") == 2 and ":i1_outer*16 + 16]" in text


def test_what_a_convolution_reads_is_computed_once():
    a, w = te.placeholder((1, 64, 28, 28), name="a"), te.placeholder((64, 64, 1, 1), name="w")
    conv = topi.nn.conv2d(topi.exp(a), w, 1, 0, 1)
    out = topi.nn.relu(conv + 1.0)
    s = topi.x86.schedule_conv2d_nchw(out)
    kinds = {stage.op.name: stage.attach_type for stage in s.stages}
    assert kinds["T_exp"] == 1 and kinds["T_add"] == 2  # at the root; inlined


def test_little_work_stays_with_one_thread():
    a = te.placeholder((8, 32), name="a")
    assert "parallel" not in loops(topi.x86.schedule_injective(topi.exp(a)), a)


def test_generic_of_release_06_takes_the_target_in_force():
    a = te.placeholder((5, 19), name="a")
    b = topi.nn.softmax(a)
    with tvm.target.create("llvm"):
        s = topi.generic.schedule_softmax([b])
        f = tvm.build(s, [a, b])
    x = np.random.rand(5, 19).astype("float32")
    out = np.zeros_like(x)
    f(x, out)
    np.testing.assert_allclose(out, topi.testing.softmax_python(x, -1), rtol=1e-5)


def test_default_schedule_does_nothing_unless_told():
    a = te.placeholder((5, 19), name="a")
    b = topi.exp(topi.nn.relu(a))
    assert len(topi.generic.default_schedule([b]).trace) == 0
    assert len(topi.generic.default_schedule([b], auto_inline=True).trace) == 1
    assert len(topi.generic.schedule_extern([b]).trace) == 1


def test_one_stage_of_an_existing_schedule():
    a = te.placeholder((128, 512), name="a")
    b = topi.exp(a)
    s = te.create_schedule(b.op)
    assert topi.x86.schedule_injective_from_existing(s, b) is s
    assert "parallel" in loops(s, a, b)


def test_other_devices_say_that_they_are_not_there():
    a = te.placeholder((5, 19), name="a")
    b = topi.exp(a)
    table = {"rocm": topi.rocm.schedule_injective, "llvm": topi.x86.schedule_injective}  # looking is not using
    assert refused(MissingName, lambda: table["rocm"]([b])) == (
        "topi.rocm.schedule_injective: there are operators and schedules for topi.x86 and topi.cuda\n"
        "  legal here:  topi.x86.schedule_injective, topi.cuda.schedule_injective\n"
        "  those of topi.cuda are for every GPU that there is a target for"
    )


def test_a_schedule_function_refuses_what_is_no_output():
    with pytest.raises(TypeError, match="takes an output tensor"):
        topi.generic.schedule_dense(7)


def test_utils():
    n = te.var("n")
    utils = topi.utils
    assert utils.get_const_tuple((te.const(3), 4, n)) == (3, 4, n)
    assert utils.get_const_int(te.const(3) * 4) == 12 and utils.get_const_float(te.const(1.5)) == 1.5
    assert refused(ValueError, lambda: utils.get_const_int(n)) == "expected a constant integer, not n"
    assert utils.equal_const_int(te.const(3), 3) and not utils.equal_const_int(n, 3)
    assert utils.get_const_int(utils.simplify(n + 2 - n)) == 2 and utils.simplify(3) == 3
    assert topi.nn.utils.get_pad_tuple(1, (3, 3)) == (1, 1, 1, 1)
    assert topi.nn.util.get_pad_tuple((1, 2), (3, 3)) == (1, 2, 1, 2)
    assert topi.nn.utils.get_pad_tuple("SAME", (3, 2)) == (1, 1, 1, 0)
    assert topi.util.get_const_tuple is utils.get_const_tuple
    assert utils.get_shape((1, 2, 3), "NCW", "NWC") == (1, 3, 2)
    assert utils.is_empty_shape((2, 0)) and not utils.is_empty_shape((2, n))
    assert topi.tag.is_injective("broadcast") and not topi.tag.is_injective(topi.tag.COMM_REDUCE)


def test_traverse_inline_visits_producers_and_inlines():
    a, w = te.placeholder((1, 2, 9, 9), name="a"), te.placeholder((3, 2, 3, 3), name="w")
    conv = topi.nn.conv2d(topi.nn.relu(a), w, 1, 1, 1)
    out = topi.nn.relu(conv)
    s = te.create_schedule(out.op)
    seen = []
    topi.utils.traverse_inline(s, out.op, lambda op: seen.append(op.tag))
    assert seen == ["conv2d_nchw", "elemwise"]


def test_const_matrix():
    table = np.array([[1.0, -2.0], [0.0, 4.0]], "float32")
    made = topi.utils.const_matrix(table)
    out = np.zeros((2, 2), "float32")
    tvm.build(te.create_schedule(made.op), [made])(out)
    np.testing.assert_array_equal(out, table)


def test_operators_of_a_device_are_those_of_nn():
    assert topi.x86.conv2d_nchw is topi.nn.conv2d_nchw and topi.x86.dense_nopack is topi.nn.dense
    compute, schedule = topi.testing.get_conv2d_nchw_implement("llvm")
    assert compute is topi.nn.conv2d_nchw and schedule.__name__ == "schedule_conv2d_nchw"


def test_references_choose_by_target():
    choose = {"generic": 1, "cpu": 2}
    assert topi.testing.dispatch("llvm", choose) == 2
    assert topi.testing.dispatch("cuda", choose) == 1
    assert topi.testing.get_reduce_schedule("llvm").__name__ == "schedule_reduce"


def product(which):
    a, w = te.placeholder((9, 33), name="a"), te.placeholder((21, 33), name="w")
    return which.schedule_dense, [a, w], topi.nn.relu(topi.nn.dense(a, w))


def summed(which):
    a = te.placeholder((9, 33), name="a")
    return which.schedule_reduce, [a], topi.exp(topi.sum(a, axis=1))


def elementwise(which):
    a = te.placeholder((9, 33), name="a")
    return which.schedule_injective, [a], topi.exp(a)


def pooled(which):
    a = te.placeholder((1, 1, 9, 33), name="a")
    return which.schedule_pool, [a], topi.nn.pool2d(a, (2, 2), (2, 2), (1, 1), (0, 0, 0, 0), "max")


@pytest.mark.parametrize("make", [product, summed, elementwise, pooled])
@pytest.mark.parametrize("place", ["topi.cuda", "a target in force"])
def test_gpus_have_schedules_too(make, place):
    """The kernel's own, or the default one: it runs on threads, and is right."""
    schedule, inputs, out = make(topi.cuda if place == "topi.cuda" else topi.generic)
    if place == "topi.cuda":
        s = schedule([out])
    else:
        with tvm.target.Target("opencl"):
            s = schedule([out])
    arrays = [np.random.default_rng(0).random([int(n) for n in t.shape], dtype="float32") for t in inputs]
    results = [np.zeros([int(n) for n in out.shape], "float32") for _ in range(2)]
    assert "thread(" in str(tvm.lower(s, [*inputs, out]))
    tvm.build(s, [*inputs, out], "interp")(*arrays, results[0])
    tvm.build(te.create_schedule(out.op), [*inputs, out])(*arrays, results[1])
    np.testing.assert_allclose(*results, rtol=1e-5, atol=1e-5)


def test_one_stage_on_a_gpu():
    b = topi.exp(te.placeholder((128, 512), name="a"))
    s = te.create_schedule(b.op)
    assert topi.cuda.schedule_injective_from_existing(s, b) is s and "threadIdx.x" in str(s)
    assert topi.gpu is topi.cuda and topi.metal is topi.cuda and topi.cuda.dense is topi.nn.dense
