"""A lab for CUDA without a GPU: runs are checked in Numba's simulator, and have no time."""

import pytest

import tvmlab
from tests.payloads import complaints
from tvmlab.kernels import matmul
from tvmlab.view import payload


@pytest.fixture
def lab(simulator):
    made = tvmlab.Lab(*matmul.gpu(m=32, n=32, k=16), target="cuda")
    yield made
    made.close()


def test_a_run_is_right_and_not_timed(lab):
    row = lab.run()
    assert (row["state"], row["check"], row["error"]) == ("done", "ok", None)
    assert row["worst"].startswith(("largest difference", "equal")) and "reference: NumPy" in row["worst"]
    assert row["seconds"] is row["spread"] is row["gflops"] is row["baseline"] is None and row["times"] == []
    assert row["size"] and row["compile"] and row["untimed"] == "simulator"
    said = lab.state()["message"]
    assert (said["text"], said["kind"]) == (f"Run of step {lab.step}: right, not timed (simulator).", "good")
    assert lab.head()["time"] == "not timed" and lab.seconds() == {}
    assert complaints(lab.saved(), payload.Document) == []
    lab.pin()
    assert [r["pinned"] for r in lab.runs.payload()["rows"]] == [True]
    assert lab.picture("roofline").data["table"]["rows"]


def test_two_runs_are_not_compared_where_nothing_is_timed(lab):
    first, second = lab.run(), lab.run(target="interp", repeats=1)
    for a, b in ((first, first), (second, first)):
        found = lab.compare(a, b, wait=True)
        assert found["state"] == "failed" and found["error"]["code"] == "compare-device"
