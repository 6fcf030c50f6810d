"""Verdicts against brute force: what is called legal runs right under the checking interpreter, what is called illegal
does not when it is forced, what has no effect changes no loop, what owes is refused until it is paid."""

from __future__ import annotations

import random
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.pure.schedule.programs import chain, comes_back, matmul, rows, scan, text
from tests.traces import MORE, PROGRAMS, Case, random_steps
from tvmlab import te
from tvmlab.core.error import LabError
from tvmlab.core.node import REDUCE
from tvmlab.core.verify import verify
from tvmlab.face.api import build
from tvmlab.face.handle import Schedule
from tvmlab.face.moves import ORDER
from tvmlab.face.verdict import ILLEGAL, LEGAL, NO_EFFECT, OWES, UNKNOWN
from tvmlab.lowering import pipeline
from tvmlab.schedule import primitives
from tvmlab.schedule.trace import Step
from tvmlab.target.interp import run


def take(s: Schedule, move: Any) -> Schedule:
    """A fork with the step taken."""
    t = s.fork()
    t.trace = t.trace + Step(move.primitive, move.args)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _ = t.state
    return t


def computes(s: Schedule, case: Case) -> None:
    outs = [np.full(e.shape, 77, e.dtype) for e in case.expected]
    build(s, case.args, "interp")(*case.inputs, *outs)
    for have, want in zip(outs, case.expected, strict=True):
        np.testing.assert_array_equal(have, want, err_msg=s.to_code())


def forced(s: Schedule, stage: Any, axis: Any, kind: str, case: Case) -> bool:
    """The mark without its guard: does the interpreter report it, or are the numbers wrong?"""
    state = s.state.with_stage(s[stage].record.with_mark(axis, kind=kind))
    program = pipeline.loops(state, case.args)
    if kind == "vectorized":  # lanes run at once, as threads do
        program = pipeline.loops(s.state.with_stage(s[stage].record.with_mark(axis, kind="parallel")), case.args)
    outs = [np.full(e.shape, 77, e.dtype) for e in case.expected]
    try:
        run(program, [*case.inputs, *outs])
    except LabError:
        return True
    return any(not np.array_equal(a, b) for a, b in zip(outs, case.expected, strict=True))


@pytest.mark.parametrize("seed", range(40))
def test_against_brute_force(seed):
    rng = random.Random(seed)
    case = random_steps(rng, 5, PROGRAMS)
    s = case.schedule
    if s.check():
        s.undo(len(s.trace))
    stage = rng.choice([h for h in s.stages if h.leaf_iter_vars])
    axis = rng.choice(stage.leaf_iter_vars)
    whole = text(s, case.args)
    for move, verdict in [*s.moves(stage, axis), *s.moves(stage)]:
        assert verdict.kind != UNKNOWN
        if verdict.kind == ILLEGAL:
            with pytest.raises(LabError):
                take(s, move)
            if move.primitive in ("vectorize", "parallel") and axis.iter_type == REDUCE and repeats(s, stage, axis):
                kind = "vectorized" if move.primitive == "vectorize" else "parallel"
                assert forced(s, stage, axis, kind, case), (str(verdict), s.to_code())
            assert all(s.verdict(*_call(s, m)).ok for m in verdict.alternatives)
            continue
        t = take(s, move)
        if verdict.kind == NO_EFFECT:
            assert text(t, case.args) == whole
            computes(t, case)
        elif verdict.kind == OWES:
            assert {o.message for o in verdict.obligations} <= {o.message for o in t.check()}
            with pytest.raises(LabError, match="not complete"):
                computes(t, case)
        else:
            assert verdict.kind == LEGAL and t.check() == [], (move, s.to_code())
            computes(t, case)
    assert text(s, case.args) == whole  # asking changed nothing


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
@pytest.mark.parametrize("split", [False, True])
def test_every_mark_on_every_loop(program, split):
    """Legal if and only if the iterations, run at once, do not meet."""
    case = next(
        c for c in (program(random.Random(seed)) for seed in range(99)) if all(e.size > 3 for e in case_arrays(c))
    )
    s = case.schedule
    if split:
        for h in s.stages:
            for a in h.leaf_iter_vars:
                h.split(a, 2)
    told = 0
    for h in s.stages:
        for a in h.leaf_iter_vars:
            if not repeats(s, h, a):
                continue
            for primitive, kind in (("parallel", "parallel"), ("vectorize", "vectorized")):
                verdict = s.verdict(primitive, h, a)
                assert verdict.ok != forced(s, h, a, kind, case), (verdict, h, a)
                assert bool(verdict.clash) != verdict.ok
                told += 1
    assert told


def case_arrays(case: Case) -> list[np.ndarray]:
    return [*case.inputs, *case.expected]


def repeats(s: Schedule, stage: Any, axis: Any) -> bool:
    """More than one iteration, in a reduction that has elements at all."""
    loops = [f for f in _walk(pipeline.loops(s.state, _args(s)).entry.body) if getattr(f, "origin", None) is not None]
    mine = [f for f in loops if getattr(f.origin, "axis", None) is axis and hasattr(f, "extent")]
    return any(getattr(f.extent, "value", 2) > 1 for f in mine)


def _walk(body: Any) -> Any:
    from tvmlab.core.walk import walk

    return walk(body)


def _args(s: Schedule) -> list[Any]:
    return pipeline.default_arguments(s.state)


def _call(s: Schedule, move: Any) -> tuple[Any, ...]:
    names = primitives.parameters(move.primitive)
    star = primitives.star(move.primitive)
    values: list[Any] = []
    for n in names:
        if n not in move.args:
            continue
        value = move.args[n]
        if n in ("stage", "parent"):
            value = s[s.state.stages[value].op]
        values += value if n == star else [value]
    return (move.primitive, *values)


def test_moves_have_a_fixed_order_and_miss_no_primitive():
    s, A, B, C, k = matmul()
    D = te.compute(C.shape, lambda i, j: C[i, j] + 1.0, name="D")
    s = te.create_schedule(D.op)
    found = [m.primitive for m, _ in [*s.moves(C, k), *s.moves(C, C.op.axis[0]), *s.moves(C)]]
    nothing_registered = {"tensorize"}
    assert {*found, *nothing_registered, "vthread"} == set(ORDER)  # a virtual thread is bound, too
    for moves in (s.moves(C, k), s.moves(C)):
        at = [ORDER.index(m.primitive) for m, _ in moves]
        assert at == sorted(at)
    assert [repr(m) for m, _ in s.moves(C, k)] == [repr(m) for m, _ in s.moves(C, k)]


def test_texts_are_code_in_the_names_of_the_person():
    s, A, B, C, k = matmul()
    xo, xi = s[C].split(C.op.axis[0], 4)
    for move, verdict in [*s.moves(C, xi), *s.moves(C, k)]:
        t = s.fork()
        scope = {"s": t, "te": te, "C": C, "A": A, "B": B, "xo": xo, "xi": xi, "j": C.op.axis[1], "k": k}
        if verdict.ok:
            exec(repr(move), scope)
            assert len(t.trace) == 2
    assert "s[C].vectorize(xi)" in [repr(m) for m, _ in s.moves(C, xi)]


# ---------------------------------------------------------------- texts


def test_an_illegal_one(golden):
    s, A, B, C, k = matmul()
    ko, ki = s[C].split(k, 4)
    golden(str(s.verdict("vectorize", C, ki)))
    verdict = s.verdict("parallel", C, ki)
    assert not verdict and verdict.clash == "iterations ki = 0 and ki = 1 both update C[i, j]"
    assert verdict.error is not None and verdict.error.rule == "parallelize-reduction"
    assert [m.text for m in verdict.alternatives] == ["s[C].parallel(i)", "s[C].parallel(j)", "s.rfactor(C, ki)"]


def test_a_legal_one_and_one_without_effect():
    s, A, B, C = chain()
    assert str(s.verdict("vectorize", C, C.op.axis[1])) == "+ legal"
    assert str(s.verdict("compute_root", B)) == "= no effect: B is computed at the root already"
    assert s.verdict("compute_root", B).ok and len(s.trace) == 0


def test_why_there_is_no_effect():
    s, A, B, C = chain(1, 8)
    i, j = C.op.axis
    s[B].compute_at(s[C], j)
    assert s.verdict("reorder", C, i, j).reason == "the loops are in this order already"
    assert s.verdict("reorder", C, j, i).reason == "the loops stay as they are"  # i runs once
    assert s.verdict("compute_at", B, s[C], j).reason == "B is computed there already"
    assert s.verdict("parallel", C, i).reason == "i runs only once"
    assert s.verdict("set_scope", B, "global").reason == "B is in global memory already"


def test_one_that_owes(golden):
    s, A, B, C = chain()
    verdict = s.verdict("double_buffer", B)
    assert verdict.kind == OWES and verdict
    golden(str(verdict))


def test_a_wrong_call_raises():
    s, A, B, C = chain()
    with pytest.raises(TypeError, match="split: missing a required argument"):
        s.verdict("split", C)
    with pytest.raises(AttributeError, match="there is no schedule primitive `spilt`"):
        s.verdict("spilt", C, C.op.axis[0], 4)


def test_an_error_of_another_type_is_illegal_too():
    s, A, B, C = chain()
    assert s.verdict("split", C, C.op.axis[0], 0).kind == ILLEGAL
    assert s.verdict("split", C, C.op.axis[0], "4").kind == ILLEGAL


def test_asking_warns_of_nothing(recwarn):
    s, A, B, C = chain()
    s[C].vectorize(C.op.axis[1])
    assert s.verdict("split", C, C.op.axis[1], 4).kind == LEGAL
    assert not recwarn.list
    comes_back(s, [A, C])


def test_a_clash_needs_two_iterations():
    s, A, B, k = rows(4, 1)
    assert s.verdict("vectorize", B, k).clash == ""
    s, X, init, update, S, D = scan()
    assert s.verdict("parallel", S, S.op.scan_axis).clash == ""


def test_symbolic_shapes_have_verdicts():
    n = te.size_var("n")
    s, A, B, k = rows(4, n)
    kinds = {m.primitive: v.kind for m, v in s.moves(B, k)}
    assert kinds["unroll"] == OWES and kinds["vectorize"] == ILLEGAL and kinds["split"] == LEGAL
    assert replace(s.verdict("unroll", B, k), obligations=()).kind == OWES


def test_what_the_analysis_cannot_decide_is_tried_and_never_called_legal():
    """i_k_fused // n is inside the rows for every n, but the verifier cannot prove it."""
    s, A, B, k = rows(4, te.size_var("n"))
    verdict = s.verdict("fuse", B, B.op.axis[0], k)
    assert verdict.kind == UNKNOWN and not verdict and not verdict.alternatives
    assert verdict.reason.startswith("could not decide: index 0 of `B` is `i_k_fused//n`")
    assert verdict.reason.endswith("No clash was found on an example (n = 5; 24 iterations).")


def test_a_small_program_of_fixed_sizes_is_decided_by_running_it():
    """Where the verifier gives up on a program that is not symbolic, a run is a proof."""
    case = random_steps(random.Random(21), 6, MORE)
    s = case.schedule
    open_ones = [f for f in verify(pipeline.loops(s.state, case.args)) if f.status == "unknown"]
    stage = next(h for h in s.stages if h.op.name == "Y")
    found = {m.primitive: v.kind for m, v in s.moves(stage, stage.leaf_iter_vars[0])}
    assert UNKNOWN not in found.values(), (found, open_ones)
