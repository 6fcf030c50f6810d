"""What programs call in the workers of the tests. Importable there as `tests.fleet.jobs`."""

from __future__ import annotations

import os
import time
from typing import Any

import numpy as np

from tvmlab.core import packed

GATE = "TVMLAB_TEST_GATE"  # the path of a file


def gate(x: Any, y: Any) -> None:
    """Twice x, as soon as the file is not there."""
    while os.path.exists(os.environ[GATE]):
        time.sleep(0.01)
    y[...] = np.asarray(x) * 2


packed.register("test.fleet.gate", gate, override=True)
