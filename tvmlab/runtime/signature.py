"""What a compiled function takes: plain data, made from a program's function or read from the JSON beside an export.

Dimensions are numbers, or text over the size names (`"n*2"`), which is also how an error shows them.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from types import CodeType
from typing import Any

from ..core.build import FOLD
from ..core.calls import POINTERS
from ..core.error import BuildError
from ..core.node import AllReduce, Buffer, Call, Const, Expr, Load, Node, Store, Var
from ..core.program import Function
from ..core.text import Names, Printer
from ..core.walk import walk

Dim = int | str


@dataclass(frozen=True)
class BufferSpec:
    """An array parameter. `strides` None: compact row-major. `offset`: elements before the array's first.

    `flat`: the code indexes memory with one number. `broadcast`: the stride of a dimension of one is 0.
    """

    name: str
    dtype: str
    shape: tuple[Dim, ...]
    strides: tuple[Dim, ...] | None = None
    offset: Dim = 0
    written: bool = False
    flat: bool = False
    broadcast: bool = False

    @property
    def dims(self) -> tuple[Dim, ...]:
        """All that a call can bind a size from."""
        return (*self.shape, *(self.strides or ()), self.offset)


@dataclass(frozen=True)
class ScalarSpec:
    name: str
    dtype: str


Spec = BufferSpec | ScalarSpec


@dataclass(frozen=True)
class Signature:
    """`params` in call order; `sizes`: (name, dtype) of what is bound from the arrays' shapes, strides and offsets."""

    name: str
    params: tuple[Spec, ...]
    sizes: tuple[tuple[str, str], ...] = ()

    @property
    def buffers(self) -> tuple[BufferSpec, ...]:
        return tuple(p for p in self.params if isinstance(p, BufferSpec))

    @property
    def scalars(self) -> tuple[ScalarSpec, ...]:
        return tuple(p for p in self.params if isinstance(p, ScalarSpec))

    @property
    def numbers(self) -> tuple[str, ...]:
        """The dtypes of the scalars, then of the sizes: the order in which compiled code takes them."""
        return (*(s.dtype for s in self.scalars), *(dtype for _, dtype in self.sizes))

    def unflattened(self) -> Signature:
        """The same for code that takes arrays in their own shapes."""
        params = tuple(replace(p, flat=False) if isinstance(p, BufferSpec) else p for p in self.params)
        return replace(self, params=params)

    @property
    def shaping(self) -> set[str]:
        """The names that a dimension, a stride or an offset depends on."""
        return {word for b in self.buffers for d in b.dims if isinstance(d, str) for word in words(d)}

    def __str__(self) -> str:
        return f"{self.name}({', '.join(map(_param_text, self.params))})"

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "params": [{"kind": "buffer" if isinstance(p, BufferSpec) else "scalar", **asdict(p)} for p in self.params],
            "sizes": [list(s) for s in self.sizes],
        }

    @staticmethod
    def from_json(data: dict[str, Any]) -> Signature:
        params = tuple(map(_param_of, data["params"]))
        return Signature(data["name"], params, tuple((n, t) for n, t in data["sizes"]))


def _param_text(p: Spec) -> str:
    if isinstance(p, ScalarSpec):
        return f"{p.name}: {p.dtype}"
    return f"{p.name}: {p.dtype}[{', '.join(map(str, p.shape))}]"


def _param_of(data: dict[str, Any]) -> Spec:
    fields = dict(data)
    if fields.pop("kind") == "scalar":
        return ScalarSpec(**fields)
    fields["shape"] = tuple(fields["shape"])
    fields["strides"] = None if fields["strides"] is None else tuple(fields["strides"])
    made = BufferSpec(**fields)
    for dim in made.dims:
        if not isinstance(dim, int):
            _code(dim)
    return made


# ---------------------------------------------------------------- from a program


def signature_of(fn: Function) -> Signature:
    """The signature of a lowered function; every size must be readable off an array's shape, strides or offset."""
    printer = Printer(Names(tuple(EVALUATES)))
    written = writes(fn)
    params = tuple(
        _buffer_spec(printer, p, p in written) if isinstance(p, Buffer) else ScalarSpec(printer.names(p), p.dtype)
        for p in fn.params
    )
    sizes = tuple((printer.names(v), v.dtype) for v in fn.sizes)
    dims = [d for p in params if isinstance(p, BufferSpec) for d in p.dims if isinstance(d, str)]
    known = {p.name for p in params if isinstance(p, ScalarSpec)} | {d for d in dims if d.isidentifier()}
    for name in [*(name for name, _ in sizes), *(w for d in dims for w in words(d))]:
        if name not in known:
            raise BuildError(
                "unbound-size", f"the size `{name}` of `{fn.name}` cannot be found from its arguments",
                hint=f"pass an array that has `{name}` itself as a dimension, or `{name}` as an argument",
            )  # fmt: skip
    return Signature(fn.name, params, sizes)


def _buffer_spec(printer: Printer, param: Buffer, written: bool) -> BufferSpec:
    seen = param.owner

    def dim(e: Expr) -> Dim:
        return int(e.value) if isinstance(e, Const) else printer.expr(e)

    shape = tuple(dim(e) for e in seen.shape)
    strides = None if seen.strides is None else tuple(dim(e) for e in seen.strides)
    if strides is not None and strides == _compact(shape):
        strides = None
    return BufferSpec(
        seen.name, param.dtype, shape, strides, 0 if seen.offset is None else dim(seen.offset), written,
        flat=param.logical is not None, broadcast=seen.kind == "auto_broadcast",
    )  # fmt: skip


def _compact(shape: tuple[Dim, ...]) -> tuple[int, ...] | None:
    """Row-major strides of a constant shape."""
    strides, size = [], 1
    for d in reversed(shape):
        if not isinstance(d, int):
            return None
        strides.append(size)
        size *= d
    return tuple(reversed(strides))


def writes(fn: Function) -> set[Buffer]:
    """The buffer parameters the body may write: stores, pointers with write access, and pointers given away.

    What is given away whole, to an extern or packed function, is only read if the function says that it is an input
    (its attribute `inputs`: positions of parameters that no stage computes).
    """
    owner: dict[Any, Buffer] = {}
    for p in fn.buffers:
        for b in (p, p.logical):
            if b is not None:
                owner[b] = owner[b.data] = p
    nodes = list(walk(fn.body))
    fetched = {a for n in nodes if isinstance(n, Call) and n.name == "prefetch" for a in n.args}  # read, if anything
    inputs = {fn.params[i] for i in dict(fn.attrs).get("inputs", ())}
    stored = {owner[t] for n in nodes for t in _stored(n) if t in owner}
    given = {owner[t] for n in nodes if n not in fetched for t in _given(n) if t in owner}
    return stored | (given - inputs)


def _stored(n: Node) -> Iterator[Any]:
    """The buffers, or their data variables, that this node, without its children, says it writes."""
    if isinstance(n, Store):
        yield n.buffer
    elif isinstance(n, AllReduce):
        yield from n.buffers
    elif isinstance(n, Call) and n.name in POINTERS and _mask(n) not in (None, 1):
        yield n.args[0]


def _given(n: Node) -> Iterator[Any]:
    """Those whose address it takes without saying what for."""
    if not isinstance(n, Call):
        return
    if n.name in POINTERS:
        if _mask(n) is None:
            yield n.args[0]
        return
    for a in n.args:
        if n.name == "address_of" and isinstance(a, Load):
            yield a.buffer
        elif isinstance(a, Var) and a.dtype == "handle":
            yield a


def _mask(pointer: Call) -> int | None:
    """The mask, if it is a number: 1 reads, 2 writes, 3 both."""
    mask = pointer.args[POINTERS[pointer.name]]
    return mask.value if isinstance(mask, Const) else None


# ---------------------------------------------------------------- dimensions at call time


EVALUATES: dict[str, Callable[..., int]] = {
    **{name: FOLD[name] for name in ("min", "max", "truncdiv", "truncmod")},
    "select": lambda c, a, b: a if c else b, "likely": bool,
    **{f"{u}int{n}": int for u in ("", "u") for n in (8, 16, 32, 64)},
}  # fmt: skip


# All that a dimension's text may hold: it may come from a file, or from another machine, and is evaluated.
ARITHMETIC = (
    ast.Expression, ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.Call, ast.Name, ast.Load, ast.Add,
    ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod, ast.Div, ast.LShift, ast.RShift, ast.BitAnd, ast.BitOr, ast.BitXor,
    ast.Invert, ast.USub, ast.UAdd, ast.Not, ast.And, ast.Or, ast.cmpop,
)  # fmt: skip


@lru_cache(maxsize=1024)
def _code(text: str) -> CodeType:
    """Compiled; ValueError where it is no arithmetic of whole numbers and sizes."""
    try:
        tree = ast.parse(text.strip(), "<dimension>", "eval")
    except SyntaxError:
        raise ValueError(f"{text!r} is no dimension") from None
    if not all(map(_is_arithmetic, ast.walk(tree))):
        raise ValueError(f"{text!r} is no dimension: it is not arithmetic of whole numbers and sizes")
    return compile(tree, "<dimension>", "eval")


def _is_arithmetic(n: ast.AST) -> bool:
    if isinstance(n, ast.Constant):
        return isinstance(n.value, (int, float))
    if isinstance(n, ast.Call):
        return isinstance(n.func, ast.Name) and n.func.id in EVALUATES and not n.keywords
    if isinstance(n, ast.BinOp) and isinstance(n.op, ast.LShift):  # by a small number, which takes no memory
        return isinstance(n.right, ast.Constant) and n.right.value in range(64)
    return isinstance(n, ARITHMETIC)


def words(dim: str) -> list[str]:
    """The size names in a dimension's text."""
    return [name for name in _code(dim).co_names if name not in EVALUATES]


def evaluate(dim: Dim, sizes: dict[str, int]) -> int | None:
    """The number a dimension stands for, or None when it uses a size that is not bound yet."""
    if isinstance(dim, int):
        return dim
    if any(name not in sizes for name in words(dim)):
        return None
    return int(eval(_code(dim), {"__builtins__": {}, **EVALUATES}, dict(sizes)))
