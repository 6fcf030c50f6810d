"""Results kept while the process runs: `@memoize("key")` over a function that makes reference data."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any


def memoize(key: str, save_at_exit: bool = False) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Call the function once per arguments. (The classic one also kept results on disk.)"""

    def decorate(f: Callable[..., Any]) -> Callable[..., Any]:
        return functools.wraps(f)(functools.cache(f))

    return decorate
