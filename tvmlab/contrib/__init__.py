"""What was contributed around the classic stack: pictures of schedules (`contrib.tedd`), folders, the C compiler ..."""

from __future__ import annotations

from ..names import lazy

_HERE = ("tedd", "utils", "util", "cc", "cblas", "random", "clang", "pickle_memoize")
_LATER = {
    "graph_executor": "graphs of operators are not there yet",
    "debugger": "build for the target `interp`, which checks every access",
    "dlpack": "use nd.from_dlpack and numpy.from_dlpack",
    "sparse": "pass the arrays of a sparse matrix as tensors",
    "mkl": "contrib.cblas calls the BLAS that SciPy or NumPy brings",
    "nnpack": "not there; topi computes convolutions",
    "xcode": "Metal is not there yet",
    "ndk": "running on other machines is not there yet",
    "emcc": "running in a browser is not there yet",
    "sort": "not there yet",
}

__getattr__, __dir__ = lazy(__name__, {n: f"={__name__}.{n}" for n in _HERE}, _LATER)
