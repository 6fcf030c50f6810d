"""How to compute it: schedules as immutable traces of primitive applications."""

from typing import Any


def __getattr__(name: str) -> Any:
    """Release 0.6's `tvm.schedule`: te.schedule, which is above this folder (`tvm.schedule.InferBound`)."""
    if name.startswith("_") or not (name[0].isupper() or name == "create_schedule"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from ..face import introspect

    return getattr(introspect, name)
