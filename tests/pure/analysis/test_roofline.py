"""Machines, the traffic between their caches, and the roof that binds."""

import pytest

from tests.pure.analysis.test_reasons import chain, matmul, order, panel, readable, tiled
from tvmlab import te
from tvmlab.analysis import machine as machines
from tvmlab.analysis.facts import facts, used_lanes
from tvmlab.analysis.machine import Cache, Machine, get, names, this_machine
from tvmlab.analysis.metrics import metrics
from tvmlab.analysis.roofline import roofline, traffic
from tvmlab.core.error import MissingName

LAPTOP = get("laptop-x86")


def test_presets():
    assert set(machines.PRESETS) <= set(names())
    assert get("teach-1").caches[0].size == 1024
    assert LAPTOP.peak() == 4 * 3e9 * 2 * 2 * 8
    assert LAPTOP.peak(64, cores=1, lanes=1) == 3e9 * 2 * 2
    assert LAPTOP.bandwidth("memory", 1) == 15e9
    assert LAPTOP.lines[2] == "L1 32 KiB per core, lines of 64 bytes"
    with pytest.raises(MissingName, match="there is no machine `cray`") as refused:
        get("cray")
    assert list(refused.value.legal) == names()


def test_the_system_says_what_this_machine_is(tmp_path):
    folder = tmp_path / "cpu0" / "cache"
    for index, (level, kind, text) in enumerate([(1, "Data", "48K"), (1, "Instruction", "32K"), (2, "Unified", "2M")]):
        (folder / f"index{index}").mkdir(parents=True)
        for name, value in {"level": level, "type": kind, "size": text, "coherency_line_size": 64}.items():
            (folder / f"index{index}" / name).write_text(f"{value}\n")
    info = tmp_path / "cpuinfo"
    info.write_text("cpu MHz\t\t: 2596.1\nflags\t\t: fpu sse2 avx avx2 fma\n")
    m = this_machine(tmp_path, info)
    assert [(c.name, c.size) for c in m.caches] == [("L1", 48 << 10), ("L2", 2 << 20)]
    assert (m.vector_bits, m.ghz, m.name) == (256, 2.6, "this machine")
    assert m.cores >= 1


def test_a_system_that_says_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(machines, "_sysconf", lambda name: 0)
    assert this_machine(tmp_path / "nothing", tmp_path / "none") is None
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged" / "cpuinfo").write_text("cpu MHz : fast\n")
    assert this_machine(tmp_path / "damaged", tmp_path / "damaged" / "cpuinfo") is None


def test_everything_fits():
    m = metrics(order("ijk", n=32))
    assert [t.bytes for t in traffic(m, LAPTOP)] == [3 * 4096] * 3
    r = roofline(m, LAPTOP)
    assert r.intensity == 2 * 32**3 / (3 * 4096)


def test_a_column_brings_a_line_for_each_element():
    n = 1024
    m = metrics(order("ijk", n=n))
    lines, used = traffic(m, LAPTOP)[0], traffic(m, LAPTOP, lines=False)[0]
    assert lines.buffers["B"] == n**3 * 64  # each column comes anew for each element of C
    assert used.buffers["B"] == n**3 * 4
    assert lines.over == ("j", n * 64 + n * 4 + 64)


def test_a_panel_stays_in_its_cache():
    small = traffic(metrics(panel(128, 32, True)), LAPTOP)
    large = traffic(metrics(panel(128, 32, False)), LAPTOP)
    assert small[0].buffers["B"] == 128 * 128 * 4
    assert large[0].buffers["B"] == 128 * (128 * 128 * 4)
    assert small[0].holders[0].loop == "i"


def test_one_iteration_must_fit():
    m = metrics(panel(160, 32, True))
    one = next(h for t in traffic(m, LAPTOP, lines=False) for h in t.holders if h.loop == "i").bytes
    assert one == 4 * (160 * 32 + 160 + 32)
    for room, loop in ((one, "i"), (one - 1, "k")):
        tiny = Machine("m", "M", 1, 1.0, 128, 1, (Cache("L1", int(room), 64, 16),), 1e9, 1e9)
        assert traffic(m, tiny, lines=False)[0].holders[0].loop == loop


def test_a_larger_cache_has_less_traffic():
    for m in map(metrics, (tiled(), order("ikj"), order("ijk"), chain(False))):
        found = [t.bytes for t in traffic(m, LAPTOP)]
        assert found == sorted(found, reverse=True)
        assert found[-1] >= sum(m.buffers.values())


def test_a_shared_cache_is_shared():
    m = metrics(tiled(parallel="xo"))
    assert traffic(m, LAPTOP)[2].capacity == LAPTOP.caches[2].size / 4
    assert traffic(metrics(tiled()), LAPTOP)[2].capacity == LAPTOP.caches[2].size


def test_arithmetic_binds_or_memory():
    r = roofline(metrics(order("ikj", n=64)), LAPTOP)
    assert r.binding.name == "arithmetic"
    assert r.attainable == LAPTOP.peak(cores=1, lanes=1)
    assert r.text == "arithmetic is the limit, with 1 of 4 cores, 1 of 8 lanes"
    r = roofline(metrics(chain(True)), LAPTOP)
    assert r.binding.name == "memory"
    assert r.attainable == pytest.approx(r.intensity * LAPTOP.bandwidth("memory", 1))
    assert r.peak == LAPTOP.peak()


def test_a_compilers_own_vectors_raise_the_roof():
    """A plain innermost loop over j is made vectors of; a sum over k is not."""
    for loops, lanes in (("ikj", LAPTOP.lanes()), ("ijk", 1)):
        found = facts(order(loops, n=64))
        assert used_lanes(found, LAPTOP.lanes()) == pytest.approx(lanes, rel=0.02)
        roofs = roofline(found.metrics, LAPTOP, used_lanes(found, LAPTOP.lanes())).roofs
        assert roofs[-1].limit == pytest.approx(LAPTOP.peak(cores=1, lanes=lanes), rel=0.02)


def test_a_program_without_arithmetic():
    A = te.placeholder((64, 64), name="A")
    B = te.compute((64, 64), lambda i, j: A[j, i], name="B")
    r = roofline(metrics(readable(te.create_schedule(B.op), [A, B])), LAPTOP)
    assert (r.attainable, r.intensity) == (None, 0)
    assert "arithmetic" not in [x.name for x in r.roofs]
    assert r.seconds > 0


def test_unknown_sizes_have_no_roofline():
    n = te.size_var("n")
    A = te.placeholder((n,), name="A")
    B = te.compute((n,), lambda i: A[i] + 1.0, name="B")
    assert roofline(metrics(readable(te.create_schedule(B.op), [A, B])), LAPTOP) is None


def test_doubles_fill_half_as_many_lanes():
    s, A, B, C = matmul(64)
    assert metrics(readable(s, [A, B, C])).bits == 32
    A = te.placeholder((64,), "float64", name="A")
    B = te.compute((64,), lambda i: A[i] * 2.0, name="B")
    assert metrics(readable(te.create_schedule(B.op), [A, B])).bits == 64


def test_an_empty_program_takes_no_time():
    A = te.placeholder((0, 4), name="A")
    B = te.compute((0, 4), lambda i, j: A[i, j] + 1.0, name="B")
    r = roofline(metrics(readable(te.create_schedule(B.op), [A, B])), LAPTOP)
    assert r is None or r.seconds == 0


def test_one_cache_is_enough():
    tiny = Machine("m", "M", 1, 1.0, 128, 1, (Cache("L1", 1024, 64, 16),), 1e9, 1e9)
    assert [t.source for t in traffic(metrics(order("ijk", n=64)), tiny)] == ["memory"]
