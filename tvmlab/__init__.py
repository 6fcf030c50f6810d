"""tvmlab: tensor expressions, schedules and fast kernels, made to be looked at in a notebook.

Public names load on first use, so that `import tvmlab` stays quick whatever the package can do.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

# public name -> the module that defines it; a name that is a module itself maps to that module ("te": "tvmlab.te")
_WHERE: dict[str, str] = {"te": "tvmlab.te", "tir": "tvmlab.tir"}


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(_unknown(name))
    module = import_module(_WHERE[name])
    value = module if module.__name__ == f"{__name__}.{name}" else getattr(module, name)
    globals()[name] = value  # the next look-up does not come here
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_WHERE})


def _unknown(name: str) -> str:
    message = f"module {__name__!r} has no attribute {name!r}"
    if name.startswith("_"):  # asked for by machinery, not by a person
        return message
    from difflib import get_close_matches

    close = get_close_matches(name, _WHERE, n=3)
    return message + (f"; did you mean {' or '.join(close)}?" if close else "")
