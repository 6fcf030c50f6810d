"""What goes wrong when kernels run."""

from __future__ import annotations

from ...core.error import LabError


class LaunchError(LabError):
    """A kernel that could not be launched, or that did not come to its end."""
