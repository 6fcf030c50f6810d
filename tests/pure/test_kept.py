"""What a lowering takes over from that of the step before makes no difference: text, obligations, findings."""

import random

import pytest

from tests.traces import MORE, random_steps
from tvmlab import te
from tvmlab.core.error import LabError
from tvmlab.core.text import show_program
from tvmlab.core.verify import verify
from tvmlab.face.verdict import arguments
from tvmlab.lowering import pipeline


def lowered(trace, old=None, known=None):
    """(what is seen of it, its nest, what the verifier found clean)"""
    owed, clean = [], {}
    try:
        program, nest = pipeline.after(old, trace.state, arguments(trace), problems=owed)
    except LabError as e:
        return (str(e),), None, None
    found = [] if owed else verify(program, clean, known)
    return (show_program(program), [str(o) for o in owed], sorted(map(str, found))), nest, clean


@pytest.mark.parametrize("seed", range(150))
def test_each_step_of_a_random_schedule(seed):
    trace = random_steps(random.Random(seed), 12, MORE).schedule.trace
    old = known = None
    for n in range(len(trace.steps) + 1):
        fresh, _, _ = lowered(trace.prefix(n))
        again, nest, clean = lowered(trace.prefix(n), old, known)
        assert again == fresh
        old, known = nest or old, clean or known


def plus_one(t, name):
    return te.compute((64,), lambda i: t[i] + 1.0, name=name)


def chain(n):
    """n stages, each the one before plus one."""
    t = te.placeholder((64,), name="X")
    for k in range(n):
        t = plus_one(t, f"S{k}")
    return te.create_schedule(t.op)


def test_stages_that_a_step_does_not_touch_are_the_same_objects():
    s = chain(6)
    before = s.trace
    s[s.stages[4].op.outputs[0]].split(s.stages[4].op.axis[0], factor=8)
    _, old, _ = lowered(before)
    _, new, _ = lowered(s.trace, old)
    same = [i for i in new.nests if new.nests[i] is old.nests[i]]
    assert len(same) == 5 and len(new.nests) == 6


def test_a_mark_leaves_what_the_innermost_loop_does():
    s = chain(2)
    last = s.stages[-1]
    before = s.trace
    s[last.op.outputs[0]].vectorize(last.op.axis[0])
    _, old, _ = lowered(before)
    text, new, _ = lowered(s.trace, old)
    index = last.index if hasattr(last, "index") else max(new.leaves)
    assert new.leaves[index] is old.leaves[index] and new.nests[index] is not old.nests[index]
    assert "vectorized" in text[0]


def test_the_verifier_looks_again_where_less_is_known():
    s = chain(1)
    program, _ = pipeline.after(None, s.trace.state, arguments(s.trace))
    clean = {}
    assert verify(program, clean) == [] and clean
    fn = program.entry
    cut = type(program)((type(fn)(fn.name, fn.params[:1], fn.body, fn.sizes, fn.attrs),), (), ())
    assert [f.rule for f in verify(cut, {}, clean)] == ["buffer-scope"]
