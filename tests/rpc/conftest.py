import pytest

from tests.rpc import servers


@pytest.fixture(scope="session", params=servers.KINDS)
def place(request, tmp_path_factory):
    """A running server of each kind; all tests that ask for it run in one process, so it is started once."""
    with servers.started(request.param, tmp_path_factory.mktemp("rpc")) as made:
        yield made


@pytest.fixture
def remote(place):
    with place.connect() as made:
        yield made


def pytest_collection_modifyitems(items):
    for item in items:
        if item.path.parent.name == "rpc":
            shared = "place" in getattr(item, "fixturenames", ())
            item.add_marker(pytest.mark.xdist_group("rpc" if shared else f"rpc {item.path.stem}"))
