"""The nodes of programs: expressions and statements, as frozen dataclasses.

    Expr  = Var | Const | Bin | Not | Cast | Select | Call | Load | Reduce | Ramp | Broadcast | Let
    Stmt  = For | While | Store | If | Seq | Alloc | LetStmt | Attr | Barrier | AllReduce | Evaluate

A node is equal only to itself (`a == b` builds an expression); `walk.same` compares structure. Every node is
immutable; passes build new ones with `walk.rewrite`, which returns the same object where nothing changed.
"""

from __future__ import annotations

import math
import operator
from dataclasses import KW_ONLY, dataclass, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, dataclass_transform

from .dtype import vector

T = TypeVar("T")


@dataclass_transform(frozen_default=True, eq_default=False)
def node(cls: type[T]) -> type[T]:
    """A frozen dataclass that knows which of its fields are children (CHILDREN), and which are tuples (MANY)."""
    made = dataclass(frozen=True, slots=True, eq=False, repr=False)(cls)
    kinds = {f.name: str(f.type) for f in fields(made)}  # type: ignore[arg-type]
    child = ("Expr", "Stmt", "Expr | None", "Stmt | None")
    many = ("tuple[Expr, ...]", "tuple[Stmt, ...]")
    made.CHILDREN = tuple(n for n, k in kinds.items() if k in child or k in many)  # type: ignore[attr-defined]
    made.MANY = frozenset(n for n, k in kinds.items() if k in many)  # type: ignore[attr-defined]
    made.FIELDS = tuple(kinds)  # type: ignore[attr-defined]
    return made


class Node:
    __slots__ = ()
    CHILDREN: ClassVar[tuple[str, ...]] = ()
    MANY: ClassVar[frozenset[str]] = frozenset()
    FIELDS: ClassVar[tuple[str, ...]] = ()

    def __repr__(self) -> str:
        from .text import show

        return show(self)


class Operand:
    """What arithmetic works on: expressions, and what stands for one (axes, tensor elements).

    `core.build` installs the operators; the declarations here are for type checkers.
    """

    __slots__ = ()

    if TYPE_CHECKING:

        def __add__(self, other: Any) -> Expr: ...
        def __radd__(self, other: Any) -> Expr: ...
        def __sub__(self, other: Any) -> Expr: ...
        def __rsub__(self, other: Any) -> Expr: ...
        def __mul__(self, other: Any) -> Expr: ...
        def __rmul__(self, other: Any) -> Expr: ...
        def __truediv__(self, other: Any) -> Expr: ...
        def __rtruediv__(self, other: Any) -> Expr: ...
        def __floordiv__(self, other: Any) -> Expr: ...
        def __rfloordiv__(self, other: Any) -> Expr: ...
        def __mod__(self, other: Any) -> Expr: ...
        def __rmod__(self, other: Any) -> Expr: ...
        def __neg__(self) -> Expr: ...
        def __lt__(self, other: Any) -> Expr: ...
        def __le__(self, other: Any) -> Expr: ...
        def __gt__(self, other: Any) -> Expr: ...
        def __ge__(self, other: Any) -> Expr: ...
        def __and__(self, other: Any) -> Expr: ...
        def __or__(self, other: Any) -> Expr: ...
        def __xor__(self, other: Any) -> Expr: ...
        def __lshift__(self, other: Any) -> Expr: ...
        def __rshift__(self, other: Any) -> Expr: ...
        def __invert__(self) -> Expr: ...
        def equal(self, other: Any) -> Expr: ...
        def astype(self, dtype: str) -> Expr: ...


class Expr(Node, Operand):
    __slots__ = ()
    if TYPE_CHECKING:
        dtype: str


class Stmt(Node):
    __slots__ = ()


# ---------------------------------------------------------------- expressions


class Referable(Expr):
    """An expression that may be pointed to weakly."""

    __slots__ = ("__weakref__",)


@node
class Var(Referable):
    """A name bound by a loop, a let, a parameter or a shape. `nonneg`: known to be >= 0 (a size)."""

    name: str
    dtype: str = "int32"
    nonneg: bool = False


@node
class Const(Expr):
    """A number, or (dtype "handle") a string."""

    value: Any
    dtype: str = "int32"

    def __int__(self) -> int:
        return int(self.value)

    def __index__(self) -> int:
        return operator.index(self.value)

    def __float__(self) -> float:
        return float(self.value)


# Binary operators: `//` and `%` round towards minus infinity, `truncdiv` and `truncmod` towards zero,
# `/` is the division of floats.
COMPARE = frozenset({"==", "!=", "<", "<=", ">", ">="})
LOGIC = frozenset({"and", "or"})
ARITH = frozenset({"+", "-", "*", "/", "//", "%", "truncdiv", "truncmod", "min", "max", "&", "|", "^", "<<", ">>"})


@node
class Bin(Expr):
    """`a op b`; both sides have the same dtype, the result's is `dtype` (bool for COMPARE and LOGIC)."""

    op: str
    a: Expr
    b: Expr
    dtype: str


@node
class Not(Expr):
    a: Expr

    @property
    def dtype(self) -> str:  # type: ignore[override]
        return self.a.dtype


@node
class Cast(Expr):
    value: Expr
    dtype: str


@node
class Select(Expr):
    """`then if cond else other`; both sides may be evaluated (compare the intrinsic `if_then_else`, which is lazy)."""

    cond: Expr
    then: Expr
    other: Expr

    @property
    def dtype(self) -> str:  # type: ignore[override]
        e = self.then
        while type(e) is Select:  # a long chain of them
            e = e.then
        return e.dtype


@node
class Call(Expr):
    """`name(args)`. Kinds:

    pure    a mathematical function (`exp`, `sqrt`, ...), `if_then_else(cond, a, b)` (lazy), `likely(cond)`
    intrin  a built-in with an effect or a meaning of its own (`access_ptr`, `prefetch`, ...)
    extern  a C symbol        packed  a registered Python function
    launch  a kernel, by name: grid x, y, z, block x, y, z, then its arguments
    """

    name: str
    args: tuple[Expr, ...]
    dtype: str
    kind: str = "pure"


@node
class Load(Expr):
    """One element, or with a Ramp among the indices a vector, of a buffer (of a tensor, inside a tensor expression).

    `mask`: a bool vector; lanes that are off are not read and give zero.
    """

    buffer: Any
    indices: tuple[Expr, ...]
    dtype: str
    mask: Expr | None = None


@node
class Reduce(Expr):
    """Fold `sources` over `axes` with `combiner`, where `cond` holds. Output `index` of a tuple reduction.

    Only at the top of a tensor expression's body; lowering turns it into an initialising and an updating store.
    """

    combiner: Combiner
    sources: tuple[Expr, ...]
    axes: tuple[Any, ...]  # IterVar
    cond: Expr
    index: int
    init: tuple[Expr, ...]
    dtype: str


@node
class Ramp(Expr):
    """The vector `base, base + stride, ..., base + (count - 1) * stride`."""

    base: Expr
    stride: Expr
    count: int

    @property
    def dtype(self) -> str:  # type: ignore[override]
        return vector(self.base.dtype, self.count)


@node
class Broadcast(Expr):
    """`count` copies of a scalar."""

    value: Expr
    count: int

    @property
    def dtype(self) -> str:  # type: ignore[override]
        return vector(self.value.dtype, self.count)


@node
class Let(Expr):
    var: Expr  # a Var
    value: Expr
    body: Expr

    @property
    def dtype(self) -> str:  # type: ignore[override]
        return self.body.dtype


@node
class Combiner(Node):
    """A commutative, associative fold: `result[i]` over the variables `lhs` and `rhs`, from `identity[i]`."""

    name: str
    lhs: tuple[Var, ...]
    rhs: tuple[Var, ...]
    result: tuple[Expr, ...]
    identity: tuple[Expr, ...]


# ---------------------------------------------------------------- statements


@node
class For(Stmt):
    """`for var in [lo, lo + extent): body`.

    Kinds: serial, parallel, vectorized, unrolled (a mark: printers expand it), thread (`thread` is the tag,
    `threadIdx.x`; all iterations run at once), vthread. `origin` tells the stage, axis and step it came from.
    """

    var: Var
    lo: Expr
    extent: Expr
    kind: str
    body: Stmt
    thread: str = ""
    origin: Any = None


@node
class While(Stmt):
    cond: Expr
    body: Stmt


@node
class Store(Stmt):
    """`buffer[indices] = value`, for the lanes of `mask` only when there is one."""

    buffer: Any
    indices: tuple[Expr, ...]
    value: Expr
    mask: Expr | None = None
    origin: Any = None


@node
class If(Stmt):
    """`likely` marks a guard that is almost always true (loop partitioning removes it from the hot part)."""

    cond: Expr
    then: Stmt
    other: Stmt | None = None
    likely: bool = False


@node
class Seq(Stmt):
    stmts: tuple[Stmt, ...]


@node
class Alloc(Stmt):
    """`buffer` exists while `body` runs; its contents are undefined at the start."""

    buffer: Any
    body: Stmt
    origin: Any = None


@node
class LetStmt(Stmt):
    var: Expr  # a Var
    value: Expr
    body: Stmt


@node
class Attr(Stmt):
    """A note on `body` for a later pass: `key`, the object it is about, a value."""

    key: str
    about: Any
    value: Expr
    body: Stmt


@node
class Barrier(Stmt):
    """All threads of the scope (`shared`: of a block) wait for each other.

    `origin`: why it is there, if a stage or a pass put it there; None for one that a person wrote, which always stays.
    """

    scope: str
    origin: Any = None


@node
class AllReduce(Stmt):
    """Cross-thread reduction: fold `sources` over the thread axes named in `threads`; every thread gets the results.

    `buffers[i][0]` (local) receives result i.
    """

    combiner: Combiner
    sources: tuple[Expr, ...]
    cond: Expr
    buffers: tuple[Any, ...]
    threads: tuple[Var, ...]


@node
class Evaluate(Stmt):
    value: Expr


NOP = Seq(())


# ---------------------------------------------------------------- things programs talk about


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Buffer:
    """Memory of a shape. `strides` None means compact row-major; `offset` (in elements) and strides may be variables.

    `scope`: global, shared, warp, local, or a registered one. `align`: bytes. `logical`: for a flattened view, the
    buffer whose memory it is. `data`: the handle that built-ins take; views of one memory share it.
    `kind` "auto_broadcast": a dimension of extent 1 has stride 0. `factor`: `offset` is a multiple of it.
    """

    name: str
    shape: tuple[Expr, ...]
    dtype: str = "float32"
    _: KW_ONLY
    strides: tuple[Expr, ...] | None = None
    offset: Expr | None = None
    scope: str = "global"
    align: int = 64
    separators: tuple[int, ...] = ()
    logical: Buffer | None = None
    kind: str = ""
    data: Var = None  # type: ignore[assignment]  # a new handle, unless one is given
    factor: int = 1

    def __post_init__(self) -> None:
        if self.data is None:
            object.__setattr__(self, "data", Var(self.name, "handle"))

    def with_(self, **changes: Any) -> Buffer:
        """A new buffer, with a handle of its own, that differs in the given fields."""
        return replace(self, **{"data": None, **changes})

    @property
    def owner(self) -> Buffer:
        """The buffer whose memory it is, as it was declared: of a flat view the logical one."""
        return self.logical or self

    @property
    def size(self) -> int | None:
        """How many elements it has, where every extent is a number."""
        extents = [n.value for n in self.shape if type(n) is Const]
        return math.prod(extents) if len(extents) == len(self.shape) else None

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def __repr__(self) -> str:
        from .text import show

        return f"buffer({self.name}, {self.dtype}[{', '.join(show(s) for s in self.shape)}], {self.scope})"


class Range:
    """The integers from `min` on, `extent` of them."""

    __slots__ = ("extent", "min")

    def __init__(self, lo: Expr, extent: Expr) -> None:
        self.min, self.extent = lo, extent

    def __repr__(self) -> str:
        from .text import show

        return f"range(min={show(self.min)}, ext={show(self.extent)})"


# Types of an IterVar, with the classic numbers.
DATA, THREAD, REDUCE, ORDERED, OPAQUE, UNROLLED, VECTORIZED, PARALLEL, TENSORIZED = range(9)
KIND_NAMES = (
    "DataPar", "ThreadIndex", "CommReduce", "Ordered", "Opaque", "Unrolled", "Vectorized", "Parallelized", "Tensorized",
)  # fmt: skip


class IterVar(Operand):
    """An axis: a variable with a domain and a type. Equal only to itself; stands for its variable in expressions."""

    __slots__ = ("dom", "iter_type", "thread_tag", "var")

    def __init__(self, dom: Range | None, var: Var, iter_type: int = DATA, thread_tag: str = "") -> None:
        self.dom, self.var, self.iter_type, self.thread_tag = dom, var, iter_type, thread_tag

    @property
    def name(self) -> str:
        return self.var.name

    @property
    def dtype(self) -> str:
        return self.var.dtype

    @property
    def extent(self) -> Expr | None:
        return None if self.dom is None else self.dom.extent

    def __repr__(self) -> str:
        return f"iter_var({self.name}, {self.dom}, {self.thread_tag})"

    __hash__ = object.__hash__
