"""The process that runs are done in: whatever happens there comes back as a value, and nothing outlives us."""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from tvmlab.runtime import worker as worker_module
from tvmlab.runtime.worker import Worker

WAYS = [pytest.param(True, id="forked"), pytest.param(False, id="started")]
PRELOAD = ("numpy", "tests.jobs")


@pytest.fixture(scope="module", params=WAYS)
def worker(request):
    if request.param and not worker_module.FORKS:
        pytest.skip("forking is not safe on this system")
    made = Worker(preload=PRELOAD, fork=request.param)
    yield made
    made.close()


def job(name):
    return f"tests.jobs:{name}"


def test_values_come_back(worker):
    done = worker.run(job("add"), 2, 3)
    assert (done.kind, done.value, done.ok) == ("done", 5, True)
    a = np.arange(12, dtype="float32").reshape(3, 4)
    np.testing.assert_array_equal(worker.run(job("add"), a, a).value, 2 * a)


def test_the_child_is_kept_for_the_next_job(worker):
    first = worker.run(job("pid")).value
    assert first == worker.run(job("pid")).value == worker.pid != os.getpid()
    assert worker.run(job("fail")).kind == "error"
    assert worker.run(job("pid")).value == first  # an exception is no reason to start anew


def test_what_a_job_reports_is_passed_on(worker):
    heard = []
    assert worker.run(job("told"), progress=heard.append).value == "told"
    assert heard == [0, 1, 2]


@pytest.mark.parametrize(
    "name, rule, words",
    [("fail", "python-error", "ZeroDivisionError: no luck"), ("leave", "python-error", "SystemExit: 3"),
     ("secret", "python-error", "pickle"), ("not_there", "python-error", "not_there")],
)  # fmt: skip
def test_an_exception_is_a_record(worker, name, rule, words):
    found = worker.run(job(name))
    assert found.kind == "error" and found.error["rule"] == rule and words in found.error["message"]


def test_an_argument_that_cannot_be_sent_is_refused(worker):
    assert worker.run(job("add"), lambda: 1, 2).kind == "error"
    assert worker.run(job("add"), 1, 2).value == 3


@pytest.mark.parametrize(
    "name, signal_name, words",
    [("segv", "SIGSEGV", "memory that is not its own"), ("abort", "SIGABRT", "abort"), ("end", "", "code 7")],
)
def test_a_crash_is_a_value_and_the_next_job_runs(worker, name, signal_name, words):
    found = worker.run(job(name))
    assert found.kind == "crash" and found.error["signal"] == signal_name and words in found.text
    assert name != "segv" or "about to touch address 0" in found.error["said"]
    assert worker.run(job("add"), 1, 1).value == 2


def test_an_endless_loop_is_ended_at_its_limit(worker):
    assert worker.run(job("hang"), limit=0.3).kind == "timeout"
    assert worker.run(job("hold"), limit=0.3).kind == "timeout"
    assert worker.run(job("chatter"), limit=0.3).kind == "timeout"
    assert worker.run(job("add"), 1, 1).value == 2


def test_a_job_that_waits_behind_another_is_cancelled_at_once(worker):
    running, first, second, found = threading.Event(), threading.Event(), threading.Event(), []

    def begun(_):
        running.set()

    hang = lambda: worker.run(job("hang"), progress=begun, stop=first, limit=60)  # noqa: E731
    wait = lambda: found.append(worker.run(job("add"), 1, 1, stop=second).kind)  # noqa: E731
    threads = [threading.Thread(target=f) for f in (hang, wait)]
    threads[0].start()
    assert running.wait(60)
    threads[1].start()
    worker.cancel(second)
    threads[1].join(5)
    now = list(found)
    worker.cancel(first)
    for t in threads:
        t.join(30)
    assert now == ["cancelled"]


def test_a_job_is_cancelled_while_it_runs(worker):
    stop, other = threading.Event(), threading.Event()

    def on(content):
        assert not worker.cancel(other)  # another job's: this one goes on
        threading.Thread(target=worker.cancel, args=(stop,)).start()

    assert worker.run(job("hang"), progress=on, stop=stop, limit=60).kind == "cancelled"
    assert worker.run(job("add"), 1, 1, stop=other).kind == "cancelled"  # before it started
    assert worker.run(job("add"), 1, 1).value == 2
    assert not worker.cancel()


def test_a_job_cancelled_before_its_child_has_it_costs_the_next_one_nothing(worker, monkeypatch):
    for _ in range(20):
        stop = threading.Event()
        with monkeypatch.context() as m:
            ready = worker._ready
            m.setattr(worker, "_ready", lambda ready=ready, stop=stop: (ready(), worker.cancel(stop))[0])
            assert worker.run(job("add"), 1, 1, stop=stop).kind == "cancelled"
        assert worker.run(job("add"), 1, 1).value == 2


def test_jobs_of_several_threads_take_turns(worker):
    found = {}

    def ask(k):
        found[k] = worker.run(job("add"), k, k).value

    threads = [threading.Thread(target=ask, args=(k,)) for k in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(60)
    assert found == {k: 2 * k for k in range(8)}


def test_the_child_has_no_standard_input(worker):
    assert worker.run(job("read_stdin")).value == ""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the limit is set on Linux only")
@pytest.mark.parametrize("fork", WAYS)
def test_too_much_memory_is_a_value(fork):
    with_limit = Worker(memory=256 << 20, preload=PRELOAD, fork=fork)
    try:
        found = with_limit.run(job("allocate"), 64 << 30)
        assert found.kind == "memory" and "allocate" in found.text
        assert with_limit.run(job("allocate"), 1 << 20).value == 1 << 20
    finally:
        with_limit.close()


def test_a_worker_that_cannot_start_says_why():
    broken = Worker(preload=("tests.no_such_module",), fork=False)
    found = broken.run(job("add"), 1, 1)
    assert found.kind == "lost" and "no_such_module" in found.text
    broken.close()
    closed = Worker(preload=PRELOAD)
    closed.close()
    assert closed.run(job("add"), 1, 1).kind == "lost"


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


HOLDS = """
import sys, threading
from tvmlab.runtime.worker import Worker
w = Worker(preload=("numpy", "tests.jobs"), fork=sys.argv[1] == "True")
w.warm()
print(w.pid, w._nursery.process.pid if w._nursery else w.pid, flush=True)
w.run("tests.jobs:" + sys.argv[2], limit=3600)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")
@pytest.mark.parametrize("fork, busy", [(True, "hang"), (True, "hold"), (False, "hang")])
def test_children_end_with_a_kernel_that_is_killed(fork, busy):
    kernel = subprocess.Popen([sys.executable, "-c", HOLDS, str(fork), busy], stdout=subprocess.PIPE, text=True)
    assert kernel.stdout is not None
    pids = [int(x) for x in kernel.stdout.readline().split()]
    assert all(map(alive, pids))
    time.sleep(0.2)  # the job has begun
    kernel.send_signal(signal.SIGKILL)
    kernel.wait()
    kernel.stdout.close()
    end = time.monotonic() + 20
    while any(map(alive, pids)) and time.monotonic() < end:
        time.sleep(0.02)
    assert not any(map(alive, pids))


ENDS = """
import threading, time
from tvmlab.runtime.worker import Worker
w = Worker(preload=("numpy", "tests.jobs"))
def jobs():
    while True:
        w.run("tests.jobs:hang", limit=3600)
threading.Thread(target=jobs, daemon=True).start()
while w.pid is None:
    time.sleep(0.01)
"""


def with_mark(mark):
    """The processes that were started with this in their environment."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as f:
                found += [int(pid)] * (mark.encode() in f.read())
        except OSError:
            pass
    return found


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")
def test_nothing_is_left_where_a_script_ends_with_jobs_in_its_queue():
    mark = f"TVMLAB_TEST_MARK={os.getpid()}-{time.monotonic_ns()}"
    name, _, value = mark.partition("=")
    run = subprocess.run([sys.executable, "-c", ENDS], env={**os.environ, name: value}, timeout=60)
    assert run.returncode == 0
    end = time.monotonic() + 10
    while with_mark(mark) and time.monotonic() < end:
        time.sleep(0.02)
    assert with_mark(mark) == []


IN_A_CELL = """
import asyncio, sys
assert not hasattr(sys.modules["__main__"], "__file__")
from tvmlab.runtime.worker import Worker
async def cell():
    w = Worker(preload=("numpy", "tests.jobs"))
    print(w.run("tests.jobs:add", 1, 2).value, w.run("tests.jobs:segv").kind)
    w.close()
asyncio.run(cell())
print(sys.stdin.readline().strip())
"""


def test_where_a_loop_runs_and_main_has_no_file():
    code = f"exec({IN_A_CELL!r})\nthis line is still there\n"
    run = subprocess.run([sys.executable, "-c", "exec(input())"], input=code, capture_output=True, text=True)
    assert run.stdout.split("\n")[:2] == ["3 crash", "this line is still there"], run.stderr


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="open files are counted by /proc")
def test_children_that_died_leave_no_open_files(worker):
    assert worker.run(job("pid")).ok
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        gone = worker._child
        assert worker.run(job("segv")).kind == "crash"
        assert gone.log.closed and worker.run(job("pid")).ok
    assert len(os.listdir("/proc/self/fd")) <= before
