"""Programs and expression graphs as JSON, both ways.

    text = dumps(thing)        thing: nodes, buffers, axes, and (registered by expr) tensors and operations; also in
    again = loads(text)        tuples, lists and dicts

Every object is written once, in a table, and referred to by its number there: what is one object (a variable, an
axis, a shared subexpression) is one object again. An entry is [class name, parts...]; it refers only to entries
before it. A loop's or statement's `origin` is not saved. Python functions are refused by name. Numbers that a browser
would write otherwise (it has no 1.0, no -0.0 and no whole numbers beyond 2**53) are in the text as words.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from . import dtype as dt
from . import node
from .error import LabError
from .node import Buffer, Const, Expr, IterVar, Node, Range
from .program import Function, Program

VERSION = 1
EXACT = 2**53  # whole numbers up to here are the same in a browser


class SerialError(LabError, ValueError):
    """Something that has no text form, or a text that is not one of ours."""


class Codec(NamedTuple):
    """`parts(x)`: what `x` is made of; `make(*parts)`: it again. `notes`: how many parts at the end compute nothing."""

    tag: str
    parts: Callable[[Any], Sequence[Any]]
    make: Callable[..., Any]
    notes: int = 0


_BY_TYPE: dict[type, Codec] = {}
_BY_TAG: dict[str, Codec] = {}


def register(
    cls: type, parts: Callable[[Any], Sequence[Any]], make: Callable[..., Any] | None = None, notes: int = 0
) -> None:
    """Make objects of a class savable; the class' name is their tag."""
    codec = Codec(cls.__name__, parts, make or cls, notes)
    _BY_TYPE[cls] = _BY_TAG[codec.tag] = codec


# ---------------------------------------------------------------- writing


def dumps(thing: Any, indent: int | None = None) -> str:
    """The JSON text of a thing."""
    return json.dumps(to_data(thing), indent=indent, allow_nan=False, separators=None if indent else (",", ":"))


def to_data(thing: Any) -> dict[str, Any]:
    """The same as plain lists and dicts, to be part of a larger JSON document."""
    return _written(_Writer(), thing)


def canonical(thing: Any, nameless: Sequence[Any] = ()) -> dict[str, Any]:
    """The same for things that compute the same: expressions that are alike count as one, shared or not; the names of
    axes (and of the variables `nameless`), tags and attributes do not count. It is not read again.

    What stands for something else than its parts (a variable, an axis, a buffer, an operation) is still itself. Names
    that a caller gives values to (of tensors, of sizes) count.
    """
    writer = _Canonical()
    found = _written(writer, thing)
    for kind, *parts in writer.objects:
        if kind == "IterVar":
            writer.objects[parts[1]["ref"]][1] = ""
    for v in nameless:
        if id(v) in writer.number:
            writer.objects[writer.number[id(v)]][1] = ""
    return found


def _written(writer: _Writer, thing: Any) -> dict[str, Any]:
    writer.add(thing)
    return {"tvmlab": VERSION, "objects": writer.objects, "root": writer.value(thing)}


def _is_plain(x: Any) -> bool:
    return x is None or isinstance(x, (bool, int, float, str))


def _objects(x: Any) -> Iterator[Any]:
    """The objects in a value that need an entry of their own, through containers."""
    if isinstance(x, (tuple, list)):
        for part in x:
            yield from _objects(part)
    elif isinstance(x, dict):
        yield from _objects(list(x.items()))
    elif not _is_plain(x):
        yield x


class _Writer:
    def __init__(self) -> None:
        self.objects: list[list[Any]] = []
        self.number: dict[int, int] = {}

    def add(self, thing: Any) -> None:
        """Enter all objects, parts first. With a stack of its own: chains of operations may be long."""
        stack: list[tuple[Any, Sequence[Any] | None]] = [(x, None) for x in reversed(list(_objects(thing)))]
        while stack:
            x, parts = stack.pop()
            if id(x) in self.number or _is_plain(_number(x)):
                continue
            if parts is not None:
                self.number[id(x)] = self.enter(x, [codec_of(x).tag, *map(self.value, parts)])
                continue
            parts = self.parts(x)
            stack.append((x, parts))
            stack.extend((p, None) for p in reversed(list(_objects(parts))))

    def parts(self, x: Any) -> Sequence[Any]:
        return codec_of(x).parts(x)

    def enter(self, x: Any, entry: list[Any]) -> int:
        """The number of an object whose parts are in."""
        self.objects.append(entry)
        return len(self.objects) - 1

    def value(self, x: Any) -> Any:
        x = _number(x)
        if isinstance(x, float) and (not math.isfinite(x) or x.is_integer()):
            return {"float": repr(x)}
        if isinstance(x, int) and abs(x) > EXACT:
            return {"int": str(x)}
        if _is_plain(x):
            return x
        if isinstance(x, (tuple, list)):
            listed = [self.value(part) for part in x]
            return {"tuple": listed} if isinstance(x, tuple) else listed
        if isinstance(x, dict):
            return {"dict": [[self.value(k), self.value(v)] for k, v in x.items()]}
        return {"ref": self.number[id(x)]}


class _Canonical(_Writer):
    """Equal expressions get one number."""

    def __init__(self) -> None:
        super().__init__()
        self.known: dict[str, int] = {}

    def parts(self, x: Any) -> Sequence[Any]:
        codec = codec_of(x)
        found = codec.parts(_const(x.value, x.dtype) if isinstance(x, Const) else x)
        return found[: len(found) - codec.notes]

    def enter(self, x: Any, entry: list[Any]) -> int:
        if not isinstance(x, (Expr, Range)) or isinstance(x, node.Var):
            return super().enter(x, entry)
        key = json.dumps(entry)
        if key not in self.known:
            self.known[key] = super().enter(x, entry)
        return self.known[key]


def _number(x: Any) -> Any:
    """A NumPy number as Python's."""
    return x.item() if hasattr(x, "item") and not isinstance(x, Node) else x


def codec_of(x: Any) -> Codec:
    found = _BY_TYPE.get(type(x))
    if found is None:
        raise _refused(x)
    return found


def _refused(x: Any) -> SerialError:
    if callable(x) and hasattr(x, "__name__"):
        return SerialError(
            "function-not-savable",
            f"cannot save `{getattr(x, '__qualname__', x.__name__)}`: a Python function has no text form",
            hint="call it by name instead: register it with register_func and use tir.call_packed",
        )
    kind = type(x).__name__
    return SerialError("not-savable", f"cannot save {x!r}: a {kind} has no text form", legal=sorted(_BY_TAG))


# ---------------------------------------------------------------- reading


def loads(text: str) -> Any:
    """The thing that a text of `dumps` stands for."""
    try:
        data = json.loads(text)
    except ValueError as e:
        raise SerialError("damaged-text", f"this is not the text of a saved program: {e}") from None
    return from_data(data)


def also(cls: type, codec: Codec) -> None:
    """Make objects of a class savable under a tag that is not read as this class elsewhere."""
    _BY_TYPE[cls] = codec


def from_data(data: Any, instead: Callable[[str, list[Any], bool], Any] | None = None) -> Any:
    """The thing that `to_data` made this of.

    A class that does not exist here is refused, unless `instead(class name, parts, whether it exists)` makes something
    else of the object (None: the object as usual).
    """
    if not isinstance(data, dict) or "tvmlab" not in data:
        raise SerialError("damaged-text", "this is not the text of a saved program: no `tvmlab` version in it")
    if data["tvmlab"] != VERSION:
        raise SerialError("version", f"saved as version {data['tvmlab']}, this tvmlab reads version {VERSION}")
    try:
        made: list[Any] = []
        for tag, *parts in data["objects"]:
            values = [_value(p, made) for p in parts]
            other = None if instead is None else instead(tag, values, tag in _BY_TAG)
            made.append(_codec(tag).make(*values) if other is None else other)
        return _value(data["root"], made)
    except (KeyError, IndexError, TypeError, AttributeError) as e:
        raise SerialError("damaged-text", f"this text of a saved program is damaged: {type(e).__name__}: {e}") from None


def _codec(tag: str) -> Codec:
    if tag not in _BY_TAG:
        raise SerialError("unknown-class", f"this text holds a `{tag}`, which is not known here", legal=sorted(_BY_TAG))
    return _BY_TAG[tag]


def _value(x: Any, made: list[Any]) -> Any:
    if isinstance(x, list):
        return [_value(part, made) for part in x]
    if not isinstance(x, dict):
        return x
    ((kind, content),) = x.items()
    if kind == "ref":
        return made[content]
    if kind in ("float", "int"):
        return float(content) if kind == "float" else int(content)
    if kind == "tuple":
        return tuple(_value(part, made) for part in content)
    return {_value(k, made): _value(v, made) for k, v in content}


# ---------------------------------------------------------------- what core has


def _fields(n: Node) -> list[Any]:
    return [None if f == "origin" else getattr(n, f) for f in n.FIELDS]


def _const(value: Any, dtype: str) -> Const:
    """Of a text that went through a browser: 1.0 may have come back as 1."""
    whole = isinstance(value, int) and not isinstance(value, bool)
    return Const(float(value) if whole and dt.is_float(dtype) else value, dtype)


_BUFFER = tuple(f.name for f in dataclasses.fields(Buffer))


def _install() -> None:
    for cls in vars(node).values():
        if isinstance(cls, type) and issubclass(cls, Node) and cls.FIELDS:
            register(cls, _fields)
    register(Const, _fields, _const)
    register(
        Buffer,
        lambda b: [getattr(b, f) for f in _BUFFER],
        lambda *parts: Buffer(**dict(zip(_BUFFER, parts, strict=True))),
    )
    register(Range, lambda r: [r.min, r.extent])
    register(IterVar, lambda a: [a.dom, a.var, a.iter_type, a.thread_tag])
    register(Function, lambda f: [f.name, f.params, f.body, f.sizes, f.attrs])
    register(Program, lambda p: [p.functions, p.notes, p.remarks])


_install()
