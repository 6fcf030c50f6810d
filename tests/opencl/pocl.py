"""Runs programs for OpenCL on the first platform there is (PoCL), as the host function says."""

import os
import pickle
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import numpy as np

from tvmlab.core.node import Alloc, Bin, Buffer, Call, Cast, Const, Evaluate, For, If, LetStmt, Seq, Var
from tvmlab.target import Target, get

ROOT = Path(__file__).parents[2]
OPERATIONS = {
    "+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b, "//": lambda a, b: a // b,
    "%": lambda a, b: a % b, "min": min, "max": max, "<": lambda a, b: a < b,
}  # fmt: skip


def job(program, arrays, numbers=()):
    """What a child runs: the text, memory by name, the launches with their sizes worked out."""
    host = program.entry
    memory, values = {}, {}
    given, rest = iter(arrays), iter(numbers)
    for p in host.params:
        if isinstance(p, Buffer):
            memory[p.name] = values[p.data] = next(given).reshape(-1)
            values[p.data] = p.name
        else:
            values[p] = next(rest)
    values.update(zip(host.sizes, rest, strict=True))
    launches = []
    _host(host.body, values, memory, launches)
    return get("opencl").source(program, Target("opencl")), memory, launches


def run(jobs, timeout=120):
    """The results of jobs; a string is an error. A child that dies or hangs is an error of all of them."""
    child = Child.usual = Child.usual or Child()
    timer = threading.Timer(timeout, child.process.kill)
    timer.start()
    try:
        pickle.dump(jobs, child.process.stdin)
        child.process.stdin.flush()
        return pickle.load(child.process.stdout)
    except (EOFError, OSError, pickle.UnpicklingError):
        Child.usual = None
        why = f"the child ended with {child.process.wait()}: {child.said()}"
        return [why if timer.is_alive() else f"no answer in {timeout} s"] * len(jobs)
    finally:
        timer.cancel()


class Child:
    """The process that runs jobs, one for all tests of a process: it ends when its input does."""

    usual = None

    def __init__(self):
        self.cache, self.log = tempfile.TemporaryDirectory(prefix="tvmlab-pocl-"), tempfile.TemporaryFile()  # noqa: SIM115
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.opencl.child"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT,
            stderr=self.log, env={**os.environ, "PYTHONPATH": str(ROOT), "POCL_CACHE_DIR": self.cache.name},
        )  # fmt: skip

    def said(self):
        self.log.seek(0)
        return self.log.read().decode(errors="replace")[-2000:]


def results(program, arrays, numbers=()):
    """The arrays after one run, in their shapes."""
    (found,) = run([job(program, arrays, numbers)])
    assert not isinstance(found, str), found
    names = [b.name for b in program.entry.buffers]
    return [found[n].reshape(a.shape) for n, a in zip(names, arrays, strict=True)]


def _host(s, values, memory, launches):
    if isinstance(s, Seq):
        for x in s.stmts:
            _host(x, values, memory, launches)
    elif isinstance(s, For):
        lo = _value(s.lo, values)
        for i in range(lo, lo + _value(s.extent, values)):
            _host(s.body, {**values, s.var: i}, memory, launches)
    elif isinstance(s, If):
        chosen = s.then if _value(s.cond, values) else s.other
        if chosen is not None:
            _host(chosen, values, memory, launches)
    elif isinstance(s, LetStmt):
        _host(s.body, {**values, s.var: _value(s.value, values)}, memory, launches)
    elif isinstance(s, Alloc):
        size = _value(s.buffer.shape[0], values)
        memory[s.buffer.name] = np.zeros(size, "uint8" if s.buffer.dtype == "bool" else s.buffer.dtype)
        _host(s.body, {**values, s.buffer.data: s.buffer.name}, memory, launches)
    else:
        assert isinstance(s, Evaluate) and isinstance(s.value, Call) and s.value.kind == "launch", s
        sizes = [_value(x, values) for x in s.value.args[:6]]
        arguments = [values[x] if x.dtype == "handle" else _number(x, values) for x in s.value.args[6:]]
        launches.append((s.value.name, tuple(sizes[:3]), tuple(sizes[3:]), arguments))


def _number(x, values):
    kind = {"bool": "uint8", "float16": "float32"}.get(x.dtype, x.dtype)
    return np.dtype(kind).type(_value(x, values))


def _value(e, values):
    if isinstance(e, Const):
        return e.value
    if isinstance(e, Var):
        return values[e]
    if isinstance(e, Cast):
        return _value(e.value, values)  # of integers
    assert isinstance(e, Bin), e
    return OPERATIONS[e.op](_value(e.a, values), _value(e.b, values))
