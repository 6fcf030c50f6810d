"""Free variables and thread axes."""

from __future__ import annotations

import re
from typing import Any

from ..core import dtype as dt
from ..core.build import text
from ..core.error import ExpressionError
from ..core.node import THREAD, IterVar, Var
from ..core.threads import LAUNCH
from .reduce import as_range

THREAD_TAGS = (*LAUNCH, "vthread", "cthread", "pipeline")
AXIS_SEPARATOR = "te.AXIS_SEPARATOR"  # in the result of a transform_layout function: between groups of dimensions
_TAG = re.compile(r"(blockIdx|threadIdx)\.[xyz]|vthread(\.\w+|\d*)|cthread|pipeline")


def var(name: str = "tindex", dtype: str = "int32") -> Var:
    """A free scalar variable: a size in a shape, or a parameter."""
    return Var(text(name, "the name of a variable"), dt.canonical(dtype))


def size_var(name: str = "size", dtype: str = "int32") -> Var:
    """A free variable known to be >= 0."""
    return Var(text(name, "the name of a variable"), dt.canonical(dtype), True)


def thread_axis(dom: Any = None, tag: str = "", name: str = "") -> IterVar:
    """An axis of threads, for `bind`: thread_axis("threadIdx.x"), thread_axis((0, 32), "threadIdx.x").

    `dom`: an extent, (begin, end), or None when the bound loop tells. `tag`: blockIdx.x/y/z, threadIdx.x/y/z, vthread,
    cthread or pipeline.
    """
    if isinstance(dom, str):
        dom, tag = None, dom
    if not tag or not isinstance(tag, str):
        raise ValueError(f"a thread axis needs a tag: {', '.join(THREAD_TAGS)}")
    if not _TAG.fullmatch(tag):
        raise ExpressionError("unknown-thread-tag", f"there are no threads called `{tag}`", legal=THREAD_TAGS)
    domain = None if dom is None else as_range(dom)
    return IterVar(domain, Var(name or tag, "int32" if domain is None else domain.extent.dtype), THREAD, tag)
