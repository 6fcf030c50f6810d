"""Arrays, under their classic names: `tvmlab.nd.array(numpy_array)`."""

# ruff: noqa: F401
from __future__ import annotations

from .names import lazy
from .runtime.array import NDArray, array, empty, from_dlpack
from .runtime.device import cl, cpu, cuda, device, ext_dev, gpu, hexagon, metal, mtl, opencl, rocm, vulkan, webgpu
from .runtime.names import context

NDArrayBase = NDArray

__getattr__, __dir__ = lazy(__name__, {})
