"""Numbers with their units, as a person reads them."""

from __future__ import annotations

from collections.abc import Sequence

BYTES = ("B", "KiB", "MiB", "GiB", "TiB")
LARGE = ("", "k", "M", "G", "T")
SHORT = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"))


def size(n: float | None) -> str:
    """Bytes: `64 B`, `1.5 MiB`; `?` for what is not known."""
    return "?" if n is None else _scaled(n, BYTES, 1024)


def count(n: float | None) -> str:
    """How many: `512`, `4096`, `2.15 G`; `?` for what is not known."""
    if n is None:
        return "?"
    return _scaled(n, LARGE, 1000) if abs(n) >= 1e4 else f"{n:.4g}"


def duration(seconds: float) -> str:
    """Three digits and a unit: `1.23 ms`."""
    for unit, name in SHORT:
        if abs(seconds) >= unit:
            return f"{seconds / unit:.3g} {name}"
    return f"{seconds / 1e-9:.3g} ns"


def _scaled(n: float, units: Sequence[str], base: int) -> str:
    power = 0
    while abs(n) >= base and power < len(units) - 1:
        n, power = n / base, power + 1
    digits = f"{n:.0f}" if n >= 100 or n == int(n) else f"{n:.3g}"
    return f"{digits} {units[power]}"
