"""Scalar programs as plain Python text: what the Python-speaking targets share.

    for i in range(1024):
        C[i] = A[i] + np.float32(1.0)

A printed integer may be *wide*: Numba computes int32 arithmetic in int64. Three ways to print keep it exact:

    loose   right modulo 2**bits (enough for a store, which truncates, and for + - *)
    value   the right number, of a type that may be wider (enough for comparisons, divisions, conversions)
    typed   the right number, of exactly the expression's dtype

Index arithmetic (loop bounds, subscripts, guards) never wraps, so `index` prints it as it is written.
"""

from .exprs import EXPR, UNARY, Printed, libm_name, pure_index
from .printer import PyPrinter

__all__ = ["EXPR", "UNARY", "Printed", "PyPrinter", "libm_name", "pure_index"]
