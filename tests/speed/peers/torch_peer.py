"""PyTorch on one thread: convolutions, products of bytes."""

from serve import serve  # isort: skip

import torch


def conv2d(request, data, weight):
    options = {k: request[k] for k in ("stride", "padding", "groups")}
    return lambda: torch.nn.functional.conv2d(data, weight, **options)


def int_mm(request, a, b):
    """int8 times int8 in int32."""
    return lambda: torch._int_mm(a, b)


def qlinear(request, a, b):
    """uint8 times int8, with the weights packed before; all scales are 1, so the float32 results are whole numbers."""
    n = b.shape[1]
    packed = torch.ops.onednn.qlinear_prepack(b.t().contiguous(), list(a.shape))
    scales, zeros = torch.ones(n), torch.zeros(n, dtype=torch.int64)
    rest = (packed, scales, zeros, None, 1.0, 0, torch.float32, "none", [], "")
    return lambda: torch.ops.onednn.qlinear_pointwise(a, 1.0, 0, *rest)


def prepare(request, arrays):
    call = globals()[request["what"]](request, *map(torch.from_numpy, arrays))
    return call, lambda: call().numpy()


torch.set_num_threads(1)
torch.set_grad_enabled(False)
serve(prepare)
