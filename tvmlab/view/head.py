"""What the head of a lab says of a schedule: its title, its equations, whether it is complete, its code."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import shorten
from typing import TypedDict

from ..core.error import LabError
from ..core.node import Bin, Cast, Expr, IterVar, Load, Reduce
from ..core.text import show
from ..expr.tensor import ComputeOp, Operation
from ..face.fits import refused, without_threads
from ..schedule.state import is_input
from ..schedule.trace import Trace
from ..target import Target
from .frame import bound, frame
from .payload import Badge, Sign
from .program import program
from .rich import equation

LONGEST = 240  # letters of an equation
LONGEST_BADGE = 80


class Said(TypedDict):
    """The part of payload.Head that the schedule alone decides."""

    title: str
    expression: list[str]
    badge: Badge
    calls: str
    program: str


def said(
    trace: Trace, variable: str = "s", parked: Sequence[str] = (), workload: str = "", target: Target | None = None
) -> Said:
    """`variable`: what the schedule is called in code. `parked`: steps that no longer apply, each with its reason.
    `target`: what it is to run on."""
    return {
        "title": title(trace, workload), "expression": expression(trace), "badge": badge(trace, parked, target),
        "calls": trace.to_code(variable), "program": program(trace, variable),
    }  # fmt: skip


# ---------------------------------------------------------------- title


def title(trace: Trace, workload: str = "") -> str:
    """ "matmul 512x512x512 float32", "conv2d nchw 1x16x14x14 float32"; else the output with its shape.

    `workload`: what it is, where that is known.
    """
    op = trace.outputs[-1]
    t = op.outputs[0]
    found = matmul(op)
    if found and workload in ("", "matmul"):
        return f"matmul {times(found)} {t.dtype}"
    known = op.tag.replace("_", " ").split(",")[0] if op.tag.isascii() and op.tag.replace("_", "a").isalnum() else ""
    size = times(t.shape) if t.shape else "scalar"
    others = len(trace.outputs) - 1
    more = f" and {others} more output{'s' * (others > 1)}" if others else ""
    return f"{_name(op, known if known not in GENERAL else '', workload)} {size} {t.dtype}{more}"


def _name(op: Operation, known: str, workload: str) -> str:
    """By its tag; operators of the library are called T_relu or T_add where the tag only says of what kind they are."""
    if known or op.name.startswith("T_"):
        return known.removesuffix(" output") or op.name.removeprefix("T_").replace("_", " ")
    return workload.replace("_", " ") or op.name


GENERAL = frozenset({"injective", "elemwise", "broadcast", "comm reduce", "opaque"})  # tags of many operators


def times(shape: Sequence[Expr]) -> str:
    return "x".join(show(n) for n in shape)


def matmul(op: Operation) -> list[Expr]:
    """The m, n and k of C[i, j] = sum(A[i, k] * B[k, j], k), either side perhaps transposed or cast; else nothing."""
    body = op.body[0] if isinstance(op, ComputeOp) else None
    if not isinstance(body, Reduce) or body.combiner.name != "sum" or len(op.axis) != 2 or len(body.axes) != 1:
        return []
    (source,), (i, j), (k,) = body.sources[:1], op.axis, body.axes
    if not isinstance(source, Bin) or source.op != "*" or body.init:
        return []
    left, right = map(_read_axes, (source.a, source.b))
    ways = ({i.var, k.var}, {k.var, j.var})
    if (left, right) not in (ways, ways[::-1]):
        return []
    return [a.dom.extent for a in (i, j, k) if isinstance(a, IterVar) and a.dom is not None]


def _read_axes(e: Expr) -> set[Expr]:
    """The indices of a plain read."""
    while isinstance(e, Cast):
        e = e.value
    return set(e.indices) if isinstance(e, Load) and len(e.indices) == 2 else set()


# ---------------------------------------------------------------- equations, badge


def expression(trace: Trace) -> list[str]:
    """One line for each tensor that is computed, producers first."""
    stages = [s for s in trace.prefix(0).state.in_order if not is_input(s)]
    lines = [equation(t) for s in stages for t in s.op.outputs]
    return [x if len(x) <= LONGEST else x[:LONGEST] + " ..." for x in lines]


def badge(trace: Trace, parked: Sequence[str] = (), target: Target | None = None) -> Badge:
    """ "legal", "2 things are open", "1 step no longer applies", "not for opencl: threadIdx.x = 1024 threads ..."."""
    shown = frame(trace)
    error = [shown["error"]["text"]] if "error" in shown else []
    owed = [] if error else shown["notes"]
    words = ["cannot be lowered"] if error else []
    words += [counted(len(parked), "step no longer applies", "steps no longer apply")] if parked else []
    words += [counted(len(owed), "thing is open", "things are open")] if owed else []
    against = None if error or owed or target is None else _refused(trace, target)
    if against is not None and target is not None:
        text = f"not for {target.name}: {against.message}".replace("`", "")
        words.append(shorten(text, LONGEST_BADGE, placeholder=" ..."))
    sign: Sign = "x" if error or parked or against else "?" if owed else "+"
    return {"sign": sign, "text": ", ".join(words) or "legal", "items": [*error, *parked, *owed, *_told(against)]}


def _refused(trace: Trace, target: Target) -> LabError | None:
    """Why the target does not take it. Of CPUs only: have they the threads that loops are bound to?"""
    if target.device_model:
        return refused(trace, target)
    return without_threads(target) if not target.kind.threads and bound(trace) else None


def _told(error: LabError | None) -> list[str]:
    if error is None:
        return []
    instead = f"Instead: {', '.join(error.legal)}." if error.legal else ""
    lines = (error.message, *error.where, instead, *error.hint.splitlines())
    return [x.strip().replace("`", "") for x in lines if x]


def counted(n: int, one: str, many: str) -> str:
    return f"{n} {one if n == 1 else many}"
