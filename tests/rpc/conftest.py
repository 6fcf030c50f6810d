import pytest

from tests.rpc import servers


@pytest.fixture(scope="session", params=servers.KINDS)
def place(request, tmp_path_factory):
    """A running server of each kind; all tests of this folder run in one process, so it is started once."""
    with servers.started(request.param, tmp_path_factory.mktemp("rpc")) as made:
        yield made


@pytest.fixture
def remote(place):
    with place.connect() as made:
        yield made


def pytest_collection_modifyitems(items):
    for item in items:
        if "tests/rpc/" in str(item.path):
            item.add_marker(pytest.mark.xdist_group("rpc"))
