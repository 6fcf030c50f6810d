"""A kernel function as text: its head, the indices of the thread, shared memory, the body."""

from __future__ import annotations

from dataclasses import dataclass

from ...core import fragments
from ...core.deep import deep
from ...core.error import BuildError
from ...core.node import Alloc, Buffer, Const, Expr, For, Load, Ramp, Store, Var
from ...core.program import Function
from ...core.threads import BLOCK
from ...core.walk import constant, walk
from ..gpu.code import Site, written
from ..gpu.limits import dynamic_bytes, shared_layout
from .checked import INSIDE, Watch
from .dialect import Dialect
from .printer import CPrinter, ascii_name


@dataclass(frozen=True)
class Written:
    """`loops`: of each line, the loop it is of; `helpers`: (what, dtype) of those called; `dtypes`: element types that
    occur; `fragments`: it uses tensor cores; `more`: names of what it takes beyond the function's own parameters."""

    lines: tuple[str, ...]
    loops: tuple[str, ...]
    helpers: frozenset[tuple[str, str]]
    dtypes: frozenset[str]
    fragments: bool
    more: tuple[str, ...] = ()


def kernel_name(fn: Function) -> str:
    return ascii_name(fn.name)


@deep
def write(fn: Function, d: Dialect, sites: list[Site] | None = None) -> Written:
    """The text of one kernel, a function with the attribute `launch` (lowering/passes/split_host_device.py).

    `sites`: its indices are checked (checked.py), and what is checked is added here.
    """
    p = CPrinter(d)
    p.names.taken |= {kernel_name(fn), INSIDE}
    launch = dict(dict(fn.attrs).get("launch", ()))
    params = _params(p, fn, sites)
    p.depth = 1
    _indices(p, fn, launch)
    _shared(p, fn)
    p.stmt(fn.body)
    head = d.kernel.format(name=kernel_name(fn), params=_in_lines(params), bounds=_bounds(d, launch))
    first = f"{head} {{".splitlines()
    more = p.watch.names if p.watch is not None else ()
    loops = (*[""] * len(first), *p.loops, "")
    return Written((*first, *p.lines, "}"), loops, frozenset(p.wanted), frozenset(p.used), bool(p.tiles), more)


def _in_lines(params: list[str]) -> str:
    """Parameters on the line of the name if they are few, else in lines of about 100 letters."""
    if sum(map(len, params)) <= 60:
        return ", ".join(params)
    lines = [""]
    for x in params:
        if len(lines[-1]) + len(x) > 100:
            lines.append("")
        lines[-1] += f"{x}, "
    return "\n    " + "\n    ".join([x.rstrip() for x in lines]).rstrip(",")


def _params(p: CPrinter, fn: Function, sites: list[Site] | None) -> list[str]:
    """Buffers that are only read are const; a bool argument is a byte."""
    body = list(walk(fn.body))
    stored = written(fn)
    read = {x.buffer.data for x in body if type(x) is Load}
    p.wide = {x.buffer.data for x in body if type(x) in (Load, Store) and type(x.indices[0]) is Ramp}  # type: ignore[attr-defined]
    p.tiled = fragments.memory(fn.body)
    made = []
    for i, x in enumerate(fn.params):
        if isinstance(x, Buffer):
            name = p.declare(x)
            const = "" if x.data in stored else "const "
            p.exchanged |= x.data in stored and x.data in read
            made.append(p.d.pointer.format(const=const, type=p.memory_type(x), name=name, i=i))
        else:
            kind = p.d.types["uint8"] if x.dtype == "bool" else p.type_of(x.dtype)
            made.append(p.d.scalar.format(type=kind, name=p.names(x), i=i))
    if sites is not None:
        p.watch = Watch(p, fn, kernel_name(fn), sites)
        made += p.watch.params(len(made))
    return [*made, *p.d.builtin_params]


def _indices(p: CPrinter, fn: Function, launch: dict[str, Expr]) -> None:
    """`const int tx = threadIdx.x;` for every axis, named after the first loop over it."""
    for loop in walk(fn.body):
        if not isinstance(loop, For) or loop.kind != "thread" or loop.thread in p.threads:
            continue
        if loop.thread not in p.d.index:
            raise p.refuse(None, "thread-tag", f"has no threads `{loop.thread}`", legal=list(p.d.index))
        first = loop.var if constant(loop.lo) == 0 else Var(loop.thread)
        name = p.names(first)
        p.threads[loop.thread] = (name, launch.get(loop.thread, loop.extent))
    for tag in sorted(p.threads, key=list(p.d.index).index):
        p.emit(f"const int {p.threads[tag][0]} = {p.d.index[tag]};")


def _shared(p: CPrinter, fn: Function) -> None:
    """All shared memory of the kernel, which a block has at once."""
    if dynamic_bytes(fn, p.d.static_shared):
        return _dynamic(p, fn)
    found = [x.buffer for x in walk(fn.body) if isinstance(x, Alloc) and x.buffer.scope == "shared"]
    for b in found:
        p.emit(p.d.shared.format(type=p.memory_type(b), name=p.names(b), size=p.size(b), align=p.alignment(b)))


def _dynamic(p: CPrinter, fn: Function) -> None:
    """More than a kernel may declare: one piece of memory, whose size the launch says, and in it the arrays."""
    whole = p.names(Var("shared_memory"))
    p.emit(p.d.dynamic_shared.format(name=whole))
    for b, at in shared_layout(fn):
        p.emit(p.d.dynamic_array.format(type=p.memory_type(b), name=p.names(b), at=f"{whole} + {at}" if at else whole))


def _bounds(d: Dialect, launch: dict[str, Expr]) -> str:
    """The size of a block, where it is a number."""
    sizes = [constant(launch.get(tag, Const(1))) for tag in BLOCK]
    if None in sizes:
        return ""
    x, y, z = (int(n or 0) for n in sizes)
    return d.bounds.format(x=x, y=y, z=z, n=x * y * z)


def kernels(name: str, functions: tuple[Function, ...]) -> tuple[Function, ...]:
    """The kernels of a program; one without any is refused."""
    found = tuple(f for f in functions if dict(f.attrs).get("kernel"))
    if not found:
        raise BuildError(
            "no-kernel",
            f"the target `{name}` prints kernels, and this program has none: no axis is bound to blocks or threads",
            legal=['s[C].bind(axis, te.thread_axis("blockIdx.x"))', 'te.thread_axis("threadIdx.x")'],
        )
    return found
