"""A trace as the code that makes it: the classic calls, in the names the person used.

Tensors bear their operations' names; axes the names they were given, or `i_outer`. Executing the code (with `te`, the
tensors and nothing else in scope) gives an equal trace.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ..core.error import ScheduleError
from ..core.node import THREAD, Expr, IterVar, Node
from ..core.text import identifier, show
from ..core.walk import variables
from ..expr.intrin import as_given
from ..expr.tensor import Operation, Tensor
from . import primitives
from .layout import Layout
from .state import Stage, State
from .trace import Step, Trace


def to_code(trace: Trace, schedule: str = "s") -> str:
    """The code of a trace, one line a step (and a line where axes of operations are first taken up)."""
    return "\n".join(Writer(trace, schedule).lines())


def calls(trace: Trace, schedule: str = "s") -> list[str]:
    """The call of each step alone, in the names that `to_code` gives."""
    writer = Writer(trace, schedule)
    writer.lines()
    return writer.calls


class Writer:
    def __init__(self, trace: Trace, schedule: str) -> None:
        self.trace, self.s = trace, schedule
        self.names: dict[Any, str] = {}  # axes and tensors -> their variable
        self.taken: set[str] = {schedule, "te"}
        self.calls: list[str] = []
        self.by_variable = {a.var: a for step in trace for a in _axes(step.args) if a.iter_type == THREAD}
        self.wanted = {id(a) for step in trace for a in _axes(step.args)}

    def name(self, thing: Any, wish: str) -> str:
        base = name = identifier(wish)
        count = 1
        while name in self.taken:
            count += 1
            name = f"{base}_{count}"
        self.taken.add(name)
        self.names[thing] = name
        return name

    def lines(self) -> list[str]:
        first = self.trace.prefix(0).state
        for stage in first.in_order:
            for t in stage.op.outputs:
                self.name(t, t.name)
        outputs = ", ".join(f"{self.names[op.outputs[0]]}.op" for op in self.trace.outputs)
        made = [f"{self.s} = te.create_schedule({outputs if len(self.trace.outputs) == 1 else f'[{outputs}]'})"]
        made += self.root_axes(first, [s.index for s in first.in_order])
        for n, step in enumerate(self.trace):
            before, after = self.trace.prefix(n).state, self.trace.prefix(n + 1)
            made += self.threads(step)
            self.calls.append(self.step(step, before, after.results))
            made.append(self.calls[-1])
            changed = [i for i in after.state.order if before.stages.get(i) is not after.state.stages[i]]
            made += self.root_axes(after.state, changed)
        return made

    def root_axes(self, state: State, stages: list[int]) -> list[str]:
        """`i, j = s[C].op.axis`, for operations whose axes a later step names."""
        made = []
        for i in stages:
            stage = state.stages[i]
            for field in ("axis", "reduce_axis"):
                axes = getattr(stage.op, field)
                if any(id(a) in self.wanted and a not in self.names for a in axes):
                    names = [self.names.get(a) or self.name(a, state.labels.get(a) or a.name) for a in axes]
                    made.append(f"{', '.join(names)}{',' if len(names) == 1 else ''} = {self.stage(stage)}.op.{field}")
        return made

    def threads(self, step: Step) -> list[str]:
        made = []
        used = {x for v in step.args.values() if isinstance(v, Expr) for x in variables(v)}
        for a in [*_axes(step.args), *(a for v, a in self.by_variable.items() if v in used)]:
            if a.iter_type == THREAD and a not in self.names:
                extent = f"{show(a.dom.extent)}, " if a.dom is not None else ""
                named = f', name="{a.name}"' if a.name != a.thread_tag else ""
                made.append(f'{self.name(a, a.name)} = te.thread_axis({extent}"{a.thread_tag}"{named})')
        return made

    def step(self, step: Step, state: State, results: Any) -> str:
        args = dict(step.args)
        target = self.s
        parameters = primitives.parameters(step.primitive)
        if parameters[0] == "stage":
            target = self.stage(state.stages[args.pop("stage")])
        texts: list[str] = []
        keywords = False
        for p in parameters:
            if p not in args:
                keywords = keywords or p != "stage"
                continue
            value = args[p]
            if p == primitives.star(step.primitive):
                texts += [self.value(v, state) for v in value]
            elif value is None:
                keywords = True
            else:
                is_stage = p == "parent" and isinstance(value, int)
                text = self.stage(state.stages[value]) if is_stage else self.value(value, state)
                keywords = keywords or p in ("factor", "nparts")
                texts.append(f"{p}={text}" if keywords else text)
        call = f"{target}.{step.primitive}({', '.join(texts)})"
        left = self.results(step, results)
        return f"{left} = {call}" if left else call

    def results(self, step: Step, results: Any) -> str:
        many = isinstance(results, (tuple, list))
        things = [x for x in (results if many else (results,)) if isinstance(x, (IterVar, Tensor))]
        fresh = [x for x in things if x not in self.names]
        if not fresh:
            return ""
        wishes = step.names if len(step.names) == len(things) else tuple(x.name for x in things)
        names = [self.names.get(x) or self.name(x, w) for x, w in zip(things, wishes, strict=True)]
        return ", ".join(names)

    def stage(self, stage: Stage) -> str:
        return f"{self.s}[{self.tensor(stage)}]"

    def tensor(self, stage: Stage) -> str:
        for op in (stage.origin, stage.op):
            if op.outputs[0] in self.names:
                return self.names[op.outputs[0]]
        raise ScheduleError("no-name", f"stage {stage.name} has no tensor with a name")

    def value(self, v: Any, state: State) -> str:
        if isinstance(v, IterVar):
            return self.names[v]
        if isinstance(v, Tensor):
            stage = state.stage_of(v)
            outputs = stage.origin.outputs
            return self.names.get(v) or self.names.get(outputs[v.value_index]) or self.tensor(stage)
        if isinstance(v, Operation):
            return f"{self.tensor(state.stage_of(v))}.op"
        if isinstance(v, (list, tuple)):
            return f"[{', '.join(self.value(x, state) for x in v)}]"
        if isinstance(v, Layout):
            names = ", ".join(identifier(x.name) for x in v.variables)
            return f"lambda {names}: [{', '.join(self.layout(v))}]"
        if isinstance(v, Expr):
            return self.expression(v)
        if hasattr(v, "op") and hasattr(v, "name"):  # a tensor intrinsic: the variable it was declared as
            return as_given(v) or identifier(v.name)
        return json.dumps(v) if isinstance(v, str) else repr(v)

    def layout(self, v: Layout) -> list[str]:
        made = []
        for k, e in enumerate(v.outputs):
            made += ["te.AXIS_SEPARATOR"] * v.separators.count(k)
            made.append(show(e))
        return made

    def expression(self, e: Expr) -> str:
        """As code: thread variables by their axes (`tx.var`), conditions joined by te.all and te.any."""
        from ..core.node import Bin, Var
        from ..core.walk import substitute

        if isinstance(e, Bin) and e.op in ("and", "or"):
            return f"te.{'all' if e.op == 'and' else 'any'}({self.expression(e.a)}, {self.expression(e.b)})"
        known = {a.var: Var(f"{n}__var", a.dtype) for a, n in self.names.items() if isinstance(a, IterVar)}
        text = show(substitute(e, known))
        for n in self.names.values():
            text = text.replace(f"{n}__var", f"{n}.var")
        return text


def _axes(args: Any) -> list[IterVar]:
    found: list[IterVar] = []
    values = args.values() if isinstance(args, Mapping) else args
    for v in values:
        if isinstance(v, IterVar):
            found.append(v)
        elif isinstance(v, (list, tuple)):
            found += _axes(v)
        elif isinstance(v, Node):
            continue
    return found
