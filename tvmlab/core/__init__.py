"""The language of programs: nodes, operators, affine arithmetic, text, verification. Standard library only."""

from . import build as _build  # noqa: F401  installs the operators on the node classes
