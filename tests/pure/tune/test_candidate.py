"""Points that may not be compiled are found without compiling, each with its reason."""

import pytest

from tests.tuning import Space, Task, declared, matmul
from tvmlab import te
from tvmlab.target import base
from tvmlab.tune.candidate import Candidate, Refused, candidate


@pytest.fixture(autouse=True)
def nothing_compiles(monkeypatch):
    def refuse(*_):
        raise AssertionError("compiled")

    for name in ("llvm", "cuda_c"):
        monkeypatch.setattr(type(base.get(name)), "compile", refuse, raising=False)


def point(template, target="llvm", index=0):
    return candidate(Task(template, Space({"p": (0, 1)}), (16,), target=target), index)


def test_a_legal_point():
    found = candidate(matmul(), 5)
    assert isinstance(found, Candidate) and found.index == 5 and len(found.args) == 3 and len(found.trace) == 5
    assert found.key == candidate(matmul(), 5).key != candidate(matmul(), 6).key


def test_a_template_that_raises_is_refused_with_its_words():
    class InstantiationError(ValueError):
        pass

    def template(config, n):
        raise InstantiationError("too much unrolling")

    found = point(template)
    assert isinstance(found, Refused) and found.rule == "InstantiationError"
    assert found.text == "InstantiationError: too much unrolling" and found.config.index == 0


def test_what_is_no_point_of_the_space():
    found = candidate(matmul(), 10**9)
    assert isinstance(found, Refused) and "IndexError" in found.text and found.config is None


def test_a_step_that_is_refused():
    def template(config, n):
        a, b, c = declared(n)
        s = te.create_schedule(c.op)
        s[c].vectorize(s[c].op.reduce_axis[0])
        return s, [a, b, c]

    found = point(template)
    assert isinstance(found, Refused) and "vectorize" in found.text and "\n" not in found.text


def test_an_open_obligation():
    def template(config, n):
        a, b, c = declared(n)
        s = te.create_schedule(c.op)
        cache = s.cache_read(b, "shared", [c])
        s[cache].compute_at(s[c], s[c].op.reduce_axis[0])
        s[cache].bind(s[cache].op.axis[0], te.thread_axis("threadIdx.x"))
        return s, [a, b, c]

    assert isinstance(point(template, "cuda_c"), Refused)


def bound(threads):
    def template(config, n):
        a = te.placeholder((4096,), name="A")
        b = te.compute((4096,), lambda i: a[i] * 2.0, name="B")
        s = te.create_schedule(b.op)
        outer, inner = s[b].split(b.op.axis[0], threads)
        s[b].bind(outer, te.thread_axis("blockIdx.x"))
        s[b].bind(inner, te.thread_axis("threadIdx.x"))
        return s, [a, b]

    return template


def test_the_limits_of_a_device_are_known_without_a_compiler():
    assert isinstance(point(bound(256), "cuda_c"), Candidate)
    found = point(bound(2048), "cuda_c")
    assert isinstance(found, Refused) and "2048" in found.text and "1024" in found.text


def test_an_output_that_is_no_argument():
    def template(config, n):
        a, b, c = declared(n)
        return te.create_schedule(c.op), [a, b]

    assert isinstance(point(template), (Candidate, Refused))
