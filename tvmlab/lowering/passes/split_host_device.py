"""The program is cut into a host function and kernels.

    def main(A, B, n):                               def main(A, B, n):
        for bx in thread("blockIdx.x", n//64):           main_B[(n//64, 1, 1), (64, 1, 1)](A, B, n)
            for tx in thread("threadIdx.x", 64):  ->
                B[bx*64 + tx] = A[bx*64 + tx] + 1        def main_B(A, B, n):           # one per outermost thread loop
                                                             for bx in thread("blockIdx.x", n//64):
                                                                 ...

- A kernel is an outermost thread loop. It takes the buffers that it uses, then the variables that it needs: sizes,
  scalar arguments, loops of the host. Its attributes are `kernel` and `launch`: {tag: extent} of the thread axes.
- What is left is the host's: loops, conditions and allocations around launches. It computes nothing: a stage that no
  loop of is bound is refused, with the lines that would bind it.
- A thread axis that several loops of a kernel bind is launched as often as the largest of them asks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from ...core.affine import lin
from ...core.build import binary, const
from ...core.error import BuildError
from ...core.node import REDUCE, Alloc, Barrier, Buffer, Call, Evaluate, Expr, For, Load, Stmt, Store
from ...core.program import Function, Origin, Program
from ...core.text import headline, identifier, show
from ...core.threads import BLOCK, LAUNCH
from ...core.walk import children, free_variables, variables, walk
from ...schedule.scopes import rank
from ..blocks import map_kernels, threads_around
from ..config import DEFAULT, Config

LONGEST = 120  # letters of a kernel's name: drivers make files of them


def split_host_device(program: Program, config: Config = DEFAULT) -> Program:
    """Refused: several functions, a host that computes, a thread axis whose extent a kernel only learns inside."""
    if len(program.functions) != 1:
        names = ", ".join(f.name for f in program.functions)
        raise BuildError("several-functions", f"a program for a device has one function; this one has {names}")
    fn = program.entry
    cut = Cutter(fn)
    body = map_kernels(fn.body, cut.launch, cut.host)
    _refuse_host_work(body)
    return replace(program, functions=(replace(fn, body=body), *cut.kernels))


@dataclass
class Cutter:
    """Takes the kernels out of a function's body. `buffers`: what exists at the place that is looked at, by handle."""

    fn: Function
    kernels: list[Function] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.buffers: dict[Any, Buffer] = {b.data: b for b in self.fn.buffers}
        self.names = {self.fn.name}

    def host(self, s: Stmt) -> None:
        if isinstance(s, Alloc):
            self.buffers[s.buffer.data] = s.buffer

    def launch(self, s: For) -> Stmt:
        kernel = self.kernel(s)
        self.kernels.append(kernel)
        extents = dict(kernel.attrs)["launch"]
        dims = tuple(extents.get(tag, const(1)) for tag in LAUNCH)
        args = tuple(p.data if isinstance(p, Buffer) else p for p in kernel.params)
        return Evaluate(Call(kernel.name, (*dims, *args), "int32", "launch"))

    def kernel(self, s: For) -> Function:
        name = self.fresh(s)
        launch = _extents(s, name)
        used = {x.buffer.data for x in walk(s) if isinstance(x, (Load, Store))}
        used |= {v for v in variables(s) if v.dtype == "handle"}
        inside = {x.buffer.data for x in walk(s) if isinstance(x, Alloc)}
        _refuse_global(s, name)
        buffers = [b for data, b in self.buffers.items() if data in used and data not in inside]
        handles = {b.data for b in buffers} | inside
        scalars = [v for v in free_variables(s) if v not in handles]
        for extent in launch.values():  # what a launch needs, the kernel may compare with
            scalars += [v for v in variables(extent) if v not in scalars]
        return Function(name, (*buffers, *scalars), s, (), (("kernel", True), ("launch", launch)))

    def fresh(self, s: For) -> str:
        """`main_C`: after the stage whose loop is outermost."""
        stage = s.origin.stage if isinstance(s.origin, Origin) else "kernel"
        base = name = identifier(f"{self.fn.name}_{stage}")[:LONGEST]
        count = 0
        while name in self.names:
            count += 1
            name = f"{base}_{count}"
        self.names.add(name)
        return name


def _extents(s: For, kernel: str) -> dict[str, Expr]:
    """How many of each thread axis are launched, in the order x, y, z of blocks, then of threads."""
    bound = {x.var for x in walk(s) if isinstance(x, For)}
    found: dict[str, Expr] = {}
    for loop in walk(s):
        if not isinstance(loop, For) or loop.kind != "thread":
            continue
        if loop.thread not in LAUNCH:
            raise BuildError("thread-tag", f"`{loop.thread}` is no thread axis of a device", legal=list(LAUNCH))
        inner = next((v for v in variables(loop.extent) if v in bound), None)
        if inner is not None:
            raise BuildError(
                "thread-extent",
                f"{loop.thread} of kernel {kernel} has the extent `{show(loop.extent)}`, which depends on "
                f"`{inner.name}`: how many threads there are must be known at the launch",
            )
        before = found.get(loop.thread)
        found[loop.thread] = loop.extent if before is None else _larger(before, loop.extent)
    return {tag: found[tag] for tag in LAUNCH if tag in found}


def _larger(a: Expr, b: Expr) -> Expr:
    return a if lin(a).key == lin(b).key else binary("max", a, b)


def _refuse_global(s: For, kernel: str) -> None:
    """Memory that all blocks share cannot begin inside of them."""
    wrong = next((x for x in walk(s) if isinstance(x, Alloc) and rank(x.buffer.scope) == 0), None)
    if wrong is None:
        return
    name = wrong.buffer.name
    stores = [x for x in walk(s) if isinstance(x, Store) and x.buffer.data is wrong.buffer.data]
    called = next((x.origin.called for x in stores if isinstance(x.origin, Origin) and x.origin.called), name)
    own = {x.thread for x in walk(s) if isinstance(x, For) and x.thread in BLOCK} <= (
        threads_around(s, wrong.buffer.data) or set()
    )
    raise BuildError(
        "global-in-kernel",
        f"`{name}` is in {wrong.buffer.scope} memory, but computed inside the kernel {kernel}: there is one of it for "
        "all blocks",
        legal=[f's[{called}].set_scope("{"local" if own else "shared"}")'],
        hint=f"or a kernel of its own: s[{called}].compute_root(), with its loops bound",
    )


# ---------------------------------------------------------------- what the host may not do


def _refuse_host_work(body: Stmt) -> None:
    """Stores and calls outside of kernels: the stage they are of has no thread axis."""
    for s, loops in _statements(body, ()):
        if isinstance(s, Barrier) or (isinstance(s, Evaluate) and getattr(s.value, "kind", "") != "launch"):
            raise BuildError(
                "host-statement", f"`{show(s)}` stands outside of all kernels: a device program only launches there"
            )
        if isinstance(s, Store):
            raise _unbound(s, loops)


def _statements(s: Any, loops: tuple[For, ...]) -> Iterator[tuple[Any, tuple[For, ...]]]:
    """The statements that do something, with the loops around each."""
    if isinstance(s, (Store, Barrier, Evaluate)):
        yield s, loops
        return
    around = (*loops, s) if isinstance(s, For) else loops
    for c in children(s):
        if isinstance(c, Stmt):
            yield from _statements(c, around)


def _unbound(s: Store, loops: tuple[For, ...]) -> BuildError:
    """The stage whose loops nothing binds, and two lines that bind them."""
    origin = s.origin
    stage = origin.stage if isinstance(origin, Origin) else s.buffer.name
    called = origin.called if isinstance(origin, Origin) and origin.called else stage
    return BuildError(
        "not-bound",
        f"{stage} would be computed on the host: no loop of it is bound to blocks or threads",
        where=["    " * k + headline(x) for k, x in enumerate(loops)]
        + ["    " * len(loops) + show(s)],
        hint="add two lines, or let s.default(target) bind all that is left:\n    "
        + "\n    ".join(_lines(called, [x for x in loops if _of(x, stage) and not _reduces(x)])),
    )


def _lines(stage: str, loops: list[For]) -> tuple[str, str]:
    """What would bind a stage: its two outermost data loops, or the parts of the only one."""
    data = [isinstance(x.origin, Origin) and x.origin.code or x.var.name for x in loops]
    block, thread = 'te.thread_axis("blockIdx.x")', 'te.thread_axis("threadIdx.x")'
    if len(data) > 1:
        return f"s[{stage}].bind({data[0]}, {block})", f"s[{stage}].bind({data[1]}, {thread})"
    axis = data[0] if data else f"s[{stage}].fuse()"
    return (
        f"bx, tx = s[{stage}].split({axis}, factor=64)",
        f"s[{stage}].bind(bx, {block}); s[{stage}].bind(tx, {thread})",
    )


def _of(loop: For, stage: str) -> bool:
    return not isinstance(loop.origin, Origin) or loop.origin.stage == stage


def _reduces(loop: For) -> bool:
    axis = loop.origin.axis if isinstance(loop.origin, Origin) else None
    return axis is not None and axis.iter_type == REDUCE
