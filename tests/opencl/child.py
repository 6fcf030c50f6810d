"""Runs OpenCL kernels; in a process of its own, since a bad kernel takes Python with it.

    python -m tests.opencl.child       a pickled list of jobs on its input, the results on its output, again and again

A job is (source, memory, launches): memory is {name: array}, a launch (kernel, blocks, threads of a block, arguments),
an argument the name of memory or a NumPy number. A result is {name: array} after the launches, or an error's text.
"""

import contextlib
import os
import pickle
import sys

import numpy as np


def main() -> None:
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # compilers talk
    import pyopencl as cl

    from tvmlab.runtime.gpu import opencl

    works, broken = opencl._devices()  # it repairs a PoCL that does not know this processor
    if not works:
        raise SystemExit(f"no OpenCL device builds a kernel: {broken}")
    context = cl.Context([works[0]])
    queue = cl.CommandQueue(context)
    while True:
        try:
            jobs = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        pickle.dump([tried(cl, context, queue, job) for job in jobs], out)
        out.flush()


def tried(cl, context, queue, job):
    try:
        return run(cl, context, queue, *job)
    except Exception as e:
        return f"{type(e).__name__}: {e}"


def run(cl, context, queue, source, memory, launches):
    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
    held = {n: cl.Buffer(context, flags, hostbuf=np.ascontiguousarray(a)) for n, a in memory.items()}
    with contextlib.redirect_stderr(None):
        built = cl.Program(context, source).build(options=["-cl-std=CL1.2"])
    for kernel, blocks, threads, arguments in launches:
        everywhere = tuple(b * t for b, t in zip(blocks, threads, strict=True))
        values = [held[a] if isinstance(a, str) else a for a in arguments]
        getattr(built, kernel)(queue, everywhere, threads, *values)
    done = {n: np.empty_like(a) for n, a in memory.items()}
    for n, a in done.items():
        cl.enqueue_copy(queue, a, held[n])
    queue.finish()
    return done


if __name__ == "__main__":
    main()
