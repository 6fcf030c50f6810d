"""The interpreter: what it reports about programs that are wrong, word by word."""

import numpy as np
import pytest

from tests.loops import alloc, buffer, floats, function, ints, load, loop, store
from tvmlab.core.build import const
from tvmlab.core.error import BuildError
from tvmlab.core.node import Bin, Call, Cast, Const, Evaluate, If, LetStmt, Ramp, Reduce, Seq, Var
from tvmlab.core.program import Origin
from tvmlab.target.interp import InterpError, run

i, j, k = Var("i"), Var("j"), Var("k")


def fault(params, body, arrays, *scalars, **options):
    """The error a program ends with."""
    with pytest.raises(InterpError) as e:
        run(function(params, body), arrays, scalars, **options)
    return e.value


# ---------------------------------------------------------------- outside


def test_read_outside():
    a, c = buffer("A", (4, 8)), buffer("C", (4, 8))
    origin = Origin("C", step="split(C.i, 4)")
    body = loop(i, 4, loop(j, 8, store(c, (i, j), load(a, i + 1, j) * 2.0, origin=origin)))
    e = fault([a, c], body, [floats(32).reshape(4, 8), floats(32).reshape(4, 8)])
    assert str(e) == (
        "read outside A: index 4 in dimension 0 of A[4, 0] is not in 0..3; its shape is (4, 8)\n"
        "    C[i, j] = A[i + 1, j] * 2.0\n"
        "    at i = 3, j = 0\n"
        "    in stage C, after split(C.i, 4)"
    )
    assert (e.rule, e.tensor, e.index, e.loops) == ("out-of-bounds-read", "A", (4, 0), {"i": 3, "j": 0})
    assert e.to_json()["loops"] == {"i": 3, "j": 0} and e.to_json()["index"] == [4, 0]


def test_write_outside_in_two_dimensions():
    c = buffer("C", (2, 2))
    e = fault([c], loop(i, 3, store(c, (i - 1, i + 2), 1.0), origin=Origin("C")), [floats(4).reshape(2, 2)])
    assert str(e) == (
        "write outside C: index -1 in dimension 0 of C[-1, 2] is not in 0..1, "
        "index 2 in dimension 1 of C[-1, 2] is not in 0..1; its shape is (2, 2)\n"
        "    C[i - 1, i + 2] = 1.0\n"
        "    at i = 0\n"
        "    in stage C"
    )
    assert e.rule == "out-of-bounds-write"


def test_flat_accesses_are_reported_as_logical_ones():
    c = buffer("C", (4, 8))
    flat = buffer("C", (32,), logical=c)
    e = fault([flat], loop(i, 5, store(flat, i * 8 + 3, 1.0)), [floats(32).reshape(4, 8)])
    assert str(e) == (
        "write outside C: flat index 35 (as C[4, 3]) is not in 0..31; its shape is (4, 8)\n"
        "    C[i*8 + 3] = 1.0\n    at i = 4"
    )
    e = fault([flat], loop(i, 5, store(flat, i * 8 - 1, 1.0)), [floats(32).reshape(4, 8)])
    assert str(e).startswith("write outside C: flat index -1 (as C[-1, 7]) is not in 0..31")


def test_outside_of_an_empty_buffer():
    c = buffer("C", (0,))
    e = fault([c], store(c, 0, 1.0), [floats(0)])
    assert str(e) == (
        "write outside C: index 0 in dimension 0 of C[0] is not in an empty range; its shape is (0,)\n    C[0] = 1.0"
    )


def test_vector_lanes_outside():
    a, c = buffer("A", (6,)), buffer("C", (8,))
    body = loop(i, 2, store(c, Ramp(i * 4, Const(1), 4), load(a, Ramp(i * 4, Const(1), 4), dtype="float32x4")))
    e = fault([a, c], body, [floats(6), floats(8)])
    assert str(e) == (
        "read outside A: index 6 in dimension 0 of A[6] is not in 0..5; its shape is (6,)\n"
        "    C[i*4:i*4 + 4] = A[i*4:i*4 + 4]\n"
        "    at i = 1"
    )
    mask = Ramp(i * 4, Const(1), 4) < Bin("+", Ramp(Const(0), Const(0), 4), Ramp(Const(6), Const(0), 4), "int32x4")
    safe = load(a, Ramp(i * 4, Const(1), 4), dtype="float32x4", mask=mask)
    run(function([a, c], loop(i, 2, store(c, Ramp(i * 4, Const(1), 4), safe))), [floats(6), floats(8)])


def test_outside_the_memory_of_a_strided_buffer():
    n = Var("n")
    a = buffer("A", (2, 3), strides=(Const(9), Const(1)))
    e = fault([a, n], store(a, (1, n), 1.0), [floats(6).reshape(2, 3)], 1)
    assert str(e) == (
        "write outside A: A[1, 1] is element 10 of its memory, which has 6; its shape is (2, 3)\n    A[1, n] = 1.0"
    )


def test_pointers_outside():
    c = buffer("C", (2, 3))
    ptr = Call("access_ptr", (c.data, i * 3, Const(4), Const(2)), "handle", "intrin")
    e = fault(
        [c],
        loop(i, 2, Evaluate(Call("f", (ptr,), "int32", "packed"))),
        [floats(6).reshape(2, 3)],
        packed={"f": lambda x: 0},
    )
    assert str(e) == (
        "access_ptr outside C: elements 3..6 are not all in 0..5; its shape is (2, 3)\n"
        "    packed('f', access_ptr(C, i*3, 4, 2))\n"
        "    at i = 1"
    )
    assert e.rule == "out-of-bounds-write" and e.index == (1, 0)


# ---------------------------------------------------------------- undefined


def test_reading_what_nothing_has_written():
    t, c = buffer("T", (2, 4), scope="local"), buffer("C", (4,))
    body = alloc(t, loop(i, 3, store(t, (1, i), 1.0)), loop(i, 4, store(c, i, load(t, 1, i))))
    e = fault([c], body, [floats(4)])
    assert str(e) == "read of T[1, 3], which nothing has written yet\n    C[i] = T[1, i]\n    at i = 3"
    assert (e.rule, e.tensor, e.index) == ("uninitialised-read", "T", (1, 3))


def test_an_allocation_is_undefined_each_time():
    t, c = buffer("T", (1,), scope="local"), buffer("C", (4,))
    body = loop(i, 4, alloc(t, If(i < 2, store(t, 0, 1.0)), store(c, i, load(t, 0))))
    assert fault([c], body, [floats(4)]).loops == {"i": 2}


def test_a_vector_reads_what_nothing_has_written():
    t, c = buffer("T", (8,), scope="local"), buffer("C", (8,))
    whole = Ramp(Const(0), Const(1), 8)
    body = alloc(t, loop(i, 6, store(t, i, 1.0)), store(c, whole, load(t, whole, dtype="float32x8")))
    assert str(fault([c], body, [floats(8)])) == "read of T[6], which nothing has written yet\n    C[0:8] = T[0:8]"
    fill = store(t, whole, Cast(whole, "float32x8"))
    run(function([c], alloc(t, fill, store(c, whole, load(t, whole, dtype="float32x8")))), [floats(8)])


def test_outputs_may_start_undefined():
    c = buffer("C", (2,))
    body = loop(i, 2, store(c, i, load(c, i) + 1.0))
    run(function([c], body), [floats(2)])
    e = fault([c], body, [floats(2)], uninitialised=["C"])
    assert str(e) == "read of C[0], which nothing has written yet\n    C[i] += 1.0\n    at i = 0"


def test_packed_functions_read_and_write():
    t, c = buffer("T", (4,), scope="local"), buffer("C", (4,))

    def call(b, mask):
        ptr = Call("access_ptr", (b.data, Const(0), Const(4), Const(mask)), "handle", "intrin")
        return Evaluate(Call("f", (ptr,), "int32", "packed"))

    copy = loop(i, 4, store(c, i, load(t, i)))
    fill = {"f": lambda x: x.fill(3)}
    result = floats(4)
    run(function([c], alloc(t, call(t, 2), copy)), [result], packed=fill)
    assert result.tolist() == [3, 3, 3, 3]
    e = fault([c], alloc(t, call(t, 1), copy), [result], packed=fill)
    assert str(e) == "read of T[0], which nothing has written yet\n    packed('f', access_ptr(T, 0, 4, 1))"


def test_without_checks_undefined_memory_is_nan():
    t, c = buffer("T", (1,), scope="local"), buffer("C", (1,))
    result = floats(1)
    run(function([c], alloc(t, store(c, 0, load(t, 0)))), [result], check=False)
    assert np.isnan(result[0])


# ---------------------------------------------------------------- arithmetic


def test_division_by_zero():
    a, c = buffer("A", (2,), "int32"), buffer("C", (2,), "int32")
    for op in ("//", "%", "truncdiv", "truncmod"):
        body = loop(i, 2, store(c, i, Bin(op, const(7), load(a, i), "int32")))
        result = np.array([1, 1], "int32")
        run(function([a, c], body), [np.array([2, 0], "int32"), result])
        assert result.tolist() == [3 if "div" in op or op == "//" else 1, 0]
        e = fault([a, c], body, [np.array([1, 0], "int32"), ints(2)], strict=True)
        assert e.rule == "division-by-zero" and e.loops == {"i": 1}
        assert str(e).startswith("division of integers by zero\n    C[i] = ")
    whole = Ramp(Const(0), Const(1), 2)
    body = store(c, whole, Bin("//", load(a, whole, dtype="int32x2"), load(a, whole, dtype="int32x2"), "int32x2"))
    run(function([a, c], body), [np.array([2, 0], "int32"), result])
    assert result.tolist() == [1, 0]
    assert fault([a, c], body, [np.array([1, 0], "int32"), ints(2)], strict=True).rule == "division-by-zero"


def test_shifts_beyond_the_width():
    a, c = buffer("A", (2,), "int32"), buffer("C", (2,), "int32")
    body = loop(i, 2, store(c, i, const(1) << load(a, i)))
    result = ints(2)
    run(function([a, c], body), [np.array([31, 32], "int32"), result])
    assert result.tolist() == [-(2**31), 0]
    run(function([a, c], loop(i, 2, store(c, i, const(-9) >> load(a, i)))), [np.array([1, 99], "int32"), result])
    assert result.tolist() == [-5, -1]
    e = fault([a, c], body, [np.array([31, 32], "int32"), ints(2)], strict=True)
    assert str(e) == "shift of a 32-bit integer by 32: only 0..31 is defined\n    C[i] = 1 << A[i]\n    at i = 1"


# ---------------------------------------------------------------- parallel loops


def test_two_iterations_write_one_cell():
    c = buffer("C", (4,))
    body = loop(i, 4, loop(j, 2, store(c, i // 2, 1.0)), kind="parallel")
    e = fault([c], body, [floats(4)])
    assert str(e) == (
        "race between iterations of a parallel loop: i = 0 and i = 1 both write C[0]\n"
        "    C[i // 2] = 1.0\n"
        "    at i = 1, j = 0\n"
        "  this loop must stay serial"
    ).replace("i // 2", "i//2")
    assert (e.rule, e.tensor, e.index) == ("parallel-race", "C", (0,))


def test_an_iteration_reads_what_another_writes():
    c = buffer("C", (5,))
    e = fault([c], loop(i, 4, store(c, i + 1, load(c, i)), kind="parallel"), [floats(5)])
    assert str(e) == (
        "race between iterations of a parallel loop: i = 0 writes C[1], i = 1 reads it\n"
        "    C[i + 1] = C[i]\n"
        "    at i = 1\n"
        "  this loop must stay serial"
    )
    e = fault([c], loop(i, 4, store(c, i, load(c, i + 1)), kind="parallel"), [floats(5)])
    assert str(e).startswith("race between iterations of a parallel loop: i = 0 reads C[1], i = 1 writes it\n")


def test_the_other_access_is_shown_when_it_is_another_statement():
    c, d = buffer("C", (4,)), buffer("D", (4,))
    body = loop(i, 4, store(c, i, 1.0), store(d, i, load(c, 0)), kind="parallel")
    assert str(fault([c, d], body, [floats(4), floats(4)])) == (
        "race between iterations of a parallel loop: i = 0 writes C[0], i = 1 reads it\n"
        "    D[i] = C[0]\n"
        "    at i = 1\n"
        "    the other access: C[i] = 1.0\n"
        "  this loop must stay serial"
    )


def test_an_earlier_reader_is_not_forgotten():
    c, d = buffer("C", (4,)), buffer("D", (4,))
    body = loop(i, 4, store(d, i, load(c, 3)), If(i >= 3, store(c, 3, 1.0)), kind="parallel")
    assert str(fault([c, d], body, [floats(4), floats(4)])).startswith(
        "race between iterations of a parallel loop: i = 0 reads C[3], i = 3 writes it"
    )


def test_vectors_race_too():
    c = buffer("C", (10,))
    body = loop(i, 2, store(c, Ramp(i * 4, Const(1), 6), Cast(Ramp(i, Const(1), 6), "float32x6")), kind="parallel")
    assert str(fault([c], body, [floats(10)])).startswith(
        "race between iterations of a parallel loop: i = 0 and i = 1 both write C[4]"
    )


def test_packed_functions_race_too():
    c = buffer("C", (4,))
    ptr = Call("access_ptr", (c.data, i, Const(2), Const(2)), "handle", "intrin")
    body = loop(i, 3, Evaluate(Call("f", (ptr,), "int32", "packed")), kind="parallel")
    e = fault([c], body, [floats(4)], packed={"f": lambda x: 0})
    assert e.rule == "parallel-race" and e.index == (1,)


@pytest.mark.parametrize("kind", ["serial", "parallel"])
def test_what_does_not_race(kind):
    c, t = buffer("C", (4, 4)), buffer("T", (1,), scope="local")
    private = alloc(t, store(t, 0, 0.0), loop(k, 4, store(t, 0, load(t, 0) + 1.0)), store(c, (i, j), load(t, 0)))
    body = Seq((
        loop(i, 4, loop(j, 4, private, kind=kind), kind="parallel"),
        loop(j, 4, loop(i, 4, store(c, (i, j), load(c, i, j) + 1.0)), kind="parallel"),
        loop(j, 4, loop(i, 4, store(c, (j, i), load(c, j, i) + 1.0), kind="parallel")),
        store(c, (0, 0), 9.0),
    ))  # fmt: skip
    result = floats(16).reshape(4, 4)
    run(function([c], body), [result])
    assert result.sum() == 16 * 6 + 3


def test_nested_parallel_loops_race_at_the_loop_where_they_part():
    c = buffer("C", (4,))
    inner = loop(j, 4, store(c, j, 1.0), kind="parallel")
    assert str(fault([c], loop(i, 2, inner, kind="parallel"), [floats(4)])).startswith(
        "race between iterations of a parallel loop: i = 0 and i = 1 both write C[0]"
    )
    inner = loop(j, 2, store(c, i, 1.0), kind="parallel")
    assert str(fault([c], loop(i, 2, inner, kind="parallel"), [floats(4)])).startswith(
        "race between iterations of a parallel loop: j = 0 and j = 1 both write C[0]"
    )


def test_an_allocation_shared_by_inner_parallel_iterations_races():
    c, t = buffer("C", (4,)), buffer("T", (1,), scope="local")
    inner = loop(j, 2, store(t, 0, 1.0), store(c, i, load(t, 0)), kind="parallel")
    e = fault([c], loop(i, 4, alloc(t, inner)), [floats(4)])
    assert str(e).startswith("race between iterations of a parallel loop: j = 0 and j = 1 both write T[0]")


# ---------------------------------------------------------------- several faults


def test_collecting_faults():
    a, t, c = buffer("A", (2,)), buffer("T", (1,)), buffer("C", (3,))
    body = alloc(t, loop(i, 4, Seq((store(c, i, load(a, i) + 1.0), store(c, 0, load(t, 0))))))
    result = floats(3)
    report = run(function([a, c], body), [floats([1, 2]), result], faults=10)
    assert [(f.rule, f.tensor, f.loops) for f in report.faults] == [
        ("uninitialised-read", "T", {"i": 0}), ("out-of-bounds-read", "A", {"i": 2}),
        ("out-of-bounds-write", "C", {"i": 3}),
    ]  # fmt: skip
    assert result.tolist() == [0, 3, 1]  # a bad read gives 0, a bad write nothing
    assert len(run(function([a, c], body), [floats([1, 2]), result], faults=2).faults) == 2


# ---------------------------------------------------------------- refused before it runs


def refusal(params, body, arrays):
    with pytest.raises(BuildError) as e:
        run(function(params, body), arrays)
    return str(e.value)


def test_programs_that_cannot_be_run():
    c, t = buffer("C", (4,)), buffer("T", (4,))
    x = Var("x")
    out = [floats(4)]
    assert refusal([c], store(c, 0, load(t, 0)), out) == (
        "`T` is used where it is neither a parameter nor allocated\n    C[0] = T[0]"
    )
    assert refusal([c], Seq((alloc(t, store(t, 0, 1.0)), store(t, 0, 1.0))), out) == (
        "`T` is used where it is neither a parameter nor allocated\n    T[0] = 1.0"
    )
    assert refusal([c], store(c, x, 1.0), out) == "`x` is used where nothing binds it\n    C[x] = 1.0"
    assert refusal([c], Seq((LetStmt(x, const(1), store(c, x, 1.0)), store(c, x, 1.0))), out) == (
        "`x` is used where nothing binds it\n    C[x] = 1.0"
    )
    assert refusal([c], store(c, (0, 0), 1.0), out) == (
        "this stores C with 2 indices, but it has 1 dimensions\n    C[0, 0] = 1.0"
    )
    assert refusal([c], store(c, 0, const(1)), out) == "this stores int32, but C holds float32\n    C[0] = 1"
    pointer = Call("access_ptr", (x, Const(0), Const(1), Const(1)), "handle", "intrin")
    assert refusal([c], Evaluate(Call("f", (pointer,), "int32", "packed")), out) == (
        "`x` is not the data of a buffer in scope\n    packed('f', access_ptr(x, 0, 1, 1))"
    )


def test_a_reduction_must_be_lowered():
    from tvmlab.core.node import Combiner

    c = buffer("C", (4,))
    x, y = Var("x", "float32"), Var("y", "float32")
    total = Combiner("sum", (x,), (y,), (x + y,), (const(0.0),))
    r = Reduce(total, (const(1.0),), (), const(True), 0, (), "float32")
    assert refusal([c], store(c, 0, r), [floats(4)]).startswith(
        "a reduction (sum) stands inside the loops: lower the program first"
    )
