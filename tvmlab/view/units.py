"""Numbers with their units, as a person reads them."""

from __future__ import annotations

from collections.abc import Sequence

BYTES = ("B", "KiB", "MiB", "GiB", "TiB")
LARGE = ("", "k", "M", "G", "T")


def size(n: float | None) -> str:
    """Bytes: `64 B`, `1.5 MiB`; `?` for what is not known."""
    return "?" if n is None else _scaled(n, BYTES, 1024)


def count(n: float | None) -> str:
    """How many: `512`, `2.15 G`."""
    return "?" if n is None else _scaled(n, LARGE, 1000).strip()


def _scaled(n: float, units: Sequence[str], base: int) -> str:
    power = 0
    while abs(n) >= base and power < len(units) - 1:
        n, power = n / base, power + 1
    digits = f"{n:.0f}" if n >= 100 or n == int(n) else f"{n:.3g}"
    return f"{digits} {units[power]}"
