"""Which computation it is: the same text for expressions and steps that are the same to whoever compiles or tunes them.

    of(trace)            "b1946ac92492d234", the same in another process, on another day, out of a notebook
    of_data(...)         of whatever plain data

It is of what is computed and in which steps. Names of axes and of what a person called a loop, tags, attributes, and
whether parts that are alike are one object say nothing of that. Names of tensors and of sizes count: values are given
by them. Numbers count by value and dtype: a browser writes 1.0 as 1.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from .codec import canonical
from .trace import Trace

DIGITS = 16


@lru_cache(maxsize=256)
def of(trace: Trace) -> str:
    """Of the expression and the steps of a trace."""
    return of_data(canonical(trace))


def of_data(*parts: Any) -> str:
    """Of plain data: 16 hexadecimal digits."""
    text = json.dumps([_settled(x) for x in parts], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:DIGITS]


def _settled(x: Any) -> Any:
    """With every number in one form."""
    if isinstance(x, float) and x.is_integer():
        return int(x)
    if isinstance(x, (list, tuple)):
        return [_settled(v) for v in x]
    return {str(k): _settled(v) for k, v in x.items()} if isinstance(x, Mapping) else x
