"""What goes wrong when kernels run."""

from __future__ import annotations

from ...core.error import LabError

NO_TIMES = "no-times"  # the rule of an error: it runs there, but a time would mean nothing

class LaunchError(LabError):
    """A kernel that could not be launched, or that did not come to its end."""
