"""The script for a machine with a GPU works as far as one without can tell."""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_on_the_simulator(simulator):
    command = [sys.executable, "-m", "tests.cuda.on_gpu", "--simulate"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["right"]["cuda"]["cases"] > 4 and found["right"]["cuda"]["wrong"] == [] and found["times"] == []
    assert found["targets"] == ["cuda"]  # CUDA C++ has no simulator


def test_without_a_gpu_it_says_so(simulator):
    done = subprocess.run([sys.executable, "-m", "tests.cuda.on_gpu"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 2 and done.stdout.startswith("There is no GPU here (no GPU: runs on Numba's simulator")
