"""What to compute: tensors as immutable expressions over their axes."""

from . import encode as _encode  # noqa: F401  so that whatever holds tensors can be saved
