"""`import tvm` for scripts that cannot be edited.

    import tvmlab.compat; tvmlab.compat.install()        from here on `import tvm` gives tvmlab
    python -m tvmlab.compat script.py args               the same for a whole script

`tvm.x` is tvmlab's x, as an object: `tvm.te is tvmlab.te`. `import topi` (release 0.6) gives tvm.topi. A part that is
not there yet can be imported, since scripts often import more than they use; each use of it says that it is not there.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from ..names import NOT_YET, missing

_asked: set[str] = set()
# files of the classic operator library whose names lie in the package itself here
FLAT = {
    "tvmlab.topi": "broadcast elemwise injective math reduction tensor transform vision".split(),
    "tvmlab.topi.nn": "bnn elemwise fifo_buffer local_response_norm mapping pooling qnn sparse winograd_util".split(),
}
ROOTS = {"tvm": "tvmlab", "topi": "tvmlab.topi"}


def install() -> None:
    """Make `import tvm` and `import topi` give tvmlab, in this process."""
    if not any(isinstance(f, _Finder) for f in sys.meta_path):
        for root in ROOTS:
            for name in [m for m in sys.modules if m == root or m.startswith(f"{root}.")]:
                del sys.modules[name]
        sys.meta_path.insert(0, _Finder())


def uninstall() -> None:
    """Take `install` back."""
    sys.meta_path[:] = [f for f in sys.meta_path if not isinstance(f, _Finder)]
    for root in ROOTS:
        for name in [m for m in sys.modules if m == root or m.startswith(f"{root}.")]:
            del sys.modules[name]


class _Finder(MetaPathFinder, Loader):
    """Finds `tvm.a.b` as tvmlab.a.b, and parts of tvmlab that exist as objects only (`tvmlab.te.schedule`)."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        root, _, rest = fullname.partition(".")
        if root not in ROOTS and (root != "tvmlab" or not rest or _is_real(fullname)):
            return None
        module = _resolve(".".join(filter(None, [ROOTS.get(root, root), rest])))
        if module is None:
            return None
        spec = ModuleSpec(fullname, self, is_package=True)
        spec.loader_state = module
        return spec

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module: ModuleType = spec.loader_state
        spec.loader_state = module, getattr(module, "__spec__", None)
        return module

    def exec_module(self, module: ModuleType) -> None:
        """The module has run already; what the import machinery set on it is put back."""
        assert module.__spec__ is not None
        if isinstance(module.__spec__.loader_state, tuple):
            module.__spec__ = module.__spec__.loader_state[1]


def _is_real(name: str) -> bool:
    """Is there a file for that module?"""
    if name in sys.modules:
        return True
    from importlib.machinery import PathFinder

    parent = sys.modules.get(name.rpartition(".")[0])
    return PathFinder.find_spec(name, getattr(parent, "__path__", [])) is not None


def _resolve(name: str) -> ModuleType | None:
    """The module of that name in tvmlab: a file, an attribute that is a module, or a stand-in for what is not there."""
    if name == "tvmlab":
        return import_module(name)
    parent, _, last = name.rpartition(".")
    home = _resolve(parent)
    if home is None:
        return None
    if _is_real(name):
        return import_module(name)
    if isinstance(home, Absent):
        return Absent(name)
    found = vars(home).get(last)
    if found is None and last not in NOT_YET and name not in _asked:
        _asked.add(name)  # looking for it may come back here
        found = getattr(home, last, None)
        _asked.discard(name)
    if isinstance(found, ModuleType):
        return found
    if found is None and last in FLAT.get(home.__name__, ()):
        return home
    return Absent(name) if last in NOT_YET else None


class Absent(ModuleType):
    """Stands for a part of the classic stack that is not there."""

    __path__: list[str] = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        path = self.__name__.removeprefix("tvmlab.")
        reason = next((NOT_YET[part] for part in path.split(".") if part in NOT_YET), "it is not there yet")
        raise missing(path, name, (), {name: reason})
