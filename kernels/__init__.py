"""The gallery: one file per operator, each with the expression, a NumPy reference, schedules and published shapes.

The folder lies at the top of the repository, where readers find it; a symbolic link makes it `tvmlab.kernels`.
"""
