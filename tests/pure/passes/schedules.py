"""What the tests of passes on real schedules share: loops without and with a pass, and results by the interpreter."""

from dataclasses import replace

import numpy as np

from tvmlab.face.api import build, lower
from tvmlab.lowering.config import Config
from tvmlab.lowering.pipeline import problems

QUIET = frozenset({"promote_registers", "partition_loops", "hoist_guards"})  # passes that would change the picture


def without(s, args, *names, **options):
    return lower(s, args, config=Config(disabled=QUIET | set(names), **options))


def with_(s, args, **options):
    return without(s, args, **options)


def owed(s, args):
    """Raise what the schedule owes: one thing."""
    (error,) = problems(s.state, args)
    raise error


def pictures(golden, s, args, name, **options):
    """Golden files of the loops before and after the pass, which must differ."""
    before, after = without(s, args, name, **options), with_(s, args, **options)
    assert str(before) != str(after)
    golden(before, "before")
    golden(after, "after")
    return after


def run(s, args, arrays, target="interp", config=None):
    """The last array as the program leaves it, from NaN; the others are its inputs. Each pass's result is verified."""
    config = replace(config or Config(), check=True)
    out = np.full(arrays[-1].shape, np.nan, arrays[-1].dtype)
    build(s, args, target, config=config)(*arrays[:-1], out)
    return out


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).integers(-8, 8, shape).astype("float32")
