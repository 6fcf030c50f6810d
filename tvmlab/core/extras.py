"""What pip installs for the extras of pyproject.toml, for the hints where something is not installed.

The package itself is on no index, so pip knows no extra of it: hints name what the extra names.
"""

from __future__ import annotations

EXTRAS = {
    "opencl": ("pyopencl[pocl]",),
    "cuda": ("numba-cuda[cu13]", "cuda-core", "cuda-toolkit[crt]==13.0.*"),
    "tune": ("lightgbm",),
    "optuna": ("optuna",),
    "fleet": ("distributed",),
}  # without the lowest versions; tests/pure/test_environment.py compares the two


def pip(extra: str) -> str:
    """The command that installs an extra: `pip install "pyopencl[pocl]"`."""
    return " ".join(["pip install", *(f'"{p}"' for p in EXTRAS[extra])])
