"""The space of any expression: what its points are."""

import pickle

import pytest

from tests.expressions import CASES, differing
from tests.refusal import refused
from tvmlab import te, tune
from tvmlab.tune import packing


@pytest.mark.parametrize("name", CASES)
def test_points_are_legal_or_say_why_and_compute_the_same(name):
    right, why = differing(name, "interp", 10)
    assert right >= 5, why


def declare(n=64, m=64, l=64):
    A, B = te.placeholder((n, l), name="A"), te.placeholder((l, m), name="B")
    k = te.reduce_axis((0, l), name="k")
    C = te.compute((n, m), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    return [A, B, C]


def point(task, **values):
    """The point with these candidates, the first ones elsewhere. `i=[-1, 2, 4]` is of the choice C.i."""
    saved = [[n, knob.kind, knob[0].value] for n, knob in task.space.space_map.items()]
    for entry in saved:
        entry[2] = values.get(entry[0].removeprefix("C."), entry[2])
    return task.space.from_json_config(saved)


def test_the_choices_of_a_matmul():
    args = declare()
    task = tune.Task.of(args[-1], args, "llvm")
    assert task.space.names == ["C.i", "C.j", "C.k", "C.order", "C.cache", "C.parallel", "C.swap", "C.unroll",
                                "C.vectorize"]  # fmt: skip
    assert task.flop == 2.0 * 64**3 and task.workload[:2] == ("generic", "C: float32[64, 64]")
    again, other = (tune.Task.of(made[-1], made, "llvm") for made in (declare(), declare(32)))
    assert (again.space.hash, other.space.hash == task.space.hash) == (task.space.hash, False)


def test_a_hand_schedule_is_one_of_its_points(golden):
    args = declare()
    task = tune.Task.of(args[-1], args, "llvm")
    config = point(task, i=[-1, 1, 4], j=[-1, 1, 16], k=[-1, 1], order="S0 S1 R0 R1 S2", parallel=1, unroll=8)
    assert task.instantiate(config)[0].to_code() == golden


def test_a_cached_tile_in_a_fused_parallel_loop(golden):
    args = declare()
    D = te.compute((64, 64), lambda i, j: te.tanh(args[2][i, j]), name="D")
    args = [*args[:2], D]
    task = tune.Task.of(D, args, "llvm")
    config = point(task, place="tile", **{"D.i": [-1, 1, 8], "D.j": [-1, 1, 16], "j": [-1, 1, 8], "D.parallel": 2})
    assert task.instantiate(config)[0].to_code() == golden


def test_what_a_person_scheduled_stays():
    args = declare()
    D = te.compute((64, 64), lambda i, j: args[2][i, j] + 1.0, name="D")
    s = te.create_schedule(D.op)
    s[D].split(D.op.axis[0], 8)
    task = tune.Task.of(s, [*args[:2], D], "llvm")
    assert all(name.startswith("C.") for name in task.space.names) and "C.place" not in task.space.names
    made, _ = task.instantiate(task.space.get(task.space.range_length // 2))
    assert made.trace.prefix(1).to_code() == s.to_code() and len(s.trace) == 1


def test_a_task_travels():
    args = declare()
    task = tune.Task.of(args[-1], args, "llvm")
    again = pickle.loads(pickle.dumps(task))
    assert again == task and again.space.hash == task.space.hash
    number = task.space.range_length // 3
    code = [t.instantiate(t.space.get(number))[0].to_code() for t in (task, again)]
    assert code[0] == code[1]


def test_a_copy_is_a_choice_for_what_a_sum_reads_again_and_again(monkeypatch):
    monkeypatch.setattr(packing, "CACHED", 0)
    shapes = {"X": (4, 9, 9), "W": (4, 2, 2, 8), "V": (8,), "E": (9, 5), "L": (4, 9)}
    X, W, V, E, L = (te.placeholder(shape, name=name) for name, shape in shapes.items())
    c, r, q, k, g = (te.reduce_axis((0, n), name=name) for name, n in zip("crqkg", (4, 2, 2, 4, 9), strict=True))
    C = te.compute((8, 8, 8), lambda y, x, f: te.sum(X[c, y + r, x + q] * W[c, r, q, f], axis=[c, r, q]), name="C")
    Y = te.compute((8, 8, 8), lambda y, x, f: C[y, x, f] + V[f], name="Y")
    T = te.compute((9, 5), lambda i, j: E[i, j] * 2.0, name="T")
    M = te.compute((4, 5), lambda i, j: te.sum(L[i, g] * T[g, j], axis=g), name="M")
    G = te.compute((9, 9), lambda i, j: te.sum(X[k, j, g] * X[k, i, g], axis=[k, g]), name="G")
    S = te.compute((4, 9), lambda i, j: te.sum(X[i, j, g], axis=g), name="S")
    cases = [(Y, [X, W, V, Y]), (M, [L, E, M]), (M, [L, E, T, M]), (G, [X, G]), (S, [X, S])]
    offered = [[n for n in tune.Task.of(made, args, "llvm").space.names if ".pack." in n] for made, args in cases]
    # X of C has no tile, L none in vectors, T a place of its own unless it is an argument; G reads X at two places
    assert offered == [["C.pack.W"], [], ["M.pack.T"], [], []]


def test_what_a_cache_holds_is_not_copied():
    names = [[n for n in tune.Task.of(args[-1], args, "llvm").space.names if ".pack." in n]
             for args in (declare(64, 64, 128), declare(64, 65, 128))]  # fmt: skip
    assert names == [[], ["C.pack.B"]]


def test_copies_in_panels(golden):
    args = declare(90, 100, 110)
    task = tune.Task.of(args[-1], args, "llvm")
    tiles = {"i": [-1, 2, 4], "j": [-1, 1, 16], "k": [-1, 16]}
    made = [task.instantiate(point(task, **tiles, **more))[0].to_code()
            for more in ({"pack.B": "first", "cache": 1, "swap": 1}, {"pack.B": "block", "order": "S0 R0 S1 R1 S2"})]
    assert "\n".join(made) == golden


@pytest.mark.parametrize("name", ["matmul of odd sizes", "matmul, bias, tanh"])
def test_points_with_copies_compute_the_same(name, monkeypatch):
    monkeypatch.setattr(packing, "CACHED", 0)
    monkeypatch.setattr(packing, "OFTEN", 0)
    right, why = differing(name, "interp", 8, seed=5)
    assert right >= 3, why


def test_copies_that_bring_nothing(monkeypatch):
    args = declare(128, 128, 128)
    task = tune.Task.of(args[-1], args, "llvm")
    why = lambda **values: refused(ValueError, lambda: task.instantiate(point(task, **values)))
    assert why(**{"pack.B": "root"}) == "a copy of B for C brings nothing: no index of it is tiled"
    first = {"j": [-1, 1, 16], "pack.B": "first"}
    assert why(**first) == "what is copied to B.global is read 1.0 times, which is not worth it"
    monkeypatch.setattr(packing, "LARGEST", 4096)
    assert why(**first, swap=1) == "B.global in a loop of C is large: 8192 of 4096 bytes"


def test_what_cannot_be():
    args = declare()
    task = tune.Task.of(args[-1], args, "llvm")
    config = point(task, i=[-1, 1, 64], j=[-1, 1, 64])
    assert refused(ValueError, lambda: task.instantiate(config)) == "the inner tile of C has more than 1024 elements"


def test_what_has_no_operations_is_measured_by_its_elements():
    A = te.placeholder((8, 4), name="A")
    B = te.compute((4, 8), lambda i, j: A[j, i], name="B")
    assert tune.Task.of(B, [A, B], "llvm").flop == 32.0


def conv(name="conv2d, lanes along channels"):
    args, *_ = CASES[name]()
    return args, tune.Task.of(args[-1], args, "llvm")


def test_lanes_along_the_channels_of_a_convolution(golden):
    """Its weights are packed for that, and the tile of sums lies the same way."""
    _, task = conv()
    others = [f"axis 1, copies: {at}" for at in ("root", "first", "block")]
    assert task.space.space_map["C.lanes"].values == ["last axis", *others]
    s, _ = task.instantiate(task.space.get(task.first[0]))
    assert s.to_code() == golden


def test_lanes_are_a_choice_only_where_the_last_axis_indexes_no_input_by_itself():
    lanes = lambda args: [n for n in tune.Task.of(args[-1], args, "llvm").space.names if n.endswith("lanes")]
    assert lanes(declare()) == [] and lanes(conv("conv2d")[0]) == []  # a product; few channels
    A, W = te.placeholder((16, 9), name="A"), te.placeholder((16, 3), name="W")
    r = te.reduce_axis((0, 3), name="r")
    each = te.compute((16, 7), lambda c, x: te.sum(A[c, x + r] * W[c, r], axis=r), name="each")
    assert lanes([A, W, each]) == []  # channels index all that is read


def test_lanes_along_the_channels_are_of_a_stage_at_the_root():
    args, _ = conv()
    D = te.compute(args[-1].shape, lambda *i: te.tanh(args[-1](*i)), name="D")
    task = tune.Task.of(D, [*args[:2], D], "llvm")
    places = dict(zip(task.space.names, task.space.point2knob(task.first[0]), strict=True))
    places["C.place"] = [e.val for e in task.space.space_map["C.place"].entities].index("tile")
    inside = task.space.get(task.space.knob2point(list(places.values())))
    said = refused(tune.InstantiationError, lambda: task.instantiate(inside))
    assert "the lanes of C are its last axis's: it is not at the root" in said


def test_a_session_begins_with_points_of_a_rule_of_thumb():
    args = declare()
    task = tune.Task.of(args[-1], args, "llvm")
    session = tune.Session(task, trials=4)
    assert session._first() == task.first and len(task.first) >= 3
    kept = {"C.cache": [0]}
    session.restrict(kept)
    assert session._first() == []  # they have all a cache
    assert all(task.space.get(i)["C.cache"].val == 1 for i in task.first)


def test_a_search_that_was_given_keeps_to_its_own_points():
    from tvmlab.tune.search.random import Search

    args = declare()
    task = tune.Task.of(args[-1], args, "llvm")
    assert tune.Session(task, trials=4, search=Search(task))._first() == []


def test_the_batch_may_be_lanes_too_and_the_smaller_copies_come_first():
    A, W = te.placeholder((8, 16, 40), name="A"), te.placeholder((16, 16, 3), name="A")  # of one name
    c, r = te.reduce_axis((0, 16), name="c"), te.reduce_axis((0, 3), name="r")
    C = te.compute((8, 16, 38), lambda n, f, x: te.sum(A[n, c, x + r] * W[f, c, r], axis=[c, r]), name="C")
    task = tune.Task.of(C, [A, W, C], "llvm")
    values = task.space.space_map["C.lanes"].values
    assert [v[:6] for v in values[1::3]] == ["axis 1", "axis 0"]
    assert {task.space.get(i)["C.lanes"].val for i in task.first} == {"last axis", values[1], values[4]}


def test_names_of_axes_are_nothing_to_the_space():
    """A choice's own name among them, or one that looks like a candidate."""

    def named(*names):
        A, W = te.placeholder((16, 40), name="A"), te.placeholder((16, 16, 3), name="W")
        c, r = te.reduce_axis((0, 16), name=names[2]), te.reduce_axis((0, 3), name=names[3])
        ns = {"te": te, "A": A, "W": W, "c": c, "r": r}
        f, x = names[:2]
        body = eval(f"lambda {f}, {x}: te.sum(A[c, {x} + r] * W[{f}, c, r], axis=[c, r])", ns)
        C = te.compute((16, 38), body, name="C")
        return tune.Task.of(C, [A, W, C], "llvm")

    tasks = [named("f", "x", "c", "r"), named("lanes", "cache", "order", "place")]
    assert tasks[0].space.hash == tasks[1].space.hash and tasks[0].first == tasks[1].first
    for task in tasks:
        s, _ = task.instantiate(task.space.get(task.first[0]))
        assert "transform_layout" in s.to_code()


def test_a_scalar_that_others_read_may_be_inside_their_loops():
    A = te.placeholder((37,), name="A")
    k = te.reduce_axis((0, 37), name="k")
    S = te.compute((), lambda: te.sum(A[k], axis=k), name="S")
    Y = te.compute((37,), lambda i: A[i] / S(), name="Y")
    task = tune.Task.of(Y, [A, Y], "llvm")
    place = [e.val for e in task.space.space_map["S.place"].entities].index("tile")
    places = [{"S.place": place, "Y.i": 2}.get(n, 0) for n in task.space.names]
    s, _ = task.instantiate(task.space.get(task.space.knob2point(places)))
    assert "s[S].compute_at" in s.to_code()


def test_lanes_along_channels_need_a_cache():
    _, task = conv()
    places = dict(zip(task.space.names, task.space.point2knob(task.first[0]), strict=True))
    places["C.cache"] = 0
    bare = task.space.get(task.space.knob2point(list(places.values())))
    assert "no tile has a cache" in refused(tune.InstantiationError, lambda: task.instantiate(bare))
