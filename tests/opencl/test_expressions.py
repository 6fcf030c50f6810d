"""Random expressions over all data types (tests/expr_fuzz.py) as OpenCL on a device: to the bit, as the interpreter.

The same expressions are compiled as CUDA C++ and parsed as Metal in tests/pure/target/test_texts_compile.py.
"""

import datetime
from dataclasses import replace

import numpy as np
import pytest

import tvmlab
from tests import expr_fuzz
from tests.opencl import pocl
from tvmlab import te
from tvmlab.core.program import Program
from tvmlab.lowering import pipeline


class Case(expr_fuzz.Case):
    """An expression whose outermost loop is bound to blocks."""

    def split(self) -> Program:
        out = self.args[-1]
        self.schedule[out].bind(self.schedule[out].leaf_iter_vars[0], te.thread_axis("blockIdx.x"))
        program = tvmlab.lower(self.schedule, self.args)
        strict = replace(program.entry, attrs=(*program.entry.attrs, ("fp", "strict")))
        return pipeline.run(replace(program, functions=(strict,)), (*pipeline.FLAT, "split_host_device"))


def disagreements(seeds):
    """What the device makes of the expressions that the interpreter does not."""
    cases = [Case(seed) for seed in seeds]
    wanted = [c.run("interp") for c in cases]
    jobs = [pocl.job(c.split(), [*c.arrays, np.zeros(expr_fuzz.N, c.dtype)]) for c in cases]
    wrong = []
    for seed, case, right, found in zip(seeds, cases, wanted, pocl.run(jobs, timeout=280), strict=True):
        if isinstance(found, str):
            wrong.append(f"seed {seed}: {found[:2000]}")
        elif len(at := case.differs(right, found["out"])):
            k = at[0]
            wrong.append(f"seed {seed}: {found['out'][k]!r}, interp {right[k]!r} at {k}\n    {case.made}")
    return wrong


TODAY = 1000 + datetime.date.today().toordinal() * 50  # expressions that were not tried yesterday


def test_expressions_agree_with_the_interpreter():
    assert disagreements(range(40)) == []


@pytest.mark.slow
def test_more_expressions_agree():
    """Others each day: a failure names its seed."""
    assert disagreements(range(TODAY, TODAY + 50)) == []
