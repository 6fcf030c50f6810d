"""What this machine is, in one line: a time without it says little."""

from __future__ import annotations

import os
import platform
import sys
from functools import cache

import numpy as np


@cache
def description() -> str:
    """`Xeon E5-2686 v4, 2 threads, Linux x86_64, Python 3.11, NumPy 2.3`"""
    python = f"Python {sys.version_info.major}.{sys.version_info.minor}"
    numpy = ".".join(np.__version__.split(".")[:2])
    return f"{processor()}, {threads()} threads, {platform.system()} {platform.machine()}, {python}, NumPy {numpy}"


def threads() -> int:
    """The processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def processor() -> str:
    """The processor's name."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as f:
            names = [line.partition(":")[2].strip() for line in f if line.startswith("model name")]
    except OSError:
        names = []
    return names[0] if names else platform.processor() or platform.machine() or "a processor"
