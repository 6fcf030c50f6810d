"""Prefetch marks: one call per cache line of what a later iteration touches."""

import pytest

from tests.pure.passes.ir import nodes
from tests.pure.passes.schedules import numbers, owed, pictures, run, with_
from tvmlab import te
from tvmlab.core.error import LabError
from tvmlab.core.node import Attr, Call, For, Load
from tvmlab.core.verify import verify
from tvmlab.core.walk import constant
from tvmlab.face.api import create_schedule


def rows(n=6, m=40, dtype="float32", f=lambda A, i, j: A[i, j] * 2):
    A = te.placeholder((n, m), name="A", dtype=dtype)
    C = te.compute((n, m), lambda i, j: f(A, i, j), name="C")
    return create_schedule(C.op), A, C


def calls(p):
    return [c for c in nodes(p, Call) if c.name == "prefetch"]


def test_rows(golden):
    s, A, C = rows()
    s[C].prefetch(A, C.op.axis[0], 2)
    after = pictures(golden, s, [A, C], "inject_prefetch")
    assert len(calls(after)) == 1 and not nodes(after, Attr)
    a = numbers(6, 40)
    assert (run(s, [A, C], [a, a]) == a * 2).all()  # the last rows prefetch outside of A, which is fine


@pytest.mark.parametrize("dtype, lines", [("float32", 3), ("float64", 5), ("int8", 1)])
def test_one_call_for_64_bytes(dtype, lines):
    s, A, C = rows(dtype=dtype)
    s[C].prefetch(A, C.op.axis[0], 1)
    found = [constant(f.extent) for f in nodes(with_(s, [A, C]), For) if f.var.name == "A_line"]
    assert found == ([lines] if lines > 1 else [])


def test_a_tile_and_its_neighbours(golden):
    """The region of all reads together, of a stencil."""
    n = 32
    A = te.placeholder((n + 2, n), name="A")
    C = te.compute((n, n), lambda i, j: A[i, j] + A[i + 1, j] + A[i + 2, j], name="C")
    s = create_schedule(C.op)
    io, jo, ii, ji = s[C].tile(*C.op.axis, 4, 16)
    s[C].prefetch(A, jo, 1)
    pictures(golden, s, [A, C], "inject_prefetch")
    a = numbers(n + 2, n)
    assert (run(s, [A, C], [a, a[:n]]) == a[:n] + a[1 : n + 1] + a[2:]).all()


def test_symbolic_shape(golden):
    n = te.size_var("n")
    s, A, C = rows(n, n)
    s[C].prefetch(A, C.op.axis[0], 1)
    golden(with_(s, [A, C]))
    a = numbers(7, 7)
    assert (run(s, [A, C], [a, a]) == a * 2).all()


def test_an_inner_vector_loop_stays_one():
    s, A, C = rows()
    s[C].vectorize(s[C].split(C.op.axis[1], factor=8)[1])
    s[C].prefetch(A, C.op.axis[0], 1)
    assert [x.dtype for x in nodes(with_(s, [A, C]), Load) if "x8" in x.dtype] == ["float32x8"]


def test_a_loop_of_one_iteration_has_nothing_ahead():
    s, A, C = rows(1)
    s[C].prefetch(A, C.op.axis[0], 1)
    assert not calls(with_(s, [A, C])) and not nodes(with_(s, [A, C]), Attr)


def test_an_address_outside_is_no_access_outside():
    s, A, C = rows()
    s[C].prefetch(A, C.op.axis[0], 1000)
    verify(with_(s, [A, C]))


def test_two_tensors_at_two_loops():
    s, A, C = rows()
    B = te.placeholder((6, 40), name="B")
    D = te.compute((6, 40), lambda i, j: C[i, j] + B[i, j], name="D")
    s = create_schedule(D.op)
    s[C].compute_at(s[D], D.op.axis[0])
    s[D].prefetch(B, D.op.axis[0], 1)
    s[C].prefetch(A, C.op.axis[1], 16)
    p = with_(s, [A, B, D])
    assert sorted(c.args[0].buffer.name for c in calls(p)) == ["A", "B"]
    a, b = numbers(6, 40), numbers(6, 40, seed=1)
    assert (run(s, [A, B, D], [a, b, a]) == a * 2 + b).all()


def test_refusals():
    s, A, C = rows()
    s[C].prefetch(A, C.op.axis[1], 1)
    s[C].vectorize(C.op.axis[1])
    with pytest.raises(LabError, match="prefetch A at `j` of stage C: all its iterations are one vector"):
        owed(s, [A, C])

    s, A, C = rows(f=lambda A, i, j: A[i, A[i, j].astype("int32")])
    s[C].prefetch(A, C.op.axis[0], 1)
    with pytest.raises(LabError, match="its index .* is read from memory"):
        owed(s, [A, C])

    s, A, C = rows()
    D = te.compute((6, 40), lambda i, j: C[i, j] + 1.0, name="D")
    s = create_schedule(D.op)
    s[D].prefetch(A, D.op.axis[0], 1)
    with pytest.raises(LabError, match="prefetch A at `i` of stage D: nothing in that loop reads it"):
        owed(s, [A, D])
    s = create_schedule(D.op)
    s[C].compute_inline()
    s[D].prefetch(C, D.op.axis[0], 1)
    with pytest.raises(LabError, match="prefetch C at `i` of stage D: it is inlined"):
        owed(s, [A, D])
