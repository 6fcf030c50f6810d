"""What a target's text and an export's name may be."""

import numpy as np
import pytest

from tests.refusal import refused
from tvmlab import build, load_module, te
from tvmlab.core.error import BuildError
from tvmlab.target import Target

OPTIONS = "\n  legal here:  -mcpu=, -mattr=, -mtriple=, -target=, -num-threads="


def test_unknown_options_are_refused():
    assert refused(BuildError, lambda: Target("llvm -mcup=x")) == (
        f"the target `llvm` has no option -mcup{OPTIONS}\n  did you mean -mcpu?"
    )
    assert refused(BuildError, lambda: Target("numba -x=1")) == f"the target `numba` has no option -x{OPTIONS}"
    assert refused(BuildError, lambda: Target({"kind": "llvm", "mcup": "x"})) == (
        f"the target `llvm` has no option -mcup{OPTIONS}\n  did you mean -mcpu?"
    )
    assert refused(BuildError, lambda: Target("llvm mcpu=x")) == (
        f"`mcpu=x` in the target `llvm ...` is no option: an option is -name=value{OPTIONS}"
    )


@pytest.mark.parametrize(
    "text",
    ["-device=arm_cpu -model=pixel", "-keys=cpu -libs=cblas", "-mfloat-abi=hard", "--system-lib", "-link-params"],
)
def test_classic_options_without_meaning_here_are_read_over(text):
    assert Target(f"llvm {text} -mcpu=x86-64") == Target("llvm", cpu="x86-64")


def doubled(target):
    A = te.placeholder((8,), name="A")
    B = te.compute((8,), lambda i: A[i] * 2.0, name="B")
    return build(te.create_schedule(B.op), [A, B], target)


@pytest.mark.parametrize("name", ["f.so", "f.o", "f"])
def test_numba_exports_python_only(name, tmp_path):
    made = doubled("numba")
    said = (
        f"cannot export to `{name}`: the target `numba` writes Python\n  legal here:  .py\n"
        "  for a library or an object file that C can link, build for the target llvm"
    )
    assert refused(BuildError, lambda: made.export(tmp_path / name)) == said
    assert refused(BuildError, lambda: made.export_library(tmp_path / name)) == said
    assert not list(tmp_path.iterdir())


def test_a_numba_archive_holds_python(tmp_path):
    doubled("numba").export_library(tmp_path / "f.tar")
    out = np.zeros(8, "float32")
    load_module(tmp_path / "f.tar")(np.ones(8, "float32"), out)
    assert (out == 2).all()
