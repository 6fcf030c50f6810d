"""Release 0.6's name of `topi.utils`."""

from .utils import (
    const_matrix,
    equal_const_int,
    get_const_float,
    get_const_int,
    get_const_tuple,
    get_shape,
    is_empty_shape,
    prod,
    ravel_index,
    simplify,
    traverse_inline,
    unravel_index,
)

__all__ = [
    "const_matrix", "equal_const_int", "get_const_float", "get_const_int", "get_const_tuple", "get_shape",
    "is_empty_shape", "prod", "ravel_index", "simplify", "traverse_inline", "unravel_index",
]  # fmt: skip
