"""Memory of a scope shared.x becomes shared memory wherever it is named."""

from tests.pure.passes.ir import buffer, ints, load, loop, nodes, program, store
from tvmlab.core.build import const
from tvmlab.core.node import Alloc, AllReduce, Attr, Combiner, Load, Seq, Store, Var
from tvmlab.lowering.passes import get


def test_every_place_that_names_it():
    (t,) = ints("t")
    a, b = Var("a", "float32"), Var("b", "float32")
    s, c, own = buffer("S", 32, scope="shared.dyn"), buffer("C", 32), buffer("L", 1, scope="local")
    plus = Combiner("sum", (a,), (b,), (a + b,), (const(0.0),))
    total = AllReduce(plus, (load(s, t),), const(True, "bool"), (s,), (t,))
    inside = Attr("note", s, const(1), Seq((store(s, t, 0.0), total, store(own, 0, load(s, t)), store(c, t, 0.0))))
    before = program([c], Alloc(own, Alloc(s, loop(t, 32, inside, kind="thread", thread="threadIdx.x"))))
    made = get("untag_shared")(before)
    (new,) = [x.buffer for x in nodes(made, Alloc) if x.buffer.name == "S"]
    assert new.scope == "shared" and new.data is s.data
    named = [x.buffer for x in nodes(made, Load, Store)] + [x.about for x in nodes(made, Attr)]
    named += [b for x in nodes(made, AllReduce) for b in x.buffers]
    assert {b for b in named if b.name == "S"} == {new} and {b for b in named if b.name != "S"} == {c, own}
    assert get("untag_shared")(made) is made
