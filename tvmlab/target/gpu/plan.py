"""A host function at given numbers, as commands for a device, one at a time: a loop of the host may be long.

    def main(A, B, n):                            Allocate(2, 4096)
        T = alloc((1024,), "float32")             Launch("main_T", (n//64, 1, 1), (64, 1, 1), ...)
        main_T[(n//64, 1, 1), (64, 1, 1)]    ->   Launch("main_B", (8, 1, 1), (128, 1, 1), ...)
        main_B[(8, 1, 1), (128, 1, 1)]            Free(2)

The host computes with numbers only: loops, conditions, sizes. A launch whose grid is empty is none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ...core import dtype as dt
from ...core.build import FOLD, wrap
from ...core.error import BuildError
from ...core.node import (
    Alloc,
    Attr,
    Bin,
    Buffer,
    Call,
    Cast,
    Const,
    Evaluate,
    Expr,
    For,
    If,
    LetStmt,
    Not,
    Select,
    Seq,
    Stmt,
    Var,
)
from ...core.program import Function
from ...core.text import show
from .code import Allocate, Command, Free, Launch

Numbers = dict[Any, Any]
DIVISIONS = frozenset({"//", "%", "/", "truncdiv", "truncmod"})


def commands(fn: Function, numbers: Sequence[Any] = ()) -> Iterator[Command]:
    """What the host function `fn` asks of the device. `numbers`: its scalar parameters in order, then its sizes.

    The buffer parameters are the slots 0, 1, ...; allocations get the numbers after them. Refused: a host body that
    does anything but loops, conditions, allocations and launches.
    """
    variables = [*(p for p in fn.params if isinstance(p, Var)), *fn.sizes]
    host = _Host(fn.buffers)
    return host.run(fn.body, dict(zip(variables, numbers, strict=True)))


class _Host:
    """`slots`: the number of each buffer's memory, by handle."""

    def __init__(self, buffers: Sequence[Buffer]) -> None:
        self.slots = {b.data: i for i, b in enumerate(buffers)}
        self.next = len(buffers)

    def run(self, s: Stmt, at: Numbers) -> Iterator[Command]:
        step = STEPS.get(type(s))
        if step is None:
            raise _refused(s)
        return step(self, s, at)

    def slot(self, handle: Var) -> int:
        if handle not in self.slots:
            raise BuildError("lost-buffer", f"a launch takes `{handle.name}`, which does not exist on the host there")
        return self.slots[handle]


def _seq(h: _Host, s: Seq, at: Numbers) -> Iterator[Command]:
    for x in s.stmts:
        yield from h.run(x, at)


def _for(h: _Host, s: For, at: Numbers) -> Iterator[Command]:
    if s.kind == "thread":
        raise BuildError("not-split", f"the thread loop `{s.var.name}` is still in the host function: split it first")
    lo, extent = value(s.lo, at), value(s.extent, at)
    for i in range(lo, lo + extent):
        yield from h.run(s.body, {**at, s.var: i})


def _if(h: _Host, s: If, at: Numbers) -> Iterator[Command]:
    if value(s.cond, at):
        yield from h.run(s.then, at)
    elif s.other is not None:
        yield from h.run(s.other, at)


def _let(h: _Host, s: LetStmt, at: Numbers) -> Iterator[Command]:
    yield from h.run(s.body, {**at, s.var: value(s.value, at)})


def _alloc(h: _Host, s: Alloc, at: Numbers) -> Iterator[Command]:
    count = 1
    for extent in s.buffer.shape:
        count *= max(0, value(extent, at))
    slot = h.slots[s.buffer.data] = h.next
    h.next += 1
    yield Allocate(slot, count * dt.size(s.buffer.dtype), s.buffer.name)
    yield from h.run(s.body, at)
    yield Free(slot)


def _launch(h: _Host, s: Evaluate, at: Numbers) -> Iterator[Command]:
    call = s.value
    if isinstance(call, Const):
        return
    if not (isinstance(call, Call) and call.kind == "launch"):
        raise _refused(s)
    x, y, z, bx, by, bz = (int(value(e, at)) for e in call.args[:6])
    if min(x, y, z, bx, by, bz) <= 0:
        return  # no block: nothing happens
    args = tuple(_argument(h, a, at) for a in call.args[6:])
    yield Launch(call.name, (x, y, z), (bx, by, bz), args)


def _argument(h: _Host, e: Expr, at: Numbers) -> tuple[Any, ...]:
    if isinstance(e, Var) and e.dtype == "handle":
        return "buffer", h.slot(e)
    return "number", e.dtype, value(e, at)


STEPS: dict[type, Callable[[_Host, Any, Numbers], Iterator[Command]]] = {
    Seq: _seq, For: _for, If: _if, LetStmt: _let, Alloc: _alloc, Evaluate: _launch,
    Attr: lambda h, s, at: h.run(s.body, at),
}  # fmt: skip


def _refused(s: Any) -> BuildError:
    return BuildError(
        "host-statement", f"`{show(s)}` would run on the host, which only launches kernels on a device",
        hint='bind the stage that it is of, in two lines:\n    s[C].bind(i, te.thread_axis("blockIdx.x"))\n'
        '    s[C].bind(j, te.thread_axis("threadIdx.x"))',
    )  # fmt: skip


# ---------------------------------------------------------------- numbers


def value(e: Expr, at: Numbers) -> Any:
    """The number that a scalar expression stands for. An element of an array is none: it lies on the device."""
    evaluate = VALUES.get(type(e))
    if evaluate is None:
        raise BuildError(
            "host-value", f"`{show(e)}` decides what is launched, but its value is on the device",
            hint="a size or a condition of a launch is made of sizes, scalar arguments and loops of the host",
        )  # fmt: skip
    return evaluate(e, at)


def _variable(e: Var, at: Numbers) -> Any:
    if e not in at:
        raise BuildError("no-value", f"the host uses `{e.name}`, which has no value there")
    return at[e]


def _binary(e: Bin, at: Numbers) -> Any:
    a, b = value(e.a, at), value(e.b, at)
    if e.op in DIVISIONS and b == 0 and not dt.is_float(e.dtype):
        return 0  # as everywhere in programs
    made = FOLD[e.op](a, b)
    return made if dt.is_float(e.dtype) else bool(made) if dt.is_bool(e.dtype) else wrap(int(made), e.dtype)


def _cast(e: Cast, at: Numbers) -> Any:
    found = value(e.value, at)
    if dt.is_float(e.dtype):
        return float(found)
    return bool(found) if dt.is_bool(e.dtype) else wrap(int(found), e.dtype)


def _call(e: Call, at: Numbers) -> Any:
    if e.name == "likely":
        return value(e.args[0], at)
    if e.name == "if_then_else":
        return value(e.args[1 if value(e.args[0], at) else 2], at)
    raise BuildError("host-value", f"the host cannot compute `{show(e)}`", hint="pass it as an argument")


VALUES: dict[type, Callable[[Any, Numbers], Any]] = {
    Const: lambda e, at: e.value, Var: _variable, Bin: _binary, Cast: _cast, Call: _call,
    Not: lambda e, at: not value(e.a, at),
    Select: lambda e, at: value(e.then if value(e.cond, at) else e.other, at),
}  # fmt: skip
