"""On a machine with a GPU: all GPU kernels of the gallery are right, by Numba (`cuda`) and as CUDA C++ (`cuda_c`), and
their times beside cuBLAS and cuDNN.

    python -m tests.cuda.on_gpu [--simulate] [--json out.json]

One table and one line of JSON, in less than four minutes. The peer is PyTorch, float32 without TF32; without PyTorch
only our own times are shown. `--simulate`: small shapes, whatever runs the target `cuda`; nothing is timed.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import tvmlab
from tests.cpu.test_kernels_gpu import CASES, check, run
from tvmlab import kernels, te
from tvmlab.kernels import matmul, matmul_f16

CONVOLUTIONS = ("C2", "C6", "C9")
BUDGET = 200.0  # seconds after which nothing new is begun


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--simulate", action="store_true")
    parser.add_argument("--json", default="")
    options = parser.parse_args()
    start = time.perf_counter()
    device = tvmlab.cuda(0)
    if not device.exist and not options.simulate:
        print(f"There is no GPU here ({device.device_name}): --simulate runs small shapes on the simulator.")
        return 2
    cases = CASES[::9] if options.simulate else CASES
    targets = ["cuda", *["cuda_c"] * tvmlab.runtime.enabled("cuda_c")]
    found: dict[str, Any] = {"device": device.device_name, "targets": targets, "right": {}, "times": []}
    for target in targets:
        found["right"][target] = right(cases, target)
    if device.exist:
        for make in contests():
            contest = make()
            for target in targets[-1:] if contest[0].startswith("matmul_f16") else targets:
                if time.perf_counter() - start < BUDGET:
                    found["times"].append(timed(target, *contest))
    found["seconds"] = round(time.perf_counter() - start, 1)
    table(found)
    print(json.dumps(found))
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(found, file, indent=1)
    return 1 if any(r["wrong"] for r in found["right"].values()) else 0


def right(cases: list[Any], target: str) -> dict[str, Any]:
    """Every case of the gallery against NumPy."""
    wrong = []
    for name, shape in cases:
        try:
            run(name, shape, target)
        except Exception as e:  # whatever it is belongs in the report
            wrong.append(f"{name} {shape}: {type(e).__name__}: {str(e).splitlines()[0]}")
    for shape in matmul_f16.SMALL:
        try:
            check(*matmul_f16.gpu(**shape), matmul_f16.reference, target)
        except Exception as e:  # likewise
            wrong.append(f"tensor cores {shape}: {type(e).__name__}: {str(e).splitlines()[0]}")
    return {"cases": len(cases) + len(matmul_f16.SMALL), "wrong": wrong}


# ---------------------------------------------------------------- times


def contests() -> list[Callable[[], tuple[str, Any, list[Any], float]]]:
    """(name, schedule, arguments, operations), each made when its turn comes."""
    found: list[Callable[[], tuple[str, Any, list[Any], float]]] = [product, tensor_cores]
    return [*found, *[lambda name=name: convolution(name) for name in CONVOLUTIONS]]


def product(n: int = 2048) -> tuple[str, Any, list[Any], float]:
    return f"matmul {n}", *matmul.gpu(n, n, n), 2.0 * n**3


def tensor_cores(n: int = 4096) -> tuple[str, Any, list[Any], float]:
    """float16 in, float32 out; only CUDA C++ has them, elsewhere the lanes of each warp do their work."""
    return f"matmul_f16 {n}", *matmul_f16.gpu(n, n, n), 2.0 * n**3


def convolution(name: str) -> tuple[str, Any, list[Any], float]:
    kernel = kernels.get("conv2d")
    shape = kernel.SHAPES[name]
    args = kernel.declare(**shape)
    out = [int(x.value) for x in args[-1].shape]
    work = 2.0 * np.prod(out) * shape["in_channel"] * shape["kernel"] ** 2
    return f"conv2d {name}", kernel.schedule_gpu([args[-1]]), args, float(work)


def timed(target: str, name: str, s: Any, args: list[Any], work: float) -> dict[str, Any]:
    """Median milliseconds of ours by events, and of the peer's."""
    rng = np.random.default_rng(0)
    arrays = [rng.random([int(n.value) for n in a.shape], dtype="float32").astype(a.dtype) for a in args]
    inputs = [x for a, x in zip(args, arrays, strict=True) if isinstance(a.op, te.PlaceholderOp)]
    module = tvmlab.build(s, args, target)
    ours = module.time_evaluator("main", tvmlab.cuda(0), number=5, repeat=9)(*arrays).median * 1e3
    result, theirs = peer(name, inputs)
    error = None if result is None else float(np.abs(arrays[-1] - result).max() / np.abs(result).max())
    rate = work / ours / 1e9
    return {"name": name, "target": target, "ms": ours, "peer ms": theirs, "ratio": theirs and theirs / ours,
            "TFLOP/s": rate, "error": error}  # fmt: skip


def peer(name: str, inputs: list[Any]) -> tuple[Any, float | None]:
    """PyTorch's result and milliseconds; nothing without it."""
    try:
        import torch
    except ImportError:
        return None, None
    if not torch.cuda.is_available():
        return None, None
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    given = [torch.from_numpy(x).cuda() for x in inputs]
    shape = kernels.get("conv2d").SHAPES.get(name.rpartition(" ")[2], {})
    conv = torch.nn.functional.conv2d
    call = (lambda: given[0] @ given[1]) if name.startswith("matmul") else (
        lambda: conv(*given, stride=shape["stride"], padding=shape["padding"]))  # fmt: skip
    for _ in range(5):
        result = call()
    times = []
    for _ in range(9):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        for _ in range(5):
            call()
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end) / 5)
    return result.float().cpu().numpy(), float(np.median(times))


def table(found: dict[str, Any]) -> None:
    for target, r in found["right"].items():
        print(f"{found['device']}, {target}: {r['cases'] - len(r['wrong'])} of {r['cases']} cases are right")
        for line in r["wrong"]:
            print("  wrong:", line)
    if found["times"]:
        print(f"{'':15} {'':7} {'ms':>9} {'peer ms':>9} {'peer/ours':>9} {'TFLOP/s':>8}")
    for row in found["times"]:
        peer_ms, ratio = (f"{row[k]:9.3f}" if row[k] else f"{'-':>9}" for k in ("peer ms", "ratio"))
        print(f"{row['name']:15} {row['target']:7} {row['ms']:9.3f} {peer_ms} {ratio} {row['TFLOP/s']:8.2f}")


if __name__ == "__main__":
    raise SystemExit(main())
