"""The gallery: one file per operator, each with the expression, a NumPy reference, schedules and published shapes.

The folder lies at the top of the repository, where readers find it; a symbolic link makes it `tvmlab.kernels`.

Every file has the operator's functions (tensors in, tensors out) and the same four names around them:

    SHAPES                  published shapes: a name -> the arguments of `declare`
    SMALL                   odd little shapes, for tests: a list of arguments of `declare`
    declare(**shape)        placeholders and outputs, in the order of the built function's arguments
    reference(*inputs, **shape)   what the outputs must be, in NumPy
    schedule_cpu(outs)      a Schedule of an output, or a list of them, for one CPU; simple consumers come along

Some have a fast kernel for one CPU, `cpu(**shape) -> (schedule, arguments)`; and some a search template, `tuned`, whose
point 0 is the schedule made by hand:

    task = kernels.task("conv2d", **conv2d.SHAPES["C2"])      that of tune.create("kernels.conv2d", [56, 56, ...])
    result = tune.run(task, trials=200, search="annealing")
"""

from importlib import import_module
from pathlib import Path
from typing import Any


def names() -> list[str]:
    """The operators there are: the files of this folder."""
    return sorted(p.stem for p in Path(__file__).parent.glob("*.py") if not p.stem.startswith("_"))


def get(name: str) -> Any:
    """The module of an operator; an unknown name answers with those that are near, or with all of them."""
    if name in names():
        return import_module(f"{__name__}.{name}")
    from difflib import get_close_matches

    from tvmlab.error import MissingName

    close = get_close_matches(name, names()) or names()
    raise MissingName("unknown-kernel", f"there is no kernel {name!r}", legal=close)


def task(operator: str, target: Any = None, **shape: Any) -> Any:
    """The task of tuning an operator for a shape; one without a search template gets the space of any expression."""
    from inspect import signature

    from tvmlab import tune

    kernel = get(operator)
    if not hasattr(kernel, "tuned"):
        made = kernel.declare(**shape)
        return tune.Task.of(made[-1], made, target)
    given = signature(kernel.tuned).bind(**shape)
    given.apply_defaults()
    return tune.create(kernel.tuned, given.args, target)
