"""What every test may ask for."""

import os

os.environ.setdefault("TVMLAB_CHECK", "1")  # verify after every pass; read when tvmlab is imported

import hypothesis  # noqa: E402
import pytest  # noqa: E402

from tests.goldens import Golden, stem  # noqa: E402

# Compile times vary: no deadline per example. CI draws the same examples each time.
hypothesis.settings.register_profile("tvmlab", deadline=None, derandomize="CI" in os.environ)
hypothesis.settings.load_profile("tvmlab")


def pytest_addoption(parser):
    parser.addoption("--update-golden", action="store_true", help="rewrite the golden files of the tests that run")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """`--dist loadgroup` means the groups of tests/groups.py: pytest 9.2 loses the marks of xdist 3.8's own groups."""
    if config.getoption("dist") != "loadgroup":
        return None
    from tests.groups import GroupScheduling

    return GroupScheduling(config, log)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    """The browser's tests are one long group, so a process of xdist has to begin with them."""
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: not item.nodeid.startswith("tests/ui/"))


@pytest.fixture
def golden(request) -> Golden:
    """The expected text of this test: `assert show(program) == golden`."""
    names = [request.node.cls.__name__, request.node.name] if request.node.cls else [request.node.name]
    return Golden(stem(request.path, ".".join(names)), request.config.getoption("--update-golden"))
