"""The catalogue a lab starts from without any code: the operators of `kernels/`, with fields for their shapes."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Sequence
from typing import Any

from .. import kernels
from ..core.error import LabError
from ..expr.tensor import Operation, PlaceholderOp, Tensor, post_order
from ..view.payload import Field, Preset, Workload

FIRST = ("matmul", "conv2d", "depthwise_conv2d", "softmax", "norm", "dense", "pooling", "reduction", "elementwise")
DTYPES = ("float32", "float64", "float16", "int32")
EXAMPLE = """\
A = te.placeholder((64, 64))
B = te.placeholder((64, 64))
k = te.reduce_axis((0, 64))
C = te.compute((64, 64), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k))
"""


def catalogue(current: dict[str, Any] | None = None) -> list[Workload]:
    """Every operator that can be declared from numbers and words, the usual ones first.

    `current`: name and shape of the one that is looked at, whose fields then begin with that shape.
    """
    name, shape = (current or {}).get("name"), (current or {}).get("shape")
    rest = [n for n in kernels.names() if n not in FIRST]
    return [workload(n, shape if n == name else None) for n in (*FIRST, *rest)]


def workload(name: str, shape: Any = None) -> Workload:
    """One operator: the fields are the parameters of its `declare`, with the values of `shape`, which may come from a
    file; where it has none that fits, of its first published shape."""
    module = kernels.get(name)
    presets: list[Preset] = [{"name": called(n, v), "values": _plain(v)} for n, v in module.SHAPES.items()]
    first: dict[str, Any] = dict(next(iter(module.SHAPES.values()), {}))
    given = shape if isinstance(shape, dict) else {}
    first |= {k: v for k, v in given.items() if type(v) is type(first.get(k, v))}
    fields = [_field(p, first) for p in inspect.signature(module.declare).parameters.values()]
    text = (inspect.getdoc(module) or "").split("\n")[0]
    return {"name": name, "label": name.replace("_", " "), "text": text, "fields": fields, "presets": presets}


def called(name: str, values: dict[str, Any]) -> str:
    """A preset's name; beside one that only numbers a layer, such as C2, its shape."""
    if not _NUMBERED.fullmatch(name):
        return name
    rest, parts = dict(values), []
    for keys, form in _SHAPES:
        if all(k in rest for k in keys):
            parts.append(form.format(*(rest.pop(k) for k in keys)))
    return f"{name}: {', '.join(parts or [f'{k} {v}' for k, v in list(rest.items())[:3]])}"


_NUMBERED = re.compile(r"[A-Z]{1,2}\d+")
_SHAPES = [
    (("height", "width"), "{}x{}"), (("in_channel", "out_channel"), "{} to {} channels"), (("channel",), "{} channels"),
    (("kernel",), "{0}x{0}"),
]  # fmt: skip


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    return {k: v if isinstance(v, (bool, int, str)) else repr(v) for k, v in values.items()}


def _field(p: inspect.Parameter, first: dict[str, Any]) -> Field:
    value = first.get(p.name, None if p.default is p.empty else p.default)
    label = p.name.replace("_", " ")
    if p.name == "dtype":
        return {"name": p.name, "label": label, "value": value, "kind": "choice", "choices": list(DTYPES)}
    if isinstance(value, bool):
        return {"name": p.name, "label": label, "value": value, "kind": "bool", "choices": []}
    if isinstance(value, int):
        return {"name": p.name, "label": label, "value": value, "kind": "int", "choices": []}
    text = value if isinstance(value, str) else repr(value)
    return {"name": p.name, "label": label, "value": text, "kind": "text", "choices": []}


def declare(name: str, values: dict[str, Any]) -> list[Any]:
    """The operator's tensors, inputs first, from its fields; what is missing is as in its first published shape."""
    asked = shape(name, values)
    try:
        made: list[Any] = kernels.get(name).declare(**asked)
    except LabError:
        raise
    except Exception as e:  # of whatever kind: the operator's own words for values that it cannot have
        raise LabError("no-such-operator", f"there is no {name.replace('_', ' ')} with these values: {e}") from None
    return made


def outputs(tensors: Sequence[Any]) -> list[Operation]:
    """What a schedule of these tensors is of: the operations that nothing else among them needs, however far behind."""
    ops = [t.op for t in tensors if isinstance(t, Tensor)]
    needed = {t.op for op in post_order(ops) for t in op.inputs}
    found = [op for op in ops if op not in needed]
    return [op for op in found if not isinstance(op, PlaceholderOp)] or found


def shape(name: str, values: dict[str, Any]) -> dict[str, Any]:
    """What `declare` of the operator is given: the fields' values as numbers and words, or as they are."""
    module, known = kernels.get(name), workload(name)
    parameters = inspect.signature(module.declare).parameters
    unknown = [k for k in values if k not in parameters]
    if unknown:
        raise LabError("no-such-field", f"{name} has no field {unknown[0]!r}", legal=list(parameters))
    given = {k: _value(name, k, v, known) for k, v in values.items()}
    first: dict[str, Any] = next(iter(module.SHAPES.values()), {})
    return {**{k: first[k] for k in parameters if k in first}, **given}


def _value(operator: str, name: str, value: Any, known: Workload) -> Any:
    field = next(f for f in known["fields"] if f["name"] == name)
    label = f"{operator}: {field['label']}"
    if field["kind"] == "int":
        return _whole(label, value)
    if field["kind"] == "bool":
        return bool(value)
    if field["kind"] == "choice":
        if value not in field["choices"]:
            raise LabError("field-choice", f"{label} cannot be {value!r}", legal=list(map(str, field["choices"])))
        return value
    return _literal(value) if isinstance(value, str) else value


def _whole(label: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value % 1 != 0:  # nor nan, nor infinite
        raise LabError("field-number", f"{label} must be a whole number, not {value!r}")
    if abs(value) >= 2**31:
        raise LabError("field-number", f"{label} must be below 2147483648, not {value:g}")
    return int(value)


def _literal(text: str) -> Any:
    """`1, 64, 56` and `(1, 64, 56)` are tuples, `relu` is a word."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text
