"""PoCL's record of a device gets a processor that its LLVM knows, and nothing near it is written to."""

import ctypes
import sys
from types import SimpleNamespace

import pytest

from tvmlab.runtime.gpu import pocl

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc/self/maps")
OWN = 0x280  # where the record of PoCL 3.0, of 1024 bytes, has the name


@pytest.fixture
def record(tmp_path):
    """Memory of 4096 bytes as words, two names "generic", the device, and the file of a processor's flags."""
    words, own, other = (ctypes.c_uint64 * 512)(), *(ctypes.create_string_buffer(b"generic") for _ in range(2))
    flags = tmp_path / "cpuinfo"
    flags.write_text("flags : sse4_2 popcnt\n")
    words[OWN // 8] = ctypes.addressof(own)
    return SimpleNamespace(words=words, other=other, own=own, flags=flags, int_ptr=ctypes.addressof(words))


def name(record, at):
    return ctypes.string_at(record.words[at // 8])


def test_the_name_is_replaced(record):
    assert pocl.repair(record, record.flags) == "nehalem" and name(record, OWN) == b"nehalem"


@pytest.mark.parametrize("at", [0x400, 0x410, 0x568, 0xEC0])
def test_what_lies_behind_the_record_stays(record, at):
    """Other parts of PoCL in the same heap point to such a text too."""
    record.words[at // 8] = ctypes.addressof(record.other)
    assert pocl.repair(record, record.flags) == "nehalem"
    assert (name(record, OWN), name(record, at)) == (b"nehalem", b"generic")


def test_two_in_the_record_are_left_alone(record):
    record.words[0] = ctypes.addressof(record.other)
    assert pocl.repair(record, record.flags) == "" and name(record, OWN) == b"generic"


def test_a_processor_of_which_nothing_is_known(record):
    record.flags.write_text("flags : fpu\n")
    assert pocl.repair(record, record.flags) == "" and name(record, OWN) == b"generic"
