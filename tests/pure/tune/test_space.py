"""Spaces: the classic numbers, points by number, filters, saving."""

import pickle
import random

import pytest

from tests.refusal import refused
from tvmlab import te, tune
from tvmlab.tune.space import Config, Space


def split(n, outputs, **options):
    space = Space()
    space.define_split("t", n, num_outputs=outputs, **options)
    return space


def sizes(space):
    return [e.size for e in space.space_map["t"]]


@pytest.mark.parametrize(
    "n, outputs, policy, count", [(256, 3, "factors", 45), (224, 3, "factors", 63), (224, 3, "power2", 36),
                                  (224, 3, "verbose", 84), (128, 2, "factors", 8), (7, 1, "factors", 1)],
)  # fmt: skip
def test_the_classic_numbers(n, outputs, policy, count):
    assert len(split(n, outputs, policy=policy)) == count


def test_the_innermost_length_varies_slowest():
    assert sizes(split(4, 3)) == [[-1, 1, 1], [-1, 2, 1], [-1, 4, 1], [-1, 1, 2], [-1, 2, 2], [-1, 1, 4]]


def test_tails():
    assert sizes(split(6, 2, policy="power2")) == [[-1, 1], [-1, 2], [-1, 4]]
    assert sizes(split(6, 2, policy="power2", no_tail=True)) == [[-1, 1], [-1, 2]]
    assert sizes(split(6, 2, policy="factors", max_factor=3)) == [[-1, 1], [-1, 2], [-1, 3]]
    assert sizes(split(5, 3, no_tail=False)) == [[-1, 1, 1], [-1, 5, 1], [-1, 1, 5]]
    assert sizes(split(5, 2, policy="candidate", candidate=[[-1, 3], [2, 3]])) == [[-1, 3], [2, 3]]


def test_points_are_numbered_with_the_first_choice_fastest():
    space = Space()
    y, x = te.placeholder((128, 128), name="A").shape
    space.define_split("y", space.axis(y), num_outputs=2)
    space.define_split("x", space.axis(x), num_outputs=2)
    assert (len(space), space.dims, space.names) == (64, [8, 8], ["y", "x"])
    config = space.get(8 * 3 + 2)
    assert (config["y"].size, config["x"].size) == ([-1, 4], [-1, 8])
    assert space.point2knob(26) == [2, 3] and space.knob2point([2, 3]) == 26
    assert all(space.knob2point(space.point2knob(p)) == p for p in range(64))
    assert config.to_json() == [["y", "sp", [-1, 4]], ["x", "sp", [-1, 8]]]
    assert space.from_json_config(config.to_json()) == config
    assert Config.from_json_dict(config.to_json_dict())["x"] == config["x"]
    assert [*config] == ["y", "x"] and "y" in config and config.valid()
    assert pickle.loads(pickle.dumps(config)) == config


def huge():
    space = Space()
    for k in range(12):
        space.define_reorder(f"order{k}", [space.axis(1) for _ in range(14)], "all")
    return space


def test_a_huge_space_costs_nothing():
    space = huge()
    assert space.range_length == 87178291200**12
    point = space.range_length - 12345
    config = space.get(point)
    assert config["order11"].perm == [*range(13, -1, -1)]
    assert space.from_json_config(config.to_json()).index == point
    assert len(set(space.sample_ints(20, random.Random(1)))) == 20
    assert space.random_walk(point, random.Random(1)) != point
    assert len(space.hash) == 16 and space.hash == huge().hash


def test_reorders():
    space = Space()
    a, b, c, d = axes = [space.axis(n) for n in (1, 2, 3, 4)]
    perms = lambda policy, **options: (
        space.define_reorder("r", axes, policy, **options),
        [e.perm for e in space.space_map["r"]],
    )[1]
    assert perms("identity") == [[0, 1, 2, 3]]
    assert len(perms("all")) == 24 and perms("all")[5] == [0, 3, 2, 1]
    assert perms("interval_all", interval=(1, 3)) == [[0, 1, 2, 3], [0, 2, 1, 3]]
    assert perms("candidate", candidate=[[d, c, b, a], [a, b, c, d]]) == [[3, 2, 1, 0], [0, 1, 2, 3]]
    assert perms("interleave", spatial=[[a, b], [c]], reduce=[[d]]) == [[0, 1, 2, 3]]
    assert perms("interleave_cuda", spatial=[[a, b], [c]], reduce=[[d]]) == [[0, 3, 1, 2]]
    assert [space.space_map["r"].find(e.perm) for e in space.space_map["r"]] == [0]


def test_annotations():
    space = Space()

    def words(policy, n, **options):
        space.define_annotate("a", [space.axis(4)] * n, policy, **options)
        return [e.anns for e in space.space_map["a"]]

    assert words("try_unroll", 2) == [["none"] * 2, ["none", "unroll"], ["unroll", "none"], ["unroll"] * 2]
    assert len(words("try_unroll_vec", 3)) == 8 + 3 * 4
    assert words("unroll", 2) == [["unroll", "unroll"]]
    assert words("locate_cache", 3, num_anchor=2) == [[0, 1], [0, 2], [1, 2]]
    assert words("bind_gpu", 5) == [["fuse", "blockIdx.y", "blockIdx.x", "threadIdx.y", "threadIdx.x"]]
    assert words("bind_gpu_virtual", 3) == [["blockIdx.x", "vthread", "threadIdx.x"]]
    assert words("bind_gpu", 7)[0][:2] == ["fuse", "blockIdx.z"]
    assert "needs 2 loops at least, not 1" in refused(RuntimeError, lambda: words("bind_gpu", 1))


def test_what_filters_discard_is_counted():
    space = split(64, 2, filter=lambda e: e.size[-1] <= 4)
    assert sizes(space) == [[-1, 1], [-1, 2], [-1, 4]] and space.discarded == {"t": 4}
    space.define_knob("u", [0, 1])
    space.multi_filter(lambda cfg: cfg["u"].val == 0 or cfg["t"].size[-1] > 1)
    assert len(space) == 5 and space.range_length == 6 and space.discarded == {"t": 4, "multi_filter": 1}
    with pytest.raises(IndexError, match="the filter of the space discarded 3"):
        space.get(3)
    assert space.sample_ints(9) == [0, 1, 2, 4, 5]
    assert set(space.sample_ints(4)) < {0, 1, 2, 4, 5}
    assert space.get_next_index(2) == 4 and space.get_next_index(5) is None and space.get_next_index(4, -1) == 2
    assert space.subrange_length(0, 4) == 3
    for seed in range(20):
        assert space.random_walk(0, random.Random(seed)) in {1, 2, 4, 5}


def test_empty_spaces_are_refused_with_the_reason():
    assert refused(ValueError, lambda: split(8, 2, filter=lambda e: False)) == (
        "the choice 't' has no candidates: its filter discarded all 4\n    Split(policy=factors, product=8, "
        "num_outputs=2) len=0"
    )
    assert refused(ValueError, lambda: Space().define_knob("u", [])) == (
        "the choice 'u' has no candidates: none was given\n    OtherOption([]) len=0"
    )
    space = split(8, 2)
    space.multi_filter(lambda cfg: False)
    assert refused(ValueError, lambda: len(space)) == "the filter of the space discarded all its 4 points"


def test_what_is_refused():
    assert refused(RuntimeError, lambda: split(8, 2, policy="halves")) == (
        "Invalid policy: there is no policy 'halves' to split by\n  legal here:  factors, power2, verbose, candidate"
    )
    refused(RuntimeError, lambda: Space().define_reorder("r", [1, 2], "random"))
    refused(RuntimeError, lambda: Space().define_annotate("a", [1, 2], "try_magic"))
    refused(AssertionError, lambda: split(8, 3, policy="candidate", candidate=[[2, 4]]))
    refused(AssertionError, lambda: Space().define_split("t", 8))
    refused(ValueError, lambda: split(te.var("n"), 2))
    space = split(8, 2)
    with pytest.raises(IndexError, match="the space has 4 points, there is no 4"):
        space.get(4)
    assert refused(KeyError, lambda: space.get(0)["s"]) == ("the template has defined no choice 's'\n  legal here:  t")
    assert refused(ValueError, lambda: space.from_json_config([["t", "sp", [-1, 3]]])) == (
        "[-1, 3] (sp) is no candidate of 't'\n    Split(policy=factors, product=8, num_outputs=2) len=4"
    )
    assert "another space: s, t" in refused(ValueError, lambda: space.from_json_config([["s", "ot", 3]]))


def test_a_second_definition_replaces_the_first():
    space = split(8, 2)
    space.define_knob("u", [1, 2, 3])
    space.define_split("t", 27, num_outputs=2)
    assert space.dims == [4, 3] and space["t"].size == [-1, 1]


def test_the_hash_tells_spaces_apart():
    assert split(8, 2).hash == split(8, 2).hash != split(8, 2, max_factor=4).hash
    assert split(8, 2).hash != split(8, 3).hash


def test_apply():
    A = te.placeholder((20, 8), name="A")
    B = te.compute((20, 8), lambda i, j: A[i, j] + 1.0, name="B")
    s = te.create_schedule(B.op)
    i, j = B.op.axis
    axes = tune.SplitEntity([-1, 2, 4]).apply(s, B, i)
    assert [a.name for a in axes] == ["i.outer", "i.inner.outer", "i.inner.inner"]
    order = tune.ReorderEntity([2, 0, 1, 3]).apply(s, B, [*axes[:2], j, axes[2]])
    assert list(s[B].leaf_iter_vars) == order
    tune.AnnotateEntity(["none", "unroll", "none", "vec"]).apply(s, B, order)
    assert [m.iter_type for m in s[B].iter_var_attrs.values()] == [5, 6]


def test_apply_of_annotations_says_what_is_too_long():
    A = te.placeholder((20, 8), name="A")
    B = te.compute((20, 8), lambda i, j: A[i, j] + 1.0, name="B")
    config = split(8, 2).get(0)
    s = te.create_schedule(B.op)
    tune.AnnotateEntity(["unroll", "vec"]).apply(
        s, B, s[B].op.axis, axis_lens=[20, 8], max_unroll=16, vec_size=[4, 16], cfg=config
    )
    assert config.errors == ["Too large factor for unrolling: 20 iterations, at most 16",
                             "Wrong size of lanes in vectorization: 8, not one of [4, 16]"]  # fmt: skip
    t = te.create_schedule(B.op)
    C = t.cache_read(A, "local", [B])
    tune.AnnotateEntity([1]).apply(t, B, t[B].op.axis, source=[[C]])
    assert t[C].attach_ivar is t[B].op.axis[1]
    u = te.create_schedule(B.op)
    tune.AnnotateEntity(["fuse", "blockIdx.x"]).apply(u, B, u[B].op.axis)
    assert len(u[B].leaf_iter_vars) == 1
