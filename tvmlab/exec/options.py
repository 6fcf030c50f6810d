"""What the programs of this folder have in common."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable

from ..core.error import LabError

SECRET = "The secret is read from the environment's TVMLAB_RPC_SECRET, where other users do not see it."


def parser(name: str, about: str) -> argparse.ArgumentParser:
    return argparse.ArgumentParser(prog=f"python -m tvmlab.exec.{name}", description=about, epilog=SECRET)


def run(main: Callable[[], None]) -> None:
    """Errors are for a person at a shell; an interrupt is the usual end."""
    try:
        main()
    except LabError as e:
        sys.exit(str(e))
    except KeyboardInterrupt:
        sys.exit(0)
