"""What does nothing goes; effects stay."""

from tests.pure.passes.ir import buffer, ints, load, loop, nodes, program, run, same_result, store, var
from tvmlab.core.node import NOP, Alloc, Attr, Call, Const, Evaluate, For, If, LetStmt, Seq, Store
from tvmlab.core.text import show
from tvmlab.core.walk import seq
from tvmlab.lowering.passes import get

remove_noop = get("remove_noop")


def bump(x):
    return Call("bump", (x,), "int32", "packed")


def test_unread_buffers_go(golden):
    """T is read only to make U, and nobody reads U."""
    a = buffer("A", 8)
    t, u = buffer("T", 8, scope="local"), buffer("U", 8, scope="local")
    i, j, k = ints("i j k")
    body = seq(
        loop(i, 8, store(t, i, load(a, i)), store(a, i, 1.0)),
        Attr("double_buffer", u, Const(1), loop(j, 8, store(u, j, load(t, j)))),
        loop(k, 0, store(a, k, 2.0)),
    )
    before = program((a,), Alloc(t, Alloc(u, body)))
    after = remove_noop(before)
    golden(before, "before")
    golden(after, "after")
    same_result(before, after)


def test_nothing_to_do_is_the_same_object():
    a = buffer("A", 8)
    (i,) = ints("i")
    before = program((a,), loop(i, 8, If(i < 3, store(a, i, 1.0))))
    assert remove_noop(before) is before


def test_empty_bodies_go():
    a = buffer("A", 8)
    i, v = ints("i v")
    before = program((a,), loop(i, 8, If(i < 3, NOP), LetStmt(v, i * 2, NOP)), store(a, 0, 1.0))
    assert show(remove_noop(before).body) == "A[0] = 1.0"


def test_an_empty_then_turns_around():
    a = buffer("A", 8)
    (i,) = ints("i")
    before = program((a,), loop(i, 8, If(i < 3, NOP, store(a, i, 1.0))))
    after = remove_noop(before)
    same_result(before, after)
    assert "if not i < 3:" in show(after.body)


def test_unused_lets_go():
    a = buffer("A", 8)
    i, v, w = ints("i v w")
    before = program((a,), loop(i, 8, LetStmt(v, i * 2, LetStmt(w, v + 1, store(a, i, 1.0)))))
    assert not nodes(remove_noop(before), LetStmt)


def test_a_let_that_sizes_a_buffer_stays():
    a, v = buffer("A", 8), var("v")
    t = buffer("T", v, scope="local")
    before = program((a,), LetStmt(v, Const(3), Alloc(t, seq(store(t, 0, 1.0), store(a, 0, load(t, 0))))))
    assert remove_noop(before) is before


def test_effects_stay():
    """The value of the store and of the let is not used, but computing it does something."""
    t = buffer("T", 8, dtype="int32", scope="local")
    i, v = ints("i v")
    body = loop(i, 4, Alloc(t, store(t, 0, bump(i))), LetStmt(v, bump(i * 10), NOP), Evaluate(i + 1))
    before = program((), body)
    after = remove_noop(before)
    seen = [], []
    for p, calls in zip((before, after), seen):
        run(p, packed={"bump": lambda x, calls=calls: calls.append(int(x)) or 0})
    assert seen[0] == seen[1] and sum(seen[0]) == 66
    assert not nodes(after, Store, Alloc, LetStmt) and len(nodes(after, Evaluate)) == 2


def test_a_buffer_whose_address_is_taken_stays():
    t = buffer("T", 8, scope="local")
    pointer = Call("access_ptr", (t.data, Const(0), Const(8), Const(1)), "handle", "intrin")
    before = program((), Alloc(t, seq(store(t, 0, 1.0), Evaluate(Call("f", (pointer,), "int32", "extern")))))
    assert remove_noop(before) is before


def test_everything_may_go():
    t = buffer("T", 8)
    (i,) = ints("i")
    before = program((), Alloc(t, loop(i, 8, store(t, i, 1.0))))
    assert remove_noop(before).body is NOP
    assert isinstance(NOP, Seq) and not nodes(remove_noop(before), For)
