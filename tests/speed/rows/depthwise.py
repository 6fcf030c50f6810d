"""The depthwise convolutions D1 to D9 of MobileNet on one thread against PyTorch's oneDNN."""

from __future__ import annotations

from tvmlab.kernels import depthwise_conv2d

from ..bench import Bench, Row
from .conv2d import layers

TITLE = "Depthwise convolutions"


def run(bench: Bench, row: Row) -> None:
    layers(bench, row, depthwise_conv2d, lambda shape: shape["channel"], "depthwise D1 to D9")
