"""Thread loops: the outermost one is a kernel. All its threads run the whole body, as on a GPU.

A kernel becomes a Python generator of one thread (`g`), which yields where it must wait for others; threads.py runs
many of them. A thread loop inside binds its variable to the thread's own index, so sibling loops of one tag are the
same threads, and what stands outside of them is done by every thread. Virtual threads fork inside their thread.
"""

from __future__ import annotations

from collections.abc import Callable

from ...core.node import AllReduce, Barrier, Call, Const, Expr, For, Stmt
from ...core.threads import LAUNCH
from ...core.walk import constant, free_variables, walk
from .access import write_scalar
from .writer import Writer

WIDTHS = (2, 4, 8, 16, 32)  # of the groups of lanes that shuffle among themselves
VIRTUAL = ("vthread", "cthread", "virtual_thread")
Body = Callable[[Writer, Stmt, str], None]


def virtual(s: For) -> bool:
    return s.kind == "vthread" or s.thread.startswith(VIRTUAL)


def syncs(s: Stmt | Expr) -> bool:
    """May a thread that runs `s` have to wait for others?"""
    return any(_waits(n) or (isinstance(n, For) and virtual(n)) for n in walk(s))


def _waits(n: object) -> bool:
    return isinstance(n, (Barrier, AllReduce)) or (isinstance(n, Call) and n.name == "shuffle_xor")


def thread_loop(w: Writer, s: For, body: Body) -> None:
    if w.kernel is None:
        _launch(w, s, body)
    elif virtual(s):
        _fork(w, s, body)
    else:
        _bind(w, s, body)


def _launch(w: Writer, s: For, body: Body) -> None:
    extents = _extents(w, s)
    dims = {tag: list(dict.fromkeys(w.atom(w.index(e)) for e in es)) for tag, es in extents.items()}
    sizes = "".join(f"({tag!r}, {t[0] if len(t) == 1 else 'max(' + ', '.join(t) + ')'}), " for tag, t in dims.items())
    w.kernel = {tag: "h_" + tag.replace(".", "_") for tag in dims}
    locals_ = list(w.kernel.values())

    def kernel() -> None:
        for tag, name in (w.kernel or {}).items():
            w.line(f"{name} = g.at[{tag!r}]")
        with w.named(*locals_):
            thread_loop(w, s, body)

    params = w.arguments()
    name = w.outline(kernel, params, generator=True)
    w.kernel = None
    w.line(f"launch(R, lambda g: {name}({', '.join(params)}), ({sizes}))")


def _extents(w: Writer, s: For) -> dict[str, list[Expr]]:
    """Tag -> the extents of its loops; every extent must be known where the kernel starts."""
    found: dict[str, list[Expr]] = {}
    for loop in walk(s):
        if not isinstance(loop, For) or loop.kind != "thread" or virtual(loop):
            continue
        if loop.thread not in LAUNCH:
            why = f"the interpreter has no threads `{loop.thread}` (loop {loop.var.name})"
            raise w.refuse("thread-tag", why, LAUNCH)
        for v in free_variables(loop.extent):
            if v not in w.names:
                about = f"thread loop {loop.var.name} ({loop.thread})"
                raise w.refuse(
                    "thread-extent", f"the extent of {about} uses {v.name}, which is bound inside the kernel"
                )
        found.setdefault(loop.thread, []).append(loop.extent)
    return found


def _bind(w: Writer, s: For, body: Body) -> None:
    """`for tx in thread("threadIdx.x", n)`: the thread's own index; threads beyond n stay out."""
    own = (w.kernel or {})[s.thread]
    name = w.local(s.var)
    w.thread_of[s.var] = s.thread
    lo, extent = w.index(s.lo), w.index(s.extent)
    w.line(f"{name} = {own}" if lo == "0" else f"{name} = {lo} + {own}")
    w.line(f"if {own} < {extent}:")
    with w.indented(), w.inside(s, name, nest=0):
        body(w, s.body, s.var.name)


def _fork(w: Writer, s: For, body: Body) -> None:
    lo, extent = w.atom(w.index(s.lo)), w.atom(w.index(s.extent))
    name = w.local(s.var)
    outer = [p for p in w.arguments() if p != "g"]

    def thread() -> None:
        with w.inside(s, name, nest=0):
            body(w, s.body, s.var.name)

    part = w.outline(thread, ["g", name, *outer], generator=True)
    call = f"{part}({', '.join(['g', 'i', *outer])})"
    w.line(f"yield from fork(R, g, {s.var.name!r}, {lo}, {extent}, lambda g, i: {call}, {w.at()})")


def barrier(w: Writer, s: Barrier) -> None:
    w.stmt = s
    if w.kernel is None:
        return  # one thread waits for nobody
    if s.scope.startswith("global"):
        raise w.refuse(
            "global-barrier", "the interpreter runs blocks one after another, so they cannot wait for each other",
            ['barrier("shared")', 'barrier("warp")'], "to order blocks, end the kernel and start another",
        )  # fmt: skip
    w.line(f"yield ({'warp' if s.scope.startswith('warp') else 'block'!r}, {w.at()}, None)")


def shuffle(w: Writer, e: Call) -> str:
    """`shuffle_xor(value, mask, width)`: all lanes of a warp come here, then each gets another one's value.

    It orders no memory: what lanes store before it is not what others read after it, without a barrier.
    """
    value, mask, width = e.args
    m, n = constant(mask), constant(width)
    if m is None or n not in WIDTHS or not 0 < m < n:
        hint = "the mask is a number from 1 to width - 1"
        raise w.refuse("shuffle-mask", f"`{e!r}` names no lanes of a warp", [str(x) for x in WIDTHS], hint)
    if w.kernel is None:
        raise w.refuse("shuffle-threads", f"`{e!r}` stands outside of every thread loop")
    result = w.fresh("t")
    w.line(f"{result} = yield ('shuffle', {w.at()}, ({w.value(value)}, {m}))")
    return result


def all_reduce(w: Writer, s: AllReduce) -> None:
    w.stmt = s
    unknown = [v.name for v in s.threads if v not in w.thread_of]
    if w.kernel is None or unknown:
        raise w.refuse(
            "allreduce-threads", f"this reduces over {', '.join(unknown) or 'threads'}, but no thread loop binds it"
        )
    identity = ", ".join([w.atom(w.value(e)) for e in s.combiner.identity]) + ","
    values = w.fresh("t")
    always = isinstance(s.cond, Const) and s.cond.value
    if not always:
        w.line(f"{values} = ({identity})")
    w.line(f"if {w.value(s.cond)}:")
    with w.indented():
        w.line(f"{values} = ({', '.join([w.value(e) for e in s.sources])},)")
    tags = tuple(w.thread_of[v] for v in s.threads)
    result = w.fresh("t")
    w.line(f"{result} = yield ('reduce', {w.at()}, ({_combine(w, s)}, ({identity}), {tags!r}, {values}))")
    for i, b in enumerate(s.buffers):
        write_scalar(w, w.place(b), (Const(0),) * len(b.shape), f"{result}[{i}]")


def _combine(w: Writer, s: AllReduce) -> str:
    """The fold as a function of its own: left values, right values -> results."""
    params = []
    for v in (*s.combiner.lhs, *s.combiner.rhs):
        w.names[v] = w.local(v)
        params.append(w.names[v])
    kept, w.loops = w.loops, []
    name = w.outline(lambda: f"({', '.join([w.value(e) for e in s.combiner.result])},)", params)
    w.loops = kept
    return name
