"""Live typing in a real kernel: the comm, the cell's id, endless text, and that the kernel goes on."""

import sys
from pathlib import Path

import pytest

pytest.importorskip("ipykernel")
from jupyter_client.manager import KernelManager

SETUP = """
import sys; sys.path.insert(0, {root!r})
%load_ext tvmlab
from tvmlab import te
from tvmlab.lab import magic
magic.show = lambda lab: print("lab of", lab.name, lab.step)
A = te.placeholder((64, 64), name="A")
C = te.compute((64, 64), lambda i, j: A[i, j] + 1.0, name="C")
"""
CELL = "%%schedule --live\ns = te.create_schedule(C.op)\nio, ii = s[C].split(C.op.axis[0], 16)\n"


class Kernel:
    def __init__(self):
        self.manager = KernelManager()
        self.manager.kernel_spec.argv[:] = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        self.manager.start_kernel()
        self.client = self.manager.blocking_client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=60)
        self.comm = "comm-1"

    def close(self):
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)

    def send(self, kind, content, metadata=None):
        message = self.client.session.msg(kind, content, metadata=metadata)
        self.client.shell_channel.send(message)
        return message["header"]["msg_id"]

    def until(self, id, *kinds):
        """The contents of what the kernel publishes for a message until it is idle again."""
        found = []
        while True:
            m = self.client.get_iopub_msg(timeout=60)
            if m["parent_header"].get("msg_id") != id:
                continue
            if m["msg_type"] == "status" and m["content"]["execution_state"] == "idle":
                return found
            if m["msg_type"] in kinds:
                found.append(m["content"])

    def run(self, code, cell="c1"):
        content = {"code": code, "silent": False, "store_history": True, "user_expressions": {}, "allow_stdin": False}
        found = self.until(self.send("execute_request", content, {"cellId": cell}), "stream", "error", "execute_result")
        return "".join(
            x.get("text", "") or x.get("evalue", "") or x.get("data", {}).get("text/plain", "") for x in found
        )

    def open(self):
        self.until(self.send("comm_open", {"comm_id": self.comm, "target_name": "tvmlab.live", "data": {}}))

    def typed(self, text, cell="c1"):
        data = {"seq": 1, "kind": "live", "cell": cell, "text": text}
        (answer,) = self.until(self.send("comm_msg", {"comm_id": self.comm, "data": data}), "comm_msg")
        return answer["data"]


@pytest.fixture(scope="module")
def kernel():
    made = Kernel()
    assert made.run(SETUP.format(root=str(Path(__file__).parents[2]))) == ""
    yield made
    made.close()


@pytest.mark.slow
def test_live_typing_in_a_kernel(kernel):
    assert kernel.run(CELL) == "lab of s 1\n"
    assert kernel.run("print(s.history.entries[0].origin['label'])") == "cell 2 line 3\n"
    kernel.open()
    good = kernel.typed(CELL + "s[C].unroll(ii)")
    assert good["state"] == "good" and good["lab"] and "unrolled" in str(good["frame"]["loops"])
    endless = kernel.typed(CELL + "while True:\n    try:\n        pass\n    except BaseException:\n        pass")
    assert endless["state"] == "kept" and "stopped after 1 s" in endless["error"]["text"]
    assert kernel.typed(CELL + "!echo typed\nprint(1)")["error"] is None
    assert kernel.run("print(len(s.trace))") == "1\n"
    assert "stopped" in kernel.typed("import time\ntime.sleep(30)")["error"]["text"]
    assert kernel.run("import time; time.sleep(0.3); 5") == "5"
    assert kernel.run(CELL) == "lab of s 1\n"
