"""The printed form of programs: Python-like text, the same everywhere (goldens, errors, notebooks).

    for io in parallel(32):
        for ii in range(32):
            C[io*32 + ii] = A[io*32 + ii] + 1.0
"""

from __future__ import annotations

import html
import io
import keyword
import re
import tokenize
import unicodedata
from collections.abc import Callable, Iterator
from typing import Any

from . import dtype as dt
from .deep import deep
from .node import (
    Alloc,
    AllReduce,
    Attr,
    Barrier,
    Bin,
    Broadcast,
    Buffer,
    Call,
    Cast,
    Combiner,
    Const,
    Evaluate,
    Expr,
    For,
    If,
    Let,
    LetStmt,
    Load,
    Node,
    Not,
    Ramp,
    Reduce,
    Select,
    Seq,
    Stmt,
    Store,
    Var,
    While,
)  # fmt: skip

Lines = Iterator[tuple[int, str, Stmt]]  # indent, text, the statement it belongs to
PRECEDENCE = {
    "or": 1, "and": 2, "==": 4, "!=": 4, "<": 4, "<=": 4, ">": 4, ">=": 4, "|": 5, "^": 6, "&": 7, "<<": 8, ">>": 8,
    "+": 9, "-": 9, "*": 10, "/": 10, "//": 10, "%": 10,
}  # fmt: skip
ATOM = 12
UPDATES = {"+": "+=", "*": "*="}
LOOPS = {
    "serial": "range", "parallel": "parallel", "vectorized": "vectorized", "unrolled": "unrolled", "vthread": "vthread",
}  # fmt: skip


def identifier(name: str) -> str:
    """`C.i.outer` -> `C_i_outer`: a legal Python name."""
    text = re.sub(r"\W", "_", unicodedata.normalize("NFKC", name)) or "_"  # Python reads names so too
    return f"_{text}" if text[0].isdigit() or keyword.iskeyword(text) else text


class Names:
    """Gives each variable and buffer one identifier, unique in a program. A buffer's handle bears the buffer's name."""

    def __init__(self, taken: tuple[str, ...] = ()) -> None:
        self.of: dict[Any, str] = {}
        self.taken: set[str] = set(taken)

    def __call__(self, thing: Any) -> str:
        found = self.of.get(thing)
        if found is None:
            base = name = identifier(thing.name)
            count = 0
            while name in self.taken:
                count += 1
                name = f"{base}_{count}"
            self.taken.add(name)
            self.of[thing] = found = name
            if isinstance(thing, Buffer):
                self.of.setdefault(thing.data, name)  # the handle that calls take reads like the buffer
        return found

    def release(self, thing: Any) -> None:
        """The name may be used again: its loop is over."""
        self.taken.discard(self.of.get(thing, ""))


class Printer:
    """One program's text, as Lines, so that views can link lines to nodes."""

    def __init__(self, names: Names | None = None) -> None:
        self.names = names or Names()
        self.mask: str | None = None  # of the store being printed: its loads under the same mask need not repeat it

    # ------------------------------------------------------------ expressions

    def expr(self, e: Any, level: int = 0) -> str:
        text, own = EXPR[type(e)](self, e)
        return f"({text})" if own < level else text

    def index(self, indices: tuple[Expr, ...]) -> str:
        return ", ".join([self.subscript(i) for i in indices]) or "()"

    def subscript(self, e: Expr) -> str:
        """A ramp of stride one reads as a slice: `j*16:j*16 + 16`."""
        if not isinstance(e, Ramp):
            return self.expr(e)
        from .build import binary

        base, stride = self.expr(e.base), self.expr(e.stride, ATOM)
        if stride == "1":
            return f"{base}:{self.expr(binary('+', e.base, e.count))}"
        return f"{base}::{stride}[:{e.count}]"

    def access(self, buffer: Any, indices: tuple[Expr, ...]) -> str:
        return f"{self.names(buffer)}[{self.index(indices)}]"

    # ------------------------------------------------------------ statements

    def lines(self, s: Stmt, depth: int = 0) -> Lines:
        yield from STMT[type(s)](self, s, depth)

    def text(self, s: Stmt) -> str:
        return "\n".join(["    " * depth + line for depth, line, _ in self.lines(s)])

    def block(self, s: Stmt, depth: int) -> Lines:
        if isinstance(s, Seq) and not s.stmts:
            yield depth, "pass", s
        else:
            yield from self.lines(s, depth)


def _bin(p: Printer, e: Bin) -> tuple[str, int]:
    level = PRECEDENCE.get(e.op)
    if level is None:
        return f"{e.op}({p.expr(e.a)}, {p.expr(e.b)})", ATOM
    if e.op == "+" and isinstance(e.b, Const) and dt.is_signed(e.b.dtype) and e.b.value < 0:
        return f"{p.expr(e.a, level)} - {-e.b.value}", level
    left = level + 1 if level == 4 else level
    right = level if e.op in ("+", "and", "or") and dt.is_int(e.dtype) else level + 1
    gap = "" if level == 10 and dt.is_int(e.dtype) else " "  # index arithmetic is set tight: i*32 + j
    return f"{p.expr(e.a, left)}{gap}{e.op}{gap}{p.expr(e.b, right)}", level


def _const(p: Printer, e: Const) -> tuple[str, int]:
    if isinstance(e.value, float):
        text = repr(e.value)
        if text in ("inf", "-inf", "nan"):
            return f'float("{text}")', ATOM
        return text, ATOM if e.value >= 0 else 9
    if e.dtype == "handle":
        return repr(e.value), ATOM
    return str(e.value), ATOM if e.value >= 0 else 9


def _call(p: Printer, e: Call) -> tuple[str, int]:
    if e.name == "if_then_else":
        c, a, b = e.args
        return f"{p.expr(a, 1)} if {p.expr(c, 1)} else {p.expr(b)}", 0
    name = e.name if e.kind in ("pure", "intrin") else f"{e.kind}."
    if e.name == "array_view":
        data, offset, _, ndim, *numbers = e.args
        n = ndim.value  # type: ignore[attr-defined]
        shape, strides = (", ".join(p.expr(x) for x in part) for part in (numbers[:n], numbers[n:]))
        return f"view({p.expr(data)}, offset={p.expr(offset)}, shape=[{shape}], strides=[{strides}])", ATOM
    if e.kind == "launch":
        grid, block, given = (", ".join(map(p.expr, part)) for part in (e.args[:3], e.args[3:6], e.args[6:]))
        return f"{e.name}[({grid}), ({block})]({given})", ATOM
    if e.kind in ("extern", "packed"):
        return f"{e.kind}({', '.join([repr(e.name), *[p.expr(a) for a in e.args]])})", ATOM
    args = e.args[:4] if name == "access_ptr" else e.args
    return f"{name}({', '.join(p.expr(a) for a in args)})", ATOM


def _load(p: Printer, e: Load) -> tuple[str, int]:
    text = p.access(e.buffer, e.indices)
    if e.mask is None or p.expr(e.mask) == p.mask:
        return text, ATOM
    return f"masked({text}, {p.expr(e.mask)})", ATOM


def _reduce(p: Printer, e: Reduce) -> tuple[str, int]:
    sources = ", ".join(p.expr(x) for x in e.sources)
    axes = ", ".join(p.names(a.var) for a in e.axes)
    cond = "" if isinstance(e.cond, Const) and e.cond.value else f", where={p.expr(e.cond)}"
    pick = f"[{e.index}]" if len(e.sources) > 1 else ""
    return f"{e.combiner.name}({sources}, axis=[{axes}]{cond}){pick}", ATOM


EXPR: dict[type, Callable[[Printer, Any], tuple[str, int]]] = {
    Var: lambda p, e: (p.names(e), ATOM),
    Const: _const,
    Bin: _bin,
    Not: lambda p, e: (f"not {p.expr(e.a, 3)}", 3),
    Cast: lambda p, e: (f"{e.dtype}({p.expr(e.value)})", ATOM),
    Select: lambda p, e: (f"select({p.expr(e.cond)}, {p.expr(e.then)}, {p.expr(e.other)})", ATOM),
    Call: _call,
    Load: _load,
    Reduce: _reduce,
    Ramp: lambda p, e: (f"[{p.subscript(e)}]", ATOM),
    Broadcast: lambda p, e: EXPR[type(e.value)](p, e.value),
    Let: lambda p, e: (f"let({p.names(e.var)} = {p.expr(e.value)}, {p.expr(e.body)})", ATOM),
}


def _for(p: Printer, s: For, depth: int) -> Lines:
    name = p.names(s.var)
    if s.kind == "thread":
        head = f'for {name} in thread("{s.thread}", {p.expr(s.extent)}):'
    elif isinstance(s.lo, Const) and s.lo.value == 0:
        head = f"for {name} in {LOOPS[s.kind]}({p.expr(s.extent)}):"
    else:
        from .affine import simplify
        from .build import binary

        head = f"for {name} in {LOOPS[s.kind]}({p.expr(s.lo)}, {p.expr(simplify(binary('+', s.lo, s.extent)))}):"
    yield depth, head, s
    yield from p.block(s.body, depth + 1)
    p.names.release(s.var)


def _store(p: Printer, s: Store, depth: int) -> Lines:
    target = p.access(s.buffer, s.indices)
    mask = p.mask = None if s.mask is None else p.expr(s.mask)
    v = s.value
    op = "="
    if isinstance(v, Bin) and v.op in UPDATES and isinstance(v.a, Load) and v.a.buffer is s.buffer:
        if p.access(v.a.buffer, v.a.indices) == target:
            op, v = UPDATES[v.op], v.b
    text = f"{target} {op} {p.expr(v)}"
    p.mask = None
    yield depth, text if mask is None else f"{text}  # where {mask}", s


def _if(p: Printer, s: If, depth: int) -> Lines:
    yield depth, f"if {p.expr(s.cond)}:", s
    yield from p.block(s.then, depth + 1)
    if s.other is not None:
        yield depth, "else:", s
        yield from p.block(s.other, depth + 1)


def _alloc(p: Printer, s: Alloc, depth: int) -> Lines:
    b = s.buffer
    shape = ", ".join(p.expr(x) for x in b.shape) + ("," if len(b.shape) == 1 else "")
    layout = f", strides=({', '.join(p.expr(x) for x in b.strides)},)" if b.strides is not None else ""
    yield depth, f'{p.names(b)} = alloc(({shape}), "{b.dtype}", scope="{b.scope}"{layout})', s
    yield from p.lines(s.body, depth)


def _seq(p: Printer, s: Seq, depth: int) -> Lines:
    for x in s.stmts:
        yield from p.lines(x, depth)


def _let(p: Printer, s: LetStmt, depth: int) -> Lines:
    yield depth, f"{p.names(s.var)} = {p.expr(s.value)}", s
    yield from p.lines(s.body, depth)


def _attr(p: Printer, s: Attr, depth: int) -> Lines:
    about = f" {p.names(s.about)}" if hasattr(s.about, "name") else ""
    yield depth, f"# {s.key}{about}: {p.expr(s.value)}", s
    yield from p.lines(s.body, depth)


def _while(p: Printer, s: While, depth: int) -> Lines:
    yield depth, f"while {p.expr(s.cond)}:", s
    yield from p.block(s.body, depth + 1)


def _allreduce(p: Printer, s: AllReduce, depth: int) -> Lines:
    out = ", ".join(f"{p.names(b)}[0]" for b in s.buffers)
    sources = ", ".join(p.expr(x) for x in s.sources)
    threads = ", ".join(p.names(t) for t in s.threads)
    cond = "" if isinstance(s.cond, Const) and s.cond.value else f", where={p.expr(s.cond)}"
    yield depth, f"{out} = allreduce_{s.combiner.name}({sources}, over=[{threads}]{cond})", s


def briefly(s: Barrier) -> str:
    """Why a barrier is there, in a word or two: the `brief` of its origin, if it has one."""
    return str(getattr(s.origin, "brief", ""))


STMT: dict[type, Callable[[Printer, Any, int], Lines]] = {
    For: _for,
    Store: _store,
    If: _if,
    Seq: _seq,
    Alloc: _alloc,
    LetStmt: _let,
    Attr: _attr,
    While: _while,
    Barrier: lambda p, s, d: iter([(d, f'barrier("{s.scope}")' + (f"  # {w}" if (w := briefly(s)) else ""), s)]),
    AllReduce: _allreduce,
    Evaluate: lambda p, s, d: iter([(d, p.expr(s.value), s)]),
}


@deep
def headline(node: Any) -> str:
    """The first line of what is printed of it: of a loop or a condition its head."""
    return show(node).splitlines()[0]


def show(n: Any, names: Names | None = None) -> str:
    """The text of any node."""
    if isinstance(n, Combiner):
        return f"combiner {n.name}"
    if isinstance(n, Stmt):
        return Printer(names).text(n)
    return Printer(names).expr(n) if isinstance(n, Node) else str(n)


def signature(p: Printer, fn: Any) -> str:
    parts = []
    for x in fn.params:
        if isinstance(x, Buffer):
            shape = ", ".join(p.expr(d) for d in x.shape)
            parts.append(f"{p.names(x)}: {x.dtype}[{shape}]")
        else:
            parts.append(f"{p.names(x)}: {x.dtype}")
    return f"def {identifier(fn.name)}({', '.join(parts)}):"


def program_lines(program: Any) -> Iterator[tuple[int, str, Any]]:
    for fn in program.functions:
        p = Printer()
        yield 0, signature(p, fn), fn
        for note in (*program.notes, *program.remarks):
            for line in note.splitlines():
                yield 1, f"# {line}", None
        yield from p.block(fn.body, 1)


@deep
def show_program(program: Any) -> str:
    return "\n".join(["    " * depth + line for depth, line, _ in program_lines(program)])


# ---------------------------------------------------------------- colours for notebooks

WORDS = set(
    "for in if else elif def while not and or pass import from as assert return class with lambda is".split()
    + "None True False".split()
)
MARKS = {"parallel", "vectorized", "unrolled", "thread", "vthread"}
# of middle lightness: they can be read on white and on black
STYLE = {"word": "#b05cc6", "mark": "#d0702a", "number": "#3f87d9", "comment": "#80868b", "string": "#3d9950"}
PRE = "white-space:pre;overflow-x:auto;line-height:1.4;margin:0;font-size:12.5px;background:transparent;color:inherit"


def to_html(text: str) -> str:
    """The text as an HTML block with colours; the structure is plain text, so it copies as it reads."""
    return f'<pre style="{PRE}">{coloured(text)}</pre>'


def coloured(text: str) -> str:
    """The text with its words in spans; no span reaches over the end of a line."""
    return "\n".join(map(_coloured_line, text.split("\n")))


def _coloured_line(line: str) -> str:
    out, column = [], 0
    for start, end, kind in words(line):
        out.append(html.escape(line[column:start], quote=False))
        out.append(f'<span style="color:{STYLE[kind]}">{html.escape(line[start:end], quote=False)}</span>')
        column = end
    return "".join([*out, html.escape(line[column:], quote=False)])


def words(line: str) -> Iterator[tuple[int, int, str]]:
    """(start, end, kind) of what has a colour. A line that is not whole Python keeps what was found in it."""
    try:
        for t in tokenize.generate_tokens(io.StringIO(line).readline):
            kind = _class_of(t)
            if kind is not None and t.start[0] == t.end[0] == 1:
                yield t.start[1], t.end[1], kind
    except (tokenize.TokenError, SyntaxError):
        return


def _class_of(t: tokenize.TokenInfo) -> str | None:
    if t.type == tokenize.COMMENT:
        return "comment"
    if t.type == tokenize.NUMBER:
        return "number"
    if t.type == tokenize.STRING:
        return "string"
    if t.type == tokenize.NAME:
        return "word" if t.string in WORDS else "mark" if t.string in MARKS else None
    return None
