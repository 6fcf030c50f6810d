"""Modules from the whole pipeline: schedule, build for llvm, call, pickle, time."""

import pickle

import numpy as np
import pytest

from tvmlab.core.node import Var
from tvmlab.expr.tensor import compute, placeholder
from tvmlab.face.api import build, create_schedule
from tvmlab.runtime import array, compare, cpu, empty, enabled
from tvmlab.runtime.array import aligned


@pytest.fixture(scope="module")
def shifted():
    """C[i] = A[i] * x + A[i + 1], for any length."""
    n, x = Var("n", "int32", nonneg=True), Var("x", "float32")
    a = placeholder((n + 1,), name="A")
    c = compute((n,), lambda i: a[i] * x + a[i + 1], name="C")
    s = create_schedule(c.op)
    _, inner = s[c].split(c.op.axis[0], 8)
    s[c].vectorize(inner)
    return build(s, [a, c, x], "llvm", name="shifted")


def reference(a, x):
    return a[:-1] * np.float32(x) + a[1:]


@pytest.mark.parametrize("n", [0, 1, 7, 8, 64, 1001])
def test_any_length(shifted, n):
    a, c = np.random.default_rng(n).random(n + 1, "float32"), np.zeros(n, "float32")
    for x in (0.5, 3):
        shifted(a, c, x)
        np.testing.assert_allclose(c, reference(a, x), rtol=1e-6)


def test_nd_arrays(shifted):
    a, c = array(np.arange(9, dtype="float32")), empty((8,))
    shifted(a, c, 2.0)
    np.testing.assert_array_equal(c.numpy(), reference(a.numpy(), 2))


def test_in_place_and_strided_give_the_result_of_separate_arrays(shifted):
    a = np.arange(40, dtype="float32")
    for view, out in ((a[:9], a[:8]), (a[:9], a[1:9]), (a[16::-2], a[1:17:2])):
        a[:] = np.arange(40)
        expected = reference(view.copy(), 1.5)
        shifted(view, out, 1.5)
        np.testing.assert_array_equal(out, expected)


def test_refusals_name_the_users_things(shifted):
    a = np.zeros(9, "float32")
    with pytest.raises(ValueError) as e:
        shifted(a, a[:7].copy(), 1.0)
    assert str(e.value) == "argument 0 (A): shape[0] is 9, expected 8 (n + 1, n = 7 from C.shape[0])"
    with pytest.raises(ValueError) as e:
        shifted(a, a[:8].copy())
    expected = "shifted takes 3 arguments, got 2\n    shifted(A: float32[n + 1], C: float32[n], x: float32)"
    assert str(e.value) == expected


def test_pickle(shifted):
    again = pickle.loads(pickle.dumps(shifted))
    a, c = np.arange(9, dtype="float32"), np.zeros(8, "float32")
    again(a, c, 1.0)
    np.testing.assert_array_equal(c, reference(a, 1))
    assert again.signature == shifted.signature and "float" in again.source


def test_enabled():
    assert enabled("llvm -mcpu=skylake") and not enabled("llvmish") and not enabled("")


def test_timing(shifted):
    a, c = np.ones(1001, "float32"), np.zeros(1000, "float32")
    result = shifted.time_evaluator("shifted", cpu(0), number=5, repeat=7)(a, c, 2.0)
    assert len(result.results) == 7 and 0 < result.min <= result.median <= result.max
    assert (c == 3).all()
    beside = compare(shifted, lambda a, c, x: np.add(a[:-1] * x, a[1:], out=c), (a, c, np.float32(2)), rounds=5)
    assert beside.verdict in ("faster", "slower", "same within noise") and beside.low <= beside.ratio <= beside.high


def test_arrays_that_begin_within_a_cache_line_are_said(shifted):
    def placed(offset, n=1024):
        return aligned((2048,), np.dtype("float32"))[offset : offset + n]

    evaluate = shifted.time_evaluator("shifted", number=1)
    assert evaluate(placed(0, 1025), placed(16), 2.0).remark == ""
    assert evaluate(array(placed(4, 1025)), placed(0), 2.0).remark == ""  # an nd.array has memory of its own
    assert evaluate(placed(4, 9), placed(4, 8), 2.0).remark == ""  # too small to matter
    assert evaluate(placed(4, 1025), placed(0), 2.0).remark.startswith("A begins within a cache line")
    found = evaluate(placed(4, 1025), placed(8), 2.0)
    assert found.remark.startswith("A, C begin within a cache line") and repr(found).endswith(f"; {found.remark}")


def test_a_copy_that_is_made_for_an_array_begins_at_a_cache_line(shifted):
    """An input that overlaps the output is copied: nothing is to be said of that."""
    both = aligned((2048,), np.dtype("float32"))
    both[:] = 1
    found = shifted.time_evaluator("shifted", number=1)(both[:1501], both[16:1516], 2.0)  # 64 bytes further on
    assert found.remark == ""
