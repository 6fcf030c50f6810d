"""Random tensors, filled on the CPU by NumPy: `random.uniform(0, 1, size=(3, 4))`. Each run gives new numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core import packed
from ..core.calls import call_packed
from ..expr.extern import extern
from ..expr.tensor import Tensor

_source = np.random.default_rng()


def _register(name: str, draw: Any) -> None:
    def fill(*args: Any) -> None:
        *parameters, out = args
        out[...] = draw(*parameters, out.shape)

    packed.register(f"tvm.contrib.random.{name}", fill, override=True)


_register("randint", lambda low, high, shape: _source.integers(int(low), int(high), shape))
_register("uniform", lambda low, high, shape: _source.uniform(low, high, shape))
_register("normal", lambda loc, scale, shape: _source.normal(loc, scale, shape))


def seed(value: int) -> None:
    """Start the numbers anew."""
    global _source
    _source = np.random.default_rng(int(value))


packed.register("tvm.contrib.random.seed", seed, override=True)


def _tensor(name: str, size: Any, dtype: str, *parameters: Any) -> Tensor:
    shape = tuple(size) if isinstance(size, (list, tuple)) else (size,)
    made: Tensor = extern(
        shape, [], lambda ins, outs: call_packed(f"tvm.contrib.random.{name}", *parameters, outs[0]), name, dtype
    )
    return made


def randint(low: int, high: int, size: Any, dtype: str = "int32") -> Tensor:
    """Integers in [low, high)."""
    return _tensor("randint", size, dtype, int(low), int(high))


def uniform(low: float, high: float, size: Any) -> Tensor:
    """float32 numbers in [low, high)."""
    return _tensor("uniform", size, "float32", float(low), float(high))


def normal(loc: float, scale: float, size: Any) -> Tensor:
    """Normally distributed float32 numbers: mean `loc`, standard deviation `scale`."""
    return _tensor("normal", size, "float32", float(loc), float(scale))
