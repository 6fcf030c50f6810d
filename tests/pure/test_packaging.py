"""tvmlab and tvmlab.kernels install from a wheel, from a wheel made of the sdist, and editable."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LINK = ROOT / "tvmlab" / "kernels"


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


@pytest.fixture
def tree(tmp_path) -> Path:
    """A copy to build in: setuptools leaves build/ and *.egg-info behind."""
    skip = shutil.ignore_patterns("__pycache__", "*.egg-info")
    for name in ("tvmlab", "kernels"):
        shutil.copytree(ROOT / name, tmp_path / "tree" / name, symlinks=True, ignore=skip)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tmp_path / "tree")
    return tmp_path / "tree"


def build(tree: Path, kind: str) -> Path:
    """Calls the build back end as pip would: kind is wheel, editable or sdist."""
    code = f"import setuptools.build_meta as b; print('built', b.build_{kind}('dist'))"
    out = subprocess.run([sys.executable, "-c", code], cwd=tree, capture_output=True, text=True)
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
    return Path(subprocess.check_output([python, "-c", code], cwd=where, text=True).strip())


@pytest.mark.slow
@pytest.mark.parametrize("how", ["wheel", "sdist", "editable"])
def test_it_installs_with_the_gallery(tree, tmp_path, how):
    if how == "sdist":
        tree = unpack(build(tree, "sdist"))
    package = installed(build(tree, "editable" if how == "editable" else "wheel"), tmp_path / "venv")
    assert package.is_relative_to(tree if how == "editable" else tmp_path / "venv")
    assert sources(package.parent) == sources(ROOT)
    assert (package / "py.typed").exists()
