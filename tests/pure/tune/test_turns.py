"""What is timed runs alone; what compiles need not."""

import threading

import pytest

from tvmlab.tune.measure import Turns


def peak(turns, kinds):
    """(the most that were inside at once, the most others that were there with one that is alone)"""
    inside, most, beside, lock = [], [0], [0], threading.Lock()

    def work(kind):
        for _ in range(40):
            with getattr(turns, kind)():
                with lock:
                    inside.append(kind)
                    most[0] = max(most[0], len(inside))
                    if "alone" in inside:
                        beside[0] = max(beside[0], len(inside) - 1)
                threading.Event().wait(0.001)
                with lock:
                    inside.remove(kind)

    threads = [threading.Thread(target=work, args=(kind,)) for kind in kinds]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return most[0], beside[0]


def test_many_work_together():
    assert peak(Turns(), ["together"] * 4)[0] > 1


def test_alone_is_alone():
    assert peak(Turns(), ["alone", "alone", "together", "together"])[1] == 0


@pytest.mark.parametrize("kinds", [["alone"] * 3, ["alone", "alone", "together"]])
def test_with_processors_to_spare_only_timings_exclude_each_other(kinds):
    assert peak(Turns(strict=False), kinds)[1] <= kinds.count("together")
