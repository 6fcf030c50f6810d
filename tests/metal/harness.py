"""Runs Metal text on the CPU, for correctness: checked as a subset, not by Apple's compiler.

The text goes through the clang that `tvmlab.target.metal.check` uses, with the same definitions in front, this time
for this machine. One thread of the CPU is one thread of a block, `threadgroup_barrier` a barrier of theirs; the blocks
of a grid run one after another. What is found: wrong indices, guards, divisions, places and kinds of barriers, the
order of launches. What is not: what Apple's compiler takes, how it rounds, how fast anything is.
"""

from __future__ import annotations

import ctypes
import functools
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from tvmlab.target import Target, get
from tvmlab.target.clike import kernel_name
from tvmlab.target.gpu.code import Allocate, Free
from tvmlab.target.gpu.plan import commands
from tvmlab.target.metal import check

LABEL = "checked as a subset, not by Apple's compiler"
# Waits and exchanges are functions of the harness here; for the parser they are empty.
SHIM = check.METAL_STDLIB.replace(
    "inline void threadgroup_barrier(mem_flags) {}",
    'extern "C" void harness_barrier();\ninline void threadgroup_barrier(mem_flags) { harness_barrier(); }',
)
FLAGS = (
    *(f for f in check.FLAGS if not f.startswith("--target")),
    "--target=x86_64-linux-gnu", "-O1", "-fPIC", "-ffp-contract=off", "-w",
)  # fmt: skip
TOO_LONG = 60  # seconds

HARNESS = """\
#include <math.h>
#include <pthread.h>
#include <stdlib.h>

typedef unsigned uint3 __attribute__((ext_vector_type(3)));

static pthread_barrier_t everyone;
void harness_barrier(void) { pthread_barrier_wait(&everyone); }

typedef struct { void (*kernel)(); void **args; int count; const int *grid, *block; int tid; } Own;

static void call(const Own *o, uint3 block, uint3 thread) {
    void **a = o->args;
    switch (o->count) {
%(calls)s
    }
}

static void *run(void *given) {
    const Own *o = given;
    const int *g = o->grid, *b = o->block;
    const uint3 thread = {o->tid %% b[0], o->tid / b[0] %% b[1], o->tid / b[0] / b[1]};
    for (int i = 0; i < g[0] * g[1] * g[2]; ++i) {
        const uint3 block = {i %% g[0], i / g[0] %% g[1], i / g[0] / g[1]};
        call(o, block, thread);
        pthread_barrier_wait(&everyone);
    }
    return 0;
}

int launch(void (*kernel)(), void **args, int count, const int *grid, const int *block) {
    const int n = block[0] * block[1] * block[2];
    pthread_t ids[1024];
    Own own[1024];
    if (n > 1024 || count > %(most)d) return 1;
    pthread_barrier_init(&everyone, 0, n);
    for (int i = 0; i < n; ++i) {
        own[i] = (Own){kernel, args, count, grid, block, i};
        if (pthread_create(&ids[i], 0, run, &own[i])) abort();
    }
    for (int i = 0; i < n; ++i) pthread_join(ids[i], 0);
    pthread_barrier_destroy(&everyone);
    return 0;
}

// what the language has built in, by the names that clang calls it
#define ONE(f, mangled) float mangled(float x) { return f(x); }
%(functions)s
#define PICK(name, T, op) T name(T a, T b) { return a op b ? a : b; }
PICK(_Z3minii, int, <) PICK(_Z3maxii, int, >) PICK(_Z3minjj, unsigned, <) PICK(_Z3maxjj, unsigned, >)
PICK(_Z3minll, long, <) PICK(_Z3maxll, long, >) PICK(_Z3minmm, unsigned long, <) PICK(_Z3maxmm, unsigned long, >)
float _Z5rsqrtf(float x) { return 1 / sqrtf(x); }
"""
ONE = "exp exp2 log log2 log10 sqrt sin cos tan sinh cosh tanh asin acos atan floor ceil trunc round rint fabs".split()


MOST = 16  # arguments of a kernel


@functools.cache
def missing() -> str:
    """Why nothing can be run here, or ""."""
    if not clang():
        return "there is no clang: apt install clang-15"
    try:
        with tempfile.TemporaryDirectory() as folder:
            library("#include <metal_stdlib>\n", Path(folder))
    except (RuntimeError, OSError) as e:
        return f"{clang()} makes no library for x86-64 here: {str(e)[-300:]}"
    return ""


def clang() -> str:
    return next((found for c in check.COMPILERS if c != "clang-tidy" and (found := shutil.which(c))), "")


@functools.cache
def harness() -> ctypes.CDLL:
    """What launches kernels, built once; the kernels find their barrier in it."""
    calls = []
    for n in range(1, MOST + 1):
        types = ", ".join(["void *"] * n + ["uint3", "uint3"])
        given = ", ".join([f"a[{i}]" for i in range(n)])
        calls.append(f"    case {n}: ((void (*)({types}))o->kernel)({given}, block, thread); return;")
    functions = "\n".join(f"ONE({f}f, _Z{len(f)}{f}f)" for f in ONE)
    words = {"calls": "\n".join(calls), "functions": functions, "most": MOST}
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "harness.c").write_text(HARNESS % words)
        _clang(Path(folder), "-w", "-O1", "-fPIC", "-shared", "harness.c", "-o", "harness.so", "-lpthread", "-lm")
        return ctypes.CDLL(f"{folder}/harness.so", ctypes.RTLD_GLOBAL)


def library(text, folder):
    """The kernels of a text, compiled."""
    harness()
    (folder / "metal_stdlib").write_text(SHIM)
    (folder / "kernel.metal").write_text(check.vectors_as_calls(text))
    _clang(folder, *FLAGS, "-I.", "-shared", "kernel.metal", "-o", "kernel.so")
    return ctypes.CDLL(str(folder / "kernel.so"))


def _clang(folder, *words):
    done = subprocess.run([clang(), *words], cwd=folder, capture_output=True, text=True, timeout=TOO_LONG)
    if done.returncode:
        raise RuntimeError(done.stdout + done.stderr)


def run(program, arrays, numbers=(), text=""):
    """Launches what the host of a split program launches; `arrays` are changed. `text`: another one to run."""
    text = text or get("metal").source(program, Target("metal"))
    names = {f.name: kernel_name(f) for f in program.functions[1:]}
    with tempfile.TemporaryDirectory() as folder:
        kernels = library(text, Path(folder))
        _launch({f: kernels[name] for f, name in names.items()}, commands(program.entry, numbers), arrays)


def _launch(kernels, steps, arrays):
    memory = dict(enumerate(arrays))
    for c in steps:
        if isinstance(c, Allocate):
            memory[c.slot] = np.full(max(c.nbytes, 1), 255, "uint8")  # NaN, or a number that is not likely
        elif isinstance(c, Free):
            del memory[c.slot]
        else:
            held = [memory[a[1]] if a[0] == "buffer" else np.array(a[2], a[1]) for a in c.args]
            pointers = (ctypes.c_void_p * len(held))(*[x.ctypes.data for x in held])
            sizes = [(ctypes.c_int * 3)(*x) for x in (c.grid, c.block)]
            assert harness().launch(kernels[c.kernel], pointers, len(held), *sizes) == 0, c
