"""Arrays whose memory stays on the device between calls: what is copied, when, and what is said when it is gone."""

import gc
import pickle
import threading
from dataclasses import replace

import numpy as np
import pytest

import tvmlab
from tests.cuda.samples import bound
from tests.opencl.test_opencl_runner import going_wrong
from tests.refusal import refused
from tvmlab import nd
from tvmlab.runtime.device import DeviceError, cpu, opencl
from tvmlab.runtime.gpu import LaunchError, resident, runner
from tvmlab.runtime.gpu.session import Kept

N = 100


@pytest.fixture(scope="module")
def add():
    """B = A + 1."""
    return tvmlab.build(*bound(N, lambda a, i: a + 1.0), "opencl")


@pytest.fixture
def sent(monkeypatch):
    """What goes over: of each call its arrays, which are there, copied to stay, or copied; and what is fetched."""
    calls, job = [], runner.Child.job

    def seen(self, name, *args, code=None):
        if name == "call":
            kinds = [("there" if x.array is None else "stays") if isinstance(x, Kept) else "copied" for x in args[2]]
            calls.append(kinds)
        elif name == "fetch":
            calls.append("fetch")
        return job(self, name, *args, code=code)

    monkeypatch.setattr(runner.Child, "job", seen)
    return calls


def on_device(x=None):
    return nd.array(np.arange(N, dtype="float32") if x is None else x, opencl(0))


def test_memory_is_copied_once_and_fetched_when_it_is_looked_at(add, sent):
    a, b, c = on_device(), on_device(), on_device()
    add(a, b)
    add(b, c)
    add(c, b)
    assert sent == [["stays", "stays"], ["there", "stays"], ["there", "there"]]
    np.testing.assert_array_equal(b.numpy(), np.arange(N) + 3)
    np.testing.assert_array_equal(b.numpy(), np.arange(N) + 3)
    np.testing.assert_array_equal(np.asarray(c), np.arange(N) + 2)
    np.testing.assert_array_equal(a.numpy(), np.arange(N))
    assert sent[3:] == ["fetch", "fetch"] and type(b) is resident.DeviceArray and isinstance(b, nd.NDArray)


def test_new_contents_are_copied_again(add, sent):
    a, b = on_device(), on_device()
    add(a, b)
    a[:] = np.full(N, 5, "float32")
    a.numpy()
    add(a, b)
    a.copyfrom(b)
    add(a, b)
    assert (b.numpy() == 7).all()
    assert sent == [["stays", "stays"], ["stays", "there"], "fetch", ["stays", "there"], "fetch"]


def test_whoever_has_seen_the_memory_may_change_it(add, sent):
    a, b = on_device(), on_device()
    add(a, b)
    view = a.data
    view[:] = 3
    add(a, b)
    view[:] = 4
    add(a, b)
    assert (b.numpy() == 5).all() and [x[0] for x in sent[:3]] == ["stays", "copied", "copied"]
    memory = b.data
    add(a, b)
    assert (memory == 5).all()


def test_memory_that_is_seen_after_a_runner_was_made(add):
    """What is written to a view counts for the next run, and the view shows what it computes."""
    a, b = on_device(), on_device()
    run = add.runner(a, b)
    run()
    view, result = a.data, b.data
    for x in (3, 4):
        view[:] = x
        run()
        assert (result == x + 1).all() and (b.numpy() == x + 1).all()


def test_numpy_arrays_and_an_array_given_twice_are_copied(add, sent):
    a, b = on_device(), on_device()
    add(a, a)
    np.testing.assert_array_equal(a.numpy(), np.arange(N) + 1)
    x = np.zeros(N, "float32")
    add(a, x)
    add(x, b)
    np.testing.assert_array_equal(b.numpy(), np.arange(N) + 3)
    assert sent == [["copied", "copied"], ["stays", "copied"], ["copied", "stays"], "fetch"]


def test_contents_that_do_not_fit_leave_what_is_there(add):
    a, b = on_device(), on_device()
    add(a, b)
    for wrong in (np.zeros(N + 1, "float32"), nd.array(np.zeros(3, "float32")), np.full(N, "x")):
        with pytest.raises(ValueError):
            b[:] = wrong
    np.testing.assert_array_equal(b.numpy(), np.arange(N) + 1)


def test_copies_and_pickles_are_of_what_is_there(add):
    a, b = on_device(), on_device()
    add(a, b)
    wanted = np.arange(N) + 1
    for copy in (b.copyto(cpu(0)), b.copyto(opencl(0)), pickle.loads(pickle.dumps(b)), nd.array(b, cpu(0))):
        np.testing.assert_array_equal(copy.numpy(), wanted)
    assert "1., " in repr(b) and len(b) == N
    x = np.zeros(N, "float32")
    b.copyto(x)
    np.testing.assert_array_equal(x, wanted)


def test_times_leave_results_there(add, sent):
    a, b = on_device(), on_device()
    assert add.time_evaluator("main", opencl(0), number=2, repeat=2)(a, b).min > 0
    np.testing.assert_array_equal(b.numpy(), np.arange(N) + 1)
    assert sent == [["stays", "stays"], "fetch"]


def test_memory_that_nobody_refers_to_is_given_back(add):
    there = runner.runner("opencl")
    a, b = on_device(), on_device()
    add(a, b)
    numbers = {x._residence.number for x in (a, b)}
    del a
    gc.collect()
    assert len(numbers & {*there.gone}) == 1
    add(on_device(), b)
    assert not numbers & {*there.gone}
    assert there.fetch((numbers - {b._residence.number}).pop()) is None


def crash():
    with pytest.raises(LaunchError, match="ended the process"):
        going_wrong("outside")()


def end_without_a_word():
    runner.runner("opencl").worker.renew()


@pytest.mark.parametrize("end", [crash, end_without_a_word])
def test_what_was_newer_there_is_gone_with_its_process(add, end):
    a, b, c = on_device(), on_device(), on_device()
    add(a, b)
    add(a, c)
    c.numpy()
    end()
    add(a, c)  # the same here and there: copied again
    np.testing.assert_array_equal(c.numpy(), np.arange(N) + 1)
    for use in (b.numpy, lambda: add(b, a), lambda: b.data, lambda: b.copyto(cpu(0))):
        assert refused(DeviceError, use) == (
            "the contents of this array are gone: the process that held the memory of opencl(0) has ended\n"
            "  compute it again; a[:] = values gives it new contents"
        )
    b[:] = np.zeros(N, "float32")
    add(b, a)
    assert (a.numpy() == 1).all()


def outside():
    """B[i + 1] = A[i] + 1: one element behind the end of B."""
    wrong = tvmlab.build(*bound(N, lambda a, i: a + 1.0), "opencl -max_num_threads=1024")
    code = wrong._launcher.code
    wrong._launcher.code = replace(code, source=code.source.replace("] = A", " + 1] = A"))
    return wrong


def test_a_call_that_goes_wrong_leaves_what_is_here(add):
    a, b = on_device(), on_device()
    assert "outside `B`" in refused(LaunchError, lambda: outside()(a, b))
    np.testing.assert_array_equal(b.numpy(), np.arange(N))
    add(a, b)
    np.testing.assert_array_equal(b.numpy(), np.arange(N) + 1)


def test_who_wrote_outside_is_said_once(add):
    """Later calls on the same memory are not blamed for it."""
    a, b, c = on_device(), on_device(), on_device()
    add(a, b)
    assert "outside `B`" in refused(LaunchError, lambda: outside()(a, b))
    add(b, c)
    add(a, b)
    np.testing.assert_array_equal(b.numpy(), np.arange(N) + 1)


def test_what_another_thread_writes_while_it_is_fetched_is_not_lost(add, monkeypatch):
    there = runner.runner("opencl")
    a, b = on_device(), on_device()
    add(a, b)
    a[:] = np.full(N, 7, "float32")
    fetch, other = there.fetch, threading.Thread(target=lambda: add(a, b))

    def slow(number):
        found = fetch(number)
        if not other.ident:
            other.start()
            other.join(0.5)  # it waits for its turn
        return found

    monkeypatch.setattr(there, "fetch", slow)
    b.numpy()
    other.join()
    assert (b.numpy() == 8).all()


@pytest.mark.parametrize("dtype, shape", [("float16", (3, 5)), ("bool", (7,)), ("int64", ()), ("float32", (0,))])
def test_every_kind_of_array(dtype, shape):
    x = (np.random.default_rng(0).random(shape) * 9).astype(dtype)
    a = nd.array(x, opencl(0))
    assert a.numpy().tobytes() == x.tobytes() and a.numpy().shape == shape and a.dtype == dtype
