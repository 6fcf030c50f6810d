"""What an error says is legal leads to a program that builds, not to the next refusal; in the names of the person."""

import re

import pytest

import tvmlab
from tests.refusal import refused
from tvmlab import te
from tvmlab.core.error import BuildError

N = 77


def forgotten(fetched=False):
    """A matmul whose cache nobody has placed. Gives the names that lines of code may use.

    `fetched`: it is placed, but A comes by way of memory of all blocks.
    """
    A, B = (te.placeholder((N, N), name=n) for n in "AB")
    k = te.reduce_axis((0, N), name="k")
    C = te.compute((N, N), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    s = te.create_schedule(C.op)
    CC = s.cache_write(C, "local")
    i, j = s[C].op.axis
    s[C].bind(i, te.thread_axis("blockIdx.x"))
    s[C].bind(j, te.thread_axis("threadIdx.x"))
    AA = None
    if fetched:
        s[CC].compute_at(s[C], j)
        AA = s.cache_read(A, "global", [CC])
    return {"s": s, "AA": AA, "A": A, "B": B, "C": C, "CC": CC, "i": i, "j": j, "te": te}


BEGINNINGS = {
    "forgotten": "",
    "too far out": "s[CC].compute_at(s[C], i)",
    "shared": "s[CC].set_scope('shared')",
    "global": "s[CC].set_scope('global')",
    "shared by bound threads": "s[CC].set_scope('shared'); s[CC].bind(s[CC].op.axis[1], te.thread_axis('threadIdx.x'))",
    "spread": "s[CC].compute_at(s[C], i); s[CC].bind(s[CC].op.axis[1], te.thread_axis('threadIdx.x'))",
    "spread at the root": "s[CC].bind(s[CC].op.axis[1], te.thread_axis('threadIdx.x'))",
    "global in a kernel": "s[CC].set_scope('global'); s[CC].compute_at(s[C], j)",
    "fetched, global in a kernel": "s[AA].compute_at(s[C], i)",
    "fetched in its threads": "s[AA].compute_at(s[C], j)",
    "fetched, on the host": "",
}


def build(names):
    return tvmlab.build(names["s"], [names["A"], names["B"], names["C"]], "opencl")


def offered(said):
    """The lines of code in a message: what is legal, and what it says to add."""
    legal = re.findall(r"legal here:  (.*)", said)
    lines = [x for line in legal for x in re.split(r", (?=s\[|bind )", line) if x.startswith("s[")]
    lines += re.findall(r"where all threads see it: (.*)", said)
    added = re.findall(r"^ +(s\[.*\.bind\(.*)$", said, re.M)
    return lines + (["; ".join(added)] if added else [])


@pytest.mark.parametrize("beginning", BEGINNINGS)
def test_every_step_that_is_offered_works(beginning):
    def begun():
        names = forgotten("fetched" in beginning)
        exec(BEGINNINGS[beginning], names)
        return names

    names = begun()
    moves = offered(refused(BuildError, lambda: build(names)))
    assert moves
    for move in moves:
        names = begun()
        exec(move, names)
        assert build(names).source, move


def test_one_word_on_one_cache():
    said = refused(BuildError, lambda: build(forgotten()))
    assert said.count("C.local is in local memory") == 1 and said.endswith("legal here:  s[CC].compute_at(s[C], j)")
