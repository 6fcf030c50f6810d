"""Release 0.6's name of `contrib.utils`."""

# ruff: noqa: F401
from .utils import TempDirectory, is_source_path, tempdir
