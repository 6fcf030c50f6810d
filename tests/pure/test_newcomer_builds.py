"""`lower` and `build` given the wrong thing, and programs with a variable that nothing gives a value."""

from tests.refusal import refused
from tvmlab import build, lower, te
from tvmlab.core.error import BuildError

A = te.placeholder((4, 8), name="A")
B = te.compute((4, 8), lambda i, j: A[i, j] * 2.0, name="B")


def test_the_schedule_is_what_is_lowered():
    said = "takes a schedule or a lowered program, not compute(B) (ComputeOp)\n  s = te.create_schedule(B.op), then "
    assert refused(TypeError, lambda: lower(B.op, [A, B])) == f"lower {said}lower(s, [A, B])"
    assert refused(TypeError, lambda: build(B.op, [A, B])) == f"build {said}build(s, [A, B])"


def test_the_arguments_are_a_list():
    s = te.create_schedule(B.op)
    assert refused(TypeError, lambda: build(s, "llvm")) == (
        "build: the arguments are a list of tensors, buffers and variables, not 'llvm'\n  build(s, [A, B, C], 'llvm')"
    )
    assert refused(TypeError, lambda: lower(s, "main")) == (
        "lower: the arguments are a list of tensors, buffers and variables, not 'main'\n  lower(s, [A, B, C])"
    )


def program(f):
    C = te.compute((4,), f, name="C")
    return lambda: build(te.create_schedule(C.op), [A, C], "interp")


def test_a_forgotten_reduction():
    k = te.reduce_axis((0, 8), name="k")
    assert refused(BuildError, program(lambda i: A[i, k])) == (
        "a variable has no value\n    `k` is a reduce axis, but nothing is folded over it\n"
        "        for i in serial(4):\n"
        "      wrap the expression in te.sum(..., axis=k)"
    )


def test_a_forgotten_argument():
    x = te.var("x", "float32")
    assert refused(BuildError, program(lambda i: A[i, 0] * x)) == (
        "a variable has no value\n    `x` is used, but nothing gives it a value\n        for i in serial(4):\n"
        "      add x to the arguments"
    )


def test_a_read_outside_is_no_matter_of_the_schedule():
    assert refused(BuildError, program(lambda i: A[i + 1, 0])) == (
        "the program reads or writes outside a shape\n    index 0 of `A` is `i + 1`, 1 to 4: outside 0 to 3\n"
        "        for i in serial(4):\n        A[i + 1, 0]"
    )
