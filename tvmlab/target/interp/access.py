"""Checked reads and writes as Python text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...core import dtype as dt
from ...core.node import Const, Expr, Load, Ramp, Store
from .writer import Place, Writer


def read(w: Writer, e: Load) -> str:
    """The text of a load: a temporary."""
    p = w.place(e.buffer)
    _check_dtype(w, p, e.dtype, len(e.indices), "reads")
    w.block.loads[p.buffer.owner.name] += dt.lanes(e.dtype)
    if dt.lanes(e.dtype) > 1 or e.mask is not None:
        return _read_vector(w, p, e)
    at, result = _indices(w, e.indices), w.fresh("t")
    inside = _inside(w, p, at)
    if inside:
        w.line(f"if {inside}:")
        w.depth += 1
    _read_scalar(w, p, at, result)
    if inside:
        w.depth -= 1
        w.line(f"else: {result} = R.outside({p.record}, ({_tuple(at)}), {w.at(p.buffer)}, 'read')")
    return result


def _read_scalar(w: Writer, p: Place, at: list[str], result: str) -> None:
    a = w.atom(_address(p, at)) if p.init or p.writer else _address(p, at)
    w.line(f"{result} = {p.view}[{a}]")
    if p.init:
        w.line(f"if {p.init}[{a}] < {p.version}: {result} = R.unwritten({p.record}, {a}, {w.at(p.buffer)})")
    if p.writer:
        w.line(f"if {p.writer}[{a}] != R.task: R.note_read({p.record}, {a}, {w.at(p.buffer)})")


def _read_vector(w: Writer, p: Place, e: Load) -> str:
    count = dt.lanes(e.dtype)
    if e.mask is None and _contiguous(p, e.indices):
        return _read_span(w, p, e.indices)
    at, mask = _indices(w, e.indices), "None" if e.mask is None else w.value(e.mask)
    text = w.atom(_lane_by_lane(w, p, at, mask, count))
    return text if count > 1 else w.atom(f"one({text})")


def _lane_by_lane(w: Writer, p: Place, at: list[str], mask: str, count: int) -> str:
    what = f"{p.record}, ({_tuple(at)}), {mask}, {count}"
    return f"R.load({what}, {w.at(p.buffer)}, {w.options.bounds}, {p.version})"


def _read_span(w: Writer, p: Place, indices: Sequence[Expr]) -> str:
    """Lanes one after another in memory: a slice where all is well, else lane by lane."""
    first, ramp, count = _span(w, indices)
    a, result = w.atom(_address(p, first)), w.fresh("t")
    good = [g for g in [_inside_span(w, p, first, count)] if g]
    if p.init:
        good.append(f"({p.record}.written[{a}:{a} + {count}] >= {p.version}).all()")
    w.line(f"if {' and '.join(good) or 'True'}: {result} = {p.record}.data[{a}:{a} + {count}].copy()")
    w.line(f"else: {result} = {_lane_by_lane(w, p, [*first[:-1], ramp], 'None', count)}")
    return result


def _span(w: Writer, indices: Sequence[Expr]) -> tuple[list[str], str, int]:
    """The indices of the first lane, the text of the last index for all lanes, how many there are."""
    last = indices[-1]
    assert isinstance(last, Ramp)
    first = [*_indices(w, indices[:-1]), w.atom(w.index(last.base))]
    return first, f"{first[-1]} + {w.steps(last.count)}", last.count


def _inside_span(w: Writer, p: Place, first: list[str], count: int) -> str:
    if not w.options.bounds:
        return ""
    return f"{_inside(w, p, first) or 'True'} and {first[-1]} + {count} <= {p.shape[-1]}"


def _contiguous(p: Place, indices: Sequence[Expr]) -> bool:
    """Only the last index is a vector, with steps of one element, and nobody has to be told of the accesses."""
    last = indices[-1] if indices else None
    if not isinstance(last, Ramp) or not (isinstance(last.stride, Const) and last.stride.value == 1):
        return False
    if any(dt.lanes(i.dtype) > 1 for i in indices[:-1]) or p.writer or p.loose:
        return False
    return p.strides is None or p.strides[-1] == "1"


def write(w: Writer, s: Store) -> None:
    p = w.place(s.buffer)
    _check_dtype(w, p, s.value.dtype, len(s.indices), "stores")
    lanes = max(dt.lanes(x.dtype) for x in (*s.indices, s.value))
    w.block.stores[p.buffer.owner.name] += lanes
    text = w.atom(w.value(s.value))
    if lanes == 1 and s.mask is None:
        write_scalar(w, p, s.indices, text)
        return
    if s.mask is None and _contiguous(p, s.indices):
        _write_span(w, p, s.indices, text)
        return
    mask = "None" if s.mask is None else w.value(s.mask)
    _write_lanes(w, p, _indices(w, s.indices), text, mask, lanes)


def _write_lanes(w: Writer, p: Place, at: list[str], text: str, mask: str, lanes: int) -> None:
    what = f"{p.record}, ({_tuple(at)}), {text}, {mask}, {lanes}"
    w.line(f"R.store({what}, {w.at(p.buffer)}, {w.options.bounds}, {p.version})")


def _write_span(w: Writer, p: Place, indices: Sequence[Expr], text: str) -> None:
    first, ramp, count = _span(w, indices)
    w.line(f"if {_inside_span(w, p, first, count) or 'True'}:")
    with w.indented():
        a = w.atom(_address(p, first))
        w.line(f"{p.record}.data[{a}:{a} + {count}] = {text}")
        if p.init:
            w.line(f"{p.record}.written[{a}:{a} + {count}] = {p.version}")
    w.line("else:")
    with w.indented():
        _write_lanes(w, p, [*first[:-1], ramp], text, "None", count)


def write_scalar(w: Writer, p: Place, indices: Sequence[Expr], text: str) -> None:
    """`buffer[indices] = text`, with the checks."""
    at = _indices(w, indices)
    inside = _inside(w, p, at)
    if inside:
        w.line(f"if {inside}:")
        w.depth += 1
    a = w.atom(_address(p, at)) if p.init or p.writer else _address(p, at)
    if p.writer:
        w.line(f"if {p.writer}[{a}] != R.task: R.note_write({p.record}, {a}, {w.at(p.buffer)}, {text})")
    w.line(f"{p.view}[{a}] = {text}")
    if p.init:
        w.line(f"{p.init}[{a}] = {p.version}")
    if inside:
        w.depth -= 1
        w.line(f"else: R.outside({p.record}, ({_tuple(at)}), {w.at(p.buffer)}, 'write')")


def _indices(w: Writer, indices: Sequence[Expr]) -> list[str]:
    return [w.atom(w.index(i)) for i in indices]


def _tuple(at: list[str]) -> str:
    return "".join(f"{i}, " for i in at)


def _inside(w: Writer, p: Place, at: list[str]) -> str:
    """The condition of a legal access; "" when there is nothing to check."""
    if not w.options.bounds:
        return ""
    parts = [f"0 <= {i} < {n}" for i, n in zip(at, p.shape) if not _within(i, n)]
    if p.loose:
        parts.append(f"0 <= {_address(p, at)} < {p.record}.size")
    return " and ".join(parts)


def _within(i: str, n: str) -> bool:
    return i.isdigit() and n.isdigit() and int(i) < int(n)


def _address(p: Place, at: list[str]) -> str:
    if p.strides is not None:
        terms = [i if s == "1" else f"{i}*{s}" for i, s in zip(at, p.strides)]
        return " + ".join([t for t in [*terms, p.offset] if t != "0"]) or "0"
    text = at[0] if at else "0"
    for i, n in zip(at[1:], p.shape[1:]):
        text = f"({text})*{n} + {i}"
    return text if p.offset == "0" else f"{text} + {p.offset}"


def _check_dtype(w: Writer, p: Place, dtype: str, rank: int, verb: str) -> None:
    b: Any = p.buffer
    if dt.element(dtype) != dt.element(b.dtype):
        raise w.refuse("access-dtype", f"this {verb} {dtype}, but {b.name} holds {b.dtype}")
    if rank != len(b.shape):
        raise w.refuse("access-rank", f"this {verb} {b.name} with {rank} indices, but it has {len(b.shape)} dimensions")
