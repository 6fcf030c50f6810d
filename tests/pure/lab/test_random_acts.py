"""Random acts on a lab: the schedule is what its steps say, nothing is lost, and it can be saved at any time."""

import random
import warnings
from contextlib import suppress

import pytest

from tvmlab import te
from tvmlab.core.error import LabError
from tvmlab.face.document import Document
from tvmlab.lab.app import Lab
from tvmlab.lab.requests import answer

ACTS = 30
KINDS = """act act act undo undo redo redo delete move edit code sizes other jump branch switch""".split()


def begun():
    A, B = te.placeholder((16, 16), name="A"), te.placeholder((16, 16), name="B")
    k = te.reduce_axis((0, 16), name="k")
    C = te.compute((16, 16), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    D = te.compute((16, 16), lambda i, j: C[i, j] + 1.0, name="D")
    return Lab(te.create_schedule(D.op), [A, B, D])


def request(lab, kind, **fields):
    reply = answer(lab, {"seq": 1, "kind": kind, **fields})
    assert reply["ok"] or reply["card"]["code"] != "internal", reply["card"]


def act(rng, lab, kinds=KINDS):
    d = lab.document
    rows = [r["id"] for r in lab.frame["tree"] if r["kind"] == "loop"]
    step = rng.choice(d.entries).id if d.entries else ""
    kind = rng.choice(kinds)
    if kind == "act" and rows:
        primitive = rng.choice(("split", "split", "vectorize", "parallel", "unroll"))
        lab.apply(primitive, rng.choice(rows), **({"factor": rng.choice((2, 3, 8))} if primitive == "split" else {}))
    elif kind in ("undo", "redo"):
        getattr(lab, kind)()
    elif kind in ("delete", "move", "edit") and step:
        more = {"delete": {}, "move": {"to": rng.randrange(len(d.entries))}, "edit": {"values": {"factor": 4}}}[kind]
        request(lab, kind, step=step, **more)
    elif kind == "code":
        stage = lab.schedule[rng.choice([s.op for s in lab.schedule.stages if s.op.reduce_axis or s.op.axis])]
        stage.split(rng.choice(list(stage.leaf_iter_vars)), factor=2)
    elif kind == "sizes":
        request(lab, "start", what="matmul", values={"m": rng.choice((8, 12)), "n": 8, "k": 8})
    elif kind == "other":
        request(lab, "start", what=rng.choice(("softmax", "dense")), values={})
    elif kind == "jump":
        lab.jump(rng.randrange(len(d.points)))
    elif kind == "branch":
        request(lab, "branch")
    elif kind == "switch":
        request(lab, "switch", what=rng.choice(d.branches).id)
    return kind


def sound(lab):
    d, trace = lab.document, lab.schedule.trace
    assert trace is d.point.trace and lab.schedule is d.schedule
    assert [s.primitive for s in trace] == [e.primitive for e in d.entries[: d.cursor] if not e.parked]
    assert len({b.id for b in d.branches}) == len(d.branches)
    again = Document.from_json(d.to_json())
    assert again.schedule.to_code() == lab.schedule.to_code() and again.cursor == d.cursor
    assert [e.code for e in again.entries] == [e.code for e in d.entries]
    assert lab.frame["tree"] and lab.history(whole=False)["cursor"] == d.cursor and lab.arguments


def steps(document):
    return {e.id for b in document.branches for e in b.entries}


@pytest.mark.parametrize("seed", range(20))
def test_the_lab_is_sound_whatever_is_done(seed):
    rng, lab = random.Random(seed), begun()
    for _ in range(ACTS):
        document, before = lab.document, steps(lab.document)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                kind = act(rng, lab)
            except (LabError, ValueError):  # refused: as it was
                kind = "refused"
        sound(lab)
        if lab.document is document and kind not in ("delete", "undo", "redo"):
            assert steps(document) >= before, kind
    lab.close()


@pytest.mark.parametrize("seed", range(20))
def test_undo_of_everything_and_redo_of_everything(seed):
    """Without branches and jumps, redo comes back the way that undo went."""
    rng, lab = random.Random(100 + seed), begun()
    for _ in range(ACTS):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with suppress(LabError, ValueError):
                act(rng, lab, ("act", "act", "delete", "edit", "move", "sizes", "other"))
    end = lab.head()["title"], lab.code
    for _ in range(200):
        lab.undo()
    assert lab.said["text"] == "There is nothing to undo." and lab.step == 0
    for _ in range(200):
        lab.redo()
    assert (lab.head()["title"], lab.code) == end
    lab.close()
