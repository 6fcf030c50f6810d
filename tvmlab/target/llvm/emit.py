"""Statements as LLVM IR: loops, branches, temporaries, and the entry function of a program.

int32 NAME(arrays..., scalars..., sizes...)     0, or a negative code: see FAILED and NO_MEMORY
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from ...core import dtype as dt
from ...core.error import BuildError
from ...core.node import (
    Alloc,
    AllReduce,
    Attr,
    Barrier,
    Buffer,
    Call,
    Const,
    Evaluate,
    For,
    If,
    LetStmt,
    Seq,
    Stmt,
    Store,
    Var,
    While,
)  # fmt: skip
from ...core.program import Function, Program, loop_name
from ...core.text import show
from ...core.walk import walk
from .builder import Module
from .index import Lin
from .intrinsics import LIBM
from .steady import hoist
from .values import Values

UNROLL_LIMIT = 4096  # statements one unrolled nest may become; beyond it, it stays a loop
STACK_LIMIT = 16 * 1024  # bytes of one temporary on the stack
STACK_TOTAL = 128 * 1024  # and of all of one function
TAKEN = frozenset({"main", "malloc", "free", "printf", "getenv", "atoi", "sysconf", "pthread_create", "pthread_join"})
TILES = "amx.tmm"
FAILED, NO_MEMORY = -1, -2  # a packed function raised; the system gave no memory


class Body(Values):
    """One function: its statements. `parallel`: the body of a parallel loop, inside which loops are serial."""

    def __init__(self, module: Module, env: dict[Var, Any], parallel: bool = False) -> None:
        super().__init__(module)
        self.function = ""  # the entry's name
        self.fails = False  # may it return something other than 0?
        self.env = env
        self.places, self.roots = {}, {}
        self.parallel = parallel
        self.depth = 0  # loops around the current statement
        self.stack = 0  # bytes of stack slots
        self.slots: dict[Any, str] = {}  # temporaries -> their stack slots
        self.heap: list[str] = []  # live blocks of the heap
        self.ready: dict[Any, bool] = {}  # temporaries allocated before the loop they are in
        self.weights: dict[int, int] = {}
        self.chain: list[str] = []  # loops around, as people read them

    def run(self, s: Stmt) -> None:
        STMT[type(s)](self, s)

    def leave(self, code: str) -> None:
        """Return early: give back what is held."""
        self.fails = True
        for raw in reversed(self.heap):
            self.free(raw)
        self.emit(f"ret i32 {code}")

    def fail_unless_zero(self, code: str) -> None:
        bad, ok = self.label("failed"), self.label("ok")
        self.branch(self.op(f"icmp eq i32 {code}, 0"), ok, bad)
        self.start(bad)
        self.leave(code)
        self.start(ok)

    # ------------------------------------------------------------ loops

    def loop(self, s: For) -> None:
        lo, extent = self.lin(s.lo), self.lin(s.extent)
        if not extent.terms and extent.const <= 0:
            return
        if not extent.terms and (extent.const == 1 or self.expands(s, extent.const)):
            for i in range(extent.const):
                self.env[s.var] = lo.plus(Lin(i))
                self.run(s.body)
            return
        if s.kind == "parallel" and not self.parallel:
            from .parallel import launch

            launch(self, s, lo, extent)
            return
        self.serial_loop(s, lo, extent)

    def serial_loop(self, s: For, lo: Lin, extent: Lin) -> None:
        held = self.prepare(s)
        self.chain.append(f"for {s.var.name}{' in parallel' if s.kind == 'parallel' else ''}")
        self.counted(s, lo, extent)
        self.chain.pop()
        self.release(held)

    def expands(self, s: For, count: int) -> bool:
        return s.kind == "unrolled" and count * self.weight(s.body) <= UNROLL_LIMIT

    def weight(self, s: Stmt) -> int:
        """Statements after unrolling."""
        found = self.weights.get(id(s))
        if found is None:
            found = self.weights[id(s)] = self._weigh(s)
        return found

    def _weigh(self, s: Stmt) -> int:
        if type(s) is Seq:
            return sum(self.weight(x) for x in s.stmts)
        if type(s) is For:
            inner = self.weight(s.body)
            times = int(s.extent.value) if s.kind == "unrolled" and type(s.extent) is Const else 1
            return inner * times if inner * times <= UNROLL_LIMIT else inner + 1
        if type(s) is If:
            return 1 + self.weight(s.then) + (self.weight(s.other) if s.other is not None else 0)
        return self.weight(s.body) if type(s) in (LetStmt, Attr, Alloc, While) else 1  # type: ignore[attr-defined]

    def counted(self, s: For, lo: Lin, extent: Lin) -> None:
        """for i in [lo, lo + extent): the test is at the end, behind one guard unless the extent is known."""
        start, hi = self.i64(lo), self.i64(lo.plus(extent))
        head, end = self.label(f"for.{block_name(s.var.name)}."), self.label("end")
        if extent.terms:
            enter = self.label("enter")
            self.branch(self.op(f"icmp slt i64 {start}, {hi}"), enter, end)
            self.start(enter)
        before, gate = self.at, len(self.lines)
        self.jump(head)
        self.start(head)
        i, place = self.name(), len(self.lines)
        self.lines.append("")
        if self.is_nonneg(lo):
            self.nonneg.add(i)
        self.scopes.append({})
        self.env[s.var] = Lin(0, ((i, 1),))
        self.depth += 1
        self.run(s.body)
        self.depth -= 1
        self.scopes.pop()
        following = self.op(f"add nsw i64 {i}, 1")
        self.lines[place] = f"  {i} = phi i64 [ {start}, %{before} ], [ {following}, %{self.at} ]"
        if self.at == head:
            hoist(self.lines, gate, self.roots)
        again = self.op(f"icmp slt i64 {following}, {hi}")
        self.branch(again, head, end)
        self.start(end)

    def loop_while(self, s: While) -> None:
        head, body, end = self.label("while"), self.label("body"), self.label("end")
        held = self.prepare(s)
        self.jump(head)
        self.start(head)
        self.scopes.append({})
        self.branch(self.value(s.cond), body, end)
        self.start(body)
        self.depth += 1
        self.run(s.body)
        self.depth -= 1
        self.jump(head)
        self.scopes.pop()
        self.start(end)
        self.release(held)

    # ------------------------------------------------------------ branches

    def choose_path(self, s: If) -> None:
        if dt.lanes(s.cond.dtype) > 1:
            raise BuildError(
                "vector-condition", "a branch cannot depend on a vector: its statements need masks", where=[show(s)]
            )
        cond = self.value(s.cond)
        if cond in ("true", "false"):
            chosen = s.then if cond == "true" else s.other
            if chosen is not None:
                self.run(chosen)
            return
        yes, end = self.label("then"), self.label("end")
        no = self.label("else") if s.other is not None else end
        self.branch(cond, yes, no, ", !prof !1" if s.likely else "")
        self.path(yes, s.then, end)
        if s.other is not None:
            self.path(no, s.other, end)
        self.start(end)

    def path(self, label: str, body: Stmt, end: str) -> None:
        self.start(label)
        self.scopes.append({})
        self.run(body)
        self.scopes.pop()
        self.jump(end)

    # ------------------------------------------------------------ temporaries

    def allocate(self, s: Alloc) -> None:
        if s.buffer in self.ready:
            self.run(s.body)
            return
        raw = self.reserve(s.buffer)
        self.run(s.body)
        if raw:
            self.heap.remove(raw)
            self.free(raw)

    def release(self, held: dict[Buffer, str]) -> None:
        """Free what `prepare` allocated."""
        for buffer, raw in held.items():
            del self.ready[buffer]
            if raw:
                self.heap.remove(raw)
                self.free(raw)

    def prepare(self, loop: Stmt) -> dict[Buffer, str]:
        """Large temporaries of constant size in an outermost loop are allocated before it, not in each iteration."""
        held: dict[Buffer, str] = {}
        if self.depth:
            return held
        for s in walk(loop):
            if type(s) is Alloc and s.buffer not in self.ready and (constant_bytes(s.buffer) or 0) > STACK_LIMIT:
                if not _inside_parallel(loop, s, self.parallel):
                    self.ready[s.buffer] = True
                    held[s.buffer] = self.reserve(s.buffer)
        return held

    def reserve(self, buffer: Buffer) -> str:
        """Memory for a temporary, aligned to 64 bytes; the heap block to free, or "" for the stack."""
        size = constant_bytes(buffer)
        if size is not None and size <= STACK_LIMIT and self.stack + size <= STACK_TOTAL:
            if buffer not in self.slots:  # an expanded loop comes here several times
                self.stack += size
                self.slots[buffer] = slot = self.name()
                count = max(1, size // dt.nbytes(buffer.dtype))
                self.entry.append(f"  {slot} = alloca [{count} x {self.m.stored(buffer.dtype)}], align 64")
            self.settle(buffer, self.slots[buffer], 64, size // dt.nbytes(buffer.dtype))
            return ""
        elements = self.lin(buffer.shape[0]) if buffer.shape else Lin(1)
        for extent in buffer.shape[1:]:
            elements = self._times(elements, self.lin(extent))
        raw, pointer = self.malloc(elements.scaled(dt.nbytes(buffer.dtype)))
        self.settle(buffer, pointer, 64)
        self.heap.append(raw)
        return raw

    def malloc(self, size: Lin) -> tuple[str, str]:
        """(block, address in it that is a multiple of 64)."""
        f = self.m.declare("malloc", "noalias ptr", ["i64"], " nounwind")
        raw = self.op(f"call noalias ptr {f}(i64 {self.i64(size.plus(Lin(64)))})")
        none, ok = self.label("full"), self.label("ok")
        self.branch(self.op(f"icmp eq ptr {raw}, null"), none, ok)
        self.start(none)
        self.leave(str(NO_MEMORY))
        self.start(ok)
        mask = self.m.declare("llvm.ptrmask.p0.i64", "ptr", ["ptr", "i64"])
        up = self.op(f"getelementptr i8, ptr {raw}, i64 63")
        return raw, self.op(f"call ptr {mask}(ptr {up}, i64 -64)")

    def free(self, raw: str) -> None:
        self.emit(f"call void {self.m.declare('free', 'void', ['ptr'], ' nounwind')}(ptr {raw})")

    def finish(self) -> str:
        """The function's lines, after its last statement."""
        for raw in reversed(self.heap):
            self.free(raw)
        self.emit("ret i32 0")
        return "\n".join(["entry:", *self.entry, *self.lines])


def constant_bytes(buffer: Buffer) -> int | None:
    """Bytes of a buffer of known size."""
    return None if buffer.size is None else buffer.size * dt.nbytes(buffer.dtype)


def _inside_parallel(root: Stmt, inner: Stmt, serial: bool) -> bool:
    """Is `inner` in a parallel loop of `root`, whose threads need temporaries of their own?"""
    if serial:
        return False
    return any(type(p) is For and p.kind == "parallel" and any(x is inner for x in walk(p)) for p in walk(root))


def _sequence(c: Body, s: Seq) -> None:
    for x in s.stmts:
        c.run(x)


def _let(c: Body, s: LetStmt) -> None:
    c.bind(s.var, s.value)  # type: ignore[arg-type]
    c.run(s.body)


def _evaluate(c: Body, s: Evaluate) -> None:
    e = s.value
    if type(e) is Call and e.kind == "packed":
        e = Call(e.name, e.args, "handle", e.kind)  # what it returns is not used, so it may be anything
    if type(e) is not Const:
        c.value(e)


def _refused(c: Body, s: Stmt) -> None:
    raise BuildError(
        "not-on-cpu", f"the target llvm has no {type(s).__name__}: it runs no thread blocks", where=[repr(s)]
    )


STMT: dict[type, Callable[[Body, Any], None]] = {
    For: Body.loop,
    While: Body.loop_while,
    If: Body.choose_path,
    Store: Body.store,
    Seq: _sequence,
    Alloc: Body.allocate,
    LetStmt: _let,
    Attr: lambda c, s: c.run(s.body),
    Evaluate: _evaluate,
    Barrier: _refused,
    AllReduce: _refused,
}


def refused(program: Program) -> BuildError | None:
    """What this target cannot run."""
    for fn in program.functions:
        for s in walk(fn.body):
            if type(s) is For and s.kind in ("thread", "vthread"):
                return BuildError(
                    "thread-loop",
                    f"the loop {loop_name(s)} is bound to {s.thread or s.kind}: the target llvm has no threads of a "
                    "block",
                    where=[repr(s).splitlines()[0]],
                    legal=["parallel", "serial", "the target interp"],
                )
            if type(s) is Alloc and s.buffer.scope == TILES:
                return BuildError(
                    "amx-tiles",
                    f"`{s.buffer.name}` is in the scope {TILES}: the target llvm has no code for the tiles of AMX",
                    legal=["global", "local"],
                    hint="byte products on vectors: s[stage].tensorize(axis, te.get_intrin(\"dot_16x4_u8s8\"))",
                )
            if type(s) in (Barrier, AllReduce):
                return BuildError("not-on-cpu", f"the target llvm has no {type(s).__name__}", where=[repr(s)])
    return None


def symbol_of(fn: Function) -> str:
    """The name of the entry in the object: a C identifier that nothing else there has."""
    name = re.sub(r"\W", "_", fn.name, flags=re.ASCII)
    taken = name in TAKEN or name[:1].isdigit() or name.removesuffix("f") in LIBM or name.startswith("tvmlab_")
    return f"tvmlab_{name}" if taken or not name else name


def scalar_type(v: Var) -> str:
    """How C passes a scalar parameter; float16 as its bits."""
    stem, bits, _ = dt.parse(v.dtype)
    if stem == "float":
        return {16: "i16", 32: "float", 64: "double"}[bits]
    return "i8" if stem == "bool" else f"i{bits}"


def signature(fn: Function) -> list[tuple[Any, str]]:
    """(parameter, LLVM type) in the order of the entry function."""
    scalars = [p for p in fn.params if isinstance(p, Var)]
    return [*((b, "ptr") for b in fn.buffers), *((v, scalar_type(v)) for v in [*scalars, *fn.sizes])]


def emit_function(module: Module, fn: Function) -> None:
    """Append the entry function to the module."""
    body = Body(module, {})
    body.function = symbol_of(fn)
    parameters, align = signature(fn), dict(fn.attrs).get("align", 0)
    heads: list[str] = []
    for p, t in parameters:
        name = f"%{'p' if t == 'ptr' else 's'}.{p.name}"
        plain = name.isascii() and name.replace("%", "").replace(".", "").replace("_", "").isalnum()
        name = name if plain else f"%p{len(heads)}"
        name = name if all(h.split()[-1] != name for h in heads) else f"{name}.{len(heads)}"
        heads.append(f"ptr noalias {name}" if t == "ptr" else f"{t} {name}")
        if t == "ptr":
            body.settle(p, name, int(align))
        else:
            body.env[p] = bind_scalar(body, p, name)
    body.run(fn.body)
    text = body.finish()
    module.fails |= body.fails
    module.functions.append(f"define i32 @{body.function}({', '.join(heads)}) #0 {{\n{text}\n}}")


def bind_scalar(body: Body, p: Var, name: str) -> Any:
    """A parameter as the code uses it: integers are index arithmetic."""
    if p.dtype in ("int32", "int64"):
        wide = name if p.dtype == "int64" else body.op(f"sext i32 {name} to i64")
        if p.nonneg:
            body.nonneg.add(wide)
        return Lin(0, ((wide, 1),))
    if p.dtype == "handle":
        return body.op(f"inttoptr i64 {name} to ptr")
    if p.dtype == "float16":
        raw = body.op(f"bitcast i16 {name} to half") if body.m.machine.half else name
        return body.loaded(raw, p.dtype)
    return body.loaded(name, p.dtype)


def emit_module(program: Program, module: Module) -> Module:
    for fn in program.functions:
        emit_function(module, fn)
    return module


def block_name(variable: str) -> str:
    """What a block may be called after a loop: `for.xo.8` is where an iteration of the loop `xo` begins."""
    return re.sub(r"[^A-Za-z0-9_]", "_", variable) or "_"
