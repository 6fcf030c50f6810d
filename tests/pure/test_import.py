"""`import tvmlab` is quick because it loads next to nothing."""

import json
import subprocess
import sys

import pytest

import tvmlab

HEAVY = set(
    "numpy numba llvmlite scipy plotly anywidget ipywidgets IPython graphviz matplotlib skimage"
    " lightgbm xgboost sklearn onnx pyopencl torch".split()
)


def loaded_by(code: str) -> set[str]:
    """The modules that the code loads in a fresh interpreter, over what the interpreter has anyway."""
    report = f"import sys, json; before = set(sys.modules)\n{code}\nprint(json.dumps([*{{*sys.modules}} - before]))"
    return set(json.loads(subprocess.check_output([sys.executable, "-c", report], text=True)))


def test_import_loads_no_heavy_package():
    loaded = loaded_by("import tvmlab; dir(tvmlab); hasattr(tvmlab, '_no_such_name')")
    assert not {name.partition(".")[0] for name in loaded} & HEAVY
    assert len(loaded) < 60, "stands for the time: about a millisecond for each module"


def test_asking_for_a_package_loads_none():
    code = "from tvmlab.runtime.gpu.devices import installed as there; before = {*sys.modules}; "
    code += "print(*map(there, ['numba.cuda', 'numpy.linalg', 'numpy.none', 'none', 'none.at.all', 'json.decoder']))"
    code += "; print(*({*sys.modules} - before))"
    said = subprocess.check_output([sys.executable, "-c", f"import sys; {code}"], text=True).splitlines()
    assert said[0].split()[1:] == ["True", "False", "False", "False", "True"]
    assert not {name.partition(".")[0] for name in said[1].split()} & (HEAVY | {"numba_cuda"})


def test_public_names_load_on_first_use(monkeypatch):
    monkeypatch.setitem(tvmlab._WHERE, "sqrt", "math")
    monkeypatch.delitem(vars(tvmlab), "sqrt", raising=False)
    monkeypatch.setitem(tvmlab._WHERE, "kernels", "tvmlab.kernels")
    monkeypatch.delitem(vars(tvmlab), "kernels", raising=False)
    assert {"sqrt", "kernels", "__version__"} <= set(dir(tvmlab))
    assert tvmlab.sqrt(4) == 2
    assert tvmlab.kernels.__name__ == "tvmlab.kernels"
    del tvmlab.sqrt


def test_a_missing_name_says_what_is_near(monkeypatch):
    monkeypatch.setitem(tvmlab._WHERE, "create_schedule", "math")
    message = "there is no tvmlab.create_schedul\n  legal here:  tvmlab.create_schedule"
    with pytest.raises(AttributeError, match=message):
        tvmlab.create_schedul  # noqa: B018
