"""What to compute: tensors as immutable expressions over their axes."""

from typing import Any

from . import encode as _encode  # noqa: F401  whoever holds a tensor can save it


def __getattr__(name: str) -> Any:
    """Release 0.6's `tvm.expr`: the classic classes of expressions (`tvm.expr.Call`)."""
    if name.startswith("_") or not name[0].isupper():  # a submodule, or machinery
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from ..core import node
    from ..core.error import MissingName
    from . import classic

    for home, spelled in ((classic, f"Classic{name}"), (classic, name), (node, name)):
        if hasattr(home, spelled):
            return getattr(home, spelled)
    raise MissingName("unknown-name", f"there is no expr.{name}", hint="tir has the classes of expressions")
