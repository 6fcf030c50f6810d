"""The speed table: `make bench`, or `python -m tests.speed [names of rows]`. No time is asserted by the tests.

    rows/<name>.py   one row of the table each: `run(bench)` adds its results
    peers/<name>.py  a library to compare with, in a virtual environment of its own; <name>.txt says which version
    rounds.py        interleaved rounds, ratios and their spread
    machine.py       the machine, its peak, and how much of it others used meanwhile
    report.py        BENCHMARKS.md
    recorded.py      measures all points of a space, once; data/ has what it found
    replay.py        compares searches on it, without hardware
"""
