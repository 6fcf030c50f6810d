"""The three graphs of contrib.tedd: what is in them, as data, as DOT and as a picture."""

import json
import re
import xml.etree.ElementTree as ET

import pytest

from tvmlab import te
from tvmlab.contrib import tedd
from tvmlab.view import graphs


def schedule():
    n = 64
    A, B = (te.placeholder((n, n), name=x) for x in "AB")
    k = te.reduce_axis((0, n), "k")
    C = te.compute((n, n), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    D = te.compute((n, n), lambda i, j: te.max(C[i, j], te.const(0.0)), name="D")
    s = te.create_schedule(D.op)
    CC = s.cache_write(C, "local")
    xo, yo, xi, yi = s[D].tile(D.op.axis[0], D.op.axis[1], 8, 16)
    f = s[D].fuse(xo, yo)
    s[D].parallel(f)
    s[D].vectorize(yi)
    s[C].compute_inline()
    s[CC].compute_at(s[D], f)
    ko, ki = s[CC].split(s[CC].op.reduce_axis[0], 4)
    s[CC].unroll(ki)
    return s


def stages(s):
    return {x["name"]: x for x in tedd.extract_dom_for_viz(s)["stages"]}


def test_the_schedule_as_data():
    found = stages(schedule())
    assert list(found) == ["A", "B", "C.local", "C", "D"]
    cache, out = found["C.local"], found["D"]
    assert (cache["scope"], cache["attach"], cache["attaching_to"]) == ("local", "at", [4, 6])
    assert found["C"]["attach"] == "inline" and found["A"]["attaching_to"] is None
    assert out["all_itervars"][6]["id"] == "IterVar_4_6" and out["all_itervars"][6]["itervar_type"] == "kParallelized"
    kinds = [out["all_itervars"][j]["itervar_type"] for j in out["leaf_itervars"]]
    assert kinds == ["kParallelized", "kDataPar", "kVectorized"]
    assert [r["kind"] for r in out["relations"]] == ["Split", "Split", "Fuse"]
    assert out["relations"][2] == {
        "type": "Fuse_Relation", "id": "Fuse_Relation_4_2", "kind": "Fuse", "note": "",
        "takes": {"Outer": 2, "Inner": 4}, "gives": {"Fused": 6},
    }  # fmt: skip
    assert cache["input_tensors"] == ["Tensor_0_0", "Tensor_1_0"]
    assert cache["all_itervars"][3]["properties"]["range"] == "range(0, 16)"
    json.loads(tedd.dump_json(schedule()))


def test_bound_threads_and_what_cannot_be_bounded():
    s = schedule()
    D = s.outputs[0]
    s[D].bind(s[D].leaf_iter_vars[1], te.thread_axis("threadIdx.x"))
    row = stages(s)["D"]["all_itervars"][3]
    assert (row["itervar_type"], row["properties"]["thread"]) == ("kThreadIndex", "threadIdx.x")
    assert {a["properties"]["range"] for a in tedd.extract_dom_for_viz(s, False)["stages"][4]["all_itervars"]} == {
        "range(N/A)"
    }


def test_transform_relations():
    A = te.placeholder((8, 8), name="A")
    s = te.create_schedule(te.compute((8, 8), lambda i, j: A[i, j] + 1.0, name="B").op)
    s[s.outputs[0]].transform_layout(lambda i, j: [i // 4, j, i % 4])
    (r,) = stages(s)["B"]["relations"]
    assert r["kind"] == "Transform" and len(r["takes"]) == 2 and len(r["gives"]) == 3
    assert "Transform" in tedd.viz_itervar_relationship_graph(s, output_dot_string=True)


def test_an_inlined_stage_points_into_the_body_that_takes_it_up():
    dot = tedd.viz_schedule_tree(schedule(), output_dot_string=True)
    assert "Stage_3:title -> Stage_4:body" in dot and "Stage_3:title -> ROOT" not in dot
    assert "Stage_2:title -> Stage_4:IterVar_4_6" in dot


def test_groups_are_nodes():
    A = te.placeholder((8,), name="A")
    B = te.compute((8,), lambda i: A[i] + 1.0, name="B")
    C = te.compute((8,), lambda i: B[i] + 1.0, name="C")
    D = te.compute((8,), lambda i: C[i] + 1.0, name="D")
    s = te.create_schedule(D.op)
    s.create_group(outputs=C, inputs=A).compute_at(s[D], D.op.axis[0])
    dot = tedd.viz_schedule_tree(s, output_dot_string=True)
    assert "Group_0 -> " in dot.replace('"', "") and "Stage_1:title -> Group_0" in dot.replace('"', "")


VIEWS = {
    "Dataflow Graph": (tedd.viz_dataflow_graph, ["Stage_2", "Tensor_4_0", "I_1", "O_0"]),
    "Schedule Tree": (tedd.viz_schedule_tree, ["ROOT", "Stage_4", "IterVar_4_6", "#F5B7B1", "#2980B9"]),
    "IterVar Relationship Graph": (
        tedd.viz_itervar_relationship_graph, ["Split_Relation_4_0", "Fuse_Relation_4_2", "IterVar_2_3", "cluster_2"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", VIEWS)
def test_dot_text(name, tmp_path):
    draw, parts = VIEWS[name]
    path = tmp_path / "graph.dot"
    assert draw(schedule(), dot_file_path=str(path)) is None
    dot = draw(schedule(), output_dot_string=True)
    assert path.read_text() == dot and f'digraph "{name}"' in dot
    assert [p for p in parts if p not in dot] == []


needs_engine = pytest.mark.skipif(graphs.engine() is None, reason="no graph engine: pip install graphviz-pure")


@needs_engine
@pytest.mark.parametrize("name", VIEWS)
def test_pictures_show_the_whole_label(name):
    picture = VIEWS[name][0](schedule(), show_svg=True)
    root = ET.fromstring(picture.svg)
    words = " ".join(t.text or "" for t in root.iter("{http://www.w3.org/2000/svg}text"))
    assert "C.local" in words and "Stage_2" not in words, "HTML-like labels were not drawn"
    assert set(picture._repr_mimebundle_()) == {"text/plain", "image/svg+xml", "image/png"}
    assert re.search(r"C\.local", repr(picture))


@needs_engine
def test_a_graph_is_a_digraph_that_draws_itself(tmp_path):
    g = graphs.Graph("g")
    g.edge("a", "b")
    assert g.data == g.svg and g.svg.startswith("<svg")
    g.save_picture(tmp_path / "g.png")
    assert (tmp_path / "g.png").read_bytes().startswith(b"\x89PNG")


@needs_engine
def test_boxes_are_wide_enough_for_a_wide_font():
    """DejaVu Sans, which stands in for Helvetica on many systems, sets this line 263 points wide; Helvetica 241."""
    picture = VIEWS["Schedule Tree"][0](schedule(), show_svg=True)
    line = r'points="([^"]*)"/>\n<text[^>]*font-family="([^"]*)"[^>]*>i\.outer\.j\.outer\.fused .kParallelized'
    ((points, family),) = re.findall(line, picture.svg)
    xs = [float(p.split(",")[0]) for p in points.split()]
    assert max(xs) - min(xs) >= 263 + 2 * 5
    assert family == graphs.FAMILIES


@needs_engine
def test_every_way_to_ask_for_a_picture_goes_by_the_same_engine():
    picture = VIEWS["Schedule Tree"][0](schedule(), show_svg=True)
    assert picture._repr_image_png().startswith(b"\x89PNG") and picture._repr_image_svg_xml() == picture.svg
    jpeg = picture._repr_image_jpeg()
    assert jpeg is None or jpeg.startswith(b"\xff\xd8")


def test_without_an_engine_the_text_is_shown(monkeypatch):
    monkeypatch.setattr(graphs, "engine", lambda: None)
    picture = tedd.viz_schedule_tree(schedule(), show_svg=True)
    assert picture._repr_svg_() is None and picture._repr_image_png() is None
    assert "C.local  (local)  at D.i.outer.j.outer.fused" in picture._repr_mimebundle_()["text/plain"]
    with pytest.raises(graphs.NoEngine, match="pip install graphviz-pure"):
        picture.svg  # noqa: B018


def test_long_texts_are_folded():
    assert graphs.folded("a, b", 3) == ["a, ", "b"]
    assert graphs.folded("word " * 100)[-1] == "..." and len(graphs.folded("word " * 100)) == 6
