"""The machine that the numbers are from, what it could do at most, and how busy others kept it meanwhile."""

from __future__ import annotations

import contextlib
import ctypes
import os
import platform
import re
import time
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from tvmlab.target import Target
from tvmlab.target.llvm import jit

CONTROLS = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")  # they make NumPy's BLAS take kernels of another CPU
ONE_THREAD = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
ACCUMULATORS = 24


def clean_environment() -> dict[str, str]:
    """The environment of a fair run: BLAS chooses its kernels for this CPU, and uses one thread."""
    kept = {k: v for k, v in os.environ.items() if k not in CONTROLS}
    return {**kept, **dict.fromkeys(ONE_THREAD, "1"), "TVMLAB_CACHE_DIR": ""}


def describe() -> dict[str, Any]:
    width = jit.machine(jit.settings(Target("llvm"))).width
    return {
        "cpu": cpu_model(),
        "llvm's name for it": jit.settings(Target("llvm")).cpu,
        "cores": os.cpu_count(),
        "vector bits": width,
        "peak, one core, float32 GFLOP/s": round(peak("float", width // 32), 1),
        "peak, one core, float64 GFLOP/s": round(peak("double", width // 64), 1),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        **{name: metadata.version(name) for name in ("numpy", "numba", "llvmlite")},
        "NumPy's BLAS": blas(),
    }


def cpu_model() -> str:
    with contextlib.suppress(OSError):
        found = re.search(r"model name\s*:\s*(.*)", Path("/proc/cpuinfo").read_text())
        if found:
            return found[1]
    return platform.processor() or platform.machine()


def blas() -> str:
    """Which kernels NumPy's BLAS took."""
    import threadpoolctl

    np.ones((2, 2)) @ np.ones((2, 2))
    found = [x for x in threadpoolctl.threadpool_info() if x["user_api"] == "blas"]
    return "; ".join(f"{x['internal_api']} {x['version']} {x.get('architecture', '')}" for x in found) or "unknown"


def peak(element: str, lanes: int) -> float:
    """GFLOP/s of one core on nothing but multiply-adds of registers: the best of some runs."""
    made = jit.settings(Target("llvm"))
    library = jit.link(jit.compile_object(_multiply_adds(element, lanes), made, "vectors"), ("peak",), {})
    call = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_void_p)(library["peak"])
    room = np.zeros(lanes * ACCUMULATORS + 64)
    best = 0.0
    for _ in range(20):
        start = time.perf_counter()
        call(200_000, room.ctypes.data)
        best = max(best, 200_000 * ACCUMULATORS * lanes * 2 / (time.perf_counter() - start) / 1e9)
    return best


def _multiply_adds(element: str, lanes: int) -> str:
    vector = f"<{lanes} x {element}>"
    name = f"@llvm.fma.v{lanes}f{32 if element == 'float' else 64}"
    every = range(ACCUMULATORS)
    phis = [f"  %a{i} = phi {vector} [ %x, %entry ], [ %b{i}, %loop ]" for i in every]
    adds = [f"  %b{i} = call {vector} {name}({vector} %a{i}, {vector} %x, {vector} %x)" for i in every]
    ends = [
        f"  %p{i} = getelementptr {vector}, ptr %p, i64 {i}\n  store {vector} %b{i}, ptr %p{i}, align 4" for i in every
    ]
    return "\n".join([
        f"declare {vector} {name}({vector}, {vector}, {vector})",
        "define void @peak(i64 %n, ptr %p) {", "entry:", f"  %x = load {vector}, ptr %p, align 4", "  br label %loop",
        "loop:", "  %i = phi i64 [ 0, %entry ], [ %j, %loop ]", *phis, *adds, "  %j = add i64 %i, 1",
        "  %more = icmp slt i64 %j, %n", "  br i1 %more, label %loop, label %end",
        "end:", *ends, "  ret void", "}",
    ])  # fmt: skip


class Others:
    """How much of the machine everybody else used while the block ran: `share`, of all cores (None where unknown)."""

    def __init__(self, children: list[int]) -> None:
        self.children, self.share = children, None

    def __enter__(self) -> Others:
        self.start = self._now()
        return self

    def __exit__(self, *_: Any) -> None:
        end = self._now()
        if self.start and end and end[0] > self.start[0]:
            total, others = (b - a for a, b in zip(self.start, end))
            self.share = max(0.0, others / total)

    def _now(self) -> tuple[float, float] | None:
        """(ticks of all cores, of these the ones others used)"""
        try:
            ticks = [int(x) for x in Path("/proc/stat").read_text().split("\n")[0].split()[1:9]]
            mine = [Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:15] for pid in self._pids()]
        except OSError:
            return None
        idle = ticks[3] + ticks[4]
        return sum(ticks), sum(ticks) - idle - sum(int(t) for times in mine for t in times)

    def _pids(self) -> list[int]:
        """This process and all that it started, directly or not. What those used that ended is in their parent."""
        found = [os.getpid(), *self.children]
        children: dict[int, list[int]] = {}
        for path in Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(OSError):
                parent = int(path.read_text().rpartition(")")[2].split()[1])
                children.setdefault(parent, []).append(int(path.parent.name))
        for pid in found:
            found += [p for p in children.get(pid, []) if p not in found]
        return found
