"""The functions that run a parallel loop, as LLVM IR: `LAUNCH(body, closure, extent)` calls `body` over chunks."""

from __future__ import annotations

LAUNCH = "tvmlab.launch"

# In this process: on Numba's thread pool, one region at a time.
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
