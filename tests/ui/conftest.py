"""What the browser tests may ask for: `lab`, a tab in JupyterLab; `notebook7`, one in Notebook 7. See browser.py.

To load JupyterLab costs more than most tests do: `fresh` and `book` use one page in turn.

With TVMLAB_UI=required (CI) a skipped test of this folder is a failure. Without it, a machine that lacks Chromium, the
built front end or a Python package skips, and says why.
"""

import contextlib
import os

import pytest

REQUIRED = os.environ.get("TVMLAB_UI") == "required"
TABS = ("book", "fresh", "lab", "notebook7")


def pytest_collection_modifyitems(items):
    """Tests with a browser are slow."""
    for item in items:
        if "browser" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.slow)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item):
    report = (yield).get_result()
    _refuse_skip(report)
    tab = next((item.funcargs[n] for n in TABS if n in getattr(item, "funcargs", ())), None)
    if report.when == "call" and report.failed and tab is not None:
        with contextlib.suppress(Exception):  # a page that is gone has no picture
            from tests.ui.browser import file_name

            report.sections.append(("the page", str(tab.screenshot(f"failed-{file_name(item.name)}"))))


@pytest.hookimpl(hookwrapper=True)
def pytest_make_collect_report(collector):
    _refuse_skip((yield).get_result())


def _refuse_skip(report):
    if not REQUIRED or report.outcome != "skipped" or hasattr(report, "wasxfail"):
        return
    why = report.longrepr[-1] if isinstance(report.longrepr, tuple) else report.longrepr
    report.outcome, report.longrepr = "failed", f"TVMLAB_UI=required, so this may not be skipped: {why}"


@pytest.fixture(scope="package")
def browser():
    """Chromium, once."""
    from tests.ui.browser import chromium

    with chromium() as it:
        yield it


@pytest.fixture(scope="package")
def lab_server(tmp_path_factory):
    from tests.ui.browser import serve

    with serve("jupyterlab", tmp_path_factory.mktemp("lab")) as it:
        yield it


@pytest.fixture(scope="package")
def notebook_server(tmp_path_factory):
    from tests.ui.browser import serve

    pytest.importorskip("notebook")
    with serve("notebook", tmp_path_factory.mktemp("notebook")) as it:
        yield it


@pytest.fixture
def lab(browser, lab_server, request):
    """A new browser profile on JupyterLab. At the end: nothing was asked of outside, and the console is clean."""
    from tests.ui.browser import tab

    with tab(browser, lab_server, request.node.name) as it:
        yield it


@pytest.fixture(scope="package")
def desk(browser, lab_server, request):
    """`with desk(name) as tab`: a page of JupyterLab that is loaded once, and cleared for each use.

    After a test that failed, or that left what cannot be cleared, the next one has a new page.
    """
    from tests.ui import browser as driver

    stack, kept = contextlib.ExitStack(), []

    def drop():
        for page in kept:
            page.errors.clear(), page.outside.clear()  # they were told
        kept.clear()
        stack.close()

    def begun(name):
        if kept:
            try:
                kept[0].begin(name)
            except Exception:
                drop()
        if not kept:
            kept.append(stack.enter_context(driver.desk(browser, lab_server)))
            kept[0].begin(name)
        return kept[0]

    @contextlib.contextmanager
    def use(name):
        failed, ok = request.session.testsfailed, False
        it = begun(name)
        try:
            yield it
            it.check()
            ok = request.session.testsfailed == failed
            if ok:
                with contextlib.suppress(Exception):  # what cannot be cleared is seen when the page is used next
                    it.begin("desk")  # its kernels end now: who asks the server next sees none
        finally:
            if not ok:
                drop()

    with stack:
        yield use


@pytest.fixture
def fresh(desk, request):
    """As `lab`, on the page that other tests have used and cleared: for what does not depend on how a page starts."""
    with desk(request.node.name) as it:
        yield it


@pytest.fixture(scope="module")
def shared(desk, request):
    """One notebook with one kernel for all tests of a file, on a page that is wide enough for three columns."""
    with desk(request.module.__name__.rpartition(".")[2]) as it:
        it.page.set_viewport_size({"width": 1560, "height": 1000})
        it.open("book.ipynb", ["", "", ""])
        it.command("application:toggle-left-area")
        yield it


@pytest.fixture
def book(shared):
    """The shared notebook; after each test the console is clean and nothing was asked of outside."""
    yield shared
    shared.check()
    shared.errors.clear()
    shared.expected.clear()


@pytest.fixture
def notebook7(browser, notebook_server, request):
    """The same on Notebook 7."""
    from tests.ui.browser import tab

    with tab(browser, notebook_server, request.node.name) as it:
        it.expect_error(r"reading 'schema'\)[\s\S]*/notebook_core\.")  # its own, with no extension at all (7.6.5)
        yield it
