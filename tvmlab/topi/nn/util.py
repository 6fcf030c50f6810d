"""Release 0.6's name of `topi.nn.utils`."""

from .utils import get_pad_tuple, get_pad_tuple1d, get_pad_tuple3d

__all__ = ["get_pad_tuple", "get_pad_tuple1d", "get_pad_tuple3d"]
