"""An expression typed into the drawer: a few lines that may only build tensors, read again at every pause.

    A = te.placeholder((64, 64))
    B = te.compute((64, 64), lambda i, j: A[i, j] + 1.0)

Tensors are called what they are assigned to. Nothing else can be done in these lines: no imports, no loops, no files;
so they can be evaluated while they are being typed. An error names the part of the text that it is about.
"""

from __future__ import annotations

import ast
import warnings
from dataclasses import dataclass
from types import CodeType, TracebackType
from typing import Any

from .. import te, tir, topi
from ..core.error import LabError
from ..expr.tensor import PlaceholderOp, Tensor
from ..view.payload import Typed

FILE = "<expression>"
MOST = 20_000  # letters
BUILTINS = {f.__name__: f for f in (abs, bool, enumerate, float, int, len, list, max, min, range, reversed, round, sum,
                                   tuple, zip)}  # fmt: skip
NAMES: dict[str, Any] = {"te": te, "tir": tir, "topi": topi}
NAMED = ("placeholder", "compute", "reduce_axis", "var", "size_var")
ALLOWED = (
    ast.Module, ast.Assign, ast.Expr, ast.Name, ast.Load, ast.Store, ast.Constant, ast.Tuple, ast.List, ast.Starred,
    ast.Call, ast.keyword, ast.Attribute, ast.Subscript, ast.Slice, ast.Lambda, ast.arguments, ast.arg, ast.BinOp,
    ast.UnaryOp, ast.Compare, ast.BoolOp, ast.IfExp, ast.operator, ast.unaryop, ast.cmpop, ast.boolop,
)  # fmt: skip
POWERS = (ast.Pow, ast.LShift)  # of plain numbers they can ask for more memory than there is


@dataclass(frozen=True)
class TypedError(Exception):
    """What is wrong, and where: line 1, 2, ..., columns from 0."""

    text: str
    line: int = 0
    start: int = 0
    end: int = 0


def tensors(text: str) -> list[Any]:
    """The tensors that the text makes: the placeholders that are read, then the outputs. Raises TypedError."""
    code = _compiled(text)
    space: dict[str, Any] = {"__builtins__": dict(BUILTINS), **NAMES}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(code, space)
    except Exception as e:
        raise _placed(e, text) from None
    made = [v for v in space.values() if isinstance(v, Tensor)]
    return arguments(made)


def arguments(made: list[Any]) -> list[Any]:
    """Inputs that an output reads, and the outputs: what no other of these tensors reads."""
    read = {id(t) for x in made for t in x.op.inputs}
    outputs = [t for t in made if id(t) not in read and not isinstance(t.op, PlaceholderOp)]
    if not outputs:
        raise TypedError("there is no te.compute yet: an expression needs one to be scheduled")
    needed: list[Any] = []
    stack = list(outputs)
    while stack:
        t = stack.pop()
        needed += [x for x in t.op.inputs if isinstance(x.op, PlaceholderOp) and x not in needed]
        stack += [x for x in t.op.inputs if not isinstance(x.op, PlaceholderOp)]
    return [*[t for t in made if t in needed], *[t for t in needed if t not in made], *outputs]


def read(text: str) -> Typed:
    """How the text reads, for the drawer."""
    try:
        found = tensors(text)
    except TypedError as e:
        return {"ok": False, "tensors": [], "error": e.text, "line": e.line, "start": e.start, "end": e.end}
    lines = [f"{t.name}: {t.dtype}[{', '.join(map(str, t.shape))}]" for t in found]
    return {"ok": True, "tensors": lines, "error": "", "line": 0, "start": 0, "end": 0}


# ---------------------------------------------------------------- reading


def _compiled(text: str) -> CodeType:
    if len(text) > MOST:
        raise TypedError(f"the text has {len(text)} letters; at most {MOST} are read here: use a cell")
    try:
        tree = ast.parse(text, FILE)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as e:
        line, start = getattr(e, "lineno", 0) or 0, (getattr(e, "offset", 1) or 1) - 1
        end = (getattr(e, "end_offset", 0) or start + 2) - 1
        raise TypedError(getattr(e, "msg", None) or str(e), line, start, max(end, start + 1)) from None
    for node in ast.walk(tree):
        _allow(node, text)
    for node in tree.body:
        if isinstance(node, ast.Assign):
            _name(node)
    return compile(ast.fix_missing_locations(tree), FILE, "exec")


def _allow(node: ast.AST, text: str) -> None:
    if not isinstance(node, ALLOWED):
        raise _at(node, f"{_called(node)} has no place here: these lines only build tensors. Use a cell for it")
    name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
    if name.startswith("_") and name.strip("_"):
        raise _at(node, f"{name}: names that begin with _ cannot be used here")
    if isinstance(node, ast.BinOp) and isinstance(node.op, POWERS):
        raise _at(node, "** and << have no place here: write te.power, or the number itself")


def _called(node: ast.AST) -> str:
    words = {"Import": "import", "ImportFrom": "import", "For": "a loop", "While": "a loop", "FunctionDef": "def"}
    kind = type(node).__name__
    return words.get(kind, kind.lower())


def _name(node: ast.Assign) -> None:
    """`A = te.placeholder(...)` is called A, where no name is given."""
    target, call = node.targets[0], node.value
    if not isinstance(target, ast.Name) or not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return
    given = any(k.arg == "name" for k in call.keywords)
    if call.func.attr in NAMED and not given and not (call.func.attr in ("var", "size_var") and call.args):
        call.keywords.append(ast.keyword("name", ast.Constant(target.id)))


# ---------------------------------------------------------------- where


def _at(node: ast.AST, message: str) -> TypedError:
    line, start = getattr(node, "lineno", 0), getattr(node, "col_offset", 0)
    return TypedError(message, line, start, getattr(node, "end_col_offset", None) or start + 1)


def _placed(e: Exception, text: str) -> TypedError:
    """The innermost place of the text that was running."""
    message = e.message if isinstance(e, LabError) else str(e) or type(e).__name__
    found: tuple[Any, ...] | None = None
    trace: TracebackType | None = e.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == FILE:
            found = list(trace.tb_frame.f_code.co_positions())[trace.tb_lasti // 2]
        trace = trace.tb_next
    if found is None or found[0] is None:
        return TypedError(message)
    line, last, start, end = found
    if last != line or end is None:
        end = len(text.splitlines()[line - 1])
    return TypedError(message, line, start or 0, end)
