import pytest

from tvmlab import te
from tvmlab.lab.app import Lab


@pytest.fixture
def lab():
    """Around a product of odd matrices."""
    A, B = te.placeholder((17, 9), name="A"), te.placeholder((9, 23), name="B")
    k = te.reduce_axis((0, 9), name="k")
    C = te.compute((17, 23), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    made = Lab(te.create_schedule(C.op), [A, B, C])
    yield made
    made.close()


@pytest.fixture
def ask(lab):
    """A request as a view sends it; the reply."""
    from tvmlab.lab.requests import answer

    return lambda kind, **fields: answer(lab, {"seq": 7, "kind": kind, **fields})
