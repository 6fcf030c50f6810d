"""`python -m tests.speed [rows...] [--rounds 21] [--seconds 60]`: shows these rows or all; they go to BENCHMARKS.md."""

from __future__ import annotations

import argparse
import datetime
import os
import sys

from . import report, rows
from .bench import Bench, Row
from .machine import Others, clean_environment, describe


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.speed", description=__doc__)
    parser.add_argument("rows", nargs="*", help=f"of {', '.join(rows.names())}; all of them when none is named")
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--seconds", type=float, default=60.0, help="of each tuning, ours and the peer's")
    options = parser.parse_args(argv)
    unknown = set(options.rows) - set(rows.names())
    if unknown:
        parser.error(f"no row {', '.join(sorted(unknown))}; there are {', '.join(rows.names())}")
    if dict(os.environ) != clean_environment():
        os.execve(sys.executable, [sys.executable, "-m", "tests.speed", *argv], clean_environment())
    machine = describe()
    print("\n".join(f"{k}: {v}" for k, v in machine.items()), f"load: {os.getloadavg()[0]:.1f}", sep="\n", flush=True)
    bench = Bench(machine, options.rounds, lambda text: print(text, flush=True), options.seconds)
    try:
        done = [measure(bench, name) for name in options.rows or rows.names()]
    finally:
        bench.close()
    peers = {f"peer {n}": p.version for n, p in bench.peers.items()}
    peers |= {f"peer {n}": f"missing: {why.splitlines()[0]}" for n, why in bench.missing.items()}
    report.save(machine | peers, done, rows.names())
    print("\n\n".join([report.summary([c for row in done for c in row.checks]), *map(report.section, done)]))
    return 0


def measure(bench: Bench, name: str) -> Row:
    module = rows.get(name)
    row = Row(name, module.TITLE, date=str(datetime.date.today()))
    bench.say(f"{name} ...")
    with Others([p.process.pid for p in bench.peers.values()]) as others:
        module.run(bench, row)
    if row.others is None:
        row.others = others.share
    return row


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
