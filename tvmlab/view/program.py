"""A trace as a program: imports, the expression, the steps. It runs in a fresh kernel and gives an equal trace.

    from tvmlab import te

    A = te.placeholder((64, 64), name="A")
    B = te.placeholder((64, 64), name="B")
    k = te.reduce_axis((0, 64), name="k")
    C = te.compute((64, 64), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")

    s = te.create_schedule(C.op)
    i, j = s[C].op.axis
    io, ii = s[C].split(i, factor=8)

What has no such form (statements of one's own, tensor intrinsics) is embedded as the text of a saved trace. The form
is held against the trace by running it, so what is given out is right.
"""

from __future__ import annotations

import textwrap
import warnings
from collections.abc import Iterable
from typing import Any
from weakref import WeakKeyDictionary

from ..core import serial
from ..core.deep import deep
from ..core.error import LabError
from ..core.node import THREAD, Call, Const, Evaluate, Expr, IterVar, Reduce, Var
from ..core.text import identifier
from ..core.walk import variables
from ..expr import reduce as reducers
from ..expr.extern import ExternOp
from ..expr.scan import ScanOp
from ..expr.tensor import ComputeOp, Operation, PlaceholderOp, Tensor
from ..schedule.code import Writer
from ..schedule.state import State
from ..schedule.trace import Trace
from .expression import Code, Unwritten, quoted, shared

WIDTH = 110
BUILT_IN = ("sum", "min", "max", "prod")
# of an unscheduled state, by the schedule's name and the scalars of its steps: see `expression`
_EXPRESSIONS: WeakKeyDictionary[State, dict[tuple[str, tuple[Var, ...]], tuple[str, str]]] = WeakKeyDictionary()


@deep
def program(trace: Trace, schedule: str = "s") -> str:
    """The whole program. `schedule`: the name of its variable. A trace that cannot be saved either says why."""
    imports, made = expression(trace, schedule)
    calls = trace.to_code(schedule)
    whole = "\n".join([imports, "", made, "", _steps(calls, made)])
    if _plain_steps(trace) or _gives(whole, trace, schedule):
        return whole + "\n"
    try:
        text = trace.to_json()
    except LabError as e:
        return f"# This schedule cannot be written as a program that runs by itself:\n# {e.message}\n{calls}\n"
    return "\n".join([IMPORT_TRACE, "", *embedded(text, schedule)]) + "\n"


def _steps(calls: str, made: str) -> str:
    """The calls, without making the schedule where the expression has made it."""
    return calls if "create_schedule" not in made else calls.partition("\n")[2]


# ---------------------------------------------------------------- is it right?


def _plain_steps(trace: Trace) -> bool:
    """Steps whose arguments are loops, tensors, numbers and words: what `to_code` is sure of."""
    return all(_plain(v) for step in trace for v in step.args.values())


def _plain(v: Any) -> bool:
    if isinstance(v, (list, tuple)):
        return all(map(_plain, v))
    return v is None or isinstance(v, (bool, int, float, str, IterVar, Tensor, Operation))


def _gives(text: str, trace: Trace, schedule: str) -> bool:
    """Does the text give an equal trace?"""
    made = _run(text, schedule)
    try:
        return made is not None and made.same(trace)
    except LabError:
        return False


def _run(text: str, schedule: str) -> Trace | None:
    scope: dict[str, Any] = {}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(compile(text, "<program>", "exec"), scope)
        found = scope[schedule].trace
    except Exception:  # whatever is wrong with it, it will not do
        return None
    return found if isinstance(found, Trace) else None


# ---------------------------------------------------------------- the expression


IMPORT_TRACE = "from tvmlab import Trace, te"


def expression(trace: Trace, schedule: str = "s") -> tuple[str, str]:
    """(imports, code) of the tensors. Where they have no code, they come as a saved trace, and so does the schedule."""
    start, extra = trace.prefix(0), tuple(_step_variables(trace))
    known = _EXPRESSIONS.setdefault(start.state, {})
    if (schedule, extra) not in known:
        known[schedule, extra] = _written(start, extra, schedule)
    return known[schedule, extra]


def _written(start: Trace, extra: tuple[Var, ...], schedule: str) -> tuple[str, str]:
    try:
        writer = _Expression(start, extra, schedule)
        code = "\n".join(writer.lines())
        imports = "from tvmlab import te, tir" if writer.uses_tir else "from tvmlab import te"
        if _gives(f"{imports}\n{code}\n{start.to_code(schedule)}", start, schedule):
            return imports, code
    except (Unwritten, LabError):
        pass
    try:
        return IMPORT_TRACE, "\n".join([*embedded(start.to_json(), schedule), *_tensors(start, schedule)])
    except LabError as e:
        return "from tvmlab import te", f"# The tensors cannot be written as code: {e.message}"


def _step_variables(trace: Trace) -> Iterable[Var]:
    """Scalars that steps are given, other than the variables of axes and threads."""
    axes = {a.var for a in trace.state.refs}
    axes |= {a.var for step in trace for a in _axes(step.args.values()) if a.iter_type == THREAD}
    used = (v for step in trace for e in _expressions(step.args.values()) for v in variables(e))
    return dict.fromkeys(v for v in used if v not in axes)


def _axes(values: Iterable[Any]) -> Iterable[IterVar]:
    for v in values:
        if isinstance(v, IterVar):
            yield v
        elif isinstance(v, (list, tuple)):
            yield from _axes(v)


def _expressions(values: Iterable[Any]) -> Iterable[Expr]:
    for v in values:
        if isinstance(v, Expr):
            yield v
        elif isinstance(v, (list, tuple)):
            yield from _expressions(v)


def embedded(text: str, schedule: str) -> list[str]:
    """The schedule from a saved trace."""
    parts = textwrap.wrap(text, WIDTH - 12, break_long_words=True, drop_whitespace=False, break_on_hyphens=False)
    rows = [f"    {part!r}" for part in parts]
    return ["saved = (", *rows, ")", f"{schedule} = te.create_schedule(Trace.from_json(saved))"]


def _tensors(start: Trace, schedule: str) -> list[str]:
    """The tensors under the names that the calls give them."""
    writer = Writer(start, schedule)
    writer.lines()
    names = [writer.names[t] for s in start.state.in_order for t in s.op.outputs]
    return [f"{', '.join(names)}, = [t for h in {schedule}.stages for t in h.op.outputs]"]


class _Expression:
    """Writes the operations of an unscheduled trace, producers first, under the names that `to_code` gives tensors."""

    def __init__(self, start: Trace, extra: tuple[Var, ...], schedule: str) -> None:
        writer = Writer(start, schedule)
        writer.lines()
        self.ops = [s.op for s in start.state.in_order]
        self.names: dict[Any, str] = dict(writer.names)
        self.taken = {*writer.taken, "te", "tir", schedule}
        self.made: list[str] = []
        self.uses_tir = False
        self.reducers: dict[str, str] = {}
        for v in extra:
            self.free(v)

    def lines(self) -> list[str]:
        for op in self.ops:
            self.made += self.operation(op)
        return self.made

    def name(self, thing: Any, wish: str) -> str:
        base = name = identifier(wish)
        count = 1
        while name in self.taken:
            count += 1
            name = f"{base}_{count}"
        self.taken.add(name)
        self.names[thing] = name
        return name

    def free(self, v: Var) -> None:
        """A size or a scalar, before it is first used."""
        if v in self.names:
            return
        dtype = "" if v.dtype == "int32" else f", {quoted(v.dtype)}"
        self.made.append(f"{self.name(v, v.name)} = te.{'size_var' if v.nonneg else 'var'}({quoted(v.name)}{dtype})")

    def operation(self, op: Operation) -> list[str]:
        if isinstance(op, PlaceholderOp):
            return self.placeholder(op)
        if isinstance(op, ComputeOp):
            return self.compute(op)
        if isinstance(op, ScanOp):
            return self.scan(op)
        if isinstance(op, ExternOp):
            return self.extern(op)
        raise Unwritten(f"{op.kind} {op.name}")

    # ------------------------------------------------------------ placeholders, scans

    def placeholder(self, op: PlaceholderOp) -> list[str]:
        (t,) = op.outputs
        dtype = "" if t.dtype == "float32" else f", {quoted(t.dtype)}"
        return [f"{self.names[t]} = te.placeholder({self.shape(t.shape)}{dtype}, name={quoted(op.name)})"]

    def shape(self, shape: tuple[Expr, ...]) -> str:
        dims = [self.scalar(n) for n in shape]
        return f"({', '.join(dims)}{',' if len(dims) == 1 else ''})"

    def scalar(self, e: Expr) -> str:
        for v in variables(e):
            self.free(v)
        return self.write(lambda code: code.index(e))

    def write(self, f: Any) -> str:
        code = Code(self.names)
        text: str = f(code)
        self.uses_tir = self.uses_tir or code.uses_tir
        return text

    def scan(self, op: ScanOp) -> list[str]:
        def several(tensors: tuple[Tensor, ...]) -> str:
            names = [self.names[t] for t in tensors]
            return names[0] if len(names) == 1 else f"[{', '.join(names)}]"

        missing = [t for t in op.scan_inputs if t not in self.names]
        if missing:
            raise Unwritten(f"{op.name} is given {missing[0].name}, which nothing reads")
        given = f", inputs=[{self.listed(op.scan_inputs)}]" if op.scan_inputs else ""
        parts = ", ".join(map(several, (op.init, op.updates, op.state_placeholder)))
        return [f"{self.left(op)} = te.scan({parts}{given}{self.options(op)})"]

    def extern(self, op: ExternOp) -> list[str]:
        """One call of a function by its name, over whole buffers."""
        body = op.body
        call = body.value if isinstance(body, Evaluate) else None
        if not isinstance(call, Call) or call.kind not in ("packed", "extern"):
            raise Unwritten(f"the statements of {op.name}")
        written = {b.data: f"ins[{k}]" for k, b in enumerate(op.in_buffers)}
        written |= {b.data: f"outs[{k}]" for k, b in enumerate(op.out_buffers)}
        for v in (v for a in call.args for v in variables(a) if v not in written):
            self.free(v)
        code = Code({**self.names, **written})
        first = [quoted(call.dtype)] if call.kind == "extern" else []
        args = [*first, quoted(call.name), *map(code.argument, call.args)]
        function = f"lambda ins, outs: {code.tir(f'call_{call.kind}')}({', '.join(args)})"
        shapes, dtypes = [self.shape(t.shape) for t in op.outputs], [quoted(t.dtype) for t in op.outputs]
        self.uses_tir = True
        parts = [f"[{', '.join(shapes)}]" if len(shapes) > 1 else shapes[0], f"[{self.listed(op.sources)}]", function]
        dtype = f"[{', '.join(dtypes)}]" if len(dtypes) > 1 else dtypes[0]
        return [f"{self.left(op)} = te.extern({', '.join(parts)}{self.options(op)}, dtype={dtype})"]

    def listed(self, tensors: Iterable[Tensor]) -> str:
        return ", ".join(self.names[t] for t in tensors)

    def left(self, op: Operation) -> str:
        return self.listed(op.outputs)

    def options(self, op: Operation) -> str:
        tag = f", tag={quoted(op.tag)}" if op.tag else ""
        attrs = f", attrs={dict(op.attrs)!r}" if op.attrs else ""
        return f", name={quoted(op.name)}{tag}{attrs}"

    # ------------------------------------------------------------ computes

    def compute(self, op: ComputeOp) -> list[str]:
        parameters, own, extra = self.parameters(op)
        for a in op.reduce_axis:
            self.reduce_axis(a)
        known = {*own, *(a.var for a in op.reduce_axis)}
        for v in {v: None for b in op.body for v in variables(b)}:
            if v not in known:
                self.free(v)
        shape = self.shape(tuple(a.dom.extent for a in op.axis if a.dom is not None))
        code = Code({**self.names, **own})
        helper, text = self.body(op, code, parameters)
        self.uses_tir = self.uses_tir or code.uses_tir
        call = f"{self.left(op)} = te.compute({shape}, {text}{extra}{self.options(op)})"
        if len(call) <= WIDTH:
            return [*helper, call]
        head = f"{self.left(op)} = te.compute("
        rest = f"{extra}{self.options(op)}".removeprefix(", ")
        return [*helper, head, f"    {shape},", f"    {text},", f"    {rest},", ")"]

    def parameters(self, op: ComputeOp) -> tuple[str, dict[Var, str], str]:
        """The lambda's parameters, how each axis' variable is written in it, and an option that names the axes."""
        names = [a.name for a in op.axis]
        usable = [n for n in names if n.isidentifier() and identifier(n) == n and n not in self.taken]
        if len(set(usable)) == len(names):
            return ", ".join(names), {a.var: a.name for a in op.axis}, ""
        star = next(n for n in ("ax", "axes", "ax_", "axes_", "ax__") if n not in self.taken)
        own = {a.var: f"{star}[{k}]" for k, a in enumerate(op.axis)}
        return f"*{star}", own, f", varargs_names=[{', '.join(map(quoted, names))}]"

    def reduce_axis(self, a: IterVar) -> None:
        if a.var in self.names or a.dom is None:
            return
        lo, n = a.dom.min, a.dom.extent
        tag = f", thread_tag={quoted(a.thread_tag)}" if a.thread_tag else ""
        if isinstance(lo, Const) and isinstance(n, Const) and lo.dtype == n.dtype == "int32":
            dom = f"({lo.value}, {lo.value + n.value})"
        elif isinstance(lo, Const) and lo.value == 0:
            dom = f"({self.scalar(lo)}, {self.scalar(n)})"
        else:
            dom = f"te.Range({self.forced(lo)}, {self.forced(n)})"
        name = self.name(a.var, a.name)
        self.made.append(f"{name} = te.reduce_axis({dom}, name={quoted(a.name)}{tag})")

    def forced(self, e: Expr) -> str:
        """As an expression even where it is a number."""
        for v in variables(e):
            self.free(v)
        return self.write(lambda code: code.expr(e))

    def body(self, op: ComputeOp, code: Code, parameters: str) -> tuple[list[str], str]:
        """Lines to stand before, and the function of the axes."""
        parts = shared(op.body if not isinstance(op.body[0], Reduce) else op.body[0].sources)
        temporaries = []
        names = (n for k in range(1, 10_000) if (n := f"t{k}") not in self.taken)
        for e in parts:
            text, name = code.expr(e), next(names)
            temporaries.append(f"    {name} = {text}")
            code.parts[id(e)] = name
        text = self.value(op, code)
        if not temporaries:
            return [], f"lambda {parameters}: {text}" if parameters else f"lambda: {text}"
        function = self.name(object(), f"{self.names[op.outputs[0]]}_element")
        return [f"def {function}({parameters}):", *temporaries, f"    return {text}", ""], function

    def value(self, op: ComputeOp, code: Code) -> str:
        first = op.body[0]
        if isinstance(first, Reduce):
            return code.reduction(first, op.body, self.reducer(first, code))
        # a bare number is of the type that Python's has in te
        texts = [code.beside(b, None) for b in op.body]
        return texts[0] if len(texts) == 1 else f"({', '.join(texts)})"

    def reducer(self, r: Reduce, code: Code) -> str:
        dtypes = tuple(x.dtype for x in r.sources)
        name = r.combiner.name
        if name in BUILT_IN and len(dtypes) == 1:
            theirs = getattr(reducers, name).combiner(dtypes)
            if serial.canonical(theirs) == serial.canonical(r.combiner):
                return f"te.{name}"
        text = code.combiner(r.combiner)
        if text not in self.reducers:
            self.reducers[text] = self.name(object(), name)
            self.made.append(f"{self.reducers[text]} = {text}")
        return self.reducers[text]
