"""The sources compile to PTX, which needs Numba's CUDA and its compiler, but no GPU. In a process of its own."""

import datetime
import json
import subprocess
import sys

import pytest

import tvmlab
from tests.cuda.samples import tiled
from tests.expr_fuzz import Case
from tvmlab import te
from tvmlab.core.error import BuildError

COMPILE = """
import json, sys, warnings
from types import SimpleNamespace
warnings.simplefilter("ignore")
try:
    from numba import cuda, types
    import numba.cuda.dispatcher as dispatcher
    cuda.compile_ptx(lambda a: None, (types.float32[::1],), cc=(8, 0))
except Exception as e:
    print(json.dumps(f"Numba compiles nothing for CUDA here: {type(e).__name__}: {e}"))
    raise SystemExit
dispatcher.get_current_device = lambda: SimpleNamespace(compute_capability=(8, 0))  # device functions ask it
wrong = []
for source, kernels in json.load(sys.stdin):
    found = {}
    exec(source, found)
    for name, params in kernels:
        kinds = [types.boolean if t == "bool" else getattr(types, t) for t, _ in params]
        signature = tuple(types.Array(k, 1, "C") if b else k for k, (_, b) in zip(kinds, params))
        try:
            cuda.compile_ptx(found[name].py_func, signature, cc=(8, 0))
        except Exception as e:
            wrong.append(f"{e}\\n{source}")
print(json.dumps(wrong))
"""


def sources():
    yield tvmlab.build(*tiled(), "cuda")
    today = datetime.date.today().toordinal() * 12
    for seed in range(today, today + 12):  # others each day
        case = Case(seed)
        stage = case.schedule[case.args[-1]]
        stage.bind(stage.leaf_iter_vars[0], te.thread_axis("threadIdx.x"))
        try:
            yield tvmlab.build(case.schedule, case.args, "cuda")
        except BuildError:  # a function that cuda does not have
            continue


def kind(param):
    """A float16 that is a number is passed as float32."""
    return "float32" if param.dtype == "float16" and not param.buffer else param.dtype, param.buffer


@pytest.mark.slow
def test_sources_compile_to_ptx():
    jobs = []
    for made in sources():
        code = made.compiled.extra["device"]
        jobs.append((code.source, [(k.name, list(map(kind, k.params))) for k in code.kernels]))
    done = subprocess.run([sys.executable, "-c", COMPILE], input=json.dumps(jobs), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout.splitlines()[-1])
    if isinstance(said, str):
        pytest.skip(said.splitlines()[0])
    assert len(jobs) > 5 and said == []
