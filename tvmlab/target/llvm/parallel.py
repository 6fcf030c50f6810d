"""Parallel loops: the body becomes a function `body(closure, begin, count)`, run over chunks of the iterations.

In this process the chunks run on Numba's thread pool. One region runs at a time: a launch that finds another one
running (a nested one, or one of another Python thread) runs its iterations itself, which every threading layer allows.
An exported program brings a launcher of its own that makes threads (`STANDALONE`).
"""

from __future__ import annotations

import ctypes
from functools import lru_cache
from typing import Any

import llvmlite.binding as llvm

from ...core import dtype as dt
from ...core.error import LabError
from ...core.node import Alloc, For, Load, Store, Var
from ...core.walk import walk
from .index import Lin
from .memory import Place

BUSY = ctypes.c_int32(0)  # 1 while a parallel region runs, in any module
LAUNCH = "tvmlab.launch"

IN_PROCESS = """
@tvmlab_busy = external global i32
@tvmlab_threads = external global i64
declare void @numba_parallel_for(ptr, ptr, ptr, ptr, ptr, i64, i64, i64)
declare i32 @numba_threads()

define internal void @tvmlab.chunk(ptr %args, ptr %dims, ptr %steps, ptr %data) nounwind {
  %begin = load i64, ptr %args
  %count = load i64, ptr %dims
  %body = load ptr, ptr %data
  %second = getelementptr i8, ptr %data, i64 8
  %closure = load ptr, ptr %second
  call void %body(ptr %closure, i64 %begin, i64 %count)
  ret void
}

define internal void @tvmlab.launch(ptr %body, ptr %closure, i64 %extent) nounwind noinline {
entry:
  %data = alloca [2 x ptr]
  %args = alloca ptr
  %dims = alloca i64
  %steps = alloca i64
  %asked = load i64, ptr @tvmlab_threads
  %pool32 = call i32 @numba_threads()
  %pool = sext i32 %pool32 to i64
  %any = icmp eq i64 %asked, 0
  %threads = select i1 %any, i64 %pool, i64 %asked
  %few = icmp slt i64 %threads, 2
  %short = icmp slt i64 %extent, 2
  %alone = or i1 %few, %short
  br i1 %alone, label %serial, label %try
try:
  %pair = cmpxchg ptr @tvmlab_busy, i32 0, i32 1 acquire monotonic
  %free = extractvalue { i32, i1 } %pair, 1
  br i1 %free, label %together, label %serial
together:
  store ptr %body, ptr %data
  %second = getelementptr i8, ptr %data, i64 8
  store ptr %closure, ptr %second
  store ptr null, ptr %args
  store i64 %extent, ptr %dims
  store i64 1, ptr %steps
  call void @numba_parallel_for(ptr @tvmlab.chunk, ptr %args, ptr %dims, ptr %steps, ptr %data,
    i64 0, i64 1, i64 %threads)
  store atomic i32 0, ptr @tvmlab_busy release, align 4
  ret void
serial:
  call void %body(ptr %closure, i64 0, i64 %extent)
  ret void
}
"""

# Threads are made for each launch: iterations are dealt out in equal chunks, the caller takes the first one. Their
# number: the variable <name>_threads, else the environment's TVMLAB_NUM_THREADS, else the processors (at most 64).
STANDALONE = """
@{name}_threads = global i32 0
@tvmlab.variable = private unnamed_addr constant [19 x i8] c"TVMLAB_NUM_THREADS\\00"
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_join({pthread_t}, ptr)
declare i64 @sysconf(i32)
declare ptr @getenv(ptr)
declare i32 @atoi(ptr)

define internal ptr @tvmlab.thread(ptr %task) nounwind {{
  %body = load ptr, ptr %task
  %p1 = getelementptr i64, ptr %task, i64 1
  %closure = load ptr, ptr %p1
  %p2 = getelementptr i64, ptr %task, i64 2
  %begin = load i64, ptr %p2
  %p3 = getelementptr i64, ptr %task, i64 3
  %count = load i64, ptr %p3
  call void %body(ptr %closure, i64 %begin, i64 %count)
  ret ptr null
}}

define internal i64 @tvmlab.threads() nounwind {{
entry:
  %set = load i32, ptr @{name}_threads
  %given = icmp sgt i32 %set, 0
  br i1 %given, label %done, label %look
look:
  %text = call ptr @getenv(ptr @tvmlab.variable)
  %none = icmp eq ptr %text, null
  br i1 %none, label %ask, label %read
read:
  %number = call i32 @atoi(ptr %text)
  %good = icmp sgt i32 %number, 0
  br i1 %good, label %done, label %ask
ask:
  %online = call i64 @sysconf(i32 {processors})
  %online32 = trunc i64 %online to i32
  br label %done
done:
  %n = phi i32 [ %set, %entry ], [ %number, %read ], [ %online32, %ask ]
  %low = call i32 @llvm.smax.i32(i32 %n, i32 1)
  %both = call i32 @llvm.smin.i32(i32 %low, i32 64)
  %wide = sext i32 %both to i64
  ret i64 %wide
}}
declare i32 @llvm.smax.i32(i32, i32)
declare i32 @llvm.smin.i32(i32, i32)

define internal void @tvmlab.launch(ptr %body, ptr %closure, i64 %extent) nounwind noinline {{
entry:
  %tasks = alloca [64 x [4 x i64]]
  %ids = alloca [64 x i64]
  %made = alloca [64 x i8]
  %wanted = call i64 @tvmlab.threads()
  %less = icmp slt i64 %extent, %wanted
  %threads = select i1 %less, i64 %extent, i64 %wanted
  %several = icmp sgt i64 %threads, 1
  br i1 %several, label %start, label %alone
alone:
  call void %body(ptr %closure, i64 0, i64 %extent)
  ret void
start:
  %t = phi i64 [ 1, %entry ], [ %t1, %next ]
  %from = mul i64 %t, %extent
  %begin = udiv i64 %from, %threads
  %t1 = add i64 %t, 1
  %to = mul i64 %t1, %extent
  %end = udiv i64 %to, %threads
  %count = sub i64 %end, %begin
  %task = getelementptr [4 x i64], ptr %tasks, i64 %t
  store ptr %body, ptr %task
  %q1 = getelementptr i64, ptr %task, i64 1
  store ptr %closure, ptr %q1
  %q2 = getelementptr i64, ptr %task, i64 2
  store i64 %begin, ptr %q2
  %q3 = getelementptr i64, ptr %task, i64 3
  store i64 %count, ptr %q3
  %id = getelementptr i64, ptr %ids, i64 %t
  %error = call i32 @pthread_create(ptr %id, ptr null, ptr @tvmlab.thread, ptr %task)
  %ok = icmp eq i32 %error, 0
  %ok8 = zext i1 %ok to i8
  %flag = getelementptr i8, ptr %made, i64 %t
  store i8 %ok8, ptr %flag
  br i1 %ok, label %next, label %self
self:
  %x0 = call ptr @tvmlab.thread(ptr %task)
  br label %next
next:
  %more = icmp slt i64 %t1, %threads
  br i1 %more, label %start, label %own
own:
  %mine = udiv i64 %extent, %threads
  call void %body(ptr %closure, i64 0, i64 %mine)
  br label %wait
wait:
  %w = phi i64 [ 1, %own ], [ %w1, %waited ]
  %wflag = getelementptr i8, ptr %made, i64 %w
  %was = load i8, ptr %wflag
  %join = icmp ne i8 %was, 0
  br i1 %join, label %joined, label %waited
joined:
  %wid = getelementptr i64, ptr %ids, i64 %w
  %handle = load {pthread_t}, ptr %wid
  %x1 = call i32 @pthread_join({pthread_t} %handle, ptr null)
  br label %waited
waited:
  %w1 = add i64 %w, 1
  %again = icmp slt i64 %w1, %threads
  br i1 %again, label %wait, label %finished
finished:
  ret void
}}
"""


def standalone(name: str, darwin: bool) -> str:
    """The launcher of an exported program."""
    return STANDALONE.format(name=name, pthread_t="ptr" if darwin else "i64", processors=58 if darwin else 84)


def launch(c: Any, s: For, lo: Lin, extent: Lin) -> None:
    """Run a parallel loop: outline its body, collect what it uses, call the launcher."""
    c.m.parallel = True
    name = f"{c.function}.parallel{len(c.m.functions)}"
    used = _Captured(c, s, lo)
    closure = c.name()
    c.entry.append(f"  {closure} = alloca [{used.words} x i64], align 8")
    c.emit(f"store i64 0, ptr {closure}")
    for operand, t, at in used.operands:
        c.emit(f"store {t} {operand}, ptr {c.op(f'getelementptr i64, ptr {closure}, i64 {at}')}, align 8")
    fails = _outline(c, s, lo, name, used)
    c.emit(f"call void @{LAUNCH}(ptr @{name}, ptr {closure}, i64 {c.i64(extent)})")
    c.loads.clear()
    if fails:
        c.fail_unless_zero(c.op(f"trunc i64 {c.op(f'load i64, ptr {closure}')} to i32"))


class _Captured:
    """What a loop's body uses from around it: (operand, type, word in the closure), and how to bind it inside.

    The closure's first word is the error code of the body.
    """

    def __init__(self, c: Any, s: For, lo: Lin) -> None:
        self.operands: list[tuple[str, str, int]] = []
        self.words = 1
        self.names: dict[str, str] = {}
        self.vars: dict[Var, Any] = {}
        self.places: dict[Any, Place] = {}
        for term, _ in lo.terms:
            self.capture(term, "i64")
        for n in walk(s.body):
            if isinstance(n, (Load, Store)):
                self._buffer(c, n.buffer)
            elif isinstance(n, Var):
                self._variable(c, n)
            elif isinstance(n, Alloc):
                for v in [v for extent in n.buffer.shape for v in walk(extent) if isinstance(v, Var)]:
                    self._variable(c, v)

    def capture(self, operand: str, t: str, words: int = 1) -> str:
        """The name of an outer value inside; constants stay as they are."""
        if operand[0] != "%":
            return operand
        if operand not in self.names:
            self.names[operand] = f"%in.{len(self.operands)}"
            self.operands.append((operand, t, self.words))
            self.words += words
        return self.names[operand]

    def inner(self, lin: Lin) -> Lin:
        return Lin(lin.const, tuple(sorted([(self.capture(s, "i64"), k) for s, k in lin.terms])))

    def _variable(self, c: Any, v: Var) -> None:
        if v in c.places:
            self._buffer(c, v)
        bound = c.env.get(v)
        if bound is None or v in self.vars:
            return
        words = -(-dt.lanes(v.dtype) * dt.nbytes(v.dtype) // 8)
        self.vars[v] = self.inner(bound) if type(bound) is Lin else self.capture(bound, c.m.type(v.dtype), words)

    def _buffer(self, c: Any, key: Any) -> None:
        place = c.places.get(key)
        if place is not None and key not in self.places:
            inner = Place(self.capture(place.pointer, "ptr"), place.dtype, place.align, place.buffer)
            for k, p in c.places.items():
                if p is place:
                    self.places[k] = inner


def _outline(c: Any, s: For, lo: Lin, name: str, used: _Captured) -> bool:
    """Emit the body as a function; can it fail? Pointers become noalias parameters, which loads would not be."""
    inner = type(c)(c.m, dict(used.vars), parallel=True)
    inner.function, inner.places, inner.chain = c.function, dict(used.places), [*c.chain]
    inner.nonneg |= {used.names[o] for o, _, _ in used.operands if o in c.nonneg}
    inner.nonneg |= {"%begin", "%count"}
    first = used.inner(lo).plus(Lin(0, (("%begin", 1),)))
    inner.serial_loop(s, first, Lin(0, (("%count", 1),)))
    body = inner.finish()
    heads = [f"{'ptr noalias' if t == 'ptr' else t} %in.{i}" for i, (_, t, _) in enumerate(used.operands)]
    heads += ["i64 %begin", "i64 %count"]
    c.m.functions.append(f"define internal i32 @{name}.body({', '.join(heads)}) #0 {{\n{body}\n}}")
    c.m.functions.append(_entry(name, used.operands))
    return bool(inner.fails)


def _entry(name: str, operands: list[tuple[str, str, int]]) -> str:
    """The function that the launcher calls: unpack the closure, run the body, keep the first error."""
    lines, args = [], []
    for i, (_, t, at) in enumerate(operands):
        lines.append(f"  %p{i} = getelementptr i64, ptr %closure, i64 {at}")
        lines.append(f"  %x{i} = load {t}, ptr %p{i}, align 8")
        args.append(f"{t} %x{i}")
    call = ", ".join([*args, "i64 %begin", "i64 %count"])
    lines += [
        f"  %code = call i32 @{name}.body({call})",
        "  %bad = icmp ne i32 %code, 0",
        "  br i1 %bad, label %failed, label %fine",
        "failed:",
        "  %wide = sext i32 %code to i64",
        "  store atomic i64 %wide, ptr %closure monotonic, align 8",
        "  br label %fine",
        "fine:",
        "  ret void",
    ]
    return f"define internal void @{name}(ptr %closure, i64 %begin, i64 %count) #0 {{\n" + "\n".join(lines) + "\n}"


# ---------------------------------------------------------------- Numba's thread pool


@lru_cache(maxsize=1)
def pool() -> tuple[dict[str, int], int]:
    """Start Numba's threads: (symbols -> addresses, number of threads). Numba is imported here, when it is needed."""
    from numba.core import config
    from numba.np.ufunc import parallel

    parallel._launch_threads()
    symbols = {"numba_parallel_for": "numba_parallel_for", "numba_threads": "get_num_threads"}
    found = {ours: int(llvm.address_of_symbol(theirs)) for ours, theirs in symbols.items()}
    return found, int(config.NUMBA_NUM_THREADS)  # type: ignore[attr-defined]


class Threads:
    """The thread count of one module: 0 means what `numba.get_num_threads()` says at the time of the call."""

    def __init__(self, count: int) -> None:
        self.addresses, self.most = pool()
        self.count = ctypes.c_int64(0)
        if count:
            self.set(min(count, self.most))

    def set(self, count: int) -> None:
        if not 1 <= count <= self.most:
            raise LabError(
                "thread-count", f"the number of threads must be from 1 to {self.most}, not {count}",
                hint="the environment variable NUMBA_NUM_THREADS, set before the first run, makes the pool larger",
            )  # fmt: skip
        self.count.value = count

    def symbols(self) -> dict[str, int]:
        return {
            **self.addresses, "tvmlab_busy": ctypes.addressof(BUSY), "tvmlab_threads": ctypes.addressof(self.count)
        }  # fmt: skip
