"""PyTorch on one thread: convolutions."""

from serve import serve  # isort: skip

import torch


def prepare(request, arrays):
    data, weight = map(torch.from_numpy, arrays)
    options = {k: request[k] for k in ("stride", "padding", "groups")}
    conv = torch.nn.functional.conv2d
    return lambda: conv(data, weight, **options), lambda: conv(data, weight, **options).numpy()


torch.set_num_threads(1)
torch.set_grad_enabled(False)
serve(prepare)
