"""Kernels on devices: OpenCL, CUDA C++ and Numba's CUDA simulator in child processes, Numba on a GPU in this one.

print(tvmlab.runtime.gpu.report())            the devices, and what is missing
tvmlab.runtime.gpu.set_timeout(10)            seconds that a call may take in a child process
"""

from __future__ import annotations

from .devices import Found, lacking, listing, refresh, report
from .errors import LaunchError
from .runner import Launcher, set_timeout

__all__ = ["Found", "LaunchError", "Launcher", "lacking", "listing", "refresh", "report", "set_timeout"]
