"""tile: split twice and reorder; what it refuses."""

import pytest

from tests.pure.schedule.programs import chain, comes_back, numbers, refusal, right, step, text
from tvmlab.core.error import ScheduleError, ScheduleValueError


def test_tiles(golden):
    s, A, B, C = chain(10, 9)
    tile = step(golden, s, [A, C], lambda: s[C].tile(*C.op.axis, 4, 3))
    assert [a.var.name for a in tile] == ["i.outer", "j.outer", "i.inner", "j.inner"]
    assert s[C].leaf_iter_vars == list(tile)
    right(s, [A, C], (numbers(10, 9) + 1) * 2, inputs=[numbers(10, 9)])


def test_keywords():
    s, A, B, C = chain()
    x, y = C.op.axis
    s[C].tile(x, y, x_factor=2, y_factor=4)
    comes_back(s, [A, C])


def of(call):
    def act():
        s, A, B, C = chain()
        return call(s, C, *C.op.axis)

    return act


REFUSED = {
    "itself": (ScheduleError, of(lambda s, C, i, j: s[C].tile(i, i, 2, 2))),
    "zero": (ScheduleValueError, of(lambda s, C, i, j: s[C].tile(i, j, 2, 0))),
    "three": (TypeError, of(lambda s, C, i, j: s[C].tile(i, j, 2))),
}


def test_refused_tiles_change_nothing():
    s, A, B, C = chain()
    before = text(s, [A, C])
    with pytest.raises(ScheduleValueError):
        s[C].tile(*C.op.axis, 2, 0)
    assert text(s, [A, C]) == before and len(s.trace) == 0


@pytest.mark.parametrize("case", REFUSED)
def test_refused(golden, case):
    golden(refusal(*REFUSED[case]))
