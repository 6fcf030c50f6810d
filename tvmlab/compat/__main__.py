"""`python -m tvmlab.compat script.py args`: run a script with `import tvm` meaning tvmlab."""

import runpy
import sys
from pathlib import Path

from . import install


def main() -> None:
    if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
        raise SystemExit("usage: python -m tvmlab.compat script.py [arguments]")
    install()
    script = sys.argv[1]
    if not Path(script).exists():
        raise SystemExit(f"there is no file {script}")
    sys.argv = sys.argv[1:]
    sys.path[0] = str(Path(script).resolve().parent)
    runpy.run_path(script, run_name="__main__")


if __name__ == "__main__":
    main()
