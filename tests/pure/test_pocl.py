"""The repair of a PoCL that does not know the processor, on a made-up record of a device."""

import ctypes
from types import SimpleNamespace

import pytest

from tvmlab.runtime.gpu import pocl

AVX2 = "processor\t: 0\nflags\t\t: fpu avx2 fma bmi1 bmi2 f16c movbe sse4_2 popcnt\n"
OLD = "flags\t\t: fpu sse4_2 popcnt\n"


@pytest.fixture
def record():
    """Pointers at two places: the first one is the processor's name."""
    text = ctypes.create_string_buffer(b"generic")
    memory = (ctypes.c_uint64 * 512)()
    memory[80] = memory[120] = ctypes.addressof(text)
    memory[30] = ctypes.addressof(ctypes.create_string_buffer(b"generic-not"))
    return SimpleNamespace(int_ptr=ctypes.addressof(memory), memory=memory, text=text)


def said(record, at):
    return ctypes.string_at(record.memory[at])


@pytest.mark.parametrize("flags, name", [(AVX2, "haswell"), (OLD, "nehalem")])
def test_a_name_that_llvm_knows(record, tmp_path, flags, name):
    (tmp_path / "cpuinfo").write_text(flags)
    assert pocl.repair(record, tmp_path / "cpuinfo") == name
    assert said(record, 80) == name.encode() and said(record, 120) == b"generic"  # that one may be another's


def test_nothing_is_changed_where_nothing_is_known(record, tmp_path):
    assert pocl.repair(record, tmp_path / "missing") == ""
    (tmp_path / "cpuinfo").write_text(AVX2)
    empty = (ctypes.c_uint64 * 512)()
    assert pocl.repair(SimpleNamespace(int_ptr=ctypes.addressof(empty)), tmp_path / "cpuinfo") == ""
    assert said(record, 80) == b"generic"
