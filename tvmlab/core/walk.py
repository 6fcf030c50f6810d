"""Going through programs: children, walk, rewrite, substitute, structural sameness."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from operator import is_not
from typing import Any, TypeVar, cast

from .node import NOP, Const, Expr, For, Let, LetStmt, Load, Node, Seq, Stmt, Store, Var

N = TypeVar("N", bound=Node)


def children(n: Node) -> Iterator[Node]:
    many = n.MANY
    for name in n.CHILDREN:
        value = getattr(n, name)
        if name in many:
            yield from value
        elif value is not None:
            yield value


def walk(n: Node) -> Iterator[Node]:
    """Every node, parents first, in reading order."""
    stack = [n]
    while stack:
        top = stack.pop()
        yield top
        if top.CHILDREN:
            stack += [*children(top)][::-1]


def size(n: Node) -> int:
    """The number of nodes, written out: a part that is used twice counts twice. Linear in the parts themselves."""
    sizes: dict[Any, int] = {}
    stack = [n]
    while stack:
        top = stack[-1]
        if top in sizes:
            stack.pop()
            continue
        missing = [c for c in children(top) if c not in sizes]
        if missing:
            stack += missing
        else:
            sizes[top] = 1 + sum([sizes[c] for c in children(top)])
            stack.pop()
    return sizes[n]


class Holds:
    """Does an expression hold a node that is `wanted`? For a pass that asks of every part: each is looked at once."""

    def __init__(self, wanted: Callable[[Any], bool]) -> None:
        self.wanted = wanted
        self.known: dict[Any, bool] = {}

    def __call__(self, e: Any) -> bool:
        found = self.known.get(e)
        if found is None:
            found = self.wanted(e)
            for c in children(e):
                if found:
                    break
                found = self(c)
            self.known[e] = found
        return found


def map_children(n: N, f: Callable[[Any], Any]) -> N:
    """`n` with `f` applied to its children; `n` itself when none changed."""
    names = n.CHILDREN
    if not names:
        return n
    changes: dict[str, Any] = {}
    many = n.MANY
    for name in names:
        old = getattr(n, name)
        if name in many:
            new = tuple([f(c) for c in old])
            if any(map(is_not, new, old)):
                changes[name] = new
        elif old is not None:
            new = f(old)
            if new is not old:
                changes[name] = new
    return replace(n, **changes) if changes else n


def replace(n: N, **changes: Any) -> N:
    """A copy of `n` with some fields changed."""
    return type(n)(*[changes[f] if f in changes else getattr(n, f) for f in n.FIELDS])


def rewrite(n: N, rule: Callable[[Any], Any]) -> N:
    """Apply `rule` bottom-up; `rule(node)` gives the new node, or None for no change. Unchanged trees are shared."""

    def visit(x: Any) -> Any:
        y = map_children(x, visit)
        z = rule(y)
        return y if z is None else z

    return cast(N, visit(n))


def substitute(n: N, values: Mapping[Any, Any]) -> N:
    """Replace variables (keys of `values`) by expressions. Bound names are unique, so nothing is captured."""
    if not values:
        return n

    def visit(x: Any) -> Any:
        if type(x) is Var:
            return values.get(x, x)
        return map_children(x, visit)

    return cast(N, visit(n))


def substitute_buffers(n: N, buffers: Mapping[Any, Any]) -> N:
    """Replace buffers (or tensors) in loads and stores."""

    def rule(x: Any) -> Any:
        if isinstance(x, (Load, Store)) and x.buffer in buffers:
            return replace(x, buffer=buffers[x.buffer])
        return None

    return rewrite(n, rule)


def seq(*stmts: Stmt | None) -> Stmt:
    """Statements one after another; nested sequences are spliced, empty ones left out."""
    flat: list[Stmt] = []
    for s in stmts:
        if s is not None:
            flat.extend(s.stmts if isinstance(s, Seq) else (s,))
    return flat[0] if len(flat) == 1 else Seq(tuple(flat)) if flat else NOP


def uses(n: Node, variables: Any) -> bool:
    """Does any of the variables occur in `n`?"""
    wanted = {variables} if isinstance(variables, Var) else set(variables)
    return bool(wanted) and any(type(x) is Var and x in wanted for x in walk(n))


def variables(n: Node) -> list[Var]:
    """The variables that occur, each once, in order of occurrence."""
    return list(dict.fromkeys(x for x in walk(n) if isinstance(x, Var)))


def free_variables(n: Node) -> list[Var]:
    """Variables used but not bound inside `n`."""
    bound = {x.var for x in walk(n) if isinstance(x, (For, LetStmt, Let))}
    return [v for v in variables(n) if v not in bound]


def identical(a: Any, b: Any) -> bool:
    """Structural equality over the same variables and buffers."""
    if a is b:
        return True
    t = type(a)
    if t is not type(b):
        return False
    if t is Const:
        return bool(a.value == b.value and a.dtype == b.dtype)
    if t is tuple:
        return len(a) == len(b) and all(map(identical, a, b))
    if isinstance(a, Node):
        return t is not Var and all(identical(getattr(a, f), getattr(b, f)) for f in a.FIELDS if f != "origin")
    return isinstance(a, (str, int)) and bool(a == b)


def same(a: Any, b: Any, names: dict[Any, Any] | None = None) -> bool:
    """Structural equality, up to a one-to-one renaming of variables, buffers and axes."""
    names = {} if names is None else names
    if isinstance(a, Node) and isinstance(b, Node):
        if type(a) is not type(b):
            return False
        if isinstance(a, Var):
            return _paired(a, b, names) and a.dtype == b.dtype  # type: ignore[attr-defined]
        if isinstance(a, Const):
            return bool(a.value == b.value) and a.dtype == b.dtype  # type: ignore[attr-defined]
        return all(same(getattr(a, f), getattr(b, f), names) for f in a.FIELDS if f != "origin")
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(same(x, y, names) for x, y in zip(a, b, strict=True))
    if isinstance(a, (str, int, float, bool)) or a is None:
        return type(a) is type(b) and a == b
    if a is b:
        return True
    return type(a) is type(b) and _paired(a, b, names)


def fingerprint(x: Any, numbers: dict[Any, int] | None = None) -> Any:
    """A hashable form of the structure, equal where `same` is true: variables, buffers and axes count by order."""
    numbers = {} if numbers is None else numbers
    if isinstance(x, Node) and not isinstance(x, Var):
        return (type(x).__name__, *[fingerprint(getattr(x, f), numbers) for f in x.FIELDS if f != "origin"])
    if isinstance(x, tuple):
        return tuple([fingerprint(part, numbers) for part in x])
    if isinstance(x, (str, int, float, bool)) or x is None:
        return x
    return (type(x).__name__, numbers.setdefault(x, len(numbers)), x.dtype if isinstance(x, Var) else "")


def _paired(a: Any, b: Any, names: dict[Any, Any]) -> bool:
    if a in names or ("back", b) in names:
        return names.get(a) is b and names.get(("back", b)) is a
    names[a], names[("back", b)] = b, a
    return True


def loops(n: Node) -> list[For]:
    """The loops, outermost first, in reading order."""
    return [x for x in walk(n) if isinstance(x, For)]


def constant(e: Expr | None) -> int | None:
    """The number, if it is one."""
    return e.value if isinstance(e, Const) else None
