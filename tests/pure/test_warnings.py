"""Warnings point at the line that a person wrote, however deep below it they come up."""

import warnings
from pathlib import Path

import pytest

import tvmlab
from tvmlab import te
from tvmlab.core import deep


def caught(f):
    """The one warning of `f()`."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        f()
    (one,) = found
    return one


def plus(T, name):
    return te.compute(T.shape, lambda i: T[i] + 1.0, name=name)


def add(n=4, chain=1):
    A = te.placeholder((n,), name="A")
    T = A
    for k in range(chain):
        T = plus(T, f"T{k}")
    return te.create_schedule(T.op), [A, T]


def unrolled():
    s, args = add(100_000)
    s[args[1]].unroll(args[1].op.axis[0])
    return s, args


def unchecked():
    with tvmlab.transform.PassContext(config={"tir.instrument_bound_checkers": True}):
        return tvmlab.build(*add(), "llvm")


def on_a_deep_thread():
    return deep._with_room(lambda: tvmlab.lower(*unrolled()))


def watched():
    s, args = add()
    s.history.observe(lambda d: 1 // 0)
    s[args[1]].unroll(args[1].op.axis[0])


CASES = {
    "bounds": (unchecked, "code for llvm does not check bounds", 'return tvmlab.build(*add(), "llvm")'),
    "unroll": (lambda: tvmlab.lower(*unrolled()), "stays a loop", "tvmlab.lower(*unrolled())"),
    "deep": (on_a_deep_thread, "stays a loop", "tvmlab.lower(*unrolled())"),
    "view": (watched, "could not follow it", "s[args[1]].unroll("),
    "option": (
        lambda: tvmlab.transform.PassContext(config={"tir.use_async_copy": True}),
        "asynchronous copy", "lambda: tvmlab.transform.PassContext(",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_it_points_at_the_persons_line(case):
    act, said, code = CASES[case]
    found = caught(act)
    assert said in str(found.message) and found.filename == __file__ and found.category is UserWarning
    assert code in Path(__file__).read_text().splitlines()[found.lineno - 1]


def test_with_room_of_its_own(monkeypatch):
    """A program so deep that it is built on another thread."""
    s, args = add(chain=1500)
    for stage in s.stages[1:-1]:
        s[stage.op].compute_inline()
    threads = []
    monkeypatch.setattr(deep, "_started", lambda work, made=deep._started: threads.append(1) or made(work))
    with tvmlab.transform.PassContext(config={"tir.instrument_bound_checkers": True}):
        found = caught(lambda: tvmlab.build(s, args, "llvm"))
    assert threads and found.filename == __file__


def test_said_once(recwarn):
    """As Python's own: by default once for each line."""
    warnings.simplefilter("default")
    for _ in range(3):
        tvmlab.lower(*unrolled())
    assert len(recwarn) == 1
