"""A real JupyterLab, a real Chromium, and the few things that a test does with them.

    def test_something(lab):
        lab.open("book.ipynb", ["import tvmlab", "tvmlab.Lab()"])  # writes it, opens it, waits for its kernel
        lab.run_all()
        lab.page.locator(".tvl").first.wait_for()  # Playwright's Page
        lab.screenshot("first")

Settings, workspaces, kernels' history and notebooks are in a temporary folder. The extension that runs is the one built
in this tree, and kernels import this tree, whatever is installed. Waiting goes by what the application says of itself
(`jupyterapp`), never by time.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import nbformat
import pytest

from tests.ui.ports import free_port

ROOT = Path(__file__).parents[2]
PICTURES = Path(os.environ.get("TVMLAB_SCREENSHOTS", ROOT / "build" / "screenshots"))
TOKEN = "secret"
VIEWPORT = {"width": 1400, "height": 1000}
LIGHT = "JupyterLab Light"
PATIENCE = 30_000  # milliseconds, of whatever is waited for
FLAGS = """--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking
    --disable-component-update --disable-sync --disable-dev-shm-usage""".split()
LOCAL = re.compile(r"(https?|wss?)://(127\.0\.0\.1|localhost)(:\d+)?/|data:|blob:|about:|chrome-extension:")
# JupyterLab asks each new kernel for its debugger, its widgets for a subshell, and both complain when that kernel goes
# before it has answered.
HOSTS_OWN = (
    r"Could not restore the debugger state: Canceled future.*jlab_core\."
    r"|^Error: Canceled future for create_subshell_request message before replies were done$"
)
DIRS = """JUPYTER_CONFIG_DIR JUPYTER_DATA_DIR JUPYTER_RUNTIME_DIR JUPYTERLAB_SETTINGS_DIR JUPYTERLAB_WORKSPACES_DIR
    IPYTHONDIR"""
QUIET = {"fetchNews": "false", "checkForUpdates": False}  # the pop-up would cover what a test clicks

# The document of a path, whether it is in front or not.
FIND = "path => [...(window.jupyterapp?.shell?.widgets('main') ?? [])].find(w => w.context?.path === path)"
OPEN = f"path => ({FIND})(path)?.context.isReady"
# The kernel is there, connected and idle. Before that "run all" is dropped without a word.
# Not async: Playwright's `wait_for_function` takes the promise itself, whatever it will say, for a yes.
READY = f"""path => {{
  const session = ({FIND})(path)?.sessionContext;
  const kernel = session?.session?.kernel;
  return session?.isReady && kernel?.connectionStatus === 'connected' && kernel?.status === 'idle';
}}"""
RESTORED = """() => {
  window.jupyterapp?.restored.then(() => { window.isRestored = true });
  return window.isRestored;
}"""
# Closes every document but one; whose kernel is just starting is waited for, or JupyterLab complains.
CLOSE = """const close = async but => {
  const widgets = [...window.jupyterapp.shell.widgets('main')].filter(w => w !== but);
  const kernels = Promise.allSettled(widgets.map(w => w.context?.sessionContext?.ready));
  await Promise.race([kernels, new Promise(done => setTimeout(done, 10000))]);
  for (const widget of widgets) widget.dispose();
}"""
# In the page that is there, as a person opens a file. What was open on it is closed, and the launcher that comes then.
OPEN_HERE = f"""async path => {{
  {CLOSE};
  await close();
  window.jupyterapp.commands.execute('docmanager:open', {{ path }});
}}"""
CLOSE_OTHERS = f"""async path => {{
  {CLOSE};
  await close(({FIND})(path));
}}"""
# As a page is at first: no document, the file browser at the left, the right side closed, no message.
CLEAR = f"""async () => {{
  {CLOSE};
  await close();
  const {{ shell }} = window.jupyterapp;
  shell.activateById('filebrowser');
  shell.collapseRight();
  for (const button of document.querySelectorAll('.Toastify__close-button')) button.click();
}}"""
IS_CLEAR = """() => !document.querySelector('.jp-Dialog, .Toastify__toast, .lm-Menu') &&
  document.querySelector('#filebrowser')?.checkVisibility()"""
FRONT = f"path => window.jupyterapp.shell.activateById(({FIND})(path).id)"
SAVE = f"path => ({FIND})(path).context.save()"
ASK = f"""async ([path, code]) => {{
  let text = '';
  const future = ({FIND})(path).sessionContext.session.kernel.requestExecute({{ code, store_history: false }});
  future.onIOPub = ({{ content }}) => {{ text += content.text ?? content.evalue ?? ''; }};
  await future.done;
  return text;
}}"""
AT_CELL = f"([path, n]) => {{ ({FIND})(path).content.activeCellIndex = n }}"


class Server:
    """A running server: `url`, and the folder `root` that it shows; `settings` holds a person's settings."""

    def __init__(self, app: str, root: Path, url: str):
        self.app, self.root, self.url = app, root, url
        self.settings = root.parent / "jupyterlab_settings_dir"

    def api(self, path: str, method: str = "GET") -> Any:
        """Asks the server: `api/sessions`, `lab/api/workspaces/name` ..."""
        headers = {"Authorization": f"token {TOKEN}"}
        request = urllib.request.Request(f"{self.url}/{path}", method=method, headers=headers)
        with urllib.request.urlopen(request, timeout=30) as answer:
            text = answer.read()
        return json.loads(text) if text else None

    def address(self, path: str, name: str) -> str:
        """Where a notebook (or a folder, in JupyterLab) opens, in a workspace of its own."""
        where = f"notebooks/{path}" if self.app == "notebook" else f"lab/workspaces/{name}/tree/{path}"
        return f"{self.url}/{where}?token={TOKEN}"

    def stop_kernels(self) -> None:
        for session in self.api("api/sessions"):
            self.api(f"api/sessions/{session['id']}", "DELETE")


@contextmanager
def serve(app: str, folder: Path) -> Iterator[Server]:
    """Starts `python -m jupyterlab` or `python -m notebook`, with everything it writes under folder."""
    _need_front_end()
    root, port = folder / "root", free_port()
    root.mkdir()
    env = _environment(folder)
    options = f"""--no-browser --ip=127.0.0.1 --port={port} --ServerApp.port_retries=0 --allow-root
        --IdentityProvider.token={TOKEN} --ServerApp.root_dir={root} --LabApp.extension_manager=readonly
        --FileContentsManager.delete_to_trash=False --expose-app-in-browser""".split()
    log = folder / "log"
    command = [sys.executable, "-m", app, *options]
    with log.open("w") as out, subprocess.Popen(command, cwd=folder, env=env, stdout=out, stderr=out) as process:
        server = Server(app, root, f"http://127.0.0.1:{port}")
        try:
            _wait_for(server, process, log)
            yield server
        finally:
            process.terminate()


def _environment(folder: Path) -> dict[str, str]:
    env = {**os.environ, **{name: str(folder / name.lower()) for name in DIRS.split()}}
    env["PYTHONPATH"] = os.pathsep.join([str(ROOT), *filter(None, [env.get("PYTHONPATH")])])
    env["JUPYTER_PATH"] = str(folder / "share")  # first where labextensions are looked for
    env["TVMLAB_CHECK"] = "0"  # a person's kernel does not verify after each pass
    extensions = folder / "share" / "labextensions"
    extensions.mkdir(parents=True)
    (extensions / "tvmlab").symlink_to(ROOT / "tvmlab" / "labextension")
    settings = folder / "jupyterlab_settings_dir" / "@jupyterlab" / "apputils-extension"
    settings.mkdir(parents=True)
    (settings / "notification.jupyterlab-settings").write_text(json.dumps(QUIET))
    return env


def _need_front_end() -> None:
    if not (ROOT / "tvmlab" / "labextension" / "package.json").exists():
        pytest.skip("the front end is not built: make front")


def _wait_for(server: Server, process: subprocess.Popen, log: Path) -> None:
    for _ in range(300):
        assert process.poll() is None, log.read_text()
        try:
            return server.api("api")
        except OSError:
            time.sleep(0.2)
    raise AssertionError(log.read_text())


@contextmanager
def chromium() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api")
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if not program:
        pytest.skip("there is no Chromium (Debian: apt-get install chromium)")
    with playwright.sync_playwright() as p:
        browser = p.chromium.launch(executable_path=program, args=FLAGS)
        yield browser
        browser.close()


def file_name(test: str) -> str:
    return re.sub(r"\W+", "-", test).strip("-")


@contextmanager
def tab(browser: Any, server: Server, name: str, **more: Any) -> Iterator["Tab"]:
    """`more`: of the browser's context, such as `has_touch`."""
    context = browser.new_context(viewport=VIEWPORT, **more)
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    it = Tab(context, server, file_name(name))
    try:
        yield it
        it.check()
    finally:
        it.set_up()
        context.close()
        server.stop_kernels()


@contextmanager
def desk(browser: Any, server: Server) -> Iterator["Tab"]:
    """A page of JupyterLab that is loaded once, for one test after the other: see `Tab.begin`."""
    with tab(browser, server, "desk") as it:
        it.page.goto(f"{server.url}/lab/workspaces/desk?token={TOKEN}")
        it.page.wait_for_function(RESTORED)
        it.stays = True
        yield it


class Tab:
    """A page of one browser profile, in a folder of its own on the server."""

    stays = False  # `open` opens in the page as it is, without loading it again

    def __init__(self, context: Any, server: Server, name: str):
        self.context, self.server = context, server
        self.move(name)
        self.outside: list[str] = []
        self.errors: list[str] = []
        self.expected: list[str] = []
        context.set_default_timeout(PATIENCE)
        context.on("request", lambda request: self._asked(request.url))
        self.page = self.new_page()

    def move(self, name: str) -> None:
        """To a folder of its own on the server."""
        self.name, self.folder = name, self.server.root / name
        self.folder.mkdir(exist_ok=True)
        self.path = ""  # of the notebook that was opened last

    def begin(self, name: str) -> None:
        """Starts over on the page as it is: nothing is open, no kernel runs, nothing was said."""
        for page in self.context.pages:
            if page is not self.page:
                page.close()
        self.page.mouse.move(1, 1)
        self.page.set_viewport_size(VIEWPORT)
        self.page.evaluate(CLEAR)
        if self.page.evaluate("document.body.dataset.jpThemeName") != LIGHT:
            self.theme(LIGHT)
        self.page.wait_for_function(IS_CLEAR, timeout=PATIENCE / 3)
        self.server.stop_kernels()
        self.move(file_name(name))
        for said in (self.outside, self.errors, self.expected):
            said.clear()

    def new_page(self) -> Any:
        """One more tab of this browser (a second view of a notebook, say)."""
        page = self.context.new_page()
        page.on("websocket", lambda socket: self._asked(socket.url))
        page.on("console", self._said)
        page.on("pageerror", lambda error: self.errors.append(error.stack or str(error)))
        return page

    def _said(self, message: Any) -> None:
        if message.type == "error":
            self.errors.append(f"{message.text} ({message.location.get('url', '')})")

    def _asked(self, url: str) -> None:
        if not LOCAL.match(url):
            self.outside.append(url)

    def expect_error(self, pattern: str) -> None:
        """Console errors that this test is about."""
        self.expected.append(pattern)

    def check(self) -> None:
        """Nothing was asked of another machine, nothing went wrong in the console."""
        known = [*self.expected, HOSTS_OWN]
        unexpected = [error for error in self.errors if not any(re.search(p, error) for p in known)]
        assert not self.outside, f"asked of another machine: {self.outside}"
        assert not unexpected, f"in the console: {unexpected}"

    def set_up(self, **settings: Any) -> None:
        """The extension's settings, for the pages that are loaded from now on in this test."""
        path = self.server.settings / "tvmlab" / "plugin.jupyterlab-settings"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(settings))

    # ------------------------------------------------------------ notebooks

    def write(self, file: str, cells: list[str]) -> Path:
        """A notebook in this test's folder. A cell that starts with "#md " is Markdown."""
        book = nbformat.v4.new_notebook(metadata={"kernelspec": {"name": "python3", "display_name": "Python 3"}})
        for text in cells:
            markdown = text.startswith("#md ")
            new = nbformat.v4.new_markdown_cell if markdown else nbformat.v4.new_code_cell
            book.cells.append(new(text.removeprefix("#md ")))
        path = self.folder / file
        nbformat.write(book, path)
        return path

    def put(self, file: str, book: Any) -> None:
        nbformat.write(book, self.folder / file)

    def read(self, file: str) -> Any:
        return nbformat.read(self.folder / file, as_version=4)

    def open(self, file: str, cells: list[str] | None = None, *, kernel: bool = True, load: bool = False) -> None:
        """Opens a file of this test's folder, written first if cells are given, and waits for it and its kernel.

        On a page that stays it is the only document then. `load` loads the page in any case.
        """
        if cells is not None:
            self.write(file, cells)
        page = self.page
        self.path = f"{self.name}/{file}"
        if self.stays and not load:
            page.evaluate(OPEN_HERE, self.path)
        else:
            page.goto(self.server.address(self.path, self.name))
        page.wait_for_function(RESTORED)
        page.wait_for_function(OPEN, arg=self.path)
        if self.stays and not load:
            page.evaluate(CLOSE_OTHERS, self.path)
        if kernel:
            self.wait_idle()

    def front(self) -> None:
        """Brings the notebook to the front, where commands act on it."""
        self.page.evaluate(FRONT, self.path)

    def run_all(self) -> None:
        """Runs every cell and waits until all have run."""
        self.front()
        self.command("notebook:run-all-cells")
        self.wait_idle()

    def run(self, cell: int) -> None:
        """Runs one cell, counted from 0, and waits for it."""
        self.front()
        self.page.evaluate(AT_CELL, [self.path, cell])
        self.command("notebook:run-cell")
        self.wait_idle()

    def wait_idle(self) -> None:
        self.page.wait_for_function(READY, arg=self.path)

    def evaluate_in_kernel(self, expression: str) -> Any:
        """The value of a Python expression in the notebook's kernel, which has to be JSON."""
        code = f"import json as _json; print(_json.dumps({expression}))"
        return json.loads(self.page.evaluate(ASK, [self.path, code]))

    def until(self, holds: Callable[[], bool]) -> None:
        """Waits for what only Python can see."""
        for _ in range(PATIENCE // 100):
            if holds():
                return
            self.page.wait_for_timeout(100)
        raise AssertionError("it never came true")

    def save(self) -> None:
        self.page.evaluate(SAVE, self.path)

    def reload(self) -> None:
        """Loads the page again, and waits until the notebook is there with its kernel."""
        self.page.reload()
        self.page.wait_for_function(RESTORED)
        self.page.wait_for_function(OPEN, arg=self.path)
        self.wait_idle()

    def command(self, name: str, args: dict[str, Any] | None = None) -> None:
        """Executes a command of the application, and waits for it. Its result stays there."""
        code = "async ([name, args]) => { await window.jupyterapp.commands.execute(name, args) }"
        self.page.evaluate(code, [name, args or {}])

    def screenshot(self, name: str, of: str | None = None) -> Path:
        """A picture to look at, of the page or of the first element that a selector finds."""
        PICTURES.mkdir(parents=True, exist_ok=True)
        path = PICTURES / f"{name}.png"
        (self.page.locator(of).first if of else self.page).screenshot(path=path)
        return path

    def theme(self, name: str) -> None:
        """Such as "JupyterLab Dark", "JupyterLab Light", "JupyterLab Dark High Contrast"."""
        self.command("apputils:change-theme", {"theme": name})
        self.page.wait_for_function("name => document.body.dataset.jpThemeName === name", arg=name)

    def axe(self, of: str) -> list[str]:
        """What axe-core finds serious or critical inside the elements that a selector finds, in words."""
        self.page.add_script_tag(path=ROOT / "extension" / "node_modules" / "axe-core" / "axe.min.js")
        found = self.page.evaluate("of => window.axe.run(of, { resultTypes: ['violations'] })", of)["violations"]
        return [
            f"{rule['id']}: {rule['help']}: {node['html'][:200]}"
            for rule in found
            if rule["impact"] in ("serious", "critical")
            for node in rule["nodes"]
        ]
