"""Functions that generated Numba programs use; `text.py` copies those a program needs into its source.

So every definition in this folder stands alone, says what it does in one line, and needs numba, its llvmlite and numpy
only. A `Vec` is a value in a vector register. Integer operations wrap, divisions by zero give zero.
"""

PARTS = ("vectors", "arithmetic", "functions")  # each may use those before it
