"""Numbers with their units, one way of writing them everywhere."""

from tvmlab.core.units import count, duration, size


def test_bytes():
    assert [size(n) for n in (None, 0, 64, 1536, 1 << 20, 1.25 * 2**20, 1023.4 * 1024, 5 << 30)] == [
        "?", "0 B", "64 B", "1.5 KiB", "1 MiB", "1.25 MiB", "1023 KiB", "5 GiB",
    ]  # fmt: skip


def test_how_many():
    assert [count(n) for n in (None, 0, 1.33333, 512, 9999, 15000, 134_217_728, 2.5e13)] == [
        "?", "0", "1.333", "512", "9999", "15 k", "134 M", "25 T",
    ]  # fmt: skip


def test_seconds():
    assert [duration(s) for s in (2, 0.0123, 4.56e-6, 7e-9)] == ["2 s", "12.3 ms", "4.56 µs", "7 ns"]
