"""A barrier behind every loop that has one: where something follows, and only there."""

import pytest

from tests.pure.passes.ir import buffer, ints, loop, program, store
from tvmlab.core.node import Barrier, For, If, Seq
from tvmlab.core.verify import check
from tvmlab.core.walk import walk
from tvmlab.lowering.passes import get

close = get("close_barrier_loops")
C = buffer("C", 64)
t, k, j = ints("t k j")
SYNC, WRITE = Barrier("shared"), store(C, t, 1.0)


def closed(*body):
    """The statements of the kernel behind the pass, and how many barriers it added."""
    made = get("split_host_device")(program((C,), loop(t, 64, *body, kind="thread", thread="threadIdx.x")))
    after = close(made)
    check(after)
    count = lambda p: sum(isinstance(x, Barrier) for x in walk(p.functions[1].body))
    return after.functions[1].body.body, count(after) - count(made)


def names(s):
    return [type(x).__name__ for x in (s.stmts if isinstance(s, Seq) else (s,))]


def test_what_follows_a_loop_waits():
    body, added = closed(loop(k, 4, SYNC, WRITE), If(t < 7, WRITE))
    assert names(body) == ["For", "Barrier", "If"] and added == 1


@pytest.mark.parametrize(
    "body",
    [
        (WRITE, loop(k, 4, SYNC, WRITE)),
        (loop(k, 4, SYNC, WRITE), SYNC, WRITE),
        (loop(k, 4, WRITE), WRITE),
        (loop(k, 4, Barrier("warp"), WRITE), WRITE),
    ],
    ids=["the end of the kernel", "a barrier is there", "no barrier inside", "a warp's"],
)
def test_nothing_is_added_without_need(body):
    assert closed(*body)[1] == 0


def test_a_loop_at_the_end_of_a_loop():
    body, added = closed(loop(j, 2, WRITE, loop(k, 4, SYNC, WRITE)))
    assert names(body.body) == ["Store", "For", "Barrier"] and added == 1
    assert isinstance(body, For)


def test_the_same_program_where_there_is_nothing_to_do():
    made = get("split_host_device")(program((C,), loop(t, 64, WRITE, kind="thread", thread="threadIdx.x")))
    assert close(made) is made
