"""Which devices there are, and what is missing where there are none.

opencl(0)   pthread-AMD EPYC (CPU), on Portable Computing Language
cuda(0)     no GPU: runs on Numba's simulator, which emulates and is not timed
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ...core.error import LabError
from ...core.extras import pip
from ..device import LAUNCHED, DeviceError
from . import cuda

Row = dict[str, Any]  # of a device, as the child tells it
DRIVER = f"a driver for the CPU:  {pip('opencl')},  or of the system:  apt-get install pocl-opencl-icd"


@dataclass(frozen=True)
class Found:
    """`emulated`: programs run there, but no time of them means anything. `facts`: numbers by their classic names."""

    kind: str
    index: int
    name: str
    platform: str = ""
    emulated: bool = False
    facts: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        on = f", on {self.platform}" if self.platform else ""
        return f"{self.kind}({self.index})   {self.name}{on}"


@dataclass(frozen=True)
class Listing:
    """The devices of a kind; `why` there are none, and what helps. `broken`: a line for each that does not work."""

    devices: tuple[Found, ...]
    why: str = ""
    broken: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "\n".join([*map(str, self.devices), *self.broken]) if self.devices else self.why


_known: dict[str, Listing] = {}
_lacking: dict[str, str] = {}


def listing(kind: str) -> Listing:
    """The devices of a kind, looked for once (`refresh` forgets)."""
    if kind not in LAUNCHED:
        return Listing((), f"there is no runner for {kind}")
    if kind not in _known:
        _known[kind] = _opencl() if kind == "opencl" else _cuda()
    return _known[kind]


def known(kind: str) -> Found | None:
    """The first device of a kind, if they were looked for already."""
    there = _known[kind].devices if kind in _known else ()
    return there[0] if there else None


def refresh() -> None:
    """Look anew the next time: something was installed."""
    _known.clear()
    _lacking.clear()
    cuda.available.cache_clear()


def report() -> str:
    """All devices with kernels, and what is missing."""
    return "\n".join(str(listing(kind)) for kind in LAUNCHED)


def installed(package: str) -> bool:
    """Can it be imported? Nothing is, the packages around it neither: `import numba` takes half a second."""
    parts, place = package.split("."), None
    for k in range(len(parts)):
        found = _spec(".".join(parts[: k + 1]), place)
        if found is None:
            return False
        place = found.submodule_search_locations
    return True


def _spec(name: str, place: Sequence[str] | None) -> Any:
    """What `importlib.util.find_spec` gives, which imports the package around."""
    try:
        return next((s for f in sys.meta_path if (s := f.find_spec(name, place)) is not None), None)
    except (ImportError, ValueError):
        return None


def _opencl() -> Listing:
    if not installed("pyopencl"):
        return Listing((), f"opencl: pyopencl is not installed; it, and a driver for the CPU:  {pip('opencl')}")
    from .runner import runner

    try:
        rows = runner("opencl").job("devices")
    except LabError as e:
        if "PLATFORM_NOT_FOUND" not in e.message:
            return Listing((), f"opencl: {e.message}")
        rows = {"works": [], "broken": []}
    found, broken = described(rows["works"], rows["broken"])
    if not found and not broken:
        broken = ["opencl: there is no platform"]
    return Listing(tuple(found), "" if found else "\n".join([*broken, DRIVER]), tuple(broken))


def described(works: Sequence[Row], broken: Sequence[Row] = ()) -> tuple[list[Found], list[str]]:
    """What the child tells, with the platforms of one name told apart by a number."""
    names = numbered([(r["platform_id"], r["platform"]) for r in (*works, *broken)])

    def where(r: Row) -> str:
        return f"{names[r['platform_id']]} ({' '.join(r['version'].split()[2:4])})"

    found = [Found("opencl", i, f"{r['name']} ({r['type']})", where(r), facts=r) for i, r in enumerate(works)]
    return found, [f"opencl: {r['name']} on {where(r)} builds no kernel: {r['why']}" for r in broken]


def numbered(platforms: Sequence[tuple[Any, str]]) -> dict[Any, str]:
    """Platform -> name; `name #1`, `name #2` where several have one name."""
    different = dict(platforms)
    count = Counter(different.values())
    seen: Counter[str] = Counter()
    made = {}
    for key, name in different.items():
        seen[name] += 1
        made[key] = f"{name} #{seen[name]}" if count[name] > 1 else name
    return made


def _cuda() -> Listing:
    if cuda.available():
        rows = cuda.devices()
        return Listing(tuple(Found("cuda", i, r["name"], "CUDA", facts=r) for i, r in enumerate(rows)))
    if not installed("numba.cuda"):
        return Listing((), f"cuda: this Numba has no CUDA:  {pip('cuda')}")
    name = "no GPU: runs on Numba's simulator, which emulates and is not timed"
    return Listing((Found("cuda", 0, name, emulated=True),))


def need(kind: str) -> None:
    """Refused where there is no device of that kind, with what is missing. Looked for once more, before."""
    if not listing(kind).devices:
        refresh()
    if not listing(kind).devices:
        raise DeviceError(
            "no-device", f"there is no device here that these kernels run on: {listing(kind).why}",
            legal=others(kind), hint="module.source is the text",
        )  # fmt: skip


def others(kind: str) -> list[str]:
    """The other targets whose kernels run here."""
    how = {"cuda": " (without a GPU in Numba's simulator)"}
    there = [f"target {k}{how.get(k, '')}" for k in LAUNCHED if k != kind and listing(k).devices]
    return [*there, "target interp"]


# ---------------------------------------------------------------- CUDA C++, which has no simulator


def lacking(target: str) -> str:
    """Why programs for that target cannot be launched here, though it has a runner; "" where they can, or where a
    listing of its devices says it."""
    if target != "cuda_c":
        return ""
    if target not in _lacking:
        _lacking[target] = _no_cuda()
    return _lacking[target]


def _no_cuda() -> str:
    if not any(map(cuda.loads, cuda.DRIVERS)):
        return "no driver of NVIDIA is installed"
    if not installed("cuda.core"):
        return f"cuda.core is not installed:  {pip('cuda')}"
    from .runner import runner

    try:
        return "" if runner("cuda_c").job("devices") else "the driver of NVIDIA finds no device"
    except LabError as e:
        return e.message


def need_cuda() -> None:
    """Refused where there is no GPU for CUDA C++, with what runs instead."""
    if why := lacking("cuda_c"):
        raise DeviceError(
            "no-device", f"there is no CUDA device here ({why}), and cuda_c runs on nothing else",
            legal=others("cuda_c"),
            hint="module.source is the text, module.export writes it to a file",
        )  # fmt: skip
