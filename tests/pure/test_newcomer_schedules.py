"""Names that people guess on schedules, tensors and the package, and what they are told."""

import copy
import inspect

import pytest

import tvmlab
from tests.refusal import refused
from tvmlab import te
from tvmlab.expr.tensor import STEPS
from tvmlab.schedule import primitives

A = te.placeholder((4, 8), name="A")
k = te.reduce_axis((0, 8), name="k")
C = te.compute((4,), lambda i: te.sum(A[i, k], axis=k), name="C")


def test_methods_have_the_signatures_of_their_primitives():
    s = te.create_schedule(C.op)
    assert str(inspect.signature(s[C].split)) == "(parent, factor=None, nparts=None)"
    assert str(inspect.signature(s.cache_write)) == "(tensor, scope)"
    assert str(inspect.signature(s[C].reorder)) == "(*axes)"
    assert str(inspect.signature(s.split)) == "(stage, parent, factor=None, nparts=None)"
    assert s[C].split.__doc__ == inspect.getdoc(primitives.get("split"))
    assert s[C].split.__name__ == "split"


def test_a_stage_is_no_string():
    s = te.create_schedule(C.op)
    assert refused(ValueError, lambda: s["C"]) == (
        "'C' is a str: a stage is looked up by its tensor or operation\n  legal here:  s[A], s[C]"
    )


def test_a_misspelt_primitive():
    s = te.create_schedule(C.op)
    said = refused(AttributeError, lambda: s.verdict("vectorise", C, k)).splitlines()
    assert said[0] == "there is no schedule primitive `vectorise`"
    assert said[-1] == "  did you mean vectorize?"


@pytest.mark.parametrize(
    "call, said",
    [
        (
            lambda: C.split(C.op.axis[0], 4),
            "tensor C has no `split`\n"
            "  it is a step of a schedule: s = te.create_schedule(...), then s[C].split(...)",
        ),
        (
            lambda: C.cache_write("local"),
            "tensor C has no `cache_write`\n"
            "  it is a step of a schedule: s = te.create_schedule(...), then s.cache_write(C, ...)",
        ),
        (lambda: C.op.reduce_axes, "operation C has no `reduce_axes`\n  did you mean reduce_axis?"),
        (lambda: C.shpae, "tensor C has no `shpae`\n  did you mean shape?"),
        (lambda: C.op.nothing_like_it, "operation C has no `nothing_like_it`"),
    ],
)  # fmt: skip
def test_names_that_tensors_and_operations_do_not_have(call, said):
    assert refused(AttributeError, call) == said


def test_steps_are_the_primitives():
    assert set(primitives.names()) >= STEPS
    assert set(primitives.names()) - STEPS == {"attach_group", "create_group", "detach_group"}


def test_tensors_are_copied():
    assert copy.copy(C).op is C.op


def test_an_import_says_what_there_is_instead():
    def relay():
        from tvmlab import relay  # noqa: F401

    def hybrid():
        from tvmlab.te import hybrid  # noqa: F401

    for name, call in (("relay", relay), ("te.hybrid", hybrid)):
        owner = te if name == "te.hybrid" else tvmlab
        look = lambda o=owner, n=name: getattr(o, n.removeprefix("te."))
        assert refused(ImportError, call) == refused(AttributeError, look)
    assert "graphs of operators are not there yet" in refused(ImportError, relay)
