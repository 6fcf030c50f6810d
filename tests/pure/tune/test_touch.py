"""What the features say of accesses is what visiting every iteration finds."""

from __future__ import annotations

import itertools
import math
import random

import pytest

from tests.pure.analysis.brute import Machine
from tests.traces import random_case
from tvmlab import te
from tvmlab.analysis.access import Reader
from tvmlab.lowering import pipeline
from tvmlab.tune import touch
from tvmlab.tune.features import statements
from tvmlab.tune.touch import progression


def matmul(m=12, n=16, k=8, tile=(4, 8), order=None, pack=False):
    a, b = te.placeholder((m, k), name="A"), te.placeholder((k, n), name="B")
    r = te.reduce_axis((0, k), name="k")
    c = te.compute((m, n), lambda i, j: te.sum(a[i, r] * b[r, j], axis=r), name="C")
    s = te.create_schedule(c.op)
    i, j = s[c].op.axis
    io, jo, ii, ji = s[c].tile(i, j, *tile)
    s[c].reorder(io, jo, r, ii, ji)
    s[c].vectorize(ji)
    if pack:
        s[s.cache_read(b, "global", [c])].compute_at(s[c], jo)
    return s, [a, b, c]


def window(stride=1, size=3, n=9, channels=2):
    x = te.placeholder((channels, (n - 1) * stride + size, (n - 1) * stride + size), name="X")
    w = te.placeholder((channels, size, size), name="W")
    c, p, q = (te.reduce_axis((0, e), name=v) for e, v in ((channels, "c"), (size, "p"), (size, "q")))
    y = te.compute(
        (n, n), lambda i, j: te.sum(x[c, i * stride + p, j * stride + q] * w[c, p, q], axis=[c, p, q]), name="Y"
    )
    s = te.create_schedule(y.op)
    return s, [x, w, y]


def diagonal():
    a = te.placeholder((9, 9), name="A")
    b = te.compute((9,), lambda i: a[i, i] + a[i, 8 - i], name="B")
    return te.create_schedule(b.op), [a, b]


def stencil():
    a = te.placeholder((32,), name="A")
    b = te.compute((30,), lambda i: a[i] + a[i + 1] + a[i + 2], name="B")
    s = te.create_schedule(b.op)
    s[b].split(b.op.axis[0], factor=5)
    return s, [a, b]


def fused():
    a = te.placeholder((6, 8), name="A")
    b = te.compute((6, 8), lambda i, j: a[i, j] * 2.0, name="B")
    s = te.create_schedule(b.op)
    s[b].split(s[b].fuse(*s[b].op.axis), factor=8)
    return s, [a, b]


CASES = {
    "matmul": matmul, "other tile": lambda: matmul(tile=(3, 4)), "packed": lambda: matmul(pack=True),
    "window": window, "strided window": lambda: window(2), "apart": lambda: window(4, 2), "diagonal": diagonal,
    "stencil": stencil, "fused": fused,
}  # fmt: skip


def found(schedule, args):
    return statements(Reader(pipeline.loops(schedule.state, args).entry).read())


def visited(statement, access, level):
    """Distinct elements, and lines, of the run of a level that touches the most; and how often each loop changes it."""
    nest = statement.nest
    nodes = [x.node for x in nest.loops]
    sites = [s for s in statement.sites if s.buffer is access.buffer and same_form(s, access)]
    steps = touch.strides(access.buffer, access.shape)
    machine, most, lines = Machine(), 0, 0
    outer = [range(n) for n in nest.extents[:level]]
    inner = [range(n) for n in nest.extents[level:]]
    for at in itertools.product(*outer):
        touched = set()
        for rest in itertools.product(*inner):
            for node, value in zip(nodes, (*at, *rest), strict=True):
                machine.env[node.var] = node.lo.value + value
            for s in sites:
                touched.add(tuple(machine.value(i) for i in s.node.indices))
        inside = {t for t in touched if all(0 <= x < n for x, n in zip(t, access.shape, strict=True))}
        most = max(most, len(inside))
        flat = {sum(map(math.prod, zip(t, steps, strict=True))) * access.size // touch.LINE for t in inside}
        lines = max(lines, len(flat))
    return most, lines


def same_form(site, access):
    return any(site is s for s in access.sites)


@pytest.mark.parametrize("name", CASES)
def test_distinct_elements_are_those_of_every_iteration(name):
    for statement in found(*CASES[name]()):
        for access in statement.accesses:
            for level in range(statement.nest.depth + 1):
                assert access.elements[level] == visited(statement, access, level)[0], (access.buffer.name, level)


@pytest.mark.parametrize("name", ["matmul", "packed", "apart", "fused"])
def test_lines_lie_where_the_elements_lie(name):
    """Of stretches that start anywhere, one more at most."""
    for statement in found(*CASES[name]()):
        for access in statement.accesses:
            for level in range(statement.nest.depth + 1):
                elements, lines = visited(statement, access, level)
                assert lines / 2 <= access.lines[level] <= min(elements, 2 * lines), (access.buffer.name, level)


def test_of_random_schedules_no_element_is_missed():
    checked = 0
    for seed in range(60):
        case = random_case(seed)
        program = pipeline.loops(case.schedule.state, case.args)
        if program.notes:
            continue
        for statement in statements(Reader(program.entry).read()):
            nest = statement.nest
            if math.prod(nest.extents) > 3000 or any(type(x.node.lo).__name__ != "Const" for x in nest.loops):
                continue
            for access in statement.accesses:
                if not access.known or any(s.node.mask is not None for s in access.sites):
                    continue
                level = random.Random(seed).randrange(nest.depth + 1)
                checked += 1
                assert access.elements[level] >= visited(statement, access, level)[0], (seed, access.buffer.name)
    assert checked > 100


def test_strides_and_loops_that_come_back():
    update = max(found(*matmul()), key=lambda s: s.work)
    names = [x.node.var.name for x in update.nest.loops]
    at = {a.buffer.name: a for a in update.accesses}
    strides = {name: dict(zip(names, a.strides, strict=True)) for name, a in at.items()}
    io, jo, k, ii, ji = names
    assert strides["A"] == {io: 4 * 8, jo: 0, k: 1, ii: 8, ji: 0}
    assert strides["B"] == {io: 0, jo: 8, k: 16, ii: 0, ji: 1}
    assert strides["C"] == {io: 4 * 16, jo: 8, k: 0, ii: 16, ji: 1}
    assert {name: names[a.again()] for name, a in at.items()} == {"A": ji, "B": ii, "C": k}
    assert {name: names[a.innermost()] for name, a in at.items()} == {"A": ii, "B": ji, "C": ji}


@pytest.mark.parametrize("seed", range(40))
def test_progressions_are_the_values_of_sums(seed):
    rng = random.Random(seed)
    terms = [(rng.choice((1, 1, 2, 3, 4, 8)), rng.randrange(1, 6)) for _ in range(rng.randrange(1, 4))]
    values = {sum(v) for v in itertools.product(*[range(0, c * n, c) for c, n in terms])}
    runs, count, step = progression(terms, 1000)
    assert runs * count >= len(values)
    if runs == 1 and count > 1:
        assert runs * count == len(values) or step == 1
