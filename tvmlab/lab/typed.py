"""An expression typed into the drawer: a few lines that may only build tensors, read again at every pause.

    A = te.placeholder((64, 64))
    B = te.compute((64, 64), lambda i, j: A[i, j] + 1.0)

Tensors are called what they are assigned to. Nothing else can be done in these lines: no imports, no loops, no files;
so they can be evaluated while they are being typed. An error names the part of the text that it is about.
"""

from __future__ import annotations

import ast
import operator
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from types import CodeType, GeneratorType, ModuleType, TracebackType
from typing import Any

from .. import te, tir, topi
from ..core.error import LabError
from ..expr.tensor import PlaceholderOp, Tensor, among
from ..view.payload import Typed
from .scratch import EXPRESSION as FILE
from .scratch import TooSlow, limited

MOST = 20_000  # letters
LIMIT = 2.0  # seconds
LONG = 10_000  # elements of a list, letters of a text: what C code works on cannot be interrupted
WIDE = 4_096  # bits of a number
NAMES: dict[str, Any] = {"te": te, "tir": tir, "topi": topi}
NAMED = ("placeholder", "compute", "reduce_axis", "var", "size_var")
ALLOWED = (
    ast.Module, ast.Assign, ast.Expr, ast.Name, ast.Load, ast.Store, ast.Constant, ast.Tuple, ast.List, ast.Starred,
    ast.Call, ast.keyword, ast.Attribute, ast.Subscript, ast.Slice, ast.Lambda, ast.arguments, ast.arg, ast.BinOp,
    ast.UnaryOp, ast.Compare, ast.BoolOp, ast.IfExp, ast.operator, ast.unaryop, ast.cmpop, ast.boolop,
)  # fmt: skip
POWERS = (ast.Pow, ast.LShift)  # of plain numbers they can ask for more memory than there is
GROWS: dict[type, Callable[[Any, Any], Any]] = {ast.Add: operator.add, ast.Mult: operator.mul, ast.Mod: operator.mod}


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
            limited(lambda: exec(code, space), LIMIT)
    except TooSlow as e:
        raise TypedError(e.message, e.line, 0, len(_line(text, e.line))) from None
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
        needed += [x for x in t.op.inputs if isinstance(x.op, PlaceholderOp) and not among(x, needed)]
        stack += [x for x in t.op.inputs if not isinstance(x.op, PlaceholderOp)]
    mine = [t for t in made if among(t, needed)]
    return [*mine, *[t for t in needed if not among(t, made)], *outputs]


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
    except (RecursionError, MemoryError):
        raise TypedError(DEEP) from None
    except (SyntaxError, ValueError) as e:
        line, start = getattr(e, "lineno", 0) or 0, (getattr(e, "offset", 1) or 1) - 1
        end = (getattr(e, "end_offset", 0) or start + 2) - 1
        raise TypedError(getattr(e, "msg", None) or str(e), line, start, max(end, start + 1)) from None
    for node in ast.walk(tree):
        _allow(node, text)
    for node in tree.body:
        if isinstance(node, ast.Assign):
            _name(node)
    try:
        return compile(ast.fix_missing_locations(_Guarded().visit(tree)), FILE, "exec")
    except (RecursionError, MemoryError):
        raise TypedError(DEEP) from None


DEEP = "the text is nested too deeply to be read here: use a cell"


def _allow(node: ast.AST, text: str) -> None:
    if not isinstance(node, ALLOWED):
        raise _at(node, f"{_called(node)} has no place here: these lines only build tensors. Use a cell for it")
    if isinstance(getattr(node, "ctx", None), ast.Store) and isinstance(node, (ast.Attribute, ast.Subscript)):
        raise _at(node, "only a name can be assigned to here: these lines only build tensors. Use a cell for it")
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


# ---------------------------------------------------------------- what must not grow, or lead elsewhere


class _Guarded(ast.NodeTransformer):
    """The text with calls of the functions below where it reads attributes, calculates and spreads lists."""

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        return self._call(node, "_read", node.value, ast.Constant(node.attr))

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        if type(node.op) not in GROWS:
            return self.generic_visit(node)  # type: ignore[return-value]
        return self._call(node, "_calculated", ast.Constant(type(node.op).__name__), node.left, node.right)

    def visit_Starred(self, node: ast.Starred) -> ast.expr:
        if isinstance(node.ctx, ast.Load):
            node.value = self._call(node.value, "_spread", node.value)
        return node

    def _call(self, node: ast.expr, function: str, *args: ast.expr) -> ast.expr:
        made = ast.Call(ast.Name(function, ast.Load()), [self.visit(a) for a in args], [])
        return ast.copy_location(made, node)


def _read(thing: Any, name: str) -> Any:
    """`thing.name`: of te, tir, topi and of tensors; not of text and lists, nor of inner modules."""
    if isinstance(thing, (str, bytes, int, float, list, dict, set, GeneratorType)):
        raise LabError("expression", f"`.{name}` of {type(thing).__name__} has no place here: use a cell")
    found = getattr(thing, name)
    if isinstance(found, ModuleType) and thing not in NAMES.values():
        raise LabError("expression", f"the module `{name}` has no place here: use a cell")
    return found


def _calculated(kind: str, a: Any, b: Any) -> Any:
    operation = GROWS[getattr(ast, kind)]
    if isinstance(a, int) and isinstance(b, int):
        if a.bit_length() + b.bit_length() > WIDE:
            raise LabError("expression", "the number is too large")
    elif isinstance(a, (str, bytes)) and kind == "Mod":
        raise LabError("expression", "% of text has no place here")
    else:
        sizes = [len(x) for x in (a, b) if isinstance(x, (str, bytes, list, tuple))]
        times = next((x for x in (a, b) if isinstance(x, int)), 1) if kind == "Mult" else 1
        _need_short(sum(sizes) * times)
    return operation(a, b)


def _spread(values: Any) -> Any:
    if hasattr(values, "__len__"):
        _need_short(len(values))
    return values


def _range(*args: Any) -> range:
    made = range(*args)
    _need_short(len(made))
    return made


def _need_short(length: int) -> None:
    if length > LONG:
        raise LabError("expression", f"it has {length} elements; at most {LONG} are made here: use a cell")


BUILTINS: dict[str, Any] = {
    **{f.__name__: f for f in (abs, bool, enumerate, float, int, len, list, max, min, reversed, round, sum)},
    "range": _range, **{f.__name__: f for f in (tuple, zip, _read, _calculated, _spread)},
}  # fmt: skip


# ---------------------------------------------------------------- where


def _line(text: str, number: int) -> str:
    lines = text.splitlines()
    return lines[number - 1] if 0 < number <= len(lines) else ""


def _at(node: ast.AST, message: str) -> TypedError:
    line, start = getattr(node, "lineno", 0), getattr(node, "col_offset", 0)
    return TypedError(message, line, start, getattr(node, "end_col_offset", None) or start + 1)


TOLD = {MemoryError: "it needs more memory than there is", RecursionError: "it calls itself without an end"}


def _placed(e: Exception, text: str) -> TypedError:
    """The innermost place of the text that was running."""
    message = e.message if isinstance(e, LabError) else TOLD.get(type(e)) or str(e) or type(e).__name__
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
        end = len(_line(text, line))
    return TypedError(message, line, start or 0, end)
