"""Who gets a key: inside the lab every printable key is the lab's; Shift+Enter and chords it does not use pass on."""

from tests.ui.lab_page import MATMUL, STEPS, LabPage, show, sources

PRINTABLE = "abcdefhijkmnorsvwzABDJKMSZ0123456[]{}/?.,#+-="  # the notebook has commands on many of them
SIDEBAR = "() => !document.querySelector('#jp-left-stack')?.classList.contains('lm-mod-hidden')"
COUNT = """path => [...window.jupyterapp.shell.widgets('main')].find(w => w.context?.path === path)
  .content.model.cells.get(0).executionCount"""


def kinds(book):
    """How many cells there are, and of which kind."""
    code = "all => all.map(cell => [...cell.classList].filter(c => /^jp-(Code|Markdown|Raw)Cell$/.test(c)).join())"
    return book.page.locator(".jp-Notebook .jp-Cell").evaluate_all(code)


def inside(book, page):
    """Closes what is open, and stays in the lab."""
    while page.drawer().count() or page.root.locator("form, .tvl-find").count():
        book.page.keyboard.press("Escape")
    page.root.locator("[role=treeitem][tabindex='0']").focus()


def test_printable_keys_stay_inside(book):
    page = show(book, MATMUL + STEPS)
    page.arrive(4)
    before = kinds(book), sources(book)
    keys = LabPage(book, "keyboard")
    inside(book, page)
    for pane in ("tree", "actions", "code", "pictures", "history", "header"):
        keys.into(pane)
        for key in PRINTABLE:
            book.page.keyboard.press(key)
            assert page.focus(), f"{pane}: {key} took the focus out of the lab"
            if page.focus() != pane or key in "/?s":  # something opened: that is what the key is for
                inside(book, page)
                keys.into(pane)
    assert (kinds(book), sources(book)) == before
    assert book.page.locator(".jp-Dialog").count() == 0


def test_letters_in_a_field_are_text(book):
    page = show(book, MATMUL + STEPS)
    page.arrive(4)
    before = kinds(book), sources(book)
    find = page.pane("actions").locator("[data-search]")
    find.click()
    book.page.keyboard.type("bad x[y]")
    assert find.input_value() == "bad x[y]"
    book.page.keyboard.press("ControlOrMeta+z")  # of the text, not of the schedule
    book.page.keyboard.press("Escape")
    assert page.at() == 4 and (kinds(book), sources(book)) == before


def test_shift_enter_and_unused_chords_pass(book):
    page = show(book, MATMUL)
    page.row("C.i").click()
    run = book.page.evaluate(COUNT, book.path)
    book.page.keyboard.press("Shift+Enter")
    book.page.wait_for_function(f"([path, n]) => ({COUNT})(path) > n", arg=[book.path, run])
    book.wait_idle()
    page.row("C.i").click()
    for inside in ("row", "field"):
        if inside == "field":
            page.row("C.i").click()
            book.page.keyboard.press("s")
            page.action("split").locator("input").first.wait_for()
        shown = book.page.evaluate(SIDEBAR)
        book.page.keyboard.press("ControlOrMeta+b")
        book.page.wait_for_function(f"was => ({SIDEBAR})() !== was", arg=shown)
        book.page.keyboard.press("ControlOrMeta+b")
        book.page.wait_for_function(f"was => ({SIDEBAR})() === was", arg=shown)


def test_escape_closes_what_is_innermost_then_leaves(book):
    page = show(book, MATMUL)
    page.row("C.i").click()
    book.page.keyboard.press("s")
    form = page.action("split").locator("form")
    form.wait_for()
    book.page.keyboard.press("Escape")
    form.wait_for(state="detached")
    assert page.focus() == "tree"
    page.root.get_by_text("keys: lab").wait_for()
    book.page.keyboard.press("Escape")
    book.page.wait_for_function("() => !document.activeElement?.closest('.tvl')")
    assert not page.root.get_by_text("keys: lab").is_visible()
    active = "() => document.activeElement.closest('.jp-Cell') === document.querySelector('.jp-Notebook .jp-Cell')"
    assert book.page.evaluate(active), "the cell has the focus"
    cells = len(sources(book))
    book.page.keyboard.press("b")  # and the notebook its keys
    book.until(lambda: len(sources(book)) == cells + 1)
    book.page.keyboard.press("d")
    book.page.keyboard.press("d")
    book.until(lambda: len(sources(book)) == cells)


def test_every_pane_is_reached_and_left_by_keys(book):
    page = show(book, MATMUL)
    page.row("C.i").click()
    seen = []
    for _ in range(8):
        book.page.keyboard.press("F6")
        seen.append(page.focus())
    assert {"header", "tree", "actions", "code", "pictures", "history"} <= set(seen) and "" not in seen
    back = []
    for _ in range(8):
        back.append(page.focus())
        book.page.keyboard.press("Shift+F6")
    assert back[1:] == seen[:-1][::-1][: len(back) - 1]
    stops = []
    LabPage(book, "keyboard").into("header")
    for _ in range(40):
        book.page.keyboard.press("Tab")
        if not page.focus():
            break
        if not stops or stops[-1] != page.focus():
            stops.append(page.focus())
    assert len(stops) == len(set(stops)) and not page.focus(), f"Tab goes through: {stops}"
