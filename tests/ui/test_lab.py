"""`make lab`, without a browser: the server comes up, its first page is the first notebook, its kernel that of here."""

import json
import os
import re
import shlex
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from tests.ui.ports import free_port

pytest.importorskip("jupyterlab")
ROOT = Path(__file__).parents[2]


def recipe():
    """The arguments that the Makefile gives to Python."""
    (line,) = re.findall(r"^lab:.*\n\t\$\(BIN\)/python (.*?) \$\(ROOT\)", (ROOT / "Makefile").read_text(), re.M)
    return shlex.split(line)


@pytest.fixture
def server(tmp_path):
    """The address of a running lab whose settings are all its own."""
    names = "JUPYTER_CONFIG_DIR JUPYTER_DATA_DIR JUPYTER_RUNTIME_DIR IPYTHONDIR".split()
    env = {**os.environ, **{name: str(tmp_path / name) for name in names}}
    port = free_port()
    options = ["--no-browser", "--ip=127.0.0.1", f"--port={port}", "--ServerApp.port_retries=0", "--allow-root"]
    command = [sys.executable, *recipe(), *options, "--IdentityProvider.token=secret"]
    log = tmp_path / "log"
    with log.open("w") as out, subprocess.Popen(command, cwd=ROOT, env=env, stdout=out, stderr=out) as process:
        address = f"http://127.0.0.1:{port}"
        try:
            wait_for(address, process, log)
            yield address
        finally:
            process.terminate()


def wait_for(address, process, log):
    for _ in range(300):
        assert process.poll() is None, log.read_text()
        try:
            return get(address + "/api")
        except OSError:
            time.sleep(0.2)
    raise AssertionError(log.read_text())


def get(url):
    request = urllib.request.Request(url, headers={"Authorization": "token secret"})
    with urllib.request.urlopen(request, timeout=20) as answer:
        return answer.geturl(), answer.read()


@pytest.mark.slow
def test_the_first_page_is_the_first_notebook(server):
    landed, _ = get(server + "/")
    assert landed.split("?")[0] == f"{server}/lab/tree/notebooks/01_first_schedule.ipynb"
    _, text = get(server + "/api/contents/notebooks/01_first_schedule.ipynb?content=0")
    assert json.loads(text)["type"] == "notebook"
    _, text = get(server + "/api/kernelspecs")
    spec = json.loads(text)["kernelspecs"]["python3"]["spec"]
    assert json.loads(text)["default"] == "python3"
    assert Path(spec["argv"][0]).name.startswith("python"), "which Jupyter takes from the environment it runs in"
