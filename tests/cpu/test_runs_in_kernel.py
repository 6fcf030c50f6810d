"""Runs in a real kernel: they go on while a cell runs, and an interrupt is for the cell, not for them."""

import time

import pytest

client = pytest.importorskip("jupyter_client", reason="needs a Jupyter kernel")

START = """
import tests.jobs
from tests.cpu.test_trial import calls, tiled
from tvmlab.lab.runs import Runs
runs = Runs()
quick = runs.run(tiled().trace, options={"repeats": 3, "baseline": False})
"""
BUSY = """
import time
while runs.busy:       # a cell that is busy itself, as a person's may be
    time.sleep(0.01)
print(runs.row(quick)["state"], runs.row(quick)["check"])
endless = runs.run(calls("test.jobs.forever").trace)
"""
SLEEP = "print('asleep')\ntime.sleep(600)"
AFTER = """
print(runs.busy, runs.row(endless)["state"] in ("queued", "compiling", "checking"))
runs.cancel(endless)
print(runs.wait("", 60), runs.row(endless)["state"])
print(input("name? "))
runs.close()
"""


@pytest.fixture
def kernel():
    manager = client.KernelManager(kernel_name="python3")
    try:
        manager.start_kernel()
    except Exception as e:
        pytest.skip(f"no kernel starts here: {e}")
    channel = manager.client()
    channel.start_channels()
    channel.wait_for_ready(timeout=60)
    yield manager, channel
    channel.stop_channels()
    manager.shutdown_kernel(now=True)


def said(channel, code, interrupt=None, answer=None):
    """What a cell prints, its errors by name; `interrupt` is called once it printed."""
    number = channel.execute(code, allow_stdin=answer is not None)
    text, end = "", time.monotonic() + 90
    while time.monotonic() < end:
        if answer is not None and channel.stdin_channel.msg_ready():
            channel.get_stdin_msg(timeout=1)
            channel.input(answer)
        if not channel.iopub_channel.msg_ready():
            time.sleep(0.01)
            continue
        message = channel.get_iopub_msg(timeout=1)
        if message["parent_header"].get("msg_id") != number:
            continue
        content = message["content"]
        text += content.get("text", "") + content.get("ename", "")
        if interrupt is not None and "asleep" in text:
            interrupt()
            interrupt = None
        if message["msg_type"] == "status" and content["execution_state"] == "idle":
            return text
    raise AssertionError(f"the cell did not end; so far: {text}")


def test_a_notebook_that_is_busy_and_interrupted(kernel):
    manager, channel = kernel
    assert said(channel, START) == ""
    assert said(channel, BUSY) == "done ok\n"
    assert "KeyboardInterrupt" in said(channel, SLEEP, interrupt=manager.interrupt_kernel)
    assert said(channel, AFTER, answer="Ada") == "True True\nTrue cancelled\nAda\n"
