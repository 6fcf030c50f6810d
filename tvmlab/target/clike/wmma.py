"""Fragments of tensor cores as C text: their declarations, and the four calls on them.

    nvcuda::wmma::fragment<nvcuda::wmma::matrix_a, 16, 16, 16, half, nvcuda::wmma::row_major> Af[2];
    nvcuda::wmma::load_matrix_sync(Af[0], A_shared + 16, 24);
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

from ...core import fragments
from ...core.node import Attr, Buffer, Evaluate

if TYPE_CHECKING:
    from .printer import CPrinter


def note(p: CPrinter, s: Attr) -> None:
    """What the pass infer_fragment found of the memory that is declared next."""
    p.tiles[s.about.data] = tuple(s.value.value.split())  # type: ignore[attr-defined]


def declare(p: CPrinter, b: Buffer, name: str) -> None:
    template = p.d.fragments.get("declare")
    if template is None or b.data not in p.tiles:
        why = f"has no fragments of tensor cores, such as `{b.name}`"
        raise p.refuse(None, "scope", why, legal=["shared", "local"])
    m, n, k, *layout = p.tiles[b.data]
    role = fragments.role(b.scope)
    count = p.size(b) // prod(fragments.tile(role, (int(m), int(n), int(k))))
    order = "".join([p.d.fragments["layout"].format(layout=x) for x in layout])
    p.emit(template.format(role=role, m=m, n=n, k=k, type=p.type_of(b.dtype), layout=order, name=name, count=count))


def call(p: CPrinter, s: Evaluate) -> None:
    op = fragments.read(s.value)  # type: ignore[arg-type]
    tiles = [f"{p.names(t.data)}[{p.index(t.index)}]" for t in op.tiles]
    if op.name not in p.d.fragments:
        raise p.refuse(s, "fragments", f"has no tensor cores for {op.name}")
    parts: dict[str, Any] = {"f": tiles[0], **dict(zip("dabc", tiles, strict=False))}
    if op.value is not None:
        parts["value"] = p.value(op.value)
    if op.pointer is not None:
        pointer: Any = op.pointer
        parts["pointer"] = p.value(pointer)
        parts.update(stride=p.index(op.stride), layout=op.layout)  # type: ignore[arg-type]
    name = "load_accumulator" if op.name == "load_matrix_sync" and len(p.tiles[op.tiles[0].data]) == 3 else op.name
    p.emit(p.d.fragments[name].format(**parts))
