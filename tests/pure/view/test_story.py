"""Stories: every frame of a history, packed small."""

import json
import random
from types import SimpleNamespace

import pytest

from tests.payloads import complaints
from tests.pure.view import sketch
from tests.traces import random_steps
from tvmlab.view import payload
from tvmlab.view.frame import frame
from tvmlab.view.story import story, unpacked


def size(thing):
    return len(json.dumps(thing, separators=(",", ":")))


def test_twelve_steps_are_small():
    trace = sketch.twelve().trace
    assert size(story(trace)) < 30_000
    assert size([frame(trace.prefix(n)) for n in range(13)]) > 2 * size(story(trace))


def test_a_document_tells_one_frame_per_cursor():
    trace = sketch.tiled().trace
    parked = SimpleNamespace(entries=range(4), trace_at=lambda n: trace.prefix(min(n, 2)))
    told = story(parked)
    assert [f["key"] for f in told["frames"]] == [frame(trace.prefix(n))["key"] for n in (0, 1, 2, 2, 2)]


def test_a_schedule_without_loops_tells_why():
    s, _, _, C = sketch.matmul()
    told = story([s.trace, s.trace])
    assert told["frames"][0] == told["frames"][1]


@pytest.mark.parametrize("seed", range(30))
def test_a_packed_frame_is_the_frame(seed):
    trace = random_steps(random.Random(seed), 10).schedule.trace
    told = json.loads(json.dumps(story(trace)))
    assert not complaints(told, payload.Story)
    for n in range(len(trace) + 1):
        want = json.loads(json.dumps(frame(trace.prefix(n))))
        want["notes"] += [want.pop("error")["text"]] if "error" in want else []
        assert unpacked(told, n) == want
